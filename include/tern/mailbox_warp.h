#ifndef TERN_MAILBOX_WARP_H
#define TERN_MAILBOX_WARP_H

/*
 * A slot of a mailbox (tern/mailbox.h) for the 32 lanes of a warp: on a GPU what calls, and what
 * holds a slot, is a warp (paper 002, sections 4 and 2.3; with a mask of its lanes, 9.3). The
 * packet is a head and a cache line for each lane:
 *
 *     line 0        head: lanes that are asked for, number of the packet, lanes that go on
 *     line 1 + i    lane i: eight words, the request of its call and then the answer
 *
 * A lane that is not asked for is a no-op: nobody reads its line, so it need not be cleared after a
 * call as in the paper. A server works on all the lanes of a packet, and says of each whether its
 * call is over. The client posts again for those that are not, with the others left out, until all
 * calls are; so one lane can pass more than a line holds, and one whose answer is not there yet can
 * be asked again, while the answers of the others are out. The server keeps the slot meanwhile, and
 * knows the number of the packet to come: one that goes on with what another server has begun,
 * which died in between, is lost.
 *
 * The same functions run on both sides of the bus. On a GPU each lane is a thread that has come
 * here together with others, a party; the lowest of them drives the slot, and between its steps and
 * the others' accesses to their lines stands a __syncwarp. On a host one thread plays all lanes.
 * Lanes of one warp that have diverged may be in different parties with a slot each: a lane that
 * waits stops nobody outside its party (compute capability 7.0 and more).
 *
 * Order: what lanes wrote is before the __syncwarp, and that before the release of the one that
 * posts or answers; what it has acquired is before the next __syncwarp, and that before the others'
 * reads. Scopes add up, so lanes read and write their lines plainly.
 *
 * Freestanding: C11, C++ and CUDA. Both sides trust each other: a client's mask is taken from the
 * packet once, but the words of a line are the program's to check.
 */

#include "tern/mailbox_message.h"

#define TERN_MAILBOX_LANES 32u

/* What a lane and its server tell each other. The program gives the words a meaning. */
typedef struct tern_mailbox_lane {
    uint64_t word[TERN_MAILBOX_LINE / 8];
} tern_mailbox_lane;

/* A packet. A mailbox for warps has packets of sizeof(tern_mailbox_warp). The outcome is where a
 * tern_mailbox_head has its own, so what answers for dead servers is the same for messages and for
 * warps: tern_mailbox_message_recover. */
typedef struct tern_mailbox_warp {
    uint32_t asked;  /* by the client: lanes that are to be worked on, a bit for each */
    uint32_t number; /* by the client: packets of the same calls before this one */
    uint32_t open;   /* by the server: lanes of them whose calls are not over */
    uint32_t
        single; /* by the client: not 0, no packet follows, also for lanes that would be open */
    uint32_t unused;
    int32_t outcome; /* by the server: TERN_MAILBOX_OK; by who has taken its place: _LOST */
    uint32_t unused_too[TERN_MAILBOX_LINE / 4 - 6];
    tern_mailbox_lane lane[TERN_MAILBOX_LANES];
} tern_mailbox_warp;

/* Lanes that come to a function together. All of them call it, with the same lanes. */
typedef struct tern_mailbox_party {
    uint32_t lanes; /* a bit for each */
    uint32_t own;   /* those that the calling thread plays: one on a GPU, all of them on a host */
} tern_mailbox_party;

/* Where a line is. */
typedef struct tern_mailbox_place {
    uint32_t slot, lane;
    uint32_t number; /* of the packet, among those of its lane's call */
} tern_mailbox_place;

/* What a client does with a line: fill it, use it. On a GPU each lane has an argument of its own.
 */
typedef void tern_mailbox_lane_use(tern_mailbox_lane *line, tern_mailbox_place place,
                                   void *argument);
/* What a server does with a line. Not 0: the lane's call is not over. */
typedef int tern_mailbox_lane_work(tern_mailbox_lane *line, tern_mailbox_place place,
                                   void *argument);

