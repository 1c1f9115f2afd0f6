#!/usr/bin/env bash
# Measures what a job's start costs: without Nagare, switched off and with it, in turn on every MPI that is here.
#   scripts/startup.sh                prints a Markdown table
#   LIBRARIES=DIR scripts/startup.sh  measures DIR/openmpi.so and DIR/mpich.so in place of those of target/
#   RANKS="1 16" ROUNDS=9             other numbers of ranks, and of jobs per column (fewer at 64 ranks)
# MPI_Init: the longest of all ranks. CPU: user and system time of the whole job with its launcher, by rank.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
TIMEFORMAT='%R %U %S'

# A row of numbers per job: seconds in MPI_Init, seconds of the job, CPU seconds by rank.
job() { # file ranks launcher... -- variables...
    local file=$1 ranks=$2 launcher=() times
    shift 2
    while [[ $1 != -- ]]; do launcher+=("$1"); shift; done
    shift
    { time "${launcher[@]}" -n "$ranks" env "$@" "$work/startup" >"$work/out" 2>"$work/err"; } 2>"$work/times" ||
        { cat "$work/out" "$work/err" >&2; exit 1; }
    times=$(cat "$work/times")
    sed -n 's/^init=//p' "$work/out" | awk -v ranks="$ranks" -v times="$times" \
        '{ split(times, t, " "); print $1, t[1], (t[2] + t[3]) / ranks }' >>"$file"
}
# Median and quartiles of a column, in milliseconds.
summary() { # file column
    sort -n -k "$2,$2" "$1" | awk -v column="$2" '{ v[NR] = 1000 * $column }
        function at(q, p, i) {
            p = 1 + (NR - 1) * q; i = int(p)
            return i == NR ? v[i] : v[i] + (p - i) * (v[i + 1] - v[i])
        }
        END { printf "%.0f (%.0f–%.0f)", at(0.5), at(0.25), at(0.75) }'
}

echo '| MPI | ranks | MPI_Init, ms: stock | switched off | default | job, ms: stock | switched off | default | CPU a rank, ms: stock | switched off | default |'
echo '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|'
measure() { # name family compiler launcher...
    local name=$1 family=$2 compiler=$3 library ranks rounds column
    shift 3
    command -v "$compiler" >/dev/null || return 0
    library=${LIBRARIES:+$LIBRARIES/$family.so}
    library=${library:-$PWD/target/$family/release/libnagare.so}
    "$compiler" -O2 -o "$work/startup" tests/programs/startup.c
    for ranks in ${RANKS:-1 16 64}; do
        rounds=${ROUNDS:-9}
        if ((ranks > 16)); then rounds=$(((rounds + 2) / 3)); fi
        rm -f "$work"/{stock,off,default}
        for ((round = 0; round < rounds; round++)); do
            job "$work/stock" "$ranks" "$@" -- STOCK=1
            job "$work/off" "$ranks" "$@" -- "LD_PRELOAD=$library" NAGARE_ENABLE=0
            job "$work/default" "$ranks" "$@" -- "LD_PRELOAD=$library"
        done
        printf '| %s | %d |' "$name" "$ranks"
        for column in 1 2 3; do
            printf ' %s | %s | %s |' "$(summary "$work/stock" $column)" "$(summary "$work/off" $column)" \
                "$(summary "$work/default" $column)"
        done
        echo
    done
}
venv=$PWD/target/venv
measure 'Open MPI 4.1.4' openmpi mpicc.openmpi mpirun.openmpi --oversubscribe
measure 'Open MPI 5.0.11' openmpi "$venv/openmpi5/bin/mpicc" "$venv/openmpi5/bin/mpirun" --oversubscribe
measure 'MPICH 4.0.2' mpich mpicc.mpich mpiexec.mpich
measure 'MPICH 5.0.2' mpich "$venv/mpich5/bin/mpicc" "$venv/mpich5/bin/mpiexec"
