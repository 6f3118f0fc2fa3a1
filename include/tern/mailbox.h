#ifndef TERN_MAILBOX_H
#define TERN_MAILBOX_H

/*
 * Mailbox: remote procedure calls through shared memory, by polling alone (paper 002).
 * Freestanding: no libc, no MPI, no system call; the same header is C11, C++ and CUDA.
 * tern/mailbox_host.h gives it memory, names and patience.
 *
 * A mailbox is a number of slots. A slot is a packet, a buffer of fixed size, and two flags, of
 * which the client's is written by the client alone and the server's by the server alone. Together
 * they say whose the packet is (table 1 of the paper):
 *
 *     client  server   state                      packet    who goes on, and how
 *       0       0      TERN_MAILBOX_QUIET         client's  fills it and posts
 *       1       0      TERN_MAILBOX_POSTED        server's  works on it and answers
 *       1       1      TERN_MAILBOX_ANSWERED      client's  uses it and finishes
 *       0       1      TERN_MAILBOX_FINISHED      server's  cleans it; then it is quiet again
 *
 * So equal flags make the packet the client's, different ones the server's; whoever has it passes
 * it on by writing its own flag, which the other side cannot do, and touches it no more. A flag is
 * stored with release and loaded with acquire: what one side wrote to the packet is there for the
 * other, and what it read there is read before the other overwrites it.
 *
 * Many clients and many servers (7.3): each side has a lock word for each slot, which holds the
 * name of the worker that may write that side's flag, or 0. Whoever looks for a slot to work on
 * loads flags first, takes the lock, and looks again (7.4); while it has the lock and its side has
 * the packet, nobody else can change the state. Nobody waits for a lock: a worker that stops for
 * ever costs the slots it holds, of which a server keeps one for each call of several packets that
 * it is on. With each of a server's slots goes one call, which ends at its client's deadline: the
 * one that is on it, or comes to it next, since no client looks at servers' locks, in which it
 * would miss its cache at each call. A lock that is released carries the state of the slot to who
 * takes it next.
 *
 *   - A slot can be one worker's for good (tern_mailbox_client_own, _server_own): no lock is taken
 *     any more. On GPUs, where a slot belongs to a warp by its number, not even that is needed, but
 *     for calls of several packets: a client whose lock is free has gone.
 *   - A client that gives a slot back right after posting has made an asynchronous call (8.1). Its
 *     answer lies there with the lock free, until some client that looks for a slot finishes it.
 *     Likewise a client that waits no longer leaves its call behind as an asynchronous one, and one
 *     that died does so once its locks are reclaimed.
 *   - A slot can serve the 32 lanes of a warp at once (tern/mailbox_warp.h).
 *   - A client may make many round trips while it holds a slot, to pass more than a packet holds
 *     (8.4); the slot's number tells the server which call a packet belongs to. A server that keeps
 *     a slot for the next packet gives it back once the client has gone (tern_mailbox_forget).
 *
 * Functions that wait call a hook between looks, so that a processor that others need is given up.
 * All are for any thread; a tern_mailbox_client or _server is for one thread at a time.
 */

#include "tern/mailbox_flags.h"

typedef enum tern_mailbox_state {
    TERN_MAILBOX_QUIET = 0,
    TERN_MAILBOX_POSTED = 1,
    TERN_MAILBOX_FINISHED = 2,
    TERN_MAILBOX_ANSWERED = 3
} tern_mailbox_state;

/* No slot. */
#define TERN_MAILBOX_NONE 0xffffffffu
/* The most slots of a mailbox, and the most bytes of a packet. */
#define TERN_MAILBOX_SLOTS_MAX 65536u
#define TERN_MAILBOX_PACKET_MAX 0x40000000u
/* Names of workers are 1 to this. */
#define TERN_MAILBOX_NAME_MAX 0x7fffffffu
/* In a lock word, beside the name: the slot is its holder's for good. */
#define TERN_MAILBOX_OWN 0x80000000u
/* In the number that a clean gets: the client has gone. */
#define TERN_MAILBOX_GONE 0x80000000u
/* Looks at a flag between two calls of a hook. */
#define TERN_MAILBOX_SPINS 64u