/* A server's. On a GPU it is made there: work is an address in the code of one processor. */
typedef struct tern_mailbox_crew {
    tern_mailbox_lane_work *work;
    void *argument;
    /* By slot: packets of its call that this server has worked on, 0: it is on none. Zeroed at
     * first; one server's alone, and one for all lanes of a warp. NULL: no server dies and leaves
     * others, so nothing is checked. */
    uint32_t *worked;
} tern_mailbox_crew;

/* ---- Parties ---- */

/* A host's thread that plays all these lanes. None is fine. */
TERN_MAILBOX_INLINE tern_mailbox_party tern_mailbox_party_whole(uint32_t lanes) {
    tern_mailbox_party party = {lanes, lanes};
    return party;
}

/* A GPU's thread that is one of these lanes. */
TERN_MAILBOX_INLINE tern_mailbox_party tern_mailbox_party_lane(uint32_t lanes, uint32_t lane) {
    tern_mailbox_party party = {lanes, (uint32_t)1 << lane};
    return party;
}

/* Whether this thread drives the slot: it plays the party's lowest lane. */
TERN_MAILBOX_INLINE int tern_mailbox_party_leads(tern_mailbox_party party) {
    return (party.own & party.lanes & (~party.lanes + 1)) != 0;
}

/* Not for applications: the three ways in which lanes come together; each orders memory. sync;
 * share: the leader's value for all; gather: what own lanes' bits are in all. TERN_MAILBOX_PLAYED:
 * in a test, threads of a host play the lanes. */
#if defined(__CUDA_ARCH__) || defined(TERN_MAILBOX_PLAYED)

TERN_MAILBOX_INLINE void tern_mailbox_party_sync(tern_mailbox_party party) {
    __syncwarp(party.lanes);
}

