#include "rma/ring/loose.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/state.h"

struct tern_loose {
    tern_ring_header header;
    tern_in in;
    tern_loose *next; /* of the process */
    _Alignas(TERN_LINE) char data[];
};

tern_status tern_loose_open(tern_worker *worker, tern_out *out) {
    if (out->lane.data == NULL)
        out->lane.data = malloc(out->lane.mask + 1);
    if (out->lane.data == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to stage a ring");
    tern_error_clear();
    out->via = &tern_transport_p2p;
    out->ring = TERN_RING_NONE;
    out->limit = out->lane.mask + 1;
    worker->stats.rings_loose++;
    return TERN_OK;
}

static tern_loose *loose_make(tern_context *context, uint32_t line) {
    const uint64_t bytes = context->config.ring_size;
    const uint32_t total = context->size * context->workers, origin = line % total;
    tern_loose *loose = aligned_alloc(TERN_LINE, sizeof *loose + bytes);
    if (loose == NULL)
        return NULL;
    memset(loose, 0, sizeof *loose);
    memset(loose->data, 0, 8); /* where the first record will lie */
    atomic_init(&loose->header.idle, 1);
    loose->in = (tern_in){.data = loose->data,
                          .mask = bytes - 1,
                          .limit = UINT64_MAX,
                          .channel = line / total,
                          .ring = TERN_RING_NONE,
                          .origin = origin,
                          .origin_id = {origin / context->workers, origin % context->workers},
                          .header = &loose->header,
                          .via = &tern_transport_p2p};
    loose->next = tern_rma_of(context)->loose;
    tern_rma_of(context)->loose = loose;
    return loose;
}

bool tern_loose_place(tern_context *context, uint32_t target_index, uint32_t line,
                      tern_ring_place *place) {
    _Atomic(tern_loose *) *at = &tern_rma_worker_of(context->worker[target_index])->loose[line];
    /* R9: tern_mpi_lock */
    tern_loose *loose = atomic_load_explicit(at, memory_order_relaxed);
    if (loose == NULL) {
        loose = loose_make(context, line);
        if (loose == NULL)
            return false;
        /* R1: tern_loose_in */
        atomic_store_explicit(at, loose, memory_order_release);
    }
    *place = (tern_ring_place){&loose->header, loose->data, loose->in.mask + 1, line, target_index};
    return true;
}

tern_in *tern_loose_in(tern_worker *worker, uint32_t line) {
    /* R1: tern_loose_place */
    tern_loose *loose =
        atomic_load_explicit(&tern_rma_worker_of(worker)->loose[line], memory_order_acquire);
    return loose == NULL ? NULL : &loose->in;
}

void tern_loose_close(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    while (rma->loose != NULL) {
        tern_loose *loose = rma->loose;
        rma->loose = loose->next;
        free(loose);
    }
}