typedef struct tern_mailbox_lock {
    uint32_t holder; /* name of a worker of this side, 0: free */
    uint32_t unused[TERN_MAILBOX_LINE / 4 - 1];
} tern_mailbox_lock;

/* Where a mailbox lies in this address space. */
typedef struct tern_mailbox {
    tern_mailbox_flags client, server; /* each side's outbox, and the other's inbox */
    tern_mailbox_lock *client_locks, *server_locks;
    uint8_t *packets;
    uint32_t slots, bytes; /* bytes: of a packet, a multiple of a cache line */
} tern_mailbox;

/* One worker of a side. */
typedef struct tern_mailbox_client {
    tern_mailbox box;
    uint32_t name;
    uint32_t next; /* the slot that its next search begins with */
} tern_mailbox_client;

typedef struct tern_mailbox_server {
    tern_mailbox box;
    uint32_t name;
    uint32_t next;
    /* 0: no slot between packets; else rounds since it looked after them, and one. */
    uint32_t keeps;
} tern_mailbox_server;

/* What a client does with its packet: fill it, use it. */
typedef void tern_mailbox_use(void *packet, uint32_t slot, void *argument);
/* What a server does with its packet: work on it, clean it. Not 0: this worker goes on holding the
 * slot, since more packets of the same call are to come to it. Once the client of such a call has
 * gone, clean is called with the slot's number and TERN_MAILBOX_GONE: the call is over, the packet
 * is not to be touched. If work was the last to keep the slot, the packet is still to be cleaned
 * after that, by whichever worker. */
typedef int tern_mailbox_work(void *packet, uint32_t slot, void *argument);

/* How to wait: idle is called after each TERN_MAILBOX_SPINS looks, with the number of calls before;
 * it gives the processor up and returns 0, or something else, which ends the wait. With more
 * workers than cores it had better sleep a little when yielding some times did not help, which does
 * not reach other scheduling groups (mailbox/workers.c). No hook at all, or NULL for the structure:
 * wait for ever, without giving the processor up. */
typedef struct tern_mailbox_wait {
    int (*idle)(void *argument, uint32_t calls);
    void *argument;
} tern_mailbox_wait;

/* ---- Memory ---- */

/* Bytes of shared memory for so many slots with packets of so many bytes; 0: beyond the limits. */
TERN_MAILBOX_INLINE size_t tern_mailbox_bytes(uint32_t slots, uint32_t packet) {
    if (slots == 0 || slots > TERN_MAILBOX_SLOTS_MAX || packet > TERN_MAILBOX_PACKET_MAX)
        return 0;
    size_t line = TERN_MAILBOX_LINE, bytes = (packet + line - 1) / line * line;
    return slots * bytes + 2 * tern_mailbox_flags_bytes(slots) +
           2 * (size_t)slots * sizeof(tern_mailbox_lock);
}

/* The mailbox that lies in memory of tern_mailbox_bytes(slots, packet), which begins at a cache
 * line's start and was zero before anybody used it: all slots quiet. Flags lie behind the packets,
 * as PCIe wants it (section 5). */
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

/* A worker of the mailbox, under a name that no other worker of its side has. */
TERN_MAILBOX_INLINE tern_mailbox_client tern_mailbox_client_at(const tern_mailbox *box,
                                                               uint32_t name) {
    tern_mailbox_client client = {*box, name, name % box->slots};
    return client;
}

TERN_MAILBOX_INLINE tern_mailbox_server tern_mailbox_server_at(const tern_mailbox *box,
                                                               uint32_t name) {
    tern_mailbox_server server = {*box, name, name % box->slots, 0};
    return server;
}

TERN_MAILBOX_INLINE void *tern_mailbox_packet(const tern_mailbox *box, uint32_t slot) {
    return box->packets + (size_t)slot * box->bytes;
}

/* ---- The state machine: steps that never block ---- */

/* The state of a slot. Exact, and there to stay, for who holds the slot on the side that has the
 * packet; a moment of the past for everybody else. */
