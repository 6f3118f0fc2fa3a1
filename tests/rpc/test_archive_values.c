// tern-test: unit
/*
 * Values of the application's types: random trees come back as they were, copied, in chunks and
 * gathered; what is cut off or changed never leads outside its memory; groups, names, counts and
 * depths are checked on both sides.
 */

#include "archive_trees.h"

static void *copy_of(const void *from, size_t bytes) {
    void *copy = malloc(bytes > 0 ? bytes : 1);
    memcpy(copy, from, bytes);
    return copy;
}

/* What a receiver has: an archive and chunks, each alone in its memory. */
typedef struct parcel {
    unsigned char *archive;
    size_t bytes;
    tern_chunk *chunks;
    size_t count;
} parcel;

static void parcel_make(parcel *p, const tern_writer *writer) {
    const void *archive = NULL;
    const tern_chunk *chunks = tern_writer_chunks(writer, &p->count);
    EXPECT_OK(tern_writer_finish(writer, &archive, &p->bytes));
    p->archive = copy_of(archive, p->bytes);
    p->chunks = copy_of(chunks != NULL ? chunks : (const void *)"", p->count * sizeof *chunks);
    for (size_t i = 0; i < p->count; i++)
        p->chunks[i].memory = copy_of(chunks[i].memory, chunks[i].bytes);
}

static void parcel_free(parcel *p) {
    for (size_t i = 0; i < p->count; i++)
        free((void *)(uintptr_t)p->chunks[i].memory);
    free(p->chunks);
    free(p->archive);
}

/* Whether they are read as t; frees what was read. */
static bool reads_as(const void *archive, size_t bytes, const tern_chunk *chunks, size_t count,
                     const tree *t) {
    tree *got = NULL;
    bool same =
        tree_read_archive(archive, bytes, chunks, count, &got) == TERN_OK && tree_equal(got, t);
    tree_free(got);
    return same;
}

/* Cut at every byte: never right. Changed: right or not, and nowhere else (AddressSanitizer). */
static size_t spoil(const parcel *p, uint64_t *random) {
    size_t taken = 0;
    tree *got = NULL;
    for (size_t cut = 0; cut < p->bytes && cut < 3000; cut++) {
        void *rest = copy_of(p->archive, cut);
        taken += tree_read_archive(rest, cut, p->chunks, p->count, &got) == TERN_OK;
        tree_free(got);
        free(rest);
    }
    for (int i = 0; i < 60; i++) {
        unsigned char *changed = copy_of(p->archive, p->bytes);
        for (uint64_t k = 1 + below(random, 4); k > 0; k--)
            changed[below(random, p->bytes)] ^= (unsigned char)(1u << below(random, 8));
        (void)tree_read_archive(changed, p->bytes, p->chunks, p->count, &got);
        tree_free(got);
        free(changed);
    }
    for (size_t i = 0; i < p->count; i++) {
        taken += tree_read_archive(p->archive, p->bytes, p->chunks, i, &got) == TERN_OK;
        tree_free(got);
        p->chunks[i].bytes ^= 1;
        taken += tree_read_archive(p->archive, p->bytes, p->chunks, p->count, &got) == TERN_OK;
        tree_free(got);
        p->chunks[i].bytes ^= 1;
    }
    return taken;
}

/* Gathered, it is what would have been written without sharing. */
static size_t gathered_differs(const tern_writer *writer, const tree *t) {
    size_t bytes = 0, plain_bytes = 0, less = 0;
    const void *plain = NULL;
    tern_writer copying;
    EXPECT_OK(tern_writer_open(&copying, NULL, 0, SIZE_MAX));
    EXPECT_OK(tree_write(&copying, t));
    EXPECT_OK(tern_writer_finish(&copying, &plain, &plain_bytes));
    EXPECT_OK(tern_writer_gather(writer, NULL, 0, &bytes));
    void *memory = malloc(bytes);
    EXPECT(TERN_ERR_RANGE, tern_writer_gather(writer, memory, bytes - 1, &less));
    EXPECT_OK(tern_writer_gather(writer, memory, bytes, &bytes));
    size_t differs = less != bytes || bytes != plain_bytes || memcmp(memory, plain, bytes) != 0 ||
                     !reads_as(memory, bytes, NULL, 0, t);
    free(memory);
    tern_writer_close(&copying);
    return differs;
}

