#include <stdlib.h>

#include "map/op/message.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/*
 * A find reads the descriptor and then the block that it names. If the block does not hold what the
 * descriptor says, it was given back meanwhile or has not fully arrived, and the find repeats both
 * steps. The operation that gave the block back had put another descriptor before, so the next look
 * finds that one. Each repetition is therefore caused by another operation that has ended, or by
 * data that is on its way.
 */

/* A find reports damage if the descriptor does not change and its block does not hold what it says.
 * A block that load and store reach is whole before its descriptor is there. So each failed look
 * means that other operations have replaced the descriptor and put the same one again, which does
 * not happen LOOKS times in a row. The data of a remote block may be on its way for PATIENCE_NS. */
enum { LOOKS = 64, PATIENCE_NS = 500000000 };

tern_status tern_map_op_allocate(tern_map_op *m, size_t bytes) {
    free(m->allocated);
    m->allocated = malloc(bytes);
    if (m->allocated == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
    m->value = m->allocated;
    m->room = bytes;
    return TERN_OK;
}

/* Evaluates the descriptor alone. [out] verdict: not changed if the block has to be read. */
static tern_status judge_descriptor(tern_map_op *m, tern_block_verdict *verdict) {
    const uint64_t *d = m->d.words;
    const size_t bytes = tern_map_descriptor_value_bytes(d);
    const char *small = tern_map_descriptor_small(d);
    const bool is_small = tern_map_descriptor_is_small(m->map, d);
    if (!tern_map_descriptor_is_of(m->map, d, &m->key) ||
        (is_small && !tern_map_key_is(m->map, &m->key, small))) {
        *verdict = TERN_BLOCK_OTHER;
        return TERN_OK;
    }
    m->value_bytes = bytes;
    tern_status status = TERN_OK;
    if (bytes > m->room)
        status = m->allocates
                     ? tern_map_op_allocate(m, bytes)
                     : tern_fail(TERN_ERR_RANGE, "the value has %zu bytes; there is room for %zu",
                                 bytes, m->room);
    if (status != TERN_OK || !is_small)
        return status;
    *verdict = TERN_BLOCK_MINE;
    if (bytes > 0)
        memcpy(m->value, small + tern_map_descriptor_key_bytes(d), bytes);
    return TERN_OK;
}

/* Takes the value from the block that a request has got. Returns whether the block held it. */
static bool take_copy(tern_map_op *m) {
    const uint64_t *d = m->d.words;
    if (m->copy == NULL || m->transfer.under_way || !tern_block_is_whole(m->map, d, m->copy) ||
        !tern_map_key_is(m->map, &m->key, m->copy))
        return false;
    if (m->value_bytes > 0)
        memcpy(m->value, m->copy + tern_block_value_at(d), m->value_bytes);
    return true;
}

/* Takes the value after a look that has found a descriptor. first: at the first look a
 * request may have got the block. [out] verdict: UNREAD if a remote block is left to the caller. */
static tern_status map_find_value(tern_map_op *m, bool first, tern_block_verdict *verdict) {
    tern_status status = TERN_OK;
    *verdict = TERN_BLOCK_UNREAD;
    if (m->by_call)
        status = tern_map_message_found(m, verdict);
    if (status == TERN_OK && *verdict == TERN_BLOCK_UNREAD)
        status = judge_descriptor(m, verdict);
    if (status != TERN_OK || *verdict != TERN_BLOCK_UNREAD)
        return status;
    m->is_remote = m->at_hand && !tern_block_is_direct(tern_map_op_worker(m), m->d.words);
    if (m->is_remote)
        return TERN_OK;
    if (first && take_copy(m)) {
        *verdict = TERN_BLOCK_MINE;
        return TERN_OK;
    }
    return tern_block_read(tern_map_op_worker(m), m->map, m->d.words, &m->key, m->value, verdict);
}

/* One step of a wait for a descriptor that does not change although its block holds something
 * else. looks, since: how many looks found it, and the time of the first. */
static tern_status wait_for_block(const tern_map_op *m, tern_wait_state *wait, uint32_t looks,
                                  uint64_t since) {
    tern_worker *worker = tern_map_op_worker(m);
    tern_ptr block = tern_block_gaddr(m->d.words);
    const bool is_direct = tern_block_is_direct(worker, m->d.words);
    if (is_direct ? looks > LOOKS : tern_now() - since > PATIENCE_NS)
        return tern_fail(TERN_ERR_CORRUPT,
                         "the memory of a value, at offset %llu of rank %u's segment, has been "
                         "written over; look for what writes into rank %u's segment",
                         (unsigned long long)block.offset, block.rank, block.rank);
    if (tern_map_in_handler(worker))
        return is_direct ? TERN_OK : tern_fail(TERN_ERR_AGAIN, "the value is just being replaced");
    (void)tern_progress_round(worker);
    return tern_wait_step(worker->context, wait, block.rank);
}

static tern_status map_find_look_again(tern_map_op *m) {
    m->starts = false;
    const tern_status status = tern_map_op_begin(m);
    return m->by_call && status == TERN_OK ? tern_map_op_await(m) : status;
}

tern_status tern_map_op_find(tern_map_op *m, tern_status status) {
    const size_t bytes = 8 * tern_map_descriptor_words(m->map);
    tern_map_descriptor last;
    tern_wait_state wait = TERN_WAIT_IN("tern_map_find");
    uint32_t looks = 0; /* how often last was seen again */
    uint64_t since = 0; /* time of the first of these */
    for (bool first = true;; first = false, status = map_find_look_again(m)) {
        tern_block_verdict verdict = TERN_BLOCK_UNREAD;
        if (status == TERN_OK)
            status = map_find_value(m, first, &verdict);
        m->is_other = status == TERN_OK && verdict == TERN_BLOCK_OTHER;
        if (status != TERN_OK || verdict != TERN_BLOCK_STALE)
            return m->is_other ? TERN_ERR_NOT_FOUND : status;
        if (first || memcmp(&m->d, &last, bytes) != 0) {
            memcpy(&last, &m->d, bytes);
            looks = 0;
            continue;
        }
        since = looks++ == 0 ? tern_now() : since;
        status = wait_for_block(m, &wait, looks, since);
        if (status != TERN_OK)
            return status;
    }
}
