/* C++ exceptions that cross MPI calls: an error handler, an operation of the program or an attribute's delete callback
   throws them. Each must reach its catch, as it does without Nagare, and other communicators must go on working.
   Prints a line `caught what= rank=` for each. Options: throw=handler|operation|deletion ours=yes|no (whether Nagare
   carries out the reductions that commute). Ends like every program that verifies. */
#define _Noreturn __attribute__((noreturn))
#define _Thread_local thread_local
#include "check.h"
#include <string>
#include <vector>

struct Thrown {
    std::string text;
};

/* Something with a destructor in every frame on the way: it must run. */
struct Frame {
    int *left;
    explicit Frame(int *counter) : left(counter) {}
    ~Frame() { ++*left; }
};

static void throw_error(MPI_Comm *, int *code, ...)
{
    int error_class = -1;
    MPI_Error_class(*code, &error_class);
    throw Thrown{"handler " + std::to_string(error_class)};
}

/* Throws at the first vector in which element 3 is negative. */
static void add_or_throw(void *in, void *inout, int *length, MPI_Datatype *)
{
    const int *from = static_cast<int *>(in);
    int *to = static_cast<int *>(inout);
    for (int i = 0; i < *length; i++) {
        if (from[i] < 0)
            throw Thrown{"operation"};
        to[i] += from[i];
    }
}

static int throw_on_delete(MPI_Comm, int, void *, void *)
{
    throw Thrown{"deletion"};
}

/* Runs `call`, which must throw `expected`. */
template <typename Call> static void must_throw(const char *what, const std::string &expected, Call call)
{
    int left = 0;
    snprintf(check_current, sizeof check_current, "%s", what);
    try {
        Frame frame(&left);
        const int code = call();
        fail("no exception, code %d", code);
    } catch (const Thrown &thrown) {
        if (!expected.empty() && thrown.text != expected)
            fail("caught \"%s\", expected \"%s\"", thrown.text.c_str(), expected.c_str());
        printf("caught what=%s rank=%d\n", what, check_rank);
        fflush(stdout);
    }
    if (left != 1)
        fail("a destructor ran %d times, expected once", left);
    check_cases++;
}

/* An Allreduce with another operation on another communicator works. */
static void still_works(const char *what)
{
    snprintf(check_current, sizeof check_current, "after %s", what);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int again = 0; again < 3; again++) {
        std::vector<int> in(30000), out(30000, -1);
        for (size_t i = 0; i < in.size(); i++)
            in[i] = check_rank + static_cast<int>(i % 100);
        MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, MPI_SUM, comm);
        for (size_t i = 0; i < in.size(); i++) {
            const int want = check_size * (check_size - 1) / 2 + check_size * static_cast<int>(i % 100);
            if (out[i] != want)
                fail("element %zu is %d, expected %d", i, out[i], want);
        }
        check_cases++;
    }
    MPI_Comm_free(&comm);
}

static void thrown_by_handlers()
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(throw_error, &handler);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    std::vector<int> data(30000);
    const int count = static_cast<int>(data.size());
    int root_class = -1, op_class = -1;
    MPI_Error_class(MPI_ERR_ROOT, &root_class);
    MPI_Error_class(MPI_ERR_OP, &op_class);
    must_throw("root", "handler " + std::to_string(root_class),
               [&] { return MPI_Bcast(data.data(), count, MPI_INT, check_size, comm); });
    must_throw("op", "handler " + std::to_string(op_class),
               [&] { return MPI_Allreduce(data.data(), data.data() + 1, 1, MPI_INT, MPI_OP_NULL, comm); });
    still_works("handlers");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
}

/* The communicator of such a call is not used again: its ranks have left the call at different places. */
static void thrown_by_operations(int commutes, bool ours)
{
    const char *what = commutes ? "commutes" : "does not commute";
    MPI_Op op;
    MPI_Op_create(add_or_throw, commutes, &op);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    static std::vector<int> in(30000), out(30000);
    const int count = static_cast<int>(in.size());
    std::fill(in.begin(), in.end(), 1);
    MPI_Allreduce(in.data(), out.data(), count, MPI_INT, op, comm);
    for (int i = 0; i < count; i++)
        if (out[static_cast<size_t>(i)] != check_size)
            fail("%s: element %d is %d, expected %d", what, i, out[static_cast<size_t>(i)], check_size);
    std::fill(in.begin(), in.end(), -1);
    int left = 0, caught = 0, code = MPI_SUCCESS;
    snprintf(check_current, sizeof check_current, "operation, %s", what);
    try {
        Frame frame(&left);
        code = MPI_Allreduce(in.data(), out.data(), count, MPI_INT, op, comm);
    } catch (const Thrown &thrown) {
        caught = thrown.text == "operation";
    }
    /* A rank whose operation was not called yet has been told of the others. */
    if (!caught && code == MPI_SUCCESS)
        fail("neither an exception nor an error");
    if (left != 1)
        fail("a destructor ran %d times, expected once", left);
    printf("%s what=operation,%s rank=%d\n", caught ? "caught" : "told", what, check_rank);
    fflush(stdout);
    check_cases++;
    still_works(what);
    /* Where the call was Nagare's the communicator goes on failing: no rank waits for ever. */
    if (ours) {
        snprintf(check_current, sizeof check_current, "again after the operation, %s", what);
        if (MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS)
            fail("a communicator on which a call was left goes on");
        check_cases++;
    }
}

static void thrown_by_deletion()
{
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throw_on_delete, &keyval, nullptr);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, nullptr);
    must_throw("deletion", "deletion", [&] { return MPI_Comm_free(&comm); });
    still_works("deletion");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_start("exceptions", "throw,ours", argc, argv);
    const std::string what = option(argc, argv, "throw", 0, "handler");
    if (what == "handler")
        thrown_by_handlers();
    else if (what == "operation") {
        const bool ours = strcmp(option(argc, argv, "ours", 1, "no"), "yes") == 0;
        thrown_by_operations(1, ours);
        thrown_by_operations(0, false);
    } else if (what == "deletion")
        thrown_by_deletion();
    else
        fail("throw=%s: expected handler, operation or deletion", what.c_str());
    fflush(stdout);
    check_finish();
}
