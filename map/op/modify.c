#include <stddef.h>
#include <stdlib.h>

#include "map/op/message.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/*
 * A modification finds the value, makes a new one of a copy, and puts that in place of the
 * descriptor that it has found, by a REPLACE, or, if it has found none, inserts it as a new key.
 * Either fails if another operation has changed the key meanwhile: then everything is done again.
 * The new value of a MODIFY is what the program's modifier makes; that of an ADD or a COMPARE_SWAP
 * is a number.
 *
 * Why no change is lost, and no block: the put compares the descriptor while the bucket is locked,
 * so the value that is replaced is the one that the new one was made of. The one put that
 * replaces a descriptor is told of its block, and gives the block back. A put that loses has made a
 * block that no descriptor names, and gives back that one.
 *
 * Owner and caller do the same steps. The owner, in a handler, tries once: with TERN_ERR_AGAIN the
 * call runs again after other work. If the block is remote, the owner says so, since a handler
 * cannot wait for a get, and the caller does the steps.
 */

/* Values of up to so many bytes are modified on the stack. */
enum { MODIFY_ROOM = 1024 };

tern_status tern_map_resize(tern_map_modify_info *info, size_t bytes) {
    if (info == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_map_resize: info is NULL");
    tern_map_op *s = (tern_map_op *)(void *)((char *)info - offsetof(tern_map_op, info));
    if (bytes > TERN_MAP_VALUE_MAX)
        return tern_fail(TERN_ERR_RANGE, "tern_map_resize: bytes is %zu; at most %u are allowed",
                         bytes, TERN_MAP_VALUE_MAX);
    if (s->room < bytes) {
        /* A value that grows step by step is not copied each time. */
        const size_t room = bytes > 2 * s->room ? bytes : 2 * s->room;
        void *more = malloc(room);
        if (more == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
        memcpy(more, info->value, info->value_bytes);
        free(s->allocated);
        info->value = s->value = s->allocated = more;
        s->room = room;
    }
    if (bytes > info->value_bytes)
        memset((char *)info->value + info->value_bytes, 0, bytes - info->value_bytes);
    info->value_bytes = bytes;
    return TERN_OK;
}

/* Puts the new value. [out] raced: another operation has changed the key first. */
static tern_status modify_put(tern_map_op *m, bool existed, const void *value, size_t bytes,
                              bool *raced) {
    const size_t words = 8 * tern_map_descriptor_words(m->map);
    if (existed)
        memcpy(m->expected.words, m->d.words, words);
    tern_map_op_again(m, existed ? TERN_OP_REPLACE : TERN_OP_INSERT_NEW);
    tern_map_op_give(m, value, bytes);
    m->at_hand = !m->served && tern_map_in_handler(tern_map_op_worker(m));
    *raced = false;
    if (existed && tern_map_descriptor_is_small(m->map, m->d.words)) {
        tern_map_descriptor_make(m->map, &m->key, value, bytes, &m->d);
        m->complete = true;
        /* The modifier has changed nothing. */
        if (memcmp(m->d.words, m->expected.words, words) == 0)
            return TERN_OK;
    }
    tern_status status = tern_map_op_run(m);
    *raced = (status == TERN_ERR_NOT_FOUND && existed) ||
             (status == TERN_OK && !tern_map_op_is_stored(m));
    return *raced ? TERN_OK : status;
}

/* Makes sure that a key which a find has not found is absent. In a phase of writes an insert that
 * has returned may still be on its way. A REPLACE waits for it, and this one then replaces nothing,
 * since it expects a descriptor that no key has. [out] raced: the key is there. */
static tern_status modify_confirm_absence(tern_map_op *m, bool *raced) {
    const size_t words = 8 * tern_map_descriptor_words(m->map);
    tern_map_op_again(m, TERN_OP_REPLACE);
    memset(m->expected.words, 0xff, words);
    memset(m->d.words, 0, words); /* never stored */
    m->complete = true;
    tern_status status = tern_map_op_run(m);
    *raced = status == TERN_OK;
    return status;
}

/* Calls the program's function on a copy of the value, value_bytes at m->value. */
static tern_status modify_by_program(tern_map_op *m, bool existed) {
    tern_map_modify_info *info = &m->info;
    info->existed = existed;
    info->value = m->value;
    info->value_bytes = m->value_bytes;
    info->result_bytes = 0;
    const tern_status status = m->modifier.function(info);
    if (status == TERN_OK && info->result_bytes > TERN_MAP_MODIFY_RESULT_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "a modifier's result has %zu bytes; at most %u are allowed",
                         info->result_bytes, TERN_MAP_MODIFY_RESULT_MAX);
    return status;
}

/* [out] after: the number that is to replace the one at m->value. */
static tern_status modify_number(tern_map_op *m, bool existed, uint64_t *after) {
    m->before = 0;
    if (existed && m->value_bytes != sizeof m->before)
        return tern_fail(TERN_ERR_RANGE, "the value has %zu bytes; a number has %zu",
                         m->value_bytes, sizeof m->before);
    if (existed)
        memcpy(&m->before, m->value, sizeof m->before);
    *after = m->asked == TERN_OP_ADD     ? m->before + m->number[0]
             : m->before == m->number[0] ? m->number[1]
                                         : m->before;
    return TERN_OK;
}

/* Tries once. [out] raced: another operation has changed the key first, and this one has not. */
static tern_status modify_try(tern_map_op *m, bool *raced) {
    *raced = false;
    tern_map_op_again(m, TERN_OP_FIND);
    m->allocates = true;
    m->at_hand = tern_map_in_handler(tern_map_op_worker(m));
    tern_status status = tern_map_op_run(m);
    /* A put would find the other key's entry each time, and this op would try for ever. */
    if (status == TERN_ERR_NOT_FOUND && m->is_other)
        return m->inserts ? tern_map_fingerprints_meet(&m->key) : status;
    if (status == TERN_ERR_NOT_FOUND && !m->inserts)
        return modify_confirm_absence(m, raced);
    if ((status != TERN_OK && status != TERN_ERR_NOT_FOUND) || m->is_remote)
        return status;
    const bool existed = status == TERN_OK;
    uint64_t number;
    m->value_bytes = existed ? m->value_bytes : 0;
    if (m->asked == TERN_OP_MODIFY) {
        status = modify_by_program(m, existed);
        if (status == TERN_OK)
            status = modify_put(m, existed, m->info.value, m->info.value_bytes, raced);
    } else {
        status = modify_number(m, existed, &number);
        if (status == TERN_OK)
            status = modify_put(m, existed, &number, sizeof number, raced);
    }
    m->existed = existed;
    return status;
}

/* Modifies on this rank. If another operation comes between, tries again, except for a call. */
static tern_status modify_with_retries(tern_map_op *m) {
    uint64_t room[MODIFY_ROOM / 8];
    tern_worker *worker = tern_map_op_worker(m);
    const bool waits = !tern_map_in_handler(worker);
    tern_wait_state wait = TERN_WAIT_IN("tern_map_modify");
    bool raced;
    tern_status status;
    m->value = room;
    m->room = sizeof room;
    m->allocated = NULL;
    while ((status = modify_try(m, &raced)) == TERN_OK && raced) {
        if (m->served) {
            status = tern_fail(TERN_ERR_AGAIN, "another operation has just changed the value");
            break;
        }
        tern_error_clear();
        (void)tern_progress_round(worker);
        if (waits)
            status = tern_wait_step(worker->context, &wait, m->owner);
        if (status != TERN_OK)
            break;
    }
    free(m->allocated);
    return status;
}

tern_status tern_map_op_modify(tern_map_op *m, tern_status status) {
    if (status == TERN_OK && m->by_call)
        status = tern_map_message_changed(m);
    if (status == TERN_OK && (!m->by_call || m->is_remote))
        status = modify_with_retries(m);
    m->op.kind = m->asked;
    if (status == TERN_OK && m->is_remote && !m->served)
        return tern_fail(TERN_ERR_STATE,
                         "the value lies on another node, and a handler cannot wait for it");
    return status;
}
