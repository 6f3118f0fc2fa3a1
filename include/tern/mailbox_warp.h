#ifndef TERN_MAILBOX_WARP_H
#define TERN_MAILBOX_WARP_H

/*
 * A slot of a mailbox (tern/mailbox.h) for the 32 lanes of a warp. On a GPU, a warp makes the calls
 * and holds the slot (paper 002, sections 4 and 2.3; with a mask of its lanes, 9.3). The packet has
 * a head and one cache line for each lane:
 *
 *     offset        line    content
 *     0             0       head: asked, number and single, written by the client;
 *                           open and outcome, written by the server
 *     64 + 64 * i   1 + i   lane i: eight words, its request, then its answer
 *
 * Nobody reads the line of a lane that is not asked. So, unlike in the paper, the line need not be
 * cleared after a call. A server works on all asked lanes of a packet, and reports for each lane
 * whether its call is over. The client posts the packet again for the lanes whose calls are not
 * over, until all calls are over. In this way a lane can pass more than one line holds, and a lane
 * whose answer is not ready yet can be asked again after the other lanes have got their answers.
 * The server keeps the slot meanwhile, and knows the number of the next packet. A packet that
 * continues the call of another server, which died in between, is answered as lost.
 *
 * The same functions run on both sides of the bus. On a GPU, each lane is a thread. The threads
 * that come to a function together are a party. The thread of the lowest lane drives the slot, and
 * a __syncwarp separates its steps from the other threads' accesses to their lines. On a host, one
 * thread plays all lanes. Lanes of one warp that have diverged may be in different parties, with a
 * slot for each party: a lane that waits stops only its own party (compute capability 7.0 and
 * more).
 *
 * Order: what lanes wrote happens before the __syncwarp, and that happens before the release store
 * of the leading thread that posts or answers. What the leading thread has acquired happens before
 * the next __syncwarp, and that happens before the other lanes' reads. These orders of different
 * scopes are transitive, so lanes read and write their lines by plain accesses.
 *
 * Freestanding: C11, C++ and CUDA. Both sides trust each other. The server reads a client's mask
 * from the packet once, but the program has to check the words of a line.
 */

#include "tern/mailbox_message.h"

/* The most lanes of a party. */
#define TERN_MAILBOX_LANES 32u

/* The message between a lane and its server. The program gives the words their meaning. */
typedef struct tern_mailbox_lane {
    uint64_t word[TERN_MAILBOX_LINE / 8];
} tern_mailbox_lane;

/* A packet. A mailbox for warps has packets of sizeof(tern_mailbox_warp). outcome has the same
 * offset as kind in a tern_mailbox_head, so tern_mailbox_message_recover answers for dead servers
 * here, too. */
typedef struct tern_mailbox_warp {
    uint32_t asked;  /* by the client: the lanes to work on, one bit for each */
    uint32_t number; /* by the client: number of earlier packets of the same calls */
    uint32_t open;   /* by the server: the asked lanes whose calls are not over */
    /* by the client: not 0 means that no packet follows, even for lanes that would be open */
    uint32_t single;
    uint32_t unused;
    int32_t outcome; /* by the server: TERN_MAILBOX_OK or _LOST; in place of a dead one: _LOST */
    uint32_t unused_too[TERN_MAILBOX_LINE / 4 - 6];
    tern_mailbox_lane lane[TERN_MAILBOX_LANES];
} tern_mailbox_warp;

/* Lanes that come to a function together. All of them call the function, with the same lanes. */
typedef struct tern_mailbox_party {
    uint32_t lanes; /* one bit for each lane */
    uint32_t own;   /* lanes that the calling thread plays: one on a GPU, all on a host */
} tern_mailbox_party;

/* Identifies a line. */
typedef struct tern_mailbox_place {
    uint32_t slot, lane;
    uint32_t number; /* number of the packet, counted within the lane's call */
} tern_mailbox_place;

/* A function of a client that fills a line, or one that uses the answer in it. On a GPU each lane
 * has an argument of its own. */
typedef void tern_mailbox_lane_use(tern_mailbox_lane *line, tern_mailbox_place place,
                                   void *argument);
/* A function of a server that works on a line. It returns a value other than 0 if the lane's call
 * is not over. */
typedef int tern_mailbox_lane_work(tern_mailbox_lane *line, tern_mailbox_place place,
                                   void *argument);

/* What a server works with. For a server on a GPU, the GPU makes the crew, because the address work
 * is valid on one processor only. */
