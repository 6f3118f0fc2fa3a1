// tern-test: transports

/* Map: values that functions change, numbers among them, and what handlers may do. */

#include "map_tools.h"
#include "table_tools.h"

static unsigned char key[TERN_MAP_KEY_MAX + 1], value[MAP_VALUE_ROOM + 8],
    found[MAP_VALUE_ROOM + 8];

/* A key of that rank's own. */
static size_t key_of_rank(uint32_t rank, uint64_t number) {
    memcpy(key, &rank, sizeof rank);
    return 4 + make_map_key(key + 4, number);
}

/* Puts its argument behind the value, and tells the size before. */
static tern_status append(tern_map_modify_info *info) {
    const size_t before = info->value_bytes;
    tern_status status = tern_map_resize(info, before + info->argument_bytes);
    if (status != TERN_OK)
        return status;
    if (info->argument_bytes > 0)
        memcpy((char *)info->value + before, info->argument, info->argument_bytes);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    return TERN_OK;
}
TERN_MAP_MODIFIER(append)

/* Takes away all but the first half. */
static tern_status halve(tern_map_modify_info *info) {
    return tern_map_resize(info, info->value_bytes / 2);
}
TERN_MAP_MODIFIER_ANY_THREAD(halve)

static tern_status ask_too_much(tern_map_modify_info *info) {
    if (tern_map_resize(info, TERN_MAP_VALUE_MAX + 1ul) != TERN_ERR_RANGE)
        return TERN_ERR_STATE;
    info->result_bytes = TERN_MAP_MODIFY_RESULT_MAX + 1;
    return TERN_OK;
}
TERN_MAP_MODIFIER(ask_too_much)

/* All ranks append to the same values, which begin small and end in blocks, and each append is
 * there once. A value that is erased begins anew, and its appends are those that the erase took. */
static void everybody_appends(void) {
    enum { SHARED = 3, PIECE = 12 };
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = SHARED});
    const size_t before = heap_at_first(&f);
    const int times = fixture_times(&f, 900);
    uint64_t random = fixture_seed(&f, 8), appended[SHARED] = {0}, all[64][SHARED], wrong = 0;
    for (int i = 0; i < times; i++) {
        const uint64_t number = below(&random, SHARED);
        size_t at = 77, key_bytes = make_map_key(key, number + 5);
        char piece[PIECE];
        memset(piece, (int)('A' + f.rank), sizeof piece);
        EXPECT_OK(tern_map_modify(f.worker, map, key, key_bytes, &append_modifier,
                                  &(tern_modify_options){.argument = piece,
                                                         .argument_bytes = sizeof piece,
                                                         .absent = TERN_ABSENT_INSERT,
                                                         .result = &at,
                                                         .capacity = sizeof at},
                                  any_path(&random), NULL));
        wrong += at % PIECE != 0;
        appended[number]++;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_share(&f, appended, sizeof appended, all);
    for (uint64_t k = 0; k < SHARED; k++) {
        uint64_t pieces[64] = {0}, sum = 0;
        size_t bytes = 0, key_bytes = make_map_key(key, k + 5);
        void *text = NULL;
        for (uint32_t r = 0; r < f.size; r++)
            sum += all[r][k];
        tern_status status = tern_map_find_alloc(f.worker, map, key, key_bytes, 0, &text, &bytes);
        EXPECT(sum > 0 ? TERN_OK : TERN_ERR_NOT_FOUND, status);
        CU_ASSERT_EQUAL(bytes, sum * PIECE);
        for (size_t i = 0; text != NULL && i + PIECE <= bytes; i += PIECE)
            pieces[((unsigned char *)text)[i] - 'A' < 64 ? ((unsigned char *)text)[i] - 'A' : 0]++;
        for (uint32_t r = 0; r < f.size; r++)
            CU_ASSERT_EQUAL(pieces[r], all[r][k]);
        free(text);
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, before);
    map_end(&f, map);
    fixture_close(&f);
}

/* What happens to the key while its modifier runs for the first time. A modifier may not use the
 * map. This one does all the same, since nothing else comes in between for certain. */
typedef struct meddling {
    tern_map *map;
    bool erases;
    size_t bytes; /* of the value that is inserted if not */
    int runs;
} meddling;

