// tern-test: ranks least=3
/*
 * A rank that writes random words into every segment that it maps, while all ranks work on
 * containers. What is damaged may give errors or wrong data. Nobody may crash, which shows best
 * under AddressSanitizer, and no operation may go on for ever, which a limit of time for each seed
 * shows.
 * `--seed N` repeats a run that begins with seed N.
 *
 * A rank that waits for a record or a reply that was written over may wait for long
 * (docs/damage.md). So the tests that damage rings and what belongs to them call nothing that
 * waits, and leave their contexts as they are.
 */

#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "hashtable/table/bucket.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"
#include "tern/hashtable.h"
#include "tern/lock.h"
#include "tern/notify.h"

enum {
    KEYS = 48,
    FEW_KEYS = 8,
    MANY_KEYS = 400,
    OPERATIONS = 150,
    FLIPS = 3,
    SEED_SECONDS = 20,
    NAME_MAX_BYTES = 40
};

#pragma weak __lsan_disable /* it is there under AddressSanitizer alone */

/* What a rank writes into. */
typedef enum area { HEAP, RINGS, WORKER_PAGES, HEADERS, AREAS } area;

static const char *const area_names[AREAS] = {"the heap", "rings", "worker pages",
                                              "headers of rings, regions and activity"};

/* For the handler of the alarm. */
static const char *volatile running;
static char running_where[128];

/* How often an operation said that memory is damaged. */
static uint64_t damage_found;

static void on_alarm(int signal) {
    (void)signal;
    const char *const text[] = {"\nscribble: hangs in ", running, running_where};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        if (write(STDERR_FILENO, text[i], strlen(text[i])) < 0)
            _exit(2);
    abort();
}

static void note_where(uint64_t seed, area area) {
    snprintf(running_where, sizeof running_where, " on rank %d, seed %llu, %s\n", tern_test_rank(),
             (unsigned long long)seed, area_names[area]);
}

static tern_status add_up(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t sum = 0, number;
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        memcpy(&number, (const char *)arguments + at, 8);
        sum += number;
    }
    memcpy(call->result, &sum, sizeof sum);
    call->result_bytes = sizeof sum;
    return TERN_OK;
}
TERN_FUNCTION(add_up)

typedef struct scene {
    fixture f;
    uint64_t random;
    area area;
    uint32_t scribbler;
    tern_hashtable *pairs, *counters, *growing_pairs, *growing_counters;
    tern_map *map;
    tern_queue *queue, *small;
    tern_locks *locks;
    tern_ptr plain; /* of this rank, then of all */
    tern_ptr memory[8];
    uint64_t heap_used; /* bytes from the heap's start that anything lies in */
} scene;

/* served: by a service thread of each rank, too. In a process of several workers the
 * buckets of a table that grows are not asked about (docs/damage.md). */
static bool open_scene(scene *s, area area, bool served) {
    tern_config config;
    memset(s, 0, sizeof *s);
    EXPECT_OK(tern_config_init(&config));
    config.service_threads = served;
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_memory = (size_t)256 << 10;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open(&s->f, &config))
        return false;
    s->area = area;
    const tern_hashtable_options pairs = {.key_bytes = 8, .value_bytes = 8, .capacity = KEYS},
                                 counters = {.key_bytes = 8, .counter = 1, .capacity = KEYS};
    tern_hashtable_options growing_pairs = pairs, growing_counters = counters;
    growing_pairs.capacity = growing_counters.capacity = FEW_KEYS;
    growing_pairs.grow = growing_counters.grow = !served;
    if (served)
        growing_pairs.capacity = growing_counters.capacity = MANY_KEYS;
    const tern_map_options map = {.capacity = KEYS};
    const tern_queue_options queue = {.capacity = 8, .item_bytes = 24},
                             small = {.capacity = 8, .item_bytes = 8};
    tern_worker *w = s->f.worker;
    return EXPECT_OK(tern_hashtable_create(w, &pairs, &s->pairs)) &&
           EXPECT_OK(tern_hashtable_create(w, &counters, &s->counters)) &&
           EXPECT_OK(tern_hashtable_create(w, &growing_pairs, &s->growing_pairs)) &&
           EXPECT_OK(tern_hashtable_create(w, &growing_counters, &s->growing_counters)) &&
           EXPECT_OK(tern_map_create(w, &map, &s->map)) &&
           EXPECT_OK(tern_queue_create(w, &queue, &s->queue)) &&
           EXPECT_OK(tern_queue_create(w, &small, &s->small)) &&
           EXPECT_OK(tern_locks_create(w, 4, &s->locks)) &&
           EXPECT_OK(tern_alloc(w, 4096, 0, TERN_DOMAIN_GLOBAL, &s->plain));
}

