// tern-test: transports

/* What a growing part takes while a move is held up by a locked bucket: new keys as long as there
 * is room for them, and keys that are there always. */

#include "bucket_tools.h"

#include <stddef.h>

#include "hashtable/growth/growth.h"
#include "tern/hashtable_batch.h"
#include "tern/hashtable_modify.h"

enum { OWNER = 0, MOST = 256 };

static const tern_flags rw = TERN_READ_WRITE;

typedef struct scene {
    fixture f;
    tern_hashtable *table;
    bool counts;
    uint64_t locked;     /* the key whose bucket, the last one, is locked */
    uint64_t next;       /* where new keys are looked for */
    uint64_t keys[MOST]; /* put during the move */
    size_t count;
    uint64_t all; /* keys in the table */
} scene;

static uint64_t new_key(scene *s) {
    uint64_t key = number_owned_by(s->table, OWNER, s->next);
    s->next = key + 1;
    return key;
}

/* Puts a key that may be there, or adds nothing to it. */
static void put(scene *s, uint64_t key, tern_flags via) {
    if (s->counts)
        EXPECT_OK(tern_hashtable_add(s->f.worker, s->table, &key, 0, via, NULL));
    else
        EXPECT_OK(tern_hashtable_insert(s->f.worker, s->table, &key, &key, via, NULL));
}

static void put_many(scene *s, const uint64_t *keys, size_t count, tern_flags via) {
    size_t done = 0;
    if (s->counts)
        EXPECT_OK(tern_hashtable_add_many(s->f.worker, s->table, keys, count, 0, via, &done));
    else
        EXPECT_OK(tern_hashtable_insert_many(s->f.worker, s->table, keys, keys, count, via, &done));
    CU_ASSERT_EQUAL(done, count);
}

static tern_status leave_it(tern_modify_info *info, void *value) {
    memcpy(value, info->key, 8);
    return TERN_OK;
}
TERN_MODIFIER(leave_it)

/* Of what the array keys are moved to still takes. */
static int64_t room(scene *s) {
    uint64_t left = 0;
    EXPECT_OK(tern_barrier(s->f.worker));
    EXPECT_OK(tern_atomic_load(
        s->f.worker, tern_anchor_place(s->table, OWNER, offsetof(tern_anchor, room)), &left));
    EXPECT_OK(tern_barrier(s->f.worker));
    return (int64_t)left;
}

static void change_lock(scene *s, bool lock) {
    const uint64_t hash = hash_of(s->table, &s->locked);
    const uint64_t held = tern_state_locked(hash, OWNER);
    const uint64_t was = lock ? tern_state_taken(hash, OWNER) : held;
    const uint64_t is = lock ? held : tern_state_unlocked(hash, false);
    uint64_t seen = 0;
    EXPECT_OK(tern_atomic_cas(s->f.worker, bucket_of(s->table, &s->locked), was, is, &seen));
    CU_ASSERT_EQUAL(seen, was);
}

/* By the owner: three quarters of its buckets are taken, and all but the last are left. */
static void begin_move(scene *s) {
    const uint64_t buckets = s->table->buckets;
    const unsigned char wish = 2;
    do
        s->locked = new_key(s);
    while (tern_hash_bucket(s->table, hash_of(s->table, &s->locked)) != buckets - 1);
    put(s, s->locked, TERN_BY_RMA);
    change_lock(s, true);
    for (s->all = 1; 4 * s->all < 3 * buckets; s->all++) {
        uint64_t key = new_key(s);
        put(s, key, TERN_BY_RMA);
    }
    EXPECT_OK(tern_put(s->f.worker, tern_anchor_place(s->table, OWNER, offsetof(tern_anchor, wish)),
                       &wish, 1));
    const tern_growth *growth = s->table->growth;
    for (double limit = MPI_Wtime() + TERN_TEST_PATIENCE; MPI_Wtime() < limit;) {
        tern_progress(s->f.worker);
        if (growth->to != NULL && growth->position == buckets - 1)
            return;
    }
    CU_FAIL("the part does not grow");
}

static bool open_scene(scene *s, bool counts) {
    *s = (scene){.counts = counts};
    if (!fixture_open(&s->f, NULL))
        return false;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = counts ? 0 : 8, .counter = counts, .capacity = 8, .grow = 1};
    EXPECT_OK(tern_hashtable_create(s->f.worker, &options, &s->table));
    if (s->f.rank == OWNER)
        begin_move(s);
    uint64_t shared[2] = {s->next, s->all}, all[2 * 64];
    EXPECT_OK(tern_barrier(s->f.worker));
    fixture_share(&s->f, shared, sizeof shared, all);
    s->next = all[0];
    s->all = all[1];
    return true;
}

/* All ranks put one key, which nobody else took, again and again. False: nothing more can be tried
 * without waiting for ever. */
