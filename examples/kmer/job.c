#include "job.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "counter.h"
#include "dump.h"
#include "input.h"
#include "outfile.h"
#include "sketch.h"
#include "spectrum.h"
#include "summary.h"
#include "table_file.h"
#include "top.h"
#include "totals.h"

typedef struct job {
    kmer_options options; /* k and canonical are those of the table that is loaded, if any */
    kmer_table_file loaded;
    MPI_Comm comm;
    int rank, ranks;
    kmer_input *inputs;
    int input_count; /* number of open inputs */
    uint64_t bytes;  /* of all inputs */
    uint64_t capacity;
    bool watched; /* a progress bar is wanted here */
    kmer_outfile dump, histogram, spectrum;
    kmer_counter counter;
    kmer_totals totals;
    kmer_top top;
} job;

/* Without a file there is the genome that is built in. */
static bool has_inputs(const job *j) {
    return j->options.input_count > 0 || j->options.load == NULL;
}

static int open_inputs(job *j, kmer_error *error) {
    int count = j->options.input_count;
    if (count == 0 && has_inputs(j))
        count = 1;
    j->inputs = calloc((size_t)count, sizeof *j->inputs);
    if (j->inputs == NULL && count > 0)
        return kmer_fail(error, "no memory for %d inputs", count);
    while (j->input_count < count) {
        kmer_input *input = &j->inputs[j->input_count];
        const char *name = j->options.input_count > 0 ? j->options.inputs[j->input_count] : NULL;
        if (kmer_input_open(input, name, error) != 0)
            return -1;
        j->input_count++;
        j->bytes += input->size;
    }
    return 0;
}

/* Results of the first rank, which it sends to all. */
typedef struct preparation {
    int failed;
    unsigned k; /* of the table that is loaded, if any */
    int canonical;
    uint64_t distinct; /* the same */
    uint64_t room;     /* if all ranks are on this machine */
    char dump[PATH_MAX];
} preparation;

static void prepare(job *j, preparation *p, kmer_error *error) {
    kmer_options *options = &j->options;
    if (options->load != NULL && error->exit == KMER_OK &&
        kmer_table_look(&j->loaded, options->load, options->k, options->canonical, error) == 0) {
        options->k = j->loaded.k;
        options->canonical = j->loaded.canonical;
    }
    p->failed = error->exit != KMER_OK || kmer_outfile_probe(options->output, error) != 0 ||
                kmer_outfile_create(&j->dump, options->dump, error) != 0 ||
                kmer_outfile_create(&j->histogram, options->histogram, error) != 0 ||
                kmer_spectrum_probe(options->spectrum, error) != 0 ||
                kmer_outfile_create(&j->spectrum, options->spectrum, error) != 0;
    p->k = options->k;
    p->canonical = options->canonical;
    p->distinct = j->loaded.distinct;
    p->room = kmer_counter_room_here();
    memcpy(p->dump, j->dump.part, PATH_MAX);
}

static void follow(job *j, const preparation *p, kmer_error *error) {
    kmer_options *options = &j->options;
    if (p->failed)
        return;
    (void)kmer_outfile_join(&j->dump, options->dump, p->dump, error);
    options->k = p->k;
    options->canonical = p->canonical;
    j->loaded = (kmer_table_file){options->load, p->k, p->canonical, p->distinct};
}

typedef struct reading {
    const job *job;
    kmer_error *error;
} reading;

static int read_inputs(kmer_sink *sink, void *argument) {
    const reading *r = argument;
    const kmer_options *options = &r->job->options;
    for (int i = 0; i < r->job->input_count; i++)
        if (kmer_input_read(&r->job->inputs[i], options->k, options->canonical,
                            (unsigned)r->job->rank, (unsigned)r->job->ranks, sink, r->error) != 0)
            return -1;
    return 0;
}

typedef struct estimate {
    kmer_sketch sketch;
    kmer_progress progress;
    uint64_t kmers;
} estimate;

static int add_to_estimate(kmer_sink *sink) {
    estimate *e = sink->argument;
    kmer_sketch_add(&e->sketch, sink->keys, sink->count);
    e->kmers += sink->count;
    sink->count = 0;
    kmer_progress_update(&e->progress, sink->bytes, e->kmers);
    return 0;
}

