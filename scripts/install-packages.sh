#!/usr/bin/env bash
# Installs the Debian packages that the named purposes need and the machine lacks: build, test, slurm.
#   scripts/install-packages.sh build test
set -euo pipefail

packages=()
for purpose in "$@"; do
    case $purpose in
    build) packages+=(gcc libc6-dev make pkg-config libclang-dev iproute2 util-linux
        openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran) ;;
    test) packages+=(g++ python3 python3-venv valgrind valgrind-mpi binutils procps strace libcap2-bin
        eztrace otf2-tools) ;;
    slurm) packages+=(slurmctld slurmd slurm-client munge libslurm-dev) ;;
    *) echo "install-packages: unknown purpose '$purpose', expected build, test or slurm" >&2; exit 2 ;;
    esac
done

missing=()
for package in "${packages[@]}"; do
    [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" == *"install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "install-packages: this system has no apt-get; install what corresponds to these Debian packages:" \
        "${missing[*]}" >&2
    exit 0
fi
if [[ $(id -u) -ne 0 ]]; then
    echo "install-packages: these packages are missing and need root to install: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
apt-get install -yq --no-install-recommends "${missing[@]}" >/dev/null
