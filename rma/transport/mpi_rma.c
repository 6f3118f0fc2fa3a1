#include "rma/transport/mpi_rma.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "rma/message/message.h"
#include "rma/reply/reply.h"
#include "rma/ring/frame.h"
#include "rma/ring/remote.h"
#include "rma/transport/posts.h"
#include "rma/transport/remote.h"
#include "rma/memory/state.h"
#include "rma/transport/transport.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"
#include "src/progress/wait.h"

/*
 * rma serves ranks of different nodes by MPI's one-sided operations, on one window over the
 * segments. Gets, puts and fetching atomics return requests, which are tested; the MPI lock is held
 * only during each test. CAS and flush have no such form in MPI-3: MPI_Win_flush and
 * MPI_Win_flush_local hold the lock until they are done. Usually they take no time: before such a
 * call, tern has waited for a request behind the operations (rma_atomic, window_echo), so hardly
 * anything is left to flush. Three cases have no such request: a CAS and a settle where MPI needs
 * no help of its target, and a flush behind puts alone. These hang, with the lock held, if the
 * target dies meanwhile.
 */

#define PIECE ((size_t)1 << 30)

/* TERN_MPI for a call that may never end if rank dies meanwhile. */
#define TERN_MPI_TOWARDS(worker, rank, call)                                                       \
    __extension__({                                                                                \
        tern_mpi_lock();                                                                           \
        tern_stuck_enter(&(worker)->context->peers, rank);                                         \
        int tern_mpi_code = (call);                                                                \
        tern_stuck_leave(&(worker)->context->peers);                                               \
        tern_mpi_unlock();                                                                         \
        tern_mpi_code == MPI_SUCCESS                                                               \
            ? TERN_OK                                                                              \
            : tern_lost_fail((worker)->context, rank, tern_mpi_code, #call);                       \
    })

static MPI_Win win_of(const tern_worker *worker) {
    return tern_rma_of(worker->context)->window->win;
}

/* How MPI names memory of another rank: a window and a displacement in it. */
typedef struct spot {
    MPI_Win win;
    MPI_Aint at;
} spot;

static spot spot_of(const tern_worker *worker, uint32_t rank, uint64_t offset) {
    if (!tern_offset_in_region(offset))
        return (spot){win_of(worker), (MPI_Aint)offset};
    return (spot){tern_rma_of(worker->context)->window->regions,
                  (MPI_Aint)tern_rkey_address(worker, rank, offset)};
}

bool tern_window_by_messages(const tern_worker *worker, uint64_t offset) {
    const tern_window *window = tern_rma_of(worker->context)->window;
    return tern_offset_in_region(offset) && window != NULL && !tern_window_has_regions(window);
}

/* A flush of the window does not cover messages, so this put waits until its data has arrived. */
static tern_status put_by_messages(tern_worker *worker, uint32_t rank, uint64_t offset,
                                   const void *from, size_t bytes) {
    tern_status status = tern_transport_p2p.put(worker, rank, offset, from, bytes, NULL);
    tern_message message = {.kind = TERN_MESSAGE_FLUSH, .origin = worker->id};
    char nothing = 0;
    return status == TERN_OK ? tern_message_question(worker, rank, &message, &nothing, 0) : status;
}

/* Waits for a request of this worker; makes progress and serves messages meanwhile. */
static tern_status window_complete(tern_worker *worker, uint32_t rank, MPI_Request *request) {
    tern_wait_state wait = TERN_WAIT_IN("a transfer by MPI");
    for (;;) {
        int done = 0;
        tern_status status =
            TERN_MPI_TOWARDS(worker, rank, PMPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (status != TERN_OK || done)
            return status;
        status = tern_wait_round(worker->context, &wait,
                                 tern_progress_round(worker) + tern_message_poll(worker), rank);
        if (status != TERN_OK)
            return status;
    }
}

/* The memory that an atomic of MPI reads and writes: operand, expected word, old word, and the word
 * that the load behind a CAS returns. It is not on a stack, since after a death MPI may still write
 * there. */
typedef struct words {
    uint64_t wide[4];
    uint32_t narrow[4];
} words;

/* Takes the worker's spare words, or allocates some: while a worker waits for an atomic, its
 * progress may begin another one. */
static words *take_words(const tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    words *w = mine->words;
    mine->words = NULL;
    return w != NULL ? w : malloc(sizeof *w);
}

static void give_words(const tern_worker *worker, words *w) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->words == NULL)
        mine->words = w;
    else
        free(w);
}