static void random_trees(void) {
    uint64_t random = tern_test_seed();
    static uint64_t memory[512];
    size_t wrong = 0, taken = 0, chunks = 0;
    tern_writer writer;
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, SIZE_MAX));
    int rounds = tern_test_full() ? 5000 : 300;
    for (int round = 0; round < rounds; round++) {
        tree *t = tree_make(&random, (unsigned)below(&random, 5));
        parcel p;
        if (round > 0)
            EXPECT_OK(tern_writer_reset(&writer));
        EXPECT_OK(tern_writer_share(&writer, NULL, round % 2 ? 1 + below(&random, 200) : SIZE_MAX));
        EXPECT_OK(tree_write(&writer, t));
        parcel_make(&p, &writer);
        chunks += p.count;
        wrong += round % 2 == 0 && p.count > 0;
        wrong += !reads_as(p.archive, p.bytes, p.chunks, p.count, t);
        wrong +=
            !reads_as(writer.data, writer.bytes, tern_writer_chunks(&writer, &p.count), p.count, t);
        wrong += gathered_differs(&writer, t);
        taken += spoil(&p, &random);
        parcel_free(&p);
        tree_free(t);
    }
    tern_writer_close(&writer);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(taken, 0);
    CU_ASSERT(chunks > 0);
}

typedef struct link {
    int64_t value;
    struct link *next;
} link;

static const void *next_link(const void *value, void *user) {
    ++*(int *)user;
    return ((const link *)value)->next;
}

static tern_status write_link(tern_writer *writer, const void *value) {
    return TERN_WRITE(writer, &((const link *)value)->value, 1);
}
static tern_status read_link(tern_reader *reader, void *value) {
    return TERN_READ(reader, &((link *)value)->value, 1);
}

/* Links that are handed out side by side; seen: what was said to be left. */
typedef struct shelf {
    link links[8];
    size_t count, limit;
    uint64_t left;
} shelf;

static void *add_link(void *user, uint64_t left) {
    shelf *s = user;
    s->left = s->count == 0 ? left : s->left;
    return s->count < s->limit ? &s->links[s->count++] : NULL;
}

/* Arrays and lists of count links, each read as both. */
static void check_arrays_and_lists(const tern_type *type, size_t count) {
    link links[8] = {{0, NULL}}, got[8];
    tern_reader reader;
    tern_writer writer;
    const void *archive = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        links[i] = (link){(int64_t)i, i + 1 < count ? &links[i + 1] : NULL};
    for (int as_list = 0; as_list < 2; as_list++) {
        int calls = 0;
        shelf s = {.limit = 8};
        EXPECT_OK(tern_writer_open(&writer, NULL, 0, 4096));
        if (as_list)
            EXPECT_OK(tern_write_list(&writer, type, count > 0 ? links : NULL, next_link, &calls));
        else
            EXPECT_OK(tern_write_values(&writer, type, links, count));
        CU_ASSERT_EQUAL((size_t)calls, as_list ? 2 * count : 0);
        EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
        EXPECT_OK(tern_reader_open(&reader, archive, bytes));
        EXPECT_OK(tern_read_values(&reader, type, got, count));
        EXPECT_OK(tern_reader_close(&reader));
        EXPECT_OK(tern_reader_open(&reader, archive, bytes));
        EXPECT_OK(tern_read_list(&reader, type, add_link, &s));
        EXPECT_OK(tern_reader_close(&reader));
        CU_ASSERT(s.count == count && s.left == count);
        for (size_t i = 0; i < count; i++)
            CU_ASSERT(got[i].value == (int64_t)i && s.links[i].value == (int64_t)i);
        for (size_t other = 0; other < 8; other++)
            if (other != count) {
                EXPECT_OK(tern_reader_open(&reader, archive, bytes));
                EXPECT(TERN_ERR_MISMATCH, tern_read_values(&reader, type, got, other));
                EXPECT_DETAIL("wanted");
            }
        s = (shelf){.limit = count > 0 ? count - 1 : 0};
        EXPECT_OK(tern_reader_open(&reader, archive, bytes));
        EXPECT(count > 0 ? TERN_ERR_MEMORY : TERN_OK, tern_read_list(&reader, type, add_link, &s));
        tern_writer_close(&writer);
    }
}

static void arrays_and_lists(void) {
    static const tern_type told = {"link", sizeof(link), write_link, read_link};
    static const tern_type plain = {"link", sizeof(link), NULL, NULL};
    for (size_t count = 0; count < 8; count++) {
        check_arrays_and_lists(&told, count);
        check_arrays_and_lists(&plain, count);
    }
}