TERN_MAILBOX_INLINE int tern_mailbox_party_share(tern_mailbox_party party, int value) {
    /* A shuffle passes a register on, and orders nothing else. */
    value = __shfl_sync(party.lanes, value, (int)tern_mailbox_lowest(party.lanes));
    __syncwarp(party.lanes);
    return value;
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_party_gather(tern_mailbox_party party, uint32_t bits) {
    bits = __ballot_sync(party.lanes, bits != 0);
    __syncwarp(party.lanes);
    return bits;
}

#else

TERN_MAILBOX_INLINE void tern_mailbox_party_sync(tern_mailbox_party party) { (void)party; }

TERN_MAILBOX_INLINE int tern_mailbox_party_share(tern_mailbox_party party, int value) {
    (void)party;
    return value;
}

TERN_MAILBOX_INLINE uint32_t tern_mailbox_party_gather(tern_mailbox_party party, uint32_t bits) {
    (void)party;
    return bits;
}

#endif

/* ---- Client ---- */

/* Not for applications: this thread's share of filling or using a packet. */
TERN_MAILBOX_INLINE void tern_mailbox_warp_lines(tern_mailbox_warp *packet, uint32_t lanes,
                                                 tern_mailbox_place place,
                                                 tern_mailbox_lane_use *use, void *argument) {
    for (; lanes != 0; lanes &= lanes - 1) {
        place.lane = tern_mailbox_lowest(lanes);
        use(&packet->lane[place.lane], place, argument);
    }
}

/* Not for applications: what precedes a packet, in the thread that leads: its slot is quiet. A long
 * call has a deadline also where none of its packets is waited for. 0, or what ended the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_pace(const tern_mailbox_client *client,
                                               tern_mailbox_place place,
                                               const tern_mailbox_wait *wait) {
    int stop = 0;
    if (place.number > 0 && place.number % TERN_MAILBOX_SPINS == 0 && wait != NULL &&
        wait->idle != NULL)
        stop = wait->idle(wait->argument, 0);
    return stop != 0 ? stop : tern_mailbox_await_quiet(client, place.slot, wait);
}

/* Not for applications: fills a packet for these lanes of the party and posts it. 0, or what ended
 * the wait for a slot that an earlier call is still on. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_post(const tern_mailbox_client *client,
                                               tern_mailbox_place place, tern_mailbox_party party,
                                               uint32_t asked, int single,
                                               tern_mailbox_lane_use *fill, void *argument,
                                               const tern_mailbox_wait *wait) {
    tern_mailbox_warp *packet = (tern_mailbox_warp *)tern_mailbox_packet(&client->box, place.slot);
    int stop = 0, leads = tern_mailbox_party_leads(party);
    if (leads)
        stop = tern_mailbox_warp_pace(client, place, wait);
    stop = tern_mailbox_party_share(party, stop);
    if (stop != 0)
        return stop;
    tern_mailbox_warp_lines(packet, asked & party.own, place, fill, argument);
    if (leads) {
        packet->asked = asked;
        packet->number = place.number;
        packet->single = (uint32_t)single;
    }
    tern_mailbox_party_sync(party);
    if (leads)
        (void)tern_mailbox_post(client, place.slot);
    return 0;
}

/* Calls by the lanes of a party, on a slot that the client holds and goes on holding, in as many
 * round trips as the last of them takes. (Or has by its number; if servers take locks it is to own
 * it all the same where a call may take several packets.) use NULL: there is nothing to read in
 * answers. 0. TERN_MAILBOX_LOST: the server died; some lanes may have been answered before. Or what
 * ended the wait: the packet is not to be touched any more, and the slot may be given back. The
 * same for all lanes. Waits for the server, in the thread that leads, which alone calls the hook.
 */
TERN_MAILBOX_INLINE int tern_mailbox_warp_call_on(const tern_mailbox_client *client, uint32_t slot,
                                                  tern_mailbox_party party,
                                                  tern_mailbox_lane_use *fill,
                                                  tern_mailbox_lane_use *use, void *argument,
                                                  const tern_mailbox_wait *wait) {
    tern_mailbox_warp *packet = (tern_mailbox_warp *)tern_mailbox_packet(&client->box, slot);
    tern_mailbox_place place = {slot, 0, 0};
    int leads = tern_mailbox_party_leads(party);
    for (uint32_t asked = party.lanes; asked != 0; place.number++) {
        int stop = tern_mailbox_warp_post(client, place, party, asked, 0, fill, argument, wait);
        if (stop == 0 && leads)
            stop = tern_mailbox_await(&client->box, slot, TERN_MAILBOX_ANSWERED, wait);
        stop = tern_mailbox_party_share(party, stop);
        if (stop != 0)
            return stop;
        uint32_t open = packet->open & asked;
        int lost = packet->outcome != TERN_MAILBOX_OK;
        if (use != NULL && !lost)
            tern_mailbox_warp_lines(packet, asked & party.own, place, use, argument);
        tern_mailbox_party_sync(party);
        if (leads)
            (void)tern_mailbox_finish(client, slot);
        if (lost)
            return TERN_MAILBOX_LOST;
        asked = open;
    }
    return 0;
}

/* Not for applications: a slot for the party. 0, or what ended the wait. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_take(tern_mailbox_client *client,
                                               tern_mailbox_party party,
                                               const tern_mailbox_wait *wait, uint32_t *slot) {
    int stop = 0;
    *slot = 0;
    if (tern_mailbox_party_leads(party))
        stop = tern_mailbox_take_wait(client, wait, slot);
    stop = tern_mailbox_party_share(party, stop);
    *slot = (uint32_t)tern_mailbox_party_share(party, (int)*slot);
    return stop;
}

/* The same on any slot, which is given back. On a GPU each lane has a client of its own, all of a
 * warp's under one name. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_call(tern_mailbox_client *client,
                                               tern_mailbox_party party,
                                               tern_mailbox_lane_use *fill,
                                               tern_mailbox_lane_use *use, void *argument,
                                               const tern_mailbox_wait *wait) {
    uint32_t slot;
    if (party.lanes == 0)
        return 0;
    int stop = tern_mailbox_warp_take(client, party, wait, &slot);
    if (stop != 0)
        return stop;
    stop = tern_mailbox_warp_call_on(client, slot, party, fill, use, argument, wait);
    if (tern_mailbox_party_leads(party))
        tern_mailbox_client_give(client, slot);
    return stop;
}

/* Asynchronous calls, of one packet each, whose answers nobody reads (8.1): the server lets go of
 * the slot also if it would have had more. 0, or what ended the wait for a slot: then nothing was
 * posted. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_send(tern_mailbox_client *client,
                                               tern_mailbox_party party,
                                               tern_mailbox_lane_use *fill, void *argument,
                                               const tern_mailbox_wait *wait) {
    tern_mailbox_place place = {0, 0, 0};
    if (party.lanes == 0)
        return 0;
    int stop = tern_mailbox_warp_take(client, party, wait, &place.slot);
    if (stop != 0)
        return stop;
    stop = tern_mailbox_warp_post(client, place, party, party.lanes, 1, fill, argument, wait);
    if (tern_mailbox_party_leads(party))
        tern_mailbox_client_give(client, place.slot);
    return stop;
}

/* ---- Server ---- */

/* Not for applications: whether this server has worked on all packets of the call before this one.
 */
TERN_MAILBOX_INLINE int tern_mailbox_warp_follows(const tern_mailbox_crew *crew,
                                                  tern_mailbox_place place) {
    return place.number == 0 || crew->worked == NULL || crew->worked[place.slot] == place.number;
}

/* Works on a packet's lines, this thread on those that it plays, and writes what the client is to
 * know of them: also that the call is lost, if another server has begun it. The lanes whose calls
 * are not over. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_warp_work_on(tern_mailbox_warp *packet, uint32_t slot,
                                                       tern_mailbox_party party,
                                                       const tern_mailbox_crew *crew) {
    tern_mailbox_place place = {slot, 0, packet->number};
    uint32_t left = packet->asked & party.lanes & party.own, open = 0;
    int follows = tern_mailbox_warp_follows(crew, place), single = packet->single != 0;
    for (left = follows ? left : 0; left != 0; left &= left - 1) {
        place.lane = tern_mailbox_lowest(left);
        if (crew->work(&packet->lane[place.lane], place, crew->argument))
            open |= (uint32_t)1 << place.lane;
    }
    open = tern_mailbox_party_gather(party, open);
    if (single)
        open = 0;
    if (tern_mailbox_party_leads(party)) {
        packet->open = open;
        packet->outcome = follows ? TERN_MAILBOX_OK : TERN_MAILBOX_LOST;
        if (crew->worked != NULL)
            crew->worked[slot] = open != 0 ? place.number + 1 : 0;
    }
    return open;
}

/* The work of a server on a host (tern_mailbox_serve), with a tern_mailbox_crew as the argument. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_work(void *packet, uint32_t slot, void *argument) {
    return tern_mailbox_warp_work_on((tern_mailbox_warp *)packet, slot,
                                     tern_mailbox_party_whole(~(uint32_t)0),
                                     (const tern_mailbox_crew *)argument) != 0;
}

/* The clean of a server on a host, with the same argument: the slot is kept while calls go on that
 * this server has worked on, and their client is there. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_clean(void *packet, uint32_t slot, void *argument) {
    const tern_mailbox_crew *crew = (const tern_mailbox_crew *)argument;
    if (!(slot & TERN_MAILBOX_GONE))
        return crew->worked != NULL ? crew->worked[slot] != 0
                                    : ((tern_mailbox_warp *)packet)->open != 0;
    if (crew->worked != NULL)
        crew->worked[slot & ~TERN_MAILBOX_GONE] = 0;
    return 0;
}

/* One step on a slot that the party holds as a server, or has by its number: works on what was
 * posted, or cleans what was finished. Whether there was something to do, the same for all lanes. A
 * whole warp serves: lanes that are not in the party are not worked on, and are answered all the
 * same. Never blocks, but for what the work does. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_serve_on(const tern_mailbox_server *server, uint32_t slot,
                                                   tern_mailbox_party party,
                                                   const tern_mailbox_crew *crew) {
    int leads = tern_mailbox_party_leads(party);
    int state = leads ? (int)tern_mailbox_look(&server->box, slot) : 0;
    state = tern_mailbox_party_share(party, state);
    if (state == TERN_MAILBOX_POSTED) {
        (void)tern_mailbox_warp_work_on(
            (tern_mailbox_warp *)tern_mailbox_packet(&server->box, slot), slot, party, crew);
        if (leads)
            (void)tern_mailbox_answer(server, slot);
        return 1;
    }
    if (state == TERN_MAILBOX_FINISHED && leads)
        (void)tern_mailbox_clean(server, slot);
    return state == TERN_MAILBOX_FINISHED;
}

#endif