/* A word of the area in some rank's segment. */
static uint64_t *choose_word(scene *s) {
    const tern_rma *rma = tern_rma_of(s->f.context);
    const tern_layout *l = &rma->layout;
    char *base = rma->segment[below(&s->random, s->f.size)].base;
    size_t from = l->heap, bytes = (size_t)192 << 10;
    if (s->area == RINGS) {
        /* The endpoint of a pair says where its first ring lies (rma/ring/arena.c). */
        from = l->arena;
        bytes = l->ring_count * l->ring_bytes;
    } else if (s->area == WORKER_PAGES) {
        from = l->worker_pages;
        bytes = l->worker_page_bytes;
    } else if (s->area == HEADERS && below(&s->random, 8) == 0) {
        from = offsetof(tern_segment_header, activity);
        bytes = sizeof(tern_activity);
    } else if (s->area == HEADERS) {
        from = l->rings;
        bytes = l->ring_count * sizeof(tern_ring_header) + 64 * sizeof(tern_region);
    }
    return (uint64_t *)(void *)(base + from + below(&s->random, bytes / 8) * 8);
}

/* Words that are zero are seldom touched: nothing lies there, mostly. */
static void scribble(scene *s) {
    for (int i = 0; i < FLIPS; i++) {
        uint64_t *word = choose_word(s);
        for (int tries = 0; tries < 200 && __atomic_load_n(word, __ATOMIC_RELAXED) == 0; tries++)
            word = choose_word(s);
        const uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
        const uint64_t random = tern_test_random(&s->random);
        uint64_t to = random;
        switch (below(&s->random, 5)) {
        case 0:
            to = now ^ UINT64_C(1) << random % 64;
            break;
        case 1:
            to = now + random % 16 - 8;
            break;
        case 2:
            to = random % 64;
            break;
        case 3:
            to = __atomic_load_n(choose_word(s), __ATOMIC_RELAXED);
            break;
        default:
            break;
        }
        __atomic_store_n(word, to, __ATOMIC_RELAXED);
    }
}

/* The text says whose segment is damaged. */
static void expect_owner(void) {
    if (strstr(tern_error_detail(), "rank ") == NULL)
        fprintf(stderr, "scribble: %s found damage and says '%s'\n", running, tern_error_detail());
    CU_ASSERT_PTR_NOT_NULL(strstr(tern_error_detail(), "rank "));
}

/* Any outcome is right that is one. */
static void take(tern_status status) {
    CU_ASSERT((unsigned)status < TERN_STATUS_COUNT);
    damage_found += status == TERN_ERR_CORRUPT;
    if (status == TERN_ERR_CORRUPT)
        expect_owner();
}

static tern_flags any_path(scene *s) {
    return s->area == HEAP && below(&s->random, 3) == 0 ? TERN_BY_CALL : TERN_BY_RMA;
}

