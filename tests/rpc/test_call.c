// tern-test: transports

/* Calls one by one: results, requests, errors, limits, registration. */

#include "call_tools.h"

#include <sched.h>
#include <stdlib.h>

/* The result is as long as the arguments ask for. */
static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t wanted[2];
    memcpy(wanted, arguments, sizeof wanted);
    unsigned char *result = call->result;
    for (size_t i = 0; i < wanted[0] && i < TERN_RESULT_MAX; i++)
        result[i] = (unsigned char)(wanted[1] + i);
    call->result_bytes = wanted[0];
    return bytes == sizeof wanted ? TERN_OK : TERN_ERR_ARGUMENT;
}
TERN_FUNCTION(answer)

static size_t wrong_answer(const unsigned char *result, size_t bytes, uint64_t key) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += result[i] != (unsigned char)(key + i);
    return wrong;
}

static void results(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 100, 1000, 1023, TERN_RESULT_MAX};
    unsigned char result[TERN_RESULT_MAX + 8];
    uint64_t key = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t wanted[2] = {sizes[i], ++key};
            size_t got = 99999;
            memset(result, 0xaa, sizeof result);
            EXPECT_OK(tern_call_return(f.worker, to(r), &answer_function, wanted, sizeof wanted,
                                       result, TERN_RESULT_MAX, &got));
            CU_ASSERT_EQUAL(got, sizes[i]);
            CU_ASSERT_EQUAL(wrong_answer(result, sizes[i], key), 0);
            CU_ASSERT_EQUAL(result[sizes[i]], 0xaa);

            /* Room for just that, without asking for the length. */
            memset(result, 0xaa, sizeof result);
            EXPECT_OK(tern_call_return(f.worker, to(r), &answer_function, wanted, sizeof wanted,
                                       sizes[i] > 0 ? result : NULL, sizes[i], NULL));
            CU_ASSERT_EQUAL(wrong_answer(result, sizes[i], key), 0);
            CU_ASSERT_EQUAL(result[sizes[i]], 0xaa);

            /* One byte too little: nothing is handed out. */
            if (sizes[i] == 0)
                continue;
            memset(result, 0xaa, sizeof result);
            got = 4711;
            EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(r), &answer_function, wanted,
                                                    sizeof wanted, result, sizes[i] - 1, &got));
            CU_ASSERT_EQUAL(got, 4711);
            CU_ASSERT(result[0] == 0xaa && result[sizes[i] - 1] == 0xaa);
        }
        uint64_t wanted[2] = {TERN_RESULT_MAX + 1, 0};
        EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(r), &answer_function, wanted,
                                                sizeof wanted, result, sizeof result, NULL));
        EXPECT_DETAIL("answer");
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static tern_status fail_as_told(tern_call_info *call, const void *arguments, size_t bytes) {
    int status;
    (void)call;
    (void)bytes;
    memcpy(&status, arguments, sizeof status);
    return (tern_status)status;
}
TERN_FUNCTION(fail_as_told)

/* What the handler returns is what the caller gets; nobody hears of it after tern_call, but it is
 * counted. */
static void handlers_that_fail(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    tern_stats stats;
    uint64_t refused = 0;
    for (int status = TERN_ERR_ARGUMENT; status < TERN_STATUS_COUNT; status++) {
        if (status == TERN_ERR_AGAIN)
            continue;
        uint64_t result = 5;
        size_t got = 6;
        EXPECT((tern_status)status,
               tern_call_return(f.worker, to(next), &fail_as_told_function, &status, sizeof status,
                                &result, sizeof result, &got));
        CU_ASSERT_EQUAL(result, 5);
        CU_ASSERT_EQUAL(got, 6);
        EXPECT_OK(tern_call(f.worker, to(next), &fail_as_told_function, &status, sizeof status));
        refused += 2;
    }
    EXPECT_OK(tern_quiesce(f.worker));
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, refused);
    CU_ASSERT_EQUAL(stats.calls_executed, refused);
    fixture_close(&f);
}

