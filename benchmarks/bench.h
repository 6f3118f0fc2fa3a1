/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The frame of tern-bench: the origin (rank 0) that measures and the target (rank 1), or several.
 *
 * A case measures one thing beside its ceiling, the same necessary work with no generality, and
 * beside peers, other ways to the same end. Each of them is a side. Sides run in blocks of about 10
 * ms that alternate: measured, ceiling, ceiling, measured, ... The ratio of a case is the median
 * over the pairs of blocks of measured / ceiling, both as time per operation, so that 1 is the
 * ceiling and larger is worse. A machine that is slow for a while is slow for both blocks of a
 * pair.
 *
 * All ranks run the same program up to the blocks. There the origin commands: it sends the side
 * and the number of operations; the targets serve that side until they are sent the end of the
 * case. Two ranks are the rule; group.c makes a frame of more.
 */

#ifndef TERN_BENCHMARKS_BENCH_H
#define TERN_BENCHMARKS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "tern/tern.h"

enum { BENCH_ORIGIN, BENCH_TARGET };

#define BENCH_PEERS 4
#define BENCH_PARAMS 4
#define BENCH_PAIRS_MAX 1001

typedef struct bench_options {
    const char *json; /* a file, "-" for standard output, or NULL */
    const char *only; /* run cases whose name matches this glob, or NULL */
    unsigned pairs;
    uint64_t messages; /* of a run of calls one way; 0: as many as suit the transport */
    unsigned runs;
    double block_ns;
    double seconds; /* after which a subject begins no case; 0: it begins all */
    uint64_t
        operations; /* of a cell or a component, at least, if they take no longer than some s */
    bool quick;
    bool list;  /* run no case, print their names */
    bool whole; /* of many ranks all together, no smaller groups */
    bool check; /* exit with BENCH_EXIT_MISSED when a target is missed */
    bool pin;
    unsigned workers; /* of each rank, for searches; 0: 1, then as TERN_WORKERS says, or 2 */
} bench_options;

enum { BENCH_EXIT_OK, BENCH_EXIT_FAILED, BENCH_EXIT_USAGE, BENCH_EXIT_MISSED };

typedef struct bench {
    bench_options options;
    MPI_Comm world; /* all ranks: two, but for the cases of more */
    MPI_Comm comm;  /* of those that take part, for the commands; sides that need one make theirs */
    int rank, ranks; /* of comm */
    tern_context *context;
    tern_worker *worker;
    tern_worker_id other;
    tern_transport transport; /* to the other rank; of several, to the farthest */
    bool mixed;               /* some of several are nearer */
    bool shared;              /* all others' memory is reached by load and store */
    bool same_kernel;         /* all ranks see one clock */
    bool same_host;           /* all ranks see one host name */
    int hosts;                /* names of hosts that they see */
    int place;                /* of this rank among those of its kernel */
    int core[2];              /* of the first two, or -1: not pinned */
    int cores;                /* that the ranks of this kernel may use */
    int threads;              /* that they keep busy */
    bool helped;              /* tern's service threads may be inside MPI */
    char mpi[64];             /* name and version */
    FILE *table;              /* at the origin, else NULL */
    FILE *json;               /* at the origin if asked for, else NULL */
    const char *subject;      /* the subcommand that runs */
    double started;
    double ends; /* of the subject: no case begins later */
    double idle; /* ns of a block that its side says are not its own: they are subtracted */
    double fetch_add_ns, missing_load_ns; /* bare units, at the origin; 0: not measured */
    bool published;                       /* only cases that others have published figures of */
    unsigned *reported;                   /* cases, */
    unsigned *missed;                     /* and targets: of all frames, at the origin */
    unsigned *left_out;                   /* cases for which the subject had no time */
} bench;

/* More threads than cores: figures say little, and who waits must give its core away. */
static inline bool bench_crowded(const bench *b) { return b->threads > b->cores; }

/* One way to do a thing. origin does n operations on rank 0. target, if there is one, does its part
 * on every other rank and returns when all n are done: the block ends then. Without one, they wait
 * inside MPI (and, unless memory is shared, inside tern_progress). prepare, if there is one, runs
 * on all ranks before the clock does. */
