/* The system refuses Nagare every small piece of memory inside the nine collectives, from the first call on a communicator on: what they are made of must
   come from what Nagare has set aside. Memory with an alignment of its own (its buffers, and more to set aside) is given. Every result is verified. A line
   `refused rank= pieces= most=`: pieces in all, and bytes of those of one call.
   With aligned=refused there is only what was set aside in MPI_Init: the first call works and its plan takes that, those after it must fail with
   MPI_ERR_NO_MEM, and when the system gives memory again, one on another communicator must work.
   Options: bytes=4096 aligned=given|refused. Ends like every program that verifies. */
#define _GNU_SOURCE
#include "nine.h"
#include <errno.h>
#include <link.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Where Nagare's code is. */
static uintptr_t first_code, end_code;

static _Thread_local int refuses;
static int refuses_aligned;
static long pieces, bytes_of_call;

static int find_code(struct dl_phdr_info *info, size_t size, void *ignored)
{
    (void)size, (void)ignored;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libnagare"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            first_code = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            end_code = first_code + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

static int refused(void *caller, size_t bytes)
{
    if (!refuses || (uintptr_t)caller < first_code || (uintptr_t)caller >= end_code)
        return 0;
    pieces++;
    bytes_of_call += (long)bytes;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return refused(__builtin_return_address(0), bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return refused(__builtin_return_address(0), n * bytes) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return refused(__builtin_return_address(0), bytes) ? NULL : __libc_realloc(old, bytes);
}

int posix_memalign(void **to, size_t alignment, size_t bytes)
{
    if (refuses_aligned && refused(__builtin_return_address(0), bytes))
        return ENOMEM;
    *to = __libc_memalign(alignment, bytes);
    return *to ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refuses_aligned && refused(__builtin_return_address(0), bytes) ? NULL : __libc_memalign(alignment, bytes);
}

/* A Bcast of `count` elements; its error class, and its result verified if that is none. */
static int bcast(MPI_Comm comm, int count, int *data, int root)
{
    int class = -1, rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++)
        data[i] = part(rank, root, i);
    refuses = refuses_aligned;
    const int code = MPI_Bcast(data, count, MPI_INT, root, comm);
    refuses = 0;
    MPI_Error_class(code, &class);
    for (int i = 0; i < count && class == MPI_SUCCESS; i++)
        expect("bcast", root, i, data[i], part(root, root, i));
    check_cases++;
    return class;
}

static void with_one_reserve(int count, int *data)
{
    MPI_Comm first, second, third;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_dup(MPI_COMM_WORLD, &third);
    MPI_Comm *const comms[] = {&first, &second, &third};
    for (int c = 0; c < 3; c++)
        MPI_Comm_set_errhandler(*comms[c], MPI_ERRORS_RETURN);
    refuses_aligned = 1;
    const struct {
        MPI_Comm comm;
        int root, class;
    } calls[] = {{first, 0, MPI_SUCCESS}, {first, 1, MPI_ERR_NO_MEM}, {second, 0, MPI_ERR_NO_MEM}, {first, 0, MPI_ERR_NO_MEM}};
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        const int class = bcast(calls[k].comm, count, data, calls[k].root);
        if (class != calls[k].class)
            fail("call %zu: error class %d, expected %d", k, class, calls[k].class);
    }
    refuses_aligned = 0;
    if (bcast(third, count, data, 1) != MPI_SUCCESS)
        fail("there is memory again");
    for (int c = 0; c < 3; c++)
        MPI_Comm_free(comms[c]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("refused", "bytes,aligned", argc, argv);
    alarm((unsigned)option_number(argc, argv, "watchdog", 2, 60));
    const int count = (int)(option_number(argc, argv, "bytes", 0, 4096) / (long)sizeof(int));
    int *data = calloc((size_t)(count * check_size) + 1, sizeof *data), *result = calloc((size_t)(count * check_size) + 1, sizeof *result);
    if (!data || !result)
        fail("out of memory");
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comms[2]);
    dl_iterate_phdr(find_code, NULL);
    if (!end_code)
        fail("libnagare is not in this process");
    if (strcmp(option(argc, argv, "aligned", 1, "given"), "refused") == 0) {
        with_one_reserve(count, data);
        free(data);
        free(result);
        check_finish();
        return 0;
    }
    long most = 0;
    for (int c = 0; c < 3; c++) {
        /* Twice: the second call of a collective has its plan. */
        for (int k = 0; k < 2 * COLLECTIVES; k++) {
            const int which = (k + 4 * c) % COLLECTIVES;
            snprintf(check_current, sizeof check_current, "comm=%d collective=%d", c, which);
            bytes_of_call = 0;
            refuses = 1;
            check_cases += one(comms[c], 17 * c + k, which, count, data, result);
            refuses = 0;
            most = bytes_of_call > most ? bytes_of_call : most;
        }
    }
    printf("refused rank=%d pieces=%ld most=%ld\n", check_rank, pieces, most);
    fflush(stdout);
    for (int c = 1; c < 3; c++)
        MPI_Comm_free(&comms[c]);
    free(data);
    free(result);
    check_finish();
    return 0;
}
