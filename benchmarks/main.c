/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* tern-bench: options and subcommands. Every rank reads the same command line; rank 0 writes the
 * messages. */

#include "bench.h"
#include "scale/loggp.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>

typedef struct subject {
    const char *name;
    void (*run)(bench *b);
    const char *what;
    void (*many)(bench *b); /* what ranks 2 and up do; NULL: the subject measures two ranks only */
    enum {
        ALONE = 1,  /* a single rank may measure it, too */
        SWEEPS = 2, /* some of its cases sweep over sizes: --osu */
    } is;
} subject;

static const subject subjects[] = {
    {"advise", bench_advise, "what to use between these two ranks, from measured components", NULL,
     0},
    {"transfer", bench_transfer, "put, get and atomics beside loads, stores, memcpy and MPI's",
     NULL, SWEEPS},
    {"strided", bench_strided, "strided puts and gets beside loops, packing and unpacking", NULL,
     0},
    {"call", bench_call, "calls: one way, with a result, to all, from many, by service threads",
     bench_call_many, SWEEPS},
    {"attention", bench_attention, "a put to a target that computes and calls nobody", NULL, 0},
    {"model", bench_model_all, "gets, puts, atomics, calls, and the cost model of containers",
     bench_model_all, ALONE},
    {"hash", bench_hash, "hash table by RMA, by call and by TERN_AUTO", bench_hash, ALONE},
    {"queue", bench_queue, "queues by RMA, by call and by TERN_AUTO", bench_queue, ALONE},
    {"attentive", bench_attentive, "the same while all ranks compute between operations",
     bench_attentive, 0},
    {"peers", bench_peers, "published figures of other containers, beside tern's", NULL, 0},
    {"large", bench_large,
     "large tables: memory of a key, inserts and finds, pauses while they grow", NULL, 0},
    {"batch", bench_batch, "many keys of a hash table at once, and buffered, beside one by one",
     NULL, 0},
    {"notify", bench_notify, "puts and gets with completion beside flags, a bare ring and MPI's",
     NULL, SWEEPS},
    {"collective", bench_collective, "barrier, broadcast and all-reduce by length, beside MPI's",
     bench_collective, SWEEPS},
    {"network", bench_network, "operations of one word beside bare libfabric, TCP, MPI's messages",
     NULL, 0},
    {"put", bench_put, "streams of puts: recycled buffers beside flushes by hand and MPI's own",
     NULL, 0},
    {"zerocopy", bench_zerocopy, "calls with one large argument: chunks, copies, bare gets", NULL,
     0},
    {"update", bench_update, "updates of contended objects: locks, calls, combining, MPI's own",
     NULL, 0},
    {"accumulate", bench_accumulate, "sums of arrays of doubles beside a bare loop and MPI's own",
     NULL, 0},
    {"apps", bench_apps, "histogram and index-gather: RMA, calls, blocks, MPI's own, bare memory",
     NULL, 0},
    {"mailbox", bench_mailbox, "calls by mailbox beside flags, futexes, pipes and sockets", NULL,
     0},
    {"mcts", bench_mcts,
     "tree search on Hex beside a tree per thread and a shared tree; random games", bench_mcts,
     ALONE},
    {"scale", bench_scale, "64 to 65,536 ranks, simulated; few ranks beside the simulation",
     bench_scale, ALONE},
    {"archive", bench_archive, "records written and read beside memcpy and other serializers", NULL,
     0},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static void print_subjects(FILE *to) {
    for (size_t i = 0; i < SUBJECTS; i++)
        fprintf(to, "  %-12s %s\n", subjects[i].name, subjects[i].what);
}

static const char *known_networks(void) {
    static char names[128];
    size_t at = 0;
    for (const scale_network *n = scale_networks; n->name != NULL && at < sizeof names; n++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at > 0 ? ", " : "", n->name);
    return names;
}

static void usage(FILE *to) {
    fprintf(to,
            "usage: mpirun -n 2 tern-bench [options] subject...\n"
            "       mpirun -n 2 tern-bench [options] notify --only flood\n"
            "       mpirun -n 2 tern-bench [options] call --only 'service*'\n"
            "       mpirun -n 2 tern-bench [options] zerocopy --only workers\n"
            "       mpirun -n 2 tern-bench [options] network --only rates\n"
            "       mpirun -n 2 tern-bench [options] notify --only 'idle_ring*'\n"
            "       mpirun -n 2 tern-bench [options] call --only 'pairs*'\n"
            "       mpirun -n N tern-bench [options] notify --only idle\n"
            "       mpirun -n N tern-bench [options] call|model|hash|queue|attentive|mcts|scale\n"
            "       mpirun -n 1 tern-bench [options] model|hash|queue|mcts|scale\n"
            "       tern-bench compare BEFORE.json AFTER.json\n\n"
            "Measures tern between two ranks, each figure beside its ceiling (the same work\n"
            "with no generality) in the same run. A ratio of 1 is the ceiling. With more than\n"
            "two ranks, call measures its cases for many ranks: broadcast and many_to_one.\n\n"
            "subjects:\n");
    print_subjects(to);
    fprintf(to, "  %-12s all subjects\n\noptions:\n", "all");
    fprintf(
        to,
        "      --json FILE    writes one JSON object per line to FILE; - is standard output,\n"
        "                     and then the table goes to standard error\n"
        "      --osu          sweeps over sizes only (transfer, call, notify, collective), in the\n"
        "                     layout of the OSU benchmarks: us and MB/s by size\n"
        "      --quick        fewer and shorter blocks: a short look, not a measurement\n"
        "      --pairs N      pairs of blocks for each case, 1 to %d [21; quick: 5]\n"
        "      --block MS     length of a block in milliseconds, 0.1 to 1000 [10; quick: 4]\n"
        "      --messages N   messages of a run of one-way calls, 1,000 to 10,000,000,000\n"
        "                     [65,000,000, send 6,500,000, between nodes 1,000,000;\n"
        "                     quick: 2,000,000 and 20,000]\n"
        "      --runs N       such runs, 1 to 10 [3; quick: 1]\n"
        "      --operations N least operations of each component and path of a container, if\n"
        "                     they take at most 5 s, 1 to 10,000,000,000 [1,000,000; quick: 1]\n"
        "      --seconds S    a subject leaves out the cases that would begin later, 0.1 to "
        "100000\n"
        "                     [no limit; quick: 10, so that a subject ends within 20]\n"
        "      --whole        model, hash, queue, attentive, mcts: all ranks together, no groups\n"
        "      --workers N    mcts: workers of each rank, 1 to 64 [1, then TERN_WORKERS or 2]\n"
        "      --network NET  scale: %s, or o,g,G,L in ns (LogGP)\n"
        "                     [1 rank: the first; 2 ranks: as measured between them]\n"
        "      --keys N       large: keys of both ranks together, 1,000 to 10,000,000,000, of up "
        "to\n"
        "                     160 B each [10,000,000; quick: 100,000]\n"
        "      --peer NAME=PROGRAM   another way to do the same, up to %d of them: runs\n"
        "                     'PROGRAM SUBJECT CASE BYTES' after each case while all ranks sleep;\n"
        "                     it prints the ns of one operation, or nothing if it has no such "
        "case\n"
        "      --largest N    scale: the most ranks that are simulated, 64 to 1,048,576\n"
        "                     [65,536; quick: 1,024]\n"
        "      --only GLOB    only cases whose name matches; exit status %d if none does\n"
        "      --list         prints the subjects or, with subjects, the names of their cases\n"
        "      --no-pin       leaves the ranks on the cores where they are\n"
        "      --check        exits with %d if a target is missed\n"
        "      --tail         latencies also one by one (below 200 ns, 64 by 64): p50, p99, p99.9\n"
        "                     and the longest of 1,000,000, if they take at most 10 s\n"
        "      --version      prints the version\n"
        "  -h, --help         prints this help\n\n"
        "exit status: %d, %d (something failed), %d (bad usage), %d (see --check)\n",
        BENCH_PAIRS_MAX, known_networks(), BENCH_PROGRAMS, BENCH_EXIT_USAGE, BENCH_EXIT_MISSED,
        BENCH_EXIT_OK, BENCH_EXIT_FAILED, BENCH_EXIT_USAGE, BENCH_EXIT_MISSED);
}

/* Rank 0 writes one line. Returns BENCH_EXIT_USAGE on every rank. */
static int refuse(const bench *b, const char *format, ...) {
    if (b->rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "tern-bench: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, " (--help)\n");
        va_end(arguments);
    }
    return BENCH_EXIT_USAGE;
}

enum {
    JSON = 256,
    OSU,
    QUICK,
    PAIRS,
    BLOCK,
    MESSAGES,
    RUNS,
    OPERATIONS,
    SECONDS,
    WHOLE,
    WORKERS,
    NETWORK,
    KEYS,
    LARGEST,
    PEER,
    ONLY,
    LIST,
    NO_PIN,
    CHECK,
    TAIL,
    VERSION
};

static const struct option long_options[] = {
    {"json", required_argument, NULL, JSON},
    {"osu", no_argument, NULL, OSU},
    {"quick", no_argument, NULL, QUICK},
    {"pairs", required_argument, NULL, PAIRS},
    {"block", required_argument, NULL, BLOCK},
    {"messages", required_argument, NULL, MESSAGES},
    {"runs", required_argument, NULL, RUNS},
    {"operations", required_argument, NULL, OPERATIONS},
    {"seconds", required_argument, NULL, SECONDS},
    {"whole", no_argument, NULL, WHOLE},
    {"workers", required_argument, NULL, WORKERS},
    {"network", required_argument, NULL, NETWORK},
    {"keys", required_argument, NULL, KEYS},
    {"largest", required_argument, NULL, LARGEST},
    {"peer", required_argument, NULL, PEER},
    {"only", required_argument, NULL, ONLY},
    {"list", no_argument, NULL, LIST},
    {"no-pin", no_argument, NULL, NO_PIN},
    {"check", no_argument, NULL, CHECK},
    {"tail", no_argument, NULL, TAIL},
    {"version", no_argument, NULL, VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Reads a number between least and most with nothing after it. */
static bool number(const char *text, double least, double most, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *value >= least && *value <= most;
}

/* Notes a peer that is a program. False: text is not NAME=PROGRAM, or there are too many. */
static bool take_program(bench_options *o, char *text) {
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0' || o->program_count == BENCH_PROGRAMS)
        return false;
    o->programs[o->program_count++] =
        (bench_peer_program){strndup(text, (size_t)(equals - text)), equals + 1};
    return true;
}

/* Returns -1 to go on, else the exit status. */
static int parse(bench *b, int argc, char **argv) {
    bench_options *o = &b->options;
    double pairs = 0, block_ms = 0, messages = 0, runs = 0, operations = 0, workers = 0,
           largest = 0, keys = 0;
    scale_network network;
    int letter;
    o->pin = true;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        switch (letter) {
        case JSON:
            o->json = optarg;
            break;
        case OSU:
            o->osu = true;
            break;
        case QUICK:
            o->quick = true;
            break;
        case PAIRS:
            if (!number(optarg, 1, BENCH_PAIRS_MAX, &pairs))
                return refuse(b, "--pairs takes 1 to %d, not '%s'", BENCH_PAIRS_MAX, optarg);
            break;
        case BLOCK:
            if (!number(optarg, 0.1, 1000, &block_ms))
                return refuse(b, "--block takes 0.1 to 1000 milliseconds, not '%s'", optarg);
            break;
        case MESSAGES:
            if (!number(optarg, 1e3, 1e10, &messages))
                return refuse(b, "--messages takes 1000 to 10000000000, not '%s'", optarg);
            break;
        case RUNS:
            if (!number(optarg, 1, 10, &runs))
                return refuse(b, "--runs takes 1 to 10, not '%s'", optarg);
            break;
        case OPERATIONS:
            if (!number(optarg, 1, 1e10, &operations))
                return refuse(b, "--operations takes 1 to 10000000000, not '%s'", optarg);
            break;
        case SECONDS:
            if (!number(optarg, 0.1, 1e5, &o->seconds))
                return refuse(b, "--seconds takes 0.1 to 100000, not '%s'", optarg);
            break;
        case WHOLE:
            o->whole = true;
            break;
        case WORKERS:
            if (!number(optarg, 1, 64, &workers))
                return refuse(b, "--workers takes 1 to 64, not '%s'", optarg);
            break;
        case NETWORK:
            if (!scale_network_parse(optarg, &network))
                return refuse(b, "--network takes %s, or o,g,G,L in ns, not '%s'", known_networks(),
                              optarg);
            o->network = optarg;
            break;
        case KEYS:
            if (!number(optarg, 1000, 1e10, &keys))
                return refuse(b, "--keys takes 1000 to 10000000000, not '%s'", optarg);
            break;
        case LARGEST:
            if (!number(optarg, 64, 1 << 20, &largest))
                return refuse(b, "--largest takes 64 to 1048576, not '%s'", optarg);
            break;
        case PEER:
            if (!take_program(o, optarg))
                return refuse(b, "--peer takes NAME=PROGRAM, up to %d times, not '%s'",
                              BENCH_PROGRAMS, optarg);
            break;
        case ONLY:
            o->only = optarg;
            break;
        case LIST:
            o->list = true;
            break;
        case NO_PIN:
            o->pin = false;
            break;
        case CHECK:
            o->check = true;
            break;
        case TAIL:
            o->tail = true;
            break;
        case VERSION:
            if (b->rank == 0)
                puts("tern-bench " TERN_VERSION_STRING);
            return BENCH_EXIT_OK;
        case 'h':
            if (b->rank == 0)
                usage(stdout);
            return BENCH_EXIT_OK;
        case ':':
            return refuse(b, "%s needs a value", argv[optind - 1]);
        default:
            return refuse(b, "no such option: %s", argv[optind - 1]);
        }
    }
    if (o->list && optind == argc) {
        if (b->rank == 0)
            print_subjects(stdout);
        return BENCH_EXIT_OK;
    }
    if (o->list)
        o->only = "*";
    o->pairs = pairs > 0 ? (unsigned)pairs : o->quick ? 5 : 21;
    o->messages = (uint64_t)messages;
    o->workers = (unsigned)workers;
    o->largest = (uint32_t)largest;
    o->keys = (uint64_t)keys;
    o->operations = operations > 0 ? (uint64_t)operations : o->quick ? 1 : 1000000;
    if (o->quick && o->seconds <= 0)
        o->seconds = 10;
    o->runs = runs > 0 ? (unsigned)runs : o->quick ? 1 : 3;
    o->block_ns = (block_ms > 0 ? block_ms : o->quick ? 4 : 10) * 1e6;
    return -1;
}

static const subject *find(const char *name) {
    for (size_t i = 0; i < SUBJECTS; i++)
        if (strcmp(subjects[i].name, name) == 0)
            return &subjects[i];
    return NULL;
}

static int check_subjects(const bench *b, int count, char **names) {
    if (count == 0)
        return refuse(b, "which subject?");
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "all") != 0 && find(names[i]) == NULL)
            return refuse(b, "no such subject: %s", names[i]);
    for (int i = 0; i < count; i++)
        if (b->options.osu && find(names[i]) != NULL && find(names[i])->is != SWEEPS)
            return refuse(b,
                          "%s sweeps over no sizes: --osu takes transfer, call, notify, collective",
                          names[i]);
    return -1;
}