/* Refuses operations on a rank that is known to be dead, or to which MPI has lost its connection:
 * Open MPI's osc/rdma tries for ever to reach a process that is gone, and MPICH's flush never
 * returns. */
static tern_status may_reach(const tern_worker *worker, uint32_t rank) {
    return tern_peer_is_dead(&worker->context->peers, rank)
               ? tern_peer_fail(rank)
               : tern_lost_check(worker->context, rank);
}

static tern_status window_start(tern_worker *worker, bool put, uint32_t rank, uint64_t offset,
                                void *local, size_t bytes, MPI_Request *request) {
    spot s = spot_of(worker, rank, offset);
    tern_status status = may_reach(worker, rank);
    if (status != TERN_OK)
        return status;
    return put ? TERN_MPI_TOWARDS(worker, rank,
                                  PMPI_Rput(local, (int)bytes, MPI_BYTE, (int)rank, s.at,
                                            (int)bytes, MPI_BYTE, s.win, request))
               : TERN_MPI_TOWARDS(worker, rank,
                                  PMPI_Rget(local, (int)bytes, MPI_BYTE, (int)rank, s.at,
                                            (int)bytes, MPI_BYTE, s.win, request));
}

/* MPI counts in int, so a transfer is made in pieces of 1 GiB. This waits for all but the last, and
 * for that, too, if transfer is NULL. */
static tern_status window_transfer(tern_worker *worker, bool put, uint32_t rank, uint64_t offset,
                                   char *local, size_t bytes, tern_transfer *transfer) {
    MPI_Request mpi;
    tern_status status;
    for (; bytes > PIECE; bytes -= PIECE, offset += PIECE, local += PIECE) {
        status = window_start(worker, put, rank, offset, local, PIECE, &mpi);
        if (status == TERN_OK)
            status = window_complete(worker, rank, &mpi);
        if (status != TERN_OK)
            return status;
    }
    status = window_start(worker, put, rank, offset, local, bytes, &mpi);
    if (status != TERN_OK)
        return status;
    if (transfer == NULL)
        return window_complete(worker, rank, &mpi);
    *transfer = (tern_transfer){.rank = rank, .under_way = true, .mpi = mpi};
    return TERN_OK;
}

/* Whether the hook of a test takes the put, to keep it back until a flush. It takes only puts to
 * segments, which need no rkey. */
static bool is_held(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                    size_t bytes, tern_transfer *transfer) {
    const tern_put_hook *hook = tern_rma_of(worker->context)->window->hook;
    if (hook == NULL || hook->hold == NULL || tern_offset_in_region(offset))
        return false;
    tern_mpi_lock();
    bool held = hook->hold(worker, rank, offset, from, bytes);
    tern_mpi_unlock();
    if (held && transfer != NULL)
        transfer->under_way = false;
    return held;
}

static tern_status rma_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                           size_t bytes, tern_transfer *transfer) {
    if (tern_window_by_messages(worker, offset))
        return put_by_messages(worker, rank, offset, from, bytes);
    tern_rkey *rkey = NULL;
    tern_status status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    if (status != TERN_OK)
        return status;
    tern_dirty_mark(tern_rma_worker_of(worker), rank, TERN_DIRTY_PUTS);
    if (is_held(worker, rank, offset, from, bytes, transfer))
        return TERN_OK;
    status = window_transfer(worker, true, rank, offset, (char *)(uintptr_t)from, bytes, transfer);
    tern_remote_key_release(worker, rkey, true);
    return status;
}

static tern_status rma_get(tern_worker *worker, uint32_t rank, uint64_t offset, void *to,
                           size_t bytes, tern_transfer *transfer) {
    if (tern_window_by_messages(worker, offset))
        return tern_transport_p2p.get(worker, rank, offset, to, bytes, transfer);
    tern_rkey *rkey = NULL;
    tern_status status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    if (status == TERN_OK)
        status = window_transfer(worker, false, rank, offset, to, bytes, transfer);
    if (status == TERN_OK && transfer != NULL)
        transfer->rkey = rkey;
    else
        tern_remote_key_release(worker, rkey, false);
    return status;
}

