/* K-mers as numbers, against the same on strings. */

// tern-test: unit

#include "harness.h"

#include <string.h>

#include "examples/kmer/sink.h"
#include "tests/kmer/naive.h"

static int into_list(kmer_sink *sink) {
    kmer_list *list = sink->argument;
    for (size_t i = 0; i < sink->count; i++)
        kmer_list_append(list, sink->keys[i]);
    sink->count = 0;
    return 0;
}

/* Counts sequence as the program does, in pieces of so many bytes and batches of so many keys. */
static void count(kmer_list *list, const char *sequence, size_t size, unsigned k, bool canonical,
                  size_t piece, size_t batch) {
    uint64_t keys[16];
    kmer_sink sink = {.keys = keys, .capacity = batch, .flush = into_list, .argument = list};
    kmer_window window;
    kmer_window_init(&window, k, canonical);
    const char *at = sequence, *end = sequence + size;
    while (at < end) {
        const char *stop = (size_t)(end - at) < piece ? end : at + piece;
        at = kmer_sink_take(&sink, &window, at, stop);
        if (at < stop) {
            kmer_window_break(&window);
            at++;
        }
    }
    into_list(&sink);
}

static void compare(const char *sequence, size_t size, unsigned k, bool canonical, size_t piece,
                    size_t batch) {
    kmer_list ours = {0}, naive = {0};
    count(&ours, sequence, size, k, canonical, piece, batch);
    kmer_naive_sequence(&naive, sequence, size, k, canonical);
    CU_ASSERT(kmer_list_same(&ours, &naive));
    kmer_list_free(&ours);
    kmer_list_free(&naive);
}

static void agrees_with_strings(void) {
    uint64_t random = tern_test_seed();
    for (unsigned k = 1; k <= KMER_LONGEST; k++) {
        for (unsigned round = 0; round < (tern_test_full() ? 1000 : 60); round++) {
            char sequence[300];
            size_t size = tern_test_random(&random) % sizeof sequence;
            /* Few letters that break where k is long, or nothing would be counted. */
            static const char letters[] = "ACGTacgtACGTacgtACGTacgtACGTacgtNn-";
            unsigned choice = round % 4 == 0 ? 35 : 32;
            for (size_t i = 0; i < size; i++)
                sequence[i] = letters[tern_test_random(&random) % choice];
            size_t piece = 1 + tern_test_random(&random) % 40;
            size_t batch = 1 + tern_test_random(&random) % 16;
            compare(sequence, size, k, round & 1, piece, batch);
        }
    }
}

static void every_other_byte_breaks(void) {
    for (int byte = 0; byte < 256; byte++) {
        char sequence[] = "ACGTACGT?ACGTACGT";
        sequence[8] = (char)byte;
        bool base = byte != 0 && strchr("ACGTacgt", byte) != NULL;
        kmer_list ours = {0};
        count(&ours, sequence, 17, 8, false, 64, 16);
        CU_ASSERT_EQUAL(ours.count, base ? 10 : 2);
        kmer_list_free(&ours);
    }
}

static void written_as_read(void) {
    uint64_t random = tern_test_seed() + 1;
    for (unsigned k = 1; k <= KMER_LONGEST; k++) {
        char text[KMER_LONGEST], back[KMER_LONGEST];
        for (unsigned i = 0; i < k; i++)
            text[i] = "ACGT"[tern_test_random(&random) % 4];
        kmer_list list = {0};
        count(&list, text, k, k, false, 64, 16);
        CU_ASSERT_EQUAL_FATAL(list.count, 1);
        kmer_write(list.keys[0], k, back);
        CU_ASSERT_EQUAL(memcmp(text, back, k), 0);
        kmer_list_free(&list);
    }
}

static void canonical_is_the_same_both_ways(void) {
    kmer_list forward = {0}, reverse = {0};
    count(&forward, "AACGTGATTACA", 12, 5, true, 64, 16);
    count(&reverse, "TGTAATCACGTT", 12, 5, true, 64, 16);
    CU_ASSERT_EQUAL(forward.count, 8);
    CU_ASSERT(kmer_list_same(&forward, &reverse));
    kmer_list_free(&forward);
    kmer_list_free(&reverse);
}

static void how_many_there_are(void) {
    CU_ASSERT_EQUAL(kmer_how_many(1, false), 4);
    CU_ASSERT_EQUAL(kmer_how_many(1, true), 2);
    CU_ASSERT_EQUAL(kmer_how_many(32, false), UINT64_MAX);
    CU_ASSERT_EQUAL(kmer_how_many(32, true), (UINT64_C(1) << 63) + (UINT64_C(1) << 31));
    for (unsigned k = 1; k <= 5; k++) {
        uint64_t all = UINT64_C(1) << 2 * k, canonical = 0;
        for (uint64_t kmer = 0; kmer < all; kmer++) {
            char text[5];
            kmer_write(kmer, k, text);
            kmer_list list = {0};
            kmer_naive_sequence(&list, text, k, k, true);
            canonical += list.keys[0] == kmer;
            kmer_list_free(&list);
        }
        CU_ASSERT_EQUAL(kmer_how_many(k, false), all);
        CU_ASSERT_EQUAL(kmer_how_many(k, true), canonical);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"agrees_with_strings", agrees_with_strings},
        {"every_other_byte_breaks", every_other_byte_breaks},
        {"written_as_read", written_as_read},
        {"canonical_is_the_same_both_ways", canonical_is_the_same_both_ways},
        {"how_many_there_are", how_many_there_are},
    };
    return tern_test_main(argc, argv, "kmer_encoding", tests, sizeof tests / sizeof tests[0]);
}