/* Up to the limit at once, collected in any order, by waiting or by testing. */
static void requests(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    static tern_request request[TERN_CALL_REQUESTS], extra;
    static uint64_t wanted[TERN_CALL_REQUESTS][2];
    static unsigned char result[TERN_CALL_REQUESTS][TERN_RESULT_MAX];
    uint64_t random = fixture_seed(&f, 31), key = 0, wrong = 0;
    int rounds = fixture_times(&f, 100);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < TERN_CALL_REQUESTS; i++) {
            wanted[i][0] = below(&random, below(&random, 2) ? 16 : TERN_RESULT_MAX + 1);
            wanted[i][1] = ++key;
            EXPECT_OK(tern_call_start(f.worker, to((uint32_t)below(&random, f.size)),
                                      &answer_function, wanted[i], sizeof wanted[i], result[i],
                                      sizeof result[i], &request[i]));
        }
        EXPECT(TERN_ERR_AGAIN, tern_call_start(f.worker, to(0), &answer_function, wanted[0],
                                               sizeof wanted[0], NULL, 0, &extra));
        if (round % 3 == 2)
            EXPECT_OK(tern_quiesce(f.worker));
        size_t start = below(&random, TERN_CALL_REQUESTS);
        for (size_t k = 0; k < TERN_CALL_REQUESTS; k++) {
            size_t i = (start + k * 27) % TERN_CALL_REQUESTS;
            int done = round % 3 == 0;
            while (!done)
                EXPECT_OK(tern_test(f.worker, &request[i], &done));
            EXPECT_OK(tern_wait(f.worker, &request[i]));
            const size_t got = tern_request_result(&request[i]);
            wrong += got != wanted[i][0] || wrong_answer(result[i], got, wanted[i][1]) != 0;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

static void size_limits(void) {
    static const size_t rings[] = {4096, 65536, (size_t)16 << 20};
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        if (!open_with_rings(&f, rings[i]))
            return;
        size_t limit = rings[i] / 2 - 64;
        if (limit > TERN_ARGUMENTS_MAX)
            limit = TERN_ARGUMENTS_MAX;
        unsigned char *arguments = malloc(limit + 1);
        memset(&arrived, 0, sizeof arrived);
        EXPECT_OK(tern_barrier(f.worker));
        uint32_t next = (f.rank + 1) % f.size;
        for (uint64_t k = 0; k < 3; k++)
            EXPECT_OK(tern_call(f.worker, to(next), &receive_function, arguments,
                                compose(arguments, f.rank, k, limit)));
        tern_request request = {0};
        const size_t large[] = {(size_t)TERN_CHUNK_MAX + 1, SIZE_MAX / 2, SIZE_MAX, UINT32_MAX};
        for (size_t k = 0; k < sizeof large / sizeof large[0]; k++) {
            EXPECT(TERN_ERR_RANGE,
                   tern_call(f.worker, to(next), &receive_function, arguments, large[k]));
            EXPECT(TERN_ERR_RANGE,
                   tern_call_try(f.worker, to(next), &receive_function, arguments, large[k]));
            EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(next), &receive_function,
                                                    arguments, large[k], NULL, 0, NULL));
            EXPECT(TERN_ERR_RANGE, tern_call_start(f.worker, to(next), &receive_function, arguments,
                                                   large[k], NULL, 0, &request));
        }
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(arrived.wrong, 0);
        CU_ASSERT_EQUAL(arrived.next[(f.rank + f.size - 1) % f.size], 3);
        free(arguments);
        fixture_close(&f);
    }
}

/* A call to oneself is queued like any other: not run inside tern_call, but in progress. */
static void to_oneself(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    memset(&arrived, 0, sizeof arrived);
    unsigned char arguments[100];
    for (uint64_t i = 0; i < 20; i++)
        EXPECT_OK(tern_call(f.worker, to(f.rank), &receive_function, arguments,
                            compose(arguments, f.rank, i, 16 + i)));
    CU_ASSERT_EQUAL(arrived.next[f.rank], 0);
    while (arrived.next[f.rank] < 20)
        tern_progress(f.worker);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    fixture_close(&f);
}

