/*
 * What test_flip.c damages and works on: containers of two ranks, and the words that a damaged bit
 * may be in. All of it lies at rank 0, except some words of rank 1, which does the operations.
 */

#ifndef TERN_TESTS_HARNESS_FLIP_SCENE_H
#define TERN_TESTS_HARNESS_FLIP_SCENE_H

#include "fixture.h"

#include "hashtable/op/op.h"
#include "map/block.h"
#include "queue/slot.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"
#include "rma/ring/ring.h"
#include "tern/hashtable.h"
#include "tern/lock.h"
#include "tern/map.h"
#include "tern/notify.h"

enum { FLIP_TABLE_KEYS = 64, FLIP_FEW_KEYS = 8, FLIP_LARGE = 200, FLIP_ITEMS = 8 };

typedef struct flip_scene {
    fixture f;
    tern_hashtable *pairs, *counters, *growing;
    tern_hashtable_buffer *pair_buffer, *counter_buffer;
    tern_map *map;
    tern_map_buffer *map_buffer;
    tern_queue *queue;
    tern_locks *locks;
    tern_ptr memory[2];
    uint64_t pair, counter, grown; /* keys of rank 0's parts */
    uint64_t small, large;         /* of the map, by the size of their values */
    uint64_t fresh;                /* the next key that nobody has used */
} flip_scene;

/* Every value that is stored under a key is one of these. */
static inline bool flip_is_value(uint64_t value) { return value >= 7000 && value < 7008; }

static inline tern_status flip_sum(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t sum = 0, number;
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        memcpy(&number, (const char *)arguments + at, 8);
        sum += number;
    }
    memcpy(call->result, &sum, sizeof sum);
    call->result_bytes = sizeof sum;
    return TERN_OK;
}
TERN_FUNCTION(flip_sum)

/* The first number from start on that rank 0 owns. */
static inline uint64_t flip_key(const tern_hashtable *table, uint64_t start) {
    while (tern_hashtable_owner(table, &start) != 0)
        start++;
    return start;
}

static inline uint64_t flip_map_key(const tern_map *map, uint64_t start) {
    while (tern_map_owner(map, &start, sizeof start) != 0)
        start++;
    return start;
}

static inline bool flip_open(flip_scene *s, MPI_Comm comm) {
    tern_config config;
    memset(s, 0, sizeof *s);
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_memory = (size_t)64 << 10;
    config.log_level = TERN_LOG_NONE;
    if (!fixture_open_on(&s->f, comm, &config))
        return false;
    const tern_hashtable_options
        pairs = {.key_bytes = 8, .value_bytes = 8, .capacity = FLIP_TABLE_KEYS},
        counters = {.key_bytes = 8, .counter = 1, .capacity = FLIP_TABLE_KEYS},
        growing = {.key_bytes = 8, .value_bytes = 8, .capacity = FLIP_FEW_KEYS, .grow = 1};
    const tern_map_options map = {.capacity = FLIP_TABLE_KEYS};
    const tern_queue_options queue = {.capacity = FLIP_ITEMS, .item_bytes = 8};
    tern_worker *w = s->f.worker;
    const bool made =
        EXPECT_OK(tern_hashtable_create(w, &pairs, &s->pairs)) &&
        EXPECT_OK(tern_hashtable_create(w, &counters, &s->counters)) &&
        EXPECT_OK(tern_hashtable_create(w, &growing, &s->growing)) &&
        EXPECT_OK(tern_map_create(w, &map, &s->map)) &&
        EXPECT_OK(tern_queue_create(w, &queue, &s->queue)) &&
        EXPECT_OK(tern_locks_create(w, 4, &s->locks)) &&
        EXPECT_OK(tern_hashtable_buffer_create(w, s->pairs, 64, &s->pair_buffer)) &&
        EXPECT_OK(tern_hashtable_buffer_create(w, s->counters, 64, &s->counter_buffer)) &&
        EXPECT_OK(tern_map_buffer_create(w, s->map, 64, &s->map_buffer));
    if (!made)
        return false;
    tern_ptr all[2];
    fixture_alloc_all(&s->f, 4096, TERN_DOMAIN_GLOBAL, all);
    memcpy(s->memory, all, sizeof all);
    s->pair = flip_key(s->pairs, 1);
    s->counter = flip_key(s->counters, 1);
    s->grown = flip_key(s->growing, 1);
    s->small = flip_map_key(s->map, 1);
    s->large = flip_map_key(s->map, s->small + 1);
    s->fresh = (uint64_t)1 << 32;
    return true;
}

