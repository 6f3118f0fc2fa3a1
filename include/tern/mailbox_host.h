#ifndef TERN_MAILBOX_HOST_H
#define TERN_MAILBOX_HOST_H

/*
 * Mailboxes (tern/mailbox.h) between the processes of a node and their threads. This header adds
 * shared memory, a table of the workers that take part, calls with a deadline, and recovery from
 * workers that have died.
 *
 * A share is the memory of a mailbox. A program makes a share and passes its descriptor on, by fork
 * or over a socket. Neither MPI nor a context is needed. The ranks of a node make a share together
 * with tern/mailbox_node.h, which needs both.
 * Every thread that takes part joins the share and gets a worker, which one thread at a time may
 * use. A child of fork joins for itself. All processes belong to one user, who trusts them, and to
 * one PID namespace.
 *
 * A worker that waits checks every 5 ms, through pidfds, whether the process of another worker has
 * died, and reclaims the slots of a dead worker. The calls of a dead client go on without it; the
 * clients of a dead server get TERN_ERR_PEER. A process that is stopped, or that does not end,
 * keeps its slots; the others go on with the remaining slots. The same holds for a process that
 * calls exec without leaving, because it lives on under the same number.
 */

#include "tern/mailbox_message.h"
#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A mailbox in shared memory. Its members are tern's own. */
typedef struct tern_mailbox_share tern_mailbox_share;

/* Fields that are 0 take the default in brackets. */
typedef struct tern_mailbox_options {
    uint32_t slots;        /* largest number of calls under way at once [64] */
    uint32_t packet_bytes; /* size of a packet in bytes [4,096]; at least 64 */
    uint32_t workers;      /* largest number of workers that take part at once [64]; at most
                              1,024 */
} tern_mailbox_options;

/* What a share is made for. Not for applications. */
typedef struct tern_internal_mailbox_shape {
    uint32_t layout, slots, packet, workers;
    uint64_t bytes; /* bytes of the mailbox alone */
} tern_internal_mailbox_shape;

/* Not for applications: the functions that the inlined functions below call. */
TERN_NODISCARD TERN_API tern_status tern_internal_mailbox_share_create(
    const tern_internal_mailbox_shape *shape, tern_mailbox_share **share);
TERN_NODISCARD TERN_API tern_status tern_internal_mailbox_share_attach(
    int fd, uint32_t layout, size_t (*bytes)(uint32_t slots, uint32_t packet),
    tern_mailbox_share **share);
TERN_API void *tern_internal_mailbox_share_memory(const tern_mailbox_share *share,
                                                  tern_internal_mailbox_shape *shape);

/* Not for applications: the shape that options ask for. */
TERN_INLINE tern_internal_mailbox_shape
tern_internal_mailbox_shape_of(const tern_mailbox_options *options) {
    tern_internal_mailbox_shape shape = {TERN_MAILBOX_LAYOUT, 64, 4096, 64, 0};
    if (options != NULL && options->slots != 0)
        shape.slots = options->slots;
    if (options != NULL && options->packet_bytes != 0)
        shape.packet = options->packet_bytes;
    if (options != NULL && options->workers != 0)
        shape.workers = options->workers;
    shape.bytes = tern_mailbox_bytes(shape.slots, shape.packet);
    return shape;
}

/** Creates a share in a sealed memfd. The kernel frees the memory once every process has closed it.
 *
 * @param options the sizes, or NULL for the defaults
 * @param[out] share the share; the caller destroys it with tern_mailbox_destroy
 * @return TERN_OK; TERN_ERR_ARGUMENT if an option is beyond its limit or share is NULL;
 *     TERN_ERR_SYSTEM if the system refuses the memory; TERN_ERR_MEMORY
 *
 * Local; does not block. */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_create(const tern_mailbox_options *options,
                                                           tern_mailbox_share **share) {
    tern_internal_mailbox_shape shape = tern_internal_mailbox_shape_of(options);
    return tern_internal_mailbox_share_create(&shape, share);
}