typedef struct bench_side {
    const char *name;
    void (*origin)(bench *b, void *state, uint64_t n);
    void (*target)(bench *b, void *state, uint64_t n);
    void *state;
    void (*prepare)(bench *b, void *state, uint64_t n);
    uint64_t most; /* operations in a block; 0: any number */
} bench_side;

static inline bench_side bench_way(const char *name, void (*origin)(bench *, void *, uint64_t),
                                   void (*target)(bench *, void *, uint64_t), void *state) {
    return (bench_side){.name = name, .origin = origin, .target = target, .state = state};
}

typedef struct bench_peer {
    bench_side side;
    double at_least; /* the peer must take so many times as long as tern; 0: no such target */
} bench_peer;

typedef enum bench_unit { BENCH_TIME, BENCH_RATE, BENCH_BANDWIDTH } bench_unit;

typedef struct bench_param {
    const char *name;
    uint64_t value;
    const char *text; /* instead of a value */
} bench_param;

typedef struct bench_case {
    const char *name;
    bench_param params[BENCH_PARAMS]; /* up to the first without a name */
    const char *algorithm;            /* of a container, or NULL */
    bench_unit unit;
    uint64_t bytes; /* of one operation, for BENCH_BANDWIDTH */
    bench_side measured;
    bench_side ceiling;  /* no name: there is none */
    double ratio_target; /* the ratio must be at most this; 0: no target */
    double time_target;  /* the time must be at most this many ns; 0: no target */
    bench_peer peers[BENCH_PEERS];
    size_t peer_count;
    uint64_t operations; /* of every block; 0: so many as fill it */
    unsigned runs;       /* pairs of blocks; 0: as many as the options say */
    uint64_t messages;   /* so many operations make a run, of blocks of the usual length; 0: none */
    uint64_t least;      /* operations of each side, if that takes no longer than some s; 0: any */
    unsigned lasts;      /* blocks take so many times as long as others; 0: as long */
    const struct bench_model *model; /* of a cell (cells.h), or NULL */
    const char *members;             /* more for JSON, each behind a comma, or NULL */
    const char *also;        /* a rate's operations are worth so many of these each, or NULL; */
    const double *also_each; /* known when the case has been measured */
} bench_case;

/* Times of one operation in ns, by pair of blocks. */
typedef struct bench_times {
    size_t pairs;
    uint64_t operations; /* of a block of measured */
    unsigned disturbed;  /* blocks of measured and ceiling in which a rank lost its core */
    double measured[BENCH_PAIRS_MAX];
    double ceiling[BENCH_PAIRS_MAX];
    double peer[BENCH_PEERS][BENCH_PAIRS_MAX]; /* negative: not measured in that pair */
} bench_times;

/* selection.c: whether --only names the case. */
bool bench_selected(const bench *b, const char *name);
bool bench_has_matched(void); /* some case, so far */
/* One line for each name that --only could have named, and forgets them. */
void bench_print_names(FILE *to);
/* The subject's time begins. At the origin, a case that would begin when it is up is left out. */
void bench_begin_subject(bench *b);
bool bench_in_time(const bench *b);
/* The same for so many cases that are prepared together, as all ranks then know. */
bool bench_time_for(bench *b, size_t cases);

/* bench.c: the blocks. All ranks call each of these with the same case. */
/* What was measured, until the next case; NULL on targets and for a case that is not selected or
 * left out. */
const bench_times *bench_measure(bench *b, const bench_case *c);
size_t bench_fastest(bench *b, const bench_side *sides, size_t count);

/* A barrier over the control communicator, with progress where a transport needs it. */
void bench_meet(bench *b);
/* Sends or receives a few bytes to or from the other rank. The origin sends to every target. */
void bench_send(bench *b, const void *data, size_t bytes);
void bench_receive(bench *b, void *data, size_t bytes);

/* Memory in the segment of rank owner, of more than two ranks the origin, that all ranks know; the
 * address is NULL where it is not reached by load and store. */
tern_ptr bench_place(bench *b, int owner, size_t bytes, void **address);
void bench_unplace(bench *b, int owner, tern_ptr p);

