/* Valid but unusual uses, which an interposing library must forward or handle: here a sub-communicator before any
   collective on the world, MPI_COMM_SELF, zero counts, siblings freed in between and parallel files; in the headers
   named edge_ what is about buffers and intercommunicators. All run in one job, one after another. */
#include "edge_blocks.h"
#include "edge_bottom.h"
#include "edge_inter.h"

/* The first collective of the program, on the upper part of the world, whose other ranks know nothing of it. */
static void first_on_part(int count)
{
    begin("first collective: bcast and allreduce on create_group");
    const int first = check_size / 3;
    MPI_Comm comm = comm_by_group();
    if (comm == MPI_COMM_NULL)
        return;
    int rank;
    MPI_Comm_rank(comm, &rank);
    int *data = own_ints(count);
    /* Ranks are in descending order: rank 0 of the part is the last of the world. */
    MPI_Bcast(data, count, MPI_INT, 0, comm);
    for (int i = 0; i < count; i++)
        expect(i, data[i], contribution(check_size - 1, i));
    int *mine = own_ints(count);
    MPI_Allreduce(mine, data, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        expect(i, data[i], sum_of(first, check_size - 1, i));
    free(mine);
    free(data);
    MPI_Comm_free(&comm);
    check_cases += 2;
}

static void on_self(int count)
{
    begin("every collective on MPI_COMM_SELF");
    int *mine = own_ints(count), *data = ints_new(count);
    MPI_Bcast(mine, count, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Reduce(mine, data, count, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
    for (int i = 0; i < count; i++)
        expect(i, data[i], contribution(check_rank, i));
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_MAX, MPI_COMM_SELF);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, MPI_COMM_SELF);
    const int start = 0;
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, MPI_COMM_SELF);
    const MPI_Datatype type = MPI_INT;
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, &count, &start, &type, MPI_COMM_SELF);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Scatter(data, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_SELF);
    MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Scatterv(data, &count, &start, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_SELF);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, MPI_INT, MPI_COMM_SELF);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, &count, &start, MPI_INT, MPI_COMM_SELF);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Reduce_scatter(MPI_IN_PLACE, data, &count, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    for (int i = 0; i < count; i++) {
        expect(i, data[i], contribution(check_rank, i));
        expect(i, mine[i], contribution(check_rank, i));
    }
    free(mine);
    free(data);
    check_cases += 14;
}

static void zero_counts(void)
{
    begin("zero counts with null buffers");
    int untouched = 42;
    MPI_Bcast(NULL, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    MPI_Reduce(&untouched, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &untouched, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    MPI_Scatter(NULL, 0, MPI_INT, &untouched, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    int *nothing = calloc((size_t)check_size, sizeof *nothing);
    MPI_Alltoallv(&untouched, nothing, nothing, MPI_INT, NULL, nothing, nothing, MPI_INT, MPI_COMM_WORLD);
    MPI_Datatype types[check_size];
    for (int r = 0; r < check_size; r++)
        types[r] = r % 2 ? MPI_INT : MPI_DOUBLE;
    MPI_Alltoallw(&untouched, nothing, nothing, types, NULL, nothing, nothing, types, MPI_COMM_WORLD);
    MPI_Gatherv(&untouched, 0, MPI_INT, NULL, nothing, nothing, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(NULL, nothing, nothing, MPI_INT, &untouched, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(&untouched, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(&untouched, 0, MPI_INT, NULL, nothing, nothing, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(&untouched, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(&untouched, NULL, nothing, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(nothing);
    expect(0, untouched, 42);
    check_cases += 14;
}

/* Three siblings; each is used before and after another one is freed, a new one then takes the freed handle's place. */
static void siblings(int count)
{
    begin("allreduce while siblings are freed");
    MPI_Comm sibling[3];
    int *mine = own_ints(count), *data = ints_new(count);
    for (int s = 0; s < 3; s++)
        MPI_Comm_dup(MPI_COMM_WORLD, &sibling[s]);
    for (int round = 0; round < 6; round++) {
        for (int s = 0; s < 3; s++) {
            MPI_Allreduce(mine, data, count, MPI_INT, MPI_SUM, sibling[s]);
            for (int i = 0; i < count; i++)
                expect(i, data[i], sum_of(0, check_size - 1, i));
            check_cases++;
        }
        MPI_Comm_free(&sibling[round % 3]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -check_rank : check_rank, &sibling[round % 3]);
    }
    for (int s = 0; s < 3; s++)
        MPI_Comm_free(&sibling[s]);
    free(mine);
    free(data);
}

/* The library's own file layer calls collectives inside: interleaved blocks written and read by all ranks at once. */
static void parallel_file(const char *path, int blocks)
{
    begin("MPI_File_write_all and MPI_File_read_all");
    enum { BLOCK = 64 };
    MPI_File file;
    MPI_Datatype view, strided;
    const int count = blocks * BLOCK;
    int *mine = own_ints(count), *back = ints_new(count);
    MPI_Type_vector(blocks, BLOCK, BLOCK * check_size, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, (MPI_Aint)sizeof(int) * count * check_size, &view);
    MPI_Type_commit(&view);
    MPI_Type_free(&strided);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        fail("cannot open %s", path);
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * check_rank, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, mine, count, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    message_barrier(MPI_COMM_WORLD);
    /* Reads the neighbour's blocks. */
    const int neighbour = (check_rank + 1) % check_size;
    MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * neighbour, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_read_all(file, back, count, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        expect(i, back[i], contribution(neighbour, i));
    MPI_File_close(&file);
    MPI_Type_free(&view);
    free(mine);
    free(back);
    check_cases += 2;
}

/* Options: count=40000 file=edge.<process number of rank 0>.tmp in TMPDIR */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("edge", "count,file", argc, argv);
    const int count = (int)option_number(argc, argv, "count", 0, 40000);
    first_on_part(count);

    char path[512];
    const char *directory = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/edge.%ld.tmp", directory ? directory : "/tmp", (long)getpid());
    for (int r = 1; r < check_size; r++)
        if (check_rank == 0)
            MPI_Send(path, sizeof path, MPI_CHAR, r, TAG_GATHER, MPI_COMM_WORLD);
        else if (check_rank == r)
            MPI_Recv(path, sizeof path, MPI_CHAR, 0, TAG_GATHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    on_self(count);
    zero_counts();
    at_bottom(count);
    blocks_at_bottom(count / 4);
    types_at_bottom(count / 8);
    one_array(count / 4);
    where_it_belongs(count / 4);
    beyond_the_result(count / 4);
    allgatherv_of_nothing(count / 4);
    transpose(300);
    between_groups(count);
    siblings(count);
    parallel_file(option(argc, argv, "file", 1, path), 100);
    check_finish();
    return 0;
}