typedef struct tern_mailbox_crew {
    tern_mailbox_lane_work *work;
    void *argument;
    /* By slot: number of packets of the slot's call that this server has worked on; 0 if it serves
     * no call there. Zeroed at first. Each server has its own array, which all lanes of a warp
     * share. NULL means that no server dies while others go on, so nothing is checked. */
    uint32_t *worked;
} tern_mailbox_crew;

/* ---- Parties ---- */

/** Returns the party of a host's thread that plays all these lanes. lanes may be 0. */
TERN_MAILBOX_INLINE tern_mailbox_party tern_mailbox_party_whole(uint32_t lanes) {
    tern_mailbox_party party = {lanes, lanes};
    return party;
}

/** Returns the party of a GPU's thread that is one of these lanes. */
TERN_MAILBOX_INLINE tern_mailbox_party tern_mailbox_party_lane(uint32_t lanes, uint32_t lane) {
    tern_mailbox_party party = {lanes, (uint32_t)1 << lane};
    return party;
}

/* Returns whether this thread drives the slot, that is, whether it plays the party's lowest
 * lane. */
TERN_MAILBOX_INLINE int tern_mailbox_party_leads(tern_mailbox_party party) {
    return (party.own & party.lanes & (~party.lanes + 1)) != 0;
}

/* Not for applications: the three ways in which lanes meet. Each orders memory. sync only meets;
 * share gives the leader's value to all lanes; gather gives each lane the bits of all lanes. With
 * TERN_MAILBOX_PLAYED, threads of a host play the lanes, for a test. */
#if defined(__CUDA_ARCH__) || defined(TERN_MAILBOX_PLAYED)

/* Not for applications: the lanes meet. */
TERN_MAILBOX_INLINE void tern_internal_mailbox_party_sync(tern_mailbox_party party) {
    __syncwarp(party.lanes);
}

/* Not for applications: every lane gets the value of the leading one. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_party_share(tern_mailbox_party party, int value) {
    /* A shuffle passes a register on, but orders no memory accesses. */
    value = __shfl_sync(party.lanes, value, (int)tern_mailbox_lowest(party.lanes));
    __syncwarp(party.lanes);
    return value;
}

/* Not for applications: every lane gets the bits of all, ored. */
TERN_MAILBOX_INLINE uint32_t tern_internal_mailbox_party_gather(tern_mailbox_party party,
                                                                uint32_t bits) {
    bits = __ballot_sync(party.lanes, bits != 0);
    __syncwarp(party.lanes);
    return bits;
}

#else

/* Not for applications: the lanes meet. */
TERN_MAILBOX_INLINE void tern_internal_mailbox_party_sync(tern_mailbox_party party) { (void)party; }

/* Not for applications: every lane gets the value of the leading one. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_party_share(tern_mailbox_party party, int value) {
    (void)party;
    return value;
}

/* Not for applications: every lane gets the bits of all, ored. */
TERN_MAILBOX_INLINE uint32_t tern_internal_mailbox_party_gather(tern_mailbox_party party,
                                                                uint32_t bits) {
    (void)party;
    return bits;
}

#endif

/* ---- Client ---- */

/* Not for applications: fills or uses the lines that this thread plays. */
TERN_MAILBOX_INLINE void tern_internal_mailbox_warp_lines(tern_mailbox_warp *packet, uint32_t lanes,
                                                          tern_mailbox_place place,
                                                          tern_mailbox_lane_use *use,
                                                          void *argument) {
    for (; lanes != 0; lanes &= lanes - 1) {
        place.lane = tern_mailbox_lowest(lanes);
        use(&packet->lane[place.lane], place, argument);
    }
}

