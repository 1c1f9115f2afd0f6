#!/usr/bin/env bash
# Prints `openmpi` or `mpich` for an MPI compiler wrapper.
set -euo pipefail
wrapper=${1:?expected a compiler wrapper such as mpicc}
macros=$(echo '#include <mpi.h>' | "$wrapper" -E -dM -x c -)
case $macros in
*OMPI_MAJOR_VERSION*) echo openmpi ;;
*MPICH_VERSION*) echo mpich ;;
*) echo "mpi-family: $wrapper is neither Open MPI nor MPICH" >&2; exit 1 ;;
esac
