#include "job.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter.h"
#include "dump.h"
#include "input.h"
#include "outfile.h"
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
    bool ample; /* the capacity is certainly enough */
    kmer_outfile dump, histogram, spectrum;
    kmer_counter counter;
    kmer_totals totals;
    kmer_top top;
} job;

static int open_inputs(job *j, kmer_error *error) {
    int count = j->options.input_count;
    if (count == 0 && j->options.load == NULL)
        count = 1; /* the genome that is built in */
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

/* There are no more different k-mers than in the file that is loaded and bases in the inputs, nor
 * than possible k-mers. */
static int choose_capacity(job *j, kmer_error *error) {
    uint64_t sum = j->loaded.distinct, possible = kmer_how_many(j->options.k, j->options.canonical);
    j->ample = j->options.capacity == 0;
    for (int i = 0; i < j->input_count && j->options.capacity == 0; i++) {
        uint64_t bases;
        j->ample = j->ample && !j->inputs[i].gzip;
        if (kmer_input_bases(&j->inputs[i], &bases, error) != 0)
            return -1;
        sum += bases;
    }
    j->capacity = sum < possible ? sum : possible;
    if (j->options.capacity > 0)
        j->capacity = j->options.capacity;
    if (j->capacity < j->loaded.distinct)
        j->capacity = j->loaded.distinct;
    if (j->capacity == 0)
        j->capacity = 1;
    return 0;
}

/* Results of the first rank, which it sends to all. */
typedef struct preparation {
    uint64_t capacity;
    int ample;
    int memory_is_short; /* if all ranks are on one machine */
    unsigned k;          /* of the table that is loaded, if any */
    int canonical;
    char dump[PATH_MAX];
} preparation;

static void prepare(job *j, preparation *p, kmer_error *error) {
    kmer_options *options = &j->options;
    if (options->load != NULL && error->exit == KMER_OK &&
        kmer_table_look(&j->loaded, options->load, options->k, options->canonical, error) == 0) {
        options->k = j->loaded.k;
        options->canonical = j->loaded.canonical;
    }
    if (error->exit != KMER_OK || choose_capacity(j, error) != 0 ||
        kmer_outfile_probe(options->output, error) != 0 ||
        kmer_outfile_create(&j->dump, options->dump, error) != 0 ||
        kmer_outfile_create(&j->histogram, options->histogram, error) != 0 ||
        kmer_spectrum_probe(options->spectrum, error) != 0 ||
        kmer_outfile_create(&j->spectrum, options->spectrum, error) != 0)
        return;
    p->capacity = j->capacity;
    p->ample = j->ample;
    p->memory_is_short = j->capacity > kmer_counter_room_here();
    p->k = options->k;
    p->canonical = options->canonical;
    memcpy(p->dump, j->dump.part, PATH_MAX);
}

static void follow(job *j, const preparation *p, kmer_error *error) {
    kmer_options *options = &j->options;
    if (p->capacity == 0)
        return; /* the first rank has failed */
    (void)kmer_outfile_join(&j->dump, options->dump, p->dump, error);
    options->k = p->k;
    options->canonical = p->canonical;
    j->loaded = (kmer_table_file){options->load, p->k, p->canonical, 0};
    j->capacity = p->capacity;
    j->ample = p->ample;
}

/* Collective. */
static void fit_memory(job *j, kmer_error *error) {
    uint64_t room = kmer_counter_room(j->comm);
    if (j->options.capacity > room)
        kmer_fail(error,
                  "--capacity %" PRIu64 ": the memory holds %" PRIu64
                  " k-mers: use a smaller one, or more machines",
                  j->options.capacity, room);
    else if (j->capacity > room) {
        j->capacity = room;
        j->ample = false;
    }
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
    if (p.memory_is_short)
        fit_memory(j, error);
    (void)kmer_counter_configure(config, j->capacity, j->ranks, error);
    return kmer_report(j->comm, error);
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

/* Collective. The first rank gets the times of the slowest rank. */
static int tell(job *j, kmer_times *times, kmer_error *error) {
    times->read -= j->counter.seconds;
    times->count = j->counter.seconds;
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
                            j->options.via_given ? &j->options.via : NULL, j->capacity, j->ample,
                            &j->loaded, error);
    if ((status = kmer_report(j->comm, error)) != KMER_OK)
        return status;

    double ready = kmer_now();
    times.start = ready - started;
    bool watched = j->rank == 0 && (j->options.progress || isatty(STDERR_FILENO));
    kmer_progress_start(&j->counter.progress, watched, j->bytes / (uint64_t)j->ranks);
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
