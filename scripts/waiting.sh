#!/usr/bin/env bash
# What a rank costs that waits for another, which comes ten seconds late to a Bcast: its share of a processor in
# percent, median of the waiting ranks with least and most, on every MPI that is here, on the library's own algorithm
# and on `chain`. Two ranks have a processor each; more share the two.
#   scripts/waiting.sh                     prints a Markdown table
#   RANKS="2 16" SECONDS_LATE=10           other numbers of ranks; how late
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/launchers.sh
work=$(mktemp -d)
trap 'rm -rf "$work" "$names"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

share() { # launcher... -- ranks variables...
    local launcher=() ranks
    while [[ $1 != -- ]]; do launcher+=("$1"); shift; done
    ranks=$2
    shift 2
    "${launcher[@]}" -n "$ranks" env "$@" "$work/waiting" "${SECONDS_LATE:-10}" >"$work/out" 2>"$work/err" ||
        { cat "$work/out" "$work/err" >&2; exit 1; }
    sed -n 's/^share=//p' "$work/out" | sort -n | awk '{ v[NR] = $1 }
        END { printf "%.1f (%.1f–%.1f)", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'
}

echo '| MPI | ranks | the library | `chain` |'
echo '|---|--:|--:|--:|'
for mpi in openmpi4 openmpi5 mpich4 mpich5; do
    is_there "$mpi" || continue
    family=${mpi%?}
    compiler=${launchers[$mpi]%/*}/mpicc
    case $mpi in *4) compiler=mpicc.$family ;; esac
    library=$PWD/target/$family/release/libnagare.so
    [[ -f $library ]] || { echo "no $library: run make first" >&2; exit 1; }
    "$compiler" -O2 -o "$work/waiting" tests/programs/waiting.c
    read -ra launcher <<<"${launchers[$mpi]}"
    for ranks in ${RANKS:-2 4 16}; do
        stock=$(share "${launcher[@]}" -- "$ranks" STOCK=1)
        chain=$(share "${launcher[@]}" -- "$ranks" "LD_PRELOAD=$library" NAGARE_ALGORITHM=bcast=chain \
            "NAGARE_TOPOLOGY=synthetic:node:$ranks core:1" "NAGARE_REPORT=$work/report.json")
        grep -q '"chain"' "$work/report.json" || { echo "$mpi, $ranks ranks: no Bcast ran on chain" >&2; exit 1; }
        echo "| $mpi | $ranks | $stock | $chain |"
    done
done
