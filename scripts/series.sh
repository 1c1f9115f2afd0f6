#!/usr/bin/env bash
# What a series of equal calls takes: the MPI library alone, Nagare's prediction (NAGARE_LEARN=off), and what the calls
# themselves teach (on), trials included, in turn. Ranks on this host, on two pretended nodes: shared memory is a
# network as fast as any, and none that predictions were fitted to.
#   scripts/series.sh                 prints a Markdown table of ratios: library / Nagare, more than 1 is a gain
#   CALLS=50 ROUNDS=7 RANKS=2 scripts/series.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks=${RANKS:-2} calls=${CALLS:-50} rounds=${ROUNDS:-7}

seconds() { # launcher... -- variables...
    local launcher=()
    while [[ $1 != -- ]]; do launcher+=("$1"); shift; done
    shift
    "${launcher[@]}" -n "$ranks" env "$@" "$work/learning" "collective=$collective" "bytes=$bytes" "calls=$calls" |
        sed -n 's/^learning seconds=//p'
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo '| MPI | collective | bytes | library alone, ms a call | library / predicted | library / learnt |'
echo '|---|---|---:|---:|---:|---:|'
measure() { # name family compiler launcher...
    local name=$1 library=$PWD/target/$2/release/libnagare.so compiler=$3
    shift 3
    command -v "$compiler" >/dev/null || return 0
    "$compiler" -O2 -D_GNU_SOURCE -o "$work/learning" tests/programs/learning.c
    for collective in bcast allreduce allgather alltoall; do
        for bytes in 16384 262144 4194304; do
            rm -f "$work"/{stock,off,on}
            for ((round = 0; round < rounds; round++)); do
                seconds "$@" -- STOCK=1 >>"$work/stock"
                for learn in off on; do
                    seconds "$@" -- "LD_PRELOAD=$library" NAGARE_TOPOLOGY="synthetic:node:2 core:$(((ranks + 1) / 2))" \
                        NAGARE_LEARN=$learn >>"$work/$learn"
                done
            done
            awk -v stock="$(median "$work/stock")" -v off="$(median "$work/off")" -v on="$(median "$work/on")" \
                -v row="| $name | $collective | $bytes |" -v calls="$calls" \
                'BEGIN { printf "%s %.3f | %.2f | %.2f |\n", row, 1000 * stock / calls, stock / off, stock / on }'
        done
    done
}
measure 'Open MPI 4.1.4' openmpi mpicc.openmpi mpirun.openmpi --oversubscribe
measure 'MPICH 4.0.2' mpich mpicc.mpich mpiexec.mpich
