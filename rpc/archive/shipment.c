#include "rpc/archive/fetch.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/region/cma.h"
#include "rma/reply/reply.h"
#include "rma/memory/state.h"
#include "rma/transport/transport.h"
#include "rpc/archive/archive.h"
#include "rpc/call/await.h"
#include "rpc/call/extended.h"
#include "rpc/call/send.h"
#include "rpc/synchronizer.h"
#include "src/log.h"
#include "src/progress/wait.h"
#include "tern/archive.h"

enum { LOOKS = 16 };

typedef struct tern_shipment {
    struct tern_shipment *next;
    tern_return_address back;   /* for the message that all chunks have been fetched */
    tern_return_address answer; /* for the result, if the caller waits for it */
    uint32_t rank;              /* of the target */
    tern_ptr reusable;          /* counter of the caller's synchronizer, or null */
    size_t count;
    tern_chunk_list *list;
    tern_buffer *buffer[]; /* by chunk; NULL: memory of the caller */
} tern_shipment;

static size_t list_bytes(size_t count) {
    return sizeof(tern_chunk_list) + count * sizeof(tern_chunk_source);
}

static void shipment_drop(tern_shipment *s) {
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        tern_buffer_drop(s->buffer[i]);
    free(s);
}

static tern_shipment *shipment_make(size_t count) {
    tern_shipment *s = malloc(sizeof *s + count * sizeof s->buffer[0] + list_bytes(count));
    if (s == NULL)
        return NULL;
    *s = (tern_shipment){.list = (tern_chunk_list *)(void *)&s->buffer[count]};
    *s->list = (tern_chunk_list){.count = 0};
    return s;
}

static tern_status shipment_check_size(size_t bytes) {
    if (bytes <= TERN_CHUNK_MAX)
        return TERN_OK;
    return tern_fail(TERN_ERR_RANGE, "a chunk has %zu bytes; at most %u are allowed", bytes,
                     TERN_CHUNK_MAX);
}

/* Copies a chunk to the segment, where any rank can get it. If the segment is full, the copy goes
 * to private memory, which a target of the same node may read. */
static tern_status shipment_stage(tern_worker *worker, tern_shipment *s, const void *memory,
                                  size_t bytes) {
    tern_buffer **copy = &s->buffer[s->count];
    tern_status status = tern_buffer_create(worker, bytes, copy);
    if (status == TERN_ERR_MEMORY && tern_cma_allowed(worker, s->rank)) {
        tern_error_clear();
        status = tern_buffer_create(NULL, bytes, copy);
    }
    if (status != TERN_OK)
        return status;
    tern_internal_copy(tern_buffer_data(*copy), memory, bytes);
    worker->stats.bytes_staged += bytes;
    const tern_ptr gaddr = tern_buffer_place(*copy);
    const uint64_t address = tern_ptr_is_null(gaddr) ? (uintptr_t)tern_buffer_data(*copy) : 0;
    s->list->chunk[s->count++] = (tern_chunk_source){gaddr, address, bytes};
    return TERN_OK;
}

/* Adds a chunk to the shipment: its memory as it lies if the target can read it there, otherwise a
 * copy. The address of the memory decides, not the buffer's global address, since the buffer may be
 * of another context. */
static tern_status shipment_load(tern_worker *worker, tern_shipment *s, const tern_chunk *c) {
    tern_ptr gaddr = tern_gaddr_of(worker, c->memory, c->bytes);
    bool placed = !tern_ptr_is_null(gaddr), remote = !tern_rank_is_direct(worker->context, s->rank);
    /* Ranks of the node read registered memory that load/store does not reach as they read private
     * memory. */
    bool is_private =
        !placed || (!remote && tern_internal_reach_address(worker, gaddr, c->bytes) == NULL);
    if (is_private && !tern_cma_allowed(worker, s->rank))
        return shipment_stage(worker, s, c->memory, c->bytes);
    s->buffer[s->count] = tern_buffer_keep(c->buffer);
    s->list->chunk[s->count++] =
        (tern_chunk_source){gaddr, placed ? 0 : (uintptr_t)c->memory, c->bytes};
    return TERN_OK;
}

static tern_status load_all(tern_worker *worker, tern_shipment *s, const tern_chunk *chunks,
                            size_t count, const void *archive, size_t archive_bytes) {
    tern_status status = TERN_OK;
    s->list->index = archive_bytes > 0;
    if (archive_bytes > 0)
        status = shipment_stage(worker, s, archive, archive_bytes);
    for (size_t i = 0; i < count && status == TERN_OK; i++)
        status = shipment_load(worker, s, &chunks[i]);
    s->list->count = (uint32_t)s->count;
    return status;
}

