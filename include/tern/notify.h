#ifndef TERN_NOTIFY_H
#define TERN_NOTIFY_H

/*
 * Notified one-sided transfer (Photon's put and get with completion, paper 001): a put or
 * a get that tells both sides, with data of the user's, that it happened. Each completion carries a
 * completion id, or cid: the local one is 64 bits and comes back to the worker that asked; the
 * remote one is 0 to 256 bytes and goes to a worker of the rank whose memory was put to or read.
 * Workers meet both as events, which tern_probe returns.
 *
 * Two modes, chosen by size. Packed (up to TERN_PACKED_MAX over shm, TERN_PACKED_MAX_FAR over rma
 * and p2p): data and cid travel in one record, and the target's probe copies the data to its place
 * before it returns the event. Ledger: the data goes straight to its place, and a record with the
 * cid follows when it is there.
 *
 * When the source may be reused. Packed: when tern_put_notify returns. Ledger: from the local event
 * on; over shm when tern_put_notify returns.
 *
 * What an event means. Local: the source of a put may be reused, the data of a get has arrived, and
 * the record with the remote cid has been posted: it reaches its target without more from here.
 * In ledger mode over shm and rma the data of a put is complete at its target. Remote: the data of
 * a put is at its place, visible to this worker; the data of a get has been read. Events that both
 * sides did not switch off come exactly once each, in the order in which they were asked for, for
 * each pair of workers and each side; with TERN_ORDER=relaxed a request may overtake those of its
 * pair that wait for room.
 *
 * Order beyond that. Until the event of a notified put has been returned its place must not be
 * written by anything else: packed data arrives with the event, ledger data before it. A notified
 * put is not ordered with plain operations or calls.
 *
 * Nothing is lost. Records stay in a ring of their own until they are probed for: a target that
 * does not probe fills it, then requests are queued at their origin, strictly in order, up to
 * TERN_NOTIFY_QUEUE for each target; after that tern_put_notify gives TERN_ERR_AGAIN and has done
 * nothing. tern_progress moves queued requests on, never events: it needs no probing to run calls.
 *
 * All functions are local and never wait, but for tern_event_wait, and for the first put to a
 * worker over ofi and verbs that goes in its record: outside handlers it waits for the listener of
 * the target's process, which answers whatever that process does. All may be used in handlers. A
 * worker is used by one thread at a time; different workers of a process put and probe in parallel.
 * Over shm a packed put is a few stores into one cache line of the target's memory, without system
 * call, lock, allocation or MPI; over rma one MPI_Put; over p2p one message. Ledger mode over rma
 * needs a flush, which progress makes for all transfers to a target together; MPI does not bound it
 * (tern/transfer.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes of a remote completion id. */
#define TERN_CID_MAX 256u

/* Flags. NO_LOCAL: no local event; what it would have said is then told by the target's answer, or
 * in ledger mode, of the data, by tern_flush. A request that was queued leaves while progress is
 * made here, which tern_flush and tern_flush_all do until all have left. NO_REMOTE: no remote
 * event; what is left is a plain put or get with a local one, always in ledger mode. */
#define TERN_NOTIFY_NO_LOCAL 1u
#define TERN_NOTIFY_NO_REMOTE 2u

/* Puts bytes from local memory to a place in target's rank and tells target, the worker. bytes 0: a
 * pure notification; to and from are not looked at. cid: cid_bytes bytes, copied.
 *
 * TERN_ERR_ARGUMENT: no such worker, NULL, a cid of more than TERN_CID_MAX, unknown flags, or `to`
 * lies in another rank than target. TERN_ERR_RANGE: out of the segment, or not registered.
 * TERN_ERR_AGAIN: a limit is reached that progress (TERN_NOTIFY_QUEUE) or probing
 * (TERN_NOTIFY_EVENTS) lifts, or `to` is registered memory of another node that is used for the
 * first time. TERN_ERR_UNSUPPORTED: in ledger mode, registered memory of a rank of the node that
 * the system does not let this process reach. TERN_ERR_PEER: target has died. TERN_ERR_MEMORY,
 * _MPI. With any of them nothing was done. */
TERN_NODISCARD TERN_API tern_status tern_put_notify(tern_worker *worker, tern_worker_id target,
                                                    tern_ptr to, const void *from, size_t bytes,
                                                    uint64_t local_cid, const void *cid,
                                                    size_t cid_bytes, unsigned flags);

/* Gets bytes from a place in owner's rank to local memory. The remote event tells owner, the
 * worker, that its memory has been read; the local one comes after that was posted. Otherwise as
 * tern_put_notify. */
TERN_NODISCARD TERN_API tern_status tern_get_notify(tern_worker *worker, tern_worker_id owner,
                                                    void *to, tern_ptr from, size_t bytes,
                                                    uint64_t local_cid, const void *cid,
                                                    size_t cid_bytes, unsigned flags);

/* What an event tells. */
typedef enum tern_event_kind {
    TERN_EVENT_LOCAL = 1, /* an operation of this worker is complete here */
    TERN_EVENT_REMOTE = 2 /* an operation of another worker is complete here */
} tern_event_kind;

/* Which events to probe for. */
#define TERN_PROBE_LOCAL 1u
#define TERN_PROBE_REMOTE 2u
#define TERN_PROBE_ANY 3u

/* What a probe returns. */
typedef struct tern_event {
    tern_event_kind kind;
    tern_status status;  /* local: TERN_OK, or why the operation could not be finished. remote:
                          * TERN_OK, or TERN_ERR_RANGE: the data was dropped, since the region
                          * that it was put to was deregistered before */
    tern_worker_id peer; /* local: the target; remote: the origin */
    uint64_t local_cid;  /* local; else 0 */
    uint64_t bytes;      /* of data; 0: a pure notification */
    uint32_t is_get;     /* 1: of tern_get_notify */
    uint32_t cid_bytes;  /* remote; else 0 */
#ifdef __cplusplus
    alignas(8)
#else
    _Alignas(8)
#endif
        unsigned char cid[TERN_CID_MAX];
} tern_event;

/* [out] event: the next one; of cid only cid_bytes bytes are written. TERN_ERR_EMPTY: there is none
 * (event stays as it was; tern_error_detail is not set). Makes progress now and then when it finds
 * nothing. TERN_ERR_ARGUMENT; TERN_ERR_STATE: inside a tern_event_handler. */
TERN_NODISCARD TERN_API tern_status tern_probe(tern_worker *worker, unsigned which,
                                               tern_event *event);

/* The same, waiting for an event with progress. TERN_ERR_PEER: a rank of the context has died and
 * no event is there. TERN_ERR_STATE: in a handler. */
TERN_NODISCARD TERN_API tern_status tern_event_wait(tern_worker *worker, unsigned which,
                                                    tern_event *event);

/* Is given events one by one. The cid (event->cid_bytes bytes, 8-byte aligned) lies in the ring and
 * is gone when the handler returns; event->cid is not filled. A handler may put, get, call and use
 * atomics; it may not wait, and not probe (TERN_ERR_STATE). */
typedef void (*tern_event_handler)(tern_worker *worker, const tern_event *event, const void *cid,
                                   void *argument);

/* Hands up to limit events that are there to handler. [out] handled (may be NULL): how many; 0 is
 * no error. Makes progress as tern_probe does. */
TERN_NODISCARD TERN_API tern_status tern_probe_each(tern_worker *worker, unsigned which,
                                                    tern_event_handler handler, void *argument,
                                                    size_t limit, size_t *handled);

#ifdef __cplusplus
}
#endif

#endif
