#ifndef TERN_NOTIFY_H
#define TERN_NOTIFY_H

/*
 * Notified one-sided transfer (Photon's put and get with completion, paper 001): a put or a get
 * that tells both sides that it happened, with data that the program chooses. Each completion
 * carries a completion id, or cid: the local cid has 64 bits and comes back to the worker that
 * started the operation; the remote cid has 0 to 256 bytes and goes to a worker of the rank whose
 * memory was put to or read. Both arrive as events, which tern_probe returns.
 *
 * The size of the data decides between two modes. Packed mode (up to TERN_PACKED_MAX over shm,
 * TERN_PACKED_MAX_REMOTE over rma and p2p): data and cid travel in one record, and the target's
 * probe copies the data to its destination before it returns the event. Ledger mode: the data goes
 * straight to its destination, and a record with the cid follows when the data has arrived.
 *
 * When the program may reuse the source: in packed mode, and over shm, when tern_put_notify
 * returns; in ledger mode over other transports after the local event.
 *
 * What an event means. A local event: the source of a put may be reused, the data of a get has
 * arrived, and the record with the remote cid has been posted and reaches its target without
 * further progress of this worker. In ledger mode over shm and rma the data of a put has also
 * arrived at its target. A remote event: the data of a put is at its destination and visible to
 * this worker; the data of a get has been read. Each event that the flags did not switch off comes
 * exactly once. For each pair of workers and each side, events come in the order in which the
 * operations were started; with TERN_ORDER=relaxed an operation may overtake earlier ones of its
 * pair that wait for room.
 *
 * Further order. Until tern_probe has returned the event of a notified put, nothing else may write
 * its destination: in packed mode the data arrives with the event, in ledger mode before it. A
 * notified put is not ordered with plain operations or calls.
 *
 * No event is lost. Records stay in a ring of their own until the target probes. If the target does
 * not probe the ring gets full. Then the origin queues further operations, strictly in order, up to
 * TERN_NOTIFY_QUEUE for each target; after that tern_put_notify returns TERN_ERR_AGAIN and has done
 * nothing. tern_progress sends queued operations, but never takes events out of the ring; calls run
 * without any probing.
 *
 * All functions are local and never wait, with two exceptions: tern_event_wait, and over ofi and
 * verbs the first packed put to a worker. Outside handlers that put waits for the listener thread
 * of the target's process, which answers whatever the process does. All functions may be used in
 * handlers. One thread at a time uses a worker; different workers of a process put and probe in
 * parallel. Over shm a packed put is a few stores into one cache line of the target's memory,
 * without system call, lock, allocation or MPI; over rma one MPI_Put; over p2p one message. Ledger
 * mode over rma needs a flush, which progress makes for all transfers to a target together; MPI
 * does not bound it (tern/transfer.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes of a remote completion id. */
#define TERN_CID_MAX 256u

/* Flags. NO_LOCAL: no local event. The program then learns from the target's answer, or for the
 * data in ledger mode from tern_flush, what the event would have told. A queued operation leaves
 * when this worker makes progress; tern_flush and tern_flush_all make progress until all have left.
 * NO_REMOTE: no remote event. The operation is then a plain put or get with a local event, always
 * in ledger mode. */
#define TERN_NOTIFY_NO_LOCAL 1u
#define TERN_NOTIFY_NO_REMOTE 2u

/* What the two events of a notified put or get carry. All zero: both events come, the local one
 * with cid 0, the remote one with a cid of 0 bytes. */
typedef struct tern_notify_options {
    uint64_t local_cid; /* comes back to this worker with the local event */
    const void *cid;    /* goes to the other worker with the remote event; copied at once */
    size_t cid_bytes;   /* of cid, 0 to TERN_CID_MAX */
    unsigned flags;     /* TERN_NOTIFY_NO_LOCAL, TERN_NOTIFY_NO_REMOTE, or 0 */
} tern_notify_options;