/* Collective: the ranks read the inputs, each its share, which takes little beside counting.
 * Returns about how many different k-mers they have. */
static double estimate_distinct(job *j, kmer_error *error) {
    enum { BATCH = 1024 };
    uint64_t keys[BATCH];
    estimate e = {.kmers = 0};
    kmer_sink sink = {.keys = keys, .capacity = BATCH, .flush = add_to_estimate, .argument = &e};
    reading r = {j, error};
    kmer_progress_start(&e.progress, "estimating ", j->watched, j->bytes / (uint64_t)j->ranks);
    if (error->exit == KMER_OK && read_inputs(&sink, &r) == 0)
        (void)add_to_estimate(&sink);
    kmer_progress_end(&e.progress);
    MPI_Allreduce(MPI_IN_PLACE, e.sketch.registers, KMER_SKETCH_REGISTERS, MPI_UNSIGNED_CHAR,
                  MPI_MAX, j->comm);
    return kmer_sketch_estimate(&e.sketch);
}

/* Collective. A table has at least a quarter more room than its capacity says (and now has half as
 * much more), so a capacity of 0.85 of the estimate, which is 4 % too small once in a million
 * times, is enough: the table is 0.78 full. The constant is for few k-mers. */
static void choose_capacity(job *j, kmer_error *error) {
    const double possible = (double)kmer_how_many(j->options.k, j->options.canonical);
    double distinct = (double)j->loaded.distinct;
    j->capacity = j->options.capacity;
    if (j->capacity == 0 && has_inputs(j))
        distinct += estimate_distinct(j, error);
    if (j->capacity == 0)
        j->capacity = 64 + (uint64_t)(0.8 * (distinct < possible ? distinct : possible));
    if (j->capacity < j->loaded.distinct)
        j->capacity = j->loaded.distinct;
}

/* Collective. */
static void fit_memory(const job *j, kmer_error *error) {
    const uint64_t room = kmer_counter_room(j->comm);
    if (error->exit == KMER_OK && j->capacity > room)
        kmer_fail(error, "%s%" PRIu64 ": the memory holds %" PRIu64 " k-mers: use %smore machines",
                  j->options.capacity > 0 ? "--capacity "
                                          : "the input needs a --capacity of about ",
                  j->capacity, room, j->options.capacity > 0 ? "a smaller one, or " : "");
}

/* Collective: does everything that can fail before anything takes long. It has few rounds of
 * messages, since each costs a time slice if there are more ranks than processors. */
static int set_up(job *j, tern_config *config, kmer_error *error) {
    preparation p = {0};
    (void)open_inputs(j, error);
    if (j->rank == 0)
        prepare(j, &p, error);
    MPI_Bcast(&p, sizeof p, MPI_BYTE, 0, j->comm);
    if (j->rank > 0)
        follow(j, &p, error);
    if (p.failed)
        return kmer_report(j->comm, error);
    choose_capacity(j, error);
    if (j->capacity > p.room)
        fit_memory(j, error);
    (void)kmer_counter_configure(config, j->capacity, j->ranks, error);
    return kmer_report(j->comm, error);
}

static int write_histogram(job *j, kmer_error *error) {
    if (j->histogram.name == NULL) /* only the first rank writes it */
        return 0;
    FILE *out = fdopen(dup(j->histogram.fd), "w");
    if (out == NULL)
        return kmer_fail_system(error, "write", j->histogram.name);
    int result = kmer_totals_write_histogram(&j->totals, out);
    if (fclose(out) != 0 || result < 0)
        return kmer_fail_system(error, "write", j->histogram.name);
    return 0;
}

