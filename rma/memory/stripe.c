#include "rma/memory/stripe.h"

#include "rma/memory/state.h"
#include "src/peers/peers.h"
#include "src/progress/wait.h"

enum { WAITS_PER_LOOK = 1024 }; /* rounds of a wait between two looks for deaths */

/* Waits until the lock is free, or its holder dead. Returns what the word was then. */
static uint64_t stripe_await(tern_context *context, _Atomic uint64_t *stripe, uint64_t holder) {
    tern_wait_state wait = TERN_WAIT_IN("the lock of a number of 16 bytes");
    for (unsigned round = 1; holder != 0; round++) {
        const uint32_t rank = (uint32_t)holder - 1;
        if (rank != context->rank && tern_peer_is_dead(&context->peers, rank))
            return holder;
        if (round % WAITS_PER_LOOK == 0)
            tern_peers_look(&context->peers);
        (void)tern_wait_step(NULL, &wait, TERN_NOBODY);
        /* R4; the lock is taken by stripe_try */
        holder = atomic_load_explicit(stripe, memory_order_relaxed);
    }
    return holder;
}

_Atomic uint64_t *tern_stripe_lock(tern_context *context, uint32_t rank, const void *address) {
    const tern_rma *rma = tern_rma_of(context);
    char *segment = rma->segment[rank].base;
    const size_t offset = (size_t)((const char *)address - segment);
    tern_line *lines = (void *)(segment + rma->layout.stripes);
    _Atomic uint64_t *stripe = &lines[offset / 16 % TERN_STRIPES].word;
    uint64_t holder = 0;
    /* R6: tern_stripe_unlock */
    while (!atomic_compare_exchange_strong_explicit(stripe, &holder, (uint64_t)context->rank + 1,
                                                    memory_order_acquire, memory_order_relaxed))
        holder = stripe_await(context, stripe, holder);
    return stripe;
}

void tern_stripe_unlock(_Atomic uint64_t *stripe) {
    /* R6: tern_stripe_lock */
    atomic_store_explicit(stripe, 0, memory_order_release);
}
