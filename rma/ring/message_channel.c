#include "rma/ring/message_channel.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/ring/sleep.h"
#include "rma/memory/state.h"

enum { PATIENCE = 64 }; /* frames by messages after which the origin asks for a ring */

struct tern_message_channel {
    tern_ring_header header;
    _Atomic(char *) data; /* NULL: no record yet */
    uint64_t begin;       /* position of its first record */
    _Atomic bool begun;   /* records come by messages, and the consumer does not read them yet */
    uint64_t nothing;     /* a zero that the consumer reads as long as data is NULL */
    tern_message_channel *next; /* in the list of the process */
};

void tern_message_channel_use(tern_worker *worker, tern_out *out) {
    const uint64_t bytes = worker->context->config.ring_size;
    out->direct = false;
    out->transport = tern_rma_of(worker->context)->message_transport;
    out->ring = TERN_RING_NONE;
    out->lane.data = NULL;
    out->lane.mask = bytes - 1;
    out->lane.limit = 0;
    out->limit = out->lane.write;
    out->message_frames_sent = 0;
    worker->stats.message_channels++;
}

tern_status tern_message_channel_stage(tern_out *out) {
    out->lane.data = malloc(out->lane.mask + 1);
    if (out->lane.data == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the staging copy of a ring");
    out->limit = out->lane.write + out->lane.mask + 1;
    return TERN_OK;
}

bool tern_message_channel_wants_ring(const tern_out *out) {
    return out->message_frames_sent >= PATIENCE;
}

void tern_message_channel_published(tern_worker *worker, tern_out *out) {
    out->message_frames_sent++;
    if (!tern_message_channel_wants_ring(out) || out->growth != TERN_GROWTH_NONE)
        return;
    (void)tern_ring_grow(worker, out);
    out->message_frames_sent = 0;
}

/* Makes a message channel, and lists it until tern_message_channel_close. */
static tern_message_channel *message_channel_make(tern_context *context) {
    tern_message_channel *channel = aligned_alloc(TERN_LINE, sizeof *channel);
    if (channel == NULL)
        return NULL;
    memset(channel, 0, sizeof *channel);
    channel->next = tern_rma_of(context)->message_channels;
    tern_rma_of(context)->message_channels = channel;
    return channel;
}

bool tern_message_channel_begin(tern_context *context, uint32_t target_index, uint32_t endpoint,
                                uint64_t position) {
    _Atomic(tern_message_channel *) *at =
        &tern_rma_worker_of(context->worker[target_index])->message_channels[endpoint];
    /* R9: tern_mpi_lock */
    tern_message_channel *channel = atomic_load_explicit(at, memory_order_relaxed);
    if (channel == NULL && (channel = message_channel_make(context)) == NULL)
        return false;
    char *data = atomic_load_explicit(&channel->data, memory_order_relaxed);
    if (data != NULL)
        /* R9: tern_message_channel_take; before its release store */
        atomic_store_explicit(tern_ring_word(data, context->config.ring_size - 1, position), 0,
                              memory_order_relaxed);
    /* R9: tern_mpi_lock */
    atomic_store_explicit(&channel->header.idle, 1, memory_order_relaxed);
    channel->begin = position;
    /* R1: tern_message_channel_has_begun */
    atomic_store_explicit(&channel->begun, true, memory_order_release);
    /* R1: tern_message_channel_has_begun */
    atomic_store_explicit(at, channel, memory_order_release);
    return true;
}

bool tern_message_channel_memory(tern_context *context, uint32_t target_index, uint32_t endpoint,
                                 tern_ring_memory *memory) {
    const uint64_t bytes = context->config.ring_size;
    _Atomic(tern_message_channel *) *at =
        &tern_rma_worker_of(context->worker[target_index])->message_channels[endpoint];
    /* R9: tern_mpi_lock */
    tern_message_channel *channel = atomic_load_explicit(at, memory_order_relaxed);
    if (channel == NULL && !tern_message_channel_begin(context, target_index, endpoint, 0))
        return false;
    channel = atomic_load_explicit(at, memory_order_relaxed);
    char *data = atomic_load_explicit(&channel->data, memory_order_relaxed);
    if (data == NULL) {
        data = calloc(1, bytes);
        if (data == NULL)
            return false;
        /* R1: tern_message_channel_look */
        atomic_store_explicit(&channel->data, data, memory_order_release);
    }
    *memory = (tern_ring_memory){&channel->header, data, bytes, endpoint, target_index};
    return true;
}

static tern_message_channel *message_channel_of(const tern_worker *worker, uint32_t endpoint) {
    /* R1: tern_message_channel_begin */
    return atomic_load_explicit(&tern_rma_worker_of(worker)->message_channels[endpoint],
                                memory_order_acquire);
}

bool tern_message_channel_has_begun(const tern_worker *worker, uint32_t endpoint) {
    tern_message_channel *channel = message_channel_of(worker, endpoint);
    /* R1: tern_message_channel_begin */
    return channel != NULL && atomic_load_explicit(&channel->begun, memory_order_acquire);
}

void tern_message_channel_look(const tern_worker *worker, uint32_t endpoint, tern_in *in) {
    tern_message_channel *channel = message_channel_of(worker, endpoint);
    /* R1: tern_message_channel_memory */
    char *data = atomic_load_explicit(&channel->data, memory_order_acquire);
    if (data == NULL) {
        /* The first message must ring the doorbell, so the consumer sets the idle mark again, which
         * an earlier doorbell has cleared. If the message came before and found no mark, its memory
         * is already allocated, and the second look finds it. */
        /* R3: tern_ring_append */
        atomic_store_explicit(&channel->header.idle, 1, memory_order_seq_cst);
        atomic_thread_fence(memory_order_seq_cst);
        /* R1: tern_message_channel_memory */
        data = atomic_load_explicit(&channel->data, memory_order_acquire);
    }
    in->data = data != NULL ? data : (char *)&channel->nothing;
    in->mask = (data != NULL ? worker->context->config.ring_size : sizeof channel->nothing) - 1;
}

bool tern_message_channel_take(const tern_worker *worker, uint32_t endpoint, tern_in *in) {
    tern_message_channel *channel = message_channel_of(worker, endpoint);
    if (in->position != channel->begin)
        return false;
    /* R4; the origin tells of another one only after it had a ring again */
    atomic_store_explicit(&channel->begun, false, memory_order_relaxed);
    in->ring = TERN_RING_NONE;
    in->header = &channel->header;
    in->transport = tern_rma_of(worker->context)->message_transport;
    in->limit = UINT64_MAX;
    in->sleep = TERN_SLEEP_AWAKE;
    in->reported = in->position;
    tern_message_channel_look(worker, endpoint, in);
    return true;
}

void tern_message_channel_close(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    while (rma->message_channels != NULL) {
        tern_message_channel *channel = rma->message_channels;
        rma->message_channels = channel->next;
        free(channel->data);
        free(channel);
    }
}
