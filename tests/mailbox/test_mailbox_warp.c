/*
 * One slot for 32 lanes (tern/mailbox_warp.h). The client plays a warp, and the server makes its
 * steps in the hook of the client's waits.
 */

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tests/cuda/model.h"

enum { SLOTS = 3 };

static struct {
    void *memory;
    tern_mailbox box;
    tern_mailbox_client client;
    tern_mailbox_server server;
    model_session sessions[SLOTS * TERN_MAILBOX_LANES];
    model_call calls[TERN_MAILBOX_LANES];
    uint32_t worked[SLOTS], worked_too[SLOTS]; /* by this server; by another one */
} play;

static void open_play(void) {
    size_t bytes = tern_mailbox_bytes(SLOTS, sizeof(tern_mailbox_warp));
    memset(&play, 0, sizeof play);
    play.memory = aligned_alloc(TERN_MAILBOX_LINE, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.memory);
    memset(play.memory, 0, bytes);
    play.box = tern_mailbox_at(play.memory, SLOTS, sizeof(tern_mailbox_warp));
    play.client = tern_mailbox_client_at(&play.box, 1);
    play.server = tern_mailbox_server_at(&play.box, 1);
}

static tern_mailbox_warp *packet_of(uint32_t slot) { return tern_mailbox_packet(&play.box, slot); }

static int serve(void *argument, uint32_t calls) {
    (void)calls;
    (void)tern_mailbox_serve(&play.server, tern_mailbox_warp_work, tern_mailbox_warp_clean,
                             argument);
    return 0;
}

/* Makes one call by these lanes, and checks that each of them gets the right answer and that no
 * other lane is served. */
static void call_and_check_with(tern_mailbox_crew *crew, uint32_t lanes, uint64_t *random) {
    tern_mailbox_wait wait = {serve, crew};
    model_session before[SLOTS * TERN_MAILBOX_LANES];
    memcpy(before, play.sessions, sizeof before);
    for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
        play.calls[lane] = model_call_of(random);
    CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(lanes),
                                           model_fill_all, model_use_all, play.calls, &wait),
                    0);
    for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++) {
        uint64_t times = 0;
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            const model_session *session = &play.sessions[slot * TERN_MAILBOX_LANES + lane];
            times += session->calls - before[slot * TERN_MAILBOX_LANES + lane].calls;
            CU_ASSERT_EQUAL(session->wrong, 0);
        }
        bool asked = lanes >> lane & 1;
        CU_ASSERT_EQUAL(times, asked);
        CU_ASSERT(asked ? model_call_is_right(&play.calls[lane])
                        : play.calls[lane].sent == 0 && play.calls[lane].answer == 0);
    }
}

static void call_and_check(uint32_t lanes, uint64_t *random) {
    tern_mailbox_crew crew = {model_work, play.sessions, play.worked};
    call_and_check_with(&crew, lanes, random);
}

static void layout(void) {
    CU_ASSERT_EQUAL(sizeof(tern_mailbox_lane), TERN_MAILBOX_LINE);
    CU_ASSERT_EQUAL(offsetof(tern_mailbox_warp, lane), TERN_MAILBOX_LINE);
    CU_ASSERT_EQUAL(sizeof(tern_mailbox_warp), 33 * TERN_MAILBOX_LINE);
    CU_ASSERT_EQUAL(offsetof(tern_mailbox_warp, outcome), offsetof(tern_mailbox_head, kind));
    CU_ASSERT_EQUAL(offsetof(tern_mailbox_warp, open), offsetof(tern_mailbox_head, offset));
}

static void masks(void) {
    uint64_t random = tern_test_seed();
    open_play();
    call_and_check(0, &random);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, play.client.next), TERN_MAILBOX_QUIET);
    for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
        call_and_check((uint32_t)1 << lane, &random);
    call_and_check(~(uint32_t)0, &random);
    for (int i = 0; i < (tern_test_full() ? 20000 : 1000); i++)
        call_and_check(model_mask(&random), &random);
    free(play.memory);
}

