#!/usr/bin/env bash
# The benchmarks of docs/benchmarks/tables.md: every placement below, in one job each, then the page's tables and plots.
#
#   scripts/bench.sh                      everything into docs/benchmarks/ and its tables.md; more than an hour
#   scripts/bench.sh --halving            halving and doubling beside its rivals, into docs/benchmarks/halving-*;
#                                         a few minutes for each, no page
#   scripts/bench.sh --short OUT          two fabrics and two sizes into OUT, within a minute: whether it works
#
# The environment changes the first two: BENCH_OUT (docs/benchmarks), BENCH_PAGE (its tables.md), BENCH_MPI
# (openmpi), BENCH_SIZES, BENCH_COLLECTIVES, BENCH_ALGORITHMS (all; with --halving those compared), BENCH_BUDGET and
# BENCH_ORACLE_BUDGET (seconds for one collective and size; BENCH_ORACLE_BUDGET=0: stock is not told what to run),
# BENCH_ONLY (a fabric's name), BENCH_OPTIONS (more options of `nagare bench`, such as --congestion reno). NAGARE names
# the command (target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."

nagare=${NAGARE:-target/release/nagare}
mpi=${BENCH_MPI:-openmpi}
read -ra options <<<"${BENCH_OPTIONS:-}"

# FABRIC RANKS RANKS-PER-HOST MAP SIZES [COLLECTIVES [ORACLE-BUDGET]]; sizes of collectives with blocks are those of all
# together
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
collectives=bcast,reduce,allreduce,alltoall,alltoallv,alltoallw,gather,gatherv
collectives+=,scatter,scatterv,allgather,allgatherv,reduce_scatter_block,reduce_scatter
algorithms=
budget=${BENCH_BUDGET:-1.5}
oracle=3
halving=
out=${BENCH_OUT:-docs/benchmarks}

case "${1:-}" in
  "") ;;
  --halving)
    halving=yes
    collectives=allreduce
    algorithms=stock,default,halving_doubling,ring,gateway_two_tree
    halves=allreduce,allgather,reduce_scatter_block
    sizes=1K,4K,16K,64K,256K,1M,4M
    # The slowest fabric, whose stock is known from the full run, without the oracle.
    placements=(
      "torus16 16 1 slot 1K,4K,16K,64K,128K,256K,512K,1M,2M,4M $halves"
      "tree8 16 2 slot $sizes $halves"
      "wan2x8 16 1 slot $sizes"
      "star16 32 2 slot $sizes"
      "fattree 16 1 slot $sizes"
      "mlfm36 32 1 slot $sizes allreduce 0"
      "mlfm36 32 1 balanced $sizes allreduce 0"
    )
    ;;
  --short)
    out=${2:?usage: scripts/bench.sh --short OUT}
    placements=("tree8 4 1 slot 8,64K" "star16 4 2 node 8,64K")
    unset BENCH_COLLECTIVES BENCH_ORACLE_BUDGET BENCH_PAGE
    options=()
    collectives=bcast,gather
    budget=0.3
    oracle=1
    ;;
  *)
    echo "scripts/bench.sh: '$1' is no option; expected --short OUT" >&2
    exit 2
    ;;
esac
page=${BENCH_PAGE:-$out/tables.md}

mkdir -p "$out"
files=()
for placement in "${placements[@]}"; do
  read -r fabric ranks ppn map sizes own told <<<"$placement"
  [[ -z ${BENCH_ONLY:-} || $BENCH_ONLY == "$fabric" ]] || continue
  name=$fabric-${ranks}x$ppn-$map-$mpi
  [[ -z $halving ]] || name=halving-$fabric
  # The one fabric with two maps.
  [[ $name != halving-mlfm36 ]] || name+=-$map
  words=("${options[@]}" --fabric "$fabric" --np "$ranks" --ppn "$ppn" --map "$map" --mpi "$mpi")
  words+=(--sizes "${BENCH_SIZES:-$sizes}")
  words+=(--collectives "${BENCH_COLLECTIVES:-${own:-$collectives}}" --budget "$budget")
  among=${BENCH_ALGORITHMS:-$algorithms}
  [[ -z $among ]] || words+=(--algorithms "$among")
  told=${BENCH_ORACLE_BUDGET:-${told:-$oracle}}
  [[ $told == 0 ]] || words+=(--oracle --oracle-budget "$told")
  echo "== $name" >&2
  "$nagare" bench "${words[@]}" --out "$out" --name "$name"
  files+=("$out/$name.json")
done
if [[ ${#files[@]} -eq 0 ]]; then
    echo "scripts/bench.sh: BENCH_ONLY=$BENCH_ONLY is none of the fabrics that it measures" >&2
    exit 2
fi

if [[ -n $halving ]]; then
  echo "their tables: $nagare bench table --plots benchmarks ${files[*]}" >&2
  exit
fi

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
# Status 1: somewhere the default is slower than it should be by what the same run measured. Noise alone finds some.
"$nagare" bench guidelines "${files[@]}" || [[ $? == 1 ]]
