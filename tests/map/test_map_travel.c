// tern-test: transports least=2

/*
 * Operations on maps that travel: what an owner makes of messages that no rank of its map sends,
 * and an origin of replies that no owner gives; and that an owner which could not do all items at
 * once goes on where it was.
 */

#include "bucket_tools.h"
#include "hostile.h"
#include "map_buckets.h"
#include "map_tools.h"

#include "map/op/message.h"
#include "tern/map.h"

enum { OWNER = 0, WORDS = 6000 };

static tern_map *make(fixture *f) { return map_make(f, (tern_map_options){.capacity = 40000}); }

/* Numbers of that rank that go up. */
static void choose(const tern_map *map, uint32_t rank, uint64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = i == 0 ? 1 : numbers[i - 1] + 1;
        while (tern_map_owner(map, &numbers[i], 8) != rank)
            numbers[i]++;
    }
}

/* ---- Messages ---- */

typedef struct wrong {
    uint8_t kind, form; /* of the head */
    uint16_t count;
    tern_op_kind item;
    uint32_t flags; /* of items */
    uint32_t bytes; /* of a value, as items say */
    int cut;        /* bytes that the message has more or, below zero, less */
    size_t items;   /* that there are */
} wrong;

#define BARE TERN_MAP_ITEM_BARE
#define ALONE TERN_BUNDLE_ALONE
static const wrong wrongs[] = {
    /* heads */
    {TERN_OP_FIND, 0, 0, TERN_OP_FIND, 0, 8, 0, 1},
    {TERN_OP_FIND, 0, 0, TERN_OP_FIND, 0, 8, 0, 0},
    {TERN_OP_FIND, 0, 513, TERN_OP_FIND, 0, 8, 0, 513},
    {TERN_OP_INSERT, 0, 65535, TERN_OP_INSERT, 0, 8, 0, 2},
    {TERN_OP_FIND, ALONE, 2, TERN_OP_FIND, 0, 8, 0, 2},
    {TERN_OP_FIND, 2, 1, TERN_OP_FIND, 0, 8, 0, 1},
    {TERN_OP_FIND, ALONE | 4, 1, TERN_OP_FIND, 0, 8, 0, 1},
    {TERN_OP_FIND, 128, 1, TERN_OP_FIND, 0, 8, 0, 1},
    {TERN_OP_ADD, 0, 1, TERN_OP_ADD, 0, 8, 0, 1},
    {TERN_OP_ERASE, 0, 1, TERN_OP_ERASE, BARE, 0, 0, 1},
    {255, 0, 1, TERN_OP_FIND, 0, 8, 0, 1},
    /* items that the head does not speak of */
    {TERN_OP_FIND, 0, 1, TERN_OP_INSERT, 0, 8, 0, 1},
    {TERN_OP_FIND, 0, 1, TERN_OP_FIND, BARE, 8, 0, 1},
    {TERN_OP_FIND, 0, 1, TERN_OP_ERASE, BARE, 0, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_FIND, 0, 8, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_INSERT, BARE, 100, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_INSERT_NEW, 0, 8, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_COMPARE_SWAP, 0, 16, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_MODIFY, 0, 8, 0, 1},
    {TERN_OP_FIND, ALONE, 1, TERN_OP_INSERT, 0, 8, 0, 1},
    {TERN_OP_ADD, ALONE, 1, TERN_OP_COMPARE_SWAP, 0, 16, 0, 1},
    {TERN_OP_MODIFY, ALONE, 1, TERN_OP_MODIFY, 0, 8, 0, 1},
    {TERN_OP_COPY, ALONE, 1, TERN_OP_COPY, 0, 8, 0, 1},
    {99, ALONE, 1, (tern_op_kind)99, 0, 8, 0, 1},
    /* sizes of items */
    {TERN_OP_ADD, ALONE, 1, TERN_OP_ADD, 0, 16, 0, 1},
    {TERN_OP_ADD, ALONE, 1, TERN_OP_ADD, 0, 0, 0, 1},
    {TERN_OP_ADD, ALONE, 1, TERN_OP_ADD, BARE, 8, 0, 1},
    {TERN_OP_COMPARE_SWAP, ALONE, 1, TERN_OP_COMPARE_SWAP, 0, 8, 0, 1},
    {TERN_OP_COMPARE_SWAP, ALONE, 1, TERN_OP_COMPARE_SWAP, BARE, 16, 0, 1},
    {TERN_OP_ERASE, ALONE, 1, TERN_OP_ERASE, 0, 0, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_ADD, 0, 0, 0, 1},
    {TERN_OP_INSERT, 0, 1, TERN_OP_INSERT, 0, UINT32_MAX, 0, 1},
    {TERN_OP_INSERT, ALONE, 1, TERN_OP_INSERT, 0, 1 << 20, 0, 1},
    /* ends */
    {TERN_OP_INSERT, 0, 2, TERN_OP_INSERT, 0, 8, -8, 2},
    {TERN_OP_INSERT, 0, 2, TERN_OP_INSERT, 0, 8, -4, 2},
    {TERN_OP_INSERT, 0, 2, TERN_OP_INSERT, 0, 8, 8, 2},
    {TERN_OP_INSERT, 0, 2, TERN_OP_INSERT, 0, 8, 0, 3},
    {TERN_OP_INSERT, 0, 3, TERN_OP_INSERT, 0, 8, 0, 2},
    {TERN_OP_FIND, 0, 512, TERN_OP_FIND, 0, 8, 0, 10},
    {TERN_OP_FIND, ALONE, 1, TERN_OP_FIND, 0, 8, 8, 1},
    {TERN_OP_FIND, ALONE, 1, TERN_OP_FIND, 0, 8, -8, 1},
    {TERN_OP_ADD, ALONE, 1, TERN_OP_ADD, 0, 8, -16, 1},
    {TERN_OP_FIND, ALONE, 1, TERN_OP_FIND, 0, 8, 0, 0}};

