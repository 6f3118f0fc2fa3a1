// tern-test: transports

/* Map: many keys at once, by batches and by requests, and keys that find no room. */

#include "map_tools.h"
#include "nothing.h"
#include "table_tools.h"

static unsigned char key[TERN_MAP_KEY_MAX + 1], value[MAP_VALUE_ROOM + 8],
    found[MAP_VALUE_ROOM + 8];

/* All ranks count the same words, by batches and by requests. */
static void numbers_are_added_many_at_once(void) {
    enum { WORDS = 70, TURNS = 3 };
    static char word[WORDS][64];
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map_item items[WORDS];
    tern_request request[WORDS] = {0};
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 10, .grow = 1});
    const size_t before = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 11), sum = 0;
    for (int i = 0; i < WORDS; i++) {
        snprintf(word[i], sizeof word[i], i % 3 ? "word %d" : "a word that is as long as %040d",
                 i / 2);
        items[i] = (tern_map_item){.key = word[i], .key_bytes = strlen(word[i])};
    }
    for (int turn = 0; turn < TURNS; turn++) {
        size_t added = 77;
        EXPECT_OK(tern_map_add_many(f.worker, map, items, WORDS, 2, any_path(&random), &added));
        CU_ASSERT_EQUAL(added, WORDS);
        for (int i = 0; i < WORDS; i += 2) {
            EXPECT_OK(tern_map_add_start(f.worker, map, items[i].key, items[i].key_bytes, 1,
                                         fixture_path((uint64_t)i / 2), &request[i]));
        }
        EXPECT_OK(tern_wait_all(f.worker, request, WORDS));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < WORDS; i++) {
        uint64_t number = 0;
        bool again = false;
        EXPECT_OK(
            tern_map_find(f.worker, map, items[i].key, items[i].key_bytes, 0, &number, 8, NULL));
        for (int j = 0; j < i; j++)
            again = again || strcmp(word[j], word[i]) == 0;
        sum += again ? 0 : number;
    }
    CU_ASSERT_EQUAL(sum, (2 * WORDS + WORDS / 2) * TURNS * f.size);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Items with keys of this rank's own, all with one value. */
static void own_items(const fixture *f, tern_map_item *items, uint64_t *keys, size_t count,
                      size_t bytes) {
    static uint64_t next;
    for (size_t i = 0; i < count; i++) {
        keys[i] = next++ << 8 | f->rank;
        items[i] = (tern_map_item){&keys[i], value, 8, bytes};
    }
}

/* Values lie in blocks of the rank that inserted them by RMA. Owners replace many of them at once,
 * and say so; each block is given back. */
static void batches_replace_blocks(void) {
    enum { COUNT = 80 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 64 * COUNT});
    const size_t before = heap_at_first(&f);
    tern_map_item items[COUNT];
    uint64_t keys[COUNT];
    size_t stored = 0;
    own_items(&f, items, keys, COUNT, 100);
    EXPECT_OK(tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_RMA, &stored));
    CU_ASSERT_EQUAL(stored, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        items[i].value_bytes = 200 + i;
    EXPECT_OK(tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_CALL, &stored));
    CU_ASSERT_EQUAL(stored, COUNT);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Finds keys whose values take more than one answer if the owner has no memory for a large one. */
static void expect_found(const fixture *f, tern_map *map, const tern_map_item *items,
                         size_t count) {
    tern_map_slot slots[64];
    static unsigned char values[64][128];
    size_t there = 77;
    CU_ASSERT_FATAL(count <= 64);
    for (size_t i = 0; i < count; i++)
        slots[i] = (tern_map_slot){
            .key = items[i].key, .key_bytes = 8, .value = values[i], .room = sizeof values[i]};
    EXPECT_OK(tern_map_find_many(f->worker, map, slots, count, TERN_BY_CALL, &there));
    CU_ASSERT_EQUAL(there, count);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT(slots[i].value_bytes == items[i].value_bytes &&
                  memcmp(values[i], items[i].value, items[i].value_bytes) == 0);
}

/* Owners that have no memory for a block pass its key over, and say why. Finds need no memory of
 * theirs: what does not fit an answer comes in the next one. */
