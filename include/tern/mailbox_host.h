#ifndef TERN_MAILBOX_HOST_H
#define TERN_MAILBOX_HOST_H

/*
 * Mailboxes (tern/mailbox.h) between the processes of a node and their threads: shared memory, a
 * table of who takes part, calls with a deadline, and what the dead leave behind.
 *
 * A share is the memory. A program makes one and passes its descriptor on, by fork or by a socket,
 * or the ranks of a node make one together; MPI is needed for the latter alone. Every thread that
 * takes part joins the share and gets a worker, for one thread at a time; a child of fork joins by
 * itself. All processes are of one user, who trusts them, and of one PID namespace.
 *
 * A worker whose process died is found by its pidfd within milliseconds by whoever waits, and its
 * slots are reclaimed: what it called goes on without it, and what it served is answered with
 * TERN_ERR_PEER. One that is stopped, or does not end, keeps its slots; others do without them. So
 * does one whose process calls exec without leaving: it lives on under the same number.
 */

#include "tern/context.h"
#include "tern/mailbox_message.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_mailbox_share tern_mailbox_share;

/* Zeroed fields take the defaults in brackets. */
typedef struct tern_mailbox_options {
    uint32_t slots;        /* calls that may be under way at once [64] */
    uint32_t packet_bytes; /* [4,096]; at least 64 */
    uint32_t workers;      /* that may take part at once [64]; at most 1,024 */
} tern_mailbox_options;

/* What a share is made for. Not for applications. */
typedef struct tern_mailbox_shape {
    uint32_t layout, slots, packet, workers;
    uint64_t bytes; /* of the mailbox alone */
} tern_mailbox_shape;

/* Not for applications: what the inlined functions below stand on. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_share_create(const tern_mailbox_shape *shape,
                                                              tern_mailbox_share **share);
TERN_NODISCARD TERN_API tern_status tern_mailbox_share_on_node(tern_worker *worker,
                                                               const tern_mailbox_shape *shape,
                                                               tern_mailbox_share **share);
TERN_NODISCARD TERN_API tern_status tern_mailbox_share_attach(int fd, uint32_t layout,
                                                              size_t (*bytes)(uint32_t slots,
                                                                              uint32_t packet),
                                                              tern_mailbox_share **share);
TERN_API void *tern_mailbox_share_memory(const tern_mailbox_share *share,
                                         tern_mailbox_shape *shape);

static inline tern_mailbox_shape tern_mailbox_shape_of(const tern_mailbox_options *options) {
    tern_mailbox_shape shape = {TERN_MAILBOX_LAYOUT, 64, 4096, 64, 0};
    if (options != NULL && options->slots != 0)
        shape.slots = options->slots;
    if (options != NULL && options->packet_bytes != 0)
        shape.packet = options->packet_bytes;
    if (options != NULL && options->workers != 0)
        shape.workers = options->workers;
    shape.bytes = tern_mailbox_bytes(shape.slots, shape.packet);
    return shape;
}

/* A share in a sealed memfd, of which nothing is left once everybody has closed it. options NULL:
 * the defaults. [out] share. TERN_ERR_ARGUMENT: beyond a limit. TERN_ERR_SYSTEM. Local. */
TERN_NODISCARD static inline tern_status tern_mailbox_create(const tern_mailbox_options *options,
                                                             tern_mailbox_share **share) {
    tern_mailbox_shape shape = tern_mailbox_shape_of(options);
    return tern_mailbox_share_create(&shape, share);
}

/* The same for the ranks of each node: collective over the context, with the same options
 * everywhere (TERN_ERR_MISMATCH). The share does not need the context any more. TERN_ERR_PEER. */
TERN_NODISCARD static inline tern_status
tern_mailbox_create_on_node(tern_worker *worker, const tern_mailbox_options *options,
                            tern_mailbox_share **share) {
    tern_mailbox_shape shape = tern_mailbox_shape_of(options);
    return tern_mailbox_share_on_node(worker, &shape, share);
}

/* The share behind a descriptor, which stays the caller's. [out] share. TERN_ERR_ARGUMENT: there is
 * none. TERN_ERR_MISMATCH: it was made by a program with another TERN_MAILBOX_LAYOUT or _STRIDE. */
TERN_NODISCARD static inline tern_status tern_mailbox_attach(int fd, tern_mailbox_share **share) {
    return tern_mailbox_share_attach(fd, TERN_MAILBOX_LAYOUT, tern_mailbox_bytes, share);
}

/* The descriptor to pass on; close-on-exec, and closed by tern_mailbox_destroy. Never fails. */
TERN_API int tern_mailbox_fd(const tern_mailbox_share *share);

