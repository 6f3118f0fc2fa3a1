#include "counter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "job.h"

/* The table has half as many buckets again as its capacity says, of 32 bytes. */
enum { KMER_BYTES = 48 };

/* Set by a rank that cannot go on, so that the other ranks stop, too. */
static bool stop_wanted;

static tern_status kmer_stop(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    stop_wanted = true;
    return TERN_OK;
}
TERN_FUNCTION(kmer_stop)

static tern_status kmer_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(kmer_answer)

static int fail_counting(kmer_counter *counter, tern_status status) {
    kmer_progress_end(&counter->progress);
    return kmer_fail_tern(counter->error, status, "cannot count");
}

/* Each rank asks the next one once a second for a sign of life. Counting in shared memory waits for
 * nobody, and would not notice before its end that a rank has died. */
static int ask_for_life(kmer_counter *counter, double now) {
    uint32_t ranks = tern_context_size(counter->context);
    uint32_t next = (tern_context_rank(counter->context) + 1) % ranks;
    if (ranks == 1 || now - counter->asked < 1)
        return 0;
    tern_status status = tern_call_return(counter->worker, (tern_worker_id){.rank = next},
                                          &kmer_answer_function, NULL, 0, NULL, 0, NULL);
    counter->asked = kmer_now();
    return status == TERN_OK ? 0 : fail_counting(counter, status);
}

static void stop_others(kmer_counter *counter) {
    uint32_t self = tern_context_rank(counter->context);
    for (uint32_t rank = 0; rank < tern_context_size(counter->context); rank++)
        if (rank != self)
            tern_ignore(tern_call(counter->worker, (tern_worker_id){.rank = rank},
                                  &kmer_stop_function, NULL, 0));
}

uint64_t kmer_counter_room_here(void) {
    struct sysinfo info;
    if (sysinfo(&info) != 0)
        return UINT64_MAX;
    return (uint64_t)info.totalram * info.mem_unit / 4 * 3 / KMER_BYTES;
}

uint64_t kmer_counter_room(MPI_Comm comm) {
    MPI_Comm node;
    int neighbours, ranks;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &neighbours);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_free(&node);
    uint64_t room = kmer_counter_room_here() / (uint64_t)neighbours;
    MPI_Allreduce(MPI_IN_PLACE, &room, 1, MPI_UINT64_T, MPI_MIN, comm);
    return room < UINT64_MAX / (uint64_t)ranks ? room * (uint64_t)ranks : UINT64_MAX;
}

int kmer_counter_configure(tern_config *config, uint64_t capacity, int ranks, kmer_error *error) {
    tern_status status = tern_config_init(config);
    if (status != TERN_OK)
        return kmer_fail_tern(error, status, "cannot start tern");
    if (getenv("TERN_SEGMENT_SIZE") == NULL) {
        /* Hashes do not distribute few k-mers evenly over the ranks; the constant leaves room for
         * that. */
        const uint64_t constant = 64 << 20;
        config->segment_size = (size_t)(capacity / (uint64_t)ranks * (KMER_BYTES + 4) + constant);
    }
    return 0;
}

static int open_context(kmer_counter *counter, MPI_Comm comm, const tern_config *config,
                        kmer_error *error) {
    tern_status status = tern_context_create(comm, config, &counter->context);
    if (status == TERN_OK)
        status = tern_worker_adopt(counter->context, 0, &counter->worker);
    return status == TERN_OK ? 0 : kmer_fail_tern(error, status, "cannot start tern");
}

/* All ranks get the same answer. */
static bool all_share_memory(const kmer_counter *counter) {
    bool all = true;
    for (uint32_t rank = 0; rank < tern_context_size(counter->context); rank++) {
        tern_transport transport;
        if (tern_context_transport(counter->context, rank, &transport) != TERN_OK ||
            transport != TERN_SHM)
            all = false;
    }
    return all;
}

static int add_count(const void *key, const void *value, void *argument) {
    uint64_t count, *sum = argument;
    (void)key;
    memcpy(&count, value, sizeof count);
    *sum += count;
    return 0;
}

static int load_table(kmer_counter *counter, const kmer_table_file *file,
                      const tern_hashtable_options *options, kmer_error *error) {
    if (kmer_table_load(file, counter->worker, options, &counter->table, error) != 0)
        return -1;
    tern_status status =
        tern_hashtable_for_each(counter->worker, counter->table, add_count, &counter->loaded);
    return status == TERN_OK ? 0 : kmer_fail_tern(error, status, "cannot read the table");
}

