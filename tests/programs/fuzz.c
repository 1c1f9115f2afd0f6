/* Carries out random MPI programs that are given as data (crates/verify/src/fuzz/mod.rs describes the language) and
   compares every result with one computed without collectives.
   Options: file= (cases) first= (number of the case to start at) only= (of the only case) watchdog= (seconds for a
   case) avoid=stock|none (see calls.h) corrupt= (number of a statement whose result is spoiled before it is compared:
   the program must notice) byte= (of the receive buffer with its guards, which is spoiled; the middle) */
#include "fuzz_message.h"
#include "fuzz_stop.h"
#include "fuzz_turn.h"

struct run {
    const struct test_case *c;
    struct fuzz_comm comm[MAX_COMMS_OF_CASE];
    struct mailbox box;
    struct turns turns;
    struct pending *pending[MAX_STATEMENTS];
    /* Communicators of the test's own traffic, by thread. */
    const MPI_Comm *own;
    struct corruption corrupt;
};

/* Where every thread is, for the watchdog. */
static char fuzz_where[MAX_THREADS][sizeof check_current];

/* One line with one write, so that lines of several ranks stay whole. */
static void say_where(const char *head)
{
    char line[MAX_THREADS * (sizeof check_current + 2) + 64];
    size_t n = 0;
    for (const char *from = head; *from; from++)
        line[n++] = *from;
    for (int t = 0; t < MAX_THREADS; t++) {
        for (const char *from = t && fuzz_where[t][0] ? "; " : ""; *from; from++)
            line[n++] = *from;
        for (const char *from = fuzz_where[t]; *from; from++)
            line[n++] = *from;
    }
    line[n++] = '\n';
    (void)!write(2, line, n);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    say_where("HANG fuzz: watchdog expired in ");
    _exit(3);
}

static struct sigaction before_crash[NSIG];

/* Then as it would have been without us: the MPI library may have something to say as well. */
static void on_crash(int signal_number)
{
    say_where("CRASH fuzz: in ");
    sigaction(signal_number, &before_crash[signal_number], NULL);
    raise(signal_number);
}

static void watch(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_crash};
    signal(SIGALRM, on_alarm);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, &before_crash[crashes[i]]);
}

static void describe(const struct test_case *c, const struct statement *s, const struct fuzz_comm *comm)
{
    char detail[200] = "";
    if (s->verb == V_CALL)
        snprintf(detail, sizeof detail, " %s%s items=%zu kind=%s send=%s op=%s root=%d inplace=%d shape=%s salt=%d%s",
                 s->start ? "i" : "", what_names[s->what], s->items, kind_facts[s->kind].name,
                 form_facts[entry(&s->send, comm->rank)].name,
                 reduces(s->what) ? operation_facts[s->operation].name : "-", s->root, s->in_place,
                 shape_names[s->shape], s->salt, s->last ? " last" : "");
    if (s->verb == V_COMM)
        snprintf(detail, sizeof detail, " %s of=%d", make_names[s->make], s->of);
    snprintf(check_current, sizeof check_current, "case=%d statement=%d line=%d thread=%d %s comm=%d comm_rank=%d/%d%s",
             c->id, s->id, s->line, s->thread, verb_names[s->verb], s->comm, comm->rank, comm->size, detail);
    memcpy(fuzz_where[s->thread], check_current, sizeof check_current);
}

static void finish(struct run *run, const struct statement *s, const struct fuzz_comm *comm)
{
    const struct statement *started = &run->c->statement[s->started];
    if (started->verb == V_MESSAGE) {
        message_end(&run->box, s->started, comm);
    } else {
        call_end(run->pending[s->started], comm, run->own[s->thread], &run->corrupt);
        run->pending[s->started] = NULL;
    }
}

static void carry_out_series(struct run *run, const struct statement *series, const struct fuzz_comm *comm)
{
    struct stopper stopper = stopper_new(series->ms, comm->rank == series->slow);
    for (int i = 0; i < series->times; i++) {
        struct statement s = *series;
        s.salt += i;
        describe(run->c, &s, comm);
        stop_slow_rank(&stopper, &s, comm);
        call_end(call_begin(&s, comm, 0), comm, run->own[s.thread], &run->corrupt);
    }
    stopper_free(&stopper);
}

/* The run whose communicators are being freed; last calls are for cases with one thread. */
static struct run *last_run;

