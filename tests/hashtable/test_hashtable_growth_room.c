// tern-test: transports

/* What a growing part takes while a move is held up by a locked bucket: new keys as long as there
 * is room for them, and keys that are there always. When it grows, and in which order keys go. */

#include "bucket_tools.h"

#include <stddef.h>

#include "hashtable/batch/batch.h"
#include "hashtable/growth/growth.h"
#include "tern/hashtable.h"

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
static void put(scene *s, uint64_t key, tern_flags path) {
    if (s->counts)
        EXPECT_OK(tern_hashtable_add(s->f.worker, s->table, &key, 0, path, NULL));
    else
        EXPECT_OK(tern_hashtable_insert(s->f.worker, s->table, &key, &key, path, NULL));
}

static void put_many(scene *s, const uint64_t *keys, size_t count, tern_flags path) {
    size_t done = 0;
    if (s->counts)
        EXPECT_OK(tern_hashtable_add_many(s->f.worker, s->table, keys, count, 0, path, &done));
    else
        EXPECT_OK(
            tern_hashtable_insert_many(s->f.worker, s->table, keys, keys, count, path, &done));
    CU_ASSERT_EQUAL(done, count);
}

static tern_status leave_it(tern_hashtable_modify_info *info, void *value) {
    memcpy(value, info->key, 8);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(leave_it)

/* Of what the array keys are moved to still takes. */
static int64_t room(scene *s) {
    uint64_t left = 0;
    EXPECT_OK(tern_barrier(s->f.worker));
    EXPECT_OK(tern_atomic_load(
        s->f.worker, tern_anchor_gaddr(s->table, OWNER, offsetof(tern_anchor, room)), &left));
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
    const unsigned char growth_request = 2;
    do
        s->locked = new_key(s);
    while (tern_hash_bucket(s->table, hash_of(s->table, &s->locked)) != buckets - 1);
    put(s, s->locked, TERN_BY_RMA);
    change_lock(s, true);
    for (s->all = 1; 4 * s->all < 3 * buckets; s->all++) {
        uint64_t key = new_key(s);
        put(s, key, TERN_BY_RMA);
    }
    EXPECT_OK(tern_put(s->f.worker,
                       tern_anchor_gaddr(s->table, OWNER, offsetof(tern_anchor, growth_request)),
                       &growth_request, 1));
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
    static const tern_flags paths[] = {TERN_BY_RMA, TERN_BY_CALL, TERN_AUTO};
    const int64_t before = room(s);
    CU_ASSERT(before > 2 && before < MOST);
    s->keys[s->count++] = new_key(s);
    s->all++;
    if (s->f.rank == s->f.size - 1)
        put(s, s->keys[0], TERN_BY_RMA);
    CU_ASSERT_EQUAL(room(s), before - 1);
    for (size_t i = 0; i < 3; i++) {
        put(s, s->keys[0], paths[i]);
        put_many(s, s->keys, 1, paths[i]);
    }
    const int64_t after = room(s);
    CU_ASSERT_EQUAL(after, before - 1);
    return after == before - 1;
}

/* New keys, until the last has taken the last place: each by another path. */
static void take_the_rest(scene *s) {
    for (int64_t left = room(s); left > 0; left--) {
        const uint64_t key = s->keys[s->count] = new_key(s);
        if (s->f.rank == s->f.size - 1 && s->count % 2 == 0)
            put(s, key, fixture_path(s->count / 2));
        else if (s->f.rank == s->f.size - 1)
            put_many(s, &key, 1, fixture_path(s->count / 2));
        s->count++;
        s->all++;
    }
    CU_ASSERT_EQUAL(room(s), 0);
}

/* All ranks at once. None may wait: the move does not go on before. */
static void put_all_again(scene *s) {
    for (uint64_t p = 0; p < 3; p++) {
        const tern_flags path = fixture_path(p);
        for (size_t i = 0; i < s->count; i++)
            put(s, s->keys[(i + 7 * s->f.rank) % s->count], path);
        put_many(s, s->keys, s->count, path);
    }
    for (size_t i = 0; i < s->count && !s->counts; i++)
        EXPECT_OK(tern_hashtable_modify(s->f.worker, s->table, &s->keys[i], &leave_it_modifier,
                                        &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, rw,
                                        NULL));
    CU_ASSERT_EQUAL(room(s), 0);
}

/* Erased keys keep their buckets, and come back to them. */
static void erase_and_put_back(scene *s) {
    for (size_t i = s->f.rank; i < s->count; i += s->f.size) {
        EXPECT_OK(tern_hashtable_erase(s->f.worker, s->table, &s->keys[i], fixture_path(i)));
        put(s, s->keys[i], fixture_path(i / 3));
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

static tern_hashtable *make_of(fixture *f, tern_hashtable_options options) {
    tern_hashtable *table = NULL;
    options.grow = 1;
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* Until the owner has grown, for a while at most. */
static bool grew(fixture *f, const tern_hashtable *table, double seconds) {
    for (double limit = MPI_Wtime() + seconds; MPI_Wtime() < limit;) {
        if (tern_table_part_of(table, f->rank)->generation > 0)
            return true;
        tern_progress(f->worker);
    }
    return false;
}

/* One rank holds the lock of a key in the old array: its owner moves all before it and waits there,
 * and nothing is missing meanwhile. */
static void a_lock_is_held(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 40 };
    if (f.size == 1) {
        tern_test_skip("one rank does not wait for itself");
        fixture_close(&f);
        return;
    }
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 8});
    uint32_t owner = 0, holder = f.size - 1;
    uint64_t keys[KEYS], missing = 0, value, seen = 0;
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = number_owned_by(table, owner, i == 0 ? 0 : keys[i - 1] + 1);
    uint64_t hash = hash_of(table, keys);
    const uint64_t locked = tern_state_locked(hash, holder), there = tern_state_taken(hash, holder);
    if (f.rank == holder) {
        EXPECT_OK(tern_hashtable_insert(f.worker, table, keys, keys, TERN_BY_RMA, NULL));
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(table, keys), there, locked, &seen));
        CU_ASSERT_EQUAL(seen, there);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == holder)
        for (size_t i = 1; i < KEYS / 2; i++)
            EXPECT_OK(
                tern_hashtable_insert(f.worker, table, &keys[i], &keys[i], TERN_BY_RMA, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < KEYS / 2; i++)
        missing += tern_hashtable_find(f.worker, table, &keys[i], TERN_BY_RMA, &value) != TERN_OK;
    CU_ASSERT_EQUAL(missing, 0);
    if (f.rank == owner)
        CU_ASSERT(!grew(&f, table, 0.05));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == holder) {
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(table, keys), locked,
                                  tern_state_unlocked(hash, false), &seen));
        CU_ASSERT_EQUAL(seen, locked);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == owner)
        CU_ASSERT(grew(&f, table, TERN_TEST_PATIENCE));
    for (size_t i = KEYS / 2; i < KEYS; i++)
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &keys[i], &keys[i], TERN_AUTO, NULL));
    for (size_t i = 0; i < KEYS; i++)
        missing += tern_hashtable_find(f.worker, table, &keys[i], TERN_AUTO, &value) != TERN_OK;
    CU_ASSERT_EQUAL(missing, 0);
    CU_ASSERT_EQUAL(total_keys(&f, table), KEYS);
    end(&f, table);
    fixture_close(&f);
}

