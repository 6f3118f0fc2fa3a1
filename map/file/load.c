#include "map/file/words.h"

#include <stdio.h>

#include "hashtable/file/reader.h"
#include "src/collective/collective.h"
#include "tern/map.h"

/* Each rank takes the same number of consecutive sections, and inserts the items that begin in
 * them. If its last item goes on in the sections of the next rank, it reads these too. */

enum { LOAD_BATCH = 64 };

typedef struct loader {
    tern_file_reader file;
    tern_map *map;
    tern_map_item batch[LOAD_BATCH]; /* items that lie in the file's section */
    size_t count;
    bool in_step;     /* an item begins, or goes on, where the next section's items begin */
    uint64_t lengths; /* of the item that goes on in the next section */
    uint64_t missing; /* words of it that are still to come; 0: no item goes on */
    char *item;       /* its other words */
    uint64_t words;   /* how many these are */
    uint64_t room;    /* for how many words item has memory */
} loader;

static tern_status load_insert(loader *l) {
    const size_t count = l->count;
    l->count = 0;
    return tern_map_insert_many(l->file.worker, l->map, l->batch, count, TERN_WRITE_ONLY, NULL);
}

/* Adds an item to the batch. from: its key, with the value behind. */
static tern_status load_add(loader *l, uint64_t lengths, const char *from) {
    const size_t key_bytes = tern_map_descriptor_key_bytes(&lengths);
    l->batch[l->count++] =
        (tern_map_item){.key = from,
                        .value = from + 8 * tern_map_words_of(key_bytes),
                        .key_bytes = key_bytes,
                        .value_bytes = tern_map_descriptor_value_bytes(&lengths)};
    return l->count == LOAD_BATCH ? load_insert(l) : TERN_OK;
}

/* Keeps the words that the section has of an item. If these are its last ones, inserts the item, so
 * that its memory is free for another. */
static tern_status load_keep(loader *l, const uint64_t *from, uint64_t words) {
    memcpy(l->item + 8 * l->words, from, 8 * words);
    l->words += words;
    l->missing -= words;
    if (l->missing > 0)
        return TERN_OK;
    tern_status status = load_add(l, l->lengths, l->item);
    return status == TERN_OK ? load_insert(l) : status;
}

static tern_status load_begin(loader *l, uint64_t lengths, const uint64_t *from, uint64_t words) {
    const uint64_t all = tern_map_item_words(lengths);
    if (all > l->room) {
        char *more = realloc(l->item, 8 * all);
        if (more == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a key and value of %llu bytes",
                             8ull * all);
        l->item = more;
        l->room = all;
    }
    l->lengths = lengths;
    l->missing = all;
    l->words = 0;
    return load_keep(l, from, words);
}

/* Whether an item can have these lengths and begin in that section. */
static bool is_sane(const tern_file_header *h, uint64_t number, uint64_t lengths) {
    return tern_map_descriptor_key_bytes(&lengths) <= TERN_MAP_KEY_MAX &&
           tern_map_descriptor_value_bytes(&lengths) <= TERN_MAP_VALUE_MAX &&
           tern_map_item_words(lengths) < (h->sections - number) * h->section_records;
}

/* Takes the items that begin in a section. at: the first word of the first; end: of the section. */
static tern_status load_items(loader *l, uint64_t number, const uint64_t *at, const uint64_t *end) {
    tern_status status = TERN_OK;
    while (at < end && status == TERN_OK) {
        const uint64_t lengths = *at++, left = (uint64_t)(end - at);
        const uint64_t words = tern_map_item_words(lengths);
        if (!is_sane(&l->file.header, number, lengths))
            return tern_file_section_damaged(l->file.path, &l->file.header, number);
        if (words > left)
            return load_begin(l, lengths, at, left);
        status = load_add(l, lengths, (const char *)at);
        at += words;
    }
    return status;
}

