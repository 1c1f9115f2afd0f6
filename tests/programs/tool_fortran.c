/* A tool that wraps Fortran's functions only, as gfortran names them, and prints a line of counts per rank. */
#include <stdio.h>
#include <unistd.h>

static long allreduces, bcasts;
void pmpi_allreduce_(void *in, void *out, int *n, int *type, int *op, int *comm, int *error);
void pmpi_bcast_(void *data, int *n, int *type, int *root, int *comm, int *error);
void pmpi_finalize_(int *error);

void mpi_allreduce_(void *in, void *out, int *n, int *type, int *op, int *comm, int *error)
{
    allreduces++;
    pmpi_allreduce_(in, out, n, type, op, comm, error);
}

void mpi_bcast_(void *data, int *n, int *type, int *root, int *comm, int *error)
{
    bcasts++;
    pmpi_bcast_(data, n, type, root, comm, error);
}

void mpi_finalize_(int *error)
{
    char line[80];
    const int length = snprintf(line, sizeof line, "tool_fortran allreduces=%ld bcasts=%ld\n", allreduces, bcasts);
    (void)!write(1, line, (size_t)length);
    pmpi_finalize_(error);
}
