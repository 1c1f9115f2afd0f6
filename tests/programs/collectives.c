/* The collectives that Nagare carries out, over communicators, sizes, types, operations, roots and counts; options in
   sweep.h. */
#include "sweep.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("collectives", sweep_options, argc, argv);
    sweep_run(argc, argv, "0,1,3,1000,4095,4096,4097,65536,300001");
    check_finish();
    return 0;
}
