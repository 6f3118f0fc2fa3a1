#ifndef TERN_MAILBOX_H
#define TERN_MAILBOX_H

/*
 * Mailbox: remote procedure calls through shared memory. Both sides only poll; this header makes no
 * system call (paper 002, whose sections are given in parentheses). It is freestanding: it needs no
 * libc and no MPI, and it compiles as C11, C++ and CUDA. tern/mailbox_host.h adds shared memory,
 * names of workers and hooks for waiting.
 *
 * A mailbox has a fixed number of slots. A slot has a packet, which is a buffer of fixed size, and
 * two flags. Only the client writes the client's flag, and only the server writes the server's
 * flag. The two flags together say which side owns the packet (table 1 of the paper):
 *
 *     client  server   state                      owner     next step
 *       0       0      TERN_MAILBOX_QUIET         client    fills the packet and posts it
 *       1       0      TERN_MAILBOX_POSTED        server    works on the packet and answers
 *       1       1      TERN_MAILBOX_ANSWERED      client    uses the answer and finishes
 *       0       1      TERN_MAILBOX_FINISHED      server    cleans it; the slot is quiet again
 *
 * Equal flags mean that the client owns the packet, different flags mean that the server owns it.
 * The owner passes the packet on by writing its own flag, and does not touch the packet after that.
 * The other side cannot take the packet away, because it cannot write that flag. Flags are stored
 * with release and loaded with acquire. So each side sees what the other side wrote to the packet
 * before it passed the packet on, and has read the packet before the other side overwrites it.
 *
 * A mailbox serves many clients and many servers (7.3). Each side has a lock word for each slot.
 * The lock word holds the name of the worker that may write that side's flag, or 0. A worker that
 * looks for a slot loads the flags first, takes the lock, and then loads the flags again (7.4).
 * While the worker holds the lock and its side owns the packet, nobody else can change the state of
 * the slot. A lock that is released passes the state of the slot on to the worker that takes the
 * lock next.
 *
 * No worker waits for a lock. A worker that stops for ever blocks only the slots that it holds. A
 * server holds one slot for each call of several packets that it is serving. Each slot that a
 * stopped server holds blocks one call until its client's deadline: the call that is on the slot,
 * or the next one that a client posts there. Clients do not look at the servers' locks, because
 * that would cost each call a cache miss.
 *
 *   - A worker can own a slot permanently (tern_mailbox_client_own, tern_mailbox_server_own); then
 *     it takes no lock any more. On a GPU a slot can belong to a warp by its number, and then no
 *     lock is taken at all. Calls of several packets are the exception: a server considers a client
 *     whose lock is free as gone.
 *   - A client that gives a slot back right after posting has made an asynchronous call (8.1). The
 *     answer stays in the slot with the client's lock free, until a client that looks for a slot
 *     finishes the call. A call becomes asynchronous in the same way when its client stops waiting,
 *     or when its client has died and its locks have been reclaimed.
 *   - A slot can serve the 32 lanes of a warp at once (tern/mailbox_warp.h).
 *   - A client may make many round trips while it holds a slot, to pass more than one packet holds
 *     (8.4). The slot's number tells the server which call a packet belongs to. A server that keeps
 *     a slot for the next packet gives the slot back when the client has left
 *     (tern_mailbox_forget).
 *
 * Functions that wait call a hook between two looks at a flag. The hook can give the processor to
 * others. Any thread may call any function, but only one thread at a time may use a
 * tern_mailbox_client or a tern_mailbox_server.
 */

#include "tern/detail/mailbox_flags.h"

/* The states of a slot. */
typedef enum tern_mailbox_state {
    TERN_MAILBOX_QUIET = 0,
    TERN_MAILBOX_POSTED = 1,
    TERN_MAILBOX_FINISHED = 2,
    TERN_MAILBOX_ANSWERED = 3
} tern_mailbox_state;

/* Stands for "no slot". */
#define TERN_MAILBOX_NONE 0xffffffffu
/* The largest number of slots of a mailbox, and the largest packet in bytes. */
#define TERN_MAILBOX_SLOTS_MAX 65536u
#define TERN_MAILBOX_PACKET_MAX 0x40000000u
/* The largest name of a worker; the smallest is 1. */
#define TERN_MAILBOX_NAME_MAX 0x7fffffffu
/* Flag in a lock word, beside the name: the holder owns the slot permanently. */
#define TERN_MAILBOX_OWN 0x80000000u
/* Flag in the slot number that clean gets: the client has left. */
#define TERN_MAILBOX_GONE 0x80000000u
/* Number of looks at a flag between two calls of a hook. */
#define TERN_MAILBOX_SPINS 64u

