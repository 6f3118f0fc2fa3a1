#include "rpc/archive/fetch.h"

#include "base/error.h"
#include "base/process.h"
#include "rma/region/cma.h"
#include "rma/memory/state.h"
#include "rpc/archive/buffer.h"
#include "src/log.h"
#include "src/progress/wait.h"
#include "tern/archive.h"

enum { WAITING, UNDER_WAY, LANDED };
enum { SPARE_BYTES = 1 << 20 };

typedef struct part {
    tern_chunk_source source;
    tern_transfer transfer;
    int stage;
} part;

struct tern_fetch {
    tern_return_address back;
    uint32_t origin; /* worker number */
    uint32_t count, index;
    uint64_t bytes;
    tern_status status; /* the first failure */
    tern_chunk *chunk;
    part part[];
};

static tern_status bad_list(tern_worker *worker, uint32_t origin, const tern_chunk_list *head) {
    tern_status status =
        tern_fail(TERN_ERR_RANGE, "the list of chunks from worker %u is malformed", origin);
    if (head->back.cell < TERN_CALL_REQUESTS) /* the origin may wait for an answer */
        (void)tern_reply_send(worker, origin, &head->back, status, NULL, 0);
    return status;
}

size_t tern_fetch_size(size_t bytes) {
    return sizeof(tern_fetch) +
           bytes / sizeof(tern_chunk_source) * (sizeof(part) + sizeof(tern_chunk));
}

/* Copies the list. Its origin can still write to the original, so each field is read only once,
 * here. */
static tern_status copy_list(tern_worker *worker, uint32_t origin, const char *list, size_t bytes,
                             tern_fetch *f) {
    tern_chunk_list head = {.back.cell = TERN_CALL_REQUESTS};
    if (bytes < sizeof head)
        return bad_list(worker, origin, &head);
    tern_read_once(&head, list, sizeof head);
    if (head.count == 0 || head.count > TERN_CALL_CHUNKS_MAX || head.index > 1 ||
        bytes != sizeof head + head.count * sizeof head.chunk[0] ||
        head.back.cell >= TERN_CALL_REQUESTS)
        return bad_list(worker, origin, &head);
    *f = (tern_fetch){.back = head.back,
                      .origin = origin,
                      .count = head.count,
                      .index = head.index,
                      .chunk = (tern_chunk *)(void *)&f->part[head.count]};
    for (uint32_t i = 0; i < f->count; i++) {
        f->part[i].stage = WAITING;
        f->chunk[i] = (tern_chunk){.buffer = NULL};
        memcpy(&f->part[i].source, list + sizeof head + i * sizeof head.chunk[0],
               sizeof head.chunk[0]);
        f->bytes += f->part[i].source.bytes; /* a size that makes this overflow is refused below */
        if (f->part[i].source.bytes == 0 || f->part[i].source.bytes > TERN_CHUNK_MAX)
            return bad_list(worker, origin, &head);
    }
    return TERN_OK;
}

tern_status tern_fetch_begin(tern_worker *worker, uint32_t origin, const char *list, size_t bytes,
                             tern_fetch *f) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t limit = worker->context->config.overflow_memory;
    tern_status status = copy_list(worker, origin, list, bytes, f);
    if (status != TERN_OK)
        return status;
    if (mine->fetched_bytes > 0 &&
        (mine->fetched_bytes > limit || f->bytes > limit - mine->fetched_bytes))
        return TERN_ERR_AGAIN;
    mine->fetched_bytes += f->bytes;
    return TERN_OK;
}

/* Drops the buffer of a chunk after its call, or keeps it as the spare, which serves the next chunk
 * of the same size. Only a buffer in the segment that is not too large, and that the function has
 * not kept, becomes the spare; the spare before it is dropped. */
static void keep_spare(tern_rpc_worker *mine, tern_buffer *buffer) {
    mine->spare_used = true;
    if (buffer != NULL && tern_buffer_is_mine(buffer) && buffer->bytes <= SPARE_BYTES &&
        !tern_ptr_is_null(buffer->gaddr)) {
        tern_buffer *before = mine->spare;
        mine->spare = buffer;
        buffer = before;
    }
    tern_buffer_drop(buffer);
}

static tern_buffer *take_spare(tern_rpc_worker *mine, uint64_t bytes) {
    tern_buffer *spare = mine->spare;
    if (spare == NULL || spare->bytes != bytes)
        return NULL;
    mine->spare = NULL;
    return spare;
}

void tern_fetch_spare_drop(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_buffer_drop(mine->spare);
    mine->spare = NULL;
}

/* Allocates a buffer for a chunk. It lies in the segment, so that it can be sent on without a copy,
 * or in heap memory if the segment is full. */