/* Neither side touches the lines of lanes that are not asked. */
static void no_ops(void) {
    uint64_t random = tern_test_seed() + 1;
    open_play();
    for (int i = 0; i < 200; i++) {
        uint32_t lanes = model_mask(&random);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
                if (!(lanes >> lane & 1))
                    memset(&packet_of(slot)->lane[lane], 0x5a, sizeof(tern_mailbox_lane));
        call_and_check(lanes, &random);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t at = 0; at < TERN_MAILBOX_LANES * sizeof(tern_mailbox_lane); at++)
                if (!(lanes >> at / sizeof(tern_mailbox_lane) & 1))
                    CU_ASSERT_EQUAL(((uint8_t *)packet_of(slot)->lane)[at], 0x5a);
    }
    free(play.memory);
}

/* ---- Partial answers ---- */

/* What the server saw. The call of lane i takes i % 5 + 1 packets. */
static struct {
    uint32_t asked[8], packets[TERN_MAILBOX_LANES];
    uint32_t kept; /* packets after the first that found the server holding their slot */
} partial;

static int work_partly(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)argument;
    CU_ASSERT_EQUAL(line->word[0], place.lane);
    CU_ASSERT_EQUAL(place.number, partial.packets[place.lane]);
    partial.asked[place.number] |= (uint32_t)1 << place.lane;
    partial.packets[place.lane]++;
    return place.number < place.lane % 5;
}

static int serve_partly(void *argument, uint32_t calls) {
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        partial.kept += tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_POSTED &&
                        play.box.server_locks[slot].holder == play.server.name;
    return serve(argument, calls);
}

static void fill_number(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)argument;
    line->word[0] = place.lane;
}

static void partial_answers(void) {
    tern_mailbox_crew crew = {work_partly, NULL, play.worked};
    tern_mailbox_wait wait = {serve_partly, &crew};
    static const uint32_t parties[] = {~(uint32_t)0, 0x80000001, 0xffff0000, 0x421, 0x10};
    open_play();
    for (size_t i = 0; i < sizeof parties / sizeof parties[0]; i++) {
        uint32_t lanes = parties[i], longest = 0;
        memset(&partial, 0, sizeof partial);
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(lanes),
                                               fill_number, NULL, NULL, &wait),
                        0);
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++) {
            uint32_t packets = lanes >> lane & 1 ? lane % 5 + 1 : 0;
            longest = packets > longest ? packets : longest;
            CU_ASSERT_EQUAL(partial.packets[lane], packets);
            for (uint32_t number = 0; number < 8; number++)
                CU_ASSERT_EQUAL(partial.asked[number] >> lane & 1, number < packets);
        }
        CU_ASSERT_EQUAL(partial.kept, longest - 1);
        /* The last step cleans, and after that nobody holds a slot. */
        (void)serve(&crew, 0);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
            CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), TERN_MAILBOX_QUIET);
        }
    }
    free(play.memory);
}

/* ---- Asynchronous calls, and failures ---- */

static void asynchronous(void) {
    uint64_t random = tern_test_seed() + 2, sent[TERN_MAILBOX_LANES] = {0}, done = 0, all = 0;
    tern_mailbox_crew crew = {model_work, play.sessions, play.worked};
    tern_mailbox_wait wait = {serve, &crew};
    open_play();
    for (int i = 0; i < 300; i++) {
        uint32_t lanes = model_mask(&random);
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++) {
            play.calls[lane] = model_call_of(&random);
            sent[lane] += lanes >> lane & 1;
        }
        CU_ASSERT_EQUAL(tern_mailbox_warp_send(&play.client, tern_mailbox_party_whole(lanes),
                                               model_fill_all, play.calls, &wait),
                        0);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            CU_ASSERT_EQUAL(play.box.client_locks[slot].holder, 0);
    }
    (void)serve(&crew, 0);
    /* No server keeps a slot for further packets, not even for lanes that it has left open. */
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
    /* Each call was one packet, which either completed it or left it open. */
    for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
        all += sent[lane];
    for (uint32_t i = 0; i < SLOTS * TERN_MAILBOX_LANES; i++)
        done += play.sessions[i].calls;
    CU_ASSERT(done > all / 4 && done <= all);
    free(play.memory);
}

