#!/usr/bin/env bash
# Counts the instructions a call costs when Nagare passes it on, against the same call without Nagare (callgrind).
#   scripts/instructions.sh            prints one line per MPI family, collective and report setting
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Start-up and shutdown cancel in the difference; they vary by some 100 000 instructions, so the calls must be many.
count() { # launcher program collective calls
    local launcher=$1 program=$2 collective=$3 calls=$4 out=$work/callgrind.$RANDOM
    $launcher valgrind --tool=callgrind --callgrind-out-file="$out" "$program" "$collective" "$calls" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$out"
}
per_call() {
    local few many
    few=$(count "$1" "$2" "$3" 1000)
    many=$(count "$1" "$2" "$3" 101000)
    echo $(((many - few) / 100000))
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
printf '%-8s %-10s %10s %14s %14s\n' MPI collective without "with (more)" "report (more)"
for family in openmpi mpich; do
    library=$PWD/target/$family/release/libnagare.so
    [[ -f $library ]] || continue
    "mpicc.$family" -O2 -o "$work/forwarded" tests/programs/forwarded.c
    for collective in bcast reduce allreduce alltoall; do
        plain=$(per_call "mpirun.$family -np 1" "$work/forwarded" $collective)
        quiet=$(per_call "mpirun.$family -np 1 env LD_PRELOAD=$library" "$work/forwarded" $collective)
        report=$(per_call "mpirun.$family -np 1 env LD_PRELOAD=$library NAGARE_REPORT=$work/report" "$work/forwarded" $collective)
        printf '%-8s %-10s %10d %14s %14s\n' $family $collective "$plain" "$quiet (+$((quiet - plain)))" "$report (+$((report - plain)))"
    done
done