static tern_status append_late(tern_map_modify_info *info) {
    meddling *m = info->user;
    tern_status status = TERN_OK;
    if (m->runs++ == 0 && m->erases)
        status = tern_map_erase(info->worker, m->map, info->key, info->key_bytes, TERN_BY_RMA);
    else if (m->runs == 1)
        status = tern_map_insert(info->worker, m->map, info->key, info->key_bytes, value, m->bytes,
                                 TERN_BY_RMA, NULL);
    return status == TERN_OK ? append(info) : status;
}
TERN_MAP_MODIFIER(append_late)

/* Another operation replaces, erases or inserts the key meanwhile: the modifier runs again on what
 * that left, and the block of the first run is given back. */
static void a_lost_race_begins_again(void) {
    static const size_t sizes[] = {4, 700};
    fixture f;
    meddling m = {0};
    append_late_modifier.call->user = &m;
    if (!fixture_enter(&f))
        return;
    m.map = map_make(&f, (tern_map_options){.capacity = 100ul * f.size});
    const size_t heap = heap_at_first(&f), key_bytes = key_of_rank(f.rank, 2);
    fill_bytes(value, 1000, 3);
    for (uint64_t i = 0; i < 12; i++) {
        const size_t first = sizes[i % 2], second = sizes[i / 2 % 2];
        const bool there = i < 8;
        size_t at = 77, bytes = 77;
        int existed = 77;
        m.erases = i / 4 == 1;
        m.bytes = second;
        m.runs = 0;
        tern_ignore(tern_map_erase(f.worker, m.map, key, key_bytes, TERN_BY_RMA));
        if (there)
            EXPECT_OK(tern_map_insert(f.worker, m.map, key, key_bytes, value + 8, first,
                                      fixture_path(i), NULL));
        EXPECT_OK(tern_map_modify(f.worker, m.map, key, key_bytes, &append_late_modifier,
                                  &(tern_modify_options){.argument = "end",
                                                         .argument_bytes = 3,
                                                         .absent = TERN_ABSENT_INSERT,
                                                         .result = &at,
                                                         .capacity = sizeof at},
                                  TERN_BY_RMA, &existed));
        CU_ASSERT(m.runs == 2 && existed == !m.erases && at == (m.erases ? 0 : second));
        EXPECT_OK(tern_map_find(f.worker, m.map, key, key_bytes, fixture_path(i), found,
                                sizeof found, &bytes));
        CU_ASSERT(bytes == at + 3 && memcmp(found, value, at) == 0 &&
                  memcmp(found + at, "end", 3) == 0);
        m.runs = 0;
        m.erases = true;
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_map_modify(f.worker, m.map, key, key_bytes, &append_late_modifier,
                               &(tern_modify_options){.argument = "end", .argument_bytes = 3},
                               TERN_BY_RMA, NULL));
        CU_ASSERT_EQUAL(m.runs, 1);
    }
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, m.map, heap);
    map_end(&f, m.map);
    fixture_close(&f);
}

static const char text[] =
    "the cat and the dog saw the mouse and the mouse saw the floccinaucinihilipilification of the "
    "cat but the dog did not see the incomprehensibilities-and-floccinaucinihilipilifications";

