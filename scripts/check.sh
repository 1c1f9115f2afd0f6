#!/usr/bin/env bash
# Formatting, lints, documentation, generated files: everything but tests that must hold before a change lands. A part
# that fails does not hide the next; a summary comes last.
#
#   scripts/check.sh FAMILY...     the MPI families that there are; MPICC is one's compiler wrapper
set -uo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
failed=()

part() { # name command...
    local start=$SECONDS
    "${@:2}" || failed+=("$1")
    printf '%5d s  %s\n' $((SECONDS - start)) "$1"
}

lint() { # compiler directory
    MPICC=$1 "$cargo" clippy --quiet --workspace --all-targets --features nagare-bench/program --target-dir "$2" -- \
        -D warnings
}

# One family's check is the other's as well, but for what depends on an MPI.
lint_family() { # family
    scripts/share-build.sh target/debug "target/$1/debug" && lint "mpicc.$1" "target/$1"
}

documentation() {
    RUSTDOCFLAGS="-D warnings" "$cargo" doc --quiet --workspace --exclude nagare-cli --no-deps \
        --document-private-items --target-dir target &&
        RUSTDOCFLAGS="-D warnings" "$cargo" doc --quiet -p nagare-cli --no-deps --document-private-items \
            --target-dir target
}

generated() { # file advice command...
    "${@:3}" | diff -u "$1" - || { echo "$1 is not current: $2" && false; }
}

part formatting "$cargo" fmt --all --check
part "clippy with $MPICC" lint "$MPICC" target
for family in "$@"; do
    [[ $MPICC == "mpicc.$family" ]] || part "clippy for $family" lint_family "$family"
done
part documentation documentation
part commands "$cargo" build --quiet --workspace --target-dir target --bin nagare-verify --bin nagare
part docs/environment.md generated docs/environment.md "nagare env --markdown > docs/environment.md" \
    target/debug/nagare env --markdown
part docs/licences.md generated docs/licences.md "make licences, or a licence is not allowed" \
    target/debug/nagare-verify licences
part docs/compatibility.md generated docs/compatibility.md "make compatibility" target/debug/nagare-verify table

if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "checks: all passed"