/* Unmaps it here, after all of this process's workers have left. Local. NULL is fine. */
TERN_API void tern_mailbox_destroy(tern_mailbox_share *share);

/* ---- Workers ---- */

/* What a worker does. */
typedef enum tern_mailbox_role {
    TERN_MAILBOX_CLIENT = 1, /* calls only */
    TERN_MAILBOX_SERVER = 2  /* serves, and may call */
} tern_mailbox_role;

/* A place in the table of a share. Not for applications. */
typedef struct tern_mailbox_ticket {
    uint64_t word;
    uint32_t index, name;
} tern_mailbox_ticket;

/* One that takes part. The two sides are there for the functions of tern/mailbox.h. */
typedef struct tern_mailbox_worker {
    tern_mailbox_client client;
    tern_mailbox_server server;
    tern_mailbox_share *share;
    tern_mailbox_ticket ticket;
    uint64_t looked; /* ns: when a wait last looked after the others */
    int crowded;     /* there were more of them than cores */
    uint32_t vain;   /* looks for something to serve since there was something */
} tern_mailbox_worker;

/* Not for applications. next_dead: whether there is one from index at on. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_enter(tern_mailbox_share *share,
                                                       tern_mailbox_role role,
                                                       tern_mailbox_ticket *ticket);
TERN_API void tern_mailbox_exit(tern_mailbox_share *share, const tern_mailbox_ticket *ticket);
TERN_API int tern_mailbox_next_dead(tern_mailbox_share *share, uint32_t at,
                                    tern_mailbox_ticket *ticket);

/* Reclaims what workers held whose processes have died. How many slots. Calls that wait do this by
 * themselves; never blocks. */
static inline uint32_t tern_mailbox_reclaim(tern_mailbox_worker *worker) {
    uint32_t at = 0, slots = 0;
    tern_mailbox_ticket dead;
    while (tern_mailbox_next_dead(worker->share, at, &dead)) {
        slots += tern_mailbox_client_reclaim(&worker->client, dead.name);
        slots += tern_mailbox_server_reclaim(&worker->server, dead.name,
                                             tern_mailbox_message_recover, NULL);
        /* Names are not used again, so whoever is still at it finds no lock of this one. */
        tern_mailbox_exit(worker->share, &dead);
        at = dead.index + 1;
    }
    return slots;
}

/* A worker of that share under a name. Not for applications. */
static inline tern_mailbox_worker tern_mailbox_worker_of(tern_mailbox_share *share, uint32_t name) {
    tern_mailbox_shape shape;
    void *memory = tern_mailbox_share_memory(share, &shape);
    tern_mailbox box = tern_mailbox_at(memory, shape.slots, shape.packet);
    tern_mailbox_worker worker = {tern_mailbox_client_at(&box, name),
                                  tern_mailbox_server_at(&box, name),
                                  share,
                                  {0, 0, 0},
                                  0,
                                  0,
                                  0};
    return worker;
}

/* Takes part. [out] worker, in the caller's memory. TERN_ERR_FULL: as many as the share was made
 * for take part and live. TERN_ERR_SYSTEM: /proc cannot be read. */
TERN_NODISCARD static inline tern_status
tern_mailbox_join(tern_mailbox_share *share, tern_mailbox_role role, tern_mailbox_worker *worker) {
    tern_mailbox_ticket ticket;
    tern_status status = tern_mailbox_enter(share, role, &ticket);
    if (status == TERN_ERR_FULL) {
        /* The dead's places are free once they are reclaimed, under a name for the moment that has
         * no place in the table: a process that is killed just here may leave a slot locked. */
        tern_mailbox_worker passing = tern_mailbox_worker_of(share, TERN_MAILBOX_NAME_MAX);
        (void)tern_mailbox_reclaim(&passing);
        status = tern_mailbox_enter(share, role, &ticket);
    }
    if (status != TERN_OK)
        return status;
    *worker = tern_mailbox_worker_of(share, ticket.name);
    worker->ticket = ticket;
    return TERN_OK;
}

/* Takes part no longer. Slots that it holds are given back, as those of the dead are. */
static inline void tern_mailbox_leave(tern_mailbox_worker *worker) {
    (void)tern_mailbox_client_reclaim(&worker->client, worker->client.name);
    (void)tern_mailbox_server_reclaim(&worker->server, worker->server.name,
                                      tern_mailbox_message_recover, NULL);
    tern_mailbox_exit(worker->share, &worker->ticket);
}

/* ---- Waiting ---- */

/* Where there are more workers than cores the hook below sleeps so long, after so many yields in
 * one wait, or in waits of tern_mailbox_attend in a row. */
