#include "rpc/call/extended.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rpc/archive/fetch.h"
#include "rpc/lent/lent.h"
#include "rpc/synchronizer.h"
#include "src/log.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"
#include "tern/archive.h"

/* The stages of a call, in this order. BORROW: the rest of the record is lent and has to be got;
 * BORROWING: that get is under way. FETCH, FETCHING: the same for the buffer or the chunks. LANDED:
 * the data is here, or could not be got. READY: the call is passed on, and its function can run. */
enum { PASS_ON, BORROW, BORROWING, FETCH, FETCHING, LANDED, READY };
enum { CALLS_A_ROUND = 8 };

typedef struct tern_call_task {
    struct tern_call_task *next;
    const void *head; /* the ring at whose head the record lies, or its message; NULL: the record
                         was copied */
    tern_in *in;      /* the ring; NULL: the record is at `lies` */
    const char *lies;
    char *record; /* the copy of the record, in memory of tern */
    bool counted; /* the record counts as fetched memory */
    uint64_t header;
    tern_extension e;     /* a checked copy: the origin can still change the record where it lies */
    tern_passing passing; /* of a broadcast */
    uint64_t arrow;       /* the timeline's arrow to the call, while the worker is profiled
                             (src/profile/trace.h) */
    int stage;
    tern_status status; /* of the fetch */
    tern_loan loan;     /* of the rest of the record; counter null: the record is complete */
    const char *rest;   /* the rest of the record: where it is lent if load/store reaches that, or
                           in borrowed */
    char *borrowed;     /* the got rest of the record, in memory of tern */
    const void *buffer;
    char *memory;      /* for the buffer, tern's own */
    tern_fetch *fetch; /* of chunks, once it has begun; it lies behind the task */
    tern_transfer transfer;
} tern_call_task;

static size_t extended_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static bool has_chunks(const tern_extension *e) { return e->transfer >= TERN_BUFFER_CHUNKS; }

static bool is_aside(const tern_extension *e) {
    return e->transfer == TERN_BUFFER_GET_ASIDE || e->transfer == TERN_BUFFER_CHUNKS_ASIDE;
}

/* Checks an extension. left: how many bytes follow it, or are lent in their place. */
static bool extended_well_formed(const tern_worker *worker, const tern_extension *e,
                                 uint64_t left) {
    const tern_context *context = worker->context;
    if (e->arguments > left || e->transfer > TERN_BUFFER_CHUNKS_ASIDE || e->notify > TERN_ON_SENT ||
        e->origin >= context->size * context->workers || e->answer.cell > TERN_CELL_OF_THREAD ||
        left > TERN_CHUNK_MAX || e->flags > (TERN_CALL_OF_THREAD | TERN_CALL_BY_MESSAGE) ||
        (!tern_ptr_is_null(e->counter) && tern_counter_check(worker, e->counter) != TERN_OK))
        return false;
    return (e->transfer != TERN_BUFFER_INSIDE && !has_chunks(e)) || e->buffer_bytes == 0 ||
           (extended_padded(e->arguments) <= left &&
            e->buffer_bytes <= left - extended_padded(e->arguments));
}

/* Allocates memory for fetched data. TERN_ERR_AGAIN: too much of it is in use. A call that has some
 * already gets the rest in any case: otherwise it could wait for its own memory, or two calls could
 * wait for each other's. */
static tern_status take_memory(tern_worker *worker, uint64_t bytes, bool has_some, char **memory) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    const size_t limit = worker->context->config.overflow_memory;
    if (mine->fetched_bytes > 0 && !has_some &&
        (mine->fetched_bytes > limit || bytes > limit - mine->fetched_bytes))
        return TERN_ERR_AGAIN;
    *memory = malloc(bytes);
    if (*memory == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %llu bytes of a call",
                         (unsigned long long)bytes);
    mine->fetched_bytes += bytes;
    return TERN_OK;
}