/* group.c: own becomes the frame of the first ranks of world, with a context of their own, and
 * threads busy threads in each. Those ranks call both. config NULL: tern's. */
void bench_group_open(bench *b, bench *own, int ranks, const tern_config *config, int threads);
void bench_group_close(bench *own);
/* By all of world: measure in groups of 2, 3, 4, 6, 8, 12, ... and all ranks. */
void bench_group_each(bench *b, void (*measure)(bench *own));

/* Ends the program on all ranks. */
void bench_fail(const char *what, tern_status status) __attribute__((noreturn));
void bench_fail_mpi(const char *what, int error) __attribute__((noreturn));

static inline void bench_ok(tern_status status, const char *what) {
    if (__builtin_expect(status != TERN_OK, 0))
        bench_fail(what, status);
}

static inline void bench_mpi(int error, const char *what) {
    if (__builtin_expect(error != MPI_SUCCESS, 0))
        bench_fail_mpi(what, error);
}

double bench_now(void); /* ns */

/* p as if it had just been read from memory: the compiler may assume nothing about it, so that no
 * check on it is moved out of a loop. Costs no instruction but what taking it apart costs. */
static inline tern_ptr bench_opaque(tern_ptr p) {
    uint64_t head, offset = p.offset;
    memcpy(&head, &p, sizeof head);
    __asm__ volatile("" : "+r"(head), "+r"(offset));
    memcpy(&p, &head, sizeof head);
    p.offset = offset;
    return p;
}

/* The value is needed, and memory may have changed. */
static inline void bench_use(uint64_t value) { __asm__ volatile("" : : "r"(value) : "memory"); }

/* statistics.c */
double bench_quantile(const double *values, size_t count, double q);
double bench_mean(const double *values, size_t count);
static inline double bench_median(const double *values, size_t count) {
    return bench_quantile(values, count, 0.5);
}
static inline double bench_spread(const double *values, size_t count) {
    return bench_quantile(values, count, 0.75) - bench_quantile(values, count, 0.25);
}

/* output.c: the origin only. */
void bench_title(bench *b, const char *subject);
void bench_progress(bench *b, const bench_case *c);
void bench_report(bench *b, const bench_case *c, const bench_times *times);
void bench_note(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_describe(bench *b);
void bench_close_output(bench *b);

/* published.c: what others take for the same. All ranks say the same of a case. */
bool bench_is_published(const bench_case *c);
void bench_published_table(bench *b, const bench_case *c, const bench_times *times);
void bench_published_json(bench *b, const bench_case *c, const bench_times *times);
/* All that have been reported, one below the other. */
void bench_published_summary(bench *b);

/* machine.c */
/* Collective over comm: a core for each rank, if there are so many. Sets core, cores, threads,
 * same_kernel, same_host. */
void bench_pin(bench *b);
/* This rank's threads may run on all those cores. */
void bench_unpin(bench *b);
enum { BENCH_TOGETHER_MOST = 1024 };

/* count threads of this rank, of which this one is the first, until all are through: body gets each
 * its part of parts, which are of part_bytes. They take places among those that are busy on this
 * kernel from first on: a core of its own for each, if there are so many. */
void bench_together(const bench *b, uint32_t first, uint32_t count, void *(*body)(void *),
                    void *parts, size_t part_bytes);
void bench_mpi_name(char *name, size_t room);
void bench_cpu_name(char *name, size_t room);

/* The subcommands. */
void bench_transfer(bench *b);
void bench_call(bench *b);
void bench_attention(bench *b);
void bench_batch(bench *b);
void bench_notify(bench *b);
void bench_put(bench *b);
void bench_zerocopy(bench *b);
void bench_update(bench *b);
void bench_archive(bench *b);
void bench_apps(bench *b);
void bench_mailbox(bench *b);
void bench_mcts(bench *b);
/* Of two ranks or, in groups of ever more, of all: what every rank calls. */
void bench_model_all(bench *b);
void bench_hash(bench *b);
void bench_queue(bench *b);
void bench_attentive(bench *b);
void bench_peers(bench *b);
/* What ranks 2 and up do meanwhile, where there are any. */
void bench_notify_sleep(MPI_Comm world);
void bench_call_many(bench *b);

#endif
