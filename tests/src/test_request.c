// tern-test: transports

/* Requests of all kinds at once, against a model; what each wait and test tells, and when. */

#include "call_tools.h"
#include "table_tools.h"

enum { SLOTS = 24, LONGEST = TERN_RESULT_MAX + 1000, WORDS = 3 };

/* What each slot has of its own. */
typedef struct slot {
    enum { NOTHING, PUT, GET, ATOMIC, CALL, REFUSED, INSERT, FIND, ADD, KINDS } kind;
    uint32_t owner;        /* of its words, and of its keys */
    uint64_t key;          /* in both tables */
    uint64_t word[WORDS];  /* model of the words there; the last is for atomics */
    uint64_t value, count; /* model of the value and the counter; 0: not there */
    uint64_t number;       /* of the operation */
    uint64_t in, out[2];   /* memory of the operation */
    unsigned char result[LONGEST];
    size_t bytes;
} slot;

static fixture f;
static slot slots[SLOTS];
static tern_request request[SLOTS];
static tern_ptr *place; /* of each rank's words */
static tern_hashtable *values, *counters;

typedef struct wish {
    uint64_t number, bytes;
} wish;

static tern_status give(tern_call_info *call, const void *arguments, size_t bytes) {
    wish w;
    CU_ASSERT_EQUAL(bytes, sizeof w);
    memcpy(&w, arguments, sizeof w);
    if (w.bytes > LONGEST)
        return tern_call_fail(call, TERN_ERR_EXISTS, "number %llu", (unsigned long long)w.number);
    tern_status status = tern_call_result(call, w.bytes);
    if (status == TERN_OK)
        memset(call->result, (int)(w.number & 0xff), w.bytes);
    return status;
}
TERN_FUNCTION(give)

static tern_ptr word_of(size_t i, size_t word) {
    const size_t at = (f.rank * SLOTS + i) * WORDS + word;
    return tern_ptr_add(place[slots[i].owner], (int64_t)(8 * at));
}

static tern_hashtable *make_table(int counter) {
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = counter ? 0 : 8, .capacity = 4096, .counter = counter};
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    return table;
}

static void open_all(void) {
    tern_log_set_level(TERN_LOG_ERROR); /* handlers refuse */
    place = calloc(f.size, sizeof *place);
    fixture_alloc_all(&f, 8 * (size_t)f.size * SLOTS * WORDS, TERN_DOMAIN_GLOBAL, place);
    values = make_table(0);
    counters = make_table(1);
    uint64_t key = 100000 * (uint64_t)f.rank;
    for (size_t i = 0; i < SLOTS; i++) {
        slots[i] = (slot){.owner = (uint32_t)(f.rank + i) % f.size};
        slots[i].key = key = number_owned_by(values, slots[i].owner, key + 1);
        request[i] = (tern_request){0};
    }
    EXPECT_OK(tern_barrier(f.worker));
}

static void close_all(void) {
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    free(place);
    fixture_close(&f);
}

static tern_status slot_start(uint64_t *random, size_t i) {
    slot *s = &slots[i];
    tern_worker *w = f.worker;
    tern_request *r = &request[i];
    const tern_flags path = fixture_path(below(random, 3));
    s->in = s->number = below(random, UINT32_MAX) + 1; /* counters have 62 bits */
    switch (s->kind) {
    case PUT:
        return tern_put_start(w, word_of(i, 0), &s->in, 8, r);
    case GET:
        return tern_get_start(w, s->out, word_of(i, 0), 16, r);
    case ATOMIC:
        return tern_atomic_start(w, word_of(i, 2), TERN_ATOMIC_ADD, s->in, 0, s->out, r);
    case CALL:
    case REFUSED:
        s->bytes = s->kind == REFUSED ? LONGEST + 1
                   : below(random, 2) ? below(random, 9)
                                      : below(random, LONGEST + 1);
        return tern_call_start(w, to(s->owner), &give_function, &(wish){s->number, s->bytes},
                               sizeof(wish), s->result, sizeof s->result, r);
    case INSERT:
        return tern_hashtable_insert_start(w, values, &s->key, &s->in, path, r);
    case FIND:
        return tern_hashtable_find_start(w, values, &s->key, path, s->out, r);
    default:
        return tern_hashtable_add_start(w, counters, &s->key, s->in, path, r);
    }
}

/* What the request must tell. */
static tern_status slot_outcome(const slot *s) {
    return s->kind == REFUSED                 ? TERN_ERR_EXISTS
           : s->kind == FIND && s->value == 0 ? TERN_ERR_NOT_FOUND
                                              : TERN_OK;
}