/* Rank 1 makes everything that the operations look for, while rank 0 makes progress. */
static inline tern_status flip_prepare(flip_scene *s) {
    tern_worker *w = s->f.worker;
    const uint64_t value = 7000;
    uint64_t large[FLIP_LARGE / 8], item, sum = 0;
    size_t got = 0;
    for (size_t i = 0; i < FLIP_LARGE / 8; i++)
        large[i] = value;
    tern_status status = tern_hashtable_insert(w, s->pairs, &s->pair, &value, TERN_BY_RMA, NULL);
    if (status == TERN_OK)
        status = tern_hashtable_add(w, s->counters, &s->counter, 1, TERN_BY_RMA, &item);
    if (status == TERN_OK)
        status = tern_hashtable_insert(w, s->growing, &s->grown, &value, TERN_BY_RMA, NULL);
    if (status == TERN_OK)
        status = tern_map_insert(w, s->map, &s->small, 8, &value, 8, TERN_BY_RMA, NULL);
    if (status == TERN_OK)
        status = tern_map_insert(w, s->map, &s->large, 8, large, sizeof large, TERN_BY_CALL, NULL);
    while (status == TERN_OK)
        status = tern_queue_try_pop(w, s->queue, &item, TERN_READ_WRITE | TERN_BY_RMA);
    status = status == TERN_ERR_EMPTY ? TERN_OK : status;
    for (int i = 0; i < 3 && status == TERN_OK; i++)
        status = tern_queue_try_push(w, s->queue, &value, TERN_READ_WRITE | TERN_BY_RMA);
    if (status == TERN_OK)
        status = tern_call_return(w, (tern_worker_id){0, 0}, &flip_sum_function, &value,
                                  sizeof value, &sum, sizeof sum, &got);
    if (status == TERN_OK)
        status = tern_put_notify(w, (tern_worker_id){0, 0}, s->memory[0], &value, sizeof value,
                                 &(tern_notify_options){.cid = &value,
                                                        .cid_bytes = sizeof value,
                                                        .flags = TERN_NOTIFY_NO_LOCAL});
    return status == TERN_OK ? tern_flush_all(w) : status;
}

/* ---- Words: each returns the i-th of its kind, or NULL ---- */

static inline uint64_t *flip_local(const flip_scene *s, tern_ptr p, int i) {
    return (uint64_t *)tern_local(s->f.context, p) + i;
}

static inline uint64_t *flip_bucket(flip_scene *s, const tern_hashtable *table, const uint64_t *key,
                                    int i) {
    uint64_t value[32];
    tern_op op;
    tern_op_init(&op, TERN_OP_FIND, s->f.worker, table, key, tern_key_hash(table, key),
                 TERN_READ_WRITE);
    op.taken = value;
    if (tern_op_run_in(&op, NULL) != TERN_OK)
        return NULL;
    return flip_local(s, tern_bucket_remote(&op.probe, table->shape, 0), i);
}