int kmer_counter_open(kmer_counter *counter, MPI_Comm comm, const tern_config *config,
                      const tern_flags *via, uint64_t capacity, bool ample,
                      const kmer_table_file *file, kmer_error *error) {
    *counter = (kmer_counter){.capacity = capacity};
    if (open_context(counter, comm, config, error) != 0)
        return -1;
    bool shared = all_share_memory(counter);
    counter->ample = ample && shared;
    if (via != NULL)
        counter->via = *via;
    else
        counter->via = shared ? TERN_BY_RMA : TERN_BY_CALL;
    tern_hashtable_options options = {
        .key_bytes = sizeof(uint64_t),
        .counter = 1,
        .capacity = capacity,
        .call_only = counter->via == TERN_BY_CALL,
    };
    if (file->name != NULL)
        return load_table(counter, file, &options, error);
    tern_status status = tern_hashtable_create(counter->worker, &options, &counter->table);
    return status == TERN_OK ? 0 : kmer_fail_tern(error, status, "cannot make the table");
}

void kmer_counter_close(kmer_counter *counter) {
    if (counter->table != NULL)
        tern_ignore(tern_hashtable_destroy(counter->worker, counter->table));
    if (counter->worker != NULL)
        tern_ignore(tern_worker_release(counter->worker));
    if (counter->context != NULL)
        tern_ignore(tern_context_destroy(counter->context));
    *counter = (kmer_counter){0};
}

static int add_batch(kmer_sink *sink) {
    kmer_counter *counter = sink->argument;
    double start = kmer_now();
    size_t added = 0;
    tern_status status =
        tern_hashtable_add_many(counter->worker, counter->table, sink->keys, sink->count, 1,
                                TERN_WRITE_ONLY | counter->via, &added);
    double now = kmer_now();
    counter->counted += sink->count;
    counter->seconds += now - start;
    sink->count = 0;
    if (status == TERN_ERR_FULL)
        return kmer_fail(counter->error,
                         "the table is full: there are more different k-mers than the %" PRIu64
                         " that it was made for; use a larger --capacity",
                         counter->capacity);
    if (status != TERN_OK)
        return fail_counting(counter, status);
    (void)tern_progress(counter->worker);
    if (ask_for_life(counter, now) != 0)
        return -1;
    kmer_progress_update(&counter->progress, sink->bytes, counter->counted);
    return stop_wanted ? -1 : 0;
}

int kmer_counter_count(kmer_counter *counter, int (*read)(kmer_sink *sink, void *argument),
                       void *argument, kmer_error *error) {
    /* By call: a batch fills a message to every owner and keeps it busy while other messages come;
     * smaller batches halve the speed. In shared memory with certainly enough capacity: a batch so
     * large that tern can go through the table in order, which is twice as fast. If the table may
     * fill up, a batch only keeps tern's pipeline full, because finding out about a full table
     * takes time for every k-mer of the batch. */
    enum { RMA_BATCH = 1024, AMPLE_BATCH = 1 << 18, CALL_BATCH = 8192 };
    const size_t batch = counter->via == TERN_BY_CALL ? CALL_BATCH
                         : counter->ample             ? AMPLE_BATCH
                                                      : RMA_BATCH;

    counter->error = error;
    counter->asked = kmer_now();
    kmer_sink sink = {.capacity = batch, .flush = add_batch, .argument = counter};
    sink.keys = malloc(batch * sizeof *sink.keys);
    int result = sink.keys == NULL ? kmer_fail(error, "no memory for a batch of k-mers")
                                   : read(&sink, argument);
    if (result == 0)
        result = add_batch(&sink);
    kmer_progress_end(&counter->progress);
    free(sink.keys);

    if (error->exit != KMER_OK)
        stop_others(counter);
    tern_status status = tern_barrier(counter->worker);
    if (status != TERN_OK)
        return kmer_fail_tern(error, status, "cannot finish counting");
    return stop_wanted ? -1 : result;
}

void kmer_counter_transports(const kmer_counter *counter, char *text, size_t room) {
    bool used[3] = {false};
    uint32_t self = tern_context_rank(counter->context),
             ranks = tern_context_size(counter->context);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        tern_transport transport;
        if ((rank != self || ranks == 1) &&
            tern_context_transport(counter->context, rank, &transport) == TERN_OK)
            used[transport] = true;
    }
    *text = 0;
    for (unsigned t = 0; t < 3; t++)
        if (used[t])
            snprintf(text + strlen(text), room - strlen(text), "%s%s", *text != 0 ? "+" : "",
                     tern_transport_name((tern_transport)t));
}