/* The lock of one side of a slot, in a cache line of its own. */
typedef struct tern_mailbox_lock {
    uint32_t holder; /* name of the worker of this side that holds the slot; 0: free */
    uint32_t unused[TERN_MAILBOX_LINE / 4 - 1];
} tern_mailbox_lock;

/* The addresses of the parts of a mailbox in this process (see tern_mailbox_at for the layout). */
typedef struct tern_mailbox {
    tern_mailbox_flags client, server; /* written by this side, read by the other */
    tern_mailbox_lock *client_locks, *server_locks;
    uint8_t *packets;
    uint32_t slots, bytes; /* bytes: size of a packet, a multiple of TERN_MAILBOX_LINE */
} tern_mailbox;

/* One worker as a client. */
typedef struct tern_mailbox_client {
    tern_mailbox box;
    uint32_t name;
    uint32_t next; /* the slot at which its next search begins */
} tern_mailbox_client;

/* One worker as a server. */
typedef struct tern_mailbox_server {
    tern_mailbox box;
    uint32_t name;
    uint32_t next;
    /* 0: the server keeps no slot for a next packet; otherwise 1 + the calls of tern_mailbox_serve
     * since it last checked the slots that it keeps. */
    uint32_t keeps;
} tern_mailbox_server;

/* A function of a client that fills a packet, or one that uses the answer in it. */
typedef void tern_mailbox_use(void *packet, uint32_t slot, void *argument);
/* A function of a server that works on a packet, or one that cleans it.
 *
 * It returns 0 if the server may give the slot back. Any other value means that this worker keeps
 * the slot, because more packets of the same call will come to it. If the client of such a call
 * leaves, the server calls clean with the slot's number and TERN_MAILBOX_GONE. The call is then
 * over, and clean must not touch the packet. If it was work that returned other than 0 last, some
 * worker still cleans the packet later, by a call of clean without that flag. */
typedef int tern_mailbox_work(void *packet, uint32_t slot, void *argument);

/* How a function waits. After every TERN_MAILBOX_SPINS looks it calls idle, with the number of
 * earlier calls in this wait. idle gives up the processor and returns 0 to go on; any other value
 * ends the wait. If there are more workers than cores, idle should sleep for a short time once
 * several yields have not helped, because a yield does not let processes of other scheduling groups
 * run (mailbox/workers.c). If idle or the pointer to the structure is NULL, the function waits
 * without limit and never gives up the processor. */
typedef struct tern_mailbox_wait {
    int (*idle)(void *argument, uint32_t calls);
    void *argument;
} tern_mailbox_wait;

/* ---- Memory ---- */

/** Returns the bytes of shared memory for a mailbox of slots slots with packets of packet bytes, or
 * 0 if one of the two is beyond its limit. */
TERN_MAILBOX_INLINE size_t tern_mailbox_bytes(uint32_t slots, uint32_t packet) {
    if (slots == 0 || slots > TERN_MAILBOX_SLOTS_MAX || packet > TERN_MAILBOX_PACKET_MAX)
        return 0;
    size_t line = TERN_MAILBOX_LINE, bytes = (packet + line - 1) / line * line;
    return slots * bytes + 2 * tern_mailbox_flags_bytes(slots) +
           2 * (size_t)slots * sizeof(tern_mailbox_lock);
}

/** Returns the mailbox that lies at memory: tern_mailbox_bytes(slots, packet) bytes from the start
 * of a cache line, which remain the caller's, and were zero before anybody used them (all slots
 * quiet). Flags lie behind the packets, so that they follow the packets over PCIe (section 5):
 *
 *     part           bytes                             written by
 *     packets        slots * bytes                     the side that owns the packet
 *     client flags   tern_mailbox_flags_bytes(slots)   the client that holds the slot
 *     server flags   tern_mailbox_flags_bytes(slots)   the server that holds the slot
 *     client locks   slots * 64                        any client: takes, gives back, reclaims
 *     server locks   slots * 64                        any server: takes, gives back, reclaims
 *
 * Each part begins at a cache line, and each lock has a line to itself. */