/** Attaches to the share behind a descriptor.
 *
 * @param fd the descriptor; it remains the caller's
 * @param[out] share as for tern_mailbox_create
 * @return TERN_OK; TERN_ERR_ARGUMENT if there is no share behind fd; TERN_ERR_MISMATCH if the
 *     program that made the share has another TERN_MAILBOX_LAYOUT or TERN_MAILBOX_STRIDE;
 *     TERN_ERR_SYSTEM; TERN_ERR_MEMORY */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_attach(int fd, tern_mailbox_share **share) {
    return tern_internal_mailbox_share_attach(fd, TERN_MAILBOX_LAYOUT, tern_mailbox_bytes, share);
}

/** Returns the descriptor to pass on. It is close-on-exec; tern_mailbox_destroy closes it. */
TERN_API int tern_mailbox_fd(const tern_mailbox_share *share);

/** Unmaps the share in this process, after all of this process's workers have left. Local. NULL is
 * allowed. */
TERN_API void tern_mailbox_destroy(tern_mailbox_share *share);

/* ---- Workers ---- */

/* The part that a worker takes. */
typedef enum tern_mailbox_role {
    TERN_MAILBOX_CLIENT = 1, /* makes calls only */
    TERN_MAILBOX_SERVER = 2  /* serves, and may make calls */
} tern_mailbox_role;

/* An entry of a share's table of workers. Not for applications. */
typedef struct tern_internal_mailbox_ticket {
    uint64_t word;
    uint32_t index, name;
} tern_internal_mailbox_ticket;

/* One worker that takes part. Functions of tern/mailbox.h use client and server. */
typedef struct tern_mailbox_worker {
    tern_mailbox_client client;
    tern_mailbox_server server;
    tern_mailbox_share *share;
    tern_internal_mailbox_ticket ticket;
    uint64_t looked; /* ns: time at which a wait last checked the other workers */
    int crowded;     /* 1: at that time there were more workers than cores */
    uint32_t vain;   /* unsuccessful looks for something to serve since the last successful one */
} tern_mailbox_worker;

/* Not for applications. tern_internal_mailbox_next_dead returns whether there is a dead worker at
 * index at or later, and which. */
TERN_NODISCARD TERN_API tern_status tern_internal_mailbox_enter(
    tern_mailbox_share *share, tern_mailbox_role role, tern_internal_mailbox_ticket *ticket);
TERN_API void tern_internal_mailbox_exit(tern_mailbox_share *share,
                                         const tern_internal_mailbox_ticket *ticket);
TERN_API int tern_internal_mailbox_next_dead(tern_mailbox_share *share, uint32_t at,
                                             tern_internal_mailbox_ticket *ticket);

/** Reclaims the slots of workers whose processes have died, and returns the number of slots. Calls
 * that wait do this by themselves. Never blocks. */
TERN_INLINE uint32_t tern_mailbox_reclaim(tern_mailbox_worker *worker) {
    uint32_t at = 0, slots = 0;
    tern_internal_mailbox_ticket dead;
    while (tern_internal_mailbox_next_dead(worker->share, at, &dead)) {
        slots += tern_mailbox_client_reclaim(&worker->client, dead.name);
        slots += tern_mailbox_server_reclaim(&worker->server, dead.name,
                                             tern_mailbox_message_recover, NULL);
        /* The name comes again only after this entry has been used a million times more. So another
         * worker that is still reclaiming for the name finds no lock with it. */
        tern_internal_mailbox_exit(worker->share, &dead);
        at = dead.index + 1;
    }
    return slots;
}

