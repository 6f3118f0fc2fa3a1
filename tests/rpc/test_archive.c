// tern-test: unit
/*
 * Archives: what was written is read again; nothing that is cut off, changed or read as something
 * else is taken for right, and nothing is read past the end. Every archive that is read lies in
 * heap memory of just its size, so that AddressSanitizer sees a byte too much.
 */

#include <stdlib.h>

#include "fixture.h"
#include "tern/archive.h"

enum { ROOM = 1 << 16, ITEMS = 40 };

typedef struct point {
    double x;
    int32_t label;
} point;

enum colour { RED, GREEN };

/* A copy of an archive's first bytes, alone in its memory. */
static void *copy_of(const void *archive, size_t bytes) {
    void *copy = malloc(bytes > 0 ? bytes : 1);
    memcpy(copy, archive, bytes);
    return copy;
}

static void *finished(const tern_writer *writer, size_t *bytes) {
    const void *archive = NULL;
    EXPECT_OK(tern_writer_finish(writer, &archive, bytes));
    return copy_of(archive, *bytes);
}

/* One of each type of C. */
#define EACH_TYPE(DO)                                                                              \
    DO(bool, a, true)                                                                              \
    DO(char, b, 'x')                                                                               \
    DO(signed char, c, -1)                                                                         \
    DO(unsigned char, d, 255)                                                                      \
    DO(int16_t, e, INT16_MIN)                                                                      \
    DO(uint16_t, f, UINT16_MAX)                                                                    \
    DO(int32_t, g, INT32_MIN)                                                                      \
    DO(uint32_t, h, UINT32_MAX)                                                                    \
    DO(int64_t, i, INT64_MIN)                                                                      \
    DO(uint64_t, j, UINT64_MAX)                                                                    \
    DO(long long, k, -5)                                                                           \
    DO(unsigned long long, l, 6)                                                                   \
    DO(size_t, m, SIZE_MAX)                                                                        \
    DO(float, n, 0.25F)                                                                            \
    DO(double, o, -1e300)                                                                          \
    DO(enum colour, p, GREEN)

