/* Unusual beginnings and ends of a program; every way verifies an Allreduce first. Printed by rank 0 unless said
   otherwise.
   Options: how=kept|exit|atexit|fork|exec|constructor|opened|callback|twice|late count=40000
     kept         200 communicators, all used, none freed before MPI_Finalize
     exit         exit(0) from main without MPI_Finalize
     atexit       a used communicator freed, an Allreduce and MPI_Finalize in a function that exit(0) calls, when
                  thread-local values with destructors are gone
     fork         a child that ends by exit(0) while its parent goes on
     exec         a child that becomes /bin/true
     constructor  MPI_Init from a constructor of the program
     level0..3    MPI_Init_thread at that level, after MPI_Initialized said no
     opened       the MPI library opened a second time, with local scope, and called through that
     callback     an Allreduce in the callback that MPI_Finalize runs for MPI_COMM_SELF
     twice        MPI_Finalize twice: ends as the library says
     late         a large Allreduce after MPI_Finalize: ends as the library says */
#include "check.h"
#include <dlfcn.h>
#include <sys/wait.h>

enum { KEPT = 200 };

static int count = 40000;
static int *data, *result;

static void use(MPI_Comm comm, int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < count; i++)
        data[i] = rank + i % 1000;
    allreduce(data, result, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        if (result[i] != size * (i % 1000) + size * (size - 1) / 2)
            fail("index=%d got=%d expected=%d", i, result[i], size * (i % 1000) + size * (size - 1) / 2);
    check_cases++;
}

static int at_the_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    use(MPI_COMM_WORLD, MPI_Allreduce);
    if (check_rank == 0)
        printf("callback cases=%ld\n", check_cases);
    fflush(stdout);
    return MPI_SUCCESS;
}

static MPI_Comm kept;

static void while_exiting(void)
{
    MPI_Comm_free(&kept);
    use(MPI_COMM_WORLD, MPI_Allreduce);
    check_finish();
}

__attribute__((constructor)) static void early(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "how=constructor") == 0)
        MPI_Init(&argc, &argv);
}

static void child(int becomes)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        if (becomes)
            execl("/bin/true", "true", (char *)NULL);
        exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail("the child ended with %d", status);
}

int main(int argc, char **argv)
{
    const char *how = option(argc, argv, "how", 0, "kept");
    int initialized, level = -1, provided;
    MPI_Initialized(&initialized);
    if (initialized != (strcmp(how, "constructor") == 0)) {
        printf("FAIL endings: initialized=%d\n", initialized);
        return 1;
    }
    if (sscanf(how, "level%d", &level) == 1) {
        static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                     MPI_THREAD_MULTIPLE};
        MPI_Init_thread(&argc, &argv, levels[level & 3], &provided);
    } else if (!initialized) {
        MPI_Init(&argc, &argv);
    }
    check_start("endings", "how,count", argc, argv);
    count = (int)option_number(argc, argv, "count", 1, 40000);
    snprintf(check_current, sizeof check_current, "how=%s count=%d", how, count);
    data = malloc((size_t)count * sizeof *data + 1);
    result = malloc((size_t)count * sizeof *result + 1);
    if (!data || !result)
        fail("out of memory");
    use(MPI_COMM_WORLD, MPI_Allreduce);
    if (strcmp(how, "kept") == 0) {
        for (int k = 0; k < KEPT; k++) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            use(comm, MPI_Allreduce);
        }
    } else if (strcmp(how, "exit") == 0) {
        message_barrier(MPI_COMM_WORLD);
        exit(0);
    } else if (strcmp(how, "atexit") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &kept);
        use(kept, MPI_Allreduce);
        atexit(while_exiting);
        exit(0);
    } else if (strcmp(how, "fork") == 0 || strcmp(how, "exec") == 0) {
        child(strcmp(how, "exec") == 0);
        use(MPI_COMM_WORLD, MPI_Allreduce);
    } else if (strcmp(how, "opened") == 0) {
        Dl_info library;
        /* Any function that nobody puts itself in front of tells the file. */
        if (!dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_version"), &library))
            fail("dladdr: no MPI library");
        void *handle = dlopen(library.dli_fname, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            fail("dlopen: %s", dlerror());
        void *symbol = dlsym(handle, "MPI_Allreduce");
        int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
        memcpy(&allreduce, &symbol, sizeof allreduce);
        use(MPI_COMM_WORLD, allreduce);
        dlclose(handle);
    } else if (strcmp(how, "callback") == 0) {
        int keyval;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keyval, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    }
    check_finish();
    if (strcmp(how, "twice") == 0)
        MPI_Finalize();
    if (strcmp(how, "late") == 0)
        MPI_Allreduce(data, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}
