#!/usr/bin/env bash
# Looks dependencies up in the RustSec advisory database, with whichever of cargo-deny and cargo-audit is installed.
# Both fetch the database from its Git repository: without a way there, this says so and fails.
set -uo pipefail
cd "$(dirname "$0")/.."

if command -v cargo-deny >/dev/null; then
    command=(cargo deny check advisories)
elif command -v cargo-audit >/dev/null; then
    command=(cargo audit)
else
    echo "audit: neither cargo-deny nor cargo-audit is installed: cargo install cargo-audit (some minutes)" >&2
    exit 2
fi
"${command[@]}" && exit 0
code=$?
echo "audit: '${command[*]}' failed: it lists advisories above, or could not fetch the advisory database" \
    "(which needs the network)" >&2
exit $code