/* Not for applications: the leading thread's step before a packet, after which the slot is quiet.
 * It calls the hook now and then, so that the deadline also holds for a long call in which every
 * answer comes before the hook's turn. Returns 0, or the hook's value that ended the wait. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_warp_pace(const tern_mailbox_client *client,
                                                        tern_mailbox_place place,
                                                        const tern_mailbox_wait *wait) {
    int stop = 0;
    if (place.number > 0 && place.number % TERN_MAILBOX_SPINS == 0 && wait != NULL &&
        wait->idle != NULL)
        stop = wait->idle(wait->argument, 0);
    return stop != 0 ? stop : tern_mailbox_await_quiet(client, place.slot, wait);
}

/* Not for applications: fills a packet for these lanes of the party and posts it. Returns 0, or the
 * hook's value that ended the wait for a slot that still has an earlier call on it. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_warp_post(const tern_mailbox_client *client,
                                                        tern_mailbox_place place,
                                                        tern_mailbox_party party, uint32_t asked,
                                                        int single, tern_mailbox_lane_use *fill,
                                                        void *argument,
                                                        const tern_mailbox_wait *wait) {
    tern_mailbox_warp *packet = (tern_mailbox_warp *)tern_mailbox_packet(&client->box, place.slot);
    int stop = 0, leads = tern_mailbox_party_leads(party);
    if (leads)
        stop = tern_internal_mailbox_warp_pace(client, place, wait);
    stop = tern_internal_mailbox_party_share(party, stop);
    if (stop != 0)
        return stop;
    tern_internal_mailbox_warp_lines(packet, asked & party.own, place, fill, argument);
    if (leads) {
        packet->asked = asked;
        packet->number = place.number;
        packet->single = (uint32_t)single;
    }
    tern_internal_mailbox_party_sync(party);
    if (leads)
        (void)tern_mailbox_post(client, place.slot);
    return 0;
}

/** Makes calls by the lanes of a party, on a slot that the client holds and continues to hold, in
 * as many round trips as the longest call takes. The slot may also belong to the warp by its
 * number; then the client must still own the slot (tern_mailbox_client_own) if servers take locks
 * and a call may take several packets.
 *
 * @param party the lanes that call
 * @param fill writes the request to a line
 * @param use reads the answer from a line; NULL if there is nothing to read
 * @param argument passed to both
 * @param wait how to wait
 * @return the same for all lanes: 0; TERN_MAILBOX_LOST if the server died, and then some lanes may
 *     have been answered before; or the hook's value that ended the wait, and then the packet must
 *     not be touched any more, and the slot may be given back
 *
 * Blocking: the leading thread waits for the server, and only that thread calls the hook. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_call_on(const tern_mailbox_client *client, uint32_t slot,
                                                  tern_mailbox_party party,
                                                  tern_mailbox_lane_use *fill,
                                                  tern_mailbox_lane_use *use, void *argument,
                                                  const tern_mailbox_wait *wait) {
    tern_mailbox_warp *packet = (tern_mailbox_warp *)tern_mailbox_packet(&client->box, slot);
    tern_mailbox_place place = {slot, 0, 0};
    int leads = tern_mailbox_party_leads(party);
    for (uint32_t asked = party.lanes; asked != 0; place.number++) {
        int stop =
            tern_internal_mailbox_warp_post(client, place, party, asked, 0, fill, argument, wait);
        if (stop == 0 && leads)
            stop = tern_mailbox_await(&client->box, slot, TERN_MAILBOX_ANSWERED, wait);
        stop = tern_internal_mailbox_party_share(party, stop);
        if (stop != 0)
            return stop;
        uint32_t open = packet->open & asked;
        int lost = packet->outcome != TERN_MAILBOX_OK;
        if (use != NULL && !lost)
            tern_internal_mailbox_warp_lines(packet, asked & party.own, place, use, argument);
        tern_internal_mailbox_party_sync(party);
        if (leads)
            (void)tern_mailbox_finish(client, slot);
        if (lost)
            return TERN_MAILBOX_LOST;
        asked = open;
    }
    return 0;
}

/* Not for applications: takes a slot for the party. Returns 0, or the hook's value that ended the
 * wait. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_warp_take(tern_mailbox_client *client,
                                                        tern_mailbox_party party,
                                                        const tern_mailbox_wait *wait,
                                                        uint32_t *slot) {
    int stop = 0;
    *slot = 0;
    if (tern_mailbox_party_leads(party))
        stop = tern_mailbox_take_wait(client, wait, slot);
    stop = tern_internal_mailbox_party_share(party, stop);
    *slot = (uint32_t)tern_internal_mailbox_party_share(party, (int)*slot);
    return stop;
}

/** Makes calls as tern_mailbox_warp_call_on does, on any free slot, and gives the slot back. On a
 * GPU each lane has a client of its own; all clients of a warp have the same name. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_call(tern_mailbox_client *client,
                                               tern_mailbox_party party,
                                               tern_mailbox_lane_use *fill,
                                               tern_mailbox_lane_use *use, void *argument,
                                               const tern_mailbox_wait *wait) {
    uint32_t slot;
    if (party.lanes == 0)
        return 0;
    int stop = tern_internal_mailbox_warp_take(client, party, wait, &slot);
    if (stop != 0)
        return stop;
    stop = tern_mailbox_warp_call_on(client, slot, party, fill, use, argument, wait);
    if (tern_mailbox_party_leads(party))
        tern_mailbox_client_give(client, slot);
    return stop;
}

/** Makes asynchronous calls of one packet each, whose answers nobody reads (8.1). The server gives
 * the slot back even if a lane's call would take more packets.
 *
 * @return 0, or the hook's value that ended the wait for a slot; then nothing was posted */