static uint64_t message[WORDS], numbers[600];

/* A message of items of numbers, each with values of bytes that are all 5. Returns its bytes. */
static size_t compose(const tern_map *map, const wrong *w, size_t values) {
    static const uint64_t five[] = {5, 5, 5, 5, 5, 5, 5, 5};
    const tern_bundle_head head = {.head = tern_table_head_to(map->table),
                                   .kind = w->kind,
                                   .form = w->form,
                                   .count = w->count};
    memcpy(message, &head, sizeof head);
    uint64_t *to = message + sizeof head / 8;
    for (size_t i = 0; i < w->items; i++) {
        tern_map_key key;
        tern_map_key_make(map, &numbers[i], 8, &key);
        to = tern_map_item_write(to, TERN_MAP_ITEM(w->item) | w->flags, &key, w->bytes, five,
                                 values);
    }
    return (size_t)((char *)to - (char *)message);
}

static tern_status send(fixture *f, const char *name, size_t bytes, void *reply, size_t *got) {
    const tern_function function = function_of(f->context, name);
    return tern_call_return(f->worker, (tern_worker_id){OWNER, 0}, &function, message, bytes, reply,
                            TERN_RESULT_MAX, got);
}

static void send_wrong(fixture *f, const tern_map *map) {
    uint64_t reply[TERN_RESULT_MAX / 8];
    size_t got = 0;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const wrong *w = &wrongs[i];
        const bool follows = w->item != TERN_OP_FIND && w->item != TERN_OP_ERASE;
        memset(message, 0, sizeof message);
        const size_t bytes = compose(map, w, follows && w->bytes <= 64 ? w->bytes : 0);
        const tern_status status =
            send(f, "tern_map_on_op", (size_t)((int64_t)bytes + w->cut), reply, &got);
        if (status != TERN_ERR_ARGUMENT)
            fprintf(stderr, "map_travel: message %zu\n", i);
        EXPECT(TERN_ERR_ARGUMENT, status);
    }
    const wrong find = {TERN_OP_FIND, 0, 1, TERN_OP_FIND, 0, 8, 0, 1};
    const size_t whole = compose(map, &find, 0);
    for (size_t bytes = 0; bytes < whole; bytes++)
        EXPECT(bytes < sizeof(tern_bundle_head) ? TERN_ERR_STATE : TERN_ERR_ARGUMENT,
               send(f, "tern_map_on_op", bytes, reply, &got));
    message[0]++;
    EXPECT(TERN_ERR_STATE, send(f, "tern_map_on_op", whole, reply, &got));
}

