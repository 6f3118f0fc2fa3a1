#include "map/block.h"

#include "hashtable/table/call.h"
#include "hashtable/bucket/scratch.h"
#include "map/op/message.h"
#include "src/log.h"
#include "tern/message.h"

/* Blocks are written and read word by word, because a find may still read a block while its memory
 * is written again. */

static void store_shared(char *block, const void *from, size_t bytes) {
    uint64_t *to = (uint64_t *)(void *)block;
    const char *at = from;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        /* R2: load_shared */
        __atomic_store_n(to++, word, __ATOMIC_RELAXED);
    }
    if (bytes > 0) {
        uint64_t word = 0;
        memcpy(&word, at, bytes);
        /* R2: load_shared */
        __atomic_store_n(to, word, __ATOMIC_RELAXED);
    }
}

/* Hidden from ThreadSanitizer: the memory of a block that was given back may have another user,
 * which writes it with plain stores. Words read from it fail their check and are thrown away. */
__attribute__((noinline, no_sanitize("thread"))) static void
load_shared(void *to, const char *block, size_t bytes) {
    const uint64_t *from = (const uint64_t *)(const void *)block;
    char *at = to;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        /* R2: store_shared */
        uint64_t word = __atomic_load_n(from++, __ATOMIC_RELAXED);
        __builtin_memcpy(at, &word, 8);
    }
    if (bytes > 0) {
        /* R2: store_shared */
        uint64_t word = __atomic_load_n(from, __ATOMIC_RELAXED);
        __builtin_memcpy(at, &word, bytes);
    }
}

tern_ptr tern_block_gaddr(const uint64_t *d) {
    return (tern_ptr){(uint32_t)d[1], 0, TERN_DOMAIN_GLOBAL, d[2]};
}

static size_t map_block_round_up(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

tern_status tern_block_make(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            const void *value, size_t value_bytes, tern_map_descriptor *d) {
    const size_t bytes = map_block_round_up(tern_block_bytes(d->words));
    tern_ptr gaddr = TERN_NULL;
    tern_status status = tern_alloc(worker, bytes, 0, TERN_DOMAIN_GLOBAL, &gaddr);
    if (status == TERN_ERR_MEMORY)
        return tern_fail(status,
                         "the segment of rank %u has no room for a key and a value of %zu bytes "
                         "together; erase others or raise TERN_SEGMENT_SIZE (now %zu)",
                         map->context->rank, bytes, map->context->config.segment_size);
    if (status != TERN_OK)
        return status;
    char *block = tern_local(map->context, gaddr);
    /* R2: tern_block_read; a reader of the new words sees the old descriptor replaced */
    atomic_thread_fence(memory_order_release);
    store_shared(block, key->bytes, key->size);
    store_shared(block + tern_block_value_at(d->words), value, value_bytes);
    d->words[1] = d->words[1] >> 32 << 32 | gaddr.rank;
    d->words[2] = gaddr.offset;
    const uint64_t seed =
        map->key_digest == NULL ? key->seed : tern_map_seed(map, key->bytes, key->size);
    d->words[3] = XXH3_64bits_withSeed(value, value_bytes, seed);
    return TERN_OK;
}

typedef struct free_message {
    tern_table_head head;
    uint64_t offset;
} free_message;

static tern_status tern_map_on_free(tern_call_info *call, const void *message, size_t bytes) {
    if (tern_map_of_call(call->worker, message, bytes, sizeof(free_message)) == NULL)
        return tern_callee_missing(call->worker->context, "map");
    const free_message *m = message;
    return tern_free(call->worker,
                     (tern_ptr){call->worker->context->rank, 0, TERN_DOMAIN_GLOBAL, m->offset});
}
TERN_FUNCTION(tern_map_on_free)

void tern_block_free(tern_worker *worker, const tern_map *map, tern_ptr block) {
    if (tern_ptr_is_null(block))
        return;
    if (block.rank == map->context->rank) {
        tern_ignore(tern_free(worker, block));
        return;
    }
    if (block.rank >= map->context->size)
        return;
    free_message m = {tern_table_head_to(map->table), block.offset};
    tern_worker_id owner = tern_table_worker(map->table, block.rank);
    tern_status status = tern_call(worker, owner, &tern_map_on_free_function, &m, sizeof m);
    if (status == TERN_OK)
        return;
    /* There is no memory for a ring; a message needs none. */
    if (status == TERN_ERR_MEMORY)
        status =
            tern_call(worker, tern_by_message(owner), &tern_map_on_free_function, &m, sizeof m);
    if (status != TERN_OK && status != TERN_ERR_PEER)
        tern_log(TERN_LOG_WARN, "rank %u keeps memory that a map has let go of: %s", block.rank,
                 tern_error_detail());
    tern_error_clear(); /* the block of an owner that is dead is gone with it */
}

bool tern_block_is_direct(const tern_worker *worker, const uint64_t *d) {
    return tern_internal_reach_address(worker, tern_block_gaddr(d),
                                       map_block_round_up(tern_block_bytes(d))) != NULL;
}

static bool map_block_passes(const tern_map *map, const uint64_t *d, const void *key,
                             const void *value) {
    uint64_t seed = tern_map_seed(map, key, tern_map_descriptor_key_bytes(d));
    return XXH3_64bits_withSeed(value, tern_map_descriptor_value_bytes(d), seed) == d[3];
}

bool tern_block_is_whole(const tern_map *map, const uint64_t *d, const char *copy) {
    return map_block_passes(map, d, copy, copy + tern_block_value_at(d));
}

tern_status tern_block_read(tern_worker *worker, const tern_map *map, const uint64_t *d,
                            const tern_map_key *key, void *value, tern_block_verdict *verdict) {
    const size_t key_bytes = tern_map_descriptor_key_bytes(d), at = tern_block_value_at(d);
    const size_t value_bytes = tern_map_descriptor_value_bytes(d), bytes = tern_block_bytes(d);
    const tern_ptr gaddr = tern_block_gaddr(d);
    const char *block = tern_internal_reach_address(worker, gaddr, map_block_round_up(bytes));
    tern_scratch room;
    char *copy = (char *)tern_scratch_take(&room, block != NULL ? at : bytes);
    tern_status status = copy != NULL ? TERN_OK : TERN_ERR_MEMORY;
    if (status == TERN_OK && block != NULL) {
        load_shared(copy, block, key_bytes);
        load_shared(value, block + at, value_bytes);
    } else if (status == TERN_OK) {
        status = tern_get(worker, copy, gaddr, bytes);
        if (status == TERN_OK && value_bytes > 0)
            memcpy(value, copy + at, value_bytes);
    }
    if (status == TERN_OK)
        *verdict = !map_block_passes(map, d, copy, value) ? TERN_BLOCK_STALE
                   : !tern_map_key_is(map, key, copy)     ? TERN_BLOCK_OTHER
                                                          : TERN_BLOCK_MINE;
    /* R2: tern_block_make; after words whose check fails, the find reads the descriptor again */
    atomic_thread_fence(memory_order_acquire);
    tern_scratch_free(&room);
    return status;
}