/* Collective. Writes everything before any file gets its name; the table is last. */
static int write_outputs(job *j, kmer_error *error) {
    const kmer_options *options = &j->options;
    (void)kmer_dump_write(&j->dump, &j->counter, &j->totals, options, j->comm, error);
    (void)write_histogram(j, error);
    if (j->spectrum.name != NULL && error->exit == KMER_OK) /* only the first rank draws it */
        (void)kmer_spectrum_write(&j->spectrum, &j->totals, options->k, error);
    (void)kmer_outfile_close(&j->dump, error);
    (void)kmer_outfile_close(&j->histogram, error);
    (void)kmer_outfile_close(&j->spectrum, error);
    int status = kmer_report(j->comm, error);
    if (status != KMER_OK)
        return status;
    if (kmer_table_save(options->output, j->counter.worker, j->counter.table, options->k,
                        options->canonical, error) == 0 &&
        kmer_outfile_commit(&j->dump, error) == 0 && kmer_outfile_commit(&j->histogram, error) == 0)
        (void)kmer_outfile_commit(&j->spectrum, error);
    return status;
}

static double most_resident_bytes(void) {
    struct rusage usage = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* Collective. The first rank gets the times of the slowest rank and the memory of the largest. */
static int tell(job *j, kmer_times *times, kmer_error *error) {
    times->read -= j->counter.seconds;
    times->count = j->counter.seconds;
    times->resident_bytes = most_resident_bytes();
    MPI_Reduce(j->rank == 0 ? MPI_IN_PLACE : times, times, sizeof *times / sizeof(double),
               MPI_DOUBLE, MPI_MAX, 0, j->comm);
    if (j->rank > 0 || error->exit != KMER_OK)
        return 0;
    kmer_summary summary = {
        .options = &j->options,
        .counter = &j->counter,
        .totals = &j->totals,
        .top = &j->top,
        .times = *times,
        .inputs = j->input_count + (j->options.load != NULL),
        .first_input = j->input_count > 0 ? j->inputs[0].name : j->options.load,
    };
    return kmer_summary_write(&summary, stdout, error);
}

/* The steps one after the other. Each fails on all ranks or on none. */
static int run(job *j, double started, kmer_error *error) {
    kmer_times times = {0};
    tern_config config;
    int status = set_up(j, &config, error);
    if (status != KMER_OK)
        return status;
    (void)kmer_counter_open(&j->counter, j->comm, &config,
                            j->options.via_given ? &j->options.via : NULL, j->capacity,
                            j->options.capacity == 0, &j->loaded, error);
    if ((status = kmer_report(j->comm, error)) != KMER_OK)
        return status;

    double ready = kmer_now();
    times.start = ready - started;
    kmer_progress_start(&j->counter.progress, "", j->watched, j->bytes / (uint64_t)j->ranks);
    reading r = {j, error};
    (void)kmer_counter_count(&j->counter, read_inputs, &r, error);
    if ((status = kmer_report(j->comm, error)) != KMER_OK)
        return status;
    double counted = kmer_now();
    times.read = counted - ready;

    if (kmer_totals_gather(&j->totals, j->options.min_count, &j->counter, j->comm, error) != 0 ||
        kmer_top_gather(&j->top, j->options.top, j->options.min_count, &j->counter, j->comm,
                        error) != 0)
        return kmer_report(j->comm, error);
    if ((status = write_outputs(j, error)) != KMER_OK)
        return status;
    double done = kmer_now();
    times.write = done - counted;
    times.total = done - started;

    /* The report also covers the renaming of the files. */
    (void)tell(j, &times, error);
    return kmer_report(j->comm, error);
}

int kmer_job_run(const kmer_options *options, MPI_Comm comm, double started) {
    kmer_error error = {0};
    job j = {.options = *options, .comm = comm};
    j.dump.fd = j.histogram.fd = j.spectrum.fd = -1;
    MPI_Comm_rank(comm, &j.rank);
    MPI_Comm_size(comm, &j.ranks);

    j.watched = j.rank == 0 && (options->progress || isatty(STDERR_FILENO));

    int status = run(&j, started, &error);

    kmer_counter_close(&j.counter);
    kmer_outfile_discard(&j.dump);
    kmer_outfile_discard(&j.histogram);
    kmer_outfile_discard(&j.spectrum);
    for (int i = 0; i < j.input_count; i++)
        kmer_input_close(&j.inputs[i]);
    free(j.inputs);
    free(j.top.pairs);
    return status;
}