static void use_tables(scene *s) {
    tern_worker *w = s->f.worker;
    const tern_flags all = TERN_READ_WRITE;
    const bool grows = below(&s->random, 2) == 0;
    tern_hashtable *const pairs = grows ? s->growing_pairs : s->pairs;
    tern_hashtable *const counters = grows ? s->growing_counters : s->counters;
    const uint64_t keys = grows ? MANY_KEYS : KEYS;
    uint64_t key = below(&s->random, keys), value = key, many[16], before;
    unsigned char found[16];
    size_t present;
    for (int i = 0; i < 16; i++)
        many[i] = below(&s->random, keys);
    const tern_flags path = any_path(s);
    switch (below(&s->random, 8)) {
    case 0:
        running = "an insert";
        take(tern_hashtable_insert(w, pairs, &key, &value, all | path, NULL));
        break;
    case 1:
        running = "a find";
        take(tern_hashtable_find(w, pairs, &key, all | path, &value));
        break;
    case 2:
        running = "an erase";
        take(tern_hashtable_erase(w, pairs, &key, all | path));
        break;
    case 3:
        running = "an add";
        take(tern_hashtable_add(w, counters, &key, 3, all | path, &before));
        break;
    case 4:
        running = "a find of a counter";
        take(tern_hashtable_find(w, counters, &key, all | path, &value));
        break;
    case 5:
        running = "an erase of a counter";
        take(tern_hashtable_erase(w, counters, &key, all | path));
        break;
    case 6:
        running = "a batch of adds";
        take(tern_hashtable_add_many(w, counters, many, 16, 1, all | path, &present));
        break;
    default:
        running = "a batch of finds";
        take(tern_hashtable_find_many(w, pairs, many, 16, all | path, many, found, &present));
    }
}

static void use_map(scene *s) {
    tern_worker *w = s->f.worker;
    char key[NAME_MAX_BYTES], value[300];
    const size_t number = below(&s->random, KEYS), bytes = below(&s->random, sizeof value);
    const size_t length = (size_t)snprintf(key, sizeof key, "the key number %zu", number);
    size_t got;
    memset(value, (int)number, sizeof value);
    switch (below(&s->random, 3)) {
    case 0:
        running = "an insert into a map";
        take(tern_map_insert(w, s->map, key, length, value, bytes, any_path(s), NULL));
        break;
    case 1:
        running = "a find in a map";
        take(tern_map_find(w, s->map, key, length, any_path(s), value, sizeof value, &got));
        break;
    default:
        running = "an erase in a map";
        take(tern_map_erase(w, s->map, key, length, any_path(s)));
    }
}

/* What waits for others does so with a deadline. */
static void use_queues(scene *s) {
    tern_worker *w = s->f.worker;
    tern_queue *q = below(&s->random, 2) == 0 ? s->queue : s->small;
    const tern_flags all = TERN_READ_WRITE;
    uint64_t item[3] = {1, 2, 3};
    switch (below(&s->random, 4)) {
    case 0:
        running = "tern_queue_try_push";
        take(tern_queue_try_push(w, q, item, all | any_path(s)));
        break;
    case 1:
        running = "tern_queue_try_pop";
        take(tern_queue_try_pop(w, q, item, all | any_path(s)));
        break;
    case 2:
        running = "tern_queue_push_timed";
        take(tern_queue_push_timed(w, q, item, 0.002, all | any_path(s)));
        break;
    default:
        running = "tern_queue_pop_timed";
        take(tern_queue_pop_timed(w, q, item, 0.002, all | any_path(s)));
    }
}

static void use_memory(scene *s) {
    tern_worker *w = s->f.worker;
    const uint32_t rank = (uint32_t)below(&s->random, s->f.size);
    const tern_ptr p = tern_ptr_add(s->memory[rank], (int64_t)below(&s->random, 256) * 8);
    uint64_t words[32] = {1, 2, 3}, sum, old;
    tern_event event;
    size_t got;
    switch (below(&s->random, 7)) {
    case 0:
        running = "tern_put";
        take(tern_put(w, p, words, sizeof words));
        break;
    case 1:
        running = "tern_get";
        take(tern_get(w, words, p, sizeof words));
        break;
    case 2:
        running = "tern_atomic_fetch_add";
        take(tern_atomic_fetch_add(w, p, 1, &old));
        break;
    case 3:
        running = "tern_call_return";
        if (s->area == HEAP)
            take(tern_call_return(w, (tern_worker_id){rank, 0}, &add_up_function, words,
                                  sizeof words, &sum, sizeof sum, &got));
        break;
    case 4:
        running = "tern_call_try";
        take(tern_call_try(w, (tern_worker_id){rank, 0}, &add_up_function, words, 64));
        break;
    case 5:
        running = "tern_put_notify";
        take(tern_put_notify(
            w, (tern_worker_id){rank, 0}, p, words, 64,
            &(tern_notify_options){.cid = words, .cid_bytes = 16, .flags = TERN_NOTIFY_NO_LOCAL}));
        break;
    default:
        running = "tern_probe";
        for (int i = 0; i < 8; i++)
            take(tern_probe(w, TERN_PROBE_ANY, &event));
    }
}