static void give_memory(tern_worker *worker, uint64_t bytes, char **memory) {
    if (*memory != NULL)
        tern_rpc_worker_of(worker)->fetched_bytes -= bytes;
    free(*memory);
    *memory = NULL;
}

/* Starts a get of memory that load/store does not reach. */
static tern_status extended_start_get(tern_worker *worker, tern_call_task *t, tern_ptr from,
                                      uint64_t bytes, char *to) {
    uint64_t offset = 0;
    tern_status status = tern_segment_check(worker->context, from, bytes, &offset);
    if (status == TERN_OK)
        status = tern_transport_to(worker->context, from.rank)
                     ->get(worker, from.rank, offset, to, bytes, &t->transfer);
    if (status != TERN_OK)
        return status;
    worker->stats.gets++;
    tern_ring_warm(worker);
    return TERN_OK;
}

/* Begins to get the rest of the record, which the origin lends. If load/store reaches the rest, the
 * rest is read where it lies. */
static tern_status extended_borrow(tern_worker *worker, tern_call_task *t) {
    const tern_loan *loan = &t->loan;
    tern_ptr data;
    tern_status status = tern_loan_check(worker, loan, loan->counter.rank, &data);
    if (status != TERN_OK)
        return status;
    t->rest = tern_internal_reach_address(worker, data, loan->bytes);
    t->stage = FETCH;
    if (t->rest != NULL)
        return TERN_OK;
    status = take_memory(worker, loan->bytes, false, &t->borrowed);
    if (status == TERN_OK)
        status = extended_start_get(worker, t, data, loan->bytes, t->borrowed);
    if (status != TERN_OK) {
        give_memory(worker, loan->bytes, &t->borrowed);
        return status;
    }
    t->rest = t->borrowed;
    t->stage = BORROWING;
    return TERN_OK;
}

static void find_rest(tern_worker *worker, tern_call_task *t) {
    t->status = extended_borrow(worker, t);
    if (t->status == TERN_ERR_AGAIN) {
        t->status = TERN_OK;
        t->stage = BORROW;
    } else if (t->status != TERN_OK) {
        t->stage = LANDED;
    }
}

/* Finds the memory for the buffer: its place, or memory of tern until the function has run.
 * TERN_ERR_AGAIN: too much memory of tern is in use. */
static tern_status extended_make_room(tern_worker *worker, tern_call_task *t, char **to) {
    const tern_extension *e = &t->e;
    if (!tern_ptr_is_null(e->gaddr)) {
        tern_ptr gaddr = e->gaddr;
        gaddr.rank = worker->context->rank;
        *to = tern_internal_reach_address(worker, gaddr, e->buffer_bytes);
        return *to != NULL ? TERN_OK
                           : tern_fail(TERN_ERR_RANGE, "no segment has %llu bytes at offset %llu",
                                       (unsigned long long)e->buffer_bytes,
                                       (unsigned long long)gaddr.offset);
    }
    tern_status status = take_memory(worker, e->buffer_bytes, t->borrowed != NULL, &t->memory);
    *to = t->memory;
    return status;
}

/* Begins to get the buffer. A buffer that load/store reaches needs no get; it is copied only if the
 * call gives it a place. TERN_ERR_AGAIN: try again later. */
static tern_status extended_fetch(tern_worker *worker, tern_call_task *t) {
    const tern_extension *e = &t->e;
    char *to = NULL, *direct = tern_internal_reach_address(worker, e->from, e->buffer_bytes);
    uint64_t offset = 0;
    t->stage = LANDED;
    t->buffer = direct;
    if (e->buffer_bytes == 0 || (direct != NULL && tern_ptr_is_null(e->gaddr)))
        return TERN_OK;
    tern_status status =
        e->buffer_bytes <= TERN_BUFFER_MAX
            ? tern_segment_check(worker->context, e->from, e->buffer_bytes, &offset)
            : tern_fail(TERN_ERR_RANGE, "a buffer of %llu bytes; TERN_BUFFER_MAX is the limit",
                        (unsigned long long)e->buffer_bytes);
    if (status == TERN_OK)
        status = extended_make_room(worker, t, &to);
    if (status != TERN_OK)
        return status;
    t->buffer = to;
    if (direct != NULL) {
        memcpy(to, direct, e->buffer_bytes);
        return TERN_OK;
    }
    status = extended_start_get(worker, t, e->from, e->buffer_bytes, to);
    if (status != TERN_OK) {
        give_memory(worker, e->buffer_bytes, &t->memory);
        return status;
    }
    t->stage = FETCHING;
    return TERN_OK;
}

