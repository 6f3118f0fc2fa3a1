// tern-test: transports

/* Results of any size: around what a reply cell takes, and far more, into memory of any kind. */

#include "hostile.h"
#include "result_tools.h"
#include "rma/memory/state.h"
#include "rpc/state.h"
#include "tern/registration.h"
#include "tern/remote.h"

enum { LARGEST = (4 << 20) + 1, ROOM = 64 };

static size_t before; /* bytes in use before the first call */

static bool open_results(fixture *f, size_t segment_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = segment_size;
    config.log_level = TERN_LOG_ERROR; /* handlers refuse */
    given = 0;
    if (!fixture_open(f, &config))
        return false;
    before = in_use(f);
    return EXPECT_OK(tern_barrier(f->worker));
}

/* Collective: what was lent has been given back everywhere. */
static void expect_all_given_back(fixture *f) {
    EXPECT_OK(tern_quiesce(f->worker));
    for (int i = 0; i < 100; i++)
        tern_progress(f->worker);
    CU_ASSERT_EQUAL(in_use(f), before);
    EXPECT_OK(tern_barrier(f->worker));
}

/* One wish, with room that is exactly enough and a border that nobody may touch. */
static void ask(fixture *f, uint32_t rank, const wish *w, unsigned char *room) {
    size_t got = 1;
    memset(room + w->bytes, 0xee, ROOM);
    EXPECT_OK(
        tern_call_return(f->worker, to(rank), &give_function, w, sizeof *w, room, w->bytes, &got));
    expect_result(w, room, got);
    for (size_t i = 0; i < ROOM; i++)
        CU_ASSERT_EQUAL(room[w->bytes + i], 0xee);
}

static void around_every_border(void) {
    static const size_t borders[] = {TERN_RESULT_MAX, 4096, 32768, 65536, 1 << 20};
    fixture f;
    if (!open_results(&f, (size_t)16 << 20))
        return;
    unsigned char *room = malloc(LARGEST + ROOM);
    uint32_t next = (f.rank + 1) % f.size, seed = f.rank;
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++)
        for (int off = -9; off <= 9; off += 3) {
            wish w = {(uint64_t)((int64_t)borders[b] + off), seed++, 0};
            ask(&f, next, &w, room);
        }
    ask(&f, next, &(wish){0, seed++, 0}, room);
    ask(&f, next, &(wish){LARGEST, seed++, 0}, room);
    ask(&f, f.rank, &(wish){LARGEST - 1, seed++, 0}, room);
    expect_all_given_back(&f);
    free(room);
    fixture_close(&f);
}

/* Results that become smaller than the room that was asked for, on either side of the border. */
static void smaller_than_the_room(void) {
    static const uint64_t bytes[] = {0, 8, TERN_RESULT_MAX, TERN_RESULT_MAX + 1, 5000};
    fixture f;
    if (!open_results(&f, (size_t)16 << 20))
        return;
    unsigned char *room = malloc(10000);
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        ask(&f, (f.rank + 1) % f.size, &(wish){bytes[i], 3, 3000}, room);
        ask(&f, (f.rank + 1) % f.size, &(wish){bytes[i], 4, 0}, room);
    }
    expect_all_given_back(&f);
    free(room);
    fixture_close(&f);
}

/* Where the memory lies that a result goes to. */
enum { IN_HEAP, IN_SEGMENT, IN_REGION, PLACES };