static inline uint64_t *flip_pair(flip_scene *s, int i) {
    return flip_bucket(s, s->pairs, &s->pair, i);
}
static inline uint64_t *flip_counter(flip_scene *s, int i) {
    return flip_bucket(s, s->counters, &s->counter, i);
}
static inline uint64_t *flip_grown(flip_scene *s, int i) {
    return flip_bucket(s, s->growing, &s->grown, i);
}
static inline uint64_t *flip_anchor(flip_scene *s, int i) {
    tern_anchor *a = (tern_anchor *)(void *)flip_local(
        s, tern_ptr_add(s->growing->part[0].buckets, -(int64_t)sizeof(tern_anchor)), 0);
    return i == 0   ? &a->room
           : i == 1 ? (uint64_t *)(void *)&a->growth_request
                    : (uint64_t *)(void *)&a->descriptor + (i - 2);
}
/* A free bucket, which an insert of a key that is new would take. */
static inline uint64_t *flip_free(flip_scene *s, int i) {
    const uint64_t hash = tern_key_hash(s->pairs, &s->fresh);
    return flip_local(
        s,
        tern_ptr_add(s->pairs->part[0].buckets,
                     (int64_t)(tern_hash_bucket(s->pairs, hash) * s->pairs->shape.stride)),
        i);
}
static inline uint64_t *flip_map_bucket(flip_scene *s, uint64_t number, int i) {
    tern_map_key key;
    tern_map_key_make(s->map, &number, sizeof number, &key);
    return flip_bucket(s, s->map->table, key.fingerprint, i);
}
static inline uint64_t *flip_small(flip_scene *s, int i) { return flip_map_bucket(s, s->small, i); }
static inline uint64_t *flip_large(flip_scene *s, int i) { return flip_map_bucket(s, s->large, i); }
static inline uint64_t *flip_block(flip_scene *s, int i) {
    const uint64_t *bucket = flip_large(s, 0);
    if (bucket == NULL)
        return NULL;
    const tern_shape shape = s->map->table->shape;
    const tern_ptr block = tern_block_gaddr(bucket + shape.entry_at / 8 + 1 + shape.key_words);
    return block.rank == 0 ? flip_local(s, block, i) : NULL;
}
static inline uint64_t *flip_queue_word(flip_scene *s, int i) {
    const tern_ptr words[] = {s->queue->tail, s->queue->head, s->queue->popped};
    return flip_local(s, words[i], 0);
}
static inline uint64_t *flip_slot(flip_scene *s, int i) {
    return flip_local(s, tern_slot_gaddr(s->queue, *flip_queue_word(s, 1)), i);
}
/* The turn of the slot of the next push, and that of the slot of the next pop. */
static inline uint64_t *flip_turn(flip_scene *s, int i) {
    return flip_local(s, tern_turn_gaddr(s->queue, *flip_queue_word(s, i / 2)), i % 2);
}

static inline tern_in *flip_in(const flip_scene *s, uint32_t channel) {
    return tern_rma_worker_of(s->f.worker)->in[tern_endpoint_of(s->f.context, channel, 1)];
}
static inline uint64_t *flip_header(flip_scene *s, int i) {
    const tern_in *in = flip_in(s, i < 6 ? TERN_CHANNEL_CALLS : TERN_CHANNEL_NOTIFY);
    return in == NULL ? NULL
                      : (uint64_t *)(void *)tern_ring_header_at(s->f.context, 0, in->ring) + i % 6;
}
static inline uint64_t *flip_record_of(flip_scene *s, uint32_t channel, int i) {
    const tern_in *in = flip_in(s, channel);
    return in == NULL
               ? NULL
               : (uint64_t *)(void *)(in->data + ((in->position + 8 * (uint64_t)i) & in->mask));
}
static inline uint64_t *flip_call_record(flip_scene *s, int i) {
    return flip_record_of(s, TERN_CHANNEL_CALLS, i);
}
static inline uint64_t *flip_notify_record(flip_scene *s, int i) {
    return flip_record_of(s, TERN_CHANNEL_NOTIFY, i);
}
static inline char *flip_page_at(const flip_scene *s) {
    return tern_rma_worker_of(s->f.worker)->worker_page;
}
static inline uint64_t *flip_doorbell(flip_scene *s, int i) {
    const tern_layout *l = &tern_rma_of(s->f.context)->layout;
    char *page = flip_page_at(s);
    return (uint64_t *)(void *)(i < 3 ? page + 8 * i : page + l->doorbells);
}
static inline uint64_t *flip_ring_table(flip_scene *s, int i) {
    const tern_layout *l = &tern_rma_of(s->f.context)->layout;
    const uint32_t channel = i == 0 ? TERN_CHANNEL_CALLS : TERN_CHANNEL_NOTIFY;
    return (uint64_t *)(void *)(flip_page_at(s) + l->table) +
           tern_endpoint_of(s->f.context, channel, 1);
}
/* Rank 1's. */
static inline uint64_t *flip_credit(flip_scene *s, int i) {
    const tern_layout *l = &tern_rma_of(s->f.context)->layout;
    const uint32_t channel = i < 3 ? TERN_CHANNEL_CALLS : TERN_CHANNEL_NOTIFY;
    tern_credit *credits = (tern_credit *)(void *)(flip_page_at(s) + l->credits);
    return (uint64_t *)(void *)(credits + tern_endpoint_of(s->f.context, channel, 0)) + i % 3;
}
/* Rank 1's: of the cell that the next call takes, or that the call under way has. */
static inline uint64_t *flip_cell(flip_scene *s, int i) {
    return (uint64_t *)(void *)tern_rma_worker_of(s->f.worker)->cell[0].memory + i;
}
static inline uint64_t *flip_segment(flip_scene *s, int i) {
    tern_segment_header *h = (tern_segment_header *)(void *)tern_rma_of(s->f.context)->mine;
    uint64_t *const words[] = {&h->magic, &h->nonce, (uint64_t *)(void *)&h->arena_parts,
                               (uint64_t *)(void *)&h->activity};
    return i < 3 ? words[i] : words[3] + (i - 3);
}
static inline uint64_t *flip_places(flip_scene *s, int i) {
    const tern_layout *l = &tern_rma_of(s->f.context)->layout;
    char *mine = tern_rma_of(s->f.context)->mine;
    return (uint64_t *)(void *)(mine + (i < 2 ? l->places + 8 * (size_t)i : l->regions)) +
           (i < 2 ? 0 : i - 2);
}

