/* The checks of collectives.c through the MPI-4 functions with MPI_Count, which mpi4py calls wherever the library has
   them. */
#include <mpi.h>

#if MPI_VERSION < 4
#error "largecount.c needs MPI_Bcast_c and its like (MPI 4.0, for example MPICH 4); this MPI library is older"
#else

#define LARGE_COUNT
#include "sweep.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("largecount", sweep_options, argc, argv);
    sweep_run(argc, argv, "0,1,3,1000,4097,65536");
    check_finish();
    return 0;
}

#endif