/* An array of plain values is one item; one of large ones too. */
static void plain_values(void) {
    enum { LARGE = TERN_ITEM_ELEMENT_MAX + 1 };
    static char large[3 * LARGE], got[3 * LARGE];
    static const tern_type type = {"large", LARGE, NULL, NULL};
    tern_writer writer;
    tern_reader reader;
    const void *archive = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, SIZE_MAX));
    EXPECT_OK(tern_write_values(&writer, &type, large, 3));
    EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
    CU_ASSERT_EQUAL(bytes, 8 + 16 + 8 + 8 + sizeof large + 8);
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
    EXPECT_OK(tern_read_values(&reader, &type, got, 3));
    EXPECT_OK(tern_reader_close(&reader));
    CU_ASSERT(memcmp(large, got, sizeof large) == 0);
    static const tern_type other = {"large", LARGE + 1, NULL, NULL};
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
    EXPECT(TERN_ERR_MISMATCH, tern_read_values(&reader, &other, got, 3));
    EXPECT_DETAIL("are no values of type large");
    tern_writer_close(&writer);
}

static tern_status write_nothing(tern_writer *writer, const void *value) {
    (void)writer;
    (void)value;
    return TERN_OK;
}
static tern_status refuse_write(tern_writer *writer, const void *value) {
    (void)writer;
    (void)value;
    return TERN_ERR_NOT_FOUND;
}
static tern_status refuse_read(tern_reader *reader, void *value) {
    (void)reader;
    (void)value;
    return TERN_ERR_EXISTS;
}

static void wrong_types(void) {
    static const tern_type good = {"link", sizeof(link), write_link, read_link};
    static const tern_type bad[] = {{NULL, 8, NULL, NULL},
                                    {"a", 0, NULL, NULL},
                                    {"a", 8, write_link, NULL},
                                    {"a", 8, NULL, read_link}};
    static const tern_type refusing = {"link", sizeof(link), refuse_write, refuse_read};
    static const tern_type empty = {"link", sizeof(link), write_nothing, read_link};
    static const tern_type renamed = {"chain", sizeof(link), write_link, read_link};
    link one = {5, NULL};
    uint64_t memory[64];
    tern_writer writer;
    tern_reader reader;
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
#define FAILS(status, call)                                                                        \
    EXPECT(status, call);                                                                          \
    EXPECT(status, TERN_WRITE(&writer, &one.value, 1));                                            \
    EXPECT_OK(tern_writer_reset(&writer))
    for (size_t i = 0; i < 4; i++) {
        FAILS(TERN_ERR_ARGUMENT, tern_write_values(&writer, &bad[i], &one, 1));
        FAILS(TERN_ERR_ARGUMENT, tern_write_list(&writer, &bad[i], &one, next_link, NULL));
    }
    FAILS(TERN_ERR_ARGUMENT, tern_write_values(&writer, NULL, &one, 1));
    FAILS(TERN_ERR_ARGUMENT, tern_write_values(&writer, &good, NULL, 1));
    FAILS(TERN_ERR_ARGUMENT, tern_write_list(&writer, &good, &one, NULL, NULL));
    FAILS(TERN_ERR_NOT_FOUND, tern_write_values(&writer, &refusing, &one, 1));
    FAILS(TERN_ERR_ARGUMENT, tern_write_values(&writer, &empty, &one, 1));
    EXPECT_OK(tern_write_values(&writer, &good, &one, 1));
#define REFUSED(status, call, detail)                                                              \
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));                                    \
    EXPECT(status, call);                                                                          \
    EXPECT(status, TERN_READ(&reader, &one.value, 1));                                             \
    EXPECT(status, tern_reader_close(&reader));                                                    \
    EXPECT_DETAIL(detail)
    REFUSED(TERN_ERR_MISMATCH, tern_read_values(&reader, &renamed, &one, 1),
            "item 1 of the archive, at byte 8, is the group 'link'; wanted is the group 'chain'");
    REFUSED(TERN_ERR_EXISTS, tern_read_values(&reader, &refusing, &one, 1), "");
    REFUSED(TERN_ERR_ARGUMENT, tern_read_values(&reader, &bad[0], &one, 1), "NULL");
    REFUSED(TERN_ERR_ARGUMENT, tern_read_values(&reader, NULL, &one, 1), "NULL");
    REFUSED(TERN_ERR_ARGUMENT, tern_read_values(&reader, &good, NULL, 1), "NULL");
    REFUSED(TERN_ERR_ARGUMENT, tern_read_list(&reader, &good, NULL, NULL), "add");
    REFUSED(TERN_ERR_MISMATCH, TERN_READ(&reader, &one.value, 1), "a group; wanted are 1 of 8");
    tern_writer_close(&writer);
}