TERN_MAILBOX_INLINE tern_mailbox tern_mailbox_at(void *memory, uint32_t slots, uint32_t packet) {
    tern_mailbox box;
    uint8_t *at = (uint8_t *)memory;
    box.slots = slots;
    box.bytes = (packet + TERN_MAILBOX_LINE - 1) / TERN_MAILBOX_LINE * TERN_MAILBOX_LINE;
    box.packets = at;
    at += (size_t)slots * box.bytes;
    box.client = tern_mailbox_flags_at(at);
    at += tern_mailbox_flags_bytes(slots);
    box.server = tern_mailbox_flags_at(at);
    at += tern_mailbox_flags_bytes(slots);
    box.client_locks = (tern_mailbox_lock *)(void *)at;
    box.server_locks = box.client_locks + slots;
    return box;
}

/** Returns a worker of the mailbox. No other worker of the same side may have this name, which is 1
 * to TERN_MAILBOX_NAME_MAX. */
TERN_MAILBOX_INLINE tern_mailbox_client tern_mailbox_client_at(const tern_mailbox *box,
                                                               uint32_t name) {
    tern_mailbox_client client = {*box, name, name % box->slots};
    return client;
}

/** Returns a server of the mailbox, as tern_mailbox_client_at does a client. */
TERN_MAILBOX_INLINE tern_mailbox_server tern_mailbox_server_at(const tern_mailbox *box,
                                                               uint32_t name) {
    tern_mailbox_server server = {*box, name, name % box->slots, 0};
    return server;
}

/** Returns the packet of a slot. */
TERN_MAILBOX_INLINE void *tern_mailbox_packet(const tern_mailbox *box, uint32_t slot) {
    return box->packets + (size_t)slot * box->bytes;
}

/* ---- The state machine: steps that never block ---- */

/** Returns the state of a slot. For the worker that holds the slot on the side that owns the packet
 * the state is exact and does not change. For everybody else it is the state of some moment in the
 * past. */
TERN_MAILBOX_INLINE tern_mailbox_state tern_mailbox_look(const tern_mailbox *box, uint32_t slot) {
    unsigned client = tern_mailbox_flags_one(&box->client, slot);
    unsigned server = tern_mailbox_flags_one(&box->server, slot);
    return (tern_mailbox_state)(client | server << 1);
}

/** Moves a slot from quiet to posted, for the client that holds it. Returns 1, or 0 if the slot was
 * in another state; then nothing has changed. */
TERN_MAILBOX_INLINE int tern_mailbox_post(const tern_mailbox_client *client, uint32_t slot) {
    if (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_QUIET)
        return 0;
    tern_mailbox_flags_write(&client->box.client, slot, 1);
    return 1;
}

/** Moves a slot from posted to answered, by its server. Returns as tern_mailbox_post does. */
TERN_MAILBOX_INLINE int tern_mailbox_answer(const tern_mailbox_server *server, uint32_t slot) {
    if (tern_mailbox_look(&server->box, slot) != TERN_MAILBOX_POSTED)
        return 0;
    tern_mailbox_flags_write(&server->box.server, slot, 1);
    return 1;
}

/** Moves a slot from answered to finished, by its client. Returns as tern_mailbox_post does. */
TERN_MAILBOX_INLINE int tern_mailbox_finish(const tern_mailbox_client *client, uint32_t slot) {
    if (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_ANSWERED)
        return 0;
    tern_mailbox_flags_write(&client->box.client, slot, 0);
    return 1;
}

/** Moves a slot from finished to quiet, by its server. Returns as tern_mailbox_post does. */
TERN_MAILBOX_INLINE int tern_mailbox_clean(const tern_mailbox_server *server, uint32_t slot) {
    if (tern_mailbox_look(&server->box, slot) != TERN_MAILBOX_FINISHED)
        return 0;
    tern_mailbox_flags_write(&server->box.server, slot, 0);
    return 1;
}

/* ---- Locks ---- */

/* Takes the lock if it is free. The compare-and-swap acquires what the last holder released, so the
 * new holder knows its own side's flag. The load comes first, so that an attempt on a held lock
 * leaves the cache line with its holder. */
TERN_MAILBOX_INLINE int tern_mailbox_lock_take(tern_mailbox_lock *lock, uint32_t holder) {
    return tern_mailbox_load32(&lock->holder) == 0 && tern_mailbox_cas32(&lock->holder, 0, holder);
}

