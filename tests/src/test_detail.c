// tern-test: transports

/*
 * A successful call leaves no detail, though the system refused what the library tried first, or a
 * handler that ran meanwhile failed. EXPECT_OK asserts it in every suite; here the
 * refusals are forced.
 */

#include "fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool refusing;

/* Stands before the one of libc: while refusing, the system has no membarrier. */
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (refusing && number == SYS_membarrier) {
        errno = ENOSYS;
        return -1;
    }
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool open_refused(fixture *f) {
    tern_config config;
    if (!EXPECT_OK(tern_config_init(&config)))
        return false;
    config.segment_size = (size_t)16 << 20;
    config.huge_pages = TERN_HUGE_PAGES_1G;
    config.cma = TERN_CMA_OFF;
    config.log_level = TERN_LOG_NONE;
    refusing = true;
    bool opened = fixture_open(f, &config);
    refusing = false;
    return opened;
}

static void creation_recovers_quietly(void) {
    fixture f;
    if (open_refused(&f))
        fixture_close(&f);
}

/* Registered memory of a rank of the node is copied by its owner when the system refuses. */
static void transfers_recover_quietly(void) {
    fixture f;
    static uint64_t memory[64];
    tern_ptr mine = TERN_NULL, all[16];
    if (!open_refused(&f))
        return;
    EXPECT_OK(tern_register(f.worker, memory, sizeof memory, &mine));
    fixture_share(&f, &mine, sizeof mine, all);
    uint64_t sent[64] = {1, 2, 3}, got[64];
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_put(f.worker, all[next], sent, sizeof sent));
    EXPECT_OK(tern_flush_all(f.worker));
    EXPECT_OK(tern_get(f.worker, got, all[next], sizeof got));
    CU_ASSERT(memcmp(sent, got, sizeof sent) == 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_deregister(f.worker, mine));
    fixture_close(&f);
}

static unsigned refusals;

static tern_status refuse(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    refusals++;
    return tern_register(call->worker, NULL, 0, NULL);
}
TERN_FUNCTION(refuse)

/* A handler fails while this thread waits in a call that succeeds: the error is its caller's. */
static void errors_of_handlers_stay_with_their_callers(void) {
    fixture f;
    if (!open_refused(&f))
        return;
    tern_worker_id next = {(f.rank + 1) % f.size, 0};
    refusals = 0;
    EXPECT_OK(tern_call(f.worker, next, &refuse_function, NULL, 0));
    EXPECT_OK(tern_call(f.worker, tern_by_message(next), &refuse_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_return(f.worker, next, &refuse_function, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(refusals, 3);
    fixture_close(&f);
}

/* Another rank's request to this one fails while this one waits. */
static void errors_of_requests_stay_with_their_callers(void) {
    fixture f;
    if (!open_refused(&f))
        return;
    tern_ptr p = TERN_NULL;
    EXPECT(TERN_ERR_MEMORY, tern_alloc_on(f.worker, (f.rank + 1) % f.size, TERN_NUMA_ANY,
                                          (size_t)64 << 20, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* The old text does not look like one of the creation. */
static void creation_forgets_what_failed_before(void) {
    fixture f;
    tern_config config;
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_HERE", "1"));
    tern_context *context = NULL;
    CU_ASSERT_EQUAL(tern_context_create(MPI_COMM_WORLD, NULL, &context), TERN_OK);
    CU_ASSERT_STRING_EQUAL(tern_error_detail(), "");
    EXPECT_OK(tern_context_destroy(context));
    if (!fixture_open(&f, NULL))
        return;
    tern_queue *queue = NULL;
    tern_queue_options options = {.item_bytes = 8, .capacity = 4};
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_HERE", "1"));
    CU_ASSERT_EQUAL(tern_queue_create(f.worker, &options, &queue), TERN_OK);
    CU_ASSERT_STRING_EQUAL(tern_error_detail(), "");
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"creation_recovers_quietly", creation_recovers_quietly},
        {"transfers_recover_quietly", transfers_recover_quietly},
        {"errors_of_handlers_stay_with_their_callers", errors_of_handlers_stay_with_their_callers},
        {"errors_of_requests_stay_with_their_callers", errors_of_requests_stay_with_their_callers},
        {"creation_forgets_what_failed_before", creation_forgets_what_failed_before},
    };
    return tern_test_main(argc, argv, "detail", tests, sizeof tests / sizeof tests[0]);
}