static tern_status look(tern_map_modify_info *info) {
    info->result_bytes = 0;
    return TERN_OK;
}
TERN_MAP_MODIFIER(look)

/* What a modifier is sent by a rank that wants something else. */
static void send_to_modifier(fixture *f, tern_map *map) {
    static const wrong list[] = {{TERN_OP_ADD, ALONE, 1, TERN_OP_ADD, 0, 8, 0, 1},
                                 {TERN_OP_MODIFY, ALONE, 1, TERN_OP_ADD, 0, 8, 0, 1},
                                 {TERN_OP_MODIFY, ALONE, 1, TERN_OP_MODIFY, BARE, 8, 0, 1},
                                 {TERN_OP_MODIFY, ALONE, 1, TERN_OP_MODIFY, 0, 64, 0, 1},
                                 {TERN_OP_MODIFY, 0, 1, TERN_OP_MODIFY, 0, 8, 0, 1},
                                 {TERN_OP_FIND, 0, 1, TERN_OP_FIND, 0, 0, 0, 1}};
    uint64_t reply[TERN_RESULT_MAX / 8];
    size_t got = 0;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        EXPECT(TERN_ERR_ARGUMENT, send(f, "look_by_call", compose(map, &list[i], 8), reply, &got));
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_modify(f->worker, map, &numbers[519], 8, &look_modifier,
                                               NULL, TERN_BY_CALL, NULL));
}

/* A key of another rank: alone it is an error, and so it is among others. */
static void send_strange(fixture *f, const tern_map *map) {
    static const wrong list[] = {{TERN_OP_INSERT, ALONE, 1, TERN_OP_INSERT, 0, 8, 0, 1},
                                 {TERN_OP_FIND, 0, 3, TERN_OP_FIND, 0, 8, 0, 3},
                                 {TERN_OP_INSERT, 0, 3, TERN_OP_INSERT, 0, 8, 0, 3}};
    uint64_t reply[TERN_RESULT_MAX / 8];
    size_t got = 0;
    choose(map, f->rank, numbers, 3);
    for (size_t i = 0; i < 3; i++) {
        const size_t bytes = compose(map, &list[i], i == 1 ? 0 : 8);
        EXPECT(TERN_ERR_ARGUMENT, send(f, "tern_map_on_op", bytes, reply, &got));
        EXPECT_DETAIL("belongs to rank");
    }
}

/* A message that is right is done, as often as it comes. */
static void send_right(fixture *f, const tern_map *map) {
    static const wrong insert = {TERN_OP_INSERT, 0, 20, TERN_OP_INSERT, 0, 8, 0, 20},
                       add = {TERN_OP_INSERT, 0, 20, TERN_OP_ADD, 0, 8, 0, 20},
                       find = {TERN_OP_FIND, 0, 21, TERN_OP_FIND, 0, 8, 0, 21},
                       swap = {TERN_OP_COMPARE_SWAP, ALONE, 1, TERN_OP_COMPARE_SWAP, 0, 16, 0, 1};
    union {
        tern_map_answer a;
        uint64_t word[TERN_RESULT_MAX / 8];
        unsigned char byte[TERN_RESULT_MAX];
    } r;
    size_t got = 0;
    choose(map, OWNER, numbers, 21);
    for (int turn = 0; turn < 2; turn++) {
        EXPECT_OK(send(f, "tern_map_on_op", compose(map, &insert, 8), &r, &got));
        CU_ASSERT(got == tern_map_answer_bytes(20, 0) && r.a.done == 20 && r.a.status == 0);
    }
    for (uint64_t turn = 1; turn < 3; turn++) {
        EXPECT_OK(send(f, "tern_map_on_op", compose(map, &add, 8), &r, &got));
        CU_ASSERT(got == tern_map_answer_bytes(20, 0) && r.byte[8] == TERN_MAP_STORED);
        EXPECT_OK(send(f, "tern_map_on_op", compose(map, &find, 0), &r, &got));
        CU_ASSERT(got == tern_map_answer_bytes(21, 40) && r.a.done == 21);
        CU_ASSERT(r.byte[8 + 19] == TERN_MAP_FOUND && r.byte[8 + 20] == TERN_MAP_ABSENT);
        CU_ASSERT(r.word[4 + 38] == 8 && r.word[4 + 39] == 5 + 5 * turn);
    }
    EXPECT_OK(send(f, "tern_map_on_op", compose(map, &swap, 16), &r, &got));
    CU_ASSERT(got == sizeof(tern_map_change_reply) + 8 &&
              r.word[sizeof(tern_map_change_reply) / 8] == 15);
}

