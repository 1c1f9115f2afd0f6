#!/usr/bin/env bash
# Stock and default of every MPI that is installed, call by call in one job for each fabric; with
# BENCH_ALGORITHMS=all every algorithm as well, and a table of the best of them.
#
#   scripts/bench-mpis.sh OUT [FABRIC...]     results into OUT; tree8, star16 and mlfm36 unless given
#
# The environment changes it: BENCH_MPIS (openmpi4 openmpi5 mpich4 mpich5: Debian's and PyPI's), BENCH_SIZES,
# BENCH_COLLECTIVES, BENCH_ALGORITHMS (stock,default; all), BENCH_NP (ranks; one on every host), BENCH_BUDGET (seconds
# for one collective and size), BENCH_OPTIONS (other options of `nagare bench`, such as --back-to-back 4). NAGARE names
# the command (target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/bench-mpis.sh OUT [FABRIC...]}
shift
fabrics=("$@")
[[ ${#fabrics[@]} -gt 0 ]] || fabrics=(tree8 star16 mlfm36)
mkdir -p "$out"

nagare=${NAGARE:-target/release/nagare}
words=(--sizes "${BENCH_SIZES:-1K,4K,16K,64K,256K,1M,4M}" --budget "${BENCH_BUDGET:-1}" --out "$out")
all=bcast,reduce,allreduce,alltoall,alltoallv,gather,allgather,reduce_scatter_block,reduce_scatter
words+=(--collectives "${BENCH_COLLECTIVES:-$all}")
algorithms=${BENCH_ALGORITHMS:-stock,default} table=--gains
if [[ $algorithms == all ]]; then table=--best; else words+=(--algorithms "$algorithms"); fi
[[ -z ${BENCH_NP:-} ]] || words+=(--np "$BENCH_NP")
read -ra options <<<"${BENCH_OPTIONS:-}"
words+=("${options[@]}")
source scripts/launchers.sh
for fabric in "${fabrics[@]}"; do
    files=()
    for mpi in ${BENCH_MPIS:-openmpi4 openmpi5 mpich4 mpich5}; do
        is_there "$mpi" || continue
        name=$(basename "$fabric" .toml)-$mpi
        echo "== $name" >&2
        # A job that does not come to its end has written what it measured, and does not stop the others.
        LD_LIBRARY_PATH=$(library_path "$mpi") "$nagare" bench "${words[@]}" --fabric "$fabric" \
            --mpi "$(command -v "${launchers[$mpi]%% *}")" --name "$name" || echo "$name: not complete" >&2
        [[ ! -f $out/$name.json ]] || files+=("$out/$name.json")
    done
    [[ ${#files[@]} -eq 0 ]] || "$nagare" bench table $table "${files[@]}"
done