/* A CAS returns no request that could be tested. But MPI keeps atomics on one word in order, so
 * where MPI is emulated this waits for a load behind the CAS instead; once that is back, hardly
 * anything is left to flush. */
static tern_status rma_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                              tern_atomic_op op, unsigned width, uint64_t operand,
                              uint64_t expected, uint64_t *old) {
    const tern_window *window = tern_rma_of(worker->context)->window;
    if (!window->mpi_atomics)
        return tern_message_atomic(worker, rank, offset, op, width, operand, expected, old);
    const MPI_Op ops[] = {[TERN_ATOMIC_ADD] = MPI_SUM,       [TERN_ATOMIC_AND] = MPI_BAND,
                          [TERN_ATOMIC_OR] = MPI_BOR,        [TERN_ATOMIC_XOR] = MPI_BXOR,
                          [TERN_ATOMIC_SWAP] = MPI_REPLACE,  [TERN_ATOMIC_LOAD] = MPI_NO_OP,
                          [TERN_ATOMIC_STORE] = MPI_REPLACE, [TERN_ATOMIC_CAS] = MPI_NO_OP};
    bool is_wide = width == 8, is_cas = op == TERN_ATOMIC_CAS;
    MPI_Datatype type = is_wide ? MPI_UINT64_T : MPI_UINT32_T;
    MPI_Request mpi;
    tern_status status = may_reach(worker, rank);
    words *w = status == TERN_OK ? take_words(worker) : NULL;
    if (w == NULL)
        return status == TERN_OK ? tern_fail(TERN_ERR_MEMORY, "no memory for an atomic") : status;
    *w = (words){{operand, expected}, {(uint32_t)operand, (uint32_t)expected}};
    void *word[4];
    for (int i = 0; i < 4; i++)
        word[i] = is_wide ? (void *)&w->wide[i] : (void *)&w->narrow[i];
    if (is_cas)
        status = TERN_MPI_TOWARDS(worker, rank,
                                  PMPI_Compare_and_swap(word[0], word[1], word[2], type, (int)rank,
                                                        (MPI_Aint)offset, window->win));
    bool begun = is_cas && status == TERN_OK;
    if (status == TERN_OK && (!is_cas || window->emulated)) {
        status = TERN_MPI_TOWARDS(worker, rank,
                                  PMPI_Rget_accumulate(word[0], 1, type, word[is_cas ? 3 : 2], 1,
                                                       type, (int)rank, (MPI_Aint)offset, 1, type,
                                                       ops[op], window->win, &mpi));
        begun = begun || status == TERN_OK;
        if (status == TERN_OK)
            status = window_complete(worker, rank, &mpi);
    }
    if (status == TERN_OK && is_cas)
        status = TERN_MPI_TOWARDS(worker, rank, PMPI_Win_flush_local((int)rank, window->win));
    if (status == TERN_OK)
        *old = is_wide ? w->wide[2] : w->narrow[2];
    if (status == TERN_OK || !begun)
        give_words(worker, w); /* else MPI may still write to them */
    return status;
}

void tern_window_set_hook(tern_window *window, const tern_put_hook *hook) { window->hook = hook; }

int tern_window_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                    uint64_t bytes) {
    spot s = spot_of(worker, rank, offset);
    return PMPI_Put(from, (int)bytes, MPI_BYTE, (int)rank, s.at, (int)bytes, MPI_BYTE, s.win);
}

static int put_bytes(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                     uint64_t bytes) {
    const tern_put_hook *hook = tern_rma_of(worker->context)->window->hook;
    if (hook != NULL && hook->put(worker, rank, offset, from, bytes))
        return MPI_SUCCESS;
    return tern_window_put(worker, rank, offset, from, bytes);
}

/* Flushes the window, and that of regions if needed. The lock is held. */
static int flush_win(tern_worker *worker, uint32_t rank) {
    const tern_put_hook *hook = tern_rma_of(worker->context)->window->hook;
    if (hook != NULL)
        hook->flush(worker, rank);
    int code = PMPI_Win_flush((int)rank, win_of(worker));
    if (code == MPI_SUCCESS && tern_rkeys_unflushed(worker->context, rank)) {
        code = PMPI_Win_flush((int)rank, tern_rma_of(worker->context)->window->regions);
        if (code == MPI_SUCCESS)
            tern_rkeys_flushed(worker->context, rank);
    }
    return code;
}

