/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What all cases of tern-bench share. The origin (rank 0) measures; the target (rank 1), or several
 * targets, serve it.
 *
 * A case measures one thing beside its ceiling, the same necessary work with no generality, and
 * beside peers, other ways to do the same. The measured thing, the ceiling and each peer are sides.
 * Sides run in alternating blocks of about 10 ms: measured, ceiling, ceiling, measured, ... The
 * ratio of a case is the median over the pairs of blocks of measured / ceiling, both as time per
 * operation, so 1 is the ceiling and larger is worse. A machine that is slow for a while is slow
 * for both blocks of a pair.
 *
 * All ranks run the same program up to the blocks. In the blocks the origin commands: it sends the
 * side and the number of operations. The targets serve that side until the origin sends the end of
 * the case. Most cases use two ranks; group.c makes groups of more.
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

#define BENCH_PEERS 8
#define BENCH_PROGRAMS 4 /* peers that are programs of their own */
#define BENCH_PARAMS 4
#define BENCH_PAIRS_MAX 1001

typedef struct bench_peer_program {
    const char *name, *program; /* program: a command for the shell */
} bench_peer_program;

typedef struct bench_options {
    const char *json; /* a file, "-" for standard output, or NULL */
    const char *only; /* run cases whose name matches this glob, or NULL */
    unsigned pairs;
    uint64_t messages; /* of a run of one-way calls; 0: as many as suit the transport */
    unsigned runs;
    double block_ns;
    double seconds; /* time after which a subject begins no further case; 0: no limit */
    uint64_t
        operations; /* least number for a cell or a component, if they take no longer than some s */
    bool quick;
    bool osu;   /* sweeps of sizes only, in the layout of the OSU benchmarks */
    bool list;  /* print the names of the cases, run none */
    bool whole; /* measure all ranks together only, no smaller groups */
    bool check; /* exit with BENCH_EXIT_MISSED when a target is missed */
    bool tail;  /* also time operations one by one, or 64 by 64 */
    bool pin;
    unsigned workers;    /* of each rank, for searches; 0: 1, and then TERN_WORKERS or 2 */
    const char *network; /* that is simulated, or NULL */
    uint64_t keys;       /* of large tables; 0: as many as suit */
    uint32_t largest;    /* number of ranks that is simulated; 0: as many as fit the time */
    bench_peer_program programs[BENCH_PROGRAMS];
    size_t program_count;
} bench_options;

enum { BENCH_EXIT_OK, BENCH_EXIT_FAILED, BENCH_EXIT_USAGE, BENCH_EXIT_MISSED };

typedef struct bench {
    bench_options options;
    MPI_Comm world; /* all ranks: two, except for cases of more */
    MPI_Comm
        comm; /* the ranks that take part; for commands only: a side makes its own communicator */
    int rank, ranks; /* in comm */
    tern_context *context;
    tern_worker *worker;
    tern_worker_id other;
    tern_transport transport; /* to the other rank; with several, to the farthest one */
    bool mixed;               /* some of several ranks are reached by a nearer transport */
    bool shared;              /* load and store reach the memory of all other ranks */
    bool same_kernel;         /* all ranks use one clock */
    bool same_host;           /* all ranks have one host name */
    int hosts;                /* number of host names among the ranks */
    int place;                /* index of this rank among those of its kernel */
    int core[2];              /* cores of the first two ranks, or -1: not pinned */
    int cores;                /* number of cores that the ranks of this kernel may use */
    int threads;              /* number of threads that they keep busy */
    bool helped;              /* tern's service threads may be inside MPI */
    char mpi[64];             /* name and version */
    FILE *table;              /* at the origin, else NULL; NULL while a subject prints its own */
    FILE *json;               /* at the origin if asked for, else NULL */
    const char *subject;      /* the subcommand that runs */
    double started;
    double ends; /* time at which the subject begins no further case */
    double
        idle; /* ns of a block to subtract, since its side did not spend them on its operations */
    double fetch_add_ns, missing_load_ns; /* bare units, at the origin; 0: not measured */
    bool published;     /* run only cases for which others have published figures */
    unsigned *reported; /* number of cases reported, */
    unsigned *missed;   /* and of targets missed: of all groups, at the origin */
    unsigned *left_out; /* cases for which the subject had no time */
} bench;

/* True if there are more threads than cores. Then figures mean little, and a thread that waits must
 * give its core away. */
static inline bool bench_crowded(const bench *b) { return b->threads > b->cores; }

/* One way to do a thing. The origin's function does n operations on rank 0. target, if not NULL,
 * does its part on every other rank and returns when all n are done; then the block ends. Without
 * it, the targets wait inside MPI (and, unless memory is shared, inside tern_progress). prepare, if
 * not NULL, runs on all ranks before the clock starts. */
typedef struct bench_side {
    const char *name;
    void (*origin)(bench *b, void *state, uint64_t n);
    void (*target)(bench *b, void *state, uint64_t n);
    void *state;
    void (*prepare)(bench *b, void *state, uint64_t n);
    uint64_t most; /* the most operations of a block; 0: any number */
} bench_side;