static bool one_key_takes_one_place(scene *s) {
    static const tern_flags vias[] = {TERN_BY_RMA, TERN_BY_CALL, TERN_AUTO};
    const int64_t before = room(s);
    CU_ASSERT(before > 2 && before < MOST);
    s->keys[s->count++] = new_key(s);
    s->all++;
    if (s->f.rank == s->f.size - 1)
        put(s, s->keys[0], TERN_BY_RMA);
    CU_ASSERT_EQUAL(room(s), before - 1);
    for (size_t i = 0; i < 3; i++) {
        put(s, s->keys[0], vias[i]);
        put_many(s, s->keys, 1, vias[i]);
    }
    const int64_t after = room(s);
    CU_ASSERT_EQUAL(after, before - 1);
    return after == before - 1;
}

/* New keys, until the last has taken the last place: each by another way. */
static void take_the_rest(scene *s) {
    for (int64_t left = room(s); left > 0; left--) {
        const uint64_t key = s->keys[s->count] = new_key(s);
        if (s->f.rank == s->f.size - 1 && s->count % 2 == 0)
            put(s, key, fixture_way(s->count / 2));
        else if (s->f.rank == s->f.size - 1)
            put_many(s, &key, 1, fixture_way(s->count / 2));
        s->count++;
        s->all++;
    }
    CU_ASSERT_EQUAL(room(s), 0);
}

/* All ranks at once. None may wait: the move does not go on before. */
static void put_all_again(scene *s) {
    for (uint64_t way = 0; way < 3; way++) {
        const tern_flags via = fixture_way(way);
        for (size_t i = 0; i < s->count; i++)
            put(s, s->keys[(i + 7 * s->f.rank) % s->count], via);
        put_many(s, s->keys, s->count, via);
    }
    for (size_t i = 0; i < s->count && !s->counts; i++)
        EXPECT_OK(tern_hashtable_modify(s->f.worker, s->table, &s->keys[i], &leave_it_modifier,
                                        NULL, 0, TERN_ABSENT_INSERT, rw, NULL, 0, NULL, NULL));
    CU_ASSERT_EQUAL(room(s), 0);
}

/* Erased keys keep their buckets, and come back to them. */
static void erase_and_put_back(scene *s) {
    for (size_t i = s->f.rank; i < s->count; i += s->f.size) {
        EXPECT_OK(tern_hashtable_erase(s->f.worker, s->table, &s->keys[i], fixture_way(i)));
        put(s, s->keys[i], fixture_way(i / 3));
    }
    CU_ASSERT_EQUAL(room(s), 0);
}

/* One more than there is room for waits, and is put when the move goes on. */
static void one_more_waits(scene *s) {
    uint64_t key = new_key(s), value;
    s->keys[s->count++] = key;
    s->all++;
    if (s->f.rank == s->f.size - 1 && s->f.size > 1)
        put(s, key, s->counts ? TERN_BY_CALL : TERN_BY_RMA);
    if (s->f.rank == OWNER) {
        uint64_t found = 0;
        for (double limit = MPI_Wtime() + 0.02; MPI_Wtime() < limit;)
            found += tern_hashtable_find(s->f.worker, s->table, &key, TERN_BY_CALL, &value) !=
                     TERN_ERR_NOT_FOUND;
        CU_ASSERT_EQUAL(found, 0);
        change_lock(s, false);
        if (s->f.size == 1)
            put(s, key, TERN_BY_RMA);
    }
    EXPECT_OK(tern_barrier(s->f.worker));
}

static void close_scene(scene *s) {
    uint64_t wrong = 0, value = 0;
    for (size_t i = 0; i < s->count; i++)
        wrong += tern_hashtable_find(s->f.worker, s->table, &s->keys[i], TERN_BY_RMA, &value) !=
                     TERN_OK ||
                 value != (s->counts ? 0 : s->keys[i]);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(total_keys(&s->f, s->table), s->all);
    EXPECT_OK(tern_barrier(s->f.worker));
    EXPECT_OK(tern_hashtable_destroy(s->f.worker, s->table));
    fixture_close(&s->f);
}

static void keys_that_are_there(bool counts) {
    scene s;
    if (!open_scene(&s, counts))
        return;
    if (one_key_takes_one_place(&s)) {
        take_the_rest(&s);
        put_all_again(&s);
        erase_and_put_back(&s);
    }
    one_more_waits(&s);
    close_scene(&s);
}

static void values_that_are_there(void) { keys_that_are_there(false); }

static void counters_that_are_there(void) { keys_that_are_there(true); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"values_that_are_there", values_that_are_there},
        {"counters_that_are_there", counters_that_are_there},
    };
    tern_doubt_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_growth_room", tests,
                          sizeof tests / sizeof tests[0]);
}
