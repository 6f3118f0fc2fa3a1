/* Texts split among ranks: each k-mer is counted once, wherever the boundaries fall. */

// tern-test: unit

#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "examples/kmer/input.h"
#include "tests/kmer/naive.h"

static int into_list(kmer_sink *sink) {
    kmer_list *list = sink->argument;
    for (size_t i = 0; i < sink->count; i++)
        kmer_list_append(list, sink->keys[i]);
    sink->count = 0;
    return 0;
}

typedef struct reading {
    kmer_list list;
    uint64_t bytes; /* that the parts went through */
    int failed;     /* parts that failed */
    kmer_error first;
} reading;

/* Reads all parts, one after the other, in batches of so many k-mers. */
static reading read_parts(const kmer_input *input, unsigned k, bool canonical, unsigned parts,
                          size_t batch) {
    reading all = {0};
    for (unsigned part = 0; part < parts; part++) {
        uint64_t keys[16];
        kmer_error error = {0};
        kmer_sink sink = {
            .keys = keys, .capacity = batch, .flush = into_list, .argument = &all.list};
        int result = kmer_input_read(input, k, canonical, part, parts, &sink, &error);
        CU_ASSERT_EQUAL(result != 0, error.exit != KMER_OK);
        if (result != 0 && all.failed++ == 0)
            all.first = error;
        into_list(&sink);
        all.bytes += sink.bytes;
    }
    return all;
}

static void show(const char *what, const kmer_text *text, unsigned k, unsigned parts) {
    fprintf(stderr, "%s, k %u, %u parts:\n", what, k, parts);
    fwrite(text->bytes, 1, text->size, stderr);
    fprintf(stderr, "|\n");
}

static void compare(const kmer_input *input, const kmer_text *text, kmer_list *naive, unsigned k,
                    bool canonical, unsigned parts, size_t batch) {
    reading all = read_parts(input, k, canonical, parts, batch);
    bool same = all.failed == 0 && kmer_list_same(&all.list, naive);
    CU_ASSERT(same);
    if (!same)
        show(all.failed > 0 ? all.first.text : "k-mers differ", text, k, parts);
    if (!input->gzip)
        CU_ASSERT_EQUAL(all.bytes, input->size);
    kmer_list_free(&all.list);
}

static void check(const kmer_text *text, bool fastq, uint64_t *random) {
    static const unsigned lengths[] = {1, 2, 3, 4, 5, 8, 13, 21, 32};
    unsigned k = lengths[tern_test_random(random) % 9];
    bool canonical = tern_test_random(random) & 1;
    unsigned parts = 1 + (unsigned)(tern_test_random(random) % 12);
    if (tern_test_random(random) % 8 == 0)
        parts = 1 + (unsigned)(tern_test_random(random) % (2 * text->size));
    size_t batch = 1 + tern_test_random(random) % 16;

    kmer_list naive = {0};
    if (fastq)
        kmer_naive_fastq(&naive, text->bytes, text->size, k, canonical);
    else
        kmer_naive_fasta(&naive, text->bytes, text->size, k, canonical);

    kmer_input input = {.name = "text", .data = text->bytes, .size = text->size, .fastq = fastq};
    compare(&input, text, &naive, k, canonical, parts, batch);

    char gzip[2 * sizeof text->bytes];
    input.gzip = true;
    input.data = gzip;
    input.size = kmer_text_deflate(text, random, gzip, sizeof gzip);
    input.block = 1 + tern_test_random(random) % 100;
    compare(&input, text, &naive, k, canonical, parts, batch);
    kmer_list_free(&naive);
}

static unsigned rounds(void) { return tern_test_full() ? 200000 : 10000; }

static void fasta(void) {
    uint64_t random = tern_test_seed();
    for (unsigned round = 0; round < rounds(); round++) {
        kmer_text text;
        kmer_text_fasta(&text, &random);
        check(&text, false, &random);
    }
}

static void fastq(void) {
    uint64_t random = tern_test_seed();
    for (unsigned round = 0; round < rounds(); round++) {
        kmer_text text;
        kmer_text_fastq(&text, &random);
        check(&text, true, &random);
    }
}

/* A text damaged anywhere is refused by some part exactly if it is refused as a whole, and counted
 * the same otherwise. */
static void damaged_fastq(void) {
    uint64_t random = tern_test_seed() + 7;
    unsigned refused = 0;
    for (unsigned round = 0; round < rounds(); round++) {
        kmer_text text;
        kmer_text_fastq(&text, &random);
        size_t at = tern_test_random(&random) % text.size;
        switch (tern_test_random(&random) % 3) {
        case 0:
            text.size = at + 1;
            break;
        case 1:
            text.bytes[at] = "@+\n\rA"[tern_test_random(&random) % 5];
            break;
        default:
            memmove(text.bytes + at, text.bytes + at + 1, text.size - at - 1);
            text.size--;
        }
        unsigned parts = 2 + (unsigned)(tern_test_random(&random) % 12);
        kmer_input input = {.name = "text", .data = text.bytes, .size = text.size, .fastq = true};
        reading whole = read_parts(&input, 3, false, 1, 16);
        reading split = read_parts(&input, 3, false, parts, 16);
        bool same = whole.failed > 0
                        ? split.failed > 0
                        : split.failed == 0 && kmer_list_same(&whole.list, &split.list);
        CU_ASSERT(same);
        if (!same)
            show("damaged", &text, 3, parts);
        refused += whole.failed > 0;
        kmer_list_free(&whole.list);
        kmer_list_free(&split.list);
    }
    CU_ASSERT(refused > rounds() / 4 && refused < rounds());
}