static void batches_fill_the_memory(void) {
    enum { COUNT = 40 };
    fixture f;
    if (!map_open(&f, (size_t)1 << 20))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 4000});
    const size_t before = heap_at_first(&f);
    tern_map_item items[COUNT], small[COUNT];
    uint64_t keys[COUNT], small_keys[COUNT], all[64], sum = COUNT, total = 0, size = 77;
    tern_status status = TERN_OK;
    own_items(&f, small, small_keys, COUNT, 100);
    EXPECT_OK(tern_map_insert_many(f.worker, map, small, COUNT, TERN_BY_CALL, NULL));
    for (int turn = 0; status == TERN_OK && turn < 100; turn++) {
        size_t stored = 77;
        own_items(&f, items, keys, COUNT, 4000);
        status = tern_map_insert_many(f.worker, map, items, COUNT, TERN_BY_CALL, &stored);
        CU_ASSERT(status == TERN_OK ? stored == COUNT : stored < COUNT);
        sum += stored;
    }
    EXPECT(TERN_ERR_MEMORY, status);
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    EXPECT_OK(tern_barrier(f.worker)); /* all segments are full */
    expect_found(&f, map, small, COUNT);
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    fixture_share(&f, &sum, sizeof sum, all);
    for (uint32_t r = 0; r < f.size; r++)
        total += all[r];
    CU_ASSERT_EQUAL(size, total);
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* A map without growth that is full refuses a new key by every form, says how many, keeps what it
 * has, and takes new values for it. */
typedef enum refused_form {
    REFUSED_INSERT,
    REFUSED_INSERT_NEW,
    REFUSED_ADD,
    REFUSED_MODIFY,
    REFUSED_INSERT_START,
    REFUSED_INSERT_NEW_START,
    REFUSED_ADD_START,
    REFUSED_INSERT_MANY,
    REFUSED_ADD_MANY,
    REFUSED_BUFFER_INSERT,
    REFUSED_BUFFER_ADD,
    REFUSED_FORMS
} refused_form;

static tern_status fill_in(tern_map_modify_info *info) {
    tern_status status = tern_map_resize(info, 8);
    if (status == TERN_OK)
        memset(info->value, 7, 8);
    return status;
}
TERN_MAP_MODIFIER(fill_in)