/* Everything that waits is refused while a handler runs. */
static struct {
    tern_status call_return, wait, quiesce, barrier, destroy, release, deep;
    size_t progress;
    int runs, deep_runs;
    tern_request under_way;
} inside;

static tern_status deeper(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    inside.deep_runs++;
    return TERN_OK;
}
TERN_FUNCTION(deeper)

static tern_status try_waiting(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    tern_worker *worker = call->worker;
    /* The ring to the caller may not be there yet: the first record of a pair opens it. */
    inside.deep = tern_call(worker, call->origin, &deeper_function, NULL, 0);
    if (inside.deep != TERN_OK)
        return inside.deep;
    inside.deep = tern_call_start(worker, tern_worker_self(worker), &deeper_function, NULL, 0, NULL,
                                  0, &inside.under_way);
    if (inside.deep != TERN_OK)
        return inside.deep;
    inside.runs++;
    inside.call_return =
        tern_call_return(worker, call->origin, &deeper_function, NULL, 0, NULL, 0, NULL);
    inside.wait = tern_wait(worker, &inside.under_way);
    inside.quiesce = tern_quiesce(worker);
    inside.barrier = tern_barrier(worker);
    inside.destroy = tern_context_destroy(tern_worker_context(worker));
    inside.release = tern_worker_release(worker);
    inside.progress = tern_progress(worker);
    return TERN_OK;
}
TERN_FUNCTION(try_waiting)

static void waiting_in_a_handler(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    memset(&inside, 0, sizeof inside);
    inside.progress = 99;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_call_return(f.worker, to((f.rank + 1) % f.size), &try_waiting_function, NULL, 0,
                               NULL, 0, NULL));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(inside.runs, 1);
    CU_ASSERT_EQUAL(inside.call_return, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.wait, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.quiesce, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.barrier, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.destroy, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.release, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(inside.progress, 0);
    CU_ASSERT_EQUAL(inside.deep, TERN_OK);
    EXPECT_OK(tern_wait(f.worker, &inside.under_way));
    CU_ASSERT_EQUAL(inside.deep_runs, 2);
    fixture_close(&f);
}

static tern_status late(tern_call_info *call, const void *arguments, size_t bytes) {
    return receive_nothing(call, arguments, bytes);
}

