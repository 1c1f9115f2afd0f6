#!/usr/bin/env bash
# Counts the instructions a call costs when Nagare passes it on, against the same call without Nagare (callgrind).
#   scripts/instructions.sh            prints one line per MPI family, collective and report setting
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Start-up and shutdown cancel in the difference; they vary by some 100 000 instructions, so the calls must be many.
count() { # launcher program collective calls ints
    local launcher=$1 program=$2 collective=$3 calls=$4 ints=$5 out=$work/callgrind.$RANDOM
    $launcher valgrind --tool=callgrind --callgrind-out-file="$out" "$program" "$collective" "$calls" "$ints" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$out"
}
per_call() {
    local few many
    few=$(count "$1" "$2" "$3" 1000 "$4")
    many=$(count "$1" "$2" "$3" $((1000 + $5)) "$4")
    echo $(((many - few) / $5))
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

printf '%-8s %-20s %10s %10s %14s %14s\n' MPI collective bytes without "with (more)" "report (more)"
line() { # family collective bytes ints calls launcher-with-ranks...
    local family=$1 collective=$2 ints=$3 calls=$4 plain quiet report
    shift 4
    plain=$(per_call "$*" "$work/forwarded" "$collective" "$ints" "$calls")
    quiet=$(per_call "$* env LD_PRELOAD=$library" "$work/forwarded" "$collective" "$ints" "$calls")
    report=$(per_call "$* env LD_PRELOAD=$library NAGARE_REPORT=$work/report" "$work/forwarded" "$collective" "$ints" "$calls")
    printf '%-8s %-20s %10d %10d %14s %14s\n' "$family" "$collective" $((4 * ints)) "$plain" \
        "$quiet (+$((quiet - plain)))" "$report (+$((report - plain)))"
}
for family in openmpi mpich; do
    library=$PWD/target/$family/release/libnagare.so
    [[ -f $library ]] || continue
    "mpicc.$family" -O2 -o "$work/forwarded" tests/programs/forwarded.c
    for collective in bcast reduce allreduce alltoall allgather reduce_scatter_block reduce_scatter; do
        line $family $collective 1 100000 mpirun.$family -np 1
    done
    # Above every threshold: the communicator's record is looked up as well.
    line $family bcast 65536 20000 mpirun.$family -np 1
done