static int dies(void *argument, uint32_t calls) {
    (void)argument, (void)calls;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_POSTED)
            CU_ASSERT(tern_mailbox_server_hold(&play.server, slot));
    tern_mailbox_server other = tern_mailbox_server_at(&play.box, 2);
    (void)tern_mailbox_server_reclaim(&other, 1, tern_mailbox_message_recover, NULL);
    return 0;
}

static void a_dead_server(void) {
    uint64_t random = tern_test_seed() + 3;
    tern_mailbox_wait wait = {dies, NULL};
    open_play();
    for (int i = 0; i < 20; i++) {
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            play.calls[lane] = model_call_of(&random);
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(0xff),
                                               model_fill_all, model_use_all, play.calls, &wait),
                        TERN_MAILBOX_LOST);
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            CU_ASSERT_EQUAL(play.calls[lane].answer, 0);
        /* A dead server has not cleaned its slot. A call without lanes would be no call, so one
         * lane is set. */
        call_and_check(model_mask(&random) | 1, &random);
    }
    free(play.memory);
}

/* The time at which a server dies: before the packet of that number, with the slot in that
 * state. */
static struct {
    uint32_t before, worked, too_late;
    tern_mailbox_state state;
    bool dead;
} death;

static int work_until_death(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)argument;
    death.too_late += death.dead;
    death.worked = place.number + 1;
    line->word[0]++;
    return place.number < 5;
}

static int serve_until_death(void *argument, uint32_t calls) {
    tern_mailbox_server other = tern_mailbox_server_at(&play.box, 2);
    tern_mailbox_crew crew = *(tern_mailbox_crew *)argument;
    if (!death.dead) {
        uint32_t slot = 0;
        while (slot + 1 < SLOTS && play.box.client_locks[slot].holder == 0)
            slot++;
        /* The client waits with a posted or a finished packet. For a death in the quiet state, this
         * step cleans first. */
        bool posted = tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_POSTED;
        death.dead = death.worked == death.before && posted == (death.state == TERN_MAILBOX_POSTED);
        if (!death.dead || death.state == TERN_MAILBOX_QUIET)
            (void)serve(argument, calls);
        if (!death.dead)
            return 0;
        CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), death.state);
        CU_ASSERT_EQUAL(tern_mailbox_server_reclaim(&other, 1, tern_mailbox_message_recover, NULL),
                        1);
    }
    crew.worked = play.worked_too;
    (void)tern_mailbox_serve(&other, tern_mailbox_warp_work, tern_mailbox_warp_clean, &crew);
    return 0;
}

/* A server dies between two packets of a call. The remaining server does not continue the call. */
static void a_death_between_packets(void) {
    static const tern_mailbox_state states[] = {TERN_MAILBOX_FINISHED, TERN_MAILBOX_QUIET,
                                                TERN_MAILBOX_POSTED};
    tern_mailbox_crew crew = {work_until_death, NULL, NULL};
    tern_mailbox_wait wait = {serve_until_death, &crew};
    for (uint32_t i = 0; i < 15; i++) {
        open_play();
        crew.worked = play.worked;
        memset(&death, 0, sizeof death);
        death.before = i / 3 + 1;
        death.state = states[i % 3];
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(5),
                                               fill_number, NULL, NULL, &wait),
                        TERN_MAILBOX_LOST);
        CU_ASSERT(death.dead);
        CU_ASSERT_EQUAL(death.worked, death.before);
        CU_ASSERT_EQUAL(death.too_late, 0);
        /* The remaining server keeps no slot, and its next call begins anew. */
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
        death.worked = 0;
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(5),
                                               fill_number, NULL, NULL, &wait),
                        0);
        CU_ASSERT_EQUAL(death.too_late, 12);
        free(play.memory);
    }
}