/* Puts bytes from local memory to an address of target's rank and notifies worker target. bytes 0:
 * a notification without data; to and from are ignored. options NULL: all zero.
 *
 *     uint64_t step = 7;
 *     tern_put_notify(worker, target, place, row, sizeof row,
 *                     &(tern_notify_options){.cid = &step, .cid_bytes = sizeof step});
 *
 * TERN_ERR_ARGUMENT: no such worker, NULL, a cid of more than TERN_CID_MAX, unknown flags, or `to`
 * lies in another rank than target. TERN_ERR_RANGE: out of the segment, or not registered.
 * TERN_ERR_AGAIN: TERN_NOTIFY_QUEUE is reached (make progress), TERN_NOTIFY_EVENTS is reached
 * (probe), or `to` is registered memory of another node that this rank uses for the first time.
 * TERN_ERR_UNSUPPORTED: in ledger mode, the system does not let this process reach registered
 * memory of another rank of the node. TERN_ERR_PEER: target has died. TERN_ERR_MEMORY, _MPI. After
 * any error nothing was done. */
TERN_NODISCARD TERN_API tern_status tern_put_notify(tern_worker *worker, tern_worker_id target,
                                                    tern_ptr to, const void *from, size_t bytes,
                                                    const tern_notify_options *options);

/* Gets bytes from an address of owner's rank to local memory. The remote event tells worker owner
 * that its memory has been read; the local event comes after the record of the remote event was
 * posted. Otherwise as tern_put_notify. */
TERN_NODISCARD TERN_API tern_status tern_get_notify(tern_worker *worker, tern_worker_id owner,
                                                    void *to, tern_ptr from, size_t bytes,
                                                    const tern_notify_options *options);

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
                            TERN_OK, or TERN_ERR_RANGE: the data was dropped, because its region had
                            been deregistered */
    tern_worker_id peer; /* local: the target; remote: the origin */
    uint64_t local_cid;  /* local; else 0 */
    uint64_t bytes;      /* of data; 0: a notification without data */
    uint32_t is_get;     /* 1: the event is of a tern_get_notify */
    uint32_t cid_bytes;  /* remote; else 0 */
#ifdef __cplusplus
    alignas(8)
#else
    _Alignas(8)
#endif
        unsigned char cid[TERN_CID_MAX];
} tern_event;

/* Takes the next event, if there is one. [out] event: of cid only cid_bytes bytes are written.
 * TERN_ERR_EMPTY: there is no event (event stays as it was; tern_error_detail is not set). If it
 * often finds no event it makes progress now and then. TERN_ERR_ARGUMENT; TERN_ERR_STATE: inside a
 * tern_event_handler. */
TERN_NODISCARD TERN_API tern_status tern_probe(tern_worker *worker, unsigned which,
                                               tern_event *event);

/* Waits for an event, making progress, and takes it as tern_probe does. TERN_ERR_PEER: a rank of
 * the context has died and there is no event. TERN_ERR_STATE: in a handler. */
TERN_NODISCARD TERN_API tern_status tern_event_wait(tern_worker *worker, unsigned which,
                                                    tern_event *event);

/* A function that tern_probe_each calls for each event. The cid (event->cid_bytes bytes, 8-byte
 * aligned) lies in the ring and is valid until the handler returns; event->cid is not filled. A
 * handler may put, get, call and use atomics; it may not wait, and not probe (TERN_ERR_STATE). */
typedef void (*tern_event_handler)(tern_worker *worker, const tern_event *event, const void *cid,
                                   void *argument);

/* Calls handler for up to limit events that have arrived. [out] handled (may be NULL): how many; 0
 * is not an error. Makes progress as tern_probe does. */
TERN_NODISCARD TERN_API tern_status tern_probe_each(tern_worker *worker, unsigned which,
                                                    tern_event_handler handler, void *argument,
                                                    size_t limit, size_t *handled);

#ifdef __cplusplus
}
#endif

#endif
