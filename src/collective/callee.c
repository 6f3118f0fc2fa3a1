#include "src/collective/callee.h"

#include "base/error.h"

static _Atomic(tern_callee *) *row_of(const tern_context *context, uint64_t nonce) {
    return &((tern_context *)(uintptr_t)context)->callees[nonce % TERN_CALLEE_ROWS];
}

void tern_callee_add(tern_context *context, tern_callee *callee, tern_callee_kind kind,
                     uint64_t nonce, void *object) {
    _Atomic(tern_callee *) *row = row_of(context, nonce);
    callee->kind = kind;
    callee->nonce = nonce;
    callee->object = object;
    /* R9: tern_callee_add; before its release store */
    atomic_store_explicit(&callee->next, atomic_load_explicit(row, memory_order_relaxed),
                          memory_order_relaxed);
    /* R1: tern_callee_find */
    atomic_store_explicit(row, callee, memory_order_release);
}

void tern_callee_remove(tern_context *context, tern_callee *callee) {
    _Atomic(tern_callee *) *link = row_of(context, callee->nonce);
    tern_callee *found;
    /* R5: tern_callee_add */
    while ((found = atomic_load_explicit(link, memory_order_relaxed)) != NULL && found != callee)
        link = &found->next;
    if (found == NULL)
        return;
    /* R3: tern_callee_find; the barrier is that of tern_progress_pass. The fields read below were
     * published with the callee or before it. */
    atomic_store_explicit(link, atomic_load_explicit(&callee->next, memory_order_relaxed),
                          memory_order_release);
    tern_progress_pass(context);
}

void *tern_callee_find(const tern_context *context, tern_callee_kind kind, uint64_t nonce) {
    /* R1: tern_callee_add; R3 with tern_callee_remove, behind that of round_begin */
    const tern_callee *callee = atomic_load_explicit(row_of(context, nonce), memory_order_acquire);
    while (callee != NULL && (callee->nonce != nonce || callee->kind != kind))
        /* R1: tern_callee_add */
        callee = atomic_load_explicit(&callee->next, memory_order_acquire);
    return callee != NULL ? callee->object : NULL;
}

tern_status tern_callee_missing(const tern_context *context, const char *object) {
    const uint32_t dead = tern_peers_dead(&context->peers);
    if (dead != TERN_NOBODY)
        return tern_peer_fail(dead);
    return tern_fail(TERN_ERR_STATE, "no such %s here; was it destroyed?", object);
}