/* Keys that are put in order are met place by place. If all ranks put so many in order that a place
 * gets full before they come to the next one, probes get long there, and the part is not full. */
static void few_keys_are_put_in_order(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable_options options = {.key_bytes = 8, .counter = 1, .capacity = 100000};
    tern_hashtable *table = make_of(&f, options), *fixed = NULL;
    const uint64_t buckets = table->buckets * f.size, many = (size_t)1 << 30;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &fixed));
    CU_ASSERT(tern_regions_together(table, many) * f.size <= buckets / 16);
    CU_ASSERT(tern_regions_together(table, many) * f.size > buckets / 32);
    CU_ASSERT_EQUAL(tern_regions_together(fixed, many), TERN_REGION_KEYS);
    CU_ASSERT_EQUAL(tern_regions_together(table, 7), 7);
    EXPECT_OK(tern_hashtable_destroy(f.worker, fixed));
    end(&f, table);
    fixture_close(&f);
}

/* Counts rounds of progress that begin while a key waits because this rank's part is full. */
typedef struct full_watch {
    tern_task task;
    const unsigned char *growth_request;
    uint64_t full;
} full_watch;

static size_t look_at_request(tern_worker *worker, tern_task *task) {
    full_watch *watch = (full_watch *)(void *)task;
    (void)worker;
    watch->full += __atomic_load_n(watch->growth_request, __ATOMIC_RELAXED) == TERN_GROW_NOW;
    return 0;
}