/* Returns how many bytes of an archive fit a record together with the list of count chunks. */
static size_t archive_max(const tern_context *context, size_t count, bool by_message) {
    size_t most = tern_outgoing_max(context, by_message);
    size_t rest = sizeof(tern_extension) + list_bytes(count);
    return most > rest + 8 ? most - rest - 8 : 0;
}

/* Returns whether the call lacks reply cells or memory that will be free when earlier shipments
 * have been fetched. */
static bool is_short(const tern_worker *worker, tern_status status) {
    return (status == TERN_ERR_AGAIN || status == TERN_ERR_MEMORY) &&
           tern_rpc_worker_of(worker)->shipments != NULL;
}

/* What a call with an archive sends, and where. */
typedef struct parcel {
    tern_call_target to;
    uint64_t header;
    const void *archive;
    size_t bytes;
    const tern_chunk *chunks;
    size_t count;
    const tern_archive_options *options;
    tern_answer *answer; /* the answer that brings the result; NULL: the caller wants no result */
} parcel;

/* Returns whether the archive does not fit the record, so that it goes as the first chunk. */
static bool goes_aside(const tern_context *context, const parcel *p) {
    return p->bytes > archive_max(context, p->count, p->to.by_message);
}

/* Checks all limits before anything is done. */
static tern_status shipment_check(const tern_context *context, const parcel *p) {
    size_t most = tern_outgoing_max(context, p->to.by_message);
    size_t rest = sizeof(tern_extension) + list_bytes(0);
    size_t count = p->count + goes_aside(context, p);
    most = most > rest ? (most - rest) / sizeof(tern_chunk_source) : 0;
    if (most > TERN_CALL_CHUNKS_MAX)
        most = TERN_CALL_CHUNKS_MAX;
    if (count > most)
        return tern_fail(TERN_ERR_RANGE,
                         "a call with %zu chunks; with TERN_RING_SIZE=%zu at most %zu are allowed",
                         count, context->config.ring_size, most);
    tern_status status = goes_aside(context, p) ? shipment_check_size(p->bytes) : TERN_OK;
    for (size_t i = 0; i < p->count && status == TERN_OK; i++)
        status = shipment_check_size(p->chunks[i].bytes);
    return status;
}

/* Takes reply cells: one for the message that all chunks have been fetched, and one for a result.
 */
static tern_status shipment_expect(tern_worker *worker, const parcel *p, tern_shipment *s) {
    tern_status status = tern_reply_expect(worker, &s->back);
    if (status != TERN_OK || p->answer == NULL)
        return status;
    status = tern_reply_expect(worker, &s->answer);
    if (status != TERN_OK)
        tern_reply_release(worker, &s->back);
    return status;
}

static void expect_nothing(tern_worker *worker, const parcel *p, const tern_shipment *s) {
    tern_reply_release(worker, &s->back);
    if (p->answer != NULL)
        tern_reply_release(worker, &s->answer);
}