TERN_MAILBOX_INLINE int tern_mailbox_warp_send(tern_mailbox_client *client,
                                               tern_mailbox_party party,
                                               tern_mailbox_lane_use *fill, void *argument,
                                               const tern_mailbox_wait *wait) {
    tern_mailbox_place place = {0, 0, 0};
    if (party.lanes == 0)
        return 0;
    int stop = tern_internal_mailbox_warp_take(client, party, wait, &place.slot);
    if (stop != 0)
        return stop;
    stop =
        tern_internal_mailbox_warp_post(client, place, party, party.lanes, 1, fill, argument, wait);
    if (tern_mailbox_party_leads(party))
        tern_mailbox_client_give(client, place.slot);
    return stop;
}

/* ---- Server ---- */

/* Not for applications: returns whether this server has worked on all earlier packets of the
 * call. */
TERN_MAILBOX_INLINE int tern_internal_mailbox_warp_follows(const tern_mailbox_crew *crew,
                                                           tern_mailbox_place place) {
    return place.number == 0 || crew->worked == NULL || crew->worked[place.slot] == place.number;
}

/* Works on the lines of a packet that this thread plays, and writes the result for the client,
 * which is that the call is lost if another server began it. Returns the lanes whose calls are not
 * over. */
TERN_MAILBOX_INLINE uint32_t tern_mailbox_warp_work_on(tern_mailbox_warp *packet, uint32_t slot,
                                                       tern_mailbox_party party,
                                                       const tern_mailbox_crew *crew) {
    tern_mailbox_place place = {slot, 0, packet->number};
    uint32_t left = packet->asked & party.lanes & party.own, open = 0;
    int follows = tern_internal_mailbox_warp_follows(crew, place), single = packet->single != 0;
    for (left = follows ? left : 0; left != 0; left &= left - 1) {
        place.lane = tern_mailbox_lowest(left);
        if (crew->work(&packet->lane[place.lane], place, crew->argument))
            open |= (uint32_t)1 << place.lane;
    }
    open = tern_internal_mailbox_party_gather(party, open);
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

/** The work function of a server on a host (tern_mailbox_serve), with a tern_mailbox_crew as its
 * argument. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_work(void *packet, uint32_t slot, void *argument) {
    return tern_mailbox_warp_work_on((tern_mailbox_warp *)packet, slot,
                                     tern_mailbox_party_whole(~(uint32_t)0),
                                     (const tern_mailbox_crew *)argument) != 0;
}

/** The clean function of a server on a host, with the same argument. The server keeps the slot
 * while calls go on that it has worked on and whose client has not left. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_clean(void *packet, uint32_t slot, void *argument) {
    const tern_mailbox_crew *crew = (const tern_mailbox_crew *)argument;
    if (!(slot & TERN_MAILBOX_GONE))
        return crew->worked != NULL ? crew->worked[slot] != 0
                                    : ((tern_mailbox_warp *)packet)->open != 0;
    if (crew->worked != NULL)
        crew->worked[slot & ~TERN_MAILBOX_GONE] = 0;
    return 0;
}

/** Makes one step on a slot that the party holds as a server, or that belongs to the party by its
 * number: works on a posted packet, or cleans a finished one. A whole warp must serve: lanes
 * outside the party are not worked on, but the packet is answered for them too.
 *
 * @return 1 if there was a step to make, else 0; the same for all lanes
 *
 * Blocking: none, unless the work function blocks. */
TERN_MAILBOX_INLINE int tern_mailbox_warp_serve_on(const tern_mailbox_server *server, uint32_t slot,
                                                   tern_mailbox_party party,
                                                   const tern_mailbox_crew *crew) {
    int leads = tern_mailbox_party_leads(party);
    int state = leads ? (int)tern_mailbox_look(&server->box, slot) : 0;
    state = tern_internal_mailbox_party_share(party, state);
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