static void expect_line(const char *text, unsigned parts, const char *expected) {
    kmer_input input = {.name = "x.fq", .data = text, .size = strlen(text), .fastq = true};
    reading all = read_parts(&input, 3, false, parts, 16);
    CU_ASSERT(all.failed > 0);
    CU_ASSERT_EQUAL(strncmp(all.first.text, expected, strlen(expected)), 0);
    if (strncmp(all.first.text, expected, strlen(expected)) != 0)
        fprintf(stderr, "got: %s\nexpected: %s\n", all.first.text, expected);
    kmer_list_free(&all.list);
}

static void messages_name_the_line(void) {
    for (unsigned parts = 1; parts < 40; parts++) {
        expect_line("@a\nACGT\n+\nIIII\n@b\nACGT\nACGT\n+\nIIIIIIII\n", parts, "x.fq: line 7: '+'");
        expect_line("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n", parts, "x.fq: line 8: ");
        expect_line("@a\nACGT\n+\nIIII\n@b\nACGT\n", parts, "x.fq: line 7: the text ends");
        expect_line("@a\nACGT\n+\nIIII\nACGT\n+\nIIII\n", parts, "x.fq: line 5: ");
        expect_line("@a\nACGT\n+\nIIII\n\nb\nACGT\n+\nIIII\n", parts, "x.fq: line 6: ");
    }
}

/* One record of one long line, as assemblers write them, and one of many. */
static void long_sequences_are_shared(void) {
    enum { SIZE = 500000, PARTS = 7 };
    static char text[SIZE];
    uint64_t random = tern_test_seed();
    for (unsigned width = 60; width <= SIZE; width += SIZE - 60) {
        for (size_t i = 0; i < SIZE; i++)
            text[i] = i % width == 59 ? '\n' : "ACGT"[tern_test_random(&random) % 4];
        memcpy(text, ">x\n", 3);
        kmer_list naive = {0}, all = {0};
        kmer_naive_fasta(&naive, text, SIZE, 21, true);
        kmer_input input = {.name = "text", .data = text, .size = SIZE};
        for (unsigned part = 0; part < PARTS; part++) {
            uint64_t keys[1000];
            kmer_error error = {0};
            kmer_list own = {0};
            kmer_sink sink = {.keys = keys, .capacity = 1000, .flush = into_list, .argument = &own};
            CU_ASSERT_EQUAL(kmer_input_read(&input, 21, true, part, PARTS, &sink, &error), 0);
            into_list(&sink);
            CU_ASSERT(own.count > SIZE / PARTS * 9 / 10 && own.count < SIZE / PARTS * 11 / 10);
            for (size_t i = 0; i < own.count; i++)
                kmer_list_append(&all, own.keys[i]);
            kmer_list_free(&own);
        }
        CU_ASSERT(kmer_list_same(&naive, &all));
        kmer_list_free(&naive);
        kmer_list_free(&all);
    }
}

static int stop_at_once(kmer_sink *sink) {
    ++*(unsigned *)sink->argument;
    return -1;
}

static void sink_ends_reading(void) {
    static const char fasta_text[] = ">x\nACGTACGTACGT\nACGTACGT\n";
    static const char fastq_text[] = "@x\nACGTACGTACGT\n+\nIIIIIIIIIIII\n";
    for (int fastq = 0; fastq < 2; fastq++) {
        unsigned flushes = 0;
        uint64_t keys[2];
        kmer_error error = {0};
        const char *text = fastq ? fastq_text : fasta_text;
        kmer_input input = {.name = "x", .data = text, .size = strlen(text), .fastq = fastq};
        kmer_sink sink = {.keys = keys, .capacity = 2, .flush = stop_at_once, .argument = &flushes};
        CU_ASSERT(kmer_input_read(&input, 3, false, 0, 1, &sink, &error) != 0);
        CU_ASSERT_EQUAL(flushes, 1);
        CU_ASSERT_EQUAL(error.exit, KMER_OK);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fasta", fasta},
        {"fastq", fastq},
        {"damaged_fastq", damaged_fastq},
        {"messages_name_the_line", messages_name_the_line},
        {"long_sequences_are_shared", long_sequences_are_shared},
        {"sink_ends_reading", sink_ends_reading},
    };
    return tern_test_main(argc, argv, "kmer_split", tests, sizeof tests / sizeof tests[0]);
}
