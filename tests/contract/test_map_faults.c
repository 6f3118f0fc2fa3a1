// tern-test: ranks survivors least=2

/* A rank dies that owns keys of a map and holds blocks of others: an operation that needs the rank
 * is TERN_ERR_PEER or gets what was stored, whole, and everything else goes on. */

#include "map_tools.h"
#include "survivors.h"

enum { KEYS = 20, BYTES = 3000 };

static unsigned char value[BYTES], found[BYTES];

static void finds_are_told(fixture *f, tern_map *map, tern_flags path) {
    for (uint64_t number = 0; number < (uint64_t)f->size * KEYS; number++) {
        size_t bytes = 0;
        tern_status status =
            tern_map_find(f->worker, map, &number, 8, path, found, sizeof found, &bytes);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
        fill_bytes(value, BYTES, number);
        if (status == TERN_OK)
            CU_ASSERT(bytes == BYTES && memcmp(found, value, BYTES) == 0);
        /* Keys that have nothing to do with the dead rank are there. */
        if (tern_map_owner(map, &number, 8) != f->size - 1 && number / KEYS != f->size - 1)
            EXPECT(TERN_OK, status);
    }
}

/* Batches that need the dead rank are told, and what they have for others is done. */
static void batches_are_told(fixture *f, tern_map *map) {
    uint64_t keys[2 * KEYS];
    tern_map_item items[2 * KEYS];
    tern_map_slot slots[2 * KEYS];
    size_t count = 0, of_dead = 0, done = 77;
    for (uint64_t number = 1000 * (f->rank + 1); count < 2 * KEYS; number++) {
        const uint32_t owner = tern_map_owner(map, &number, 8);
        if (owner == f->size - 1 ? of_dead < KEYS : count - of_dead < KEYS) {
            of_dead += owner == f->size - 1;
            keys[count] = number;
            items[count] = (tern_map_item){&keys[count], value, 8, 8};
            slots[count] = (tern_map_slot){&keys[count], 8, found, 8, 0, 0};
            count++;
        }
    }
    EXPECT(TERN_ERR_PEER, tern_map_insert_many(f->worker, map, items, count, TERN_BY_CALL, &done));
    EXPECT_DETAIL("has died");
    CU_ASSERT_EQUAL(done, KEYS);
    EXPECT(TERN_ERR_PEER, tern_map_find_many(f->worker, map, slots, count, TERN_BY_CALL, NULL));
    /* The loss of keys that were buffered for the dead rank is told, once. */
    tern_map_buffer *buffer = NULL;
    EXPECT_OK(tern_map_buffer_create(f->worker, map, KEYS / 2, &buffer));
    for (size_t i = 0; i < count; i++)
        tern_ignore(tern_map_buffer_insert(f->worker, buffer, &keys[i], 8, &keys[i], 8));
    EXPECT(TERN_ERR_PEER, tern_map_buffer_flush(f->worker, buffer, NULL));
    EXPECT_DETAIL("buffered keys it is not known whether they are in the map");
    EXPECT_OK(tern_map_buffer_flush(f->worker, buffer, NULL));
    EXPECT_OK(tern_map_buffer_destroy(f->worker, buffer, NULL));
    for (size_t i = 0; i < count; i++)
        if (tern_map_owner(map, &keys[i], 8) != f->size - 1)
            EXPECT_OK(tern_map_erase(f->worker, map, &keys[i], 8, TERN_BY_CALL));
}

static tern_status leave(tern_map_modify_info *info) { return tern_map_resize(info, 8); }
TERN_MAP_MODIFIER(leave)

/* Each operation by call on a key of the dead rank, blocking and started. No output changes. */
static void operations_are_told(fixture *f, tern_map *map) {
    const tern_flags path = TERN_BY_CALL;
    tern_worker *w = f->worker;
    tern_request request[4] = {0};
    uint64_t number = 5000 + f->rank * 100, before = 77;
    size_t bytes = 77;
    int existed = 77;
    void *copy = value;
    while (tern_map_owner(map, &number, 8) != f->size - 1)
        number++;
    EXPECT(TERN_ERR_PEER, tern_map_insert(w, map, &number, 8, value, 8, path, &existed));
    EXPECT_DETAIL("has died");
    EXPECT(TERN_ERR_PEER, tern_map_insert_new(w, map, &number, 8, value, BYTES, path, &existed));
    EXPECT(TERN_ERR_PEER, tern_map_erase(w, map, &number, 8, path));
    EXPECT(TERN_ERR_PEER, tern_map_add(w, map, &number, 8, 1, path, &before));
    EXPECT(TERN_ERR_PEER, tern_map_compare_swap(w, map, &number, 8, 0, 1, path, &before));
    EXPECT(TERN_ERR_PEER, tern_map_modify(w, map, &number, 8, &leave_modifier,
                                          &(tern_modify_options){.absent = TERN_ABSENT_INSERT,
                                                                 .result_bytes = &bytes},
                                          path, &existed));
    EXPECT(TERN_ERR_PEER, tern_map_find_alloc(w, map, &number, 8, path, &copy, &bytes));
    CU_ASSERT(existed == 77 && before == 77 && bytes == 77 && copy == value);
    const tern_status start[4] = {
        tern_map_insert_start(w, map, &number, 8, value, 8, path, &request[0]),
        tern_map_insert_new_start(w, map, &number, 8, value, BYTES, path, &request[1]),
        tern_map_add_start(w, map, &number, 8, 1, path, &request[2]),
        tern_map_find_start(w, map, &number, 8, path, found, sizeof found, &request[3])};
    for (int i = 0; i < 4; i++)
        EXPECT(TERN_ERR_PEER, start[i] == TERN_OK ? tern_wait(w, &request[i]) : start[i]);
    /* By RMA an operation succeeds where it needs no wait for the dead. */
    for (int i = 0; i < 2; i++) {
        tern_status status = i == 0 ? tern_map_add(w, map, &number, 8, 1, TERN_BY_RMA, &before)
                                    : tern_map_erase(w, map, &number, 8, TERN_BY_RMA);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
    }
}

