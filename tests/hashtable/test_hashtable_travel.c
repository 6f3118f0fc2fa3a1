// tern-test: transports least=2

/*
 * Operations that travel: what an owner makes of messages that no rank of its table sends, and an
 * origin of replies that no owner gives; and that an owner which could not do all items at once
 * goes on where it was.
 */

#include "bucket_tools.h"
#include "hostile.h"

#include "hashtable/batch/run.h"
#include "tern/hashtable.h"

enum { OWNER = 0, WORDS = 1200 };

static tern_hashtable *make(fixture *f, size_t key_bytes, size_t value_bytes, bool grow) {
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {.key_bytes = key_bytes,
                                            .value_bytes = value_bytes,
                                            .counter = value_bytes == 0,
                                            .capacity = grow ? 1 : 8000,
                                            .grow = grow};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

/* Keys of the owner that go up. */
static void choose(const tern_hashtable *table, uint64_t *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        keys[i] = number_owned_by(table, OWNER, i == 0 ? 1 : keys[i - 1] + 1);
}

/* ---- Messages ---- */

typedef struct wrong {
    uint8_t kind, form;
    uint16_t count; /* as the head says */
    int bytes;      /* more than the message should have, or, below zero, less */
} wrong;

static const wrong of_values[] = {
    {TERN_OP_REPLACE, 1, 1, 0},      {TERN_OP_COPY, 1, 1, 0},
    {TERN_OP_COPY + 1, 1, 1, 0},     {255, 0, 1, 0},
    {TERN_OP_ADD, 1, 1, 0},          {TERN_OP_COMPARE_SWAP, 0, 1, 0},
    {TERN_OP_INSERT, 8, 1, 0},       {TERN_OP_INSERT, 128, 1, 0},
    {TERN_OP_INSERT, 1 | 4, 1, 0},   {TERN_OP_INSERT, 2, 1, 0},
    {TERN_OP_FIND, 4, 1, 0},         {TERN_OP_ERASE, 4, 1, 0},
    {TERN_OP_INSERT_NEW, 4, 1, 0},   {TERN_OP_FIND, 2, 1, 0},
    {TERN_OP_INSERT, 0, 0, 0},       {TERN_OP_INSERT, 0, 513, 0},
    {TERN_OP_INSERT, 0, 65535, 0},   {TERN_OP_FIND, 1, 2, 0},
    {TERN_OP_INSERT, 0, 2, -8},      {TERN_OP_INSERT, 0, 2, 8},
    {TERN_OP_INSERT, 0, 2, -1},      {TERN_OP_INSERT, 4, 2, -16},
    {TERN_OP_FIND, 1, 1, -8},        {TERN_OP_FIND, 0, 512, -4000},
    {TERN_OP_INSERT, 0, 512, -8192}, {TERN_OP_INSERT_NEW, 1, 1, 1000}};

static const wrong of_counters[] = {
    {TERN_OP_INSERT, 1, 1, 0},       {TERN_OP_INSERT_NEW, 0, 2, 0}, {TERN_OP_ADD, 1, 0, 0},
    {TERN_OP_ADD, 1 | 2, 1, 0},      {TERN_OP_ADD, 0, 2, -8},       {TERN_OP_ADD, 2, 2, -8},
    {TERN_OP_ADD, 2 | 4, 2, -16},    {TERN_OP_ADD, 0, 513, 0},      {TERN_OP_COMPARE_SWAP, 2, 1, 0},
    {TERN_OP_COMPARE_SWAP, 1, 1, 8}, {TERN_OP_FIND, 2, 1, 0},       {TERN_OP_REPLACE, 1, 1, 0}};

/* A message of items of the owner's keys, each with the value or number 5, or for 5 keys. Returns
 * its bytes. */
static size_t compose(const tern_hashtable *table, uint8_t kind, uint8_t form, size_t count,
                      uint32_t owner, uint64_t *message) {
    const tern_bundle_head head = {
        .head = tern_table_head_to(table), .kind = kind, .form = form, .count = (uint16_t)count};
    const size_t step = tern_item_words(table, kind, form);
    uint64_t *words = message + sizeof head / 8 + tern_bundle_numbers(kind, form);
    for (size_t i = 0; i < WORDS; i++)
        message[i] = 5;
    memcpy(message, &head, sizeof head);
    for (size_t i = 0; i < count && words + step * (i + 1) <= message + WORDS; i++)
        words[step * i] = number_owned_by(table, owner, i == 0 ? 1 : words[step * (i - 1)] + 1);
    return tern_bundle_bytes(table, kind, form, count);
}

static tern_status send(fixture *f, const uint64_t *message, size_t bytes, void *reply,
                        size_t *got) {
    const tern_function ops = function_of(f->context, "tern_hashtable_on_ops");
    bytes = bytes < 8 * WORDS ? bytes : 8 * WORDS;
    return tern_call_return(f->worker, (tern_worker_id){OWNER, 0}, &ops, message, bytes, reply,
                            TERN_RESULT_MAX, got);
}

static void send_wrong(fixture *f, const tern_hashtable *table, const wrong *list, size_t count) {
    static uint64_t message[WORDS];
    unsigned char reply[TERN_RESULT_MAX];
    size_t got = 0;
    for (size_t i = 0; i < count; i++) {
        const wrong *w = &list[i];
        const size_t bytes = compose(table, w->kind, w->form, w->count, OWNER, message);
        EXPECT(TERN_ERR_ARGUMENT,
               send(f, message, (size_t)((int64_t)bytes + w->bytes), reply, &got));
        EXPECT_DETAIL("a message of");
    }
    const size_t whole = compose(table, TERN_OP_FIND, 0, 1, OWNER, message);
    for (size_t bytes = 0; bytes < whole; bytes++)
        EXPECT(bytes < sizeof(tern_bundle_head) ? TERN_ERR_STATE : TERN_ERR_ARGUMENT,
               send(f, message, bytes, reply, &got));
    message[0]++;
    EXPECT(TERN_ERR_STATE, send(f, message, whole, reply, &got));
    CU_ASSERT_EQUAL(got, 0);
}

/* A key of another rank: alone it is an error, and among others it ends these. */
static void send_strange(fixture *f, const tern_hashtable *table) {
    static uint64_t message[WORDS];
    tern_bundle_reply reply;
    size_t got = 0, bytes = compose(table, TERN_OP_INSERT, 1, 1, f->rank, message);
    EXPECT(TERN_ERR_ARGUMENT, send(f, message, bytes, &reply, &got));
    EXPECT_DETAIL("belongs to rank");
    static const uint8_t kinds[] = {TERN_OP_FIND, TERN_OP_INSERT};
    for (size_t i = 0; i < 2; i++) {
        bytes = compose(table, kinds[i], 0, 3, f->rank, message);
        EXPECT_OK(send(f, message, bytes, &reply, &got));
        CU_ASSERT(got > TERN_BUNDLE_REPLY && reply.status == TERN_ERR_ARGUMENT && reply.done == 0);
    }
}

static void send_right(fixture *f, const tern_hashtable *values, const tern_hashtable *counters) {
    static uint64_t message[WORDS];
    union {
        tern_bundle_reply reply;
        uint64_t word;
    } r;
    size_t got = 0, bytes = compose(values, TERN_OP_INSERT, 4, 20, OWNER, message);
    EXPECT_OK(send(f, message, bytes, &r, &got));
    CU_ASSERT(got == TERN_BUNDLE_REPLY && r.reply.done == 20 && r.reply.stored == 100);
    bytes = compose(values, TERN_OP_FIND, 0, 21, OWNER, message);
    EXPECT_OK(send(f, message, bytes, &r, &got));
    CU_ASSERT(got == TERN_BUNDLE_REPLY + 21 + 20 * 8 && r.reply.done == 21 && r.reply.stored == 20);
    bytes = compose(values, TERN_OP_ERASE, 0, 21, OWNER, message);
    EXPECT_OK(send(f, message, bytes, &r, &got));
    CU_ASSERT(got == TERN_BUNDLE_REPLY && r.reply.done == 21 && r.reply.stored == 20);
    bytes = compose(counters, TERN_OP_ADD, 2 | 4, 3, OWNER, message);
    EXPECT_OK(send(f, message, bytes, &r, &got));
    CU_ASSERT(got == TERN_BUNDLE_REPLY && r.reply.done == 3 && r.reply.stored == 15);
    bytes = compose(counters, TERN_OP_FIND, 1, 1, OWNER, message);
    EXPECT_OK(send(f, message, bytes, &r, &got));
    CU_ASSERT(got == 8 && r.word == 25);
}

static void messages_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *values = make(&f, 8, 8, false), *counters = make(&f, 8, 0, false),
                   *large = make(&f, 8, 2000, false);
    if (f.rank == f.size - 1) {
        static uint64_t message[WORDS];
        unsigned char reply[TERN_RESULT_MAX];
        size_t got = 0;
        send_wrong(&f, values, of_values, sizeof of_values / sizeof *of_values);
        send_wrong(&f, counters, of_counters, sizeof of_counters / sizeof *of_counters);
        send_strange(&f, values);
        const size_t bytes = compose(large, TERN_OP_FIND, 1, 1, OWNER, message);
        EXPECT(TERN_ERR_ARGUMENT, send(&f, message, bytes, reply, &got));
        EXPECT_DETAIL("2000 bytes");
    }
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters) + total_keys(&f, large), 0);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1)
        send_right(&f, values, counters);
    CU_ASSERT_EQUAL(total_keys(&f, values), 0);
    CU_ASSERT_EQUAL(total_keys(&f, counters), 3);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    EXPECT_OK(tern_hashtable_destroy(f.worker, large));
    fixture_close(&f);
}

