/* Files of kmer's table: whichever bit of one is wrong, it is refused with a text that names it. */

// tern-test: unit

#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "examples/kmer/table_file.h"
#include "hashtable/file/format.h"

enum { K = 21, KMERS = 5, ROOM = 1024 };

static const tern_hashtable_options counters = {
    .key_bytes = sizeof(uint64_t), .counter = 1, .capacity = KMERS};

static char path[64];
static fixture f;

static void open_all(void) {
    snprintf(path, sizeof path, "/tmp/tern-test-XXXXXX");
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CU_ASSERT_FATAL(fixture_open(&f, NULL));
    tern_log_set_level(TERN_LOG_NONE);
}

static void close_all(void) {
    CU_ASSERT_EQUAL(unlink(path), 0);
    fixture_close(&f);
}

/* A table of KMERS k-mers, the i-th of which was counted i times. */
static tern_hashtable *make(void) {
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f.worker, &counters, &table));
    for (uint64_t kmer = 1; kmer <= KMERS; kmer++)
        EXPECT_OK(tern_hashtable_add(f.worker, table, &kmer, kmer, TERN_WRITE_ONLY, NULL));
    return table;
}

static void save(bool canonical) {
    kmer_error error = {0};
    tern_hashtable *table = make();
    CU_ASSERT_EQUAL(kmer_table_save(path, f.worker, table, K, canonical, &error), 0);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
}

static size_t slurp(char *bytes) {
    const size_t got = file_slurp(path, bytes, ROOM);
    CU_ASSERT_FATAL(got > sizeof(tern_file_header) && got < ROOM);
    return got;
}

/* As the program does: looks at the file, then loads it. */
static int look_and_load(unsigned k, bool canonical, kmer_error *error) {
    kmer_table_file file;
    tern_hashtable *table = NULL;
    *error = (kmer_error){0};
    int result = kmer_table_look(&file, path, k, canonical, error);
    if (result == 0)
        result = kmer_table_load(&file, f.worker, &counters, &table, error);
    if (table != NULL)
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    return result;
}

static void expect_refused(unsigned k, bool canonical, const char *text) {
    kmer_error error;
    CU_ASSERT_NOT_EQUAL(look_and_load(k, canonical, &error), 0);
    CU_ASSERT_EQUAL(error.exit, KMER_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, path));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, text));
    if (strstr(error.text, text) == NULL)
        printf("\n'%s' does not mention '%s'\n", error.text, text);
}

static void every_bit_counts(void) {
    char bytes[ROOM];
    open_all();
    save(false);
    size_t count = slurp(bytes);
    for (size_t bit = 0; bit < 8 * count; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        file_spill(path, bytes, count);
        expect_refused(0, false, "");
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t length = 0; length < count; length++) {
        file_spill(path, bytes, length);
        expect_refused(0, false, "");
    }
    file_spill(path, bytes, count);
    kmer_error error;
    CU_ASSERT_EQUAL(look_and_load(0, false, &error), 0);
    close_all();
}

static int look_at_count(const void *key, const void *value, void *argument) {
    uint64_t kmer, count, *seen = argument;
    memcpy(&kmer, key, sizeof kmer);
    memcpy(&count, value, sizeof count);
    CU_ASSERT(kmer >= 1 && kmer <= KMERS && count == kmer);
    ++*seen;
    return 0;
}

static void a_file_says_how_it_was_counted(void) {
    kmer_error error = {0};
    kmer_table_file file;
    open_all();
    for (int canonical = 0; canonical < 2; canonical++) {
        save(canonical);
        CU_ASSERT_EQUAL(kmer_table_look(&file, path, 0, false, &error), 0);
        CU_ASSERT(file.k == K && file.canonical == canonical && file.distinct == KMERS);
        CU_ASSERT_EQUAL(look_and_load(K, canonical, &error), 0);
        expect_refused(K + 1, canonical, "counted with -k 21, not with -k 22");
    }
    tern_hashtable *table = NULL;
    uint64_t seen = 0;
    CU_ASSERT_EQUAL(kmer_table_load(&file, f.worker, &counters, &table, &error), 0);
    EXPECT_OK(tern_hashtable_for_each(f.worker, table, look_at_count, &seen));
    CU_ASSERT_EQUAL(seen, KMERS);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    save(false);
    expect_refused(K, true, "without --canonical");
    /* By now file is what was there before. */
    table = NULL;
    CU_ASSERT_NOT_EQUAL(kmer_table_load(&file, f.worker, &counters, &table, &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "replaced"));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    close_all();
}

/* Tables that another program saved. */
static void strangers_are_refused(void) {
    static const char *const notes[] = {"",
                                        "kmer k=21",
                                        "kmer k=21 canonical=2",
                                        "kmer k=0 canonical=0",
                                        "kmer k=33 canonical=0",
                                        "kmer k=021 canonical=0",
                                        "kmer k=21 canonical=0 ",
                                        "kmer  k=21 canonical=0",
                                        "the table of another program"};
    open_all();
    tern_hashtable *table = make(), *values = NULL;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        EXPECT_OK(tern_hashtable_save(f.worker, table, path, notes[i], strlen(notes[i])));
        expect_refused(0, false, "not one that kmer --output wrote");
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    const tern_hashtable_options plain = {.key_bytes = 8, .value_bytes = 8, .capacity = 1};
    EXPECT_OK(tern_hashtable_create(f.worker, &plain, &values));
    EXPECT_OK(tern_hashtable_save(f.worker, values, path, "kmer k=21 canonical=0", 21));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    expect_refused(0, false, "not one that kmer --output wrote");
    file_spill(path, "KMERTAB1, which was the format of old", 37);
    expect_refused(0, false, "was not written by tern_hashtable_save");
    close_all();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"every_bit_counts", every_bit_counts},
        {"a_file_says_how_it_was_counted", a_file_says_how_it_was_counted},
        {"strangers_are_refused", strangers_are_refused},
    };
    return tern_test_main(argc, argv, "kmer_table", tests, sizeof tests / sizeof tests[0]);
}
