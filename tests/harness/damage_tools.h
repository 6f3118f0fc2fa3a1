#ifndef TERN_TESTS_HARNESS_DAMAGE_TOOLS_H
#define TERN_TESTS_HARNESS_DAMAGE_TOOLS_H

/* What tests of damaged words of hash tables share. */

#include "bucket_tools.h"

#include "hashtable/table/bucket.h"

enum { INTERVAL = 1000 /* ns between two questions */ };

static const tern_flags rw = TERN_READ_WRITE;

/* Workers of each process, besides its service threads. */
typedef struct crowd {
    size_t workers, service_threads;
} crowd;

/* One worker; a second worker that no thread has; and a service thread, which always makes
 * progress. */
static const crowd crowds[] = {{1, 0}, {2, 0}, {1, 1}};
enum { CROWDS = sizeof crowds / sizeof crowds[0] };

static inline bool open_scene_of(fixture *f, crowd crowd) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.workers = crowd.workers;
    config.service_threads = crowd.service_threads;
    config.log_level = TERN_LOG_NONE;
    return fixture_open(f, &config);
}

static inline bool open_scene(fixture *f) { return open_scene_of(f, crowds[0]); }

/* Opens a context in which each rank is a node of its own, and owners put. */
static inline bool open_remote_scene(fixture *f) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_P2P;
    config.log_level = TERN_LOG_NONE;
    return fixture_open(f, &config);
}

static inline tern_hashtable *make(fixture *f, tern_hashtable_options options) {
    tern_hashtable *table = NULL;
    options.key_bytes = options.value_bytes = 8;
    options.capacity = options.capacity > 0 ? options.capacity : 100;
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static inline void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
    fixture_close(f);
}

static inline uint64_t *bucket_at(fixture *f, const tern_hashtable *table, uint64_t key) {
    return (uint64_t *)(void *)tern_internal_reach_address(f->worker, bucket_of(table, &key), 8);
}

static inline uint64_t word_at(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void scribble(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static inline tern_status insert(fixture *f, tern_hashtable *table, uint64_t key, uint64_t value) {
    return tern_hashtable_insert(f->worker, table, &key, &value, TERN_BY_RMA, NULL);
}

/* Returns the value of a key; UINT64_MAX: the key is not there. */
static inline uint64_t value_of(fixture *f, tern_hashtable *table, uint64_t key) {
    uint64_t value = 0;
    const tern_status status = tern_hashtable_find(f->worker, table, &key, TERN_BY_RMA, &value);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
    return status == TERN_OK ? value : UINT64_MAX;
}

#endif
