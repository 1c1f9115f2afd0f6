#!/usr/bin/env bash
# Networks that nothing was fitted to: ten drawn at random, each told and untold, and shared memory between two and four
# ranks. Stock and default as series of calls, measured calls included, in one job for each network.
#
#   scripts/bench-unknown.sh OUT [SEED...]     results into OUT; seeds 1 to 10 unless given
#
# The environment changes it: BENCH_MPI (openmpi), BENCH_SIZES, BENCH_COLLECTIVES, BENCH_SERIES (50 calls), BENCH_BUDGET
# (seconds for one collective and size), BENCH_NUMBERS (int; float: what sums of these run on is predicted, not
# measured). NAGARE names the command (target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/bench-unknown.sh OUT [SEED...]}
shift
seeds=("$@")
[[ ${#seeds[@]} -gt 0 ]] || mapfile -t seeds < <(seq 10)
mkdir -p "$out"

nagare=${NAGARE:-target/release/nagare}
mpi=${BENCH_MPI:-openmpi}
words=(--sizes "${BENCH_SIZES:-256,4K,64K,1M,4M}" --series "${BENCH_SERIES:-50}" --budget "${BENCH_BUDGET:-2}")
all=bcast,reduce,allreduce,alltoall,alltoallv,alltoallw,gather,gatherv
all+=,scatter,scatterv,allgather,allgatherv,reduce_scatter_block,reduce_scatter
words+=(--collectives "${BENCH_COLLECTIVES:-$all}")
words+=(--numbers "${BENCH_NUMBERS:-int}" --algorithms stock,default --out "$out")
files=()
measured() { # name options...
    echo "== $1" >&2
    "$nagare" bench "${words[@]}" --name "$@"
    files+=("$out/$1.json")
}
for seed in "${seeds[@]}"; do
    file=$out/unknown$seed.toml
    "$nagare" bench draw "$seed" >"$file"
    ranks=$(sed -n 's/^# Ranks on a host: //p' "$file")
    measured "unknown$seed-told" --fabric "$file" --ppn "$ranks" --mpi "$mpi"
    measured "unknown$seed-untold" --fabric "$file" --ppn "$ranks" --mpi "$mpi" --untold
done
launcher=(mpirun.openmpi --oversubscribe --allow-run-as-root)
[[ $mpi == openmpi ]] || launcher=(mpiexec.mpich)
for ranks in 2 4; do
    NAGARE_TOPOLOGY="synthetic:node:2 core:$((ranks / 2))" \
        measured "memory$ranks" -- "${launcher[@]}" -np "$ranks"
done
"$nagare" bench table --gains "${files[@]}"
# Status 1: somewhere the default is slower than it should be by what the same run measured.
"$nagare" bench guidelines "${files[@]}" || [[ $? == 1 ]]