static void messages_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t size = 77;
    tern_map *map = make(&f);
    choose(map, OWNER, numbers, 520);
    if (f.rank == f.size - 1) {
        send_wrong(&f, map);
        send_to_modifier(&f, map);
        send_strange(&f, map);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_map_clear(f.worker, map)); /* what stood before the end was done */
    if (f.rank == f.size - 1)
        send_right(&f, map);
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    CU_ASSERT_EQUAL(size, 20);
    map_end(&f, map);
    fixture_close(&f);
}

/* ---- Replies ---- */

/* The owner has another handler from now on. */
static void handle_with(fixture *f, tern_handler handler) {
    const tern_rpc *rpc = tern_rpc_of(f->context);
    for (uint32_t i = 0; i < rpc->count && f->rank == OWNER; i++)
        if (strcmp(rpc->name[i], "tern_map_on_op") == 0)
            rpc->function[i].handler = handler;
    EXPECT_OK(tern_barrier(f->worker));
}

/* What the owner answers to a batch of two keys. */
typedef struct lie {
    enum { INSERTS, FINDS } what;
    size_t bytes;
    uint32_t done, status;
    unsigned char outcome[8];
    uint64_t words[4];
    tern_status wanted;
    size_t there; /* keys that are known to be */
} lie;

enum {
    S = TERN_MAP_STORED,
    R = TERN_MAP_REPLACED,
    N = TERN_MAP_REFUSED,
    A = TERN_MAP_ABSENT,
    F = TERN_MAP_FOUND,
    L = TERN_MAP_LARGE,
    LEFT = TERN_MAP_LEFT,
    X = TERN_MAP_FAILED
};

static const lie lies[] = {{INSERTS, 0, 2, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 15, 2, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 17, 2, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 24, 2, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 3, 0, {S, S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 1, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 0, 0, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 999, {S, X}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, TERN_ERR_AGAIN, {S, X}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, TERN_ERR_PEER, {S, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, X}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, A}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, LEFT}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 24, 2, 0, {S, F}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 24, 2, 0, {S, L}, {9}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, 8}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, 255}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, R}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 24, 2, 0, {S, R}, {0}, TERN_ERR_SYSTEM, 0},
                           {INSERTS, 16, 2, 0, {S, S}, {0}, TERN_OK, 2},
                           {INSERTS, 16, 2, 0, {S, N}, {0}, TERN_ERR_FULL, 1},
                           {INSERTS, 19, 2, TERN_ERR_PEER, {X, S}, {0x636261}, TERN_ERR_PEER, 1},
                           {FINDS, 0, 2, 0, {A, A}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 0, 0, {A, A}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 3, 0, {A, A, A}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 2, 0, {A, S}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 2, 0, {A, N}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 32, 2, 0, {A, R}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 2, 0, {A, F}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 24, 2, 0, {A, F}, {8}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 32, 2, 0, {A, F}, {9, 1}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 32, 2, 0, {A, F}, {UINT64_MAX, 1}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 40, 2, 0, {A, F}, {8, 1, 1}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 2, 0, {A, L}, {0}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 24, 2, 0, {A, L}, {8}, TERN_ERR_SYSTEM, 0},
                           {FINDS, 16, 2, 0, {A, A}, {0}, TERN_OK, 0},
                           {FINDS, 48, 2, 0, {F, F}, {8, 1, 8, 2}, TERN_OK, 2},
                           {FINDS, 24, 2, 0, {F, A}, {0}, TERN_OK, 1},
                           {FINDS, 24, 2, 0, {A, L}, {9}, TERN_ERR_RANGE, 77},
                           {FINDS, 19, 2, TERN_ERR_PEER, {A, X}, {0x636261}, TERN_ERR_PEER, 0},
                           /* The answer is cut in the middle, and the rest is asked for. */
                           {FINDS, 24, 1, 0, {F, 200}, {0}, TERN_OK, 1},
                           {FINDS, 16, 1, 0, {A}, {0}, TERN_OK, 0}};