/* Gives the lock back, unless this worker owns the slot permanently. */
TERN_MAILBOX_INLINE void tern_mailbox_lock_give(tern_mailbox_lock *lock, uint32_t name) {
    if (tern_mailbox_load32(&lock->holder) == name)
        tern_mailbox_store32(&lock->holder, 0);
}

/* Takes a lock over from a worker that will never run again. */
TERN_MAILBOX_INLINE int tern_mailbox_lock_inherit(tern_mailbox_lock *lock, uint32_t dead,
                                                  uint32_t name) {
    uint32_t holder = tern_mailbox_load32(&lock->holder);
    return (holder & ~TERN_MAILBOX_OWN) == dead && tern_mailbox_cas32(&lock->holder, holder, name);
}

/* Returns the slots that exist in a group, one bit for each. */
TERN_MAILBOX_INLINE uint64_t tern_mailbox_group(const tern_mailbox *box, uint32_t group) {
    uint32_t count = box->slots - group * TERN_MAILBOX_GROUP;
    return count < TERN_MAILBOX_GROUP ? ((uint64_t)1 << count) - 1
                                      : ~(uint64_t)0 >> (64 - TERN_MAILBOX_GROUP);
}

/* ---- Client ---- */

/** Gives a slot back. A call on it that is not answered or not finished yet becomes an asynchronous
 * call, whose answer nobody reads. */
TERN_MAILBOX_INLINE void tern_mailbox_client_give(const tern_mailbox_client *client,
                                                  uint32_t slot) {
    tern_mailbox_lock_give(&client->box.client_locks[slot], client->name);
}

/* Takes the first of these slots that is free and quiet, and returns it, or TERN_MAILBOX_NONE.
 * It looks at a slot again once it holds the lock, because others may have used the slot in
 * between. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_take_quiet(tern_mailbox_client *client, uint32_t first,
                                                     uint64_t quiet) {
    for (; quiet != 0; quiet &= quiet - 1) {
        uint32_t slot = first + tern_mailbox_lowest(quiet);
        if (!tern_mailbox_lock_take(&client->box.client_locks[slot], client->name))
            continue;
        if (tern_mailbox_look(&client->box, slot) == TERN_MAILBOX_QUIET)
            return slot;
        tern_mailbox_client_give(client, slot);
    }
    return TERN_MAILBOX_NONE;
}

/* Finishes those of these answered slots whose answer no client waits for. */
TERN_MAILBOX_INLINE void tern_mailbox_recycle(tern_mailbox_client *client, uint32_t first,
                                              uint64_t answered) {
    for (; answered != 0; answered &= answered - 1) {
        uint32_t slot = first + tern_mailbox_lowest(answered);
        if (!tern_mailbox_lock_take(&client->box.client_locks[slot], client->name))
            continue;
        (void)tern_mailbox_finish(client, slot);
        tern_mailbox_client_give(client, slot);
    }
}

/** Takes a slot. The slot is then held and quiet, and its packet belongs to this client. Returns
 * TERN_MAILBOX_NONE if there is no such slot now. Never blocks. It looks at each group of slots
 * once, and finishes the asynchronous calls of a group before it looks for a free slot in it. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_take(tern_mailbox_client *client) {
    const tern_mailbox *box = &client->box;
    uint32_t groups = tern_mailbox_flags_groups(box->slots);
    uint32_t group = client->next / TERN_MAILBOX_GROUP, skip = client->next % TERN_MAILBOX_GROUP;
    for (uint32_t i = 0; i < groups; i++, group = group + 1 < groups ? group + 1 : 0) {
        uint32_t first = group * TERN_MAILBOX_GROUP;
        uint64_t mine = tern_mailbox_flags_load(&box->client, group);
        uint64_t theirs = tern_mailbox_flags_load(&box->server, group);
        uint64_t there = tern_mailbox_group(box, group), behind = ~(uint64_t)0 << skip;
        tern_mailbox_recycle(client, first, mine & theirs & there);
        uint64_t quiet = ~(mine | theirs) & there;
        uint32_t slot = tern_mailbox_take_quiet(client, first, quiet & behind);
        if (slot == TERN_MAILBOX_NONE)
            slot = tern_mailbox_take_quiet(client, first, quiet & ~behind);
        if (slot != TERN_MAILBOX_NONE) {
            client->next = slot;
            return slot;
        }
        skip = 0;
    }
    return TERN_MAILBOX_NONE;
}

/** Makes this client the permanent owner of a slot. Returns 1, or 0 if a client holds the slot
 * already. An earlier call may still be under way on the slot; tern_mailbox_call_on waits for
 * that. */