/* Carries out the last calls on a communicator: its attribute is being deleted, the communicator is still whole. */
static void last_calls(MPI_Comm comm, int id)
{
    const struct test_case *c = last_run->c;
    struct fuzz_comm dying = last_run->comm[id];
    char before[sizeof check_current];
    memcpy(before, check_current, sizeof before);
    dying.comm = comm;
    for (int i = 0; i < c->statements; i++) {
        const struct statement *s = &c->statement[i];
        if (s->verb != V_CALL || !s->last || s->comm != id)
            continue;
        describe(c, s, &dying);
        call_end(call_begin(s, &dying, 0), &dying, last_run->own[0], &last_run->corrupt);
    }
    memcpy(check_current, before, sizeof before);
}

static void carry_out(struct run *run, int index)
{
    const struct statement *s = &run->c->statement[index];
    if (s->verb == V_STALL) {
        if (check_rank == s->id)
            usleep((useconds_t)s->ms * 1000);
        return;
    }
    struct fuzz_comm *comm = &run->comm[s->comm];
    describe(run->c, s, s->verb == V_COMM ? &run->comm[s->of] : comm);
    if (s->verb == V_COMM) {
        struct statement make = *s;
        if (s->make == M_GROUP && create_group_messages_broken() && had_messages(run->c, s->of, index))
            make.make = M_CREATE;
        if (s->make == M_IDUP && duplicating_in_threads_broken(run->c->threads))
            make.make = M_DUP;
        create_comm(&run->comm[s->of], &make, comm,
                    intercommunicator_broken(run->c->threads) ? MPI_COMM_NULL : run->own[s->thread]);
        return;
    }
    if (comm->size == 0)
        return;
    switch (s->verb) {
    case V_FREE: /* else at the end of the case */
        if (!free_during_call_broken() || !is_under_way(run->c, V_CALL, s->comm, index))
            free_labelled(&comm->comm, s->comm, s->disconnect);
        break;
    case V_CALL:
        if (s->last)
            break;
        if (s->times > 1) {
            carry_out_series(run, s, comm);
            break;
        }
        run->pending[index] = call_begin(s, comm, is_under_way(run->c, V_MESSAGE, s->comm, index));
        if (!s->start) {
            call_end(run->pending[index], comm, run->own[s->thread], &run->corrupt);
            run->pending[index] = NULL;
        }
        break;
    case V_MESSAGE:
        message_begin(&run->box, index, comm);
        break;
    default:
        finish(run, s, comm);
    }
}

static void make_in_turn(struct run *run, int index)
{
    const struct statement *s = &run->c->statement[index];
    const int alone = is_alone(s, &run->comm[s->of]);
    turn_begin(&run->turns, run->c, index, alone);
    carry_out(run, index);
    turn_end(&run->turns, run->c, alone);
}

struct thread {
    pthread_t thread;
    struct run *run;
    int number;
};

static void *work(void *argument)
{
    const struct thread *t = argument;
    for (int i = 0; i < t->run->c->statements; i++) {
        const struct statement *s = &t->run->c->statement[i];
        if (s->thread == t->number)
            (s->verb == V_COMM ? make_in_turn : carry_out)(t->run, i);
    }
    return NULL;
}

static void create_types(const struct test_case *c)
{
    for (int i = 0; i < c->statements; i++) {
        const struct statement *s = &c->statement[i];
        for (int k = 0; s->verb == V_CALL && k < s->send.n; k++)
            fuzz_type_create(s->kind, (enum form_of_type)s->send.at[k]);
        for (int k = 0; s->verb == V_CALL && k < s->receive.n; k++)
            fuzz_type_create(s->kind, (enum form_of_type)s->receive.at[k]);
        if (s->verb == V_CALL)
            fuzz_type_create(s->kind, T_PLAIN);
    }
}

/* After everybody has compared: nothing may be on its way to this rank, and nothing is left behind. */
static void clean_up(struct run *run)
{
    for (int k = 0; k < MAX_COMMS_OF_CASE; k++) {
        struct fuzz_comm *comm = &run->comm[k];
        int pending;
        MPI_Status status;
        if (!comm->size || comm->comm == MPI_COMM_NULL)
            continue;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->comm, &pending, &status);
        if (pending)
            fail("a message nobody sent is pending on communicator %d: source=%d tag=%d", k, status.MPI_SOURCE,
                 status.MPI_TAG);
        if (k >= run->c->threads)
            free_labelled(&comm->comm, k, 0);
        else if (k > 0)
            MPI_Comm_free(&comm->comm);
    }
    labels_expect_deleted();
    fuzz_types_free();
}