static int gives_up(void *argument, uint32_t calls) {
    (void)argument;
    return calls == 3 ? 7 : 0;
}

/* A client that stops waiting leaves an asynchronous call behind. When no slot is left, it posts
 * nothing. */
static void an_impatient_client(void) {
    uint64_t random = tern_test_seed() + 4;
    tern_mailbox_wait wait = {gives_up, NULL};
    open_play();
    for (uint32_t i = 0; i < SLOTS + 2; i++) {
        uint32_t posted = 0;
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            play.calls[lane] = model_call_of(&random);
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(0xf0f),
                                               model_fill_all, model_use_all, play.calls, &wait),
                        7);
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            posted += tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_POSTED;
        CU_ASSERT_EQUAL(posted, i < SLOTS ? i + 1 : SLOTS);
    }
    CU_ASSERT_EQUAL(tern_mailbox_warp_send(&play.client, tern_mailbox_party_whole(1),
                                           model_fill_all, play.calls, &wait),
                    7);
    tern_mailbox_crew crew = {model_work, play.sessions, play.worked};
    (void)serve(&crew, 0);
    for (int i = 0; i < 20; i++)
        call_and_check(model_mask(&random), &random);
    free(play.memory);
}

/* ---- A client that leaves in the middle of a call ---- */

static struct {
    uint32_t before, worked; /* it leaves before that packet; packets worked on */
    tern_mailbox_state state;
} going;

static int work_at_length(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)line, (void)argument;
    going.worked = place.number + 1;
    return place.number < 5;
}

static int serve_and_go(void *argument, uint32_t calls) {
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (going.worked == going.before && tern_mailbox_look(&play.box, slot) == going.state)
            return 7;
    return serve(argument, calls);
}

static void expect_no_lock(void) {
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), TERN_MAILBOX_QUIET);
        CU_ASSERT_EQUAL(play.box.client_locks[slot].holder, 0);
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
        CU_ASSERT_EQUAL(play.worked[slot], 0);
    }
}

/* The server makes as many rounds as it may need, and then holds no slot. Only then do others
 * finish what the client has left, and the server cleans it. */
static void let_forget(tern_mailbox_crew *crew) {
    uint32_t slots[SLOTS];
    for (uint32_t i = 0; i <= 2 * TERN_MAILBOX_SPINS; i++)
        (void)serve(crew, 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = tern_mailbox_take(&play.client);
    for (uint32_t i = 0; i < SLOTS; i++)
        if (slots[i] != TERN_MAILBOX_NONE)
            tern_mailbox_client_give(&play.client, slots[i]);
    (void)serve(crew, 0);
}

/* The server gives the slot back. If it stops for ever after that, it blocks nobody. */
static void a_client_that_goes(void) {
    tern_mailbox_crew crew = {work_at_length, NULL, play.worked};
    tern_mailbox_crew others = {model_work, play.sessions, play.worked_too};
    tern_mailbox_wait wait = {serve_and_go, &crew};
    uint64_t random = tern_test_seed() + 7;
    for (uint32_t i = 0; i < 9; i++) {
        open_play();
        going.before = (i + 1) / 2;
        going.state = i % 2 == 0 ? TERN_MAILBOX_POSTED : TERN_MAILBOX_FINISHED;
        going.worked = 0;
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(5),
                                               fill_number, NULL, NULL, &wait),
                        7);
        CU_ASSERT_EQUAL(going.worked, going.before);
        let_forget(&crew);
        expect_no_lock();
        play.server = tern_mailbox_server_at(&play.box, 2);
        for (uint32_t call = 0; call < 2 * SLOTS; call++)
            call_and_check_with(&others, model_mask(&random) | 1, &random);
        free(play.memory);
    }
}

/* ---- A call that never ends ---- */

enum { ENDLESS_MAX = 1000 };

static struct {
    uint32_t packets; /* packets that were answered */
    uint32_t begun;   /* calls of the hook with 0 before one that cleans */
} endless;