static void extended_find_buffer(tern_worker *worker, tern_call_task *t, const char *arguments) {
    const tern_extension *e = &t->e;
    char *to = NULL;
    t->stage = LANDED;
    if (e->transfer == TERN_BUFFER_INSIDE) {
        t->buffer = arguments + extended_padded(e->arguments);
    } else if (e->transfer == TERN_BUFFER_PUT) {
        t->status = extended_make_room(worker, t, &to);
        t->buffer = to;
    } else if (has_chunks(e)) {
        tern_fetch *chunks = (tern_fetch *)(void *)(t + 1);
        t->status = tern_fetch_begin(worker, e->origin, arguments + extended_padded(e->arguments),
                                     e->buffer_bytes, chunks);
        if (t->status == TERN_OK) {
            t->fetch = chunks;
            t->stage = FETCHING;
        }
    } else if (e->transfer != TERN_BUFFER_NONE) {
        t->status = extended_fetch(worker, t);
    }
    if (t->status == TERN_ERR_AGAIN) {
        t->status = TERN_OK;
        t->stage = FETCH;
    }
}

static void look_at_chunks(tern_worker *worker, tern_call_task *t) {
    tern_status status = tern_fetch_advance(worker, t->fetch);
    if (status == TERN_ERR_AGAIN)
        return;
    t->status = status;
    t->stage = LANDED;
    tern_fetch_tell(worker, t->fetch, status);
}

/* Checks once whether the get from rank to memory is complete; then the task goes to stage next. */
static void extended_look(tern_worker *worker, tern_call_task *t, uint32_t rank, char **memory,
                          int next) {
    int done = 0;
    t->status = tern_transport_to(worker->context, rank)->test(worker, &t->transfer, &done);
    if (!done && t->status == TERN_OK)
        t->status = tern_glance(worker, rank);
    if (!done && t->status != TERN_OK)
        *memory = NULL; /* MPI may still write there */
    if (done || t->status != TERN_OK)
        t->stage = t->status == TERN_OK ? next : LANDED;
}

static void extended_lower(tern_worker *worker, const tern_extension *e, tern_notify_on when) {
    if (!tern_ptr_is_null(e->counter) && e->notify == when)
        tern_counter_lower(worker, e->counter, 1);
}

/* Passes a broadcast on to this rank's other workers. They find the buffer in its place; if this
 * worker could not get it, they try themselves and meet the same error. */
static bool pass_at_home(tern_worker *worker, tern_call_task *t, const char *arguments,
                         size_t rest) {
    tern_extension here = t->e;
    if (t->status == TERN_OK && !tern_ptr_is_null(here.gaddr))
        here.transfer = TERN_BUFFER_PUT;
    return here.arity == 0 || tern_broadcast_pass(worker, &here, tern_record_id(t->header),
                                                  arguments, rest, true, &t->passing);
}

/* Refuses a call whose arguments or buffer could not be fetched. */
static void extended_refuse(tern_worker *worker, const tern_call_task *t, tern_call_info *call) {
    uint32_t id = tern_record_id(t->header);
    worker->stats.calls_refused++;
    tern_log(TERN_LOG_WARN,
             "a call of rank %u has not run, since its data could not be fetched: %s",
             call->origin.rank, tern_error_detail());
    if (t->e.answer.sequence == 0)
        return;
    tern_status status =
        tern_fail(t->status, "%s has not run: its data could not be fetched: %s",
                  tern_rpc_of(worker->context)->name[id], tern_strerror(t->status));
    tern_call_reply(worker, t->e.origin, id, &t->e.answer, status, call);
}