/* Only rank 0 writes. A file that cannot be opened ends all ranks. */
static int open_output(bench *b) {
    int error = 0;
    if (b->rank == 0) {
        bool to_stdout = b->options.json != NULL && strcmp(b->options.json, "-") == 0;
        b->table = b->options.list ? NULL : to_stdout ? stderr : stdout;
        if (to_stdout) {
            b->json = stdout;
        } else if (b->options.json != NULL) {
            b->json = fopen(b->options.json, "w");
            error = b->json == NULL ? errno : 0;
        }
        if (error != 0)
            fprintf(stderr, "tern-bench: %s: %s\n", b->options.json, strerror(error));
    }
    bench_mpi(MPI_Bcast(&error, 1, MPI_INT, 0, b->world), "MPI_Bcast");
    return error == 0 ? -1 : BENCH_EXIT_FAILED;
}

static bool is_idle(const bench *b, int count, char **names) {
    return count == 1 && strcmp(names[0], "notify") == 0 && b->options.only != NULL &&
           strcmp(b->options.only, "idle") == 0;
}

static bool all_alone(int count, char **names) {
    for (int i = 0; i < count; i++)
        if (find(names[i]) == NULL || find(names[i])->is != ALONE)
            return false;
    return true;
}

/* More than two ranks are for the case with idle ranks, and for calls to and from many. */
static int check_ranks(const bench *b, int count, char **names) {
    int size;
    MPI_Comm_size(b->world, &size);
    if (size == 2 || (size == 1 && all_alone(count, names)) ||
        (size > 2 && (is_idle(b, count, names) ||
                      (count == 1 && find(names[0]) != NULL && find(names[0])->many != NULL))))
        return -1;
    return refuse(b, "measures between two ranks: mpirun -n 2, not %d", size);
}

