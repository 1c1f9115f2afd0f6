#!/usr/bin/env bash
# The benchmarks of docs/benchmarks.md: every placement below, in one job each, then the page's tables and plots.
#
#   scripts/bench.sh                      everything into docs/benchmarks/ and docs/benchmarks.md; more than an hour
#   scripts/bench.sh --short OUT          two fabrics and two sizes into OUT, within a minute: whether it works
#
# The environment changes the full one: BENCH_OUT (docs/benchmarks), BENCH_PAGE (docs/benchmarks.md), BENCH_MPI (openmpi),
# BENCH_SIZES, BENCH_COLLECTIVES, BENCH_ALGORITHMS (all), BENCH_BUDGET and BENCH_ORACLE_BUDGET (seconds for one collective and
# size), BENCH_ONLY (a fabric's name).
# NAGARE names the command (target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."

nagare=${NAGARE:-target/release/nagare}
mpi=${BENCH_MPI:-openmpi}

# FABRIC RANKS RANKS-PER-HOST MAP SIZES
few=64K,256K,1M
many=8,4K,64K,256K,1M,4M
placements=(
  "tree8 16 2 slot $many"
  "tree8 16 2 node $many"
  "wan2x8 16 1 slot $many"
  "torus16 16 1 slot $many"
  "star16 32 2 slot $many"
  "mlfm36 32 1 slot $many"
  "mlfm36 32 1 balanced $many"
  "fattree 16 1 slot $few"
  "tree8-shallow 16 2 slot $few"
  "star16-shallow 32 2 slot $few"
)
collectives=${BENCH_COLLECTIVES:-bcast,reduce,allreduce,alltoall,alltoallv,gather}
budget=${BENCH_BUDGET:-1.5}
oracle=${BENCH_ORACLE_BUDGET:-3}
out=${BENCH_OUT:-docs/benchmarks}
page=${BENCH_PAGE:-docs/benchmarks.md}

case "${1:-}" in
  "") ;;
  --short)
    out=${2:?usage: scripts/bench.sh --short OUT}
    page=$out/benchmarks.md
    placements=("tree8 4 1 slot 8,64K" "star16 4 2 node 8,64K")
    collectives=bcast,gather
    budget=0.3
    oracle=1
    ;;
  *)
    echo "scripts/bench.sh: '$1' is no option; expected --short OUT" >&2
    exit 2
    ;;
esac

mkdir -p "$out"
files=()
for placement in "${placements[@]}"; do
  read -r fabric ranks ppn map sizes <<<"$placement"
  [[ -z ${BENCH_ONLY:-} || $BENCH_ONLY == "$fabric" ]] || continue
  name=$fabric-${ranks}x$ppn-$map-$mpi
  echo "== $name" >&2
  "$nagare" bench --fabric "$fabric" --np "$ranks" --ppn "$ppn" --map "$map" --mpi "$mpi" \
    --sizes "${BENCH_SIZES:-$sizes}" --collectives "$collectives" ${BENCH_ALGORITHMS:+--algorithms "$BENCH_ALGORITHMS"} \
    --budget "$budget" --oracle --oracle-budget "$oracle" --out "$out" --name "$name"
  files+=("$out/$name.json")
done
[[ ${#files[@]} -gt 0 ]] || { echo "scripts/bench.sh: BENCH_ONLY=$BENCH_ONLY is none of the fabrics measured" >&2; exit 2; }

# What stands above the mark is written by hand, what is below by the command.
mark='<!-- Everything below is written by scripts/bench.sh. -->'
head=$( [[ -f $page ]] && sed "/^${mark//\//\\/}\$/,\$d" "$page" || true )
{
  [[ -z $head ]] || printf '%s\n\n' "$head"
  printf '%s\n\n' "$mark"
  "$nagare" bench table --plots "$(realpath --relative-to="$(dirname "$page")" "$out")" "${files[@]}"
} >"$page.new"
mv "$page.new" "$page"
echo "written: $page" >&2
