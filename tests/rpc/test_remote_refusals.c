// tern-test: ranks

/* What TERN_REMOTE refuses: arguments that no caller of the same declaration sends, functions that
 * are declared differently, by ranks or within one. */

#include "call_tools.h"

#include <stdlib.h>

#include "tern/remote.h"

static struct { uint64_t fixed, mixed, bad; } ran;

static volatile uint64_t sink;

TERN_REMOTE(fixed, (uint64_t, a), (uint16_t, b))
TERN_REMOTE(mixed, (uint64_t, key), TERN_STRING(text), TERN_BUFFER(uint32_t, numbers))

tern_status fixed_here(tern_call_info *call, uint64_t a, uint16_t b) {
    (void)call;
    (void)a;
    (void)b;
    ran.fixed++;
    return TERN_OK;
}

/* Reads all that it is given: AddressSanitizer watches. */
tern_status mixed_here(tern_call_info *call, uint64_t key, const char *text,
                       const uint32_t *numbers, size_t numbers_count) {
    (void)call;
    sink += key + strlen(text);
    for (size_t i = 0; i < numbers_count; i++)
        sink += numbers[i];
    ran.bad += (uintptr_t)text % 8 != 0 || (uintptr_t)numbers % 8 != 0;
    ran.mixed++;
    return TERN_OK;
}

/* Records of any other length, through the ring as plain bytes. */
static void wrong_lengths(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    memset(&ran, 0, sizeof ran);
    EXPECT_OK(tern_barrier(f.worker));
    static const uint64_t bytes[16];
    tern_worker_id next = to((f.rank + 1) % f.size);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        if (length == 10) /* the last member ends there */
            continue;
        EXPECT(TERN_ERR_MISMATCH,
               tern_call_return(f.worker, next, &fixed_function, bytes, length, NULL, 0, NULL));
        EXPECT_DETAIL("fixed(uint64, uint16)");
        tern_status status =
            tern_call_return(f.worker, next, &mixed_function, bytes, length, NULL, 0, NULL);
        CU_ASSERT(status == TERN_ERR_MISMATCH || status == TERN_ERR_RANGE);
        EXPECT_OK(tern_call(f.worker, next, &fixed_function, bytes, length));
    }
    EXPECT_OK(tern_call(f.worker, next, &fixed_function, bytes, 10));
    EXPECT_OK(fixed(f.worker, next, 1, 2));
    EXPECT_OK(tern_quiesce(f.worker));
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(ran.fixed, 2);
    CU_ASSERT_EQUAL(ran.mixed, 0);
    CU_ASSERT_EQUAL(stats.calls_refused, 3 * sizeof bytes);
    fixture_close(&f);
}

/* An archive as a caller makes it. */
static unsigned char *packed(uint64_t *random, size_t *bytes) {
    char text[40];
    uint32_t numbers[20];
    const uint64_t key = tern_test_random(random);
    tern_writer writer;
    const void *archive = NULL;
    memset(text, 'x', sizeof text);
    text[below(random, sizeof text)] = 0;
    for (size_t i = 0; i < 20; i++)
        numbers[i] = (uint32_t)tern_test_random(random);
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 4096));
    EXPECT_OK(tern_write_items(&writer, TERN_ITEM_BYTES, 1, &key, sizeof key));
    EXPECT_OK(tern_write_string(&writer, text));
    EXPECT_OK(TERN_WRITE(&writer, numbers, below(random, 21)));
    EXPECT_OK(tern_writer_finish(&writer, &archive, bytes));
    unsigned char *copy = malloc(*bytes);
    memcpy(copy, archive, *bytes);
    tern_writer_close(&writer);
    return copy;
}

static tern_status handle(const unsigned char *archive, size_t bytes) {
    unsigned char *alone = malloc(bytes + (bytes == 0));
    tern_call_info call;
    memset(&call, 0, sizeof call);
    memcpy(alone, archive, bytes);
    tern_status status = mixed_handler(&call, alone, bytes);
    free(alone);
    return status;
}

/* The handler itself, on archives that are cut off and changed. */
static void hostile_archives(void) {
    uint64_t random = tern_test_seed() + (uint64_t)tern_test_rank(), whole = 0;
    int rounds = tern_test_full() ? 2000 : 40;
    memset(&ran, 0, sizeof ran);
    for (int round = 0; round < rounds; round++) {
        size_t bytes = 0;
        unsigned char *archive = packed(&random, &bytes);
        EXPECT_OK(handle(archive, bytes));
        whole++;
        for (size_t cut = 0; cut < bytes; cut++)
            CU_ASSERT_NOT_EQUAL(handle(archive, cut), TERN_OK);
        CU_ASSERT_EQUAL(ran.mixed, whole);
        for (int i = 0; i < 200; i++) {
            size_t at = below(&random, bytes);
            unsigned char before = archive[at];
            archive[at] ^= (unsigned char)(1 + below(&random, 255));
            whole += handle(archive, bytes) == TERN_OK;
            archive[at] = before;
        }
        CU_ASSERT_EQUAL(ran.mixed, whole);
        free(archive);
    }
    CU_ASSERT_EQUAL(ran.bad, 0);
}

/* The last tests: the register keeps what is put there. */
static tern_status never(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_ERR_STATE;
}

static const tern_remote_parameter one_number[] = {
    {TERN_REMOTE_VALUE, TERN_ITEM_SIGNED, 4, 1, "int"}, {0, TERN_ITEM_BYTES, 0, 0, ""}};
static const tern_remote_parameter other_number[] = {
    {TERN_REMOTE_RESULT, TERN_ITEM_FLOAT, 8, 1, "double"},
    {TERN_REMOTE_VALUE, TERN_ITEM_SIGNED, 4, 1, "int"},
    {0, TERN_ITEM_BYTES, 0, 0, ""}};

static void refuse_context(tern_status wanted, const char *detail, const char *detail_too) {
    tern_context *context = NULL;
    EXPECT(wanted, tern_context_create(MPI_COMM_WORLD, NULL, &context));
    EXPECT_DETAIL(detail);
    EXPECT_DETAIL(detail_too);
    CU_ASSERT_PTR_NULL(context);
}

static void ranks_that_differ(void) {
    static tern_function differing = {"differing", never, NULL, 0};
    if (tern_test_size() == 1) {
        tern_test_skip("one rank always agrees");
        return;
    }
    tern_remote_register(&differing, tern_test_rank() == 0 ? one_number : other_number);
    refuse_context(TERN_ERR_MISMATCH, "differing(int32)", "differing(int32):float64");
}

/* As a second source file that declares it differently would; the first failure is told. */
static void two_functions_of_one_name(void) {
    static tern_function again = {"fixed", never, NULL, 0}, plain = {"mixed", never, NULL, 0};
    EXPECT(TERN_ERR_EXISTS, tern_function_register(&plain));
    EXPECT_DETAIL("mixed(uint64, string, uint32*)");
    CU_ASSERT_EQUAL(plain.id, 0);
    tern_remote_register(&again, one_number);
    CU_ASSERT_EQUAL(again.id, 0);
    tern_internal_function_declare(&plain);
    refuse_context(TERN_ERR_EXISTS, "fixed(int32)", "fixed(uint64, uint16)");
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"wrong_lengths", wrong_lengths},
        {"hostile_archives", hostile_archives},
        {"ranks_that_differ", ranks_that_differ},
        {"two_functions_of_one_name", two_functions_of_one_name},
    };
    return tern_test_main(argc, argv, "remote_refusals", tests, sizeof tests / sizeof tests[0]);
}