/* A batch of new keys moves keys as it goes on, and does not fill the part first: then each key
 * would look at all of its buckets. Each rank adds keys of its own. */
static void a_batch_pays_for_growth(void) {
    enum { CAPACITY = 4096, KEYS = 1 << 15 };
    static uint64_t keys[KEYS];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = CAPACITY});
    full_watch watch = {.task.run = look_at_request};
    watch.growth_request = tern_local(
        f.context, tern_anchor_gaddr(table, f.rank, offsetof(tern_anchor, growth_request)));
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = number_owned_by(table, f.rank, i == 0 ? 0 : keys[i - 1] + 1);
    size_t added = 0;
    uint64_t count = 0;
    tern_task_add(f.context, &watch.task);
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, KEYS, 1, TERN_WRITE_ONLY | TERN_BY_RMA,
                                      &added));
    tern_task_remove(f.context, &watch.task);
    CU_ASSERT_EQUAL(added, KEYS);
    CU_ASSERT_EQUAL(watch.full, 0);
    EXPECT_OK(tern_hashtable_local_size(f.worker, table, &count));
    CU_ASSERT_EQUAL(count, KEYS);
    end(&f, table);
    fixture_close(&f);
}

static uint64_t newest_count(const tern_hashtable *table, uint32_t rank) {
    const tern_table_part *part = tern_table_part_of(table, rank), *next;
    while ((next = atomic_load(&part->next)) != NULL)
        part = next;
    return part->count;
}

/* No rank makes progress but by its inserts: each has its own part grow before that is crowded. */
static void inserts_alone_let_a_part_grow(void) {
    enum { KEYS = 40000, LARGE = 4096 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10});
    uint64_t crowded = 0;
    for (uint64_t key = f.rank, keys = 0; keys < KEYS; key += f.size) {
        if (tern_hashtable_owner(table, &key) != f.rank)
            continue;
        keys += tern_hashtable_insert(f.worker, table, &key, &key, TERN_BY_RMA, NULL) == TERN_OK;
        const uint64_t count = newest_count(table, f.rank);
        crowded += count >= LARGE && 100 * keys > 90 * count;
    }
    CU_ASSERT_EQUAL(crowded, 0);
    CU_ASSERT(newest_count(table, f.rank) > KEYS);
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"values_that_are_there", values_that_are_there},
        {"counters_that_are_there", counters_that_are_there},
        {"a_lock_is_held", a_lock_is_held},
        {"few_keys_are_put_in_order", few_keys_are_put_in_order},
        {"a_batch_pays_for_growth", a_batch_pays_for_growth},
        {"inserts_alone_let_a_part_grow", inserts_alone_let_a_part_grow},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_growth_room", tests,
                          sizeof tests / sizeof tests[0]);
}
