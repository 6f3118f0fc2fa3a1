#include "rma/memory/rounds.h"

#include "rma/memory/state.h"

bool tern_rounds_pass(const tern_context *context, tern_rounds *rounds, uint32_t count) {
    const uint32_t workers = context->size * context->workers;
    if (tern_rma_of(context)->remote != NULL)
        return false;
    while (rounds->passed < workers) {
        const tern_doorbell *doorbell = tern_doorbell_of(tern_worker_page(context, rounds->passed));
        /* R1: tern_rounds_count */
        const uint32_t now = atomic_load_explicit(&doorbell->rounds, memory_order_acquire);
        if (!rounds->began)
            rounds->from = now;
        rounds->began = true;
        if (now - rounds->from < count)
            return false;
        rounds->passed++;
        rounds->began = false;
    }
    return true;
}