TERN_MAILBOX_INLINE int tern_mailbox_client_own(const tern_mailbox_client *client, uint32_t slot) {
    return tern_mailbox_lock_take(&client->box.client_locks[slot], client->name | TERN_MAILBOX_OWN);
}

/** Frees the slots held by a client that will never run again, whose name is dead. The calls that
 * it had under way become asynchronous calls. Returns the number of slots. Several workers may do
 * this at the same time. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_client_reclaim(const tern_mailbox_client *client,
                                                         uint32_t dead) {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < client->box.slots; slot++) {
        tern_mailbox_lock *lock = &client->box.client_locks[slot];
        if (!tern_mailbox_lock_inherit(lock, dead, client->name))
            continue;
        tern_mailbox_flags_repair(&client->box.client, slot);
        tern_mailbox_lock_give(lock, client->name);
        count++;
    }
    return count;
}

/* ---- Server ---- */

/** Takes the slot, or finds that this server holds it already. Returns 1, or 0 if another server
 * holds it. */
TERN_MAILBOX_INLINE int tern_mailbox_server_hold(const tern_mailbox_server *server, uint32_t slot) {
    tern_mailbox_lock *lock = &server->box.server_locks[slot];
    return (tern_mailbox_load32(&lock->holder) & ~TERN_MAILBOX_OWN) == server->name ||
           tern_mailbox_lock_take(lock, server->name);
}

/** Gives a slot back when no further packet of its call is to come to this server. */
TERN_MAILBOX_INLINE void tern_mailbox_server_give(const tern_mailbox_server *server,
                                                  uint32_t slot) {
    tern_mailbox_lock_give(&server->box.server_locks[slot], server->name);
}

/** Makes this server the permanent owner of a slot. Returns 1, or 0 if a server holds the slot
 * already. From then on no other server serves the slot, and this one takes no lock for it. */
TERN_MAILBOX_INLINE int tern_mailbox_server_own(const tern_mailbox_server *server, uint32_t slot) {
    return tern_mailbox_lock_take(&server->box.server_locks[slot], server->name | TERN_MAILBOX_OWN);
}

/** Makes one step on a slot that this server holds: calls work on a posted packet and answers, or
 * calls clean on a finished packet and cleans it. clean is NULL if there is nothing to clean.
 * Returns 1 if there was a step to make, else 0. [out] keep: what the callback returned; unchanged
 * if there was no step. */
TERN_MAILBOX_INLINE int tern_mailbox_serve_on(const tern_mailbox_server *server, uint32_t slot,
                                              tern_mailbox_work *work, tern_mailbox_work *clean,
                                              void *argument, int *keep) {
    void *packet = tern_mailbox_packet(&server->box, slot);
    switch (tern_mailbox_look(&server->box, slot)) {
    case TERN_MAILBOX_POSTED:
        *keep = work(packet, slot, argument);
        return tern_mailbox_answer(server, slot);
    case TERN_MAILBOX_FINISHED:
        *keep = clean != NULL && clean(packet, slot, argument);
        return tern_mailbox_clean(server, slot);
    default:
        return 0;
    }
}

/** Gives back the slots that this server keeps for packets that will not come, because their client
 * has given up or died. Otherwise a server that stops later would hold these slots although no
 * call is on them. Calls clean, unless it is NULL, for each such slot with TERN_MAILBOX_GONE.
 * Returns whether the server still keeps other slots. Never blocks. tern_mailbox_serve calls this
 * function by itself.
 *
 * A client in the middle of a call has held its lock since before it posted its first packet, and
 * this server has acquired that packet. So if the client's lock is free, that client has left. A
 * client that takes the lock next either begins a new call or finishes this one in its place.
 *
 * The lock is loaded before the flags. A client posts before it gives its lock back, so this
 * function sees its last packet and the server works on it. The function does not keep a slot
 * because of an answer that nobody reads: at some time a client that looks for a slot may finish
 * it, and then any server cleans it.
 *
 * The function skips slots that this server owns permanently: the server takes the next call on
 * them in any case. */
