#!/usr/bin/env bash
# Counts instructions (callgrind): what a segment costs in Nagare's own code, what a call of 8 bytes costs there, and
# what a call costs that Nagare passes on, against the same call without Nagare.
#   scripts/instructions.sh            prints all tables: a line for each MPI family and algorithm, or collective
#   scripts/instructions.sh segments   what a segment costs, alone
#   scripts/instructions.sh calls      what a short call on each algorithm costs, alone
#   scripts/instructions.sh passed     what a short call costs that is passed on, alone, in time as well
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Start-up and shutdown cancel in the difference; they vary by some 100 000 instructions, so the calls must be many.
count() { # launcher program collective calls ints
    local launcher=$1 program=$2 collective=$3 calls=$4 ints=$5 out=$work/callgrind.$RANDOM
    $launcher valgrind --tool=callgrind --callgrind-out-file="$out" "$program" "$collective" "$calls" "$ints" \
        >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$out"
}
per_call() {
    local few many
    few=$(count "$1" "$2" "$3" 1000 "$4")
    many=$(count "$1" "$2" "$3" $((1000 + $5)) "$4")
    echo $(((many - few) / $5))
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# The MPI library's instructions are left out, and start-up and the first call cancel in the differences: 25 calls of 1
# MiB less 5 for a segment with its share of the call, 25 calls of 4 MiB less 25 of 1 MiB for one at the margin. Looks
# for messages in vain, as many as the machine has other things to do, are counted apart, with what ranks do between.
segments() { # family algorithm collective ranks topology [window]
    local family=$1 algorithm=$2 collective=$3 ranks=$4 topology=$5 window=${6:-} run
    for run in 5.1 25.1 25.4; do
        local ints=$((${run#*.} << 18))
        [[ $collective == all[tg]* ]] && ints=$((ints / ranks))
        rm -f "$work"/process.*
        NAGARE_TOPOLOGY=$topology NAGARE_ALGORITHM=$collective=$algorithm NAGARE_SEGMENT=8K NAGARE_WAIT=pause \
            "mpirun.$family" -np "$ranks" env ${window:+NAGARE_WINDOW=$window} LD_PRELOAD="$library" valgrind \
            --tool=callgrind --callgrind-out-file="$work/process.%p" "$work/repeated" "$collective" "${run%.*}" \
            "$ints" \
            >"$work/log" 2>&1 ||
            { cat "$work/log" >&2; exit 1; }
        awk -v object=libnagare.so -f scripts/callgrind.awk "$work"/process.* | grep -v '^neither' |
            sort >"$work/run.$run"
    done
    join "$work/run.5.1" "$work/run.25.1" | join - "$work/run.25.4" |
        awk -v row="$(printf '%-8s %-18s %-10s %5d %6s' "$family" "$algorithm" "$collective" "$ranks" \
            "${window:-64}")" '{
            # Of ranks that do both: of a segment sent and one received.
            each = $1 == "both" ? 2 : 1
            segments = $9 + $10 - $3 - $4
            margin = ($17 - $11) / ($15 + $16 - $9 - $10)
            printf "%s %-9s %8d %8d %8.0f %8.0f %8.0f %8d %12d\n", row, $1, $9 - $3, $10 - $4,
                each * ($11 - $5) / segments, each * margin, ($11 - $5 - segments * margin) / 20 / $2,
                $12 - $6, $13 - $7
        }'
}
segment_table() {
    printf '%-8s %-18s %-10s %5s %6s %-9s %8s %8s %8s %8s %8s %8s %12s\n' \
        MPI algorithm collective ranks window these sent received each margin "a call" "in vain" instructions
    for family in openmpi mpich; do
        library=$PWD/target/$family/release/libnagare.so
        [[ -f $library ]] || continue
        "mpicc.$family" -O2 -o "$work/repeated" tests/programs/repeated.c
        segments $family chain bcast 2 'synthetic:node:2 core:1'
        segments $family ring allreduce 2 'synthetic:node:2 core:1'
        segments $family gateway_two_tree bcast 4 'synthetic:node:2 core:2'
        segments $family halving_doubling allreduce 4 'synthetic:node:4 core:1'
        segments $family two_level_ring alltoall 4 'synthetic:node:4 core:1'
        segments $family contention_free alltoall 4 'synthetic:node:4 core:1'
        # More hops, and other windows.
        segments $family contention_free alltoall 8 'synthetic:node:8 core:1'
        segments $family ring allreduce 8 'synthetic:node:8 core:1'
        segments $family ring allreduce 2 'synthetic:node:2 core:1' 4
        segments $family ring allreduce 2 'synthetic:node:2 core:1' 512
    done
}

# Between two ranks, mean of both; the difference of 3000 calls and 500. By no algorithm: a call that is passed on. To
# look up what runs: the rule, the prediction, the segments and the plan, all kept since the first call.
lookup='decision::Decision::(new|pacing)$|Programs::get$'
calls() { # family algorithm collective
    local family=$1 algorithm=$2 collective=$3 calls forced=()
    [[ $algorithm == - ]] || forced=("NAGARE_ALGORITHM=$collective=$algorithm")
    for calls in 500 3000; do
        rm -f "$work"/process.*
        NAGARE_TOPOLOGY='synthetic:node:2 core:1' NAGARE_WAIT=pause \
            "mpirun.$family" -np 2 env "${forced[@]}" LD_PRELOAD="$library" valgrind --tool=callgrind \
            --callgrind-out-file="$work/process.%p" "$work/repeated" "$collective" "$calls" 2 \
            >"$work/log" 2>&1 </dev/null ||
            { cat "$work/log" >&2; exit 1; }
        awk -v object=libnagare.so -v inside="$lookup" -f scripts/callgrind.awk "$work"/process.* |
            awk '{ messages += $3; own += $5; looks += $6; lookup += $8 }
                END { print messages, own, lookup, looks }' >"$work/calls.$calls"
    done
    paste "$work/calls.500" "$work/calls.3000" | awk -v family="$family" -v algorithm="$algorithm" \
        -v collective="$collective" '{ printf "%-8s %-18s %-20s %8.1f %12.0f %8.0f %8.1f\n", family, algorithm,
            collective, ($5 - $1) / 2500, ($6 - $2) / 5000, ($7 - $3) / 5000, ($8 - $4) / 5000 }'
}
call_table() {
    printf '%-8s %-18s %-20s %8s %12s %8s %8s\n' MPI algorithm collective messages instructions "look up" "in vain"
    for family in openmpi mpich; do
        library=$PWD/target/$family/release/libnagare.so
        [[ -f $library ]] || continue
        "mpicc.$family" -O2 -o "$work/repeated" tests/programs/repeated.c
        while read -r algorithm collectives; do
            for collective in $collectives; do
                calls $family "$algorithm" "$collective"
            done
        done <<'END'
chain bcast reduce allreduce
two_tree bcast reduce allreduce
grouped_two_tree bcast reduce allreduce
gateway_two_tree bcast reduce allreduce
circulant bcast reduce allreduce
ring allreduce allgather allgatherv reduce_scatter_block reduce_scatter
halving_doubling allreduce allgather allgatherv reduce_scatter_block reduce_scatter
two_level_ring alltoall alltoallv
ring_exchange alltoall
aggregated alltoall
xor alltoall
contention_free alltoall
direct gather gatherv scatter scatterv
relay gather scatter
tree gather scatter
END
    done
}

# What is passed on between two ranks: instructions as above, and the time of a call on rank 0, microseconds, without
# Nagare and with it in turn, medians and quartiles of 9 jobs each.
all_collectives=(bcast reduce allreduce alltoall alltoallv alltoallw gather gatherv scatter scatterv allgather
    allgatherv reduce_scatter_block reduce_scatter)
quartiles() {
    sort -n "$@" | awk '{ of[NR] = $1 } END {
        printf "%.3f (%.3f-%.3f)", of[int((NR + 1) / 2)], of[int((NR + 3) / 4)], of[int((3 * NR + 1) / 4)]
    }'
}
passed_table() {
    source scripts/launchers.sh
    trap 'rm -rf "$work" "$names"' EXIT
    printf '%-8s %-20s %26s %26s\n' MPI collective "us without" "us with"
    local mpi family library collective run with launcher
    for mpi in openmpi4 openmpi5 mpich4 mpich5; do
        is_there $mpi || continue
        family=${mpi%[0-9]}
        library=$PWD/target/$family/release/libnagare.so
        [[ -f $library ]] || continue
        "mpicc.$family" -O2 -o "$work/repeated" tests/programs/repeated.c
        read -ra launcher <<<"${launchers[$mpi]}"
        for collective in "${all_collectives[@]}"; do
            rm -f "$work"/time.*
            for run in 1 2 3 4 5 6 7 8 9; do
                for with in "" "$library"; do
                    LD_LIBRARY_PATH=$(library_path $mpi) NAGARE_TOPOLOGY='synthetic:node:2 core:1' \
                        "${launcher[@]}" -np 2 env ${with:+LD_PRELOAD="$with"} "$work/repeated" "$collective" 100000 2 \
                        >>"$work/time.${with:+with}" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
                done
            done
            printf '%-8s %-20s %26s %26s\n' $mpi "$collective" "$(quartiles "$work/time.")" \
                "$(quartiles "$work/time.with")"
        done
    done
    printf '\n%-8s %-18s %-20s %8s %12s %8s %8s\n' MPI algorithm collective messages instructions "look up" "in vain"
    for family in openmpi mpich; do
        library=$PWD/target/$family/release/libnagare.so
        [[ -f $library ]] || continue
        "mpicc.$family" -O2 -o "$work/repeated" tests/programs/repeated.c
        for collective in "${all_collectives[@]}"; do
            calls $family - "$collective"
        done
    done
}

case ${1:-} in
segments) segment_table; exit ;;
calls) call_table; exit ;;
passed) passed_table; exit ;;
esac
segment_table
echo
call_table
echo

