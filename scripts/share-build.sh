#!/usr/bin/env bash
# Builds for another MPI begin with what does not depend on one: copies a build directory to one that is not there yet.
#   scripts/share-build.sh target/openmpi/release target/mpich/release
set -euo pipefail
from=$1 to=$2
[[ -d $from && ! -e $to ]] || exit 0
mkdir -p "$(dirname "$to")"
fresh=$(mktemp -d "$(dirname "$to")/.share.XXXXXX")
trap 'rm -rf "$fresh"' EXIT

# Times of files tell cargo what is current. Programs, which are large, are of no use to another build.
(cd "$from" && find .fingerprint build deps \
    \( -path 'build/*' -o -path '.fingerprint/*' -o \
    -name '*.rlib' -o -name '*.rmeta' -o -name '*.so' -o -name '*.d' \) \
    -type f -print0 | tar --create --null --files-from=- --file=-) | tar --extract --directory "$fresh"

# What depends on an MPI: the raw bindings, and everything above them.
for package in mpi-sys mpi nagare nagare-bench; do
    find "$fresh/.fingerprint" "$fresh/build" -maxdepth 1 -regextype posix-extended \
        -regex ".*/$package-[0-9a-f]{16}" -exec rm -r {} +
done
mv "$fresh" "$to"