/* Runs the function, and sends its result if the caller waits for it. */
static tern_status extended_run(tern_worker *worker, const tern_call_task *t,
                                const void *arguments) {
    const tern_extension *e = &t->e;
    uint32_t id = tern_record_id(t->header);
    const uint32_t workers = worker->context->workers;
    const bool of_thread = (e->flags & TERN_CALL_OF_THREAD) != 0;
    tern_call_info call = {
        .origin = {e->origin / workers, of_thread ? TERN_NO_WORKER : e->origin % workers}};
    const bool is_awaited = e->answer.sequence != 0;
    size_t bytes = e->arguments;
    if (t->status != TERN_OK) {
        extended_refuse(worker, t, &call);
        return t->status;
    }
    if (t->fetch != NULL) {
        tern_fetch_give(t->fetch, &call, &arguments, &bytes);
    } else {
        call.buffer = t->buffer;
        call.buffer_bytes = e->buffer_bytes;
    }
    if (__builtin_expect(worker->profile != NULL, 0))
        worker->profile->arrow = t->arrow;
    tern_status status = tern_function_run(worker, &call, id, arguments, bytes, is_awaited);
    if (is_awaited && status != TERN_ERR_AGAIN)
        tern_call_reply(worker, e->origin, id, &e->answer, status, &call);
    return status;
}

/* Gives back everything that the call has used. */
static void extended_let_go(tern_worker *worker, tern_call_task *t) {
    const tern_extension *e = &t->e;
    if (t->memory == NULL && tern_ptr_is_null(e->gaddr))
        extended_lower(worker, e, TERN_ON_SENT); /* the buffer was used where it lies */
    extended_lower(worker, e, TERN_ON_EXECUTED);
    give_memory(worker, e->buffer_bytes, &t->memory);
    give_memory(worker, t->loan.bytes, &t->borrowed);
    if (t->rest != NULL)
        tern_loan_end(worker, &t->loan);
    tern_fetch_end(worker, t->fetch);
}

/* Goes on with the call as far as it can now. Returns whether the call is over. */
static bool extended_advance(tern_worker *worker, tern_call_task *t) {
    const char *payload = t->in != NULL ? tern_ring_payload(t->in) : t->lies;
    const tern_extension *e = &t->e;
    const char *rest = payload + sizeof *e;
    const size_t bytes = tern_record_bytes(t->header) - sizeof *e;
    const bool lent = e->lent != 0;
    if ((lent || !tern_ptr_is_null(e->counter)) && !tern_notices_have_room(worker))
        return false;
    if (t->stage == PASS_ON) {
        if (e->arity > 0 && !tern_broadcast_pass(worker, e, tern_record_id(t->header), rest, bytes,
                                                 false, &t->passing))
            return false;
        t->stage = lent ? BORROW : FETCH;
    }
    if (t->stage == BORROW)
        find_rest(worker, t);
    if (t->stage == BORROWING)
        extended_look(worker, t, t->loan.counter.rank, &t->borrowed, FETCH);
    const char *arguments = lent ? t->rest : rest;
    if (t->stage == FETCH)
        extended_find_buffer(worker, t, arguments);
    if (t->stage == FETCHING && t->fetch != NULL)
        look_at_chunks(worker, t);
    else if (t->stage == FETCHING)
        extended_look(worker, t, e->from.rank, &t->memory, LANDED);
    if (t->stage < LANDED)
        return false;
    if (t->stage == LANDED) {
        if (!pass_at_home(worker, t, rest, bytes))
            return false;
        if (t->memory != NULL || !tern_ptr_is_null(e->gaddr))
            extended_lower(worker, e, TERN_ON_SENT);
        t->stage = READY;
    }
    if (extended_run(worker, t, arguments) == TERN_ERR_AGAIN)
        return false;
    extended_let_go(worker, t);
    /* This count comes after the calls that the handler made were counted as sent: quiesce relies
     * on this order. */
    tern_count(&worker->stats.calls_executed, 1);
    return true;
}

