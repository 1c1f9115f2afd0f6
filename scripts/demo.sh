#!/usr/bin/env bash
# The main job: FT, IS and a sweep of the four collectives, with stock Open MPI and with Nagare in turn, verified.
#   scripts/demo.sh [ranks]     (with a number of ranks: on this host; make demo installs what is missing and builds)
set -euo pipefail
cd "$(dirname "$0")/.."

ranks=${1:-16}
nagare=$PWD/target/release/nagare
work=$PWD/target/demo
mkdir -p "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# On an emulated cluster where one can be made; else on this host, which then pretends to be several nodes.
if [[ $# -eq 0 ]] && "$nagare" testbed up tree8 >"$work/testbed.log" 2>&1; then
    trap '"$nagare" testbed down tree8 >/dev/null' EXIT
    stock() { "$nagare" testbed run tree8 --np "$ranks" --ppn 2 --mpi openmpi --stock -- "$@"; }
    ours() { "$nagare" testbed run tree8 --np "$ranks" --ppn 2 --mpi openmpi -- "$@"; }
    where="16 ranks on the emulated cluster tree8: 8 hosts under two leaf switches, all links 100 Mbit/s"
    note="This machine emulates the cluster (namespaces and rate-limited links): the ratios tell what its links allow,
not its processors. Other programs on this machine disturb them."
else
    export NAGARE_TOPOLOGY="synthetic:group:2 node:4 core:$(((ranks + 7) / 8))"
    mpirun=(mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 --mca btl "self,vader" -np "$ranks")
    stock() { "${mpirun[@]}" "$@"; }
    ours() { "$nagare" run -- "${mpirun[@]}" "$@"; }
    where="$ranks ranks on this host, pretended machine: ${NAGARE_TOPOLOGY#synthetic:} (2 groups of 4 nodes)"
    note="These are times of copies within one machine's memory: they show that the schedules run and what they cost,
and say nothing about speed. Nagare is for several nodes behind shared links, and there are none here."
fi

progress() { printf '\r\033[K%s' "$*" >&2; }
fail() { printf '\r\033[K' >&2; echo "demo: $1 failed; its output:" >&2; cat "$2" >&2; exit 1; }

progress "compiling the programs"
mpif90.openmpi -O2 -J "$work" -o "$work/ft" examples/ft.f90
mpicc.openmpi -std=c11 -O2 -o "$work/is" examples/is.c
mpicc.openmpi -std=c11 -O2 -o "$work/sweep" examples/sweep.c -ldl

rows=()
# A kernel, three times each, stock and Nagare in turn; the fastest run of each counts.
kernel() { # name class
    local name=$1 class=$2 stock="" ours="" seconds round algorithm
    for round in 1 2 3; do
        for side in stock nagare; do
            progress "$name class $class, $side, run $round of 3"
            local log=$work/$name.$side report=$work/$name.json
            if [[ $side == stock ]]; then
                stock "$work/$name" "$class" >"$log" 2>&1 || fail "$name ($side)" "$log"
            else
                NAGARE_REPORT=$report ours "$work/$name" "$class" >"$log" 2>&1 || fail "$name ($side)" "$log"
            fi
            grep -q "verification SUCCESSFUL" "$log" || fail "$name ($side)" "$log"
            seconds=$(sed -n 's/.* time \([0-9.]*\) s .*/\1/p' "$log")
            if [[ $side == stock ]]; then stock=$(least "$stock" "$seconds"); else ours=$(least "$ours" "$seconds"); fi
        done
    done
    # Calls left to the library are many kinds of small ones: the report tells them.
    algorithm=$(awk -f scripts/ran.awk "$work/$name.json" | sed -E 's/[a-z_]+: stock \([^)]*\)(; )?//g; s/; $//')
    rows+=("$(printf '%-10s %10s %12.6f %12.6f %7.2f  %s' "$name" "class $class" "$stock" "$ours" \
        "$(awk "BEGIN { print $stock / $ours }")" "${algorithm:-stock}")")
}
least() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }

kernel ft W
kernel is A

progress "sweep of bcast, reduce, allreduce, alltoall, 1 KiB to 1 MiB"
ours "$work/sweep" 1048576 5 >"$work/sweep.log" 2>&1 || fail sweep "$work/sweep.log"
grep -q "SWEEP verified" "$work/sweep.log" || fail sweep "$work/sweep.log"
while read -r _ collective bytes _ stock _ ours _ ratio _ algorithm; do
    [[ $ratio == - ]] || ratio=$(printf '%.2f' "$ratio")
    row=$(printf '%-10s %10s %12.6f %12.6f %7s  %s' "$collective" "$bytes" "$stock" "$ours" "$ratio" "$algorithm")
    rows+=("$row")
done < <(grep "^SWEEP [a-z]* [0-9]" "$work/sweep.log")

progress ""
echo "$where"
printf '%-10s %10s %12s %12s %7s  %s\n' "" "size" "stock s" "Nagare s" "ratio" "what ran under Nagare"
printf '%s\n' "${rows[@]}"
echo "All results were verified. ratio = stock / Nagare; - where both ran the MPI library's own: by default Nagare
leaves small calls to it, and those that are as fast there. Kernels: the fastest of three runs each. Collectives: the
median of 5 calls on either side, after 12 to 40 in which Nagare could measure what is the fastest."
echo "$note"
