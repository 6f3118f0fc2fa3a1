#ifndef TERN_RENDEZVOUS_H
#define TERN_RENDEZVOUS_H

/*
 * Rendezvous (Photon's, paper 001 section III): a transfer whose handshake is apart from
 * the movement of the data. One side, the poster, offers a buffer of its segment to a peer under a
 * tag: to be filled (tern_post_receive) or to be read (tern_post_send). The other side takes the
 * descriptor of the buffer (tern_descriptor_wait), moves the data with any put or get when it
 * likes, and says with tern_rendezvous_finish that it is done. The poster waits for that
 * (tern_wait, tern/request.h).
 *
 *     poster                                  peer
 *     tern_post_receive(.., tag, buffer) -->  tern_descriptor_wait(.., tag, &d)
 *                                             tern_put(worker, d.place, data, bytes)
 *     tern_wait(worker, &request)        <--  tern_rendezvous_finish(worker, &d, bytes)
 *
 * What the end means. Before tern_wait returns, every plain put of the finishing worker to the
 * poster's rank that it made before tern_rendezvous_finish is complete; requests of
 * tern_put_start and tern_get_start must have been waited for, and local events of notified ones
 * been returned. Data that a notified put carried in its record (packed mode, tern/notify.h) is at
 * its place when its remote event has been returned, not before. After it the buffer is the
 * poster's again.
 *
 * Order. Descriptors of one poster, tag and kind are taken in the order in which they were posted;
 * with TERN_ANY_WORKER those of all posters in the order in which they came here. Finishing may be
 * in any order. Posts are not ordered with calls and notified transfers of the same pair.
 *
 * Limits. A worker has at most TERN_POSTS_MAX posts to each worker that it does not know to be
 * complete; another one is TERN_ERR_AGAIN. So what lies at a peer that takes no descriptors is
 * bounded, 80 bytes for each, allocated when it comes. Nothing is lost, and nothing of it appears
 * in probes or waits behind events: handshakes travel among the calls and tern_progress receives
 * them.
 *
 * The functions that do not wait may be used in handlers. A worker is used by one thread at a time.
 * A handshake costs one record, and no memory until it has to be kept. Over rma the end comes after
 * a flush, which MPI does not bound (tern/transfer.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/memory.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Posts of a worker to another that may be open at once. */
#define TERN_POSTS_MAX 64u

/* As the source of a descriptor: the worker that comes first. */
#ifdef __cplusplus
#define TERN_ANY_WORKER (tern_worker_id{UINT32_MAX, UINT32_MAX})
#else
#define TERN_ANY_WORKER ((tern_worker_id){UINT32_MAX, UINT32_MAX})
#endif

/* Kinds of descriptors; as `which` either, or both. */
#define TERN_POSTED_RECEIVE 1u /* to be put into */
#define TERN_POSTED_SEND 2u    /* to be got from */
#define TERN_POSTED_ANY 3u

/* A peer's buffer, until tern_rendezvous_finish. Plain data of the caller's. */
typedef struct tern_descriptor {
    tern_worker_id peer; /* who posted it */
    uint64_t tag;
    tern_ptr place; /* of the first byte */
    uint64_t bytes;
    uint32_t which; /* TERN_POSTED_RECEIVE or _SEND */
    uint32_t unused;
    uint64_t id; /* tern's */
} tern_descriptor;

/* Offers [buffer, buffer + bytes) of this rank's segment, or of memory that it has registered, to
 * peer, to be filled. Returns at once; the descriptor is sent now, or by later progress if its way
 * is not free. The request is complete when the peer has finished, and tern_request_result is how
 * many bytes the peer says that it has moved, at most those posted. The buffer must stay as it is
 * until then. bytes 0: a handshake alone; buffer is not looked at. Any tag.
 *
 * TERN_ERR_ARGUMENT: NULL, no such worker, memory of another rank, or the request is under way.
 * TERN_ERR_RANGE: out of the segment, or not registered. TERN_ERR_AGAIN: TERN_POSTS_MAX posts to
 * peer are not known to be complete; waiting for one lifts it. TERN_ERR_PEER: peer has died.
 * TERN_ERR_MEMORY. With any of them nothing was done. */
TERN_NODISCARD TERN_API tern_status tern_post_receive(tern_worker *worker, tern_worker_id peer,
                                                      uint64_t tag, tern_ptr buffer, size_t bytes,
                                                      tern_request *request);

/* The same, to be read: the content must be there, and stay until the request is complete. */
TERN_NODISCARD TERN_API tern_status tern_post_send(tern_worker *worker, tern_worker_id peer,
                                                   uint64_t tag, tern_ptr buffer, size_t bytes,
                                                   tern_request *request);

/* [out] descriptor: the first that source, or any worker (TERN_ANY_WORKER), has posted to this
 * worker under tag, of the kinds in `which`. It is the caller's from then on. Makes progress if
 * there is none. Never waits.
 *
 * TERN_ERR_EMPTY: there is none (tern_error_detail is not set). TERN_ERR_ARGUMENT: NULL, no such
 * worker, or a bad `which`. TERN_ERR_PEER: there is none, and source has died. */
TERN_NODISCARD TERN_API tern_status tern_descriptor_test(tern_worker *worker, tern_worker_id source,
                                                         unsigned which, uint64_t tag,
                                                         tern_descriptor *descriptor);

/* The same, waiting with progress. TERN_ERR_PEER: of TERN_ANY_WORKER also if any rank has died and
 * there is none. TERN_ERR_STATE: in a handler. */
TERN_NODISCARD TERN_API tern_status tern_descriptor_wait(tern_worker *worker, tern_worker_id source,
                                                         unsigned which, uint64_t tag,
                                                         tern_descriptor *descriptor);

/* Ends the rendezvous: tells the poster that bytes have been moved, after all that was put to its
 * rank before. On success descriptor is zeroed. Returns at once, but that it flushes over rma;
 * where the way is not free, and in handlers over rma, progress of this worker does what is left.
 *
 * TERN_ERR_RANGE: more bytes than were posted; the rendezvous stays open, to be finished with what
 * is right (0 for a buffer that does not do). TERN_ERR_ARGUMENT: NULL, or a descriptor that is none
 * or has been finished. TERN_ERR_PEER: the poster has died; TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_rendezvous_finish(tern_worker *worker,
                                                           tern_descriptor *descriptor,
                                                           uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