static int work_on_and_on(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)line, (void)argument;
    CU_ASSERT_EQUAL(place.number, endless.packets);
    return ++endless.packets < ENDLESS_MAX;
}

/* No wait is long. Each wait begins with a call of the hook with 0, and the hook cleans at the
 * second call. So two calls with 0 before a packet are one of the wait and one that checks the
 * deadline, and at that one the client gives up. */
static int serve_on_and_on(void *argument, uint32_t calls) {
    bool finished = false;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        finished |= tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_FINISHED;
    if (!finished || calls > 0) {
        endless.begun = 0;
        return serve(argument, calls);
    }
    return ++endless.begun == 2 ? 7 : 0;
}

/* A server that never completes a call, but answers each packet soon: the client's hook is still
 * called. */
static void an_endless_call(void) {
    uint64_t random = tern_test_seed() + 6;
    tern_mailbox_crew crew = {work_on_and_on, NULL, play.worked};
    tern_mailbox_crew other = {model_work, play.sessions, play.worked};
    tern_mailbox_wait wait = {serve_on_and_on, &crew};
    open_play();
    memset(&endless, 0, sizeof endless);
    CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(1), fill_number,
                                           NULL, NULL, &wait),
                    7);
    CU_ASSERT(endless.packets <= 2 * TERN_MAILBOX_SPINS);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        CU_ASSERT_EQUAL(play.box.client_locks[slot].holder, 0);
    /* The server keeps the slot for a while, for more packets of that call. */
    uint32_t held = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        held += play.box.server_locks[slot].holder != 0;
    CU_ASSERT_EQUAL(held, 1);
    for (int i = 0; i < 20; i++)
        call_and_check(1 << i, &random);
    let_forget(&other);
    expect_no_lock();
    free(play.memory);
}

/* ---- The host plays a warp that serves ---- */

static int serve_as_warp(void *argument, uint32_t calls) {
    (void)calls;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        int state = (int)tern_mailbox_look(&play.box, slot);
        int did = tern_mailbox_warp_serve_on(&play.server, slot,
                                             tern_mailbox_party_whole(~(uint32_t)0), argument);
        CU_ASSERT_EQUAL(did, state == TERN_MAILBOX_POSTED || state == TERN_MAILBOX_FINISHED);
    }
    return 0;
}

static void a_serving_warp(void) {
    uint64_t random = tern_test_seed() + 5;
    tern_mailbox_crew crew = {model_work, NULL, NULL};
    tern_mailbox_wait wait = {serve_as_warp, &crew};
    open_play();
    crew.argument = play.sessions;
    for (int i = 0; i < 500; i++) {
        uint32_t lanes = model_mask(&random);
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            play.calls[lane] = model_call_of(&random);
        CU_ASSERT_EQUAL(tern_mailbox_warp_call(&play.client, tern_mailbox_party_whole(lanes),
                                               model_fill_all, model_use_all, play.calls, &wait),
                        0);
        for (uint32_t lane = 0; lane < TERN_MAILBOX_LANES; lane++)
            CU_ASSERT(!(lanes >> lane & 1) || model_call_is_right(&play.calls[lane]));
    }
    for (uint32_t i = 0; i < SLOTS * TERN_MAILBOX_LANES; i++)
        CU_ASSERT_EQUAL(play.sessions[i].wrong, 0);
    free(play.memory);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"layout", layout},
                                           {"masks", masks},
                                           {"no_ops", no_ops},
                                           {"partial_answers", partial_answers},
                                           {"asynchronous", asynchronous},
                                           {"a_dead_server", a_dead_server},
                                           {"a_death_between_packets", a_death_between_packets},
                                           {"an_impatient_client", an_impatient_client},
                                           {"a_client_that_goes", a_client_that_goes},
                                           {"an_endless_call", an_endless_call},
                                           {"a_serving_warp", a_serving_warp}};
    return tern_test_main(argc, argv, "mailbox warp", tests, sizeof tests / sizeof tests[0]);
}
