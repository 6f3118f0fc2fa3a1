#include "rma/reply/owner_service.h"

#include "base/error.h"
#include "base/process.h"
#include "rma/reply/answer.h"
#include "rma/memory/heap.h"
#include "rma/memory/state.h"

#define PIECE ((uint64_t)1 << 20) /* bytes that copy_by_owner copies at a time */

enum { SERVICE_ALLOCATE, SERVICE_FREE, SERVICE_PUT, SERVICE_GET };

/* The payload of a service record. The record's id says which service it asks for. */
typedef struct service {
    tern_return_address back;
    tern_memory_request memory;    /* SERVICE_ALLOCATE */
    uint64_t offset;               /* SERVICE_FREE: what is freed; else: in the asker's heap */
    uint64_t region_offset, bytes; /* SERVICE_PUT, SERVICE_GET: in a region */
} service;

static tern_status owner_send(tern_worker *worker, uint32_t target, uint32_t id,
                              const service *request) {
    tern_out *out = NULL;
    tern_status status = tern_ring_open(worker, target, &out);
    if (status != TERN_OK)
        return status;
    void *room = NULL;
    status = tern_ring_reserve(worker, out, sizeof *request, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, request, sizeof *request);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_SERVICE, id, sizeof *request));
    tern_ring_publish(worker, out);
    return TERN_OK;
}

/* Sends a request to the worker of rank that serves, and waits for the answer. Any worker of the
 * rank could serve it. */
static tern_status owner_ask(tern_worker *worker, uint32_t rank, uint32_t id, service *request,
                             uint64_t *answer) {
    tern_context *context = worker->context;
    tern_status status = tern_worker_may_wait(worker, "asking another rank for memory");
    if (status == TERN_OK)
        status = tern_reply_expect(worker, &request->back);
    if (status != TERN_OK)
        return status;
    const uint32_t target = tern_worker_number(context, tern_context_service(context, rank));
    tern_wait_state wait = TERN_WAIT_START;
    bool sent = false;
    while (!tern_reply_arrived(worker, &request->back)) {
        if (!sent) {
            status = owner_send(worker, target, id, request);
            sent = status == TERN_OK;
            if (!sent && status != TERN_ERR_AGAIN) {
                tern_reply_release(worker, &request->back);
                return status;
            }
        }
        status = tern_answer_round(worker, &wait, tern_progress_round(worker), rank, target,
                                   &request->back);
        if (status != TERN_OK) {
            if (sent)
                tern_reply_give_up(worker, &request->back, rank);
            else
                tern_reply_release(worker, &request->back);
            return status;
        }
    }
    const tern_cell *cell = tern_reply_cell(worker, &request->back);
    /* R9: tern_reply_arrived; each is read once, since other ranks of the node can write there */
    const uint32_t told = __atomic_load_n(&cell->status, __ATOMIC_RELAXED);
    const uint32_t bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED);
    if (told >= TERN_STATUS_COUNT)
        status = tern_fail(TERN_ERR_CORRUPT,
                           "the cell for an answer of rank %u has the status %u, which does not "
                           "exist; look for what writes into rank %u's segment",
                           rank, told, context->rank);
    else if (told != TERN_OK)
        status = tern_fail((tern_status)told, "rank %u: %.*s", rank,
                           (int)(bytes < TERN_RESULT_MAX ? bytes : TERN_RESULT_MAX), cell->payload);
    else
        memcpy(answer, cell->payload, sizeof *answer);
    tern_reply_release(worker, &request->back);
    return status;
}

tern_status tern_service_allocate(tern_worker *worker, uint32_t rank,
                                  const tern_memory_request *request, uint64_t *offset) {
    service s = {.memory = *request};
    return owner_ask(worker, rank, SERVICE_ALLOCATE, &s, offset);
}

tern_status tern_service_free(tern_worker *worker, uint32_t rank, uint64_t offset) {
    service s = {.offset = offset};
    uint64_t nothing;
    return owner_ask(worker, rank, SERVICE_FREE, &s, &nothing);
}

tern_status tern_service_copy(tern_worker *worker, uint32_t rank, uint64_t region_offset,
                              uint64_t bytes, uint64_t heap_offset, tern_direction direction) {
    service s = {.offset = heap_offset, .region_offset = region_offset, .bytes = bytes};
    uint64_t nothing;
    return owner_ask(worker, rank, direction == TERN_PUT_INTO ? SERVICE_PUT : SERVICE_GET, &s,
                     &nothing);
}

