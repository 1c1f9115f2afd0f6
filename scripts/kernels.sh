#!/usr/bin/env bash
# The kernels FT and IS with stock Open MPI and with Nagare in turn on emulated fabrics: total time, and time in each
# collective.
#
#   scripts/kernels.sh [FABRIC...]      names of fabrics/ or paths of fabric files; tree8 and star16 where none is given
#
# The environment changes it: KERNELS (ft:W is:A; classes S, W, A), ROUNDS (3; the first runs stock first, the second
# Nagare first, and so on), PPN (2), MAP (slot), CONGESTION (TCP's congestion control, that of the testbed), WORK
# (target/kernels: programs, output of the runs, and runs.txt with a line per run), NAGARE (the command,
# target/release/nagare).
set -euo pipefail
cd "$(dirname "$0")/.."

nagare=${NAGARE:-$PWD/target/release/nagare}
rounds=${ROUNDS:-3}
read -ra kernels <<<"${KERNELS:-ft:W is:A}"
[[ $# -gt 0 ]] || set -- tree8 star16
mkdir -p "${WORK:-target/kernels}"
# The ranks start elsewhere.
work=$(realpath "${WORK:-target/kernels}")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

progress() { if [[ -t 2 ]]; then printf '\r\033[K%s' "$*" >&2; fi; }
fail() { progress; echo "kernels: $1; its output:" >&2; cat "$2" >&2; exit 1; }

mpif90.openmpi -O2 -J "$work" -o "$work/ft" examples/ft.f90
mpicc.openmpi -std=c11 -O2 -o "$work/is" examples/is.c

# A copy has a name of its own, so that a testbed of the fabric that is up already is left alone.
bed=
trap '[[ -z $bed ]] || "$nagare" testbed down "$bed" >/dev/null' EXIT
runs=$work/runs.txt
: >"$runs"

run() { # fabric file, side, kernel, class
    local options=() log=$work/$3.$2
    [[ $2 == nagare ]] || options=(--stock)
    NAGARE_REPORT=replace:$work/$3.json timeout 600 \
        "$nagare" testbed run "$1" --ppn "${PPN:-2}" --map "${MAP:-slot}" --mpi openmpi "${options[@]}" \
        -- "$work/$3" "$4" >"$log" 2>&1 || fail "$3 class $4 ($2) failed" "$log"
    grep -q "verification SUCCESSFUL" "$log" || fail "$3 class $4 ($2) is not verified" "$log"
    echo "$2 $(tail -n 1 "$log")" >>"$runs"
}

# Medians of the lines "SIDE NAME class C ranks N time T s … s verification …" of standard input.
table() {
    awk '
        { kernel = tolower($2) " " $4
          for (i = 7; $i != "verification"; i += 3) {
              if (!((kernel, $i) in known)) { known[kernel, $i] = 1; rows[++n] = kernel; what[n] = $i }
              key = kernel SUBSEP $i SUBSEP $1
              value[key, ++count[key]] = $(i + 1)
          } }
        function sorted(key,   i, j, swap) {
            for (i = 2; i <= count[key]; i++)
                for (j = i; j > 1 && value[key, j - 1] + 0 > value[key, j] + 0; j--) {
                    swap = value[key, j]; value[key, j] = value[key, j - 1]; value[key, j - 1] = swap
                }
        }
        # Linear between neighbours.
        function quantile(key, share,   at, low) {
            at = 1 + share * (count[key] - 1)
            low = int(at)
            return value[key, low] + (at - low) * (value[key, low + (low < at)] - value[key, low])
        }
        function median(key) { return quantile(key, 0.5) }
        function range(key) {
            return sprintf("%.3f (%.3f to %.3f)", median(key), quantile(key, 0.25), quantile(key, 0.75))
        }
        END {
            printf "  %-6s %-12s %26s %26s %7s\n", "", "", "stock s", "Nagare s", "ratio"
            for (i = 1; i <= n; i++) {
                a = rows[i] SUBSEP what[i] SUBSEP "stock"; b = rows[i] SUBSEP what[i] SUBSEP "nagare"
                sorted(a); sorted(b)
                printf "  %-6s %-12s %26s %26s %7.2f\n", rows[i], what[i], range(a), range(b), median(a) / median(b)
            }
        }'
}

for fabric; do
    file=$fabric
    [[ -f $file ]] || file=fabrics/$fabric.toml
    [[ -f $file ]] || { echo "kernels: $fabric is neither a file nor one of fabrics/" >&2; exit 2; }
    name=$(basename "$file" .toml)-kernels-$$
    cp "$file" "$work/$name.toml"
    "$nagare" testbed up "$work/$name.toml" ${CONGESTION:+--congestion "$CONGESTION"} >"$work/testbed.log"
    bed=$name
    start=$(($(wc -l <"$runs") + 1))
    ran=()
    for kernel in "${kernels[@]}"; do
        for ((round = 1; round <= rounds; round++)); do
            sides=(stock nagare)
            ((round % 2)) || sides=(nagare stock)
            for side in "${sides[@]}"; do
                progress "$fabric: ${kernel/:/ class }, round $round of $rounds, $side"
                run "$work/$name.toml" "$side" "${kernel%:*}" "${kernel#*:}"
            done
        done
        ran+=("  ${kernel/:/ } ran $(awk -f scripts/ran.awk "$work/${kernel%:*}.json")")
    done
    "$nagare" testbed down "$bed" >/dev/null
    bed=
    rm "$work/$name.toml"
    progress
    ranks=$(awk 'END { print $6 }' "$runs")
    echo "$fabric, $ranks ranks, ${PPN:-2} per host, map ${MAP:-slot}, $rounds runs of each:" \
        "median (quartiles), ratio of medians"
    tail -n "+$start" "$runs" | table
    printf '%s\n' "${ran[@]}"
done
echo "Each time is that of the slowest rank, with what it waits for others. All results were verified."