/* Groups: what an operation works on, and what a word belongs to. */
enum {
    FLIP_TABLES = 1,
    FLIP_COUNTERS = 2,
    FLIP_GROWN = 4,
    FLIP_MAPS = 8,
    FLIP_QUEUES = 16,
    FLIP_CALLS = 32,
    FLIP_ALL = 63
};

typedef struct flip_word {
    const char *what;
    unsigned groups; /* of operations that meet it */
    uint64_t *(*at)(flip_scene *s, int i);
    int count;
    bool origins;   /* rank 1's; else rank 0's */
    bool channel;   /* it belongs to a ring: the context cannot be used on after damage */
    bool unchecked; /* nothing tells a damaged value from a right one */
} flip_word;

static const flip_word flip_words[] = {
    {"bucket of a table", FLIP_TABLES, flip_pair, 4, false, false, false},
    {"bucket of a counter", FLIP_COUNTERS, flip_counter, 4, false, false, true},
    {"bucket of a table that grows", FLIP_GROWN, flip_grown, 4, false, false, false},
    {"free bucket", FLIP_TABLES, flip_free, 4, false, false, false},
    {"anchor of a table that grows", FLIP_GROWN, flip_anchor, 10, false, true, false},
    {"bucket of a map, small value", FLIP_MAPS, flip_small, 8, false, false, false},
    {"bucket of a map, large value", FLIP_MAPS, flip_large, 8, false, false, false},
    {"block of a map", FLIP_MAPS, flip_block, 3, false, false, false},
    {"tail, head, popped of a queue", FLIP_QUEUES, flip_queue_word, 3, false, false, false},
    {"slot of a queue", FLIP_QUEUES, flip_slot, 3, false, false, false},
    {"turns of a queue", FLIP_QUEUES, flip_turn, 4, false, false, false},
    {"headers of rings", FLIP_ALL, flip_header, 12, false, true, true},
    {"records of calls", FLIP_ALL, flip_call_record, 12, false, true, true},
    {"records of notifications", FLIP_CALLS, flip_notify_record, 10, false, true, true},
    {"doorbells", FLIP_ALL, flip_doorbell, 4, false, true, true},
    {"table of rings", FLIP_ALL, flip_ring_table, 2, false, true, true},
    {"credits", FLIP_ALL, flip_credit, 6, true, true, true},
    {"reply cell", FLIP_ALL, flip_cell, 5, true, true, true},
    {"header of a segment", FLIP_ALL, flip_segment, 11, false, true, true},
    {"places and regions", FLIP_ALL, flip_places, 5, false, true, true},
};

enum { FLIP_WORD_KINDS = sizeof flip_words / sizeof flip_words[0] };

/* Returns the number of words of all kinds together. */
static inline int flip_word_count(void) {
    int count = 0;
    for (int i = 0; i < FLIP_WORD_KINDS; i++)
        count += flip_words[i].count;
    return count;
}

#endif