/* Serves the others until all have come. MPI's barrier, since tern's could be damaged. */
static void meet(scene *s, const char *name) {
    MPI_Request request;
    int done = 0;
    running = name;
    tern_mpi_lock();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    tern_mpi_unlock();
    while (!done) {
        tern_progress(s->f.worker);
        tern_mpi_lock();
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        tern_mpi_unlock();
        sched_yield();
    }
}

static void close_scene(scene *s) {
    tern_worker *w = s->f.worker;
    running = "the end";
    take(tern_locks_destroy(w, s->locks));
    take(tern_queue_destroy(w, s->small));
    take(tern_queue_destroy(w, s->queue));
    take(tern_map_destroy(w, s->map));
    take(tern_hashtable_destroy(w, s->growing_counters));
    take(tern_hashtable_destroy(w, s->growing_pairs));
    take(tern_hashtable_destroy(w, s->counters));
    take(tern_hashtable_destroy(w, s->pairs));
    take(tern_worker_release(w));
    running = "tern_context_destroy";
    take(tern_context_destroy(s->f.context));
}

static void run_seed(scene *s, uint64_t seed) {
    note_where(seed, s->area);
    s->scribbler = (uint32_t)(seed % s->f.size);
    s->random = seed * 1000003 + s->f.rank * 7919;
    alarm(SEED_SECONDS);
    for (int i = 0; i < OPERATIONS; i++) {
        if (s->f.rank == s->scribbler && i % 8 == 7)
            scribble(s);
        switch (below(&s->random, 4)) {
        case 0:
            use_tables(s);
            break;
        case 1:
            use_map(s);
            break;
        case 2:
            use_queues(s);
            break;
        default:
            use_memory(s);
        }
        tern_progress(s->f.worker);
    }
    meet(s, "the last operations");
}

/* Seeds of one context follow each other in what is left of its memory. */
static void run_area_of(area area, bool served, uint64_t seeds) {
    const uint64_t together = tern_test_full() ? 100 : 10;
    void (*before)(int) = signal(SIGALRM, on_alarm);
    tern_liveness_query_ns = 1000000;
    seeds = tern_test_full() ? 50 * seeds : seeds;
    if (area != HEAP && __lsan_disable != NULL)
        __lsan_disable();
    for (uint64_t first = 0; first < seeds; first += together) {
        scene s;
        running = "the beginning";
        note_where(tern_test_seed() + first, area);
        alarm(SEED_SECONDS);
        if (!open_scene(&s, area, served))
            break;
        fixture_share(&s.f, &s.plain, sizeof s.plain, s.memory);
        for (uint64_t i = 0; i < together; i++)
            run_seed(&s, tern_test_seed() + first + i);
        if (area == HEAP)
            close_scene(&s);
    }
    alarm(0);
    (void)signal(SIGALRM, before);
    if (area == HEAP) { /* else nothing was damaged */
        uint64_t all = 0;
        MPI_Allreduce(&damage_found, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CU_ASSERT(all > 0);
    }
}

static void run_area(area area, uint64_t seeds) { run_area_of(area, false, seeds); }

static void the_heap(void) { run_area(HEAP, 40); }
static void the_heap_of_two_workers(void) { run_area_of(HEAP, true, 10); }
static void rings(void) { run_area(RINGS, 60); }
static void worker_pages(void) { run_area(WORKER_PAGES, 50); }
static void headers(void) { run_area(HEADERS, 50); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"the_heap", the_heap},
                                           {"the_heap_of_two_workers", the_heap_of_two_workers},
                                           {"rings", rings},
                                           {"worker_pages", worker_pages},
                                           {"headers", headers}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "scribble", tests, sizeof tests / sizeof tests[0]);
}
