// tern-test: transports

/*
 * Calls whose arguments are built in place: every one arrives once, whole and in order, among other
 * calls, whatever the ring has room for; cancelled ones leave no trace; what is not allowed while a
 * call is being built is refused by name.
 */

#include "fixture.h"

#include <stdlib.h>

enum { RANKS = 16, LARGEST = 70000, STREAMS = 2 };

static uint64_t seed;
static uint64_t came[STREAMS][RANKS]; /* by origin */
static uint64_t sent[STREAMS][RANKS]; /* by target */
static uint32_t own_rank;

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t state = a * UINT64_C(0x9e3779b97f4a7c15) ^ b;
    return tern_test_random(&state);
}

/* Size and content of each call follow from the pair and its number. */
static uint64_t name_of(int stream, uint32_t from, uint32_t to, uint64_t number) {
    return mix(seed, mix((uint64_t)stream << 32 | from << 16 | to, number));
}

static size_t size_of(uint64_t name) {
    const uint64_t kind = mix(name, 1) % 40;
    return mix(name, 2) % (kind == 0 ? LARGEST : kind < 4 ? 4000 : kind < 20 ? 64 : 300);
}

static void compose(void *to, uint64_t name, size_t bytes) {
    unsigned char *at = to;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(name + i * 7);
}

static bool is_composed(const void *from, uint64_t name, size_t bytes) {
    const unsigned char *at = from;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)(name + i * 7))
            return false;
    return true;
}

static tern_status take(int stream, const tern_call_info *call, const void *arguments,
                        size_t bytes) {
    const uint32_t from = call->origin.rank;
    const uint64_t name = name_of(stream, from, own_rank, came[stream][from]++);
    CU_ASSERT_EQUAL(bytes, size_of(name));
    CU_ASSERT_EQUAL((uintptr_t)arguments % 8, 0);
    CU_ASSERT(bytes != size_of(name) || is_composed(arguments, name, bytes));
    return TERN_OK;
}

static tern_status receive(tern_call_info *call, const void *arguments, size_t bytes) {
    return take(0, call, arguments, bytes);
}
TERN_FUNCTION(receive)

static tern_status receive_back(tern_call_info *call, const void *arguments, size_t bytes) {
    return take(1, call, arguments, bytes);
}
TERN_FUNCTION(receive_back)

/* Builds the next call of the stream in place. spare: reserves more than it uses. */
static tern_status build(tern_worker *worker, int stream, tern_worker_id target, size_t spare) {
    const uint64_t name = name_of(stream, own_rank, target.rank, sent[stream][target.rank]);
    const size_t bytes = size_of(name);
    tern_reservation call;
    tern_status status =
        tern_call_reserve(worker, target, stream == 0 ? &receive_function : &receive_back_function,
                          bytes + spare, &call);
    if (status != TERN_OK)
        return status;
    CU_ASSERT_EQUAL((uintptr_t)call.arguments % 8, 0);
    CU_ASSERT_EQUAL(call.bytes, bytes + spare);
    memset(call.arguments, 0xee, bytes + spare);
    compose(call.arguments, name, bytes);
    status = tern_call_commit(&call, bytes);
    if (status == TERN_OK)
        sent[stream][target.rank]++;
    else
        tern_call_cancel(&call);
    return status;
}

/* A handler that calls back by a call built in place. */
static tern_status bounce(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    return build(call->worker, 1, call->origin, bytes);
}
TERN_FUNCTION(bounce)

static tern_status copy(tern_worker *worker, tern_worker_id target, bool queued) {
    static unsigned char memory[LARGEST];
    const uint64_t name = name_of(0, own_rank, target.rank, sent[0][target.rank]);
    const size_t bytes = size_of(name);
    compose(memory, name, bytes);
    const tern_status status =
        queued ? tern_call_queue(worker, target, &receive_function, memory, bytes)
               : tern_call(worker, target, &receive_function, memory, bytes);
    sent[0][target.rank] += status == TERN_OK;
    return status;
}

