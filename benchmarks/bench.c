/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Runs the blocks of a case: which rank runs which side, for how many operations, and how long that
 * took. */

#include "bench.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { TAG_COMMAND = 1, TAG_READY, TAG_DONE, TAG_DATA };

/* side: an index as in sides_of(), or one of these. */
enum { END = -1, SLEEP = -2 };
typedef struct command {
    int64_t side;
    uint64_t operations;
} command;

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_fail(const char *what, tern_status status) {
    const char *detail = tern_error_detail();
    fprintf(stderr, "tern-bench: %s: %s%s%s\n", what, tern_strerror(status),
            detail[0] == '\0' ? "" : ": ", detail);
    MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_FAILED);
    exit(BENCH_EXIT_FAILED);
}

void bench_fail_mpi(const char *what, int error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "tern-bench: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_FAILED);
    exit(BENCH_EXIT_FAILED);
}

/* Receives from another rank. With shared memory the sender needs no help, and this rank waits
 * inside MPI, which is best for MPI's own one-sided operations. Otherwise tern needs progress
 * meanwhile, and other threads may need this core or MPI. */
static void receive(bench *b, int from, void *data, size_t bytes, int tag) {
    for (int there = 0; !there && (!b->shared || b->helped || bench_crowded(b));) {
        tern_mpi_lock();
        bench_mpi(MPI_Iprobe(from, tag, b->comm, &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
        tern_mpi_unlock();
        if (there)
            break;
        (void)tern_progress(b->worker);
        if (bench_crowded(b))
            sched_yield();
    }
    tern_mpi_lock();
    bench_mpi(MPI_Recv(data, (int)bytes, MPI_BYTE, from, tag, b->comm, MPI_STATUS_IGNORE),
              "MPI_Recv");
    tern_mpi_unlock();
}

/* Sends to every target; a target sends to the origin. */
static void send(bench *b, const void *data, size_t bytes, int tag) {
    int first = b->rank == BENCH_ORIGIN ? 1 : 0, last = b->rank == BENCH_ORIGIN ? b->ranks - 1 : 0;
    for (int to = first; to <= last; to++) {
        tern_mpi_lock();
        bench_mpi(MPI_Send(data, (int)bytes, MPI_BYTE, to, tag, b->comm), "MPI_Send");
        tern_mpi_unlock();
    }
}

void bench_send(bench *b, const void *data, size_t bytes) { send(b, data, bytes, TAG_DATA); }

void bench_receive(bench *b, void *data, size_t bytes) {
    receive(b, b->rank == BENCH_ORIGIN ? BENCH_TARGET : BENCH_ORIGIN, data, bytes, TAG_DATA);
}

void bench_meet(bench *b) {
    char nothing = 0;
    if (b->rank != BENCH_ORIGIN)
        send(b, &nothing, 1, TAG_DATA);
    for (int from = 1; b->rank == BENCH_ORIGIN && from < b->ranks; from++)
        receive(b, from, &nothing, 1, TAG_DATA);
    if (b->rank == BENCH_ORIGIN)
        send(b, &nothing, 1, TAG_DATA);
    else
        receive(b, BENCH_ORIGIN, &nothing, 1, TAG_DATA);
}

bool bench_may_thread(bench *b, const char *how) {
    int level;
    bench_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_SERIALIZED)
        bench_note(b, "%s", how);
    return level >= MPI_THREAD_SERIALIZED;
}

tern_ptr bench_place(bench *b, int owner, size_t bytes, void **address) {
    tern_ptr p = TERN_NULL;
    if (b->rank == owner) {
        bench_ok(tern_alloc(b->worker, bytes, 4096, TERN_DOMAIN_GLOBAL, &p), "tern_alloc");
        memset(tern_local(b->context, p), 0, bytes);
        bench_send(b, &p, sizeof p);
    } else {
        bench_receive(b, &p, sizeof p);
    }
    if (address != NULL)
        *address = tern_local(b->context, p);
    return p;
}

void bench_unplace(bench *b, int owner, tern_ptr p) {
    bench_meet(b);
    if (b->rank == owner)
        bench_ok(tern_free(b->worker, p), "tern_free");
}

/* Number of times that the kernel has given this thread's core to another thread. */
static int64_t switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* Receives a number from each target and returns the sum. */
static int64_t from_all(bench *b, int tag) {
    int64_t sum = 0, one = 0;
    for (int from = 1; from < b->ranks; from++) {
        receive(b, from, &one, sizeof one, tag);
        sum += one;
    }
    return sum;
}

/* The origin's part of a block before its operations. */
static void begin_block(bench *b, const bench_side *side, size_t index, uint64_t n) {
    command c = {(int64_t)index, n};
    send(b, &c, sizeof c, TAG_COMMAND);
    if (side->prepare != NULL)
        side->prepare(b, side->state, n);
    (void)from_all(b, TAG_READY);
}

/* The origin's half of a block. Returns the time of one operation. [out] disturbed: a rank that had
 * work lost its core during the block. */
static double block(bench *b, const bench_side *side, size_t index, uint64_t n, bool *disturbed) {
    begin_block(b, side, index, n);
    int64_t mine = switches(), theirs = 0;
    b->idle = 0;
    double start = bench_now();
    side->origin(b, side->state, n);
    if (side->target != NULL)
        theirs = from_all(b, TAG_DONE);
    double time = bench_now() - start - b->idle;
    *disturbed = theirs > 0 || switches() > mine;
    return time / (double)n;
}

/* The same, but calls origin for each operations again and again and times every call. ns: room for
 * steps times. The first call has no time: it fills the caches. */
static void stepped_block(bench *b, const bench_side *side, size_t index, uint64_t each,
                          uint64_t steps, double *ns) {
    begin_block(b, side, index, (steps + 1) * each);
    side->origin(b, side->state, each);
    double before = bench_now();
    for (uint64_t i = 0; i < steps; i++) {
        side->origin(b, side->state, each);
        const double now = bench_now();
        ns[i] = (now - before) / (double)each;
        before = now;
    }
    if (side->target != NULL)
        (void)from_all(b, TAG_DONE);
}

/* Sleeps until the origin sends a command, so that another program has this rank's core. */
static void sleep_until_command(bench *b) {
    const struct timespec pause = {0, 10000000};
    for (int there = 0; !there;) {
        nanosleep(&pause, NULL);
        tern_mpi_lock();
        bench_mpi(MPI_Iprobe(BENCH_ORIGIN, TAG_COMMAND, b->comm, &there, MPI_STATUS_IGNORE),
                  "MPI_Iprobe");
        tern_mpi_unlock();
    }
}

/* A target's half of all blocks of a case. */
static void serve(bench *b, const bench_side *const *sides) {
    for (;;) {
        command c;
        int64_t mine = 0;
        receive(b, BENCH_ORIGIN, &c, sizeof c, TAG_COMMAND);
        if (c.side == END)
            return;
        if (c.side == SLEEP) {
            sleep_until_command(b);
            continue;
        }
        const bench_side *side = sides[c.side];
        if (side->prepare != NULL)
            side->prepare(b, side->state, c.operations);
        send(b, &mine, sizeof mine, TAG_READY);
        if (side->target == NULL)
            continue;
        mine = switches();
        side->target(b, side->state, c.operations);
        mine = switches() - mine;
        send(b, &mine, sizeof mine, TAG_DONE);
    }
}

/* Runs a block, and runs it again a few times if it was disturbed, unless it is a long one: the
 * figure is to show what the machine does, not what else runs on it. If there are more threads than
 * cores, blocks are always disturbed and are not repeated. */
static double quiet_block(bench *b, const bench_side *side, size_t index, uint64_t n,
                          unsigned *disturbed) {
    enum { TRIES = 6, LONG = 20 };
    const int tries = bench_crowded(b) ? 1 : TRIES;
    bool was = true;
    double least = 0, spent = 0;
    for (int i = 0; i < tries && was && spent < LONG * b->options.block_ns; i++) {
        double ns = block(b, side, index, n, &was);
        spent += ns * (double)n;
        if (i == 0 || ns < least || !was)
            least = ns;
    }
    *disturbed += was;
    return least;
}

static void command_all(bench *b, int64_t side) {
    command c = {side, 0};
    send(b, &c, sizeof c, TAG_COMMAND);
}

static uint64_t at_most(const bench_side *side, double n) {
    return side->most > 0 && n > (double)side->most ? side->most : (uint64_t)n;
}

/* Returns how many operations fill a block. It runs more and more of them to find out, which is
 * also the warm-up. */
static uint64_t calibrate(bench *b, const bench_side *side, size_t index, double block_ns) {
    uint64_t n = 1;
    unsigned ignored = 0;
    double total = 0;
    for (;;) {
        total = quiet_block(b, side, index, n, &ignored) * (double)n + b->idle;
        if (total > block_ns / 4 || n == side->most || n > UINT64_MAX / 8)
            break;
        n = at_most(side, (double)n * (total < block_ns / 64 ? 8 : 2));
    }
    for (int again = 0; again < 2; again++) {
        n = at_most(side, (double)n * block_ns / total + 1);
        total = quiet_block(b, side, index, n, &ignored) * (double)n + b->idle;
    }
    return at_most(side, (double)n * block_ns / total + 1);
}

static size_t sides_of(const bench_case *c, const bench_side **sides) {
    sides[0] = &c->measured;
    sides[1] = &c->ceiling;
    for (size_t i = 0; i < c->peer_count; i++)
        sides[2 + i] = &c->peers[i].side;
    return 2 + c->peer_count;
}

/* The most pairs in which peers take part, unless the case says how many operations it wants: the
 * time of a peer is for information and has no target as the ratio has. */
#define PEER_PAIRS 11

static double block_ns_of(const bench *b, const bench_case *c) {
    return b->options.block_ns * (c->lasts > 0 ? c->lasts : 1);
}

/* Number of pairs after which each side has done at least the operations that the case wants, with
 * n operations a block. */
static size_t pairs_of(const bench *b, const bench_case *c, uint64_t n) {
    enum { SECONDS = 5 };
    const double most = SECONDS * 1e9 / block_ns_of(b, c);
    double pairs = c->runs > 0 ? c->runs : b->options.pairs, wanted = (double)c->least / (double)n;
    if (c->least > 0 && wanted > pairs && pairs < most)
        pairs = wanted < most ? wanted : most;
    return pairs < BENCH_PAIRS_MAX ? (size_t)pairs : BENCH_PAIRS_MAX;
}

/* Divides the runs of a case into blocks of at most about n operations each. The ceiling's blocks
 * are as large. [in,out] n: operations of a block. Returns the number of blocks. */
static unsigned blocks_of_runs(const bench_case *c, uint64_t *n) {
    enum { LEAST = 5 };
    uint64_t blocks = (c->messages + n[0] - 1) / n[0], most = BENCH_PAIRS_MAX / c->runs;
    if (blocks < LEAST)
        blocks = LEAST;
    if (blocks > most)
        blocks = most;
    n[0] = n[1] = (c->messages + blocks - 1) / blocks;
    return (unsigned)blocks * c->runs;
}

/* Times n operations of a block one by one, or 64 by 64 where reading the clock would weigh too
 * much, until there are enough samples or enough time has passed. */
static bench_tail measure_tail(bench *b, const bench_side *side, size_t index, uint64_t n) {
    enum { SAMPLES = 1000000, TOGETHER = 64, SHORT_NS = 200, SECONDS = 10, BLOCKS = 100 };
    const uint64_t each = b->options.block_ns / (double)n < SHORT_NS ? TOGETHER : 1;
    uint64_t steps = n / each + 1;
    const size_t wanted = b->options.quick ? SAMPLES / 100 : SAMPLES;
    const double end = bench_now() + SECONDS * 1e9 / (b->options.quick ? BLOCKS : 1);
    double *ns = malloc(wanted * sizeof *ns);
    size_t count = 0;
    if (ns == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    while (count < wanted && (count == 0 || bench_now() < end)) {
        if (steps > wanted - count)
            steps = wanted - count;
        stepped_block(b, side, index, each, steps, ns + count);
        count += steps;
    }
    const bench_tail tail = bench_tail_of(ns, count, each);
    free(ns);
    return tail;
}

const bench_times *bench_measure(bench *b, const bench_case *c) {
    static bench_times times; /* static, because it is large; only one thread uses it */
    const bench_side *sides[2 + BENCH_PEERS];
    uint64_t n[2 + BENCH_PEERS] = {0};
    if (!bench_selected(b, c->name) || (b->published && !bench_is_published(c)))
        return NULL;
    size_t count = sides_of(c, sides);
    unsigned ignored = 0;
    if (b->rank != BENCH_ORIGIN) {
        serve(b, sides);
        return NULL;
    }
    if (!bench_in_time(b)) {
        ++*b->left_out;
        command_all(b, END);
        return NULL;
    }
    bench_progress(b, c);
    for (size_t i = 0; i < count; i++) {
        if (sides[i]->name == NULL)
            continue;
        n[i] = c->operations;
        if (n[i] == 0)
            n[i] = calibrate(b, sides[i], i, block_ns_of(b, c));
        else
            quiet_block(b, sides[i], i, n[i] / 16 + 1, &ignored); /* warm-up */
    }
    times.pairs = pairs_of(b, c, n[0]);
    if (c->messages > 0)
        times.pairs = blocks_of_runs(c, n);
    times.operations = n[0];
    times.disturbed = 0;
    const size_t peer_pairs = c->least > 0 ? times.pairs : PEER_PAIRS;
    for (size_t pair = 0; pair < times.pairs; pair++) {
        if (pair > 0 && !bench_in_time(b)) {
            times.pairs = pair;
            break;
        }
        for (size_t turn = 0; turn < 2; turn++) {
            size_t i = (pair + turn) % 2;
            double *to = i == 0 ? times.measured : times.ceiling;
            if (sides[i]->name != NULL)
                to[pair] = quiet_block(b, sides[i], i, n[i], &times.disturbed);
        }
        for (size_t i = 2; i < count; i++)
            times.peer[i - 2][pair] =
                pair < peer_pairs ? quiet_block(b, sides[i], i, n[i], &ignored) : -1;
    }
    memset(times.tail, 0, sizeof times.tail);
    for (size_t i = 0; b->options.tail && c->steps && i < count; i++)
        if (sides[i]->name != NULL)
            times.tail[i] = measure_tail(b, sides[i], i, n[i]);
    bench_case whole = *c; /* with the peers that are programs */
    if (b->options.program_count > 0) {
        command_all(b, SLEEP);
        bench_ask_programs(b, &whole, &times);
    }
    command_all(b, END);
    bench_report(b, &whole, &times);
    return &times;
}

/* Returns which of the sides is the fastest here; all ranks get the same answer. It serves ceilings
 * that come in several shapes. It compares the lower quartile of short blocks, so that neither a
 * bad moment of the machine nor one lucky block decides. */
size_t bench_fastest(bench *b, const bench_side *sides, size_t count) {
    enum { BLOCKS = 9 };
    size_t fastest = 0;
    if (b->rank != BENCH_ORIGIN) {
        const bench_side **list = malloc(count * sizeof *list);
        if (list == NULL)
            bench_fail("malloc", TERN_ERR_MEMORY);
        for (size_t i = 0; i < count; i++)
            list[i] = &sides[i];
        serve(b, list);
        free(list);
        bench_receive(b, &fastest, sizeof fastest);
        return fastest;
    }
    double least = 0;
    for (size_t i = 0; i < count; i++) {
        double ns[BLOCKS];
        unsigned ignored = 0;
        uint64_t n = calibrate(b, &sides[i], i, b->options.block_ns / 5);
        for (size_t at = 0; at < BLOCKS; at++)
            ns[at] = quiet_block(b, &sides[i], i, n, &ignored);
        double quartile = bench_quantile(ns, BLOCKS, 0.25);
        if (i == 0 || quartile < least) {
            least = quartile;
            fastest = i;
        }
    }
    command_all(b, END);
    bench_send(b, &fastest, sizeof fastest);
    return fastest;
}