#define TERN_MAILBOX_YIELDS 256u
#define TERN_MAILBOX_NAP_NS 1000

/* A timeout that never comes. */
#define TERN_MAILBOX_FOREVER UINT64_MAX

/* How long a worker waits, and what it sees to meanwhile. */
typedef struct tern_mailbox_patience {
    tern_mailbox_worker *worker;
    uint64_t timeout_ns;
    uint64_t began; /* ns; 0: not yet */
    int calls;      /* 1: waits for a server, and no longer than another worker that is one lives */
} tern_mailbox_patience;

/* Not for applications: gives the processor up, looks at the clock and now and then at the others.
 * calls: before this one, of the same wait. TERN_ERR_AGAIN: somebody died. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_patience_step(tern_mailbox_patience *patience,
                                                               uint32_t calls);

/* A hook for tern_mailbox_wait, with a tern_mailbox_patience: TERN_ERR_TIMEOUT after timeout_ns,
 * TERN_ERR_PEER when servers took part and none lives any more. Reclaims what the dead held. */
static inline int tern_mailbox_idle(void *argument, uint32_t calls) {
    tern_mailbox_patience *patience = (tern_mailbox_patience *)argument;
    tern_status status = tern_mailbox_patience_step(patience, calls);
    if (status != TERN_ERR_AGAIN)
        return (int)status;
    (void)tern_mailbox_reclaim(patience->worker);
    return 0;
}

/* Not for applications: the status of an outcome, with its text. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_outcome(int outcome, uint64_t reply_bytes,
                                                         uint64_t room);

/* ---- Calls ---- */

/* Calls a server with a request of any length and waits for its reply, timeout_ns at most, which
 * goes to the room bytes at reply. [out] reply_bytes, NULL is fine: the length of the reply, known
 * also for TERN_ERR_RANGE: it has not all fitted.
 * TERN_ERR_TIMEOUT: no slot came free in time, or no answer: then the call goes on without this
 * worker, and its slot is nobody's until the server answers or dies. TERN_ERR_PEER: the server
 * died, or no server but this worker lives. TERN_ERR_ARGUMENT: the server takes no such request, or
 * has no memory for it or for the reply. */
TERN_NODISCARD static inline tern_status
tern_mailbox_request(tern_mailbox_worker *worker, const void *request, uint64_t bytes, void *reply,
                     uint64_t room, uint64_t *reply_bytes, uint64_t timeout_ns) {
    tern_mailbox_patience patience = {worker, timeout_ns, 0, 1};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint64_t total = 0;
    int outcome =
        tern_mailbox_message_call(&worker->client, request, bytes, reply, room, &total, &wait);
    if (reply_bytes != NULL && (outcome == TERN_MAILBOX_OK || outcome == TERN_MAILBOX_TRUNCATED))
        *reply_bytes = total;
    return outcome == TERN_MAILBOX_OK ? TERN_OK : tern_mailbox_outcome(outcome, total, room);
}

/* Opens a service: what handle and argument are is said in tern/mailbox_message.h. Requests longer
 * than request_max bytes are refused. Its sessions are one worker's: each server has a service of
 * its own, and one that leaves and joins again opens another. TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_service_open(
    tern_mailbox_service *service, const tern_mailbox_share *share, uint64_t request_max,
    void (*handle)(tern_mailbox_service *service, uint32_t slot, const void *request,
                   uint64_t bytes),
    void *argument);
/* Frees its sessions, after its worker has left. */
TERN_API void tern_mailbox_service_close(tern_mailbox_service *service);

/* Serves what is there, and waits for something to serve if there is nothing. [out] steps, NULL is
 * fine: how many; each packet takes two. TERN_ERR_TIMEOUT: nothing in timeout_ns. Reclaims what the
 * dead held while it waits, and handle runs in it. */
TERN_NODISCARD static inline tern_status tern_mailbox_attend(tern_mailbox_worker *worker,
                                                             tern_mailbox_service *service,
                                                             uint64_t timeout_ns, uint32_t *steps) {
    tern_mailbox_patience patience = {worker, timeout_ns, 0, 0};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint32_t done = 0;
    int stop = 0;
    /* Short waits in a row are one long one to who else needs the processor. */
    for (; stop == 0 && done == 0; worker->vain = done > 0 ? 0 : worker->vain + 1) {
        done = tern_mailbox_serve(&worker->server, tern_mailbox_message_work,
                                  tern_mailbox_message_clean, service);
        if (done == 0)
            stop = tern_mailbox_rest(&wait, worker->vain);
    }
    if (steps != NULL)
        *steps = done;
    return (tern_status)stop;
}

#ifdef __cplusplus
}
#endif

#endif