/* Words are counted by a map alone: nobody inserts them first. */
static void words_are_counted(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 8, .grow = 1});
    const size_t heap = heap_at_first(&f);
    uint64_t random = fixture_seed(&f, 9), size = 0, before = 77, count = 0;
    for (const char *at = text; *at != 0; at += strspn(at, " ")) {
        const size_t bytes = strcspn(at, " ");
        EXPECT_OK(tern_map_add(f.worker, map, at, bytes, 1, any_writer(&random) | any_path(&random),
                               NULL));
        at += bytes;
    }
    EXPECT_OK(tern_map_size(f.worker, map, &size));
    CU_ASSERT_EQUAL(size, 13);
    for (uint64_t p = 0; p < 3; p++) {
        EXPECT_OK(tern_map_find(f.worker, map, "the", 3, fixture_path(p), &count, 8, NULL));
        CU_ASSERT_EQUAL(count, 8 * f.size);
        EXPECT_OK(tern_map_find(f.worker, map, strrchr(text, ' ') + 1, 56, fixture_path(p), &count,
                                8, NULL));
        CU_ASSERT_EQUAL(count, f.size);
    }
    EXPECT_OK(tern_barrier(f.worker));
    /* One rank swaps; the number of the dogs is in the way of the others. */
    uint64_t swapped[64];
    EXPECT_OK(tern_map_compare_swap(f.worker, map, "dog", 3, 2 * f.size, 1000 + f.rank,
                                    any_path(&random), &before));
    const uint64_t mine = before == 2 * f.size;
    fixture_share(&f, &mine, sizeof mine, swapped);
    EXPECT_OK(tern_map_find(f.worker, map, "dog", 3, 0, &count, 8, NULL));
    uint64_t sum = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        sum += swapped[r];
        CU_ASSERT(swapped[r] == 0 || count == 1000 + r);
    }
    CU_ASSERT_EQUAL(sum, 1);
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_map_compare_swap(f.worker, map, "bird", 4, 0, 1, any_path(&random), &before));
    EXPECT_OK(tern_barrier(f.worker));
    clear_and_expect_heap(&f, map, heap);
    map_end(&f, map);
    fixture_close(&f);
}

static void modifications_are_checked(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_map *map = map_make(&f, (tern_map_options){.capacity = 100});
    tern_worker *w = f.worker;
    const size_t key_bytes = key_of_rank(f.rank, 5);
    uint64_t before = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_map_modify(w, map, key, key_bytes, NULL, NULL, 0, NULL));
    EXPECT_DETAIL("tern_map_modify: modifier is NULL");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_modify(w, map, key, key_bytes, &halve_modifier,
                           &(tern_modify_options){.argument_bytes = 1}, 0, NULL));
    EXPECT_DETAIL("argument is NULL");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_map_modify(w, map, key, key_bytes, &halve_modifier,
                           &(tern_modify_options){.absent = (tern_absent)2}, 0, NULL));
    EXPECT_DETAIL("absent is 2");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_add(w, NULL, key, key_bytes, 1, 0, NULL));
    EXPECT_DETAIL("tern_map_add");
    EXPECT(TERN_ERR_ARGUMENT, tern_map_add(w, map, key, key_bytes, 1, TERN_READ_ONLY, NULL));
    EXPECT(TERN_ERR_RANGE, tern_map_add(w, map, key, TERN_MAP_KEY_MAX + 1, 1, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_map_resize(NULL, 1));
    for (uint64_t p = 0; p < 3; p++) {
        const tern_flags path = fixture_path(p);
        EXPECT_OK(tern_map_insert(w, map, key, key_bytes, "short", 5, path, NULL));
        EXPECT(TERN_ERR_RANGE, tern_map_add(w, map, key, key_bytes, 1, path, &before));
        EXPECT_DETAIL("the value has 5 bytes");
        CU_ASSERT_EQUAL(before, 77);
        EXPECT(TERN_ERR_RANGE, tern_map_modify(w, map, key, key_bytes, &ask_too_much_modifier,
                                               &(tern_modify_options){.absent = TERN_ABSENT_INSERT,
                                                                      .result = found,
                                                                      .capacity = sizeof found},
                                               path, NULL));
        EXPECT_DETAIL("are allowed");
        EXPECT(TERN_ERR_RANGE, tern_map_modify(w, map, key, key_bytes, &append_modifier,
                                               &(tern_modify_options){.argument = "er",
                                                                      .argument_bytes = 2,
                                                                      .absent = TERN_ABSENT_INSERT,
                                                                      .result = found,
                                                                      .capacity = 7},
                                               path, NULL));
        EXPECT_DETAIL("there is room for 7");
        size_t bytes = 0;
        EXPECT_OK(tern_map_find(w, map, key, key_bytes, path, found, sizeof found, &bytes));
        CU_ASSERT(bytes == 7 && memcmp(found, "shorter", 7) == 0);
    }
    map_end(&f, map);
    fixture_close(&f);
}

static tern_map *map_of_handler;
static unsigned used, misused; /* how often the handlers ran */