static void into_memory_of_any_kind(void) {
    enum { BYTES = 3 << 20 };
    fixture f;
    if (!open_results(&f, (size_t)16 << 20))
        return;
    unsigned char *heap = malloc(BYTES + ROOM), *region = malloc(BYTES + ROOM);
    tern_ptr segment = TERN_NULL, registered = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, BYTES + ROOM, 0, TERN_DOMAIN_GLOBAL, &segment));
    EXPECT_OK(tern_register(f.worker, region, BYTES + ROOM, &registered));
    unsigned char *const room[PLACES] = {heap, tern_local(f.context, segment), region};
    for (uint32_t i = 0; i < f.size; i++)
        for (int place = IN_HEAP; place < PLACES; place++) {
            tern_stats stats;
            tern_stats_get(f.worker, &stats);
            const uint64_t staged = stats.bytes_staged;
            const uint32_t rank = (f.rank + i) % f.size;
            tern_transport transport = TERN_SHM;
            wish w = {(uint64_t)(BYTES - i), i * 3 + (uint32_t)place, 0};
            ask(&f, rank, &w, room[place]);
            tern_stats_get(f.worker, &stats);
            EXPECT_OK(tern_context_transport(f.context, rank, &transport));
            CU_ASSERT_EQUAL(stats.bytes_staged - staged,
                            place == IN_HEAP && transport != TERN_SHM ? w.bytes : 0);
        }
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_deregister(f.worker, registered));
    EXPECT_OK(tern_free(f.worker, segment));
    expect_all_given_back(&f);
    free(heap);
    free(region);
    fixture_close(&f);
}

/* Results of any sizes at once, waited for in any order, some into too little room. */
static void of_random_sizes(void) {
    enum { AT_ONCE = 8 };
    fixture f;
    if (!open_results(&f, (size_t)64 << 20))
        return;
    unsigned char *room[AT_ONCE];
    uint64_t random = fixture_seed(&f, 9), asked = 0;
    for (int times = fixture_times(&f, 200); times > 0; times--) {
        tern_request request[AT_ONCE] = {0};
        wish w[AT_ONCE];
        bool narrow[AT_ONCE];
        size_t order[AT_ONCE];
        const size_t count = (size_t)below(&random, AT_ONCE) + 1;
        for (size_t i = 0; i < count; i++) {
            const uint32_t rank = (uint32_t)below(&random, f.size);
            order[i] = i;
            w[i] = (wish){below(&random, (uint64_t)1 << below(&random, 21)),
                          (uint32_t)tern_test_random(&random), (uint32_t)below(&random, 3) * 700};
            narrow[i] = w[i].bytes > 0 && below(&random, 8) == 0;
            room[i] = malloc(w[i].bytes + ROOM);
            memset(room[i] + w[i].bytes, 0xee, ROOM);
            EXPECT_OK(tern_call_start(f.worker, to(rank), &give_function, &w[i], sizeof w[i],
                                      room[i], narrow[i] ? w[i].bytes - 1 : w[i].bytes + ROOM,
                                      &request[i]));
        }
        for (size_t left = count; left > 0; left--) {
            const size_t at = (size_t)below(&random, left), i = order[at];
            if (narrow[i]) {
                char size[32];
                snprintf(size, sizeof size, "%llu bytes", (unsigned long long)w[i].bytes);
                EXPECT(TERN_ERR_RANGE, tern_wait(f.worker, &request[i]));
                EXPECT_DETAIL(size);
                CU_ASSERT_EQUAL(tern_request_result(&request[i]), 0);
            } else if (EXPECT_OK(tern_wait(f.worker, &request[i]))) {
                expect_result(&w[i], room[i], tern_request_result(&request[i]));
            }
            CU_ASSERT_EQUAL(room[i][w[i].bytes], 0xee);
            free(room[i]);
            order[at] = order[left - 1];
        }
        asked += count;
    }
    EXPECT_OK(tern_quiesce(f.worker));
    uint64_t totals[2] = {asked, given}, *all = calloc((size_t)f.size * 2, sizeof *all);
    fixture_share(&f, totals, sizeof totals, all);
    int64_t difference = 0;
    for (uint32_t r = 0; r < f.size; r++)
        difference += (int64_t)(all[2 * r] - all[2 * r + 1]);
    CU_ASSERT_EQUAL(difference, 0);
    free(all);
    expect_all_given_back(&f);
    fixture_close(&f);
}