/* Groups by hand: names, ends, counts and how deep they may be. */
static void groups(void) {
    uint64_t memory[1024], count = 0, value = 5;
    tern_writer writer;
    tern_reader reader;
    const void *archive = NULL;
    size_t bytes = 0;
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
    EXPECT_OK(tern_write_begin(&writer, "eight by", 2));
    EXPECT_OK(tern_write_begin(&writer, NULL, 0));
    EXPECT_OK(tern_write_end(&writer));
    EXPECT(TERN_ERR_STATE, tern_writer_finish(&writer, &archive, &bytes));
    EXPECT_DETAIL("1 groups");
    EXPECT_OK(TERN_WRITE(&writer, &value, 1));
    EXPECT_OK(tern_write_end(&writer));
    EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
    EXPECT_OK(tern_read_begin(&reader, "eight by", &count));
    CU_ASSERT_EQUAL(count, 2);
    EXPECT_OK(tern_read_begin(&reader, "", &count));
    CU_ASSERT_EQUAL(count, 0);
    EXPECT_OK(tern_read_end(&reader));
    tern_reader here = reader;
    EXPECT(TERN_ERR_MISMATCH, tern_read_end(&here));
    EXPECT_DETAIL("item 4 of the archive");
    EXPECT_OK(TERN_READ(&reader, &value, 1));
    here = reader;
    EXPECT(TERN_ERR_MISMATCH, TERN_READ(&here, &value, 1));
    EXPECT_DETAIL("the end of a group; wanted are 1 of 8 bytes of unsigned");
    EXPECT_OK(tern_read_end(&reader));
    EXPECT(TERN_ERR_RANGE, tern_read_end(&reader));
    EXPECT_DETAIL("ends at byte");

    EXPECT(TERN_ERR_STATE, tern_write_end(&writer));
    EXPECT_OK(tern_writer_reset(&writer));
    EXPECT_OK(tern_write_begin(&writer, "few", 2));
    EXPECT_OK(TERN_WRITE(&writer, &value, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_write_end(&writer));

    EXPECT_OK(tern_writer_reset(&writer));
    for (size_t i = 0; i < TERN_GROUPS_MAX; i++)
        EXPECT_OK(tern_write_begin(&writer, "g", 1));
    tern_writer deeper = writer;
    EXPECT(TERN_ERR_RANGE, tern_write_begin(&deeper, "g", 0));
    EXPECT_OK(TERN_WRITE(&writer, &value, 1));
    for (size_t i = 0; i < TERN_GROUPS_MAX; i++)
        EXPECT_OK(tern_write_end(&writer));
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
    for (size_t i = 0; i < TERN_GROUPS_MAX; i++)
        EXPECT_OK(tern_read_begin(&reader, "g", &count));
    here = reader;
    here.groups = TERN_GROUPS_MAX; /* as if there were one more */
    EXPECT(TERN_ERR_RANGE,
           ((void)(here.next -= 24), here.left += 24, tern_read_begin(&here, "g", &count)));
    EXPECT_DETAIL("inside 128 others");
    EXPECT_OK(TERN_READ(&reader, &value, 1));
    for (size_t i = 0; i < TERN_GROUPS_MAX; i++)
        EXPECT_OK(tern_read_end(&reader));
    EXPECT_OK(tern_reader_close(&reader));

    /* A count for which there is no room, and a length beyond the archive. */
    EXPECT_OK(tern_writer_reset(&writer));
    EXPECT_OK(tern_write_begin(&writer, "g", 1));
    EXPECT_OK(TERN_WRITE(&writer, &value, 1));
    EXPECT_OK(tern_write_end(&writer));
    static const uint64_t spoilt[2] = {(uint64_t)3 << 24 ^ (uint64_t)1 << 24, 24 ^ 32};
    for (size_t i = 0; i < 2; i++) {
        memory[1 + i] ^= spoilt[i];
        EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
        EXPECT(TERN_ERR_RANGE, tern_read_begin(&reader, "g", &count));
        EXPECT_DETAIL("too short");
        memory[1 + i] ^= spoilt[i];
    }
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
    EXPECT_OK(tern_read_begin(&reader, "g", &count));
    tern_writer_close(&writer);
    EXPECT(TERN_ERR_STATE, tern_write_begin(&writer, "g", 0));
    EXPECT(TERN_ERR_STATE, tern_writer_reset(&writer));
}

/* Reset: the memory stays, whose ever it is, and so does what was failed of. */
static void reuse(void) {
    uint64_t memory[16] = {0};
    static const char text[1000] = "text";
    tern_writer writer;
    const void *archive = NULL;
    size_t bytes = 0;
    for (int own = 0; own < 2; own++) {
        void *heap = NULL;
        EXPECT_OK(tern_writer_open(&writer, own ? NULL : memory, own ? 0 : sizeof memory, 4096));
        for (int i = 0; i < 5; i++) {
            EXPECT_OK(TERN_WRITE(&writer, text, sizeof text));
            CU_ASSERT(heap == NULL || writer.heap == heap);
            EXPECT(i % 2 ? TERN_ERR_ARGUMENT : TERN_OK,
                   tern_write_string(&writer, i % 2 ? NULL : "again"));
            heap = writer.heap;
            EXPECT_OK(tern_writer_reset(&writer));
            EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
            CU_ASSERT(archive == heap && bytes == 8);
        }
        tern_writer_close(&writer);
    }
    EXPECT(TERN_ERR_RANGE, tern_writer_open(&writer, memory, 4, 4));
    EXPECT(TERN_ERR_RANGE, tern_writer_reset(&writer));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_open(&writer, (char *)memory + 1, 64, 64));
    EXPECT(TERN_ERR_STATE, tern_writer_reset(&writer));
}