static bool slot_is_right(const slot *s, uint64_t result) {
    switch (s->kind) {
    case GET:
        return s->out[0] == s->word[0] && s->out[1] == s->word[1];
    case ATOMIC:
        return s->out[0] == s->word[2];
    case CALL:
        for (size_t at = 0; at < s->bytes; at++)
            if (s->result[at] != (s->number & 0xff))
                return false;
        return result == s->bytes;
    case INSERT:
        return result == (s->value != 0);
    case FIND:
        return s->value == 0 || s->out[0] == s->value;
    case ADD:
        return result == s->count;
    default:
        return true;
    }
}

/* What slot i was waited for has given status; the model follows. */
static void slot_finish(size_t i, tern_status status) {
    slot *s = &slots[i];
    char text[40];
    EXPECT(slot_outcome(s), status);
    if (s->kind == REFUSED) {
        snprintf(text, sizeof text, "number %llu", (unsigned long long)s->number);
        EXPECT_DETAIL(text);
    }
    CU_ASSERT(slot_is_right(s, tern_request_result(&request[i])));
    if (status != TERN_OK)
        EXPECT(status, tern_wait(f.worker, &request[i])); /* again */
    if (s->kind == PUT) {
        s->word[0] = s->in;
        EXPECT_OK(tern_flush(f.worker, s->owner));
    }
    if (s->kind == ATOMIC)
        s->word[2] += s->in;
    if (s->kind == INSERT)
        s->value = s->in;
    if (s->kind == ADD)
        s->count += s->in;
    s->kind = NOTHING;
}

static size_t count_started(void) {
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        count += slots[i].kind != NOTHING;
    return count;
}

static void test_one(size_t i) {
    int done = 0;
    while (!done)
        EXPECT_OK(tern_test(f.worker, &request[i], &done));
    if (slots[i].kind != NOTHING)
        slot_finish(i, tern_wait(f.worker, &request[i]));
}

static void wait_for_any(void) {
    const size_t started = count_started();
    size_t i = 99;
    tern_status status = tern_wait_any(f.worker, request, SLOTS, &i);
    CU_ASSERT_EQUAL(i<SLOTS, started> 0);
    if (started == 0) {
        CU_ASSERT_EQUAL(i, SLOTS);
        EXPECT_OK(status);
    } else if (i < SLOTS) {
        CU_ASSERT_NOT_EQUAL(slots[i].kind, NOTHING);
        slot_finish(i, status);
    }
}

/* The first failure in their order is what it tells, with its text. */
static void wait_for_some(size_t first, size_t count) {
    tern_status wanted = TERN_OK;
    char text[40] = "";
    for (size_t i = first; i < first + count && wanted == TERN_OK; i++) {
        wanted =
            slots[i].kind == NOTHING ? (tern_status)request[i].outcome : slot_outcome(&slots[i]);
        if (slots[i].kind == REFUSED)
            snprintf(text, sizeof text, "number %llu", (unsigned long long)slots[i].number);
    }
    EXPECT(wanted, tern_wait_all(f.worker, &request[first], count));
    EXPECT_DETAIL(text);
    for (size_t i = first; i < first + count; i++)
        if (slots[i].kind == REFUSED) { /* its text was told */
            EXPECT(TERN_ERR_EXISTS, tern_wait(f.worker, &request[i]));
            slots[i].kind = NOTHING;
        } else if (slots[i].kind != NOTHING) {
            slot_finish(i, tern_wait(f.worker, &request[i]));
        }
}

static void against_a_model(void) {
    if (!fixture_open(&f, NULL))
        return;
    open_all();
    uint64_t random = fixture_seed(&f, 3);
    for (int left = fixture_times(&f, 3000); left > 0; left--) {
        const size_t i = (size_t)below(&random, SLOTS);
        switch (below(&random, 8)) {
        case 0:
            test_one(i);
            break;
        case 1:
            if (slots[i].kind != NOTHING)
                slot_finish(i, tern_wait(f.worker, &request[i]));
            break;
        case 2:
            wait_for_any();
            break;
        case 3:
            if (below(&random, 4) == 0)
                wait_for_some(i, (size_t)below(&random, SLOTS + 1 - i));
            break;
        default:
            if (slots[i].kind == NOTHING) {
                slots[i].kind = (unsigned)below(&random, KINDS - 1) + 1;
                if (!EXPECT_OK(slot_start(&random, i)))
                    slots[i].kind = NOTHING;
            }
        }
    }
    while (count_started() > 0)
        wait_for_any();
    wait_for_any();
    close_all();
}

static bool answers;

static tern_status answer_late(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return answers ? TERN_OK : TERN_ERR_AGAIN;
}
TERN_FUNCTION(answer_late)