/* While a call is being built the worker may put, get and call others, and nothing else. */
static void use_the_time(fixture *f, tern_worker_id target, tern_ptr word) {
    const tern_worker_id other = {(target.rank + 1) % f->size, 0};
    uint64_t value = 3, got = 0;
    tern_reservation second;
    EXPECT_OK(tern_put(f->worker, word, &value, sizeof value));
    EXPECT_OK(tern_get(f->worker, &got, word, sizeof got));
    CU_ASSERT_EQUAL(got, 3);
    CU_ASSERT_EQUAL(tern_progress(f->worker), 0);
    tern_ignore(tern_call_flush(f->worker, target));
    tern_ignore(tern_call_policy(f->worker, target, TERN_PUBLISH_BATCHED, 300));
    tern_error_clear();
    EXPECT(TERN_ERR_STATE, tern_call(f->worker, target, &receive_function, &value, sizeof value));
    EXPECT_DETAIL("has reserved a call to worker");
    EXPECT(TERN_ERR_STATE,
           tern_call_queue(f->worker, target, &receive_function, &value, sizeof value));
    EXPECT(TERN_ERR_STATE, tern_call_reserve(f->worker, other, &receive_function, 8, &second));
    EXPECT_DETAIL("tern_call_reserve: this worker has reserved a call");
    EXPECT(TERN_ERR_STATE, tern_barrier(f->worker));
    EXPECT_DETAIL("tern_call_reserve");
    EXPECT(TERN_ERR_STATE, tern_call_return(f->worker, other, &receive_function, NULL, 0, &value,
                                            sizeof value, NULL));
    if (other.rank != target.rank)
        tern_ignore(copy(f->worker, other, false)); /* may be refused as in a handler */
    tern_ignore(tern_call_flush(f->worker, target));
    tern_error_clear();
    tern_call_cork(f->worker);
    tern_call_uncork(f->worker);
}

static void send_one(fixture *f, uint64_t *random, tern_ptr word) {
    const uint64_t draw = tern_test_random(random);
    const tern_worker_id target = {(uint32_t)(draw >> 32) % f->size, 0};
    const uint64_t name = name_of(0, f->rank, target.rank, sent[0][target.rank]);
    tern_status status = TERN_OK;
    tern_reservation call;
    switch (draw % 16) {
    case 0:
    case 1:
        status = copy(f->worker, target, false);
        break;
    case 2:
        status = copy(f->worker, target, true);
        break;
    case 3: /* a cancelled one leaves no trace */
        EXPECT_OK(tern_call_reserve(f->worker, target, &receive_function, size_of(name), &call));
        memset(call.arguments, 0x55, call.bytes);
        tern_call_cancel(&call);
        tern_call_cancel(&call);
        EXPECT(TERN_ERR_ARGUMENT, tern_call_commit(&call, 0));
        break;
    case 4:
        EXPECT_OK(tern_call_reserve(f->worker, target, &receive_function, size_of(name), &call));
        compose(call.arguments, name, size_of(name));
        use_the_time(f, target, word);
        EXPECT(TERN_ERR_RANGE, tern_call_commit(&call, call.bytes + 1));
        EXPECT_OK(tern_call_commit(&call, size_of(name)));
        sent[0][target.rank]++;
        break;
    case 5:
        status = tern_call(f->worker, target, &bounce_function, &draw, draw >> 16 & 7);
        break;
    case 6:
        EXPECT_OK(tern_call_policy(f->worker, target, (tern_publish)(draw >> 16 & 1), 500));
        break;
    case 7:
        (void)tern_progress(f->worker);
        break;
    default:
        status = build(f->worker, 0, target, draw % 16 > 12 ? draw >> 16 & 1023 : 0);
    }
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
    if (status != TERN_OK)
        (void)tern_progress(f->worker);
    tern_error_clear();
}

static void expect_all(fixture *f) {
    uint64_t matrix[STREAMS * RANKS * RANKS] = {0};
    EXPECT_OK(tern_quiesce(f->worker));
    for (size_t s = 0; s < STREAMS; s++)
        for (uint32_t to = 0; to < f->size; to++)
            matrix[(s * RANKS + f->rank) * RANKS + to] = sent[s][to];
    EXPECT_OK(tern_sum(f->worker, matrix, STREAMS * RANKS * RANKS));
    for (size_t s = 0; s < STREAMS; s++)
        for (uint32_t from = 0; from < f->size; from++)
            CU_ASSERT_EQUAL(matrix[(s * RANKS + from) * RANKS + f->rank], came[s][from]);
}

static bool begin(fixture *f, size_t ring_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    if (ring_size > 0) {
        config.ring_size = ring_size;
        config.ring_growth = 1;
    }
    memset(came, 0, sizeof came);
    memset(sent, 0, sizeof sent);
    if (!fixture_open(f, &config))
        return false;
    own_rank = f->rank;
    return EXPECT_OK(tern_barrier(f->worker));
}

static void among_others(void) {
    static const size_t rings[] = {0, 4096};
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        tern_ptr word;
        seed = tern_test_seed() + i;
        if (!begin(&f, rings[i]))
            return;
        EXPECT_OK(tern_alloc(f.worker, 8, 0, TERN_DOMAIN_NODE, &word));
        uint64_t random = mix(seed, f.rank);
        for (int k = 0; k < 1500; k++)
            send_one(&f, &random, word);
        expect_all(&f);
        EXPECT_OK(tern_free(f.worker, word));
        fixture_close(&f);
    }
}