static void wrong_arguments(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    char a[8] = {0};
    tern_request request = {0};
    const tern_worker_id nobody[] = {{f.size, 0}, {UINT32_MAX, 0}, {0, 1}, {f.rank, UINT32_MAX}};
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
        EXPECT(TERN_ERR_ARGUMENT, tern_call(f.worker, nobody[i], &receive_function, a, 8));
        EXPECT(TERN_ERR_ARGUMENT, tern_call_try(f.worker, nobody[i], &receive_function, a, 8));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_call_return(f.worker, nobody[i], &receive_function, a, 8, NULL, 0, NULL));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_call_start(f.worker, nobody[i], &receive_function, a, 8, NULL, 0, &request));
    }
    tern_worker_id self = to(f.rank);
    EXPECT(TERN_ERR_ARGUMENT, tern_call(f.worker, self, NULL, a, 8));
    EXPECT(TERN_ERR_ARGUMENT, tern_call(f.worker, self, &receive_function, NULL, 8));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_start(f.worker, self, &receive_function, a, 8, NULL, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_return(f.worker, self, &receive_function, a, 8, NULL, 8, NULL));

    /* Not registered at all, and registered when the context was there already. */
    static tern_function unknown = {"unknown", late, NULL, 0};
    EXPECT(TERN_ERR_NOT_FOUND, tern_call(f.worker, self, &unknown, a, 8));
    EXPECT_DETAIL("unknown");
    static tern_function later = {"later", late, NULL, 0};
    EXPECT_OK(tern_function_register(&later));
    EXPECT(TERN_ERR_NOT_FOUND, tern_call(f.worker, self, &later, a, 8));
    EXPECT_DETAIL("later");
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);

    /* The next context knows it. */
    if (!open_with_rings(&f, 16384))
        return;
    count_empty = 0;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(
        tern_call_return(f.worker, to((f.rank + 1) % f.size), &later, NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(count_empty, 1);
    fixture_close(&f);
}

static void registration(void) {
    tern_function bad[] = {
        {NULL, late, NULL, 0}, {"no_handler", NULL, NULL, 0}, {"", late, NULL, 0}};
    for (int i = 0; i < 3; i++)
        EXPECT(TERN_ERR_ARGUMENT, tern_function_register(&bad[i]));
    EXPECT(TERN_ERR_ARGUMENT, tern_function_register(NULL));
    static tern_function taken = {"receive", late, NULL, 0};
    EXPECT(TERN_ERR_EXISTS, tern_function_register(&taken));
    EXPECT_DETAIL("receive");
    CU_ASSERT_EQUAL(taken.id, 0);
}

/* Numbers of functions differ from rank to rank; names decide. */
static uint64_t first_ran, second_ran;

static tern_status run_first(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    first_ran++;
    return TERN_OK;
}

static tern_status run_second(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    second_ran++;
    return TERN_OK;
}

static void names_decide(void) {
    static tern_function first = {"order.first", run_first, NULL, 0};
    static tern_function second = {"order.second", run_second, NULL, 0};
    EXPECT_OK(tern_function_register(tern_test_rank() % 2 == 0 ? &first : &second));
    EXPECT_OK(tern_function_register(tern_test_rank() % 2 == 0 ? &second : &first));
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    first_ran = second_ran = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT_OK(tern_call(f.worker, to(r), &first, NULL, 0));
        EXPECT_OK(tern_call(f.worker, to(r), &second, NULL, 0));
        EXPECT_OK(tern_call(f.worker, to(r), &second, NULL, 0));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(first_ran, f.size);
    CU_ASSERT_EQUAL(second_ran, 2 * f.size);
    fixture_close(&f);
}

/* What two functions of one handler count. */
typedef struct tally {
    uint64_t calls, sum;
} tally;

static tern_status count(tern_call_info *call, const void *arguments, size_t bytes) {
    tally *mine = call->user;
    uint64_t number;
    if (mine == NULL || bytes != sizeof number)
        return tern_call_fail(call, TERN_ERR_ARGUMENT, "no tally or %zu bytes", bytes);
    memcpy(&number, arguments, sizeof number);
    mine->calls++;
    mine->sum += number;
    memcpy(call->result, &mine->sum, sizeof mine->sum);
    call->result_bytes = sizeof mine->sum;
    return TERN_OK;
}

static void handlers_have_a_user_pointer(void) {
    static tally even, odd;
    static tern_function on_even = {.name = "count.even", .handler = count, .user = &even};
    static tern_function on_odd = {.name = "count.odd", .handler = count, .user = &odd};
    static tern_function other = {.name = "count.odd", .handler = count, .user = &even};
    static tern_function same = {.name = "count.odd", .handler = count, .user = &odd};
    EXPECT_OK(tern_function_register(&on_even));
    EXPECT_OK(tern_function_register(&on_odd));
    EXPECT(TERN_ERR_EXISTS, tern_function_register(&other));
    EXPECT_DETAIL("another user pointer");
    CU_ASSERT_EQUAL(other.id, 0);
    EXPECT_OK(tern_function_register(&same));
    CU_ASSERT_EQUAL(same.id, on_odd.id);
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    even = odd = (tally){0, 0};
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t sum = 0;
    enum { ROUNDS = 50 };
    for (uint64_t i = 0; i < ROUNDS; i++)
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_call(f.worker, to(r), i % 2 == 0 ? &on_even : &on_odd, &i, sizeof i));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(even.calls, f.size * ROUNDS / 2);
    CU_ASSERT_EQUAL(even.sum, f.size * (ROUNDS / 2) * (ROUNDS / 2 - 1));
    CU_ASSERT_EQUAL(odd.calls, f.size * ROUNDS / 2);
    CU_ASSERT_EQUAL(odd.sum, f.size * (ROUNDS / 2) * (ROUNDS / 2));
    EXPECT_OK(tern_barrier(f.worker));
    const uint64_t one = 1;
    size_t bytes = 0;
    EXPECT_OK(tern_call_return(f.worker, to((f.rank + 1) % f.size), &on_even, &one, sizeof one,
                               &sum, sizeof sum, &bytes));
    CU_ASSERT_EQUAL(bytes, sizeof sum);
    CU_ASSERT_EQUAL(sum, f.size * (ROUNDS / 2) * (ROUNDS / 2 - 1) + 1);
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* A put, a fence, a call: the handler sees what was put. */
static uint64_t stale;

static tern_status look(tern_call_info *call, const void *arguments, size_t bytes) {
    struct {
        tern_ptr p;
        uint64_t value;
    } a;
    memcpy(&a, arguments, bytes);
    const volatile uint64_t *here = tern_local(tern_worker_context(call->worker), a.p);
    stale += here == NULL || here[0] != a.value || here[511] != a.value;
    return TERN_OK;
}
TERN_FUNCTION(look)

static void fence_orders_put_and_call(void) {
    fixture f;
    if (!open_with_rings(&f, 16384))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 4096 * f.size, TERN_DOMAIN_GLOBAL, all);
    stale = 0;
    EXPECT_OK(tern_barrier(f.worker));
    struct {
        tern_ptr p;
        uint64_t value;
    } a;
    uint64_t words[512];
    int rounds = fixture_times(&f, 2000);
    uint32_t next = (f.rank + 1) % f.size;
    a.p = tern_ptr_add(all[next], 4096 * (int64_t)f.rank);
    for (a.value = 1; a.value <= (uint64_t)rounds; a.value++) {
        for (int i = 0; i < 512; i++)
            words[i] = a.value;
        EXPECT_OK(tern_put(f.worker, a.p, words, sizeof words));
        EXPECT_OK(tern_fence(f.worker, next));
        EXPECT_OK(
            tern_call_return(f.worker, to(next), &look_function, &a, sizeof a, NULL, 0, NULL));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(stale, 0);
    fixture_free_all(&f, all);
    free(all);
    fixture_close(&f);
}

/* The last test: the register keeps what one rank put there, until the others follow. */
static void a_function_of_one_rank(void) {
    static tern_function lonely = {"lonely_function", late, NULL, 0};
    if (tern_test_size() == 1) {
        tern_test_skip("one rank always agrees");
        return;
    }
    if (tern_test_rank() == tern_test_size() - 1)
        EXPECT_OK(tern_function_register(&lonely));
    tern_context *context = NULL;
    EXPECT(TERN_ERR_MISMATCH, tern_context_create(MPI_COMM_WORLD, NULL, &context));
    EXPECT_DETAIL("lonely_function");
    CU_ASSERT_PTR_NULL(context);
    if (tern_test_rank() < tern_test_size() - 1)
        EXPECT_OK(tern_function_register(&lonely));
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    EXPECT_OK(tern_context_destroy(context));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"results", results},
        {"handlers_that_fail", handlers_that_fail},
        {"requests", requests},
        {"size_limits", size_limits},
        {"to_oneself", to_oneself},
        {"waiting_in_a_handler", waiting_in_a_handler},
        {"wrong_arguments", wrong_arguments},
        {"registration", registration},
        {"names_decide", names_decide},
        {"handlers_have_a_user_pointer", handlers_have_a_user_pointer},
        {"fence_orders_put_and_call", fence_orders_put_and_call},
        {"a_function_of_one_rank", a_function_of_one_rank},
    };
    return tern_test_main(argc, argv, "call", tests, sizeof tests / sizeof tests[0]);
}