static tern_status try_pack(tern_worker *worker, const parcel *p, tern_shipment **shipment) {
    bool aside = goes_aside(worker->context, p);
    tern_shipment *s = shipment_make(p->count + aside);
    if (s == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a call with %zu chunks", p->count);
    s->rank = tern_rank_of(worker->context, p->to.target);
    tern_status status = shipment_expect(worker, p, s); /* first, because this costs no copy */
    if (status != TERN_OK) {
        shipment_drop(s);
        return status;
    }
    status = load_all(worker, s, p->chunks, p->count, p->archive, aside ? p->bytes : 0);
    if (status != TERN_OK) {
        expect_nothing(worker, p, s);
        shipment_drop(s);
        return status;
    }
    s->list->back = s->back;
    *shipment = s;
    return TERN_OK;
}

/* Waits until a shipment has been fetched. */
static tern_status wait_for_one(tern_worker *worker) {
    const tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    const uint64_t over = mine->shipments_over;
    tern_wait_state wait = TERN_WAIT_IN("tern_call_archive");
    tern_status status = TERN_OK;
    while (mine->shipments_over == over && status == TERN_OK)
        status = tern_wait_round(worker->context, &wait, tern_progress_round(worker), TERN_ANYBODY);
    return status;
}

static tern_status shipment_pack(tern_worker *worker, const parcel *p, tern_shipment **shipment) {
    for (;;) {
        /* Check for a free reply cell first: many calls in a row may find all cells in use, and
         * tern need not make an error text for each. */
        tern_status status = TERN_ERR_AGAIN;
        if (tern_reply_room(worker) || !is_short(worker, status))
            status = try_pack(worker, p, shipment);
        if (status == TERN_OK || !is_short(worker, status))
            return status;
        if (p->options->full != TERN_FULL_WAIT || worker->in_progress)
            return tern_fail(TERN_ERR_AGAIN,
                             "calls whose chunks have not been fetched leave no room for one more; "
                             "let progress run");
        tern_error_clear();
        status = wait_for_one(worker);
        if (status != TERN_OK)
            return status;
    }
}

static tern_status shipment_send(tern_worker *worker, const parcel *p, const tern_shipment *s) {
    const tern_archive_options *o = p->options;
    bool index = s->list->index != 0;
    tern_extension e = {
        .counter = o->executed != NULL ? o->executed->counter : TERN_NULL,
        .buffer_bytes = list_bytes(s->count),
        .arguments = index ? 0 : (uint32_t)p->bytes,
        .origin = worker->id,
        .transfer = o->aside ? TERN_BUFFER_CHUNKS_ASIDE : TERN_BUFFER_CHUNKS,
        .notify = TERN_ON_EXECUTED,
        .answer = s->answer,
    };
    uint32_t id = tern_record_id(p->header);
    tern_outgoing call = {p->to,
                          tern_record_header(TERN_RECORD_CALL_EXTENDED, id, 0),
                          {{&e, sizeof e}, {p->archive, e.arguments}, {s->list, e.buffer_bytes}}};
    return tern_outgoing_send(worker, &call, o->full);
}

static tern_status shipment_raise(tern_worker *worker, const tern_synchronizer *s) {
    return s != NULL ? tern_synchronizer_raise(worker, *s, 1) : TERN_OK;
}

static void shipment_lower(tern_worker *worker, const tern_synchronizer *s) {
    if (s != NULL)
        tern_counter_lower(worker, s->counter, 1);
}

static tern_status shipment_ship(tern_worker *worker, const parcel *p) {
    const tern_archive_options *o = p->options;
    tern_shipment *s = NULL;
    tern_status status = shipment_pack(worker, p, &s);
    if (status != TERN_OK)
        return status;
    if (o->reusable != NULL)
        s->reusable = o->reusable->counter;
    status = shipment_send(worker, p, s);
    if (status != TERN_OK) {
        expect_nothing(worker, p, s);
        shipment_drop(s);
        return status;
    }
    if (p->answer != NULL)
        *p->answer =
            tern_answer_expect(worker, p->to.target, tern_record_id(p->header), &s->answer);
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    if (mine->shipments == NULL)
        mine->shipments_end = &mine->shipments;
    *mine->shipments_end = s;
    mine->shipments_end = &s->next;
    return TERN_OK;
}

static const tern_archive_options usual;

/* Sends an archive without chunks as plain arguments. */
static tern_status call_without_chunks(tern_worker *worker, tern_worker_id target,
                                       const tern_function *function, const parcel *p) {
    tern_call_options options = {.full = p->options->full, .synchronizer = p->options->executed};
    return tern_call_with(worker, target, function, p->archive, p->bytes, &options);
}

static tern_status call_shipping(tern_worker *worker, const parcel *p) {
    tern_status status = shipment_raise(worker, p->options->executed);
    if (status != TERN_OK)
        return status;
    status = shipment_ship(worker, p);
    if (status != TERN_OK)
        shipment_lower(worker, p->options->executed);
    return status;
}

/* Checks the arguments. [out] p: what is to be sent. */
static tern_status shipment_address(tern_worker *worker, tern_worker_id target,
                                    const tern_function *function, const tern_writer *writer,
                                    parcel *p) {
    p->header = tern_call_header(worker, target, function, "", 0, &p->to);
    if (p->header == 0)
        return tern_call_refuse(worker, target, function, "", 0);
    tern_status status = tern_writer_finish(writer, &p->archive, &p->bytes);
    if (status != TERN_OK)
        return status;
    p->chunks = tern_writer_chunks(writer, &p->count);
    if (p->count > 0 && tern_is_nobody(worker))
        return tern_fail(
            TERN_ERR_UNSUPPORTED,
            "%zu chunks in a call by a thread without a worker, which has none to keep "
            "them until they are fetched; write without tern_writer_share",
            p->count);
    return shipment_check(worker->context, p);
}

static bool is_plain(const tern_worker *worker, const parcel *p) {
    return p->count == 0 && (tern_is_nobody(worker) || !goes_aside(worker->context, p));
}

tern_status tern_call_archive(tern_worker *worker, tern_worker_id target,
                              const tern_function *function, const tern_writer *writer,
                              const tern_archive_options *options) {
    parcel p = {.options = options != NULL ? options : &usual};
    if (worker == NULL || writer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_archive: worker or writer is NULL");
    if ((unsigned)p.options->full > TERN_FULL_QUEUE)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_call_archive: full is %d; pass a TERN_FULL_ constant",
                         (int)p.options->full);
    tern_status status = shipment_address(worker, target, function, writer, &p);
    if (status != TERN_OK)
        return status;
    bool plain = is_plain(worker, &p);
    status = shipment_raise(worker, p.options->reusable);
    if (status != TERN_OK)
        return status;
    status = plain ? call_without_chunks(worker, target, function, &p) : call_shipping(worker, &p);
    if (plain || status != TERN_OK)
        shipment_lower(worker, p.options->reusable);
    return status;
}

static tern_status shipment_ask(tern_worker *worker, tern_worker_id target,
                                const tern_function *function, const tern_writer *writer,
                                tern_answer *answer) {
    parcel p = {.options = &usual, .answer = answer};
    if (worker == NULL || writer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_archive_start: worker or writer is NULL");
    tern_status status = shipment_address(worker, target, function, writer, &p);
    if (status != TERN_OK)
        return status;
    if (is_plain(worker, &p))
        return tern_answer_ask(worker, target, function, p.archive, p.bytes, answer);
    return shipment_ship(worker, &p);
}

tern_status tern_call_archive_start(tern_worker *worker, tern_worker_id target,
                                    const tern_function *function, const tern_writer *writer,
                                    void *result, size_t capacity, tern_request *request) {
    tern_answer answer;
    tern_status status =
        tern_answer_check_request(result, capacity, request, "tern_call_archive_start");
    if (status == TERN_OK)
        status = shipment_ask(worker, target, function, writer, &answer);
    if (status == TERN_OK)
        tern_answer_request(worker, &answer, result, capacity, request);
    return status;
}

/* Returns whether the target has fetched the chunks or will never fetch them. If so, releases the
 * reply cell. */
static bool is_over(tern_worker *worker, const tern_shipment *s) {
    tern_status status = TERN_ERR_PEER;
    const bool answered = tern_reply_arrived(worker, &s->back);
    if (answered)
        status = (tern_status)tern_reply_cell(worker, &s->back)->status;
    else if (tern_glance(worker, s->rank) == TERN_OK)
        return false;
    if (status != TERN_OK)
        tern_log(TERN_LOG_WARN, "rank %u could not fetch the chunks of a call: %s", s->rank,
                 tern_strerror(status));
    if (answered)
        tern_reply_release(worker, &s->back);
    else
        tern_reply_give_up(worker, &s->back, s->rank);
    return true;
}

static void shipment_finish(tern_worker *worker, tern_shipment **link) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_shipment *s = *link;
    *link = s->next;
    if (*link == NULL)
        mine->shipments_end = link;
    if (!tern_ptr_is_null(s->reusable))
        tern_counter_lower(worker, s->reusable, 1);
    shipment_drop(s);
    mine->shipments_over++;
}

/* Reading a reply cell that is about to be written takes its cache line from the writer. Targets
 * fetch in order, except for calls that they set aside. So this function looks behind the first
 * shipment that is not over only in one of LOOKS rounds. */
size_t tern_shipments_advance(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_shipment **link = &mine->shipments;
    const uint64_t before = mine->shipments_over;
    const bool all = mine->shipment_looks++ % LOOKS == 0;
    while (*link != NULL) {
        if (is_over(worker, *link))
            shipment_finish(worker, link);
        else if (all)
            link = &(*link)->next;
        else
            break;
    }
    return mine->shipments_over - before;
}

static bool is_fetched_with_help(const tern_worker *worker, const tern_shipment *s) {
    bool registered = false;
    for (size_t i = 0; i < s->list->count; i++)
        registered |= s->list->chunk[i].gaddr.segment != 0;
    return tern_gets_need_owner(worker, s->rank, registered);
}

uint32_t tern_shipments_unsent(const tern_worker *worker, uint32_t rank) {
    const tern_shipment *s = tern_rpc_worker_of(worker)->shipments;
    for (; s != NULL; s = s->next)
        if ((rank == TERN_ANYBODY || rank == s->rank) && is_fetched_with_help(worker, s))
            return s->rank;
    return TERN_NOBODY;
}

void tern_shipments_discard(tern_worker *worker) {
    tern_shipment **first = &tern_rpc_worker_of(worker)->shipments;
    while (*first != NULL) {
        tern_shipment *s = *first;
        *first = s->next;
        shipment_drop(s);
    }
}

tern_status tern_call_reader(const tern_call_info *call, const void *arguments, size_t bytes,
                             tern_reader *reader) {
    if (call == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_call_reader: call is NULL");
    tern_status status = tern_reader_open(reader, arguments, bytes);
    if (status == TERN_OK && call->chunk_count > 0)
        status = tern_reader_chunks(reader, call->chunks, call->chunk_count);
    return status;
}
