#include "tern/hashtable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "hashtable/file/io.h"
#include "hashtable/batch/run.h"
#include "src/collective/collective.h"

/* Ranks take blocks in turn and insert what lies in them, a block in one batch. */

typedef struct reader {
    tern_worker *worker;
    const char *path;
    int file;
    tern_file_header header;
    tern_hashtable *table;
    char *block;
} reader;

static const char loading[] = "cannot load";

/* What the file says, as options; what the caller said must not be otherwise. */
static tern_status load_combine(const reader *r, const tern_hashtable_options *asked,
                                tern_hashtable_options *options) {
    const tern_file_header *h = &r->header;
    *options = (tern_hashtable_options){.key_bytes = h->key_bytes,
                                        .value_bytes = h->value_bytes,
                                        .counter = (int)h->counter,
                                        .capacity = h->count > 0 ? h->count : 1};
    if (asked == NULL)
        return TERN_OK;
    if ((asked->key_bytes != 0 && asked->key_bytes != h->key_bytes) ||
        (asked->value_bytes != 0 && asked->value_bytes != h->value_bytes) ||
        (asked->counter != 0 && asked->counter != (int)h->counter))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "'%s' holds keys of %llu bytes with %s of %llu; pass these, or zeros",
                         r->path, (unsigned long long)h->key_bytes,
                         h->counter ? "counters" : "values",
                         (unsigned long long)(h->counter ? 8 : h->value_bytes));
    options->call_only = asked->call_only;
    options->grow = asked->grow;
    options->key_hash = asked->key_hash;
    options->key_equal = asked->key_equal;
    options->key_owner = asked->key_owner;
    options->key_argument = asked->key_argument;
    if (asked->capacity > options->capacity)
        options->capacity = asked->capacity;
    return TERN_OK;
}

/* A block's records are the items of a batch. */
static tern_status insert_block(reader *r, uint64_t records) {
    const tern_file_header *h = &r->header;
    const size_t step = tern_file_record(h);
    const char *keys = r->block + TERN_FILE_BLOCK_HEAD, *values = keys + h->key_bytes;
    for (uint64_t i = 0; i < records && h->counter; i++) {
        uint64_t count;
        memcpy(&count, values + i * step, sizeof count);
        if (tern_counter_number(tern_counter_word(count)) != count)
            return tern_fail(TERN_ERR_ARGUMENT, "'%s' is damaged: no counter is %lld", r->path,
                             (long long)count);
    }
    const tern_items items = {
        .keys = keys, .values = values, .key_step = step, .value_step = step, .count = records};
    size_t stored;
    return tern_items_insert(r->worker, r->table, &items, TERN_WRITE_ONLY, &stored);
}

static tern_status read_blocks(reader *r) {
    const tern_context *context = r->worker->context;
    const tern_file_header *h = &r->header;
    size_t bytes = tern_file_block(h), got;
    tern_status status = TERN_OK;
    for (uint64_t number = context->rank; number < h->blocks && status == TERN_OK;
         number += context->size) {
        uint64_t records;
        status = tern_file_read(r->file, tern_file_place(h, number), r->block, bytes, loading,
                                r->path, &got);
        if (status == TERN_OK && got != bytes)
            status = tern_fail(TERN_ERR_ARGUMENT, "'%s' was cut while it was loaded", r->path);
        if (status == TERN_OK)
            status = tern_file_block_check(r->path, h, number, r->block, &records);
        if (status == TERN_OK)
            status = insert_block(r, records);
    }
    return status;
}

/* Collective: the file's keys are all there, each once. */
static tern_status check_count(reader *r) {
    uint64_t count = 0;
    tern_status status = tern_barrier(r->worker);
    if (status == TERN_OK)
        status = tern_hashtable_local_size(r->worker, r->table, &count);
    status = tern_collective_agree(r->worker->context, r->worker, status, "tern_hashtable_load");
    if (status == TERN_OK)
        status = tern_collective_sum(r->worker->context, r->worker, &count, 1);
    if (status == TERN_OK && count != r->header.count)
        status = tern_fail(TERN_ERR_ARGUMENT, "'%s' is damaged: %llu keys in place of %llu",
                           r->path, (unsigned long long)count, (unsigned long long)r->header.count);
    return status;
}

/* Collective: opens path, which must be a regular file. */
static tern_status load_open_file(reader *r) {
    char *target = NULL;
    tern_status status = tern_file_target(r->path, loading, &target);
    free(target);
    status = tern_collective_agree(r->worker->context, r->worker, status, "tern_hashtable_load");
    if (status != TERN_OK)
        return status;
    return tern_file_open(r->worker, r->path, O_RDONLY, loading, &r->file);
}

/* Collective. The table is the caller's to destroy or to leave, if there is one. */
static tern_status load_table(reader *r, const tern_hashtable_options *asked) {
    tern_context *context = r->worker->context;
    tern_hashtable_options options;
    tern_status status = tern_file_read_header(r->file, r->path, loading, &r->header);
    if (status == TERN_OK)
        status = load_combine(r, asked, &options);
    if (status == TERN_OK) {
        r->block = malloc(tern_file_block(&r->header));
        if (r->block == NULL)
            status = tern_fail(TERN_ERR_MEMORY, "no memory for a block of a file");
    }
    status = tern_collective_agree(context, r->worker, status, "tern_hashtable_load");
    if (status == TERN_OK)
        status = tern_hashtable_create(r->worker, &options, &r->table);
    if (status != TERN_OK)
        return status;
    status = read_blocks(r);
    status = tern_collective_agree(context, r->worker, status, "tern_hashtable_load");
    return status == TERN_OK ? check_count(r) : status;
}

tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                const tern_hashtable_options *options, tern_hashtable_file *file,
                                tern_hashtable **table) {
    TERN_COLLECTIVE(worker, "tern_hashtable_load");
    tern_status status = TERN_OK;
    if (table == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_hashtable_load: table is NULL");
    status = tern_file_arguments(worker, status, path, "tern_hashtable_load");
    if (status != TERN_OK)
        return status;
    reader r = {.worker = worker, .path = path, .file = -1};
    status = load_open_file(&r);
    if (status != TERN_OK)
        return status;
    status = load_table(&r, options);
    close(r.file);
    free(r.block);
    if (status == TERN_OK) {
        *table = r.table;
        if (file != NULL)
            *file = tern_file_header_tell(&r.header);
    } else if (r.table != NULL && status == TERN_ERR_PEER) {
        /* Others may have returned with the table, or still insert into this rank's part. */
        tern_table_leave(r.table);
    } else if (r.table != NULL) {
        tern_ignore(tern_hashtable_destroy(worker, r.table));
    }
    return status;
}
