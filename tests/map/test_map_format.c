// tern-test: unit

/* The format of a map's file: a load notices each byte that was changed, by the check of the header
 * or of a section, and refuses sections whose checks are right and whose lengths are wrong. */

#include "file_tools.h"
#include "map_tools.h"

#include "hashtable/file/format.h"

enum { KEYS = 4 };

static unsigned char key[MAP_KEY_ROOM], value[MAP_VALUE_ROOM];

/* No call changes its outputs. */
static void expect_refused(fixture *f, tern_status wanted, bool in_header) {
    tern_map *map = NULL;
    tern_map_file file = {.keys = 12345};
    if (in_header) {
        EXPECT(wanted, tern_map_file_read(path, &file));
        EXPECT_DETAIL(path);
    }
    EXPECT(wanted, tern_map_load(f->worker, path, NULL, &file, &map));
    EXPECT_DETAIL(path);
    CU_ASSERT_PTR_NULL(map);
    CU_ASSERT_EQUAL(file.keys, 12345);
}

static void save_some(fixture *f) {
    tern_map *map = map_make(f, (tern_map_options){.capacity = KEYS});
    for (uint64_t k = 0; k < KEYS; k++) {
        const size_t key_bytes = make_map_key(key, k), bytes = make_map_value(value, k, 1);
        EXPECT_OK(tern_map_insert(f->worker, map, key, key_bytes, value, bytes, 0, NULL));
    }
    EXPECT_OK(tern_map_save(f->worker, map, path, "note", 4));
    EXPECT_OK(tern_map_destroy(f->worker, map));
}

/* Bytes changed, lengths that are too short, a byte too many. */
static void refuse_changes(fixture *f) {
    static char bytes[8192];
    save_some(f);
    const size_t count = file_slurp(path, bytes, sizeof bytes);
    CU_ASSERT(count > sizeof(tern_file_header) && count < sizeof bytes);
    const size_t before = heap_in_use(f), step = tern_test_full() ? 1 : 23;
    uint64_t random = tern_test_seed() + (uint64_t)tern_test_size();
    for (size_t i = below(&random, step); i < count; i += step) {
        const char was = bytes[i];
        bytes[i] = (char)(was ^ (char)(1 + below(&random, 255)));
        file_spill(path, bytes, count);
        expect_refused(f, i >= 12 && i < 16 ? TERN_ERR_UNSUPPORTED : TERN_ERR_ARGUMENT,
                       i < sizeof(tern_file_header));
        bytes[i] = was;
    }
    for (size_t i = below(&random, step); i < count; i += step) {
        file_spill(path, bytes, i);
        expect_refused(f, TERN_ERR_ARGUMENT, true);
    }
    bytes[count] = 0;
    file_spill(path, bytes, count + 1);
    expect_refused(f, TERN_ERR_ARGUMENT, true);
    file_spill(path, bytes, count);
    CU_ASSERT_EQUAL(heap_in_use(f), before);
}

/* A file of these words in sections of 4, whose checks are right. */
static void spill_words(const uint64_t *words, uint64_t sections, uint64_t last, uint64_t keys) {
    enum { WORDS = 4, SECTION = TERN_FILE_SECTION_HEAD + 8 * WORDS };
    char bytes[sizeof(tern_file_header) + 3 * SECTION];
    tern_file_header h = {
        .kind = TERN_FILE_MAP, .count = keys, .section_records = WORDS, .sections = sections};
    tern_file_header_seal(&h);
    memcpy(bytes, &h, sizeof h);
    for (uint64_t b = 0; b < sections; b++) {
        char *section = bytes + tern_file_offset(&h, b);
        memcpy(section + TERN_FILE_SECTION_HEAD, words + b * WORDS, 8 * WORDS);
        tern_file_section_seal(&h, b, section, b + 1 < sections ? WORDS : last);
    }
    file_spill(path, bytes, tern_file_offset(&h, sections));
}

#define LENGTHS(key_bytes, value_bytes) ((uint64_t)(value_bytes) << 32 | (key_bytes))

/* What the sections say beside their checks. */
static void refuse_words(fixture *f) {
    static const struct {
        uint64_t words[12], sections, last, keys;
    } files[] = {
        {{0, LENGTHS(8, 8), 1, 2}, 1, 0, 1},                    /* no word */
        {{1, LENGTHS(8, 8), 1, 2}, 1, 4, 1},                    /* begins in its middle */
        {{0, LENGTHS(8, 8), 1, 2}, 1, 3, 1},                    /* ends in its middle */
        {{0, LENGTHS(8, 24), 1, 2, 1, 3}, 2, 2, 1},             /* goes on too short */
        {{0, LENGTHS(8, 24), 1, 2, 3, 3, 4, 5}, 2, 4, 1},       /* goes on too long */
        {{0, LENGTHS(8, 8), 1, 2, 1, 3}, 2, 2, 1},              /* nothing goes on */
        {{0, LENGTHS(TERN_MAP_KEY_MAX + 1, 0), 1, 2}, 1, 4, 1}, /* too long */
        {{0, LENGTHS(0, TERN_MAP_VALUE_MAX), 1, 2}, 1, 4, 1},   /* than the file */
        {{0, LENGTHS(8, 0), 1, LENGTHS(0, 0), 0, LENGTHS(8, 0), 1}, 2, 3, 3}, /* a key twice */
        {{0, LENGTHS(8, 0), 1}, 1, 3, 2},                                     /* a key too few */
    };
    tern_map *map = NULL;
    const uint64_t whole[12] = {0, LENGTHS(8, 32), 1, 2, 3, 3, 4, 5, 0, LENGTHS(0, 0)};
    spill_words(whole, 3, 2, 2);
    if (EXPECT_OK(tern_map_load(f->worker, path, NULL, NULL, &map))) {
        size_t bytes = 0;
        EXPECT_OK(tern_map_find(f->worker, map, &whole[2], 8, 0, value, sizeof value, &bytes));
        CU_ASSERT(bytes == 32 && memcmp(value, &whole[3], 8) == 0);
        CU_ASSERT_EQUAL(memcmp(value + 8, &whole[5], 24), 0);
        EXPECT_OK(tern_map_destroy(f->worker, map));
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        spill_words(files[i].words, files[i].sections, files[i].last, files[i].keys);
        expect_refused(f, TERN_ERR_ARGUMENT, false);
        EXPECT_DETAIL("is damaged");
    }
}

static void damage_is_refused(void) {
    fixture f;
    make_folder();
    if (fixture_open(&f, NULL)) {
        refuse_changes(&f);
        refuse_words(&f);
        fixture_close(&f);
    }
    remove_folder();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"damage_is_refused", damage_is_refused},
    };
    return tern_test_main(argc, argv, "map_format", tests, sizeof tests / sizeof *tests);
}