/* The victim lives and answers no more, so requests to it end with its death. */
static void requests_are_told(fixture *f, tern_map *map) {
    tern_worker *w = f->worker;
    tern_request request[4] = {0};
    uint64_t number = 6000 + f->rank * 100;
    if (f->rank == play.victim)
        return;
    while (tern_map_owner(map, &number, 8) != play.victim)
        number++;
    const tern_status start[4] = {
        tern_map_insert_start(w, map, &number, 8, value, 8, TERN_BY_CALL, &request[0]),
        tern_map_insert_start(w, map, &number, 8, value, BYTES, TERN_BY_CALL, &request[1]),
        tern_map_add_start(w, map, &number, 8, 1, TERN_BY_CALL, &request[2]),
        tern_map_find_start(w, map, &number, 8, TERN_BY_CALL, found, sizeof found, &request[3])};
    for (int i = 0; i < 4; i++)
        EXPECT(TERN_ERR_PEER, start[i] == TERN_OK ? tern_wait(w, &request[i]) : start[i]);
    EXPECT_DETAIL("has died");
}

static int visit(const tern_map_item *item, void *argument) {
    uint64_t number = 0;
    memcpy(&number, item->key, 8);
    fill_bytes(value, BYTES, number);
    *(uint64_t *)argument += item->value_bytes != BYTES || memcmp(item->value, value, BYTES) != 0;
    return 0;
}

/* Values that the dead rank keeps are needed, or load/store reaches them. */
static void walks_are_told(fixture *f, tern_map *map) {
    uint64_t wrong = 0, count = 0;
    tern_status status = tern_map_for_each(f->worker, map, visit, &wrong);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
    status = tern_map_for_each_anywhere(f->worker, map, visit, &wrong);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_map_local_size(f->worker, map, &count));
}

static void a_rank_dies_with_blocks(void) {
    fixture f;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 500}, &map));
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t number = f.rank * KEYS + i;
        fill_bytes(value, BYTES, number);
        EXPECT_OK(tern_map_insert(f.worker, map, &number, 8, value, BYTES, TERN_BY_RMA, NULL));
    }
    lose_later(&f);
    requests_are_told(&f, map);
    finds_are_told(&f, map, TERN_BY_RMA);
    finds_are_told(&f, map, TERN_BY_CALL);
    walks_are_told(&f, map);
    meet_survivors(&f);
    operations_are_told(&f, map);
    batches_are_told(&f, map);
    meet_survivors(&f);
    /* Each survivor replaces and erases keys, among them the dead rank's, whose blocks are gone. */
    for (uint64_t i = f.rank; i < (uint64_t)f.size * KEYS; i += f.size - 1) {
        if (tern_map_owner(map, &i, 8) == f.size - 1)
            continue;
        int existed = 0;
        EXPECT_OK(tern_map_insert(f.worker, map, &i, 8, &i, 8, TERN_BY_RMA, &existed));
        CU_ASSERT_EQUAL(existed, 1);
        EXPECT_OK(tern_map_erase(f.worker, map, &i, 8, TERN_BY_CALL));
    }
    uint64_t count = 0;
    EXPECT(TERN_ERR_PEER, tern_map_size(f.worker, map, &count));
    /* The others may still call this rank. */
    meet_survivors(&f);
    EXPECT(TERN_ERR_PEER, tern_map_clear(f.worker, map));
    EXPECT(TERN_ERR_PEER, tern_map_destroy(f.worker, map));
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_with_blocks", a_rank_dies_with_blocks},
    };
    return tern_test_main(argc, argv, "map_faults", tests, 1);
}