/* ---- Replies ---- */

/* The owner has another handler from now on. */
static void handle_with(fixture *f, tern_handler handler) {
    const tern_rpc *rpc = tern_rpc_of(f->context);
    for (uint32_t i = 0; i < rpc->count && f->rank == OWNER; i++)
        if (strcmp(rpc->name[i], "tern_hashtable_on_ops") == 0)
            rpc->function[i].handler = handler;
    EXPECT_OK(tern_barrier(f->worker));
}

/* What the owner answers to a batch of two keys, one after the other. */
typedef struct lie {
    bool finds;
    size_t bytes;
    tern_bundle_reply reply;
    uint32_t late; /* so many items come in a call of their own */
    tern_status wanted;
} lie;

#define REPLY TERN_BUNDLE_REPLY
static const lie lies[] = {{false, 0, {0}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY - 1, {2, 2, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {3, 2, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {1, 1, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {0, 0, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {2, 3, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {1, 2, TERN_ERR_PEER, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {2, 2, 999, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {1, 1, TERN_ERR_AGAIN, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY + 1, {2, 2, 0, 0, "x"}, 0, TERN_ERR_SYSTEM},
                           {false, REPLY, {2, 2, 0, 0, ""}, 0, TERN_OK},
                           {false, REPLY, {2, 1, 0, 0, ""}, 0, TERN_ERR_FULL},
                           {false, REPLY + 3, {1, 1, TERN_ERR_PEER, 0, "abcdef"}, 0, TERN_ERR_PEER},
                           {true, REPLY, {0, 0, 0, 0, ""}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 3, {3, 0, 0, 0, {0, 0, 0}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 1, {2, 0, 0, 0, {0, 0}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 2 + 16, {2, 2, 0, 0, {2, 0}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 2 + 8, {2, 2, 0, 0, {1, 1}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 2 + 15, {2, 2, 0, 0, {1, 1}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY + 2 + 17, {2, 2, 0, 0, {1, 1}}, 0, TERN_ERR_SYSTEM},
                           {true, REPLY, {1, 2, 0, 1, ""}, 2, TERN_ERR_SYSTEM},
                           {true, REPLY + 2 + 16, {2, 2, 0, 0, {1, 1}}, 0, TERN_OK},
                           {true, REPLY + 2 + 8, {2, 1, 0, 0, {0, 1}}, 0, TERN_OK},
                           {true, REPLY, {2, 2, 0, 1, ""}, 2, TERN_OK},
                           /* The answer is cut in the middle, and the rest is asked for. */
                           {true, REPLY + 1 + 8, {1, 1, 0, 0, {1}}, 0, TERN_OK},
                           {true, REPLY + 1, {1, 0, 0, 0, {0}}, 0, TERN_OK},
                           {true, REPLY, {1, 1, 0, 1, ""}, 1, TERN_OK},
                           {true, REPLY + 1 + 8, {1, 1, 0, 0, {1}}, 0, TERN_OK},
                           {true, REPLY + 3, {0, 0, TERN_ERR_PEER, 0, "abcdef"}, 0, TERN_ERR_PEER}};
enum { LIES = sizeof lies / sizeof *lies };

static size_t told;

/* Values that are on their way are refused unless they are what was asked for. */
static void lie_late(const tern_call_info *call, const lie *l, uint32_t number) {
    const tern_function values = function_of(call->worker->context, "tern_hashtable_on_values");
    struct {
        uint32_t number, done;
        unsigned char found[TERN_BUNDLE_ITEMS];
        uint64_t values[3];
    } late = {.values = {7, 8, 9}};
    const size_t head = sizeof(tern_found_late), whole = head + 8 * l->late;
    const struct {
        uint32_t number, done;
        unsigned char flag;
        size_t bytes;
    } tries[] = {{number, l->late, 1, 7},     {number + 1, l->late, 1, whole},
                 {number, 3, 1, head + 24},   {number, 0, 1, head},
                 {number, l->late, 2, whole}, {number, l->late, 1, whole - 8},
                 {number, l->late, 1, whole}, {number, l->late, 1, whole}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        late.number = tries[i].number;
        late.done = tries[i].done;
        memset(late.found, tries[i].flag, sizeof late.found);
        EXPECT_OK(tern_call(call->worker, call->origin, &values, &late, tries[i].bytes));
    }
}

static tern_status lie_to_them(tern_call_info *call, const void *message, size_t bytes) {
    const lie *l = &lies[told++ % LIES];
    tern_bundle_head head;
    CU_ASSERT_FATAL(bytes >= sizeof head);
    memcpy(&head, message, sizeof head);
    if (l->late > 0)
        lie_late(call, l, head.number);
    memcpy(call->result, &l->reply, l->bytes);
    for (size_t i = 0; l->finds && i < l->reply.stored && l->late == 0 && i < 2; i++)
        memset((char *)call->result + REPLY + l->reply.done + 8 * i, 0x11, 8);
    call->result_bytes = l->bytes;
    return TERN_OK;
}

static void take_lie(fixture *f, tern_hashtable *table, size_t *at) {
    const lie *l = &lies[*at];
    const tern_status wanted = l->wanted;
    uint64_t keys[2], values[2] = {0, 0};
    unsigned char found[2] = {9, 9};
    size_t there = 77, number = 0;
    choose(table, keys, 2);
    if (!l->finds) {
        EXPECT(wanted,
               tern_hashtable_insert_many(f->worker, table, keys, values, 2, TERN_BY_CALL, &there));
        CU_ASSERT_EQUAL(there, wanted == TERN_ERR_SYSTEM ? 0 : l->reply.stored);
    } else {
        EXPECT(wanted, tern_hashtable_find_many(f->worker, table, keys, 2, TERN_BY_CALL, values,
                                                found, &there));
        for (size_t done = 0; wanted == TERN_OK && done < 2; done += lies[*at - 1].reply.done) {
            l = &lies[(*at)++];
            for (size_t i = 0; i < l->reply.done; i++) {
                const bool is = l->late > 0 || l->reply.rest[i] == 1;
                CU_ASSERT_EQUAL(found[done + i], is);
                CU_ASSERT_EQUAL(values[done + i], !is           ? 0
                                                  : l->late > 0 ? i + 7
                                                                : 0x1111111111111111u);
            }
            number += l->reply.stored;
        }
        CU_ASSERT(wanted != TERN_OK || there == number);
    }
    if (wanted == TERN_ERR_SYSTEM)
        EXPECT_DETAIL("with a message that no owner sends");
    if (wanted == TERN_ERR_PEER)
        EXPECT_DETAIL("rank 0: abc");
    *at += !l->finds || wanted != TERN_OK;
}

static void replies_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 8, false);
    told = 0;
    handle_with(&f, lie_to_them);
    for (size_t at = 0; at < LIES && f.rank == f.size - 1;)
        take_lie(&f, table, &at);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(f.rank != OWNER || told == LIES);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static tern_status answer_too_little(tern_call_info *call, const void *message, size_t bytes) {
    (void)message;
    (void)bytes;
    memset(call->result, 0, 8);
    call->result_bytes = told++ % 8;
    return TERN_OK;
}

static void replies_to_one_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 8, false);
    const uint64_t key = number_owned_by(table, OWNER, 1);
    told = 0;
    handle_with(&f, answer_too_little);
    for (int i = 0; i < 4 && f.rank == f.size - 1; i++) {
        uint64_t value = 5;
        tern_request request = {0};
        EXPECT(TERN_ERR_MISMATCH, tern_hashtable_find(f.worker, table, &key, TERN_BY_CALL, &value));
        EXPECT(TERN_ERR_MISMATCH,
               tern_hashtable_insert(f.worker, table, &key, &value, TERN_BY_CALL, NULL));
        EXPECT_OK(tern_hashtable_find_start(f.worker, table, &key, TERN_BY_CALL, &value, &request));
        EXPECT(TERN_ERR_MISMATCH, tern_wait(f.worker, &request));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* ---- Items that could not be done at once ---- */

static uint64_t answered, deferred;

static tern_status count_answers(tern_call_info *call, const void *message, size_t bytes) {
    const tern_status status = tern_hashtable_on_ops(call, message, bytes);
    answered += status != TERN_ERR_AGAIN;
    deferred += status == TERN_ERR_AGAIN;
    return status;
}

/* The owner serves until it has answered and left so many calls, or gives up. */
static void serve_until(fixture *f, uint64_t answers, uint64_t leaves) {
    const double limit = MPI_Wtime() + TERN_TEST_PATIENCE;
    while ((answered < answers || deferred < leaves) && MPI_Wtime() < limit)
        tern_progress(f->worker);
    CU_ASSERT(answered >= answers && deferred >= leaves);
}

/* An owner that has to make room in the middle of a batch goes on with it, and answers it once: no
 * key is sent again, however often that happens. */
static void adds_are_answered_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 2048 };
    static uint64_t keys[KEYS];
    tern_hashtable *table = make(&f, 8, 0, true);
    choose(table, keys, KEYS);
    answered = deferred = 0;
    handle_with(&f, count_answers);
    if (f.rank == f.size - 1) {
        size_t added = 0;
        EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, KEYS, 3, TERN_BY_CALL, &added));
        CU_ASSERT_EQUAL(added, KEYS);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == OWNER) {
        CU_ASSERT_EQUAL(answered, KEYS / TERN_BUNDLE_ITEMS);
        CU_ASSERT(deferred > 0);
        for (size_t i = 0; i < KEYS; i++) {
            uint64_t count = 0;
            EXPECT_OK(tern_hashtable_find(f.worker, table, &keys[i], 0, &count));
            CU_ASSERT_EQUAL(count, 3);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* The owner takes or frees the bucket of a key, as an insert does that has not put its entry. */
static void hold(fixture *f, const tern_hashtable *table, const uint64_t *key, bool take) {
    const uint64_t taken = tern_state_taken(hash_of(table, key), OWNER);
    const uint64_t was = take ? TERN_FREE : taken, is = take ? taken : TERN_FREE;
    uint64_t seen = 1;
    EXPECT_OK(tern_atomic_cas(f->worker, bucket_of(table, key), was, is, &seen));
    CU_ASSERT_EQUAL(seen, was);
}

enum { BATCH = 700, HELD = 5 };

/* Each origin changes the same keys once, in a form of its own. */
static void change_all(fixture *f, tern_hashtable *table, const uint64_t *keys, size_t form) {
    static uint64_t twice[2 * BATCH];
    tern_hashtable_buffer *buffer = NULL;
    size_t added = 0;
    uint64_t refused = 0;
    for (size_t i = 0; i < 2 * BATCH; i++)
        twice[i] = keys[i / 2];
    switch (form) {
    case 0:
        EXPECT_OK(tern_hashtable_add_many(f->worker, table, keys, BATCH, 2, TERN_BY_CALL, &added));
        CU_ASSERT_EQUAL(added, BATCH);
        break;
    case 1: /* combined */
        EXPECT_OK(
            tern_hashtable_add_many(f->worker, table, twice, 2 * BATCH, 1, TERN_BY_CALL, &added));
        CU_ASSERT_EQUAL(added, 2 * BATCH);
        break;
    default:
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 0, &buffer));
        for (size_t i = 0; i < BATCH; i++)
            EXPECT_OK(tern_hashtable_buffer_add(f->worker, buffer, &keys[i], 2));
        EXPECT_OK(tern_hashtable_buffer_destroy(f->worker, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 0);
        break;
    }
}

/* Buckets in the middle of each origin's batch are being taken, and are given free one by one. Each
 * batch goes on behind each of them, whatever the others have got to. */
static void batches_go_on(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static uint64_t keys[BATCH];
    tern_hashtable *table = make(&f, 8, 0, false);
    choose(table, keys, BATCH);
    for (size_t form = 0; form < 3; form++) {
        if (f.rank == OWNER)
            for (size_t h = 0; h < HELD; h++)
                hold(&f, table, &keys[1 + h * (BATCH / HELD)], true);
        answered = deferred = 0;
        handle_with(&f, count_answers);
        if (f.rank != OWNER)
            change_all(&f, table, keys, (form + f.rank) % 3);
        for (size_t h = 0; h < HELD && f.rank == OWNER; h++) {
            serve_until(&f, 0, deferred + 2 * f.size);
            hold(&f, table, &keys[1 + h * (BATCH / HELD)], false);
        }
        EXPECT_OK(tern_barrier(f.worker));
        /* Two bundles each. */
        CU_ASSERT(f.rank != OWNER || answered == 2 * (f.size - 1));
        for (size_t i = 0; i < BATCH && f.rank == OWNER; i++) {
            uint64_t count = 0;
            EXPECT_OK(tern_hashtable_find(f.worker, table, &keys[i], 0, &count));
            CU_ASSERT_EQUAL(count, 2 * (f.size - 1));
        }
        EXPECT_OK(tern_hashtable_clear(f.worker, table));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* The owner locks the bucket of a key that it has inserted, or whose lock it has given back, and
 * leaves its entry torn; and mends all that. */
static void tear(fixture *f, const tern_hashtable *table, uint64_t key, bool tears) {
    const uint64_t hash = hash_of(table, &key), locked = tern_state_locked(hash, OWNER),
                   whole = tern_state_unlocked(hash, false), torn = key ^ 1;
    const tern_ptr bucket = bucket_of(table, &key),
                   value = tern_ptr_add(bucket, table->shape.entry_at + 16);
    uint64_t seen = 0;
    if (!tears)
        EXPECT_OK(tern_put(f->worker, value, &key, 8));
    EXPECT_OK(tern_flush(f->worker, OWNER));
    EXPECT_OK(tern_atomic_cas(f->worker, bucket, tears ? tern_state_taken(hash, OWNER) : locked,
                              tears ? locked : whole, &seen));
    CU_ASSERT_EQUAL(seen, tears ? tern_state_taken(hash, OWNER) : locked);
    if (tears)
        EXPECT_OK(tern_put(f->worker, value, &torn, 8));
    EXPECT_OK(tern_flush(f->worker, OWNER));
}

/* Finds that meet a bucket which is being written are answered as far as they got. */
static void finds_are_cut(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 100, TORN = 60 };
    static uint64_t keys[KEYS], values[KEYS];
    unsigned char found[KEYS];
    tern_hashtable *table = make(&f, 8, 8, false);
    size_t present = 0;
    choose(table, keys, KEYS);
    for (size_t i = 0; i < KEYS && f.rank == OWNER; i++)
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &keys[i], &keys[i], 0, NULL));
    if (f.rank == OWNER)
        tear(&f, table, keys[TORN], true);
    answered = deferred = 0;
    handle_with(&f, count_answers);
    if (f.rank != OWNER) {
        EXPECT_OK(tern_hashtable_find_many(f.worker, table, keys, KEYS, TERN_BY_CALL, values, found,
                                           &present));
        CU_ASSERT(present == KEYS && memcmp(keys, values, sizeof keys) == 0);
    } else {
        serve_until(&f, f.size - 1, f.size);
        tear(&f, table, keys[TORN], false);
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(f.rank != OWNER || answered == 2 * (f.size - 1));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"messages_are_checked", messages_are_checked},
        {"replies_are_checked", replies_are_checked},
        {"adds_are_answered_once", adds_are_answered_once},
        {"batches_go_on", batches_go_on},
        {"replies_to_one_are_checked", replies_to_one_are_checked},
        {"finds_are_cut", finds_are_cut},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are taken by hand, for long */
    return tern_test_main(argc, argv, "hashtable_travel", tests, sizeof tests / sizeof *tests);
}