/* The cases and their ceilings use MPI from one thread. Cases about service threads make contexts
 * of their own. */
static int check_threads(const bench *b) {
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    return config.service_threads == 0
               ? -1
               : refuse(b, "TERN_SERVICE_THREADS is to be 0, not %zu", config.service_threads);
}

static void finish_subject(bench *b, const char *name) {
    if (b->options.list && b->rank == BENCH_ORIGIN) {
        printf("%s\n", name);
        bench_print_names(stdout);
    } else if (*b->left_out > 0) {
        bench_note(b, "%u cases are left out: --seconds is %g", *b->left_out, b->options.seconds);
    }
}

/* Whether --only matched no case; rank 0 prints that. Both ranks have asked for the same cases. */
static bool matches_none(const bench *b) {
    if (b->options.only == NULL || b->options.list || bench_has_matched())
        return false;
    if (b->rank == BENCH_ORIGIN) {
        fprintf(stderr, "tern-bench: --only '%s' matches no case; there are:\n", b->options.only);
        bench_print_names(stderr);
    }
    return true;
}

static int run(bench *b, int count, char **names) {
    int status = open_output(b);
    if (status >= 0)
        return status;
    b->started = bench_now();
    if (b->rank > BENCH_TARGET) {
        if (is_idle(b, count, names))
            bench_notify_sleep(b->world);
        else
            find(names[0])->many(b);
        return BENCH_EXIT_OK;
    }
    bench_pin(b);
    bench_mpi_name(b->mpi, sizeof b->mpi);
    bench_ok(tern_context_create(b->comm, NULL, &b->context), "tern_context_create");
    bench_ok(tern_worker_adopt(b->context, 0, &b->worker), "tern_worker_adopt");
    b->other.rank = (uint32_t)(b->ranks - 1 - b->rank);
    bench_ok(tern_context_transport(b->context, b->other.rank, &b->transport),
             "tern_context_transport");
    b->shared = b->transport == TERN_SHM;
    bench_describe(b);
    for (int i = 0; i < count; i++) {
        const subject *one = find(names[i]);
        for (size_t s = 0; s < SUBJECTS; s++) {
            if (one != NULL ? one != &subjects[s] : b->options.osu && subjects[s].is != SWEEPS)
                continue;
            bench_title(b, subjects[s].name);
            bench_begin_subject(b);
            subjects[s].run(b);
            bench_meet(b);
            finish_subject(b, subjects[s].name);
        }
    }
    if (b->rank == 0 && !b->options.list)
        fprintf(stderr, "tern-bench: %4.0f s  %u cases, %u targets missed\n",
                (bench_now() - b->started) / 1e9, *b->reported, *b->missed);
    bench_close_output(b);
    bench_ok(tern_worker_release(b->worker), "tern_worker_release");
    bench_ok(tern_context_destroy(b->context), "tern_context_destroy");
    bench_mpi(MPI_Bcast(b->missed, 1, MPI_UNSIGNED, 0, b->comm), "MPI_Bcast");
    if (matches_none(b))
        return BENCH_EXIT_USAGE;
    return b->options.check && *b->missed > 0 ? BENCH_EXIT_MISSED : BENCH_EXIT_OK;
}