static void extended_end(tern_worker *worker, tern_call_task **link) {
    tern_call_task *t = *link;
    *link = t->next;
    if (t->counted)
        give_memory(worker, tern_record_bytes(t->header), &t->record);
    free(t->record);
    free(t);
}

/* Returns the link to the task of the record at the head of a ring, or of a message; the link holds
 * NULL if there is no such task. head: the ring or the message. */
static tern_call_task **task_of(tern_worker *worker, const void *head) {
    tern_call_task **link = &tern_rpc_worker_of(worker)->tasks;
    while (*link != NULL && (*link)->head != head)
        link = &(*link)->next;
    return link;
}

/* Prefetches the record behind this one while the chunks of this one are copied. */
static void prefetch_next(const tern_in *in, uint64_t header) {
    uint64_t next = in->position + tern_record_size(tern_record_bytes(header));
    for (uint64_t at = next; at < next + 320; at += 64)
        __builtin_prefetch(in->data + (at & in->mask));
}

/* Makes the task of a record with this payload. NULL: there is no memory, or the record is bad;
 * then *refused says why. */
static tern_call_task *extended_make(tern_worker *worker, uint64_t header, const char *payload,
                                     const char **refused) {
    size_t bytes = tern_record_bytes(header);
    tern_extension e;
    if (bytes < sizeof e || tern_record_id(header) >= tern_rpc_of(worker->context)->count) {
        *refused = "a bad length or an unknown function";
        return NULL;
    }
    tern_read_once(&e, payload, sizeof e);
    tern_loan loan = {TERN_NULL, bytes - sizeof e};
    bool good = e.lent == 0 || loan.bytes == sizeof loan;
    if (good && e.lent != 0) {
        tern_read_once(&loan, payload + sizeof e, sizeof loan);
        good = loan.counter.rank == e.origin / worker->context->workers;
    }
    if (!good || !extended_well_formed(worker, &e, loan.bytes)) {
        *refused = "a call with a bad extension";
        return NULL;
    }
    /* Not calloc, which would not reuse the memory that free has kept. */
    tern_call_task *t = malloc(sizeof *t + (has_chunks(&e) ? tern_fetch_size(e.buffer_bytes) : 0));
    if (t != NULL)
        *t = (tern_call_task){.header = header, .e = e, .loan = loan, .lies = payload};
    return t;
}

/* Begins the task of the record at the head of in, at *link. False: there is no memory, or the
 * record is refused. */
static bool extended_begin(tern_worker *worker, tern_in *in, tern_call_task **link) {
    uint64_t header = tern_ring_peek(worker, in);
    const char *refused = NULL;
    tern_call_task *t = NULL;
    if (!tern_ring_check(in, header))
        refused = "a bad length or an unknown function";
    else
        t = extended_make(worker, header, tern_ring_payload(in), &refused);
    if (refused != NULL)
        tern_ring_refuse(worker, in, header, refused);
    if (t == NULL)
        return false;
    t->head = t->in = in;
    if (__builtin_expect(worker->profile != NULL, 0))
        t->arrow = tern_call_arrow_extended(worker, in);
    if (has_chunks(&t->e))
        prefetch_next(in, header);
    *link = t;
    return true;
}

/* Copies the record, so that the calls behind it in the ring or among the messages need not wait
 * for this call. Returns false if there is no memory for the copy. */
static bool set_aside(tern_call_task *t) {
    size_t bytes = tern_record_bytes(t->header);
    if (t->record == NULL)
        t->record = malloc(bytes);
    if (t->record == NULL)
        return false;
    memcpy(t->record, t->in != NULL ? tern_ring_payload(t->in) : t->lies, bytes);
    t->lies = t->record;
    t->head = t->in = NULL;
    return true;
}

/* Goes on with the call at the head of in as far as it can. Returns whether the ring has passed the
 * call. */
