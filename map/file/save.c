#include "map/file/words.h"

#include "hashtable/file/writer.h"
#include "src/collective/collective.h"

typedef struct measure {
    tern_file_part part;
    uint64_t words; /* of all items */
} measure;

static int measure_entry(const void *fingerprint, const void *value, void *argument) {
    measure *m = argument;
    const uint64_t *d = value;
    (void)fingerprint;
    m->part.keys++;
    m->part.key_bytes += tern_map_descriptor_key_bytes(d);
    m->part.value_bytes += tern_map_descriptor_value_bytes(d);
    m->words += 1 + tern_map_item_words(d[0]);
    return 0;
}

/* Measures the part. Descriptors have the lengths, so no key and no value is fetched. Every section
 * has one word that belongs to no item. */
static tern_status map_measure(tern_worker *worker, void *object, tern_file_header *h,
                               tern_file_part *part) {
    const tern_map *map = object;
    measure m = {.words = 0};
    h->kind = TERN_FILE_MAP;
    tern_status status = tern_hashtable_for_each(worker, map->table, measure_entry, &m);
    const uint64_t fit = tern_file_section_records(tern_file_record(h), UINT64_MAX) - 1;
    m.part.records = m.words + (m.words + fit - 1) / fit;
    *part = m.part;
    return status;
}

/* Writes bytes, padded to words. more: words of an item begun before that come from here on. */
static void put_words(tern_file_writer *w, uint64_t more, const char *from, size_t bytes) {
    while (bytes > 0 && w->status == TERN_OK) {
        if (w->records == 0) {
            memcpy(tern_file_writer_room(w), &more, sizeof more);
            tern_file_writer_add(w, 1);
        }
        const uint64_t all = tern_map_words_of(bytes);
        const uint64_t room = w->header.section_records - w->records;
        const uint64_t words = all < room ? all : room;
        const size_t some = bytes < 8 * words ? bytes : 8 * words;
        char *to = tern_file_writer_room(w);
        memcpy(to, from, some);
        memset(to + some, 0, 8 * words - some);
        tern_file_writer_add(w, words);
        more -= words;
        from += some;
        bytes -= some;
    }
}

static int put_item(const tern_map_item *item, void *argument) {
    tern_file_writer *w = argument;
    const uint64_t lengths = (uint64_t)item->value_bytes << 32 | item->key_bytes;
    put_words(w, 0, (const char *)&lengths, sizeof lengths);
    put_words(w, tern_map_item_words(lengths), item->key, item->key_bytes);
    put_words(w, tern_map_words_of(item->value_bytes), item->value, item->value_bytes);
    return w->status != TERN_OK;
}

static tern_status map_write(tern_worker *worker, void *object, tern_file_writer *w) {
    return tern_map_for_each(worker, object, put_item, w);
}

tern_status tern_map_save(tern_worker *worker, tern_map *map, const char *path, const void *note,
                          size_t note_bytes) {
    static const char name[] = "tern_map_save";
    TERN_COLLECTIVE(worker, name);
    const tern_file_content content = {.function = name,
                                       .thing = "map",
                                       .object = map,
                                       .measure = map_measure,
                                       .write = map_write};
    return tern_file_save(worker, &content, path, note, note_bytes);
}