enum { LIES = sizeof lies / sizeof *lies };

static size_t told;

static tern_status lie_to_them(tern_call_info *call, const void *asked, size_t bytes) {
    const lie *l = &lies[told++ % LIES];
    tern_bundle_head head;
    CU_ASSERT_FATAL(bytes >= sizeof head);
    memcpy(&head, asked, sizeof head);
    CU_ASSERT(head.kind == (l->what == FINDS ? TERN_OP_FIND : TERN_OP_INSERT) && head.form == 0);
    char *to = call->result;
    memcpy(to, &l->done, 8);
    memcpy(to + 8, l->outcome, 8);
    memcpy(to + 16, l->words, sizeof l->words);
    call->result_bytes = l->bytes;
    return TERN_OK;
}

static void take_lie(fixture *f, tern_map *map, size_t *at) {
    const lie *l = &lies[*at];
    uint64_t values[2] = {77, 77};
    size_t there = 77;
    tern_map_item items[2];
    tern_map_slot slots[2];
    for (size_t i = 0; i < 2; i++) {
        items[i] = (tern_map_item){&numbers[i], &numbers[i], 8, 8};
        slots[i] = (tern_map_slot){
            .key = &numbers[i], .key_bytes = 8, .value = &values[i], .room = 8, .found = 77};
    }
    tern_status status = l->what == FINDS
                             ? tern_map_find_many(f->worker, map, slots, 2, TERN_BY_CALL, &there)
                             : tern_map_insert_many(f->worker, map, items, 2, TERN_BY_CALL, &there);
    if (status != l->wanted)
        fprintf(stderr, "map_travel: reply %zu\n", *at);
    EXPECT(l->wanted, status);
    if (l->wanted == TERN_ERR_SYSTEM)
        EXPECT_DETAIL("with a message that no owner sends");
    if (l->wanted == TERN_ERR_PEER)
        EXPECT_DETAIL("rank 0: abc");
    if (l->what == INSERTS || l->wanted == TERN_OK)
        CU_ASSERT_EQUAL(there, l->there);
    if (l->outcome[0] == F && l->outcome[1] == F)
        CU_ASSERT(values[0] == 1 && values[1] == 2 && slots[1].found && slots[1].value_bytes == 8);
    if (l->outcome[1] == L && l->wanted == TERN_ERR_RANGE)
        CU_ASSERT(slots[1].found && slots[1].value_bytes == 9 && values[1] == 77);
    *at += l->wanted == TERN_OK && l->done < 2 ? 2 : 1;
}

static void replies_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = make(&f);
    choose(map, OWNER, numbers, 2);
    told = 0;
    handle_with(&f, lie_to_them);
    for (size_t at = 0; at < LIES && f.rank == f.size - 1;)
        take_lie(&f, map, &at);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(f.rank != OWNER || told == LIES);
    map_end(&f, map);
    fixture_close(&f);
}

static tern_status answer_anything(tern_call_info *call, const void *asked, size_t bytes) {
    (void)asked;
    (void)bytes;
    memset(call->result, 0xff, TERN_RESULT_MAX);
    call->result_bytes = 8 * (told++ % 6);
    return TERN_OK;
}