static tern_status fetch_make_room(tern_worker *worker, tern_chunk *c, uint64_t bytes) {
    if (c->buffer == NULL)
        c->buffer = take_spare(tern_rpc_worker_of(worker), bytes);
    if (c->buffer == NULL && tern_buffer_create(worker, bytes, &c->buffer) != TERN_OK) {
        tern_status status = tern_buffer_create(NULL, bytes, &c->buffer);
        if (status != TERN_OK)
            return status;
    }
    c->memory = c->buffer->data;
    c->bytes = bytes;
    c->place = c->buffer->gaddr;
    return TERN_OK;
}

/* Copies the chunk if this process can read its memory; otherwise starts a get. */
static tern_status fetch_start(tern_worker *worker, const tern_fetch *f, part *p, char *to) {
    tern_ptr gaddr = p->source.gaddr;
    uint64_t bytes = p->source.bytes, offset = 0;
    if (tern_ptr_is_null(gaddr))
        return tern_cma_read(worker, tern_rank_of(worker->context, f->origin), p->source.address,
                             to, bytes);
    const char *direct = tern_internal_reach_address(worker, gaddr, bytes);
    if (direct != NULL) {
        tern_internal_copy(to, direct, bytes);
        return TERN_OK;
    }
    tern_status status = tern_segment_check(worker->context, gaddr, bytes, &offset);
    if (status != TERN_OK)
        return status;
    if (tern_rank_is_direct(worker->context, gaddr.rank))
        return tern_cma_copy_by_system(worker, gaddr.rank, offset, to, bytes, TERN_GET_FROM);
    status = tern_transport_to(worker->context, gaddr.rank)
                 ->get(worker, gaddr.rank, offset, to, bytes, &p->transfer);
    if (status != TERN_OK)
        return status;
    worker->stats.gets++;
    p->stage = UNDER_WAY;
    return TERN_OK;
}

static tern_status begin_part(tern_worker *worker, tern_fetch *f, part *p, tern_chunk *c) {
    tern_status status = fetch_make_room(worker, c, p->source.bytes);
    if (status == TERN_OK)
        status = fetch_start(worker, f, p, c->buffer->data);
    if (status == TERN_OK) {
        worker->stats.bytes_got += p->source.bytes;
        if (p->stage == WAITING)
            p->stage = LANDED;
    }
    return status;
}

/* Checks once whether a chunk has arrived. After an error, such as TERN_ERR_PEER, MPI may still
 * write to the buffer, so the buffer is leaked. */
static tern_status fetch_look(tern_worker *worker, part *p, tern_chunk *c) {
    int done = 0;
    uint32_t rank = p->source.gaddr.rank;
    tern_status status =
        tern_transport_to(worker->context, rank)->test(worker, &p->transfer, &done);
    if (status == TERN_OK && !done)
        status = tern_glance(worker, rank);
    if (!done && status != TERN_OK)
        c->buffer = NULL;
    if (done || status != TERN_OK)
        p->stage = LANDED;
    return status;
}

tern_status tern_fetch_advance(tern_worker *worker, tern_fetch *f) {
    bool busy = false;
    for (uint32_t i = 0; i < f->count; i++) {
        part *p = &f->part[i];
        tern_status status = TERN_OK;
        if (p->stage == WAITING && f->status == TERN_OK)
            status = begin_part(worker, f, p, &f->chunk[i]);
        else if (p->stage == UNDER_WAY)
            status = fetch_look(worker, p, &f->chunk[i]);
        if (status != TERN_OK && status != TERN_ERR_AGAIN && f->status == TERN_OK)
            f->status = status;
        busy = busy || p->stage == UNDER_WAY || (p->stage == WAITING && f->status == TERN_OK);
    }
    if (busy)
        tern_ring_warm(worker);
    return busy ? TERN_ERR_AGAIN : f->status;
}

void tern_fetch_tell(tern_worker *worker, const tern_fetch *f, tern_status status) {
    if (tern_reply_send(worker, f->origin, &f->back, status, NULL, 0) != TERN_OK)
        tern_log(TERN_LOG_WARN, "worker %u is not told that its chunks have been fetched: %s",
                 f->origin, tern_error_detail());
}

void tern_fetch_give(const tern_fetch *f, tern_call_info *call, const void **arguments,
                     size_t *bytes) {
    call->chunks = f->chunk + f->index;
    call->chunk_count = f->count - f->index;
    if (f->index == 0)
        return;
    *arguments = f->chunk[0].memory;
    *bytes = f->chunk[0].bytes;
}

void tern_fetch_end(tern_worker *worker, tern_fetch *f) {
    if (f == NULL)
        return;
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    for (uint32_t i = 0; i < f->count; i++)
        if (f->part[i].stage != UNDER_WAY)
            keep_spare(mine, f->chunk[i].buffer);
    mine->fetched_bytes -= f->bytes;
}