/* A segment that lends all it has refuses, and serves again when callers have taken theirs. */
static void without_room_in_the_segment(void) {
    enum { BYTES = 200000, CALLS = 16 };
    fixture f;
    if (!open_results(&f, (size_t)1 << 20))
        return;
    unsigned char *room = malloc(CALLS * BYTES);
    tern_request request[CALLS] = {0};
    int refused = 0;
    wish w[CALLS];
    uint32_t next = (f.rank + 1) % f.size;
    for (int i = 0; i < CALLS; i++) {
        w[i] = (wish){BYTES, f.rank + (uint32_t)i, 0};
        EXPECT_OK(tern_call_start(f.worker, to(next), &give_function, &w[i], sizeof w[i],
                                  room + i * BYTES, BYTES, &request[i]));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    for (int i = 0; i < CALLS; i++) {
        tern_status status = tern_wait(f.worker, &request[i]);
        if (status == TERN_OK) {
            expect_result(&w[i], room + i * BYTES, tern_request_result(&request[i]));
            continue;
        }
        EXPECT(TERN_ERR_MEMORY, status);
        EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        refused++;
    }
    CU_ASSERT(refused > 0 && refused < CALLS);
    expect_all_given_back(&f);
    ask(&f, next, &w[0], room);
    expect_all_given_back(&f);
    free(room);
    fixture_close(&f);
}

/* The room of a call that nobody waits for, and of one that fails or comes again. */
static int vain_runs;

static tern_status give_in_vain(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    tern_status status = tern_call_result(call, 100000);
    if (status != TERN_OK)
        return status;
    memset(call->result, 1, 100000);
    vain_runs++;
    if (bytes == 0)
        return TERN_OK;
    return bytes == 1 || vain_runs % 3 != 0 ? (bytes == 1 ? TERN_ERR_EMPTY : TERN_ERR_AGAIN)
                                            : TERN_OK;
}
TERN_FUNCTION(give_in_vain)

static tern_status give_eight(tern_call_info *call, const void *arguments, size_t bytes) {
    memcpy(call->result, arguments, bytes);
    call->result_bytes = bytes;
    return (uintptr_t)call->result % 8 == 0 ? TERN_OK : TERN_ERR_ARGUMENT;
}
TERN_FUNCTION(give_eight)

static void in_vain(void) {
    fixture f;
    if (!open_results(&f, (size_t)1 << 20))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    unsigned char *room = malloc(100000);
    for (int i = 0; i < 20; i++) {
        uint64_t number = (uint64_t)i, back = 0;
        EXPECT_OK(tern_call(f.worker, to(next), &give_in_vain_function, NULL, 0));
        EXPECT_OK(tern_call(f.worker, to(next), &give_in_vain_function, "", 1));
        EXPECT_OK(
            tern_call_return(f.worker, to(next), &give_eight_function, &number, 8, &back, 8, NULL));
        CU_ASSERT_EQUAL(back, number);
        EXPECT(TERN_ERR_EMPTY, tern_call_return(f.worker, to(next), &give_in_vain_function, "", 1,
                                                room, 100000, NULL));
        EXPECT_OK(tern_call_return(f.worker, to(next), &give_in_vain_function, "12", 2, room,
                                   100000, NULL));
        CU_ASSERT_EQUAL(room[99999], 1);
        EXPECT_OK(tern_call(f.worker, to(next), &give_in_vain_function, NULL, 0));
    }
    expect_all_given_back(&f);
    free(room);
    fixture_close(&f);
}

/* Room that was never asked for, and more than there may be. */
static tern_status give_too_much(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    if (bytes == 0) {
        call->result_bytes = TERN_RESULT_MAX + 1;
        return TERN_OK;
    }
    if (bytes == 2 && tern_call_result(call, 2000) == TERN_OK)
        call->result_bytes = 2001;
    return bytes == 1 ? tern_call_result(call, (size_t)TERN_BUFFER_MAX + 1) : TERN_OK;
}
TERN_FUNCTION(give_too_much)

static void too_much(void) {
    fixture f;
    if (!open_results(&f, (size_t)1 << 20))
        return;
    static unsigned char room[4096];
    size_t got = 5;
    const tern_function *fn = &give_too_much_function;
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(next), fn, "", 0, room, 4096, &got));
    EXPECT_DETAIL("tern_call_result");
    EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(next), fn, "", 1, room, 4096, &got));
    EXPECT_DETAIL("at most 1073741824 are allowed");
    EXPECT(TERN_ERR_RANGE, tern_call_return(f.worker, to(next), fn, "ab", 2, room, 4096, &got));
    EXPECT_DETAIL("2001 bytes in room for 2000");
    CU_ASSERT_EQUAL(got, 5);
    EXPECT(TERN_ERR_ARGUMENT, tern_call_result(NULL, 8));
    expect_all_given_back(&f);
    fixture_close(&f);
}

