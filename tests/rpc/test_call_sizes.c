// tern-test: transports

/*
 * Calls of any size: around what a ring takes, and far more, in order with small ones, by every
 * function that sends calls.
 */

#include "call_tools.h"

enum { LARGEST = (4 << 20) + 1 };

static unsigned char *arguments;

static bool open_sizes(fixture *f, size_t ring_size, size_t segment_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = segment_size;
    config.ring_size = ring_size;
    config.ring_growth = 1;
    memset(&arrived, 0, sizeof arrived);
    return fixture_open(f, &config) && EXPECT_OK(tern_barrier(f->worker));
}

/* One call, in one of all ways; those that may not wait are tried until they go. */
static void send(fixture *f, uint64_t way, uint32_t rank, uint64_t *number, size_t bytes) {
    tern_worker_id target = to(rank);
    const tern_function *fn = &receive_function;
    tern_status status = TERN_ERR_AGAIN;
    tern_request request = {0};
    compose(arguments, f->rank, (*number)++, bytes);
    while (status == TERN_ERR_AGAIN) {
        if (way % 5 == 0)
            status = tern_call(f->worker, target, fn, arguments, bytes);
        else if (way % 5 == 1)
            status = tern_call_try(f->worker, target, fn, arguments, bytes);
        else if (way % 5 == 2)
            status = tern_call_queue(f->worker, target, fn, arguments, bytes);
        else if (way % 5 == 3)
            status = tern_call_return(f->worker, target, fn, arguments, bytes, NULL, 0, NULL);
        else if ((status = tern_call_start(f->worker, target, fn, arguments, bytes, NULL, 0,
                                           &request)) == TERN_OK)
            status = tern_wait(f->worker, &request);
        tern_progress(f->worker);
    }
    /* The memory is the caller's again at once. */
    memset(arguments, 0xa5, bytes < 64 ? bytes : 64);
    EXPECT(TERN_OK, status);
}

static void around_every_border(void) {
    static const size_t rings[] = {4096, 65536};
    arguments = malloc(LARGEST);
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        uint64_t sent[RANKS] = {0};
        if (!open_sizes(&f, rings[i], (size_t)16 << 20))
            return;
        const size_t half = rings[i] / 2, borders[] = {half - 64, half - 80, half, rings[i], 65536};
        uint32_t next = (f.rank + 1) % f.size;
        for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++)
            for (int off = -8; off <= 8; off++)
                send(&f, (uint64_t)off + 8, next, &sent[next], (size_t)((int64_t)borders[b] + off));
        for (uint64_t way = 0; way < 5; way++)
            send(&f, way, next, &sent[next], (4 << 20) + way % 3 - 1);
        EXPECT_OK(tern_quiesce(f.worker));
        expect_all_arrived(&f, sent);
        fixture_close(&f);
    }
    free(arguments);
}

/* Small and large ones in one order. */
static void of_random_sizes(void) {
    fixture f;
    uint64_t sent[RANKS] = {0};
    arguments = malloc(LARGEST);
    if (!open_sizes(&f, 8192, (size_t)4 << 20))
        return;
    uint64_t random = fixture_seed(&f, 8);
    for (int i = 0, times = fixture_times(&f, 400); i < times; i++) {
        uint32_t rank = (uint32_t)below(&random, f.size);
        uint64_t magnitude = below(&random, 15) + 4;
        send(&f, tern_test_random(&random), rank, &sent[rank],
             16 + (size_t)below(&random, (uint64_t)1 << magnitude));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    expect_all_arrived(&f, sent);
    fixture_close(&f);
    free(arguments);
}

static uint64_t came_back;

static tern_status come_back(tern_call_info *call, const void *given, size_t bytes) {
    (void)call;
    const unsigned char *at = given;
    for (size_t i = 0; i < bytes; i++)
        came_back += at[i] == (unsigned char)(i * 7);
    return TERN_OK;
}
TERN_FUNCTION(come_back)

/* A handler sends what it got back where it came from. */
static tern_status send_back(tern_call_info *call, const void *given, size_t bytes) {
    return tern_call(call->worker, call->origin, &come_back_function, given, bytes);
}
TERN_FUNCTION(send_back)

static void handlers_call_back(void) {
    enum { CALLS = 20, BYTES = 30000 };
    fixture f;
    arguments = malloc(BYTES);
    if (!open_sizes(&f, 4096, (size_t)8 << 20))
        return;
    came_back = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < BYTES; i++)
        arguments[i] = (unsigned char)(i * 7);
    for (uint32_t i = 0; i < CALLS; i++)
        EXPECT_OK(
            tern_call(f.worker, to((f.rank + i) % f.size), &send_back_function, arguments, BYTES));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(came_back, (uint64_t)CALLS * BYTES);
    fixture_close(&f);
    free(arguments);
}

/* Content that does not fit the segment is an error, or read from private memory; never a hang. */
static void without_room_in_the_segment(void) {
    fixture f;
    uint64_t sent[RANKS] = {0};
    arguments = malloc(LARGEST);
    if (!open_sizes(&f, 4096, (size_t)1 << 20))
        return;
    for (uint32_t r = 0; r < f.size; r++) {
        compose(arguments, f.rank, 0, LARGEST);
        tern_status status =
            tern_call_return(f.worker, to(r), &receive_function, arguments, LARGEST, NULL, 0, NULL);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_MEMORY);
        if (status == TERN_ERR_MEMORY)
            EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        sent[r] += status == TERN_OK;
    }
    EXPECT_OK(tern_quiesce(f.worker));
    expect_all_arrived(&f, sent);
    fixture_close(&f);
    free(arguments);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"around_every_border", around_every_border},
        {"of_random_sizes", of_random_sizes},
        {"handlers_call_back", handlers_call_back},
        {"without_room_in_the_segment", without_room_in_the_segment},
    };
    return tern_test_main(argc, argv, "call_sizes", tests, sizeof tests / sizeof tests[0]);
}
