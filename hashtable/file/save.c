#include "tern/hashtable.h"

#include "hashtable/file/writer.h"
#include "src/collective/collective.h"

static tern_status table_measure(tern_worker *worker, void *object, tern_file_header *h,
                                 tern_file_part *part) {
    tern_hashtable *table = object;
    h->kind = tern_shape_counts(table->shape) ? TERN_FILE_COUNTERS : TERN_FILE_VALUES;
    h->key_bytes = table->key_bytes;
    h->value_bytes = table->value_bytes;
    tern_status status = tern_hashtable_local_size(worker, table, &part->keys);
    part->records = part->keys;
    return status;
}

static int table_write_record(const void *key, const void *value, void *argument) {
    tern_file_writer *w = argument;
    char *to = tern_file_writer_room(w);
    memcpy(to, key, w->header.key_bytes);
    memcpy(to + w->header.key_bytes, value, tern_file_record(&w->header) - w->header.key_bytes);
    tern_file_writer_add(w, 1);
    return w->status != TERN_OK;
}

static tern_status table_write(tern_worker *worker, void *object, tern_file_writer *w) {
    return tern_hashtable_for_each(worker, object, table_write_record, w);
}

tern_status tern_hashtable_save(tern_worker *worker, tern_hashtable *table, const char *path,
                                const void *note, size_t note_bytes) {
    static const char name[] = "tern_hashtable_save";
    TERN_COLLECTIVE(worker, name);
    const tern_file_content content = {.function = name,
                                       .thing = "table",
                                       .object = table,
                                       .measure = table_measure,
                                       .write = table_write};
    return tern_file_save(worker, &content, path, note, note_bytes);
}