/* Waits for a get behind the operations that a flush will cover; once it is back, hardly anything
 * is left to flush. Without it, MPI's flush to a rank that dies may never end, and MPICH's flush
 * does not give up the processor, which the target may need. Like a flush, this serves no messages.
 * A flush behind puts alone does without it: to the time of one put it would add half (MPICH) or as
 * much again (Open MPI). */
static tern_status window_echo(tern_worker *worker, uint32_t rank) {
    words *w = take_words(worker);
    if (w == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a flush");
    MPI_Request mpi;
    tern_wait_state wait = TERN_WAIT_IN("a flush by MPI");
    tern_status status = window_start(worker, false, rank, 0, w->wide, sizeof *w->wide, &mpi);
    bool begun = status == TERN_OK;
    for (int done = 0; status == TERN_OK && !done;) {
        status = TERN_MPI_TOWARDS(worker, rank, PMPI_Test(&mpi, &done, MPI_STATUS_IGNORE));
        if (status == TERN_OK && !done)
            status = tern_wait_step(worker->context, &wait, rank);
    }
    if (status == TERN_OK || !begun)
        give_words(worker, w); /* else MPI may still write there */
    return status;
}

static tern_status rma_flush(tern_worker *worker, uint32_t rank) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->dirty[rank].what == 0)
        return TERN_OK;
    tern_status status = may_reach(worker, rank);
    if (status != TERN_OK)
        return status;
    worker->stats.flushes++;
    if ((mine->dirty[rank].what & TERN_DIRTY_RECORDS) != 0)
        status = window_echo(worker, rank);
    if (status == TERN_OK)
        status = TERN_MPI_TOWARDS(worker, rank, flush_win(worker, rank));
    if (status == TERN_OK) {
        tern_dirty_clear(mine, rank);
        tern_posts_flushed(&mine->posts[rank]);
    }
    return status;
}

static int settle_win(tern_worker *worker, uint32_t rank) {
    const tern_put_hook *hook = tern_rma_of(worker->context)->window->hook;
    if (hook != NULL)
        hook->flush(worker, rank);
    return PMPI_Win_flush_local((int)rank, win_of(worker));
}

/* Settles posts to segments. For posts to regions only flushes wait. */
static tern_status rma_settle(tern_worker *worker, uint32_t rank) {
    tern_status status = may_reach(worker, rank);
    if (status != TERN_OK)
        return status;
    worker->stats.settles++;
    if (tern_rma_of(worker->context)->window->emulated)
        status = window_echo(worker, rank);
    if (status == TERN_OK)
        status = TERN_MPI_TOWARDS(worker, rank, settle_win(worker, rank));
    if (status == TERN_OK)
        tern_posts_flushed(&tern_rma_worker_of(worker)->posts[rank]);
    return status;
}

/* Posts as much as one operation of MPI takes: 1 GiB. */
static tern_status rma_post(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                            uint64_t bytes, bool asks, uint64_t *posted) {
    if (tern_window_by_messages(worker, offset))
        return tern_transport_p2p.post(worker, rank, offset, from, bytes, asks, posted);
    uint64_t piece = bytes < PIECE ? bytes : PIECE;
    tern_rkey *rkey = NULL;
    tern_status status = may_reach(worker, rank);
    if (status == TERN_OK)
        status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    if (status != TERN_OK)
        return status;
    status = TERN_MPI_TOWARDS(worker, rank, put_bytes(worker, rank, offset, from, piece));
    tern_remote_key_release(worker, rkey, true);
    if (status != TERN_OK)
        return status;
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_dirty_mark(mine, rank, TERN_DIRTY_PUTS);
    mine->posts[rank].open++;
    *posted = piece;
    return TERN_OK;
}

static tern_status flush_behind(tern_worker *worker, uint32_t rank) {
    tern_status status = window_echo(worker, rank);
    return status == TERN_OK ? TERN_MPI_TOWARDS(worker, rank, flush_win(worker, rank)) : status;
}

/* For TERN_RMA_COMMIT=flush: flushes the frame, then tells the target up to which position frames
 * have arrived. */