static bool call_one(tern_worker *worker, tern_in *in) {
    tern_call_task **link = task_of(worker, in), *t;
    if (*link == NULL && !extended_begin(worker, in, link))
        return false;
    t = *link;
    uint64_t header = t->header;
    if (extended_advance(worker, t))
        extended_end(worker, link);
    else if (!is_aside(&t->e) || t->stage != FETCHING || !set_aside(t))
        return false;
    tern_ring_advance(in, header);
    return true;
}

/* Broadcasts are not ordered with other calls. While its children have no room a broadcast lets the
 * messages behind it run, as long as there is memory for copies. Otherwise two workers that pass
 * broadcasts on to each other could wait for each other's credit for ever. */
static bool set_broadcast_aside(tern_worker *worker, tern_call_task *t) {
    if (t->e.arity == 0 || (t->stage != PASS_ON && t->stage != LANDED))
        return false;
    if (take_memory(worker, tern_record_bytes(t->header), false, &t->record) != TERN_OK) {
        tern_error_clear();
        return false;
    }
    t->counted = true;
    return set_aside(t);
}

bool tern_call_extended_message(tern_worker *worker, const tern_inbox_message *message) {
    tern_call_task **link = task_of(worker, message);
    if (*link == NULL) {
        const char *refused = NULL;
        tern_call_task *t = extended_make(worker, (uint64_t)message->bytes << 32 | message->what,
                                          message->payload, &refused);
        if (refused != NULL) {
            worker->stats.records_malformed++;
            tern_log(TERN_LOG_ERROR, "a message from rank %u is %s; it is dropped",
                     message->origin.rank, refused);
            return true; /* no worker has counted it as a sent call */
        }
        if (t == NULL)
            return false;
        t->head = message;
        if (__builtin_expect(worker->profile != NULL, 0))
            t->arrow = tern_inbox_arrow(worker->context, message, worker->id);
        *link = t;
    }
    tern_call_task *t = *link;
    if (extended_advance(worker, t)) {
        extended_end(worker, link);
        return true;
    }
    return (is_aside(&t->e) && t->stage == FETCHING && set_aside(t)) ||
           set_broadcast_aside(worker, t);
}

/* Consumes up to CALLS_A_ROUND of the extended calls that have come, since a round of progress
 * costs as much as a call. */
size_t tern_call_extended(tern_worker *worker, tern_in *in) {
    size_t handled = 0;
    uint64_t header;
    do {
        if (!call_one(worker, in))
            break;
        handled++;
        header = tern_ring_peek(worker, in);
    } while (header != 0 && handled < CALLS_A_ROUND &&
             tern_record_kind(header) == TERN_RECORD_CALL_EXTENDED);
    return handled;
}

size_t tern_tasks_advance(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    tern_call_task **link = &mine->tasks;
    size_t over = 0;
    if (mine->spare != NULL && !mine->spare_used)
        tern_fetch_spare_drop(worker);
    mine->spare_used = false;
    while (*link != NULL) {
        if ((*link)->head == NULL && extended_advance(worker, *link)) {
            extended_end(worker, link);
            over++;
        } else {
            link = &(*link)->next;
        }
    }
    return over;
}

bool tern_tasks_pass_on(const tern_worker *worker) {
    for (const tern_call_task *t = tern_rpc_worker_of(worker)->tasks; t != NULL; t = t->next)
        if (t->e.arity > 0 && (t->stage == PASS_ON || t->stage == LANDED))
            return true;
    return false;
}

/* Does not free memory that is being fetched, since MPI may still write to it. */
void tern_tasks_discard(tern_worker *worker) {
    tern_call_task **first = &tern_rpc_worker_of(worker)->tasks;
    while (*first != NULL) {
        if ((*first)->stage != FETCHING)
            free((*first)->memory);
        if ((*first)->stage != BORROWING)
            free((*first)->borrowed);
        tern_fetch_end(worker, (*first)->fetch);
        extended_end(worker, first);
    }
    tern_fetch_spare_drop(worker);
}
