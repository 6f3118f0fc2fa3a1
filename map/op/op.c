#include "map/op/op.h"

#include <stdlib.h>

#include "hashtable/op/pool.h"
#include "map/op/message.h"
#include "rpc/call/await.h"
#include "src/progress/progress.h"

tern_status tern_map_fingerprints_meet(const tern_map_key *key) {
    return tern_fail(TERN_ERR_EXISTS,
                     "another key has the same fingerprint as this one of %zu bytes, and a map "
                     "cannot hold both; one that is created anew has other fingerprints",
                     key->size);
}

/* Sees the descriptor that is replaced or erased: checks that it belongs to the key and is the one
 * that is expected, and keeps the address of its block.
 *
 * A REPLACE compares and swaps. The table locks the bucket, this compares, and the entry is written
 * before the bucket is unlocked, so no other operation comes in between. Equal descriptors mean
 * equal values: a small one is the value, and a large one has the value's hash. So it does no harm
 * if the value was changed and changed back meanwhile. */
static tern_status map_op_see(tern_op_hook *hook, const uint64_t *d, uint64_t *next) {
    tern_map_op *m = (tern_map_op *)(void *)hook;
    (void)next;
    m->old = TERN_NULL;
    if (d == NULL)
        return TERN_OK;
    m->differs = m->op.kind == TERN_OP_REPLACE &&
                 memcmp(d, m->expected.words, 8 * tern_map_descriptor_words(m->map)) != 0;
    if (m->differs || !tern_map_descriptor_is_of(m->map, d, &m->key))
        return TERN_ERR_EXISTS;
    if (tern_map_descriptor_is_small(m->map, d))
        return TERN_OK;
    m->old = tern_block_gaddr(d);
    if (m->at_hand && m->old.rank != m->map->context->rank)
        return tern_fail(TERN_ERR_STATE,
                         "the value lies in rank %u's segment, and a handler gives back values of "
                         "its own rank alone; insert it by call, so that it lies at its owner",
                         m->old.rank);
    return TERN_OK;
}

/* Whether a change with this status may have been done all the same: it went to another node and
 * was lost, or it went by a call that got no answer, or a wrong one. Then the descriptor may be in
 * the table, and its block has to stay. */
static bool map_op_is_uncertain(const tern_map_op *m, tern_status status) {
    const bool lost = status == TERN_ERR_SYSTEM || status == TERN_ERR_MISMATCH;
    if (m->by_call)
        return m->sent && (lost || !tern_answer_came(&m->under_way));
    return m->map->table->part[m->owner].direct == NULL &&
           (lost || status == TERN_ERR_PEER || status == TERN_ERR_NETWORK ||
            status == TERN_ERR_MPI);
}

/* ---- The first steps ---- */

TERN_ALWAYS_INLINE tern_status map_op_table(tern_map_op *m) {
    if (m->op.kind == TERN_OP_FIND) {
        m->op.taken = m->d.words;
    } else {
        m->op.given = &m->d;
        m->hook = (tern_op_hook){map_op_see, false};
        m->op.hook = m->op.kind == TERN_OP_INSERT_NEW ? NULL : &m->hook;
    }
    if (!m->starts)
        return tern_op_run(&m->op);
    m->under_way = (tern_request){0};
    return tern_pool_start(&m->op, &m->under_way);
}

/* Makes the descriptor of the value that the op stores and, if the value is large, its block. */
TERN_ALWAYS_INLINE tern_status map_op_store(tern_map_op *m) {
    const size_t value_bytes = tern_map_descriptor_value_bytes(m->d.words);
    tern_status status = TERN_OK;
    tern_map_descriptor_make(m->map, &m->key, m->given, value_bytes, &m->d);
    if (!tern_map_descriptor_is_small(m->map, m->d.words)) {
        status =
            tern_block_make(tern_map_op_worker(m), m->map, &m->key, m->given, value_bytes, &m->d);
        m->made = status == TERN_OK;
    }
    return status;
}

TERN_ALWAYS_INLINE tern_status map_op_begin(tern_map_op *m) {
    tern_status status = TERN_OK;
    if (tern_map_op_puts((tern_op_kind)m->op.kind) && !m->complete &&
        !(m->by_call && tern_map_message_has_value(m)))
        status = map_op_store(m);
    if (status != TERN_OK)
        return status;
    return m->by_call ? tern_map_message_send(m) : map_op_table(m);
}

tern_status tern_map_op_begin(tern_map_op *m) { return map_op_begin(m); }

/* A modification by call is done by the owner, if a ring takes its message. Else this rank does it,
 * with a find and a put by call (calls). */
TERN_ALWAYS_INLINE tern_status map_op_first(tern_map_op *m) {
    if (!tern_map_op_modifies((tern_op_kind)m->op.kind))
        return map_op_begin(m);
    m->calls = m->by_call;
    m->by_call = m->calls && tern_map_message_fits(m);
    return m->by_call ? tern_map_message_send(m) : TERN_OK;
}