static void chunks_are_checked(void) {
    static const double values[4] = {1, 2, 3, 4};
    uint64_t memory[16];
    double got[4];
    tern_writer writer;
    tern_reader reader;
    size_t count = 0;
    EXPECT_OK(tern_writer_open(&writer, memory, sizeof memory, sizeof memory));
    CU_ASSERT(tern_writer_chunks(&writer, &count) == NULL && count == 0);
    EXPECT_OK(tern_writer_share(&writer, NULL, sizeof values));
    EXPECT_OK(TERN_WRITE(&writer, values, 3));
    CU_ASSERT(tern_writer_chunks(&writer, &count) == NULL && count == 0);
    EXPECT_OK(TERN_WRITE(&writer, values, 4));
    const tern_chunk *chunks = tern_writer_chunks(&writer, &count);
    CU_ASSERT(count == 1 && chunks->memory == values && chunks->bytes == sizeof values);
    CU_ASSERT(tern_ptr_is_null(chunks->place) && chunks->buffer == NULL);
    CU_ASSERT_EQUAL(writer.bytes, 8 + 8 + 24 + 8);

    tern_chunk pieces[2] = {*chunks, *chunks};
    for (size_t given = 0; given < 3; given++) {
        EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
        EXPECT_OK(tern_reader_chunks(&reader, pieces, given));
        EXPECT_OK(TERN_READ(&reader, got, 3));
        EXPECT(given > 0 ? TERN_OK : TERN_ERR_RANGE, TERN_READ(&reader, got, 4));
        EXPECT(given == 0   ? TERN_ERR_RANGE
               : given == 1 ? TERN_OK
                            : TERN_ERR_MISMATCH,
               tern_reader_close(&reader));
    }
    EXPECT_DETAIL("1 chunks of the archive were not asked for");
    pieces[1].memory = NULL;
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
    EXPECT(TERN_ERR_ARGUMENT, tern_reader_chunks(&reader, pieces, 2));
    EXPECT_DETAIL("chunk 1 of 2");
    EXPECT_OK(tern_reader_open(&reader, memory, writer.bytes));
    EXPECT(TERN_ERR_ARGUMENT, tern_reader_chunks(&reader, NULL, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_share(&writer, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_share(&writer, NULL, 5));
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_gather(&writer, NULL, 0, &count));
    EXPECT_OK(tern_writer_reset(&writer));
    CU_ASSERT(tern_writer_chunks(&writer, &count) == NULL && count == 0);
    tern_writer_close(&writer);
    EXPECT(TERN_ERR_STATE, tern_writer_share(&writer, NULL, 5));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"random_trees", random_trees},
        {"arrays_and_lists", arrays_and_lists},
        {"plain_values", plain_values},
        {"wrong_types", wrong_types},
        {"groups", groups},
        {"reuse", reuse},
        {"chunks_are_checked", chunks_are_checked},
    };
    return tern_test_main(argc, argv, "archive_values", tests, sizeof tests / sizeof tests[0]);
}