/* Runs in a handler: operations that may wait, and collective ones, are refused. */
static void refuse_to_wait(tern_worker *w, tern_map *map) {
    const tern_map_item item = {"key", "value", 3, 5};
    tern_map_slot slot = {.key = "key", .key_bytes = 3, .value = found, .room = 8};
    const tern_map_options options = {.capacity = 1};
    tern_map *other = NULL;
    uint64_t count = 77;
    size_t done = 77;
    EXPECT(TERN_ERR_STATE, tern_map_insert_many(w, map, NULL, 0, 0, NULL));
    EXPECT(TERN_ERR_STATE, tern_map_insert_many(w, map, &item, 1, TERN_BY_RMA, &done));
    EXPECT(TERN_ERR_STATE, tern_map_add_many(w, map, &item, 1, 1, TERN_BY_RMA, &done));
    EXPECT(TERN_ERR_STATE, tern_map_find_many(w, map, &slot, 1, TERN_BY_RMA, &done));
    EXPECT(TERN_ERR_STATE, tern_map_create(w, &options, &other));
    EXPECT(TERN_ERR_STATE, tern_map_size(w, map, &count));
    EXPECT(TERN_ERR_STATE, tern_map_clear(w, map));
    EXPECT(TERN_ERR_STATE, tern_map_destroy(w, map));
    EXPECT(TERN_ERR_STATE, tern_map_save(w, map, "/no/such/file", NULL, 0));
    EXPECT(TERN_ERR_STATE, tern_map_load(w, "/no/such/file", NULL, NULL, &other));
    CU_ASSERT(count == 77 && other == NULL);
    EXPECT_OK(tern_map_local_size(w, map, &count));
}

/* Runs in a handler: operations on a key of this rank are over when their starts return. */
static void use_requests(tern_worker *w, tern_map *map, uint64_t mine, tern_flags path) {
    tern_request request = {0};
    EXPECT_OK(tern_map_insert_start(w, map, &mine, 8, "12345678", 8, path, &request));
    EXPECT_OK(tern_wait(w, &request));
    CU_ASSERT_EQUAL(tern_request_result(&request), 1);
    EXPECT_OK(tern_map_insert_new_start(w, map, &mine, 8, "1", 1, path, &request));
    EXPECT_OK(tern_wait(w, &request));
    EXPECT_OK(tern_map_add_start(w, map, &mine, 8, 0, path, &request));
    EXPECT_OK(tern_wait(w, &request));
    EXPECT_OK(tern_map_find_start(w, map, &mine, 8, path, found, sizeof found, &request));
    EXPECT_OK(tern_wait(w, &request));
    CU_ASSERT(tern_request_result(&request) == 8 && memcmp(found, "12345678", 8) == 0);
}

/* In a handler: the whole life of a key of this rank, small and in a block. */
static tern_status use_map(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker *w = call->worker;
    tern_map *map = map_of_handler;
    const size_t large = 400;
    size_t got = 0;
    uint64_t before = 77, mine;
    int existed = 77;
    memcpy(&mine, arguments, bytes < 8 ? bytes : 8);
    for (uint64_t p = 0; p < 3; p++, mine += 1u << 20) {
        const tern_flags path = fixture_path(p);
        while (tern_map_owner(map, &mine, 8) != tern_context_rank(tern_worker_context(w)))
            mine++;
        EXPECT_OK(tern_map_add(w, map, &mine, 8, 5, path, &before));
        EXPECT_OK(tern_map_add(w, map, &mine, 8, 5, path, &before));
        CU_ASSERT_EQUAL(before, 5);
        EXPECT_OK(tern_map_insert(w, map, &mine, 8, value, large, path, &existed));
        CU_ASSERT_EQUAL(existed, 1);
        EXPECT_OK(tern_map_insert(w, map, &mine, 8, value, large + 1, path, NULL));
        EXPECT_OK(tern_map_insert_new(w, map, &mine, 8, value, large, path, &existed));
        EXPECT_OK(tern_map_find(w, map, &mine, 8, path, found, sizeof found, &got));
        CU_ASSERT_EQUAL(got, large + 1);
        void *copy = NULL;
        EXPECT_OK(tern_map_find_alloc(w, map, &mine, 8, path, &copy, &got));
        CU_ASSERT(copy != NULL && got == large + 1);
        free(copy);
        EXPECT_OK(tern_map_modify(w, map, &mine, 8, &halve_modifier, NULL, path, &existed));
        use_requests(w, map, mine, path);
        EXPECT_OK(tern_map_erase(w, map, &mine, 8, path));
        EXPECT(TERN_ERR_NOT_FOUND, tern_map_find(w, map, &mine, 8, path, found, 8, NULL));
    }
    refuse_to_wait(w, map);
    used++;
    return TERN_OK;
}
TERN_FUNCTION(use_map)