tern_status tern_map_op_await(tern_map_op *m) {
    const tern_status status = tern_wait(tern_map_op_worker(m), &m->under_way);
    m->op.result = m->got = m->under_way.result;
    return status;
}

/* ---- The last steps of a change ---- */

/* Checks that the entry that an insert_new has found belongs to its key. If the entry is erased
 * meanwhile, the erase is ordered after the insert. */
static tern_status map_op_check_met(tern_map_op *m) {
    tern_op find;
    tern_op_init(&find, TERN_OP_FIND, tern_map_op_worker(m), m->map->table, m->key.fingerprint,
                 m->key.hash, TERN_READ_WRITE);
    find.taken = m->d.words;
    const tern_status status = tern_op_run(&find);
    if (status == TERN_OK && !tern_map_descriptor_is_of(m->map, m->d.words, &m->key))
        return TERN_ERR_EXISTS;
    return status == TERN_ERR_NOT_FOUND ? TERN_OK : status;
}

/* Turns the status of the table's op into that of the change. */
static tern_status map_op_put(tern_map_op *m, tern_status status) {
    m->existed = m->op.kind == TERN_OP_REPLACE ? status == TERN_OK : m->op.result != 0;
    if (status != TERN_ERR_EXISTS)
        return status;
    return m->differs                    ? TERN_OK
           : m->op.kind == TERN_OP_ERASE ? TERN_ERR_NOT_FOUND
                                         : tern_map_fingerprints_meet(&m->key);
}

/* The last steps of a change. status: of the first step. */
TERN_ALWAYS_INLINE tern_status map_op_change(tern_map_op *m, tern_status status) {
    if (!m->by_call)
        status = map_op_put(m, status);
    else if (status == TERN_OK)
        status = tern_map_message_changed(m);
    const bool stored =
        status == TERN_OK ? tern_map_op_is_stored(m) : map_op_is_uncertain(m, status);
    if (m->made && !stored)
        tern_block_free(tern_map_op_worker(m), m->map, tern_block_gaddr(m->d.words));
    if (status == TERN_OK && !m->by_call && !stored && m->op.kind == TERN_OP_INSERT_NEW) {
        status = map_op_check_met(m);
        if (status == TERN_ERR_EXISTS)
            status = tern_map_fingerprints_meet(&m->key);
    }
    if (status != TERN_OK)
        m->old = TERN_NULL;
    return status;
}

/* ---- To the end ---- */

TERN_ALWAYS_INLINE tern_status map_op_rest(tern_map_op *m, tern_status status) {
    return m->op.kind == TERN_OP_FIND                       ? tern_map_op_find(m, status)
           : tern_map_op_modifies((tern_op_kind)m->op.kind) ? tern_map_op_modify(m, status)
                                                            : map_op_change(m, status);
}

tern_status tern_map_op_run(tern_map_op *m) {
    tern_status status = map_op_first(m);
    if (m->by_call && status == TERN_OK)
        status = tern_map_op_await(m);
    return map_op_rest(m, status);
}

tern_status tern_map_op_start(tern_map_op *m) {
    m->starts = true;
    m->transfer = (tern_transfer){0};
    const tern_status status = map_op_first(m);
    return status == TERN_OK ? status : map_op_rest(m, status);
}

/* Starts the get of the block, if the value lies in a remote block and fits. */
static tern_status map_op_get_block(tern_map_op *m) {
    const uint64_t *d = m->d.words;
    tern_worker *worker = tern_map_op_worker(m);
    const size_t bytes = tern_block_bytes(d);
    if (tern_map_descriptor_is_small(m->map, d) || !tern_map_descriptor_is_of(m->map, d, &m->key) ||
        tern_map_descriptor_value_bytes(d) > m->room || tern_block_is_direct(worker, d))
        return TERN_OK;
    m->copy = malloc(bytes);
    if (m->copy == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
    tern_status status =
        tern_transfer_get(worker, m->copy, tern_block_gaddr(d), bytes, &m->transfer);
    if (status != TERN_OK) {
        free(m->copy);
        m->copy = NULL;
    }
    return status;
}

/* An error here is not reported: tern_map_op_end repeats the step, and reports it. */
bool tern_map_op_step(tern_map_op *m) {
    int done = 1;
    if (tern_request_is_under_way(&m->under_way))
        return false;
    if (m->by_call || m->op.kind != TERN_OP_FIND || m->under_way.outcome != TERN_OK)
        return true;
    tern_status status = m->copy == NULL ? map_op_get_block(m) : TERN_OK;
    if (status == TERN_OK)
        status = tern_transfer_test(tern_map_op_worker(m), &m->transfer, &done);
    if (status != TERN_OK)
        tern_error_clear();
    return status != TERN_OK || done;
}

tern_status tern_map_op_end(tern_map_op *m) {
    const tern_status status = map_op_rest(m, tern_map_op_await(m));
    if (!m->transfer.under_way)
        free(m->copy);
    return status;
}