/* Some cases have a second thread, which shares MPI with the first. They are run by name only, so
 * that no other case pays for the lock; MPI has to be told before the options are read. */
static int thread_level(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = strncmp(argv[i], "--only=", 7) == 0 ? argv[i] + 7 : argv[i];
        if (strcmp(name, "flood") == 0 || strcmp(name, "attentive") == 0 ||
            strcmp(name, "workers") == 0 || strcmp(name, "rates") == 0 ||
            strncmp(name, "idle_ring", 9) == 0 || strncmp(name, "pairs", 5) == 0 ||
            strcmp(name, "mcts") == 0 || strncmp(name, "service", 7) == 0)
            return MPI_THREAD_SERIALIZED;
    }
    const char *transport = getenv("TERN_TRANSPORT");
    /* The helper of ofi is a thread, which does not use MPI. */
    return transport != NULL && strcmp(transport, "ofi") == 0 ? MPI_THREAD_FUNNELED
                                                              : MPI_THREAD_SINGLE;
}

int main(int argc, char **argv) {
    static unsigned reported, missed, left_out;
    static bench b = {.reported = &reported, .missed = &missed, .left_out = &left_out};
    int provided;
    if (argc > 1 && strcmp(argv[1], "compare") == 0)
        return bench_compare(argc - 1, argv + 1);
    MPI_Init_thread(&argc, &argv, thread_level(argc, argv), &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &b.world);
    MPI_Comm_set_errhandler(b.world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(b.world, &b.rank);
    MPI_Comm_split(b.world, b.rank > BENCH_TARGET, b.rank, &b.comm);
    MPI_Comm_size(b.comm, &b.ranks);
    int status = parse(&b, argc, argv);
    if (status < 0)
        status = check_subjects(&b, argc - optind, argv + optind);
    if (status < 0)
        status = check_ranks(&b, argc - optind, argv + optind);
    if (status < 0)
        status = check_threads(&b);
    if (status < 0)
        status = run(&b, argc - optind, argv + optind);
    MPI_Comm_free(&b.comm);
    MPI_Comm_free(&b.world);
    MPI_Finalize();
    return status;
}