printf '%-8s %-20s %10s %10s %14s %14s\n' MPI collective bytes without "with (more)" "report (more)"
line() { # family collective bytes ints calls launcher-with-ranks...
    local family=$1 collective=$2 ints=$3 calls=$4 plain quiet report
    shift 4
    plain=$(per_call "$*" "$work/repeated" "$collective" "$ints" "$calls")
    quiet=$(per_call "$* env LD_PRELOAD=$library" "$work/repeated" "$collective" "$ints" "$calls")
    report=$(per_call "$* env LD_PRELOAD=$library NAGARE_REPORT=$work/report" "$work/repeated" "$collective" "$ints" \
        "$calls")
    printf '%-8s %-20s %10d %10d %14s %14s\n' "$family" "$collective" $((4 * ints)) "$plain" \
        "$quiet (+$((quiet - plain)))" "$report (+$((report - plain)))"
}
for family in openmpi mpich; do
    library=$PWD/target/$family/release/libnagare.so
    [[ -f $library ]] || continue
    "mpicc.$family" -O2 -o "$work/repeated" tests/programs/repeated.c
    for collective in bcast reduce allreduce alltoall allgather reduce_scatter_block reduce_scatter; do
        line $family $collective 1 100000 mpirun.$family -np 1
    done
    # Above every threshold: the communicator's record is looked up as well.
    line $family bcast 65536 20000 mpirun.$family -np 1
done
