/* Nagare's C interface: looks at a communicator, switches its algorithm while the job runs, and shows what ran.
 *
 *   mpicc -std=c11 -O2 -o example example.c -ldl
 *   mpirun -x LD_PRELOAD=/path/to/libnagare.so -np 4 ./example      # Open MPI
 *   mpiexec -genv LD_PRELOAD /path/to/libnagare.so -n 4 ./example   # MPICH
 *
 * The functions are looked up when the program runs, so that it also runs without Nagare. */
#define _GNU_SOURCE
#include "nagare.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Pointers to functions of the header, or null. */
#define FIND(function) __typeof__(&function) function##_ = (__typeof__(&function))dlsym(RTLD_DEFAULT, #function)

enum { N = 100000 };

static void sum_of_ranks(int rank, int size, const char *algorithm)
{
    static int in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        if (out[i] != size * (size - 1) / 2 + size * i) {
            fprintf(stderr, "example: wrong sum with %s at %d\n", algorithm, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    FIND(nagare_version);
    FIND(nagare_active);
    FIND(nagare_describe);
    FIND(nagare_set_algorithm);
    FIND(nagare_report);

    if (!nagare_version_ || !nagare_active_()) {
        sum_of_ranks(rank, size, "the MPI library");
        if (rank == 0)
            printf("correct, without Nagare\n");
    } else {
        static const char *const choices[] = {"all=stock", "allreduce=two_tree", "allreduce=grouped_two_tree:64K-"};
        for (int c = 0; c < 3; c++) {
            /* Every rank says the same. */
            if (nagare_set_algorithm_(MPI_COMM_WORLD, choices[c]) != 0)
                MPI_Abort(MPI_COMM_WORLD, 1);
            sum_of_ranks(rank, size, choices[c]);
        }
        nagare_set_algorithm_(MPI_COMM_WORLD, NULL); /* as the environment says */
        nagare_describe_(MPI_COMM_WORLD, argc > 1 ? argv[1] : "text", text, sizeof text);
        if (rank == 0)
            printf("%s", text);
        nagare_report_(argc > 1 ? argv[1] : "text", text, sizeof text);
        if (rank == 0)
            printf("%scorrect, with Nagare %s\n", text, nagare_version_());
    }
    MPI_Finalize();
    return 0;
}
