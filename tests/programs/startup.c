/* What MPI_Init takes and leaves behind.
 *   startup                   init=SECONDS, the longest of all ranks
 *   startup mapped            and lines "mapped FILE" of rank 0: its shared objects, after a large Allreduce
 *   startup cvar NAME ...     and lines "cvar NAME VALUE" of rank 0 for those that MPI_T knows, asked last
 * With STARTUP_TOOL in the environment it is in MPI_T before it calls MPI_Init, as a tool is. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 100000 };

static void mapped(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (path && strstr(path, ".so"))
            printf("mapped %s", path);
    }
    if (maps)
        fclose(maps);
}

static void cvar(const char *name) {
    int index, count;
    uint64_t value = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS)
        printf("cvar %s %llu\n", name, (unsigned long long)value);
    MPI_T_cvar_handle_free(&handle);
}

/* Whether an Allreduce of doubles is right. */
static int allreduce(int rank, int ranks) {
    double *own = malloc(2 * COUNT * sizeof *own), *sums = own + COUNT;
    int right = own != NULL;
    for (int i = 0; right && i < COUNT; i++)
        own[i] = rank + i % 100;
    if (right)
        MPI_Allreduce(own, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; right && i < COUNT; i++)
        right = sums[i] == ranks * (ranks - 1) / 2 + (double)ranks * (i % 100);
    free(own);
    return right;
}

int main(int argc, char **argv) {
    struct timespec start, end;
    int provided;
    if (getenv("STARTUP_TOOL") && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        printf("FAIL startup: no MPI_T before MPI_Init\n");
        return 1;
    }
    timespec_get(&start, TIME_UTC);
    MPI_Init(&argc, &argv);
    timespec_get(&end, TIME_UTC);
    double own = end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec), longest = 0;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("init=%.6f\n", longest);
    if (argc > 1 && strcmp(argv[1], "mapped") == 0) {
        if (!allreduce(rank, ranks)) {
            printf("FAIL startup: rank %d has a wrong sum\n", rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (rank == 0)
            mapped();
    }
    if (argc > 1 && strcmp(argv[1], "cvar") == 0) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        for (int i = 2; rank == 0 && i < argc; i++)
            cvar(argv[i]);
        MPI_T_finalize();
    }
    MPI_Finalize();
    return 0;
}