static void replies_to_one_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = make(&f);
    choose(map, OWNER, numbers, 1);
    told = 0;
    handle_with(&f, answer_anything);
    for (int i = 0; i < 5 && f.rank == f.size - 1; i++) {
        uint64_t value = 5;
        const uint64_t *key = numbers;
        EXPECT(TERN_ERR_SYSTEM,
               tern_map_find(f.worker, map, key, 8, TERN_BY_CALL, &value, 8, NULL));
        EXPECT(TERN_ERR_SYSTEM,
               tern_map_insert(f.worker, map, key, 8, &value, 8, TERN_BY_CALL, NULL));
        EXPECT(TERN_ERR_SYSTEM, tern_map_erase(f.worker, map, key, 8, TERN_BY_CALL));
        EXPECT(TERN_ERR_SYSTEM, tern_map_add(f.worker, map, key, 8, 1, TERN_BY_CALL, &value));
        EXPECT(TERN_ERR_SYSTEM,
               tern_map_compare_swap(f.worker, map, key, 8, 1, 2, TERN_BY_CALL, &value));
        CU_ASSERT_EQUAL(value, 5);
    }
    EXPECT_OK(tern_barrier(f.worker));
    map_end(&f, map);
    fixture_close(&f);
}

static tern_status refuse(tern_call_info *call, const void *asked, size_t bytes) {
    (void)asked;
    (void)bytes;
    return tern_call_fail(call, TERN_ERR_PEER, "no");
}

/* An owner that says why it has not done a change has not done it: the block that its caller has
 * made is given back, whatever the reason. */
static void refused_blocks_come_back(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = make(&f);
    const size_t bytes = tern_context_config(f.context)->ring_size; /* no ring takes it */
    char *value = calloc(1, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    choose(map, OWNER, numbers, 1);
    const size_t before = heap_at_first(&f);
    handle_with(&f, refuse);
    if (f.rank == f.size - 1) {
        tern_request request = {0};
        EXPECT(TERN_ERR_PEER,
               tern_map_insert(f.worker, map, numbers, 8, value, bytes, TERN_BY_CALL, NULL));
        EXPECT_DETAIL("rank 0: no");
        CU_ASSERT_EQUAL(heap_in_use(&f), before);
        EXPECT_OK(
            tern_map_insert_start(f.worker, map, numbers, 8, value, bytes, TERN_BY_CALL, &request));
        EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &request));
        CU_ASSERT_EQUAL(heap_in_use(&f), before);
    }
    free(value);
    map_end(&f, map);
    fixture_close(&f);
}

/* ---- Items that could not be done at once ---- */

static uint64_t answered, deferred;

static tern_status count_answers(tern_call_info *call, const void *asked, size_t bytes) {
    const tern_status status = tern_map_on_op(call, asked, bytes);
    answered += status != TERN_ERR_AGAIN;
    deferred += status == TERN_ERR_AGAIN;
    return status;
}

/* The owner takes or frees the bucket of a key, as an insert does that has not put its entry. */
static void hold(fixture *f, const tern_map *map, uint64_t number, bool take) {
    tern_map_key key;
    tern_map_key_make(map, &number, 8, &key);
    const uint64_t taken = tern_state_taken(key.hash, OWNER);
    const uint64_t was = take ? TERN_FREE : taken, is = take ? taken : TERN_FREE;
    uint64_t seen = 1;
    EXPECT_OK(tern_atomic_cas(f->worker, bucket_of(map->table, key.fingerprint), was, is, &seen));
    CU_ASSERT_EQUAL(seen, was);
}

enum { BATCH = 500, HELD = 4 };

/* The first number from that on whose bucket no other key passes. */
static uint64_t lonely(const tern_map *map, size_t first) {
    enum { PASSED = 4 };
    for (size_t i = first; i < BATCH; i++) {
        const uint64_t bucket = map_bucket_of(map, numbers[i]);
        bool met = false;
        for (size_t other = 0; other < BATCH; other++)
            met = met || (other != i && bucket - map_bucket_of(map, numbers[other]) < PASSED);
        if (!met)
            return numbers[i];
    }
    return numbers[first];
}

