// tern-test: ranks survivors least=3

/* Once it is told of a death, a rank destroys its objects without waiting for the others. A call to
 * one of them is answered with the news of that death: it is not the caller's mistake. */

#include "survivors.h"
#include "table_tools.h"

#include "tern/hashtable.h"
#include "tern/lock.h"

static struct {
    tern_hashtable *table, *counters;
    tern_map *map;
    tern_queue *queue;
    tern_locks *locks;
} all;

static tern_status change_nothing(tern_hashtable_modify_info *info, void *value) {
    (void)info;
    (void)value;
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(change_nothing)

static void make_all(fixture *f) {
    const tern_hashtable_options table = {.key_bytes = 8, .value_bytes = 8, .capacity = 100},
                                 counters = {.key_bytes = 8, .counter = 1, .capacity = 100};
    const tern_map_options map = {.capacity = 100};
    const tern_queue_options queue = {.item_bytes = 8, .capacity = 8};
    EXPECT_OK(tern_hashtable_create(f->worker, &table, &all.table));
    EXPECT_OK(tern_hashtable_create(f->worker, &counters, &all.counters));
    EXPECT_OK(tern_map_create(f->worker, &map, &all.map));
    EXPECT_OK(tern_queue_create(f->worker, &queue, &all.queue));
    EXPECT_OK(tern_locks_create(f->worker, f->size, &all.locks));
}

static void destroy_all(fixture *f) {
    TOLD(play.victim, tern_hashtable_destroy(f->worker, all.table));
    TOLD(play.victim, tern_hashtable_destroy(f->worker, all.counters));
    TOLD(play.victim, tern_map_destroy(f->worker, all.map));
    TOLD(play.victim, tern_queue_destroy(f->worker, all.queue));
    TOLD(play.victim, tern_locks_destroy(f->worker, all.locks));
}

static void use_table(fixture *f) {
    tern_worker *w = f->worker;
    const uint64_t key = number_owned_by(all.table, 0, 0);
    uint64_t value = 7;
    size_t count;
    unsigned char found;
    tern_request request = {0};
    TOLD(play.victim, tern_hashtable_insert(w, all.table, &key, &value, TERN_BY_CALL, NULL));
    TOLD(play.victim, tern_hashtable_find(w, all.table, &key, TERN_BY_CALL, &value));
    TOLD(play.victim, tern_hashtable_erase(w, all.table, &key, TERN_BY_CALL));
    TOLD(play.victim, tern_hashtable_add(w, all.counters, &key, 1, TERN_BY_CALL, &value));
    TOLD(play.victim,
         tern_hashtable_find_many(w, all.table, &key, 1, TERN_BY_CALL, &value, &found, &count));
    TOLD(play.victim,
         tern_hashtable_modify(w, all.table, &key, &change_nothing_modifier, NULL, 0, NULL));
    EXPECT_OK(tern_hashtable_find_start(w, all.table, &key, TERN_BY_CALL, &value, &request));
    TOLD(play.victim, tern_wait(w, &request));
}

static void use_others(fixture *f) {
    tern_worker *w = f->worker;
    uint64_t key = 0, value = 7;
    size_t bytes;
    int taken;
    while (tern_map_owner(all.map, &key, sizeof key) != 0)
        key++;
    TOLD(play.victim,
         tern_map_insert(w, all.map, &key, sizeof key, &value, sizeof value, TERN_BY_CALL, NULL));
    TOLD(play.victim,
         tern_map_find(w, all.map, &key, sizeof key, TERN_BY_CALL, &value, sizeof value, &bytes));
    TOLD(play.victim, tern_map_erase(w, all.map, &key, sizeof key, TERN_BY_CALL));
    TOLD(play.victim, tern_queue_try_push(w, all.queue, &value, TERN_BY_CALL));
    TOLD(play.victim, tern_queue_try_pop(w, all.queue, &value, TERN_BY_CALL));
    TOLD(play.victim, tern_lock_try(w, all.locks, 0, &taken));
}

static void a_rank_destroys_before_the_others(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    play.victim = f.size - 1;
    make_all(&f);
    fixture_lose(&f, play.victim);
    start_clock();
    if (f.rank == 0)
        destroy_all(&f);
    fixture_meet_living(&f);
    start_clock();
    if (f.rank != 0) {
        use_table(&f);
        use_others(&f);
    }
    fixture_meet_living(&f);
    start_clock();
    if (f.rank != 0)
        destroy_all(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_destroys_before_the_others", a_rank_destroys_before_the_others},
    };
    return tern_test_main(argc, argv, "destroyed_faults", tests, 1);
}
