#include "tern/map.h"

#include "map/call.h"
#include "map/find.h"
#include "src/progress/wait.h"

/*
 * A find reads the descriptor and then the block that it names. If the block does not hold what the
 * descriptor says, it was given back meanwhile or has not fully arrived, and the find repeats both
 * steps. The operation that gave the block back had put another descriptor before, so the next look
 * finds that one. Each repetition is therefore caused by another operation that has ended, or by
 * data that is on its way.
 */

/* When a find reports damage, as a descriptor does not change and its block does not hold what it
 * says. A block that load and store reach is whole before its descriptor is there. So each look in
 * vain means that other operations have replaced the descriptor and put the same one again, which
 * does not happen LOOKS times in a row. The data of another block may be on its way for
 * PATIENCE_NS. */
enum { LOOKS = 64, PATIENCE_NS = 500000000 };

/* Makes room for a value, from malloc. */
static tern_status map_find_allocate(tern_map_search *s, size_t bytes) {
    free(s->allocated);
    s->allocated = malloc(bytes);
    if (s->allocated == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
    s->value = s->allocated;
    s->room = bytes;
    return TERN_OK;
}

/* [out] d: the descriptor; verdict: STALE if the caller still has to read the block. */
static tern_status map_find_look(tern_map_search *s, tern_map_descriptor *d,
                                 tern_block_verdict *verdict) {
    *verdict = TERN_BLOCK_STALE;
    if (s->known != NULL) {
        memcpy(d->words, s->known->words, 8 * tern_map_descriptor_words(s->map));
        s->known = NULL;
        return TERN_OK;
    }
    return s->by_call ? tern_map_call_look(s->worker, s->map, s->owner, s->key, d, s->value,
                                           s->room, verdict)
                      : tern_map_look(s->worker, s->map, s->key, s->promise, d);
}

/* Evaluates the descriptor alone. [out] verdict: STALE if the caller has to read the block. */
static tern_status judge_descriptor(tern_map_search *s, const tern_map_descriptor *d,
                                    tern_block_verdict *verdict, size_t *value_bytes) {
    const size_t bytes = tern_map_descriptor_value_bytes(d->words);
    const char *small = tern_map_descriptor_small(d->words);
    const bool is_small = tern_map_descriptor_is_small(s->map, d->words);
    if (!tern_map_descriptor_is_of(s->map, d->words, s->key) ||
        (is_small && !tern_map_key_is(s->map, s->key, small))) {
        *verdict = TERN_BLOCK_OTHER;
        return TERN_OK;
    }
    *value_bytes = bytes;
    tern_status status = TERN_OK;
    if (bytes > s->room)
        status = s->allocates
                     ? map_find_allocate(s, bytes)
                     : tern_fail(TERN_ERR_RANGE, "the value has %zu bytes; there is room for %zu",
                                 bytes, s->room);
    if (status != TERN_OK || !is_small)
        return status;
    *verdict = TERN_BLOCK_MINE;
    if (bytes > 0)
        memcpy(s->value, small + tern_map_descriptor_key_bytes(d->words), bytes);
    return TERN_OK;
}

/* One step of a wait for a descriptor that does not change although its block holds something
 * else. looks, since: how many looks found it, and the time of the first. */
static tern_status wait_for_block(const tern_map_search *s, const tern_map_descriptor *d,
                                  tern_wait_state *wait, uint32_t looks, uint64_t since) {
    tern_worker *worker = s->worker;
    tern_ptr block = tern_block_place(d->words);
    const bool is_near = tern_block_is_near(worker, d->words);
    if (is_near ? looks > LOOKS : tern_now() - since > PATIENCE_NS)
        return tern_fail(TERN_ERR_CORRUPT,
                         "the memory of a value, at offset %llu of rank %u's segment, has been "
                         "written over; look for what writes into rank %u's segment",
                         (unsigned long long)block.offset, block.rank, block.rank);
    if (tern_map_in_handler(worker))
        return is_near ? TERN_OK : tern_fail(TERN_ERR_AGAIN, "the value is just being replaced");
    (void)tern_progress_round(worker);
    return tern_wait_step(worker->context, wait, block.rank);
}

tern_status tern_map_search_run(tern_map_search *s, size_t *value_bytes) {
    const size_t bytes = 8 * tern_map_descriptor_words(s->map);
    tern_map_descriptor last, *d = &s->d;
    tern_wait_state wait = TERN_WAIT_IN("tern_map_find");
    uint32_t looks = 0; /* how often last was seen again */
    uint64_t since = 0; /* time of the first of these */
    for (bool first = true;; first = false) {
        tern_block_verdict verdict;
        tern_status status = map_find_look(s, d, &verdict);
        if (status == TERN_OK && verdict == TERN_BLOCK_STALE)
            status = judge_descriptor(s, d, &verdict, value_bytes);
        else if (status == TERN_OK)
            *value_bytes = tern_map_descriptor_value_bytes(d->words);
        if (status == TERN_OK && verdict == TERN_BLOCK_STALE && s->near_only &&
            !tern_block_is_near(s->worker, d->words)) {
            s->is_far = true;
            return TERN_OK;
        }
        if (status == TERN_OK && verdict == TERN_BLOCK_STALE)
            status = tern_block_read(s->worker, s->map, d->words, s->key, s->value, &verdict);
        s->is_other = status == TERN_OK && verdict == TERN_BLOCK_OTHER;
        if (status != TERN_OK || verdict != TERN_BLOCK_STALE)
            return s->is_other ? TERN_ERR_NOT_FOUND : status;
        if (first || memcmp(d, &last, bytes) != 0) {
            memcpy(&last, d, bytes);
            looks = 0;
            continue;
        }
        since = looks++ == 0 ? tern_now() : since;
        status = wait_for_block(s, d, &wait, looks, since);
        if (status != TERN_OK)
            return status;
    }
}

/* The whole of a find, by RMA or by call. [out] value_bytes: set on TERN_OK, and where the value
 * has too little room. */
static tern_status map_find(tern_map_search *s, tern_flags flags, size_t *value_bytes) {
    tern_worker *worker = s->worker;
    const tern_map *map = s->map;
    s->owner = tern_hash_owner(map->table, s->key->hash);
    s->promise = tern_flags_promise(flags);
    const tern_path_target target = tern_table_target(map->table, s->owner);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_FIND, &target, tern_flags_way(flags),
                                          map->table->call_only ? TERN_BY_CALL : TERN_AUTO);
    s->by_call = !tern_map_in_place(worker, map, s->owner, pick.via);
    tern_status status = tern_map_search_run(s, value_bytes);
    tern_selector_done(worker, &pick, &target, status);
    return tern_hashtable_outcome(map->table, s->owner, status);
}