TERN_MAILBOX_INLINE int tern_mailbox_forget(const tern_mailbox_server *server,
                                            tern_mailbox_work *clean, void *argument) {
    const tern_mailbox *box = &server->box;
    int keeps = 0;
    for (uint32_t slot = 0; slot < box->slots; slot++) {
        if (tern_mailbox_load32(&box->server_locks[slot].holder) != server->name)
            continue;
        uint32_t client = tern_mailbox_load32(&box->client_locks[slot].holder);
        tern_mailbox_state state = tern_mailbox_look(box, slot);
        if (client != 0 || state == TERN_MAILBOX_POSTED || state == TERN_MAILBOX_FINISHED) {
            keeps = 1;
            continue;
        }
        if (clean != NULL)
            (void)clean(tern_mailbox_packet(box, slot), slot | TERN_MAILBOX_GONE, argument);
        tern_mailbox_server_give(server, slot);
    }
    return keeps;
}

/** Looks at all slots once, and makes a step on each slot that waits for a server and that no other
 * server holds. clean is NULL if there is nothing to clean. Returns the number of steps; a round
 * trip takes two. Blocks only if a callback does. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_serve(tern_mailbox_server *server,
                                                tern_mailbox_work *work, tern_mailbox_work *clean,
                                                void *argument) {
    const tern_mailbox *box = &server->box;
    uint32_t groups = tern_mailbox_flags_groups(box->slots), steps = 0;
    uint32_t group = server->next / TERN_MAILBOX_GROUP;
    for (uint32_t i = 0; i < groups; i++, group = group + 1 < groups ? group + 1 : 0) {
        uint64_t waiting = tern_mailbox_flags_load(&box->client, group) ^
                           tern_mailbox_flags_load(&box->server, group);
        for (waiting &= tern_mailbox_group(box, group); waiting != 0; waiting &= waiting - 1) {
            uint32_t slot = group * TERN_MAILBOX_GROUP + tern_mailbox_lowest(waiting);
            int keep = 0;
            if (!tern_mailbox_server_hold(server, slot))
                continue;
            steps += (uint32_t)tern_mailbox_serve_on(server, slot, work, clean, argument, &keep);
            if (!keep)
                tern_mailbox_server_give(server, slot);
            else if (server->keeps == 0)
                server->keeps = 1;
        }
    }
    if (server->keeps != 0 && ++server->keeps > TERN_MAILBOX_SPINS)
        server->keeps = (uint32_t)tern_mailbox_forget(server, clean, argument);
    return steps;
}

/** Takes over the slots held by a server that will never run again, whose name is dead. The dead
 * server may have worked on a posted packet in part. Such a packet is not worked on again: recover
 * writes into it that the server was lost, and then it is answered. Returns the number of slots.
 * Several workers may do this at the same time. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_server_reclaim(const tern_mailbox_server *server,
                                                         uint32_t dead, tern_mailbox_work *recover,
                                                         void *argument) {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < server->box.slots; slot++) {
        tern_mailbox_lock *lock = &server->box.server_locks[slot];
        if (!tern_mailbox_lock_inherit(lock, dead, server->name))
            continue;
        tern_mailbox_flags_repair(&server->box.server, slot);
        if (tern_mailbox_look(&server->box, slot) == TERN_MAILBOX_POSTED) {
            (void)recover(tern_mailbox_packet(&server->box, slot), slot, argument);
            (void)tern_mailbox_answer(server, slot);
        }
        tern_mailbox_lock_give(lock, server->name);
        count++;
    }
    return count;
}

/* ---- Calls that wait ---- */

/* Pauses after that many unsuccessful looks, and calls the hook when its turn has come. Returns a
 * value other than 0 if the wait is over. */
TERN_MAILBOX_INLINE int tern_mailbox_rest(const tern_mailbox_wait *wait, uint32_t looks) {
    tern_mailbox_pause();
    if (wait == NULL || wait->idle == NULL || looks % TERN_MAILBOX_SPINS != TERN_MAILBOX_SPINS - 1)
        return 0;
    return wait->idle(wait->argument, looks / TERN_MAILBOX_SPINS);
}

/** Waits until the other side brings the slot into a state. The caller holds the slot. Returns 0,
 * or the hook's value that ended the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_await(const tern_mailbox *box, uint32_t slot,
                                           tern_mailbox_state state,
                                           const tern_mailbox_wait *wait) {
    for (uint32_t looks = 0; tern_mailbox_look(box, slot) != state; looks++) {
        int stop = tern_mailbox_rest(wait, looks);
        /* The other side may have changed the state while the hook ran. */
        if (stop != 0)
            return tern_mailbox_look(box, slot) == state ? 0 : stop;
    }
    return 0;
}