static inline bench_side bench_way(const char *name, void (*origin)(bench *, void *, uint64_t),
                                   void (*target)(bench *, void *, uint64_t), void *state) {
    return (bench_side){.name = name, .origin = origin, .target = target, .state = state};
}

typedef struct bench_peer {
    bench_side side;
    double
        at_least; /* target: the peer must take at least so many times as long as tern; 0: none */
} bench_peer;

typedef enum bench_unit { BENCH_TIME, BENCH_RATE, BENCH_BANDWIDTH } bench_unit;

typedef struct bench_param {
    const char *name;
    uint64_t value;
    const char *text; /* printed instead of a value */
} bench_param;

typedef struct bench_case {
    const char *name;
    bench_param params[BENCH_PARAMS]; /* the first one without a name ends them */
    const char *algorithm;            /* of a container, or NULL */
    bench_unit unit;
    uint64_t bytes; /* of one operation, for BENCH_BANDWIDTH */
    bench_side measured;
    bench_side ceiling;  /* no name: without a ceiling */
    double ratio_target; /* the ratio must be at most this; 0: no target */
    double time_target;  /* the time must be at most this many ns; 0: no target */
    bench_peer peers[BENCH_PEERS];
    size_t peer_count;
    const char *fastest;     /* the peers are ways of this one: a line names the fastest; or NULL */
    double fastest_at_least; /* target: it must take at least so many times as long; 0: none */
    uint64_t operations;     /* of every block; 0: as many as fill it */
    unsigned runs;           /* pairs of blocks; 0: as the options say */
    uint64_t messages; /* operations of a run, which consists of blocks of the usual length; 0: no
                          runs */
    uint64_t least; /* least number of operations of each side, if that takes no longer than some s;
                       0: any */
    unsigned lasts; /* how many times as long as others the blocks are; 0: as long */
    bool steps;     /* of each side, which has no most, calls of origin for few operations add up to
                       one for more, so that --tail can time them */
    const struct bench_model *model; /* of a cell (cells.h), or NULL */
    const char *members;             /* further members for JSON, each behind a comma, or NULL */
    const char *also;                /* unit of a second rate, or NULL: */
    const double
        *also_each; /* so many of it per operation, known when the case has been measured */
} bench_case;

/* What --tail has found of one side: times of one operation in ns, averaged over each of them. */
typedef struct bench_tail {
    size_t samples; /* 0: not measured */
    uint64_t each;
    double p50, p99, p999, most;
} bench_tail;

/* Times of one operation in ns, by pair of blocks. */
typedef struct bench_times {
    size_t pairs;
    uint64_t operations; /* of a block of the measured side */
    unsigned disturbed;  /* blocks of measured and ceiling in which a rank lost its core */
    double measured[BENCH_PAIRS_MAX];
    double ceiling[BENCH_PAIRS_MAX];
    double peer[BENCH_PEERS][BENCH_PAIRS_MAX]; /* negative: not measured in that pair */
    bench_tail tail[2 + BENCH_PEERS];          /* measured, ceiling, peers */
} bench_times;

/* selection.c: whether --only names the case and, with --osu, whether it is a sweep of sizes. */
bool bench_selected(const bench *b, const char *name);
/* The sizes of a sweep: all; few with --quick; with --osu powers of two up to the last of all. */
typedef struct bench_sizes {
    const size_t *bytes;
    size_t count;
} bench_sizes;
#define BENCH_SIZES(array) ((bench_sizes){(array), sizeof(array) / sizeof *(array)})
bench_sizes bench_sweep(const bench *b, bench_sizes all, bench_sizes few);
bool bench_has_matched(void); /* whether --only has named any case so far */
/* Prints one line for each name that --only could have named, and forgets the names. */
void bench_print_names(FILE *to);
/* Starts the subject's time. The origin leaves out a case that would begin after the time is up. */
void bench_begin_subject(bench *b);
bool bench_in_time(const bench *b);
/* The same for several cases that are prepared together; all ranks get the same answer. */
bool bench_time_for(bench *b, size_t cases);

/* bench.c: the blocks. All ranks call each of these with the same case. */
/* Returns the measured times, valid until the next case; NULL on targets, and for a case that is
 * not selected or left out. */
const bench_times *bench_measure(bench *b, const bench_case *c);
size_t bench_fastest(bench *b, const bench_side *sides, size_t count);

/* peer_program.c: measures the case by each program of --peer and adds those that have it to the
 * case's peers. The origin calls it while the other ranks sleep. */
void bench_ask_programs(bench *b, bench_case *c, bench_times *times);

/* A barrier over the control communicator, with progress if a transport needs it. */
void bench_meet(bench *b);
/* Whether MPI was started for several threads. If not, notes how such a case is run. */
bool bench_may_thread(bench *b, const char *how);
/* Send or receive a few bytes to or from the other rank. The origin sends to every target. */
void bench_send(bench *b, const void *data, size_t bytes);
void bench_receive(bench *b, void *data, size_t bytes);

/* Allocates memory in the segment of rank owner (with more than two ranks, of the origin) and tells
 * all ranks. [out] address: NULL where load and store do not reach it. */
