#include "tern/hashtable.h"

#include "hashtable/file/reader.h"
#include "hashtable/batch/run.h"
#include "src/collective/collective.h"

/* Ranks take sections in turn. Each rank inserts the records of a section as one batch. */

/* [out] options: of the file, and the caller's others. Refuses what contradicts the file. */
static tern_status load_combine(const tern_file_reader *r, const tern_hashtable_options *asked,
                                tern_hashtable_options *options) {
    const tern_file_header *h = &r->header;
    const int counter = h->kind == TERN_FILE_COUNTERS;
    *options = (tern_hashtable_options){.key_bytes = h->key_bytes,
                                        .value_bytes = h->value_bytes,
                                        .counter = counter,
                                        .capacity = h->count > 0 ? h->count : 1};
    if (asked == NULL)
        return TERN_OK;
    if ((asked->key_bytes != 0 && asked->key_bytes != h->key_bytes) ||
        (asked->value_bytes != 0 && asked->value_bytes != h->value_bytes) ||
        (asked->counter != 0 && asked->counter != counter))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "'%s' holds keys of %llu bytes with %s of %llu; pass these, or zeros",
                         r->path, (unsigned long long)h->key_bytes, counter ? "counters" : "values",
                         (unsigned long long)(counter ? 8 : h->value_bytes));
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

/* Inserts the records of the section that was read last, as one batch. */
static tern_status insert_section(const tern_file_reader *r, tern_hashtable *table,
                                  uint64_t records) {
    const tern_file_header *h = &r->header;
    const size_t step = tern_file_record(h);
    const char *keys = r->section + TERN_FILE_SECTION_HEAD, *values = keys + h->key_bytes;
    for (uint64_t i = 0; i < records && h->kind == TERN_FILE_COUNTERS; i++) {
        uint64_t count;
        memcpy(&count, values + i * step, sizeof count);
        if (tern_counter_number(tern_counter_word(count)) != count)
            return tern_fail(TERN_ERR_ARGUMENT,
                             "'%s' is damaged: it has a counter of %lld, which is out of range",
                             r->path, (long long)count);
    }
    const tern_items items = {.kind = h->kind == TERN_FILE_COUNTERS ? TERN_OP_ADD : TERN_OP_INSERT,
                              .keys = keys,
                              .values = values,
                              .key_step = step,
                              .value_step = step,
                              .count = records,
                              .owner = TERN_NOBODY};
    tern_outcomes out = {0};
    return tern_items_do(r->worker, table, &items, TERN_WRITE_ONLY, "tern_hashtable_load", &out,
                         NULL);
}

static tern_status insert_sections(tern_file_reader *r, tern_hashtable *table) {
    const tern_context *context = r->worker->context;
    tern_status status = TERN_OK;
    for (uint64_t number = context->rank; number < r->header.sections && status == TERN_OK;
         number += context->size) {
        uint64_t records;
        status = tern_file_reader_take(r, number, &records);
        if (status == TERN_OK)
            status = insert_section(r, table, records);
    }
    return status;
}

/* Collective. [out] table: if it is set, even after an error, the caller destroys or leaves it. */
static tern_status load_table(tern_file_reader *r, const tern_hashtable_options *asked,
                              tern_hashtable **table) {
    tern_context *context = r->worker->context;
    tern_hashtable_options options;
    tern_status status = load_combine(r, asked, &options);
    status = tern_collective_agree(context, r->worker, status, r->function);
    if (status == TERN_OK)
        status = tern_hashtable_create(r->worker, &options, table);
    if (status != TERN_OK)
        return status;
    status = insert_sections(r, *table);
    status = tern_collective_agree(context, r->worker, status, r->function);
    return status == TERN_OK ? tern_file_reader_count(r, *table) : status;
}

tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                const tern_hashtable_options *options, tern_hashtable_file *file,
                                tern_hashtable **table) {
    static const char name[] = "tern_hashtable_load";
    TERN_COLLECTIVE(worker, name);
    tern_status status = TERN_OK;
    if (table == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: table is NULL", name);
    status = tern_file_arguments(worker, status, path, name);
    tern_file_reader r;
    if (status == TERN_OK)
        status = tern_file_reader_open(&r, worker, path, name, false);
    if (status != TERN_OK)
        return status;
    tern_hashtable *loaded = NULL;
    status = load_table(&r, options, &loaded);
    tern_file_reader_close(&r);
    if (status == TERN_OK) {
        *table = loaded;
        if (file != NULL)
            *file = tern_file_header_tell(&r.header);
    } else if (loaded != NULL && status == TERN_ERR_PEER) {
        /* Other ranks may have returned with the table, or still insert into this rank's part. */
        tern_table_leave(loaded);
    } else if (loaded != NULL) {
        tern_ignore(tern_hashtable_destroy(worker, loaded));
    }
    return status;
}