/* A call whose answer can go nowhere: nobody is told of the result that it has left. */
static void without_an_address(void) {
    fixture f;
    if (!open_results(&f, (size_t)1 << 20))
        return;
    tern_log_set_level(TERN_LOG_NONE);
    const uint32_t id = tern_record_id(tern_rpc_of(f.context)->header[give_function.id]);
    const struct {
        tern_return_address back;
        wish w;
    } record = {{.cell = TERN_CELL_OF_THREAD + 1, .sequence = 1}, {100000, 1, 0}};
    tern_out *out = NULL;
    EXPECT_OK(tern_ring_open(f.worker, f.worker->id, &out));
    tern_count(&f.worker->stats.calls_sent, 1);
    EXPECT_OK(inject_record(f.worker, out,
                            tern_record_header(TERN_RECORD_CALL_RETURN, id, sizeof record), &record,
                            sizeof record));
    tern_ring_publish(f.worker, out);
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(given, 1);
    expect_all_given_back(&f);
    fixture_close(&f);
}

/* Declared functions return structures of any size. */
typedef struct {
    uint32_t value[5000];
} table;

TERN_REMOTE_RETURN(table, tabulate, (uint32_t, first))

tern_status tabulate_here(tern_call_info *call, uint32_t first, table *result) {
    for (uint32_t i = 0; i < 5000; i++)
        result->value[i] = first + i;
    return first < 1000 ? TERN_OK : tern_call_fail(call, TERN_ERR_RANGE, "%u is too much", first);
}

static void declared_ones(void) {
    fixture f;
    if (!open_results(&f, (size_t)4 << 20))
        return;
    static table t;
    for (uint32_t r = 0; r < f.size; r++) {
        tern_request request = {0};
        EXPECT_OK(tabulate(f.worker, to(r), f.rank + 10, &t));
        CU_ASSERT_EQUAL(t.value[4999], f.rank + 5009);
        EXPECT_OK(tabulate_start(f.worker, to(r), f.rank + 20, &t, &request));
        EXPECT_OK(tern_wait(f.worker, &request));
        CU_ASSERT_EQUAL(t.value[4999], f.rank + 5019);
        EXPECT(TERN_ERR_RANGE, tabulate(f.worker, to(r), 1000, &t));
        EXPECT_DETAIL("1000 is too much");
        CU_ASSERT_EQUAL(t.value[4999], f.rank + 5019);
    }
    expect_all_given_back(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"around every border", around_every_border},
        {"smaller than the room", smaller_than_the_room},
        {"into memory of any kind", into_memory_of_any_kind},
        {"of random sizes", of_random_sizes},
        {"without room in the segment", without_room_in_the_segment},
        {"in vain", in_vain},
        {"too much", too_much},
        {"without an address", without_an_address},
        {"declared ones", declared_ones},
    };
    return tern_test_main(argc, argv, "call_results", tests, sizeof tests / sizeof tests[0]);
}