static tern_status put_published(tern_worker *worker, tern_out *out, uint32_t rank) {
    uint64_t cell = tern_rma_of(worker->context)->layout.rings +
                    out->ring * sizeof(tern_ring_header) + offsetof(tern_ring_header, published);
    tern_status status = flush_behind(worker, rank);
    if (status != TERN_OK)
        return status;
    out->published[0] = out->lane.write;
    out->published[1] = ~out->lane.write;
    status = TERN_MPI_TOWARDS(worker, rank,
                              put_bytes(worker, rank, cell, out->published, sizeof out->published));
    return status == TERN_OK ? flush_behind(worker, rank) : status;
}

/* Puts the open frame by one put. With TERN_RMA_COMMIT=flush further steps make it visible. */
static tern_status rma_publish(tern_worker *worker, tern_out *out) {
    tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    uint32_t rank = tern_rank_of(context, out->target);
    tern_status status = may_reach(worker, rank);
    if (status != TERN_OK)
        return status;
    uint64_t bytes = tern_frame_seal(worker, out);
    uint64_t at = out->frame & out->lane.mask;
    uint64_t ring = rma->layout.arena + out->ring * rma->layout.ring_bytes;
    status = TERN_MPI_TOWARDS(worker, rank,
                              put_bytes(worker, rank, ring + at, out->lane.data + at, bytes));
    if (status == TERN_OK && context->config.rma_commit == TERN_RMA_COMMIT_FLUSH)
        status = put_published(worker, out, rank);
    if (status != TERN_OK)
        return status;
    tern_dirty_mark(tern_rma_worker_of(worker), rank, TERN_DIRTY_RECORDS);
    out->lane.write += out->frame_skip;
    out->frame_open = false;
    return TERN_OK;
}

/* A buffer that MPI no longer needs for its last reply, or NULL. The lock is held. */
static tern_window_stage *free_stage(const tern_context *context, tern_window *window) {
    for (uint32_t i = 0; i < TERN_WINDOW_STAGES; i++) {
        int done = 1;
        tern_window_stage *stage = &window->stage[i];
        if (stage->mpi != MPI_REQUEST_NULL &&
            PMPI_Test(&stage->mpi, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            tern_lost_note(context, stage->rank);
        if (done)
            return stage;
    }
    return NULL;
}

static tern_status rma_reply(tern_worker *worker, uint32_t target,
                             const tern_return_address *address, const tern_cell *image) {
    tern_context *context = worker->context;
    tern_window *window = tern_rma_of(context)->window;
    uint32_t rank = tern_rank_of(context, target);
    uint64_t offset = tern_reply_offset(context, target, address);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = may_reach(worker, rank);
    while (status == TERN_OK) {
        int code = MPI_SUCCESS;
        tern_mpi_lock();
        tern_window_stage *free = free_stage(context, window);
        if (free != NULL) {
            int bytes = (int)(offsetof(tern_cell, payload) + image->bytes);
            memcpy(&free->image, image, (size_t)bytes);
            /* R5: tern_reply_send */
            atomic_store_explicit(&free->image.sequence,
                                  atomic_load_explicit(&image->sequence, memory_order_relaxed) |
                                      TERN_REPLY_CHECKED,
                                  memory_order_relaxed);
            free->image.check = tern_reply_checksum(context, &free->image);
            free->rank = rank;
            tern_stuck_enter(&context->peers, rank);
            code = PMPI_Rput(&free->image, bytes, MPI_BYTE, (int)rank, (MPI_Aint)offset, bytes,
                             MPI_BYTE, window->win, &free->mpi);
            tern_stuck_leave(&context->peers);
        }
        tern_mpi_unlock();
        if (code != MPI_SUCCESS)
            return tern_lost_fail(context, rank, code, "MPI_Rput");
        if (free != NULL)
            return TERN_OK;
        tern_message_poll(worker);
        status = tern_wait_step(context, &wait, rank);
    }
    return status;
}

const tern_transport_ops tern_transport_rma = {
    .name = TERN_RMA,
    .reads_own_frames = true,
    .puts_outlive = true,
    .put = rma_put,
    .post = rma_post,
    .get = rma_get,
    .atomic = rma_atomic,
    .flush = rma_flush,
    .settle = rma_settle,
    .test = tern_remote_transfer_test,
    .open = tern_ring_open_remote,
    .publish = rma_publish,
    .consumed = tern_ring_consumed_remote,
    .report = tern_ring_report_remote,
    .reply = rma_reply,
    .poll = tern_message_poll,
};