/** Waits until it can take a slot. [out] slot: as tern_mailbox_take returns it. Returns 0, or the
 * hook's value that ended the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_take_wait(tern_mailbox_client *client,
                                               const tern_mailbox_wait *wait, uint32_t *slot) {
    int stop = 0;
    for (uint32_t looks = 0;; looks++) {
        *slot = tern_mailbox_take(client);
        if (*slot != TERN_MAILBOX_NONE)
            return 0;
        if (stop != 0)
            return stop;
        stop = tern_mailbox_rest(wait, looks);
    }
}

/** Waits until the slot is quiet. The caller holds the slot. If an earlier call is still on it, of
 * this client or asynchronous, the function finishes that call first, because no other client can
 * do so now. Returns 0, or the hook's value that ended the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_await_quiet(const tern_mailbox_client *client, uint32_t slot,
                                                 const tern_mailbox_wait *wait) {
    if (tern_mailbox_flags_one(&client->box.client, slot)) {
        int stop = tern_mailbox_await(&client->box, slot, TERN_MAILBOX_ANSWERED, wait);
        if (stop != 0)
            return stop;
        (void)tern_mailbox_finish(client, slot);
    }
    return tern_mailbox_await(&client->box, slot, TERN_MAILBOX_QUIET, wait);
}

/** Makes one round trip on a slot that this client holds and continues to hold.
 *
 * @param fill writes the request to the packet
 * @param use reads the answer from the packet; NULL if there is nothing to read
 * @param argument passed to both
 * @param wait how to wait
 * @return 0, or the hook's value that ended the wait. In the second case the call goes on without
 *     this client: the client must not touch the packet any more, and may give the slot back.
 *
 * Blocking: until the slot is quiet, and then until the server answers. */
TERN_MAILBOX_INLINE int tern_mailbox_call_on(const tern_mailbox_client *client, uint32_t slot,
                                             tern_mailbox_use *fill, tern_mailbox_use *use,
                                             void *argument, const tern_mailbox_wait *wait) {
    void *packet = tern_mailbox_packet(&client->box, slot);
    int stop = tern_mailbox_await_quiet(client, slot, wait);
    if (stop != 0)
        return stop;
    fill(packet, slot, argument);
    (void)tern_mailbox_post(client, slot);
    stop = tern_mailbox_await(&client->box, slot, TERN_MAILBOX_ANSWERED, wait);
    if (stop != 0)
        return stop;
    if (use != NULL)
        use(packet, slot, argument);
    (void)tern_mailbox_finish(client, slot);
    return 0;
}

/** Makes a call: takes a slot, makes a round trip as tern_mailbox_call_on does, and gives the slot
 * back. Returns 0, or the hook's value that ended the wait.
 *
 * Blocking: until a slot is free, and then until the server answers. It does not wait for the
 * server to clean its slot. It waits for another call's slot to be cleaned only if no other slot
 * is free. */
TERN_MAILBOX_INLINE int tern_mailbox_call(tern_mailbox_client *client, tern_mailbox_use *fill,
                                          tern_mailbox_use *use, void *argument,
                                          const tern_mailbox_wait *wait) {
    uint32_t slot;
    int stop = tern_mailbox_take_wait(client, wait, &slot);
    if (stop != 0)
        return stop;
    stop = tern_mailbox_call_on(client, slot, fill, use, argument, wait);
    tern_mailbox_client_give(client, slot);
    return stop;
}

/** Makes an asynchronous call: waits for a slot, but not for the answer, which nobody reads.
 * Returns 0, or the hook's value that ended the wait; then nothing was posted. */
TERN_MAILBOX_INLINE int tern_mailbox_send(tern_mailbox_client *client, tern_mailbox_use *fill,
                                          void *argument, const tern_mailbox_wait *wait) {
    uint32_t slot;
    int stop = tern_mailbox_take_wait(client, wait, &slot);
    if (stop != 0)
        return stop;
    fill(tern_mailbox_packet(&client->box, slot), slot, argument);
    (void)tern_mailbox_post(client, slot);
    tern_mailbox_client_give(client, slot);
    return 0;
}

#endif