/* Each origin changes the same keys once, in a form of its own. */
static void change_all(fixture *f, tern_map *map, size_t form) {
    static tern_map_item items[2 * BATCH];
    static const unsigned char value[100];
    tern_map_buffer *buffer = NULL;
    uint64_t refused = 77;
    size_t done = 0;
    for (size_t i = 0; i < 2 * BATCH; i++)
        items[i] = (tern_map_item){&numbers[i / 2], value, 8, sizeof value};
    if (form == 0)
        EXPECT_OK(tern_map_add_many(f->worker, map, items, 2 * BATCH, 1, TERN_BY_CALL, &done));
    if (form == 1)
        EXPECT_OK(tern_map_insert_many(f->worker, map, items, 2 * BATCH, TERN_BY_CALL, &done));
    CU_ASSERT(form == 2 || done == 2 * (size_t)BATCH);
    if (form < 2)
        return;
    EXPECT_OK(tern_map_buffer_create(f->worker, map, 0, &buffer));
    for (size_t i = 0; i < BATCH; i++)
        EXPECT_OK(tern_map_buffer_add(f->worker, buffer, &numbers[i], 8, 2));
    EXPECT_OK(tern_map_buffer_destroy(f->worker, buffer, &refused));
    CU_ASSERT_EQUAL(refused, 0);
}

/* Buckets in the middle of each origin's batch are being taken, and are given free one by one. Each
 * batch goes on behind each of them, and nothing is done twice. */
static void batches_go_on(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = make(&f);
    choose(map, OWNER, numbers, BATCH);
    const size_t before = heap_at_first(&f);
    uint64_t held[HELD];
    for (size_t h = 0; h < HELD; h++)
        held[h] = lonely(map, 1 + h * (BATCH / HELD));
    for (size_t form = 0; form < 3; form++) {
        for (size_t h = 0; h < HELD && f.rank == OWNER; h++)
            hold(&f, map, held[h], true);
        answered = deferred = 0;
        handle_with(&f, count_answers);
        if (f.rank != OWNER)
            change_all(&f, map, form);
        for (size_t h = 0; h < HELD && f.rank == OWNER; h++) {
            const double limit = MPI_Wtime() + TERN_TEST_PATIENCE;
            const uint64_t leaves = deferred + 2 * f.size;
            while (deferred < leaves && MPI_Wtime() < limit)
                tern_progress(f.worker);
            CU_ASSERT(deferred >= leaves);
            hold(&f, map, held[h], false);
        }
        EXPECT_OK(tern_barrier(f.worker));
        for (size_t i = 0; i < BATCH && f.rank == OWNER; i++) {
            uint64_t got[16] = {0};
            EXPECT_OK(tern_map_find(f.worker, map, &numbers[i], 8, 0, got, sizeof got, NULL));
            CU_ASSERT(form == 1 || got[0] == 2 * (f.size - 1));
        }
        clear_and_expect_heap(&f, map, before);
    }
    map_end(&f, map);
    fixture_close(&f);
}

/* Messages that come for the owner's whole answer: an answer of many numbers is one. */
static void batches_are_answered_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    choose(map, OWNER, numbers, BATCH);
    answered = deferred = 0;
    handle_with(&f, count_answers);
    if (f.rank == f.size - 1) {
        tern_stats before, after;
        tern_map_item items[BATCH];
        size_t done = 0;
        for (size_t i = 0; i < BATCH; i++)
            items[i] = (tern_map_item){&numbers[i], &numbers[i], 8, 8};
        tern_stats_get(f.worker, &before);
        EXPECT_OK(tern_map_add_many(f.worker, map, items, BATCH, 3, TERN_BY_CALL, &done));
        tern_stats_get(f.worker, &after);
        CU_ASSERT_EQUAL(done, BATCH);
        answered = after.calls_sent - before.calls_sent;
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == OWNER) {
        CU_ASSERT(deferred > 0 && answered <= 8);
        for (size_t i = 0; i < BATCH; i++) {
            uint64_t number = 0;
            EXPECT_OK(tern_map_find(f.worker, map, &numbers[i], 8, 0, &number, 8, NULL));
            CU_ASSERT_EQUAL(number, 3);
        }
    }
    map_end(&f, map);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"messages_are_checked", messages_are_checked},
        {"replies_are_checked", replies_are_checked},
        {"replies_to_one_are_checked", replies_to_one_are_checked},
        {"refused_blocks_come_back", refused_blocks_come_back},
        {"batches_go_on", batches_go_on},
        {"batches_are_answered_once", batches_are_answered_once},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are taken by hand, for long */
    return tern_test_main(argc, argv, "map_travel", tests, sizeof tests / sizeof *tests);
}