TERN_MAILBOX_INLINE tern_mailbox_state tern_mailbox_look(const tern_mailbox *box, uint32_t slot) {
    unsigned client = tern_mailbox_flags_one(&box->client, slot);
    unsigned server = tern_mailbox_flags_one(&box->server, slot);
    return (tern_mailbox_state)(client | server << 1);
}

/* The four transitions, for who holds the slot. 1: done. 0: the slot is in another state than the
 * transition begins with; nothing has changed. */
TERN_MAILBOX_INLINE int tern_mailbox_post(const tern_mailbox_client *client, uint32_t slot) {
    if (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_QUIET)
        return 0;
    tern_mailbox_flags_write(&client->box.client, slot, 1);
    return 1;
}

TERN_MAILBOX_INLINE int tern_mailbox_answer(const tern_mailbox_server *server, uint32_t slot) {
    if (tern_mailbox_look(&server->box, slot) != TERN_MAILBOX_POSTED)
        return 0;
    tern_mailbox_flags_write(&server->box.server, slot, 1);
    return 1;
}

TERN_MAILBOX_INLINE int tern_mailbox_finish(const tern_mailbox_client *client, uint32_t slot) {
    if (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_ANSWERED)
        return 0;
    tern_mailbox_flags_write(&client->box.client, slot, 0);
    return 1;
}

TERN_MAILBOX_INLINE int tern_mailbox_clean(const tern_mailbox_server *server, uint32_t slot) {
    if (tern_mailbox_look(&server->box, slot) != TERN_MAILBOX_FINISHED)
        return 0;
    tern_mailbox_flags_write(&server->box.server, slot, 0);
    return 1;
}

/* ---- Locks ---- */

/* Takes the lock if it is free. It acquires what its last holder released, so the taker knows its
 * side's flag. The load first, so that a lock that is held stays in its holder's cache. */
TERN_MAILBOX_INLINE int tern_mailbox_lock_take(tern_mailbox_lock *lock, uint32_t holder) {
    return tern_mailbox_load32(&lock->holder) == 0 && tern_mailbox_cas32(&lock->holder, 0, holder);
}

/* Gives the lock back, unless the slot is this worker's for good. */
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

/* The slots of a group that are there, a bit for each. */
TERN_MAILBOX_INLINE uint64_t tern_mailbox_group(const tern_mailbox *box, uint32_t group) {
    uint32_t count = box->slots - group * TERN_MAILBOX_GROUP;
    return count < TERN_MAILBOX_GROUP ? ((uint64_t)1 << count) - 1
                                      : ~(uint64_t)0 >> (64 - TERN_MAILBOX_GROUP);
}

/* ---- Client ---- */

/* Gives a slot back. Posted and not answered, or answered and not finished: the call goes on as an
 * asynchronous one, whose answer nobody reads. */
TERN_MAILBOX_INLINE void tern_mailbox_client_give(const tern_mailbox_client *client,
                                                  uint32_t slot) {
    tern_mailbox_lock_give(&client->box.client_locks[slot], client->name);
}

/* The first of these slots that is free and quiet, now held, or TERN_MAILBOX_NONE. A slot is looked
 * at again once its lock is held: others may have used it in between. */
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

/* Finishes those of these slots that are answered with nobody waiting for the answer. */
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

/* Takes a slot: it is held, quiet, and its packet this client's. TERN_MAILBOX_NONE: there is none
 * now. Looks at each group of slots once, and finishes asynchronous calls there before it looks for
 * a free slot among them. */
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

/* Makes a slot this client's for good, if nobody holds it: 1, else 0. It may still be under way
 * from an earlier call; tern_mailbox_call_on waits for that. */
TERN_MAILBOX_INLINE int tern_mailbox_client_own(const tern_mailbox_client *client, uint32_t slot) {
    return tern_mailbox_lock_take(&client->box.client_locks[slot], client->name | TERN_MAILBOX_OWN);
}

/* Frees what a client held that will never run again; its calls under way become asynchronous ones.
 * How many slots. Many may do this at the same time. */
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