/* A key of another rank, and one of this rank whose block is another rank's. */
static tern_status misuse_map(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_worker *w = call->worker;
    const uint64_t *keys = arguments;
    tern_request request = {0};
    size_t got = 0;
    EXPECT(TERN_ERR_STATE,
           tern_map_insert(w, map_of_handler, &keys[1], 8, "a", 1, TERN_BY_CALL, NULL));
    EXPECT(TERN_ERR_STATE, tern_map_erase(w, map_of_handler, &keys[1], 8, TERN_BY_CALL));
    EXPECT(TERN_ERR_STATE, tern_map_add(w, map_of_handler, &keys[1], 8, 1, TERN_BY_CALL, NULL));
    EXPECT(TERN_ERR_STATE,
           tern_map_compare_swap(w, map_of_handler, &keys[1], 8, 0, 1, TERN_BY_CALL, NULL));
    EXPECT(TERN_ERR_STATE,
           tern_map_find(w, map_of_handler, &keys[1], 8, TERN_BY_CALL, found, 8, NULL));
    EXPECT(TERN_ERR_STATE, tern_map_modify(w, map_of_handler, &keys[1], 8, &halve_modifier,
                                           &(tern_modify_options){.absent = TERN_ABSENT_INSERT},
                                           TERN_BY_CALL, NULL));
    EXPECT(TERN_ERR_STATE,
           tern_map_insert_start(w, map_of_handler, &keys[1], 8, "a", 1, TERN_BY_CALL, &request));
    EXPECT(TERN_ERR_STATE,
           tern_map_find_start(w, map_of_handler, &keys[1], 8, TERN_BY_CALL, found, 8, &request));
    CU_ASSERT_PTR_NULL(request.kind);
    EXPECT(TERN_ERR_STATE, tern_map_insert(w, map_of_handler, keys, 8, "a", 1, TERN_BY_RMA, NULL));
    EXPECT_DETAIL("segment");
    EXPECT(TERN_ERR_STATE, tern_map_erase(w, map_of_handler, keys, 8, TERN_BY_RMA));
    tern_status status =
        tern_map_find(w, map_of_handler, keys, 8, TERN_BY_RMA, found, sizeof found, &got);
    misused += bytes == 16 && (status == TERN_ERR_STATE || (status == TERN_OK && got == 400));
    return TERN_OK;
}
TERN_FUNCTION(misuse_map)

static void handlers_work_in_place(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    map_of_handler = map_make(&f, (tern_map_options){.capacity = 1000});
    const size_t before = heap_at_first(&f);
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t first = (uint64_t)f.rank << 32, keys[2] = {first, first};
    used = misused = 0;
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_call(f.worker, tern_worker_self(f.worker), &use_map_function, &first, 8));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(used, 1);
    while (tern_map_owner(map_of_handler, &keys[0], 8) != next)
        keys[0]++;
    while (tern_map_owner(map_of_handler, &keys[1], 8) != f.rank)
        keys[1]++;
    EXPECT_OK(
        tern_map_insert(f.worker, map_of_handler, &keys[0], 8, value, 400, TERN_BY_RMA, NULL));
    if (f.size > 1)
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){next, 0}, &misuse_map_function, keys,
                            sizeof keys));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(misused, f.size > 1);
    clear_and_expect_heap(&f, map_of_handler, before);
    map_end(&f, map_of_handler);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"everybody_appends", everybody_appends},
        {"a_lost_race_begins_again", a_lost_race_begins_again},
        {"words_are_counted", words_are_counted},
        {"modifications_are_checked", modifications_are_checked},
        {"handlers_work_in_place", handlers_work_in_place},
    };
    return tern_test_main(argc, argv, "map_modify", tests, sizeof tests / sizeof tests[0]);
}
