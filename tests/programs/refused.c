/* The system refuses Nagare every small piece of memory inside the nine collectives, from the first call on a communicator on: what they are made of must
   come from what Nagare has set aside. Memory with an alignment of its own (its buffers) is given. Every result is verified. A line
   `refused rank= pieces= most=`: pieces in all, and bytes of those of one call. Options: bytes=4096
   Ends like every program that verifies. */
#define _GNU_SOURCE
#include "nine.h"
#include <errno.h>
#include <link.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

/* Where Nagare's code is. */
static uintptr_t first_code, end_code;

static _Thread_local int refuses;
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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("refused", "bytes", argc, argv);
    alarm((unsigned)option_number(argc, argv, "watchdog", 1, 60));
    const int count = (int)(option_number(argc, argv, "bytes", 1, 4096) / (long)sizeof(int));
    int *data = calloc((size_t)(count * check_size) + 1, sizeof *data), *result = calloc((size_t)(count * check_size) + 1, sizeof *result);
    if (!data || !result)
        fail("out of memory");
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comms[2]);
    dl_iterate_phdr(find_code, NULL);
    if (!end_code)
        fail("libnagare is not in this process");
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