/* Returns a worker of the share under a name. Not for applications. */
TERN_INLINE tern_mailbox_worker tern_internal_mailbox_worker_of(tern_mailbox_share *share,
                                                                uint32_t name) {
    tern_internal_mailbox_shape shape;
    void *memory = tern_internal_mailbox_share_memory(share, &shape);
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

/** Joins a share.
 *
 * @param share the share
 * @param role the part that the worker takes
 * @param[out] worker the worker, in the caller's memory
 * @return TERN_OK; TERN_ERR_FULL if as many workers as the share was made for take part and live;
 *     TERN_ERR_SYSTEM if /proc cannot be read */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_join(tern_mailbox_share *share,
                                                         tern_mailbox_role role,
                                                         tern_mailbox_worker *worker) {
    tern_internal_mailbox_ticket ticket;
    tern_status status = tern_internal_mailbox_enter(share, role, &ticket);
    if (status == TERN_ERR_FULL) {
        /* Reclaiming frees the table entries of dead workers. This thread has no entry yet, so it
         * reclaims under a name that belongs to no entry. If its process is killed at this point, a
         * slot may stay locked. */
        tern_mailbox_worker passing = tern_internal_mailbox_worker_of(share, TERN_MAILBOX_NAME_MAX);
        (void)tern_mailbox_reclaim(&passing);
        status = tern_internal_mailbox_enter(share, role, &ticket);
    }
    if (status != TERN_OK)
        return status;
    *worker = tern_internal_mailbox_worker_of(share, ticket.name);
    worker->ticket = ticket;
    return TERN_OK;
}

/** Leaves a share. Slots that the worker still holds are reclaimed as those of a dead worker are.
 */
TERN_INLINE void tern_mailbox_leave(tern_mailbox_worker *worker) {
    (void)tern_mailbox_client_reclaim(&worker->client, worker->client.name);
    (void)tern_mailbox_server_reclaim(&worker->server, worker->server.name,
                                      tern_mailbox_message_recover, NULL);
    tern_internal_mailbox_exit(worker->share, &worker->ticket);
}

/* ---- Waiting ---- */

/* If there are more workers than cores, the hook below sleeps for TERN_MAILBOX_NAP_NS after
 * TERN_MAILBOX_YIELDS yields in one wait, or in successive waits of tern_mailbox_attend. */
#define TERN_MAILBOX_YIELDS 256u
#define TERN_MAILBOX_NAP_NS 1000

/* A timeout that never ends. */
#define TERN_MAILBOX_FOREVER UINT64_MAX

/* How long a worker waits. tern_mailbox_idle gets it as its argument. */
typedef struct tern_mailbox_patience {
    tern_mailbox_worker *worker;
    uint64_t timeout_ns;
    uint64_t began; /* ns; 0: not yet */
    int calls;      /* 1: waits for a server, and gives up when no server but this worker lives */
    int over;       /* 1: the hook has ended the wait, with a detail text if calls is 1 */
} tern_mailbox_patience;

/* Not for applications: gives up the processor, checks the time, and every 5 ms checks the other
 * workers. calls: number of earlier calls in this wait. Returns TERN_ERR_AGAIN if a worker has
 * died. */
TERN_NODISCARD TERN_API tern_status
tern_internal_mailbox_patience_step(tern_mailbox_patience *patience, uint32_t calls);

/** A hook for tern_mailbox_wait, with a tern_mailbox_patience as its argument. It reclaims the
 * slots of dead workers.
 *
 * @return 0 to go on; TERN_ERR_TIMEOUT after timeout_ns; TERN_ERR_PEER if the worker waits for a
 *     server, servers have taken part, and none lives any more */
TERN_INLINE int tern_mailbox_idle(void *argument, uint32_t calls) {
    tern_mailbox_patience *patience = (tern_mailbox_patience *)argument;
    tern_status status = tern_internal_mailbox_patience_step(patience, calls);
    if (status != TERN_ERR_AGAIN) {
        patience->over = status != TERN_OK;
        return (int)status;
    }
    (void)tern_mailbox_reclaim(patience->worker);
    return 0;
}

/* Not for applications: turns an outcome into a status with its detail text, or with none if the
 * call has succeeded. */
TERN_NODISCARD TERN_API tern_status tern_internal_mailbox_outcome(int outcome, uint64_t reply_bytes,
                                                                  uint64_t room);

/* ---- Calls ---- */

/** Calls a server with a request of any length, and waits for the reply.
 *
 * @param worker the calling worker
 * @param request the request, bytes bytes; read until the function returns
 * @param reply memory of room bytes for the reply
 * @param[out] reply_bytes length of the reply, also with TERN_ERR_RANGE; may be NULL
 * @param timeout_ns longest wait in nanoseconds, or TERN_MAILBOX_FOREVER
 * @return TERN_OK; TERN_ERR_RANGE if the reply is longer than room, and reply has its first room
 *     bytes; TERN_ERR_TIMEOUT if no slot became free or no answer came in time; TERN_ERR_PEER if
 *     the server died, or no server but this worker lives; TERN_ERR_ARGUMENT if the server does
 *     not accept the request, or has no memory for it or for the reply
 *
 * If TERN_ERR_TIMEOUT comes after the request was posted, the call goes on without this worker,
 * and nobody can use its slot until the server answers or dies. */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_request(tern_mailbox_worker *worker,
                                                            const void *request, uint64_t bytes,
                                                            void *reply, uint64_t room,
                                                            uint64_t *reply_bytes,
                                                            uint64_t timeout_ns) {
    tern_mailbox_patience patience = {worker, timeout_ns, 0, 1, 0};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint64_t total = 0;
    int outcome =
        tern_mailbox_message_call(&worker->client, request, bytes, reply, room, &total, &wait);
    if (reply_bytes != NULL && (outcome == TERN_MAILBOX_OK || outcome == TERN_MAILBOX_TRUNCATED))
        *reply_bytes = total;
    /* The answer may have come while the hook gave up. */
    if (outcome == TERN_MAILBOX_OK && !patience.over)
        return TERN_OK;
    return tern_internal_mailbox_outcome(outcome, total, room);
}

/** Opens a service, with memory for one session per slot. tern/mailbox_message.h describes handle
 * and argument.
 *
 * @param[out] service the service, in the caller's memory
 * @param share the share that it serves
 * @param request_max longest request in bytes; the service refuses longer ones
 * @param handle the function that serves a request
 * @param argument stored in the service for handle
 * @return TERN_OK; TERN_ERR_ARGUMENT if service, share or handle is NULL; TERN_ERR_MEMORY
 *
 * The sessions belong to one worker. Each server opens a service of its own, and a server that
 * leaves and joins again opens a new one. */
TERN_NODISCARD TERN_API tern_status tern_mailbox_service_open(
    tern_mailbox_service *service, const tern_mailbox_share *share, uint64_t request_max,
    void (*handle)(tern_mailbox_service *service, uint32_t slot, const void *request,
                   uint64_t bytes),
    void *argument);
/** Frees the service's sessions, after its worker has left. */
TERN_API void tern_mailbox_service_close(tern_mailbox_service *service);

/** Serves the packets that are there. If no packet is there, it waits for one.
 *
 * @param worker the serving worker
 * @param service its service; handle runs in this call
 * @param timeout_ns longest wait in nanoseconds
 * @param[out] steps number of steps made, two for each packet; may be NULL
 * @return TERN_OK; TERN_ERR_TIMEOUT if nothing came in timeout_ns
 *
 * While it waits, it reclaims the slots of dead workers. */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_attend(tern_mailbox_worker *worker,
                                                           tern_mailbox_service *service,
                                                           uint64_t timeout_ns, uint32_t *steps) {
    tern_mailbox_patience patience = {worker, timeout_ns, 0, 0, 0};
    tern_mailbox_wait wait = {tern_mailbox_idle, &patience};
    uint32_t done = 0;
    int stop = 0;
    /* vain counts over successive calls, so that many short waits give up the processor as one long
     * wait does. */
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