/* No call is lost and none overtakes another where all rings are full of calls that call back. */
static void rings_full(void) {
    fixture f;
    seed = tern_test_seed() + 7;
    if (!begin(&f, 4096))
        return;
    for (uint64_t k = 0; k < 600; k++) {
        const tern_worker_id target = {(uint32_t)(f.rank + k) % f.size, 0};
        tern_status status;
        while ((status = tern_call_queue(f.worker, target, &bounce_function, &k, k % 8)) ==
               TERN_ERR_AGAIN)
            (void)tern_progress(f.worker);
        EXPECT(TERN_OK, status);
        EXPECT(TERN_OK, build(f.worker, 0, target, 0));
    }
    expect_all(&f);
    fixture_close(&f);
}

static uint64_t noted[4];

static tern_status note(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    CU_ASSERT_EQUAL(bytes, 16);
    uint64_t word[2];
    memcpy(word, arguments, sizeof word);
    noted[word[0]] += word[1];
    return TERN_OK;
}
TERN_FUNCTION(note)

static tern_status forget(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_reservation left;
    (void)bytes;
    uint64_t most;
    memcpy(&most, arguments, sizeof most);
    return tern_call_reserve(call->worker, call->origin, &note_function, most, &left);
}
TERN_FUNCTION(forget)

static void note_by(tern_worker *worker, tern_worker_id target, uint64_t at, uint64_t value) {
    tern_reservation call;
    EXPECT(TERN_OK, tern_call_reserve(worker, target, &note_function, 64, &call));
    memcpy(call.arguments, (uint64_t[]){at, value}, 16);
    tern_status status;
    while ((status = tern_call_commit(&call, 16)) == TERN_ERR_AGAIN)
        ;
    EXPECT(TERN_OK, status);
    tern_error_clear();
}

/* By message, and by a thread without a worker. */
static void by_message(void) {
    fixture f;
    if (!begin(&f, 0))
        return;
    memset(noted, 0, sizeof noted);
    EXPECT_OK(tern_barrier(f.worker));
    const tern_worker_id next = {(f.rank + 1) % f.size, 0};
    for (uint64_t k = 1; k <= 100; k++) {
        note_by(f.worker, tern_by_message(next), 0, k);
        note_by(f.worker, next, 1, k);
        if (f.size > 1)
            note_by(tern_context_caller(f.context), next, 2, k);
        (void)tern_progress(f.worker);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(noted[0], 5050);
    CU_ASSERT_EQUAL(noted[1], 5050);
    CU_ASSERT_EQUAL(noted[2], f.size > 1 ? 5050 : 0);
    fixture_close(&f);
}

/* A handler that leaves a reservation open does no lasting harm. */
static void left_open(void) {
    static const uint64_t sizes[] = {16, 1500, 100000};
    fixture f;
    if (!begin(&f, 4096))
        return;
    memset(noted, 0, sizeof noted);
    EXPECT_OK(tern_barrier(f.worker));
    const tern_worker_id next = {(f.rank + 1) % f.size, 0};
    for (size_t i = 0; i < 3; i++) {
        EXPECT_OK(tern_call(f.worker, next, &forget_function, &sizes[i], 8));
        EXPECT_OK(tern_quiesce(f.worker));
        note_by(f.worker, next, 0, 1);
        EXPECT_OK(tern_quiesce(f.worker));
        CU_ASSERT_EQUAL(noted[0], i + 1);
    }
    fixture_close(&f);
}

static void refusals(void) {
    fixture f;
    static tern_function late = {.name = "late_in_place", .handler = note};
    tern_reservation call = {0};
    if (!begin(&f, 0))
        return;
    const tern_worker_id self = {f.rank, 0}, none = {f.size, 0};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_reserve(NULL, self, &note_function, 8, &call));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_reserve(f.worker, self, NULL, 8, &call));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_reserve(f.worker, none, &note_function, 8, &call));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_reserve(f.worker, self, &note_function, 8, NULL));
    EXPECT(TERN_ERR_NOT_FOUND, tern_call_reserve(f.worker, self, &late, 8, &call));
    EXPECT(TERN_ERR_RANGE,
           tern_call_reserve(f.worker, self, &note_function, (size_t)TERN_CHUNK_MAX + 1, &call));
    EXPECT_DETAIL("tern_call_reserve: bytes is");
    EXPECT(TERN_ERR_ARGUMENT, tern_call_commit(&call, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_commit(NULL, 0));
    tern_call_cancel(&call);
    tern_call_cancel(NULL);
    EXPECT_OK(tern_call_reserve(f.worker, self, &note_function, 24, &call));
    EXPECT(TERN_ERR_RANGE, tern_call_commit(&call, 25));
    EXPECT_DETAIL("24 were reserved");
    EXPECT(TERN_ERR_STATE, tern_worker_release(f.worker));
    memcpy(call.arguments, (uint64_t[]){3, 5}, 16);
    noted[3] = 0;
    EXPECT_OK(tern_call_commit(&call, 16));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(noted[3], 5);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"among_others", among_others},
                                           {"rings_full", rings_full},
                                           {"by_message", by_message},
                                           {"left_open", left_open},
                                           {"refusals", refusals}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "call_in_place", tests, sizeof tests / sizeof tests[0]);
}