/* Holds the slot, from now on or already. */
TERN_MAILBOX_INLINE int tern_mailbox_server_hold(const tern_mailbox_server *server, uint32_t slot) {
    tern_mailbox_lock *lock = &server->box.server_locks[slot];
    return (tern_mailbox_load32(&lock->holder) & ~TERN_MAILBOX_OWN) == server->name ||
           tern_mailbox_lock_take(lock, server->name);
}

/* Gives a slot back, of whose call no further packet is to come to this server. */
TERN_MAILBOX_INLINE void tern_mailbox_server_give(const tern_mailbox_server *server,
                                                  uint32_t slot) {
    tern_mailbox_lock_give(&server->box.server_locks[slot], server->name);
}

/* Makes a slot this server's for good, if nobody holds it: 1, else 0. Nobody else serves it then,
 * and this server takes no lock for it. */
TERN_MAILBOX_INLINE int tern_mailbox_server_own(const tern_mailbox_server *server, uint32_t slot) {
    return tern_mailbox_lock_take(&server->box.server_locks[slot], server->name | TERN_MAILBOX_OWN);
}

/* One step on a slot that this server holds: works on what was posted, or cleans what was finished
 * (clean NULL: there is nothing to clean). Whether there was something to do; [out] keep: what the
 * callback returned. */
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

/* Gives back the slots that this server keeps for packets that will not come, since their client
 * has given up or died: a server that stops later does not hold them, and nobody calls it there.
 * Whether it goes on keeping others. Never blocks.
 * A client in the middle of a call has held its lock since before its first packet, which this
 * server has acquired. So if the lock is free that client has gone, and whoever takes it next
 * begins a call, or finishes this one in its place. The lock is loaded before the flags: a client
 * posts before it gives its lock back, so its last packet is seen, and is worked on. An answer that
 * nobody reads is no reason to keep the slot: some client that looks for one finishes it, if ever,
 * and then any server cleans it. A slot of this server's own stays its own, and takes the next call
 * as it comes. */
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

/* Looks at all slots once and takes a step on each that waits for a server and that nobody else
 * holds. How many steps; two make a call. Never blocks, but for what the callbacks do. */
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

/* Takes over what a server held that will never run again. A packet that it may have worked on in
 * part is given to recover, which says so to the client instead of working on it; then it is
 * answered. How many slots. Many may do this at the same time. */
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

/* After the given number of looks in vain. Not 0: the wait is over. */
TERN_MAILBOX_INLINE int tern_mailbox_rest(const tern_mailbox_wait *wait, uint32_t looks) {
    tern_mailbox_pause();
    if (wait == NULL || wait->idle == NULL || looks % TERN_MAILBOX_SPINS != TERN_MAILBOX_SPINS - 1)
        return 0;
    return wait->idle(wait->argument, looks / TERN_MAILBOX_SPINS);
}

/* Waits, as the holder of the slot, for the other side to bring it into a state. 0, or what ended
 * the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_await(const tern_mailbox *box, uint32_t slot,
                                           tern_mailbox_state state,
                                           const tern_mailbox_wait *wait) {
    for (uint32_t looks = 0; tern_mailbox_look(box, slot) != state; looks++) {
        int stop = tern_mailbox_rest(wait, looks);
        /* What came in the meantime counts. */
        if (stop != 0)
            return tern_mailbox_look(box, slot) == state ? 0 : stop;
    }
    return 0;
}

/* Waits for a slot. [out] slot: as tern_mailbox_take gives it. 0, or what ended the wait. */
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

/* Waits, as the holder of the slot, until it is quiet. A call that was left on it, by this client
 * or as an asynchronous one, is finished first, which nobody else can do now. 0, or what ended the
 * wait. */
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

/* One round trip on a slot that this client holds; the slot stays held. use NULL: there is nothing
 * to read in the answer. 0, or what ended the wait: the call goes on without this client, which
 * must not touch the packet any more and may give the slot back. */
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

/* A call: takes a slot, makes a round trip, gives the slot back. It does not wait for the server to
 * clean the slot, nor for a slot that was not cleaned yet if there is another. 0, or what ended the
 * wait. */
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

/* An asynchronous call: waits for a slot, but not for an answer, which nobody reads. 0, or what
 * ended the wait: then nothing was posted. */
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