static void run_case(const struct test_case *c, const MPI_Comm *own, struct corruption corrupt)
{
    struct run *run = calloc(1, sizeof *run);
    struct thread threads[MAX_THREADS];
    if (!run)
        fail("out of memory: %zu bytes", sizeof *run);
    run->c = run->box.c = c;
    last_run = run;
    label_last = last_calls;
    run->own = own;
    run->corrupt = run->box.corrupt = corrupt;
    memset(fuzz_where, 0, sizeof fuzz_where);
    snprintf(check_current, sizeof check_current, "case=%d start", c->id);
    memcpy(fuzz_where[0], check_current, sizeof check_current);
    create_types(c);
    messages_prepare(&run->box);
    turns_create(&run->turns);
    world_comm(&run->comm[0], MPI_COMM_WORLD);
    for (int t = 1; t < c->threads; t++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        world_comm(&run->comm[t], comm);
    }
    for (int t = 0; t < c->threads; t++) {
        threads[t].run = run;
        threads[t].number = t;
        if (t > 0 && pthread_create(&threads[t].thread, NULL, work, &threads[t]) != 0)
            fail("pthread_create failed for thread %d", t);
    }
    work(&threads[0]);
    for (int t = 1; t < c->threads; t++)
        pthread_join(threads[t].thread, NULL);
    snprintf(check_current, sizeof check_current, "case=%d end", c->id);
    memcpy(fuzz_where[0], check_current, sizeof check_current);
    message_barrier(own[0]);
    clean_up(run);
    message_barrier(own[0]);
    turns_free(&run->turns);
    free(run);
    check_cases += c->statements;
    if (check_rank == 0) {
        printf("ok %d\n", c->id);
        fflush(stdout);
    }
}

/* Threads of the case that has most; says what is wrong with the file, if anything is. */
static int read_all(const char *text, struct test_case *c)
{
    int threads = 1;
    parse_line = 0;
    while (next_case(&text, c))
        threads = c->threads > threads ? c->threads : threads;
    return threads;
}

int main(int argc, char **argv)
{
    int provided, wanted = MPI_THREAD_SINGLE;
    static struct test_case c;
    const char *path = option(argc, argv, "file", 0, NULL);
    parse_file = path ? path : "fuzz";
    char *text = path ? read_text(path) : NULL;
    if (text && strstr(text, "threads="))
        wanted = MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    check_start("fuzz", "file,first,only,avoid,corrupt,byte", argc, argv);
    const unsigned seconds = (unsigned)option_number(argc, argv, "watchdog", 1000, 60);
    const int first = (int)option_number(argc, argv, "first", 1000, 0),
              only = option(argc, argv, "only", 1000, NULL) != NULL;
    const int number = (int)option_number(argc, argv, "only", 1000, 0);
    const struct corruption corrupt = {(int)option_number(argc, argv, "corrupt", 1000, -1),
                                       option_number(argc, argv, "byte", 1000, -1)};
    avoid_stock_bugs = strcmp(option(argc, argv, "avoid", 1000, "stock"), "none") != 0;
    watch();
    fuzz_operations_create();
    labels_create();
    if (!text)
        problem(path ? "cannot be read" : "expected file=");
    if (check_size > MAX_RANKS)
        problem("at most %d ranks", MAX_RANKS);
    const char *at = text;
    const int threads = provided == MPI_THREAD_MULTIPLE ? read_all(text, &c) : (read_all(text, &c), 1);
    MPI_Comm own[MAX_THREADS];
    for (int t = 0; t < threads; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
    parse_line = 0;
    for (int begun = 0; next_case(&at, &c);) {
        begun = begun || first == 0 || c.id == first;
        if (only ? c.id != number : !begun)
            continue;
        alarm(seconds);
        if (c.threads <= threads)
            run_case(&c, own, corrupt);
        else if (check_rank == 0)
            printf("SKIP %d: needs MPI_THREAD_MULTIPLE\n", c.id);
    }
    free(text);
    for (int t = 0; t < threads; t++)
        MPI_Comm_free(&own[t]);
    labels_free();
    fuzz_operations_free();
    check_finish();
    return 0;
}