static void values_of_each_type(void) {
    uint64_t memory[128];
    tern_writer writer;
    tern_reader reader;
    size_t bytes = 0;
    const point there = {2.5, 7};
    point here = {0, 0};
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
#define PUT(type, name, value)                                                                     \
    const type name = value;                                                                       \
    EXPECT_OK(TERN_WRITE(&writer, &name, 1));
    EACH_TYPE(PUT)
    EXPECT_OK(TERN_WRITE(&writer, &there, 1));
    void *archive = finished(&writer, &bytes);
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
#define GET(type, name, value)                                                                     \
    type got_##name = 0;                                                                           \
    EXPECT_OK(TERN_READ(&reader, &got_##name, 1));                                                 \
    CU_ASSERT(got_##name == name);
    EACH_TYPE(GET)
    EXPECT_OK(TERN_READ(&reader, &here, 1));
    CU_ASSERT(here.x == there.x && here.label == there.label);
    EXPECT_OK(tern_reader_close(&reader));
    free(archive);
    tern_writer_close(&writer);
}

/* Items of random types and lengths, made from a seed alone, so that they can be made again. */
typedef struct item {
    int kind; /* 0 string, 1 doubles, 2 bytes, 3 points */
    size_t count;
    unsigned char content[512];
} item;

static item random_item(uint64_t *random) {
    item made = {.kind = (int)below(random, 4), .count = below(random, below(random, 3) ? 9 : 31)};
    for (size_t i = 0; i < sizeof made.content; i++)
        made.content[i] = (unsigned char)(1 + below(random, 255));
    if (made.kind == 0)
        made.content[made.count] = 0;
    return made;
}

static tern_status write_item(tern_writer *writer, const item *made) {
    switch (made->kind) {
    case 0:
        return tern_write_string(writer, (const char *)made->content);
    case 1:
        return TERN_WRITE(writer, (const double *)(const void *)made->content, made->count);
    case 2:
        return TERN_WRITE(writer, made->content, made->count);
    default:
        return TERN_WRITE(writer, (const point *)(const void *)made->content, made->count);
    }
}

static volatile unsigned sink;

/* What was handed out lies in the archive, aligned. Reads every byte of it. */
static size_t misplaced(const tern_reader *reader, const void *content, size_t bytes) {
    const char *end = reader->next + reader->left, *start = end - reader->bytes;
    const unsigned char *at = content;
    for (size_t i = 0; i < bytes; i++)
        sink += at[i];
    return (uintptr_t)content % 8 != 0 || (const char *)content < start + 16 ||
           (const char *)content > end || bytes > (size_t)(end - (const char *)content);
}

/* wrong counts what differs from the item; NULL: what was changed may differ. */
static tern_status read_item(tern_reader *reader, const item *made, size_t *wrong, size_t *lost) {
    const void *content = NULL;
    size_t count = 0, element = 1;
    tern_status status = TERN_OK;
    const char *text = NULL;
    const double *doubles = NULL;
    const unsigned char *octets = NULL;
    const point *points = NULL;
    if (made->kind == 0) {
        status = tern_read_string(reader, &text, &count);
        content = text;
    } else if (made->kind == 1) {
        element = sizeof *doubles;
        status = TERN_READ_ARRAY(reader, &doubles, &count);
        content = doubles;
    } else if (made->kind == 2) {
        status = TERN_READ_ARRAY(reader, &octets, &count);
        content = octets;
    } else {
        element = sizeof *points;
        status = TERN_READ_ARRAY(reader, &points, &count);
        content = points;
    }
    if (status != TERN_OK)
        return status;
    *lost += misplaced(reader, content, count * element);
    size_t wanted = made->count + (made->kind == 0);
    if (wrong != NULL)
        *wrong += count != wanted || memcmp(content, made->content, count * element) != 0;
    return TERN_OK;
}

static tern_status read_all(const void *archive, size_t bytes, const item *made, size_t count,
                            size_t *wrong, size_t *lost) {
    tern_reader reader;
    (void)tern_reader_open(&reader, archive, bytes);
    for (size_t i = 0; i < count; i++)
        if (read_item(&reader, &made[i], wrong, lost) != TERN_OK)
            break;
    return tern_reader_close(&reader);
}

/* Over and over: written into memory that is too small or not, read, cut at every byte, changed. */
static void random_against_model(void) {
    static uint64_t memory[ROOM / 8];
    static item made[ITEMS];
    uint64_t random = tern_test_seed();
    size_t wrong = 0, lost = 0, taken = 0, unnamed = 0, changed_taken = 0;
    int rounds = tern_test_full() ? 4000 : 150;
    for (int round = 0; round < rounds; round++) {
        size_t count = below(&random, ITEMS), bytes = 0;
        size_t room = below(&random, 2) ? 0 : below(&random, ROOM);
        tern_writer writer;
        EXPECT_OK(tern_writer_open(&writer, room > 0 ? memory : NULL, room, ROOM));
        for (size_t i = 0; i < count; i++) {
            made[i] = random_item(&random);
            wrong += write_item(&writer, &made[i]) != TERN_OK;
        }
        unsigned char *archive = finished(&writer, &bytes);
        tern_writer_close(&writer);
        wrong += read_all(archive, bytes, made, count, &wrong, &lost) != TERN_OK;
        wrong += bytes % 8 != 0;
        for (size_t cut = 0; cut < bytes && cut < 4096; cut++) {
            void *rest = copy_of(archive, cut);
            taken += read_all(rest, cut, made, count, NULL, &lost) == TERN_OK;
            unnamed += strstr(tern_error_detail(), "archive") == NULL;
            free(rest);
        }
        for (int i = 0; i < 50; i++) {
            unsigned char *changed = copy_of(archive, bytes);
            for (uint64_t k = 1 + below(&random, 4); k > 0; k--)
                changed[below(&random, bytes)] ^= (unsigned char)(1u << below(&random, 8));
            changed_taken += read_all(changed, bytes, made, count, NULL, &lost) == TERN_OK;
            free(changed);
        }
        free(archive);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT_EQUAL(taken, 0);
    CU_ASSERT_EQUAL(unnamed, 0);
    CU_ASSERT(changed_taken > 0); /* content may change; that is no error of the archive's */
}

/* Item after item read as something else than it is. */
static void wrong_types(void) {
    uint64_t memory[32];
    tern_writer writer;
    tern_reader reader;
    size_t bytes = 0, count = 77;
    const int32_t three[3] = {1, 2, 3};
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
    EXPECT_OK(TERN_WRITE(&writer, three, 3));
    void *archive = finished(&writer, &bytes);
    uint32_t other[3] = {9, 9, 9};
    int64_t wider[3] = {9, 9, 9};
    float floating[3] = {9, 9, 9};
    int32_t same[4] = {9, 9, 9, 9};
    const char *text = "untouched";
    const double *doubles = NULL;
#define REFUSED(call, detail)                                                                      \
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));                                          \
    EXPECT(TERN_ERR_MISMATCH, call);                                                               \
    EXPECT_DETAIL(detail);                                                                         \
    EXPECT(TERN_ERR_MISMATCH, TERN_READ(&reader, same, 3)); /* it has failed once */               \
    EXPECT(TERN_ERR_MISMATCH, tern_reader_close(&reader))
    REFUSED(TERN_READ(&reader, other, 3), "3 elements of 4 bytes of signed numbers");
    REFUSED(TERN_READ(&reader, wider, 3), "wanted are 3 of 8 bytes of signed");
    REFUSED(TERN_READ(&reader, floating, 3), "of floating");
    REFUSED(TERN_READ(&reader, same, 2), "wanted are 2");
    REFUSED(TERN_READ(&reader, same, 4), "wanted are 4");
    REFUSED(tern_read_string(&reader, &text, &count), "of text");
    REFUSED(TERN_READ_ARRAY(&reader, &doubles, &count), "any number of 8 bytes");
    CU_ASSERT(other[0] == 9 && wider[0] == 9 && same[0] == 9 && floating[0] == 9);
    CU_ASSERT(strcmp(text, "untouched") == 0 && doubles == NULL && count == 77);
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
    EXPECT(TERN_ERR_MISMATCH, tern_reader_close(&reader));
    EXPECT_DETAIL("not asked for");
    free(archive);
}

/* The archive's header, and an item that no writer of today writes. */
static void foreign_archives(void) {
    uint64_t memory[8];
    unsigned char *at = (unsigned char *)memory;
    tern_writer writer;
    tern_reader reader;
    const int64_t value = 5;
    int64_t got = 0;
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
    EXPECT_OK(TERN_WRITE(&writer, &value, 1));
    static const char *const said[8] = {"no archive", "no archive",   "no archive", "no archive",
                                        "version 3",  "byte order 3", "10-byte",    "version"};
    for (size_t i = 0; i < 8; i++) {
        at[i] ^= 2;
        EXPECT(TERN_ERR_MISMATCH, tern_reader_open(&reader, memory, 24));
        EXPECT_DETAIL(said[i]);
        EXPECT(TERN_ERR_MISMATCH, TERN_READ(&reader, &got, 1));
        EXPECT(TERN_ERR_MISMATCH, tern_reader_close(&reader));
        at[i] ^= 2;
    }
    at[8] |= 0x20;
    EXPECT_OK(tern_reader_open(&reader, memory, 24));
    EXPECT(TERN_ERR_MISMATCH, TERN_READ(&reader, &got, 1));
    EXPECT_DETAIL(
        "item 1 of the archive, at byte 8: 1 elements of 8 bytes of signed numbers, place 2");
    CU_ASSERT_EQUAL(got, 0);

    EXPECT(TERN_ERR_ARGUMENT, tern_reader_open(NULL, memory, 24));
    EXPECT(TERN_ERR_ARGUMENT, tern_reader_open(&reader, NULL, 24));
    EXPECT(TERN_ERR_ARGUMENT, tern_reader_open(&reader, at + 4, 24));
    EXPECT_DETAIL("aligned");
}

static void strings(void) {
    uint64_t memory[32];
    tern_writer writer;
    tern_reader reader;
    const char *text = NULL;
    size_t bytes = 0;
    static const char *const all[] = {"", "a", "seven b", "eight by", "nine byte"};
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
    for (size_t i = 0; i < 5; i++)
        EXPECT_OK(tern_write_string(&writer, all[i]));
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
    for (size_t i = 0; i < 5; i++) {
        EXPECT_OK(tern_read_string(&reader, &text, i % 2 ? &bytes : NULL));
        CU_ASSERT_STRING_EQUAL(text, all[i]);
        CU_ASSERT(i % 2 == 0 || bytes == strlen(all[i]) + 1);
    }
    EXPECT_OK(tern_reader_close(&reader));

    /* Without its zero, though one follows in the padding; and without anything. */
    for (int empty = 0; empty < 2; empty++) {
        EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
        EXPECT_OK(tern_write_items(&writer, TERN_ITEM_STRING, 1, "ab", empty ? 0 : 2));
        EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
        text = NULL;
        EXPECT(TERN_ERR_MISMATCH, tern_read_string(&reader, &text, &bytes));
        EXPECT_DETAIL("does not end with zero");
        CU_ASSERT_PTR_NULL(text);
        EXPECT(TERN_ERR_MISMATCH, tern_reader_close(&reader));
    }
}

/* Just enough room, eight bytes less; limits of items; nothing changes after a failure. */
static void limits(void) {
    uint64_t memory[8];
    tern_writer writer;
    const void *archive = NULL;
    size_t bytes = 4711;
    const double three[3] = {1, 2, 3};
    static const size_t fits = 8 + 8 + sizeof three;
    for (int on_heap = 0; on_heap < 2; on_heap++)
        for (size_t limit = 0; limit <= fits + 1; limit++) {
            memset(memory, 0xaa, sizeof memory);
            tern_status opened =
                tern_writer_open(&writer, on_heap ? NULL : memory, on_heap ? 0 : limit, limit);
            CU_ASSERT_EQUAL(opened, limit < 8 ? TERN_ERR_RANGE : TERN_OK);
            EXPECT(limit < fits ? TERN_ERR_RANGE : TERN_OK, TERN_WRITE(&writer, three, 3));
            EXPECT(TERN_ERR_RANGE, TERN_WRITE(&writer, three, 0)); /* no room for its header */
            EXPECT(TERN_ERR_RANGE, tern_writer_finish(&writer, &archive, &bytes));
            CU_ASSERT(archive == NULL && bytes == 4711);
            CU_ASSERT(memory[6] == 0xaaaaaaaaaaaaaaaa && memory[5] == 0xaaaaaaaaaaaaaaaa);
            tern_writer_close(&writer);
            EXPECT(TERN_ERR_STATE, TERN_WRITE(&writer, three, 3));
        }
    static const char large[TERN_ITEM_ELEMENT_MAX + 1];
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1 << 20));
    EXPECT_OK(tern_write_items(&writer, TERN_ITEM_BYTES, TERN_ITEM_ELEMENT_MAX, large, 1));
    EXPECT(TERN_ERR_RANGE, tern_write_items(&writer, TERN_ITEM_BYTES, sizeof large, large, 1));
    EXPECT_DETAIL("65536");
    tern_writer_close(&writer);
    static const size_t counts[] = {TERN_ITEM_COUNT_MAX, TERN_ITEM_COUNT_MAX + 1, SIZE_MAX / 2,
                                    SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        EXPECT_OK(tern_writer_open(&writer, NULL, 0, i % 2 ? SIZE_MAX : 1 << 20));
        EXPECT(TERN_ERR_RANGE, TERN_WRITE(&writer, large, counts[i]));
        tern_writer_close(&writer);
    }
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 1 << 20));
    EXPECT(TERN_ERR_ARGUMENT, tern_write_string(&writer, NULL));
    EXPECT(TERN_ERR_ARGUMENT, TERN_WRITE(&writer, three, 1));
    tern_writer_close(&writer);
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_open(NULL, memory, 8, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_open(&writer, NULL, 8, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_open(&writer, (char *)memory + 1, 8, 8));
    EXPECT_DETAIL("aligned");
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"values_of_each_type", values_of_each_type},
        {"random_against_model", random_against_model},
        {"wrong_types", wrong_types},
        {"foreign_archives", foreign_archives},
        {"strings", strings},
        {"limits", limits},
    };
    return tern_test_main(argc, argv, "archive", tests, sizeof tests / sizeof tests[0]);
}