static tern_status insert_by(fixture *f, tern_map *map, tern_map_buffer *buffer, refused_form form,
                             tern_flags path, const uint64_t *number) {
    tern_worker *w = f->worker;
    tern_request request = {0};
    const tern_map_item item = {number, number, 8, 8};
    tern_status status = TERN_OK;
    uint64_t refused = 77;
    size_t done = 77;
    switch (form) {
    case REFUSED_INSERT:
        return tern_map_insert(w, map, number, 8, number, 8, path, NULL);
    case REFUSED_INSERT_NEW:
        return tern_map_insert_new(w, map, number, 8, number, 8, path, NULL);
    case REFUSED_ADD:
        return tern_map_add(w, map, number, 8, 1, path, NULL);
    case REFUSED_MODIFY:
        return tern_map_modify(w, map, number, 8, &fill_in_modifier,
                               &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, path, NULL);
    case REFUSED_INSERT_START:
        status = tern_map_insert_start(w, map, number, 8, number, 8, path, &request);
        return status == TERN_OK ? tern_wait(w, &request) : status;
    case REFUSED_INSERT_NEW_START:
        status = tern_map_insert_new_start(w, map, number, 8, number, 8, path, &request);
        return status == TERN_OK ? tern_wait(w, &request) : status;
    case REFUSED_ADD_START:
        status = tern_map_add_start(w, map, number, 8, 1, path, &request);
        return status == TERN_OK ? tern_wait(w, &request) : status;
    case REFUSED_INSERT_MANY:
    case REFUSED_ADD_MANY:
        status = form == REFUSED_INSERT_MANY ? tern_map_insert_many(w, map, &item, 1, path, &done)
                                             : tern_map_add_many(w, map, &item, 1, 1, path, &done);
        CU_ASSERT_EQUAL(done, status == TERN_OK);
        return status;
    default:
        EXPECT_OK(form == REFUSED_BUFFER_INSERT
                      ? tern_map_buffer_insert(w, buffer, number, 8, number, 8)
                      : tern_map_buffer_add(w, buffer, number, 8, 1));
        status = tern_map_buffer_flush(w, buffer, &refused);
        CU_ASSERT_EQUAL(refused, status != TERN_OK);
        EXPECT_OK(tern_map_buffer_flush(w, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 0);
        return status;
    }
}

static void full_maps_refuse_by_every_form(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1});
    const size_t before = heap_at_first(&f);
    uint64_t number = f.rank, first = f.rank, size = 77, after = 78, got = 0;
    tern_map_buffer *buffer = NULL;
    EXPECT_OK(tern_map_buffer_create(f.worker, map, 0, &buffer));
    tern_status status = TERN_OK;
    for (; status == TERN_OK && number < 100000; number += f.size)
        status = tern_map_insert(f.worker, map, &number, 8, &number, 8, TERN_BY_RMA, NULL);
    EXPECT(TERN_ERR_FULL, status);
    number -= f.size;
    /* The others have filled it, too, before anything is counted. */
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    for (refused_form form = 0; form < REFUSED_FORMS; form++)
        for (uint64_t p = 0; p < 3; p++) {
            const tern_flags path = fixture_path(p);
            EXPECT(TERN_ERR_FULL, insert_by(&f, map, buffer, form, path, &number));
            EXPECT(TERN_ERR_NOT_FOUND,
                   tern_map_find(f.worker, map, &number, 8, path, &got, 8, NULL));
        }
    EXPECT_OK(tern_map_size(f.worker, map, &after));
    CU_ASSERT_EQUAL(size, after);
    if (number != first)
        for (uint64_t p = 0; p < 3; p++) {
            const uint64_t value_now = 1000 + p;
            EXPECT_OK(
                tern_map_insert(f.worker, map, &first, 8, &value_now, 8, fixture_path(p), NULL));
            EXPECT_OK(tern_map_find(f.worker, map, &first, 8, fixture_path(p + 1), &got, 8, NULL));
            CU_ASSERT_EQUAL(got, value_now);
        }
    EXPECT_OK(tern_map_buffer_destroy(f.worker, buffer, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Finds that are under way while their map grows from a few keys to many end with their values. */
static void requests_outlive_growth(void) {
    enum { STARTED = 24 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1, .grow = 1});
    const size_t before = heap_at_first(&f);
    const uint64_t more = (uint64_t)fixture_times(&f, 2000);
    uint64_t keys[STARTED], wrong = 0;
    for (uint64_t round = 0; round < 2; round++) {
        tern_request request[STARTED] = {0};
        char got[STARTED][800], large[800];
        for (uint64_t i = 0; i < STARTED; i++) {
            keys[i] = (round << 32) + i * f.size + f.rank;
            memset(large, (int)i, sizeof large);
            if (i % 4 != 3)
                EXPECT_OK(tern_map_insert(f.worker, map, &keys[i], 8, large, i % 2 ? 800 : 8,
                                          fixture_path(i), NULL));
        }
        for (uint64_t i = 0; i < STARTED; i++)
            EXPECT_OK(tern_map_find_start(f.worker, map, &keys[i], 8, fixture_path(i / 2), got[i],
                                          sizeof got[i], &request[i]));
        for (uint64_t i = 0; i < more; i++) {
            const uint64_t other = ((round + 9) << 32) + i * f.size + f.rank;
            EXPECT_OK(tern_map_insert(f.worker, map, &other, 8, &i, 8, TERN_AUTO, NULL));
        }
        for (uint64_t i = 0; i < STARTED; i++) {
            const size_t bytes = i % 2 ? 800 : 8;
            EXPECT(i % 4 == 3 ? TERN_ERR_NOT_FOUND : TERN_OK, tern_wait(f.worker, &request[i]));
            for (size_t b = 0; i % 4 != 3 && b < bytes; b++)
                wrong += got[i][b] != (char)i;
            CU_ASSERT_EQUAL(tern_request_result(&request[i]), i % 4 == 3 ? 0 : bytes);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* Calls of one worker on one key take effect in the order of their starts. */
static void calls_take_effect_in_order(void) {
    enum { PAIRS = 10 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 64});
    const tern_flags path = TERN_BY_CALL;
    const size_t before = heap_at_first(&f);
    static unsigned char got[PAIRS][500];
    for (uint64_t number = f.rank; number < 4ul * f.size; number += f.size) {
        tern_request request[2 * PAIRS] = {0}, added[2] = {0};
        for (int i = 0; i < PAIRS; i++) {
            unsigned char bytes[500];
            memset(bytes, i, sizeof bytes);
            EXPECT_OK(tern_map_insert_start(f.worker, map, &number, 8, bytes, i % 2 ? 500 : 8, path,
                                            &request[2 * i]));
            EXPECT_OK(tern_map_find_start(f.worker, map, &number, 8, path, got[i], sizeof got[i],
                                          &request[2 * i + 1]));
        }
        EXPECT_OK(tern_map_insert_start(f.worker, map, &number, 8, &number, 8, path, &added[0]));
        EXPECT_OK(tern_wait_all(f.worker, request, 2 * PAIRS));
        EXPECT_OK(tern_map_add_start(f.worker, map, &number, 8, 1, path, &added[1]));
        EXPECT_OK(tern_wait_all(f.worker, added, 2));
        CU_ASSERT_EQUAL(tern_request_result(&added[1]), number);
        for (int i = 0; i < PAIRS; i++) {
            const uint64_t bytes = i % 2 ? 500 : 8;
            CU_ASSERT_EQUAL(tern_request_result(&request[2 * i]), i > 0);
            CU_ASSERT_EQUAL(tern_request_result(&request[2 * i + 1]), bytes);
            CU_ASSERT(got[i][0] == i && got[i][bytes - 1] == i);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* By each path, a value that does not fit is no error of the start. */
static void outcomes_are_told_by_waits(tern_worker *w, tern_map *map, tern_flags path) {
    tern_request request = {0};
    char small[4];
    EXPECT_OK(tern_map_find_start(w, map, "b", 1, path, small, sizeof small, &request));
    for (int again = 0; again < 2; again++)
        EXPECT(TERN_ERR_RANGE, tern_wait(w, &request));
    EXPECT_DETAIL("8 bytes; there is room for 4");
    EXPECT_OK(tern_map_add_start(w, map, "a", 1, 1, path, &request));
    EXPECT(TERN_ERR_RANGE, tern_wait(w, &request));
    EXPECT_OK(tern_map_find_start(w, map, "absent", 6, path, small, sizeof small, &request));
    EXPECT(TERN_ERR_NOT_FOUND, tern_wait(w, &request));
}

/* Also where most of them have one key, and so are one item. */
static void items_before_a_wrong_one_are_taken(fixture *f, tern_map *map) {
    enum { SAME = 20 };
    tern_map_item items[SAME + 1];
    size_t stored = 77;
    for (size_t i = 0; i < SAME; i++)
        items[i] = (tern_map_item){"a", "1234", 1, 4};
    items[SAME] = (tern_map_item){"none", NULL, 4, 1};
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_insert_many(f->worker, map, items, SAME + 1, TERN_BY_CALL, &stored));
    CU_ASSERT_EQUAL(stored, SAME);
}

/* All calls of the worker are under way: an operation by call says so and changes nothing, and so
 * does a batch with a key that fits no message. AUTO goes by RMA. */
static void calls_may_all_be_held(fixture *f, tern_map *map) {
    enum { LONG = 40000 };
    const tern_flags path = TERN_BY_CALL;
    tern_worker *w = f->worker;
    tern_request held[TERN_CALL_REQUESTS] = {0}, request = {0};
    tern_map_slot slot = {.key = key, .key_bytes = LONG, .value = found, .room = sizeof found};
    size_t present = 77;
    uint64_t before = 77;
    int existed = 77;
    memset(key, 0, LONG);
    if (f->size == 1)
        return;
    while (tern_map_owner(map, key, LONG) == f->rank)
        key[0]++;
    start_all_calls(f, tern_map_owner(map, key, LONG), held);
    EXPECT(TERN_ERR_AGAIN, tern_map_find_many(w, map, &slot, 1, path, &present));
    EXPECT(TERN_ERR_AGAIN, tern_map_insert(w, map, key, LONG, "a", 1, path, &existed));
    EXPECT(TERN_ERR_AGAIN, tern_map_insert_new(w, map, key, LONG, "a", 1, path, &existed));
    EXPECT(TERN_ERR_AGAIN, tern_map_erase(w, map, key, LONG, path));
    EXPECT(TERN_ERR_AGAIN, tern_map_find(w, map, key, LONG, path, found, 1, NULL));
    EXPECT(TERN_ERR_AGAIN, tern_map_add(w, map, key, LONG, 1, path, &before));
    EXPECT(TERN_ERR_AGAIN, tern_map_compare_swap(w, map, key, LONG, 0, 1, path, &before));
    EXPECT(TERN_ERR_AGAIN, tern_map_insert_start(w, map, key, LONG, "a", 1, path, &request));
    EXPECT(TERN_ERR_AGAIN, tern_map_insert_new_start(w, map, key, LONG, "a", 1, path, &request));
    EXPECT(TERN_ERR_AGAIN, tern_map_find_start(w, map, key, LONG, path, found, 1, &request));
    CU_ASSERT(existed == 77 && before == 77 && request.kind == NULL);
    EXPECT(TERN_ERR_NOT_FOUND, tern_map_find(w, map, key, LONG, TERN_AUTO, found, 1, NULL));
    wait_for_all_calls(f, held);
    EXPECT_OK(tern_map_find_many(w, map, &slot, 1, path, &present));
    CU_ASSERT(present == 0 && !slot.found);
}

static void many_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 1});
    tern_worker *w = f.worker;
    tern_request request = {0};
    size_t done = 77;
    char small[4];
    tern_map_item items[3] = {{"a", "1234", 1, 4}, {"b", "12345678", 1, 8}, {"c", NULL, 1, 1}};
    tern_map_slot slots[3] = {{.key = "a", .key_bytes = 1, .value = found, .room = 8},
                              {.key = "b", .key_bytes = 1, .value = small, .room = 4},
                              {.key = "z", .key_bytes = 1}};
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, NULL, items, 2, 0, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, NULL, 2, 0, &done));
    EXPECT_DETAIL("tern_map_insert_many: items is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, items, 2, TERN_READ_ONLY, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_many(w, map, NULL, 2, 0, &done));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, "a", 1, 0, NULL, 1, &request));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_find_start(w, map, "a", 1, 0, found, 1, NULL));
    EXPECT(TERN_ERR_RANGE, tern_map_add_start(w, map, key, TERN_MAP_KEY_MAX + 1, 1, 0, &request));
    CU_ASSERT(done == 77 && request.kind == NULL);
    EXPECT_OK(tern_map_find_many(w, map, NULL, 0, 0, &done));
    CU_ASSERT_EQUAL(done, 0);
    for (uint64_t p = 0; p < 3; p++) {
        EXPECT(TERN_ERR_ARGUMENT, tern_map_insert_many(w, map, items, 3, fixture_path(p), &done));
        CU_ASSERT_EQUAL(done, 2);
        outcomes_are_told_by_waits(w, map, fixture_path(p));
        EXPECT(TERN_ERR_RANGE, tern_map_find_many(w, map, slots, 3, fixture_path(p), &done));
        EXPECT_DETAIL("1 of 3 values");
        CU_ASSERT(done == 2 && slots[0].found && slots[0].value_bytes == 4 && slots[1].found &&
                  slots[1].value_bytes == 8 && !slots[2].found);
        EXPECT(TERN_ERR_RANGE, tern_map_add_many(w, map, items, 1, 1, fixture_path(p), &done));
        EXPECT_DETAIL("a number has 8");
        CU_ASSERT_EQUAL(done, 0);
    }
    items_before_a_wrong_one_are_taken(&f, map);
    calls_may_all_be_held(&f, map);
    EXPECT_OK(tern_barrier(w));
    /* A full map passes keys over. */
    uint64_t number[2000];
    tern_map_item *full = calloc(2000, sizeof *full);
    for (uint64_t i = 0; full != NULL && i < 2000; i++) {
        number[i] = i << 8 | f.rank;
        full[i] = (tern_map_item){&number[i], &number[i], 8, 8};
    }
    const size_t asked = fixture_all_direct(&f) ? 2000 : 500;
    if (full != NULL)
        EXPECT(TERN_ERR_FULL, tern_map_insert_many(w, map, full, asked, TERN_BY_CALL, &done));
    char text[64];
    snprintf(text, sizeof text, "%zu of %zu keys found no room", asked - done, asked);
    EXPECT_DETAIL(text);
    uint64_t stored[64], mine = done, sum = 0, size = 0;
    fixture_share(&f, &mine, sizeof mine, stored);
    for (uint32_t r = 0; r < f.size; r++)
        sum += stored[r];
    EXPECT_OK(tern_map_size(w, map, &size));
    CU_ASSERT_EQUAL(size, sum + 2);
    free(full);
    map_end(&f, map);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"numbers_are_added_many_at_once", numbers_are_added_many_at_once},
        {"batches_replace_blocks", batches_replace_blocks},
        {"batches_fill_the_memory", batches_fill_the_memory},
        {"full_maps_refuse_by_every_form", full_maps_refuse_by_every_form},
        {"requests_outlive_growth", requests_outlive_growth},
        {"calls_take_effect_in_order", calls_take_effect_in_order},
        {"many_are_checked", many_are_checked},
    };
    return tern_test_main(argc, argv, "map_many", tests, sizeof tests / sizeof tests[0]);
}