tern_ptr bench_place(bench *b, int owner, size_t bytes, void **address);
void bench_unplace(bench *b, int owner, tern_ptr p);

/* group.c: makes own a group of the first ranks of world, with a context of their own, and
 * threads busy threads in each rank. Only those ranks call open and close. config NULL: tern's
 * default. */
void bench_group_open(bench *b, bench *own, int ranks, const tern_config *config, int threads);
void bench_group_close(bench *own);
/* Calls measure in groups of 2, 3, 4, 6, 8, 12, ... and all ranks. All ranks of world call it. */
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

double bench_now(void); /* time in ns */

/* Returns p as if it had just been read from memory: the compiler may assume nothing about p, so it
 * moves no check of p out of a loop. It costs no instruction except those that take p apart. */
static inline tern_ptr bench_opaque(tern_ptr p) {
    uint64_t head, offset = p.offset;
    memcpy(&head, &p, sizeof head);
    __asm__ volatile("" : "+r"(head), "+r"(offset));
    memcpy(&p, &head, sizeof head);
    p.offset = offset;
    return p;
}

/* Tells the compiler that the value is used and that memory may have changed. */
static inline void bench_use(uint64_t value) { __asm__ volatile("" : : "r"(value) : "memory"); }

/* The interquartile range over the median above which a figure says little. */
#define BENCH_UNSTEADY 0.3

/* statistics.c */
double bench_quantile(const double *values, size_t count, double q);
double bench_mean(const double *values, size_t count);
static inline double bench_median(const double *values, size_t count) {
    return bench_quantile(values, count, 0.5);
}
static inline double bench_spread(const double *values, size_t count) {
    return bench_quantile(values, count, 0.75) - bench_quantile(values, count, 0.25);
}

/* ns: the times of the samples, which it sorts. */
bench_tail bench_tail_of(double *ns, size_t count, uint64_t each);

/* output.c: the origin only. */
void bench_title(bench *b, const char *subject);
void bench_progress(bench *b, const bench_case *c);
void bench_report(bench *b, const bench_case *c, const bench_times *times);
void bench_note(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_describe(bench *b);
void bench_close_output(bench *b);
void bench_json_string(FILE *to, const char *text);
/* Three digits in a suitable unit. */
void bench_time_text(char *text, size_t room, double ns);

/* tail.c */
void bench_tail_table(bench *b, const bench_case *c, const bench_times *times);
void bench_tail_json(bench *b, const bench_case *c, const bench_times *times);

/* osu.c: the same as bench_report's table, as a line of a block for each sweep. */
void bench_osu_case(const bench *b, const bench_case *c, const bench_times *times);

/* published.c: whether others have published a figure for the case. All ranks get the same
 * answer. */
bool bench_is_published(const bench_case *c);
void bench_published_table(bench *b, const bench_case *c, const bench_times *times);
void bench_published_json(bench *b, const bench_case *c, const bench_times *times);
/* Prints a table of all reported cases with published figures. */
void bench_published_summary(bench *b);

/* machine.c */
/* Collective over comm: pins each rank to a core of its own, if there are enough. Sets core, cores,
 * threads, same_kernel, same_host. */
void bench_pin(bench *b);
/* Lets this rank's threads run on all those cores. */
void bench_unpin(bench *b);
enum { BENCH_TOGETHER_MOST = 1024 };

/* Runs body in count threads of this rank, of which the calling one is the first, until all have
 * returned. Each gets its part of parts, which are part_bytes apart. The threads are numbered from
 * first on among the busy ones of this kernel; each gets a core of its own, if there are enough. */
void bench_together(const bench *b, uint32_t first, uint32_t count, void *(*body)(void *),
                    void *parts, size_t part_bytes);
void bench_mpi_name(char *name, size_t room);
void bench_cpu_name(char *name, size_t room);

/* compare.c: 'tern-bench compare', with its own options; argv[0] is its name. Returns an exit
 * status. */
int bench_compare(int argc, char **argv);

/* The subcommands. */
void bench_advise(bench *b);
void bench_transfer(bench *b);
void bench_strided(bench *b);
void bench_call(bench *b);
void bench_attention(bench *b);
void bench_batch(bench *b);
void bench_notify(bench *b);
void bench_collective(bench *b);
void bench_put(bench *b);
void bench_network(bench *b);
void bench_zerocopy(bench *b);
void bench_update(bench *b);
void bench_accumulate(bench *b);
void bench_archive(bench *b);
void bench_apps(bench *b);
void bench_large(bench *b);
void bench_mailbox(bench *b);
void bench_mcts(bench *b);
void bench_scale(bench *b);
/* Measures between two ranks or, if there are more, in groups of growing size and of all ranks.
 * Every rank calls it. */
void bench_model_all(bench *b);
void bench_hash(bench *b);
void bench_queue(bench *b);
void bench_attentive(bench *b);
void bench_peers(bench *b);
/* Ranks 2 and up call this meanwhile, if there are any. */
void bench_notify_sleep(MPI_Comm world);
void bench_call_many(bench *b);

#endif