/* One whose answer does not come holds no other up, and cannot be started again. */
static void the_first_to_end_comes_first(void) {
    if (!fixture_open(&f, NULL))
        return;
    tern_request late[3] = {0};
    const tern_worker_id self = tern_worker_self(f.worker);
    uint64_t word = 7, out = 0;
    tern_ptr own;
    size_t index = 99;
    int done = 1;
    answers = false;
    EXPECT_OK(tern_alloc(f.worker, 8, 0, TERN_DOMAIN_GLOBAL, &own));
    EXPECT_OK(tern_put(f.worker, own, &word, 8));
    EXPECT_OK(tern_call_start(f.worker, self, &answer_late_function, NULL, 0, NULL, 0, &late[1]));
    EXPECT(TERN_ERR_ARGUMENT, tern_get_start(f.worker, &out, own, 8, &late[1]));
    EXPECT_DETAIL("under way");
    for (int i = 0; i < 1000; i++) {
        EXPECT_OK(tern_test(f.worker, &late[1], &done));
        CU_ASSERT_EQUAL(done, 0);
    }
    EXPECT_OK(tern_get_start(f.worker, &out, own, 8, &late[2]));
    EXPECT_OK(tern_wait_any(f.worker, late, 3, &index));
    CU_ASSERT(index == 2 && out == 7);
    answers = true;
    EXPECT_OK(tern_wait_any(f.worker, late, 3, &index));
    CU_ASSERT_EQUAL(index, 1);
    EXPECT_OK(tern_wait_any(f.worker, late, 3, &index));
    CU_ASSERT_EQUAL(index, 3);
    EXPECT_OK(tern_wait_all(f.worker, late, 3));
    EXPECT_OK(tern_free(f.worker, own));
    fixture_close(&f);
}

/* A result that does not fit is told by the wait, with both sizes, also after a test. */
static void too_little_room(void) {
    if (!fixture_open(&f, NULL))
        return;
    const wish w = {5, 100};
    const uint32_t next = (f.rank + 1) % f.size;
    char result[99];
    tern_request r = {0};
    for (int by_test = 0; by_test < 2; by_test++) {
        EXPECT_OK(tern_call_start(f.worker, to(next), &give_function, &w, sizeof w, result,
                                  sizeof result, &r));
        for (int done = !by_test; !done;)
            EXPECT_OK(tern_test(f.worker, &r, &done));
        EXPECT(TERN_ERR_RANGE, tern_wait(f.worker, &r));
        EXPECT_DETAIL("100 bytes; there is room for 99");
        EXPECT(TERN_ERR_RANGE, tern_wait(f.worker, &r));
        CU_ASSERT_EQUAL(tern_request_result(&r), 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

static void arguments_are_checked(void) {
    if (!fixture_open(&f, NULL))
        return;
    tern_request r = {0};
    const tern_ptr own = {.rank = f.rank, .offset = TERN_PTR_ORIGIN};
    const tern_worker_id self = tern_worker_self(f.worker);
    uint64_t word = 0;
    size_t index = 7;
    int done = 7;
    EXPECT(TERN_ERR_ARGUMENT, tern_test(NULL, &r, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_test(f.worker, NULL, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_test(f.worker, &r, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait(NULL, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait(f.worker, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_all(f.worker, NULL, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_any(f.worker, NULL, 1, &index));
    EXPECT(TERN_ERR_ARGUMENT, tern_wait_any(f.worker, &r, 1, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_put_start(f.worker, own, &word, 8, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_get_start(f.worker, &word, own, 8, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_get_start(f.worker, NULL, own, 8, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_atomic_start(f.worker, own, TERN_ATOMIC_ADD, 1, 0, NULL, &r));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_call_start(f.worker, self, &give_function, &word, 8, NULL, 8, &r));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_start(f.worker, self, NULL, NULL, 0, NULL, 0, &r));
    CU_ASSERT(index == 7 && done == 7);
    /* Nothing was started. */
    EXPECT_OK(tern_wait_any(f.worker, &r, 1, &index));
    CU_ASSERT_EQUAL(index, 1);
    EXPECT_OK(tern_wait_any(f.worker, NULL, 0, &index));
    CU_ASSERT_EQUAL(index, 0);
    EXPECT_OK(tern_test(f.worker, &r, &done));
    CU_ASSERT_EQUAL(done, 1);
    EXPECT_OK(tern_wait(f.worker, &r));
    EXPECT_OK(tern_wait_all(f.worker, NULL, 0));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"the_first_to_end_comes_first", the_first_to_end_comes_first},
        {"too_little_room", too_little_room},
        {"against_a_model", against_a_model},
    };
    return tern_test_main(argc, argv, "request", tests, sizeof tests / sizeof tests[0]);
}
