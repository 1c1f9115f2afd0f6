#!/usr/bin/env bash
# Shared memory as the fastest network there is on one machine: stock, the default and every algorithm, call by call in
# one job, for every MPI that is installed. Two ranks as two nodes of one core; with 4, two nodes of two cores.
#
#   scripts/bench-shared.sh OUT [RANKS...]     results into OUT; 2 ranks unless given
#
# The environment changes it: BENCH_MPIS (openmpi4 openmpi5 mpich4 mpich5: Debian's and PyPI's), BENCH_SIZES,
# BENCH_COLLECTIVES, BENCH_ALGORITHMS (all), BENCH_BUDGET (seconds for one collective and size). NAGARE names the
# command (target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/bench-shared.sh OUT [RANKS...]}
shift
ranks=("$@")
[[ ${#ranks[@]} -gt 0 ]] || ranks=(2)
mkdir -p "$out"

nagare=${NAGARE:-target/release/nagare}
words=(--sizes "${BENCH_SIZES:-1K,4K,16K,64K,256K,1M,4M,16M,64M}" --budget "${BENCH_BUDGET:-1}" --out "$out")
all=bcast,reduce,allreduce,alltoall,alltoallv,alltoallw,gather,gatherv
all+=,scatter,scatterv,allgather,allgatherv,reduce_scatter_block,reduce_scatter
words+=(--collectives "${BENCH_COLLECTIVES:-$all}")
[[ -z ${BENCH_ALGORITHMS:-} ]] || words+=(--algorithms "$BENCH_ALGORITHMS")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
source scripts/launchers.sh
files=()
for count in "${ranks[@]}"; do
    for mpi in ${BENCH_MPIS:-openmpi4 openmpi5 mpich4 mpich5}; do
        is_there "$mpi" || continue
        read -ra launcher <<<"${launchers[$mpi]}"
        echo "== $mpi, $count ranks" >&2
        LD_LIBRARY_PATH=$(library_path "$mpi") NAGARE_TOPOLOGY="synthetic:node:2 core:$((count / 2))" \
            "$nagare" bench "${words[@]}" --name "$mpi-memory$count" -- "${launcher[@]}" -np "$count"
        files+=("$out/$mpi-memory$count.json")
    done
done
"$nagare" bench table --best "${files[@]}"
