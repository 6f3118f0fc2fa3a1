#ifndef TERN_RENDEZVOUS_H
#define TERN_RENDEZVOUS_H

/*
 * Rendezvous (Photon's, paper 001 section III): a transfer whose handshake is separate from the
 * movement of the data. One side, the poster, offers a buffer of its segment to a peer under a tag:
 * to be filled (tern_post_receive) or to be read (tern_post_send). The peer takes the descriptor of
 * the buffer (tern_descriptor_wait), moves the data at any time with any put or get, and then calls
 * tern_rendezvous_finish. The poster waits for that (tern_wait, tern/request.h).
 *
 *     poster                                  peer
 *     tern_post_receive(.., tag, buffer) -->  tern_descriptor_wait(.., tag, &d)
 *                                             tern_put(worker, d.place, data, bytes)
 *     tern_wait(worker, &request)        <--  tern_rendezvous_finish(worker, &d, bytes)
 *
 * What is complete at the end. When the poster's tern_wait returns, every plain put that the
 * finishing worker made to the poster's rank before tern_rendezvous_finish is complete. Before it
 * calls that function the finishing worker must have waited for requests of tern_put_start and
 * tern_get_start, and probed the local events of notified operations. Data that a notified put
 * carried in its record (packed mode, tern/notify.h) arrives only when the poster's probe returns
 * its remote event. After tern_wait the buffer is the poster's again.
 *
 * Order. A peer takes descriptors of one poster, tag and kind in the order in which they were
 * posted; with TERN_ANY_WORKER those of all posters in the order in which they arrived. It may
 * finish them in any order. Posts are not ordered with calls and notified transfers of the same
 * pair.
 *
 * Limits. A worker may have TERN_POSTS_MAX posts to each worker that it does not know to be
 * complete; one more returns TERN_ERR_AGAIN. This bounds the memory of a peer that takes no
 * descriptors: 80 bytes for each post, allocated when it arrives. No post is lost. Posts do not
 * appear in probes and do not wait behind events: they travel among the calls, and tern_progress
 * receives them.
 *
 * Functions that do not wait may be used in handlers. One thread at a time uses a worker. A
 * handshake costs one record, and memory only if it has to be kept. Over rma tern_rendezvous_finish
 * needs a flush, whose duration MPI does not bound (tern/transfer.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/memory.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most posts of a worker to another that may be open at once. */
#define TERN_POSTS_MAX 64u

/* As the source of a descriptor: any worker, the first whose post has arrived. */
#ifdef __cplusplus
#define TERN_ANY_WORKER (tern_worker_id{UINT32_MAX, UINT32_MAX})
#else
#define TERN_ANY_WORKER ((tern_worker_id){UINT32_MAX, UINT32_MAX})
#endif

/* Kinds of descriptors. `which` is one of them, or both. */
#define TERN_POSTED_RECEIVE 1u /* the peer puts into the buffer */
#define TERN_POSTED_SEND 2u    /* the peer gets from the buffer */
#define TERN_POSTED_ANY 3u

/* Describes a peer's buffer, until tern_rendezvous_finish. Plain data of the caller. */
typedef struct tern_descriptor {
    tern_worker_id peer; /* the poster */
    uint64_t tag;
    tern_ptr place; /* of the first byte */
    uint64_t bytes;
    uint32_t which; /* TERN_POSTED_RECEIVE or _SEND */
    uint32_t unused;
    uint64_t id; /* tern's */
} tern_descriptor;

/* Offers [buffer, buffer + bytes) of this rank's segment, or of memory that it has registered, to
 * peer, which fills it. Returns at once; it sends the descriptor now, or leaves that to progress if
 * the ring is full. The request is complete when the peer has finished; tern_request_result is then
 * the number of bytes that the peer says it has moved, at most bytes. The program must leave the
 * buffer alone until then. bytes 0: a handshake without data; buffer is ignored. Any tag.
 *
 * TERN_ERR_ARGUMENT: NULL, no such worker, memory of another rank, or the request is under way.
 * TERN_ERR_RANGE: out of the segment, or not registered. TERN_ERR_AGAIN: TERN_POSTS_MAX posts to
 * peer are not known to be complete: wait for one. TERN_ERR_PEER: peer has died. TERN_ERR_MEMORY.
 * After any error nothing was done. */
TERN_NODISCARD TERN_API tern_status tern_post_receive(tern_worker *worker, tern_worker_id peer,
                                                      uint64_t tag, tern_ptr buffer, size_t bytes,
                                                      tern_request *request);

/* Offers a buffer as tern_post_receive does, but for peer to read. Its content must be there, and
 * must not change until the request is complete. */
TERN_NODISCARD TERN_API tern_status tern_post_send(tern_worker *worker, tern_worker_id peer,
                                                   uint64_t tag, tern_ptr buffer, size_t bytes,
                                                   tern_request *request);

/* Takes the first descriptor that source, or any worker (TERN_ANY_WORKER), has posted to this
 * worker under tag, of the kinds in `which`. [out] descriptor: the caller's from then on. If no
 * post has arrived it makes progress. Never waits.
 *
 * TERN_ERR_EMPTY: no such post has arrived (tern_error_detail is not set). TERN_ERR_ARGUMENT: NULL,
 * no such worker, or a bad `which`. TERN_ERR_PEER: no such post has arrived, and source has died.
 */
TERN_NODISCARD TERN_API tern_status tern_descriptor_test(tern_worker *worker, tern_worker_id source,
                                                         unsigned which, uint64_t tag,
                                                         tern_descriptor *descriptor);

/* Waits for a post, making progress, and takes it as tern_descriptor_test does. TERN_ERR_PEER: with
 * TERN_ANY_WORKER, also if any rank has died and no such post has arrived. TERN_ERR_STATE: in a
 * handler. */
TERN_NODISCARD TERN_API tern_status tern_descriptor_wait(tern_worker *worker, tern_worker_id source,
                                                         unsigned which, uint64_t tag,
                                                         tern_descriptor *descriptor);

/* Ends the rendezvous: tells the poster that bytes bytes have been moved, after everything that
 * this worker has put to the poster's rank before. On success descriptor is zeroed. Returns at
 * once, except that it flushes over rma. If the ring is full, and in handlers over rma, this
 * worker's progress does the rest.
 *
 * TERN_ERR_RANGE: more bytes than were posted. The rendezvous stays open: finish it with the right
 * number, or with 0 if the buffer is too small. TERN_ERR_ARGUMENT: NULL, or descriptor holds no
 * open rendezvous. TERN_ERR_PEER: the poster has died; TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_rendezvous_finish(tern_worker *worker,
                                                           tern_descriptor *descriptor,
                                                           uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