/* Reads a section. begins: also takes the items that begin in it; else the rest of an item. */
static tern_status load_section(loader *l, uint64_t number, bool begins) {
    uint64_t records;
    tern_status status = tern_file_reader_take(&l->file, number, &records);
    if (status != TERN_OK)
        return status;
    const uint64_t *words = (const uint64_t *)(void *)(l->file.section + TERN_FILE_SECTION_HEAD);
    if (records == 0 || (l->in_step && words[0] != l->missing))
        return tern_file_section_damaged(l->file.path, &l->file.header, number);
    const uint64_t early = words[0] < records - 1 ? words[0] : records - 1;
    if (l->missing > 0)
        status = load_keep(l, words + 1, early);
    l->in_step = l->in_step || early == words[0];
    if (begins && status == TERN_OK)
        status = load_items(l, number, words + 1 + early, words + records);
    /* Inserts before the next section overwrites this one. */
    return status == TERN_OK ? load_insert(l) : status;
}

static tern_status load_sections(loader *l) {
    const tern_context *context = l->file.worker->context;
    const uint64_t sections = l->file.header.sections;
    const uint64_t each = (sections + context->size - 1) / context->size;
    const uint64_t end = (context->rank + 1) * each;
    tern_status status = TERN_OK;
    l->in_step = context->rank == 0; /* the first section begins with an item */
    for (uint64_t number = context->rank * each;
         number < sections && (number < end || l->missing > 0) && status == TERN_OK; number++)
        status = load_section(l, number, number < end);
    if (status == TERN_OK && l->missing > 0)
        status = tern_file_section_damaged(l->file.path, &l->file.header, sections - 1);
    free(l->item);
    return status;
}

/* Collective. If l->map is not NULL, also after an error, the caller has to destroy or leave it. */
static tern_status load_map(loader *l, const tern_map_options *asked) {
    const tern_file_reader *r = &l->file;
    tern_map_options options = asked != NULL ? *asked : (tern_map_options){0};
    if (options.capacity < r->header.count)
        options.capacity = r->header.count;
    if (options.capacity == 0)
        options.capacity = 1;
    tern_status status = tern_map_create(r->worker, &options, &l->map);
    if (status != TERN_OK)
        return status;
    status = load_sections(l);
    status = tern_collective_agree(r->worker->context, r->worker, status, r->function);
    return status == TERN_OK ? tern_file_reader_count(r, l->map->table) : status;
}

static tern_map_file map_file_tell(const tern_file_header *h) {
    tern_map_file file = {.keys = h->count,
                          .key_bytes = h->key_bytes,
                          .value_bytes = h->value_bytes,
                          .note_bytes = h->note_bytes};
    memcpy(file.note, h->note, sizeof h->note);
    return file;
}

/* Collective: destroys or leaves the map after an error, and keeps the error's detail. */
static void load_undo(tern_worker *worker, tern_map *map, tern_status status) {
    char text[TERN_DETAIL_BYTES];
    if (status == TERN_ERR_PEER) {
        /* Other ranks may have returned with the map, or still insert into this rank's part. */
        tern_table_leave(map->table);
        return;
    }
    snprintf(text, sizeof text, "%s", tern_error_detail());
    tern_ignore(tern_map_destroy(worker, map));
    (void)tern_fail(status, "%s", text);
}

tern_status tern_map_load(tern_worker *worker, const char *path, const tern_map_options *options,
                          tern_map_file *file, tern_map **map) {
    static const char name[] = "tern_map_load";
    TERN_COLLECTIVE(worker, name);
    tern_status status = TERN_OK;
    if (map == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: map is NULL", name);
    status = tern_file_arguments(worker, status, path, name);
    loader l = {.map = NULL};
    if (status == TERN_OK)
        status = tern_file_reader_open(&l.file, worker, path, name, true);
    if (status != TERN_OK)
        return status;
    status = load_map(&l, options);
    tern_file_reader_close(&l.file);
    if (status == TERN_OK) {
        *map = l.map;
        if (file != NULL)
            *file = map_file_tell(&l.file.header);
    } else if (l.map != NULL) {
        load_undo(worker, l.map, status);
    }
    return status;
}

tern_status tern_map_file_read(const char *path, tern_map_file *file) {
    tern_file_header header = {0};
    tern_status status = tern_file_look("tern_map_file_read", path, true, file, &header);
    if (status == TERN_OK)
        *file = map_file_tell(&header);
    return status;
}