tern_status tern_map_find(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                          tern_flags flags, void *value, size_t room, size_t *value_bytes) {
    static const char name[] = "tern_map_find";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && value == NULL && room > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    tern_map_search s;
    tern_map_search_begin(worker, map, &k, value, room, false, &s);
    size_t bytes = 0;
    status = map_find(&s, flags, &bytes);
    if (value_bytes != NULL && (status == TERN_OK || (status == TERN_ERR_RANGE && bytes > room)))
        *value_bytes = bytes;
    return status;
}

/* A value that an answer to a call holds comes into room on the stack, and so costs no second
 * trip. */
tern_status tern_map_find_alloc(tern_worker *worker, tern_map *map, const void *key,
                                size_t key_bytes, tern_flags flags, void **value,
                                size_t *value_bytes) {
    static const char name[] = "tern_map_find_alloc";
    tern_status status = tern_map_check(worker, map, key, key_bytes, flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && (value == NULL || value_bytes == NULL))
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                           value == NULL ? "value" : "value_bytes");
    if (status != TERN_OK)
        return status;
    char room[TERN_RESULT_MAX];
    tern_map_key k;
    tern_map_key_make(map, key, key_bytes, &k);
    tern_map_search s;
    tern_map_search_begin(worker, map, &k, room, sizeof room, true, &s);
    size_t bytes = 0;
    status = map_find(&s, flags, &bytes);
    if (status == TERN_OK && s.value == room) {
        status = map_find_allocate(&s, bytes > 0 ? bytes : 1);
        if (status == TERN_OK)
            memcpy(s.value, room, bytes);
    }
    if (status != TERN_OK) {
        free(s.allocated);
        return status;
    }
    *value = s.allocated;
    *value_bytes = bytes;
    return TERN_OK;
}
