/* shown FILE [COLLECTIVE=ALGORITHM:BYTES …]: makes each call on a communicator of its own, with the algorithm forced if
   one is named; the first and the last rank write what they say of their plans to FILE.RANK, a line for each call:
   `COLLECTIVE ALGORITHM RANK JSON`. */
#define _GNU_SOURCE
#include "by_name.h"
#include <dlfcn.h>

enum { TEXT = 1 << 22 };

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int (*set)(MPI_Comm, const char *) = (int (*)(MPI_Comm, const char *))dlsym(RTLD_DEFAULT, "nagare_set_algorithm");
    size_t (*describe)(MPI_Comm, const char *, char *, size_t) =
        (size_t(*)(MPI_Comm, const char *, char *, size_t))dlsym(RTLD_DEFAULT, "nagare_describe");
    char *text = malloc(TEXT);
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "shown", rank);
    FILE *file = rank == 0 || rank == ranks - 1 ? fopen(name, "w") : NULL;
    for (int i = 2; i < argc; i++) {
        char rule[64] = "", collective[32] = "", *colon = strchr(argv[i], ':');
        int bytes = colon ? atoi(colon + 1) : 0;
        snprintf(rule, sizeof rule, "%.*s", (int)(colon ? colon - argv[i] : 0), argv[i]);
        snprintf(collective, sizeof collective, "%.*s", (int)strcspn(rule, "="), rule);
        const char *algorithm = rule + strcspn(rule, "=");
        const int n = bytes / (int)sizeof(int);
        int *in = calloc((size_t)ranks, (size_t)bytes), *out = calloc((size_t)ranks, (size_t)bytes);
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (!set || !describe || !text || !in || !out || (*algorithm && set(comm, rule) != 0))
            MPI_Abort(MPI_COMM_WORLD, 1);
        call_with(collective, in, out, n, n, MPI_INT, comm);
        if (file) {
            if (describe(comm, "json", text, TEXT) >= TEXT)
                MPI_Abort(MPI_COMM_WORLD, 1);
            fprintf(file, "%s %s %d %s", collective, *algorithm ? algorithm + 1 : "default", rank, text);
        }
        MPI_Comm_free(&comm);
        free(in);
        free(out);
    }
    if (file)
        fclose(file);
    free(text);
    MPI_Finalize();
    return 0;
}