/* Copies piece by piece through this rank's own heap, which the owner maps. */
static tern_status copy_by_owner(tern_worker *worker, uint32_t rank, uint64_t region_offset,
                                 char *local, uint64_t bytes, tern_direction direction) {
    tern_context *context = worker->context;
    tern_status status = tern_worker_may_wait(worker, "a transfer that its target has to copy");
    uint64_t piece = bytes < PIECE ? bytes : PIECE, offset = 0;
    tern_memory_request room = {.bytes = piece,
                                .alignment = TERN_HEAP_GRANULE,
                                .numa = TERN_NUMA_ANY,
                                .near_worker = worker->index};
    if (status == TERN_OK)
        status = tern_memory_take(context, &room, &offset);
    if (status != TERN_OK)
        return status;
    char *staged = tern_rma_of(context)->reach[context->rank].base + offset;
    for (; bytes > 0 && status == TERN_OK; bytes -= piece, region_offset += piece, local += piece) {
        piece = bytes < PIECE ? bytes : PIECE;
        if (direction == TERN_PUT_INTO)
            memcpy(staged, local, piece);
        status = tern_service_copy(worker, rank, region_offset, piece, offset, direction);
        if (status == TERN_OK && direction == TERN_GET_FROM)
            memcpy(local, staged, piece);
        worker->stats.bytes_staged += piece;
    }
    (void)tern_memory_give(context, offset);
    return status;
}

tern_status tern_cma_copy(tern_worker *worker, uint32_t rank, uint64_t region_offset, char *local,
                          uint64_t bytes, tern_direction direction) {
    tern_status status =
        tern_cma_copy_by_system(worker, rank, region_offset, local, bytes, direction);
    if (status != TERN_ERR_UNSUPPORTED)
        return status;
    tern_error_clear();
    return copy_by_owner(worker, rank, region_offset, local, bytes, direction);
}

/* Allocates for another rank. The request comes from memory that other ranks can write, and the
 * heap relies on the alignment, so this checks it. */
static tern_status owner_allocate(tern_worker *worker, const tern_memory_request *memory,
                                  uint64_t *offset) {
    const uint64_t alignment = memory->alignment;
    if (alignment < TERN_HEAP_GRANULE || alignment > TERN_ALIGNMENT_MAX ||
        (alignment & (alignment - 1)) != 0)
        return tern_fail(TERN_ERR_CORRUPT,
                         "a request for memory says that its alignment is %llu; look for what "
                         "writes into rank %u's segment",
                         (unsigned long long)alignment, worker->context->rank);
    return tern_memory_take(worker->context, memory, offset);
}

/* Performs a service. [out] offset: for SERVICE_ALLOCATE only. */
static tern_status owner_serve(tern_worker *worker, uint32_t origin, uint32_t id, const service *s,
                               uint64_t *offset) {
    switch (id) {
    case SERVICE_ALLOCATE:
        return owner_allocate(worker, &s->memory, offset);
    case SERVICE_FREE:
        return tern_memory_give(worker->context, s->offset);
    default:
        return tern_cma_serve(worker, origin, s->region_offset, s->bytes, s->offset,
                              id == SERVICE_PUT ? TERN_PUT_INTO : TERN_GET_FROM);
    }
}

size_t tern_service_consume(tern_worker *worker, tern_in *in) {
    uint64_t header = tern_ring_peek(worker, in);
    if (!tern_ring_check(in, header) || tern_record_bytes(header) != sizeof(service) ||
        tern_record_id(header) > SERVICE_GET) {
        tern_ring_refuse(worker, in, header, "it asks for no known service");
        return 0;
    }
    service s;
    tern_read_once(&s, tern_ring_payload(in), sizeof s);
    uint64_t offset = 0;
    tern_status status =
        owner_serve(worker, in->origin_id.rank, tern_record_id(header), &s, &offset);
    const char *detail = tern_error_detail();
    const void *payload = status == TERN_OK ? (const void *)&offset : detail;
    size_t bytes = status == TERN_OK ? sizeof offset : strlen(detail);
    tern_ring_advance(in, header);
    (void)tern_reply_send(worker, in->origin, &s.back, status, payload, bytes);
    return 1;
}
