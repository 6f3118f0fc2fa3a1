/*
 * The state machine of a mailbox in a single thread: every transition from every state, locks,
 * searches for slots, asynchronous calls, and slots that dead workers held.
 */

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tern/mailbox.h"

enum { SLOTS_MAX = 200, PACKET = 64 };

static struct {
    void *memory;
    tern_mailbox box;
    tern_mailbox_client client[2];
    tern_mailbox_server server[2];
} play;

static void open_box(uint32_t slots) {
    size_t bytes = tern_mailbox_bytes(slots, PACKET);
    CU_ASSERT_FATAL(bytes > 0);
    play.memory = aligned_alloc(TERN_MAILBOX_LINE, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.memory);
    memset(play.memory, 0, bytes);
    play.box = tern_mailbox_at(play.memory, slots, PACKET);
    for (uint32_t i = 0; i < 2; i++) {
        play.client[i] = tern_mailbox_client_at(&play.box, 10 + i);
        play.server[i] = tern_mailbox_server_at(&play.box, 20 + i);
    }
}

static void close_box(void) { free(play.memory); }

static int work(void *packet, uint32_t slot, void *argument) {
    uint64_t *words = packet;
    words[0] = 3 * words[0] + slot;
    return argument != NULL && *(int *)argument;
}

static int no_work(void *packet, uint32_t slot, void *argument) {
    (void)packet, (void)slot, (void)argument;
    CU_FAIL("nothing is to be done here");
    return 0;
}

static int count_up(void *packet, uint32_t slot, void *argument) {
    (void)packet, (void)slot;
    ++*(int *)argument;
    return 0;
}

/* The four states, in the order of a call. */
static const tern_mailbox_state round_trip[4] = {TERN_MAILBOX_QUIET, TERN_MAILBOX_POSTED,
                                                 TERN_MAILBOX_ANSWERED, TERN_MAILBOX_FINISHED};

static int transition(int which, uint32_t slot) {
    switch (which) {
    case 0:
        return tern_mailbox_post(&play.client[0], slot);
    case 1:
        return tern_mailbox_answer(&play.server[0], slot);
    case 2:
        return tern_mailbox_finish(&play.client[0], slot);
    default:
        return tern_mailbox_clean(&play.server[0], slot);
    }
}

/* Each transition succeeds from its own state, is refused in the other three states, and never
 * changes another slot. */
static void transitions(void) {
    static const uint32_t slots[] = {1, 2, 31, 32, 33, 63, 64, 65, SLOTS_MAX};
    for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
        open_box(slots[s]);
        for (uint32_t slot = 0; slot < slots[s]; slot++)
            for (int at = 0; at < 4; at++) {
                for (int which = 0; which < 4; which++) {
                    if (which == at)
                        continue;
                    CU_ASSERT_EQUAL(transition(which, slot), 0);
                    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), round_trip[at]);
                }
                CU_ASSERT_EQUAL(transition(at, slot), 1);
                for (uint32_t other = 0; other < slots[s]; other++)
                    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, other),
                                    other == slot ? round_trip[(at + 1) % 4] : TERN_MAILBOX_QUIET);
            }
        close_box();
    }
}

/* Packets do not overlap, begin at cache lines and lie before the flags; locks begin at cache lines
 * at the end. */
static void memory(void) {
    CU_ASSERT_EQUAL(tern_mailbox_bytes(0, 8), 0);
    CU_ASSERT_EQUAL(tern_mailbox_bytes(TERN_MAILBOX_SLOTS_MAX + 1, 8), 0);
    CU_ASSERT_EQUAL(tern_mailbox_bytes(1, TERN_MAILBOX_PACKET_MAX + 1), 0);
    CU_ASSERT(tern_mailbox_bytes(TERN_MAILBOX_SLOTS_MAX, TERN_MAILBOX_PACKET_MAX) >
              (size_t)TERN_MAILBOX_SLOTS_MAX * TERN_MAILBOX_PACKET_MAX);
    for (uint32_t slots = 1; slots <= SLOTS_MAX; slots += 33)
        for (uint32_t packet = 0; packet <= 129; packet++) {
            size_t bytes = tern_mailbox_bytes(slots, packet);
            char *start = (char *)(uintptr_t)TERN_MAILBOX_LINE;
            tern_mailbox box = tern_mailbox_at(start, slots, packet);
            char *last = tern_mailbox_packet(&box, slots - 1);
            CU_ASSERT(box.bytes >= packet && box.bytes < packet + TERN_MAILBOX_LINE);
            CU_ASSERT_EQUAL((uintptr_t)last % TERN_MAILBOX_LINE, 0);
            CU_ASSERT_PTR_EQUAL(tern_mailbox_packet(&box, 0), start);
            CU_ASSERT_EQUAL((uintptr_t)box.client_locks % TERN_MAILBOX_LINE, 0);
            CU_ASSERT((char *)(box.server_locks + slots) == start + bytes);
            CU_ASSERT((uintptr_t)box.client_locks - (uintptr_t)last >=
                      box.bytes + 2 * tern_mailbox_flags_bytes(slots));
        }
}

/* Every slot is handed out once, and again after it was given back. */
static void take_all(void) {
    static const uint32_t slots[] = {1, 3, 32, 64, 65, SLOTS_MAX};
    for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
        bool seen[SLOTS_MAX] = {false};
        open_box(slots[s]);
        for (uint32_t i = 0; i < slots[s]; i++) {
            uint32_t slot = tern_mailbox_take(&play.client[i % 2]);
            CU_ASSERT_FATAL(slot < slots[s] && !seen[slot]);
            seen[slot] = true;
            CU_ASSERT_EQUAL(play.box.client_locks[slot].holder, 10 + i % 2);
        }
        CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[0]), TERN_MAILBOX_NONE);
        uint32_t slot = slots[s] / 2, owner = play.box.client_locks[slot].holder - 10;
        tern_mailbox_client_give(&play.client[1 - owner], slot); /* a client that does not hold
                                                                    it */
        CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[0]), TERN_MAILBOX_NONE);
        tern_mailbox_client_give(&play.client[owner], slot);
        CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1 - owner]), slot);
        close_box();
    }
}

/* The steps of a call, with servers that look too early, too late and twice. */
static void served(void) {
    open_box(SLOTS_MAX);
    for (uint32_t i = 0; i < 3 * SLOTS_MAX; i++) {
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[i % 2], no_work, no_work, NULL), 0);
        uint32_t slot = tern_mailbox_take(&play.client[0]);
        CU_ASSERT_FATAL(slot < SLOTS_MAX);
        uint64_t *packet = tern_mailbox_packet(&play.box, slot);
        packet[0] = i;
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], no_work, no_work, NULL), 0);
        CU_ASSERT(tern_mailbox_post(&play.client[0], slot));
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[i % 2], work, no_work, NULL), 1);
        CU_ASSERT_EQUAL(packet[0], 3 * i + slot);
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, no_work, NULL), 0);
        CU_ASSERT(tern_mailbox_finish(&play.client[0], slot));
        CU_ASSERT_EQUAL(tern_mailbox_take_quiet(&play.client[0], slot, 1), TERN_MAILBOX_NONE);
        int cleaned = 0;
        if (i % 3 == 0) {
            CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, NULL, NULL), 1);
        } else {
            CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, count_up, &cleaned), 1);
            CU_ASSERT_EQUAL(cleaned, 1);
        }
        CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), TERN_MAILBOX_QUIET);
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
        tern_mailbox_client_give(&play.client[0], slot);
    }
    close_box();
}

static void fill(void *packet, uint32_t slot, void *argument) {
    (void)slot;
    memcpy(packet, argument, sizeof(uint64_t));
}

/* Many more asynchronous calls than slots: any client that looks for a slot finishes answered
 * calls. */
static void recycled(void) {
    static const uint32_t slots[] = {1, 5, 64, SLOTS_MAX};
    for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
        open_box(slots[s]);
        uint64_t sent = 0, full = 0, steps = 0;
        for (uint32_t i = 0; i < 20 * slots[s]; i++) {
            uint32_t slot = tern_mailbox_take(&play.client[i % 2]);
            if (slot == TERN_MAILBOX_NONE) {
                full++;
                steps += tern_mailbox_serve(&play.server[i % 2], work, NULL, NULL);
            } else {
                fill(tern_mailbox_packet(&play.box, slot), slot, &sent);
                CU_ASSERT(tern_mailbox_post(&play.client[i % 2], slot));
                tern_mailbox_client_give(&play.client[i % 2], slot);
                sent++;
            }
        }
        CU_ASSERT(full > 0 && sent > 4 * slots[s]);
        /* In the end all slots are quiet, once a client has looked. */
        for (int i = 0; i < 3; i++) {
            steps += tern_mailbox_serve(&play.server[0], work, NULL, NULL);
            for (uint32_t slot = 0; slot < slots[s]; slot++)
                tern_mailbox_recycle(&play.client[0], slot, 1);
        }
        CU_ASSERT_EQUAL(steps, 2 * sent);
        for (uint32_t slot = 0; slot < slots[s]; slot++)
            CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), TERN_MAILBOX_QUIET);
        close_box();
    }
}

/* A slot that a worker owns permanently is used by no other worker, and stays held. */
static void owned(void) {
    open_box(2);
    CU_ASSERT(tern_mailbox_client_own(&play.client[0], 1));
    CU_ASSERT(!tern_mailbox_client_own(&play.client[1], 1));
    CU_ASSERT(tern_mailbox_server_own(&play.server[0], 1));
    CU_ASSERT(!tern_mailbox_server_own(&play.server[1], 1));
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), 0);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[0]), TERN_MAILBOX_NONE);
    CU_ASSERT(tern_mailbox_post(&play.client[0], 1));
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, no_work, NULL), 0);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], work, no_work, NULL), 1);
    CU_ASSERT(tern_mailbox_finish(&play.client[0], 1));
    tern_mailbox_client_give(&play.client[0], 1);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[0]), TERN_MAILBOX_NONE);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, no_work, NULL), 0);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], no_work, NULL, NULL), 1);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 1), TERN_MAILBOX_QUIET);
    close_box();
}

static void get_number(void *packet, uint32_t slot, void *argument) {
    (void)slot;
    memcpy(argument, packet, sizeof(uint64_t));
}

static int end_wait(void *argument, uint32_t calls) {
    (void)argument, (void)calls;
    return 5;
}

static int serve_meanwhile(void *argument, uint32_t calls) {
    (void)argument;
    (void)tern_mailbox_serve(&play.server[0], work, NULL, NULL);
    return calls > 10;
}

/* A held slot may have a call on it that was given up, or another client's asynchronous call. Only
 * the holder can finish that call. */
static void left_calls(void) {
    const tern_mailbox_wait briefly = {end_wait, NULL}, served = {serve_meanwhile, NULL};
    for (int answered = 0; answered < 2; answered++) {
        uint64_t number = 1;
        open_box(2);
        CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), 1);
        CU_ASSERT(tern_mailbox_post(&play.client[1], 1));
        tern_mailbox_client_give(&play.client[1], 1);
        CU_ASSERT(tern_mailbox_client_own(&play.client[0], 1));
        for (int i = 0; i < 3; i++, number++) {
            if (answered)
                (void)serve_meanwhile(NULL, 0);
            CU_ASSERT_EQUAL(
                tern_mailbox_call_on(&play.client[0], 1, fill, get_number, &number, &briefly), 5);
            uint64_t result = number;
            CU_ASSERT_EQUAL(
                tern_mailbox_call_on(&play.client[0], 1, fill, get_number, &result, &served), 0);
            CU_ASSERT_EQUAL(result, 3 * number + 1);
        }
        close_box();
    }
}

/* A server keeps a slot between the packets of a call if its callback asks for that, and gives it
 * back with the last packet. */
static void kept(void) {
    open_box(3);
    uint32_t slot = tern_mailbox_take(&play.client[0]);
    for (int packet = 0; packet < 5; packet++) {
        int more = packet < 4;
        CU_ASSERT(tern_mailbox_post(&play.client[0], slot));
        if (packet > 0)
            CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], no_work, no_work, NULL), 0);
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], work, no_work, &more), 1);
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, more ? 21 : 0);
        CU_ASSERT(tern_mailbox_finish(&play.client[0], slot));
        int go_on = more;
        CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, more ? work : NULL, &go_on),
                        1);
    }
    CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
    close_box();
}

static int keep_or_forget(void *packet, uint32_t slot, void *argument) {
    (void)packet;
    *(int *)argument += (slot & TERN_MAILBOX_GONE) != 0;
    return (slot & TERN_MAILBOX_GONE) == 0;
}

/* A client leaves in the middle of a call, at each step of the call. Its server gives the slot back
 * within 2 * TERN_MAILBOX_SPINS rounds, although it is busy with the call of another client, whose
 * slot it keeps. */
static void forgotten(void) {
    for (int gone = 0; gone < 3; gone++) {
        int forgot = 0;
        open_box(2);
        tern_mailbox_client *goes = &play.client[0], *stays = &play.client[1];
        uint32_t slot = tern_mailbox_take(goes), other = tern_mailbox_take(stays);
        CU_ASSERT(tern_mailbox_post(goes, slot));
        if (gone > 0) {
            (void)tern_mailbox_serve(&play.server[0], keep_or_forget, keep_or_forget, &forgot);
            CU_ASSERT(tern_mailbox_finish(goes, slot));
        }
        if (gone > 1)
            (void)tern_mailbox_serve(&play.server[0], keep_or_forget, keep_or_forget, &forgot);
        tern_mailbox_client_give(goes, slot);
        for (uint32_t i = 0; i <= 2 * TERN_MAILBOX_SPINS; i++) {
            (void)(tern_mailbox_post(stays, other) || tern_mailbox_finish(stays, other));
            CU_ASSERT(tern_mailbox_serve(&play.server[0], keep_or_forget, keep_or_forget, &forgot) >
                      0);
            CU_ASSERT_EQUAL(play.box.server_locks[other].holder, play.server[0].name);
            if (tern_mailbox_look(&play.box, slot) == TERN_MAILBOX_ANSWERED)
                tern_mailbox_recycle(goes, slot / TERN_MAILBOX_GROUP * TERN_MAILBOX_GROUP,
                                     (uint64_t)1 << slot % TERN_MAILBOX_GROUP);
        }
        CU_ASSERT_EQUAL(forgot, 1);
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
        CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, slot), TERN_MAILBOX_QUIET);
        close_box();
    }
}

/* A client leaves before its call is answered, and no client finishes the call. The server still
 * gives the slot back, and then stops. A client that looks for a slot finishes the call, and
 * another server cleans the slot. */
static void forgotten_answer(void) {
    int forgot = 0;
    open_box(1);
    CU_ASSERT_EQUAL_FATAL(tern_mailbox_take(&play.client[0]), 0);
    CU_ASSERT(tern_mailbox_post(&play.client[0], 0));
    tern_mailbox_client_give(&play.client[0], 0);
    for (uint32_t i = 0; i < TERN_MAILBOX_SPINS; i++)
        (void)tern_mailbox_serve(&play.server[0], keep_or_forget, keep_or_forget, &forgot);
    CU_ASSERT_EQUAL(forgot, 1);
    CU_ASSERT_EQUAL(play.box.server_locks[0].holder, 0);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 0), TERN_MAILBOX_ANSWERED);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), TERN_MAILBOX_NONE);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, count_up, &forgot), 1);
    CU_ASSERT_EQUAL(forgot, 2);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), 0);
    close_box();
}

/* Clients have died in each state: their calls go on as asynchronous calls. */
static void dead_clients(void) {
    open_box(4);
    for (uint32_t slot = 0; slot < 4; slot++) {
        CU_ASSERT(tern_mailbox_client_own(&play.client[0], slot));
        for (uint32_t at = 0; at < slot; at++)
            CU_ASSERT(transition((int)at, slot));
    }
    CU_ASSERT_EQUAL(tern_mailbox_client_reclaim(&play.client[1], 12), 0);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), TERN_MAILBOX_NONE);
    CU_ASSERT_EQUAL(tern_mailbox_client_reclaim(&play.client[1], 10), 4);
    CU_ASSERT_EQUAL(tern_mailbox_client_reclaim(&play.client[1], 10), 0);
    for (int i = 0; i < 4; i++) {
        tern_mailbox_serve(&play.server[0], work, NULL, NULL);
        for (uint32_t slot = 0; slot < 4; slot++)
            tern_mailbox_recycle(&play.client[1], slot, 1);
    }
    for (uint32_t slot = 0; slot < 4; slot++)
        CU_ASSERT(tern_mailbox_take(&play.client[1]) != TERN_MAILBOX_NONE);
    close_box();
}

/* A server has died: recover answers the packet that it was working on, and the other slots go
 * on. */
static void dead_servers(void) {
    open_box(4);
    int recovered = 0;
    for (uint32_t slot = 0; slot < 4; slot++) {
        CU_ASSERT(tern_mailbox_server_hold(&play.server[0], slot));
        for (uint32_t at = 0; at < slot; at++)
            CU_ASSERT(transition((int)at, slot));
    }
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, no_work, NULL), 0);
    CU_ASSERT_EQUAL(tern_mailbox_server_reclaim(&play.server[1], 20, count_up, &recovered), 4);
    CU_ASSERT_EQUAL(recovered, 1);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 1), TERN_MAILBOX_ANSWERED);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 3), TERN_MAILBOX_FINISHED);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[1], no_work, NULL, NULL), 1);
    for (uint32_t slot = 0; slot < 4; slot++)
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
    close_box();
}

/* With TERN_MAILBOX_CAS a worker can die between staging its flag and publishing it. The worker
 * that takes over its slot publishes the flag. */
static void half_written(void) {
#if TERN_MAILBOX_LAYOUT == TERN_MAILBOX_CAS
    open_box(70);
    CU_ASSERT(tern_mailbox_client_own(&play.client[0], 67));
    *tern_mailbox_flags_staged(&play.box.client, 1) |= 1 << 3;
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 67), TERN_MAILBOX_QUIET);
    CU_ASSERT_EQUAL(tern_mailbox_client_reclaim(&play.client[1], 10), 1);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 67), TERN_MAILBOX_POSTED);
    /* A worker that changes another flag of the word publishes it as well. */
    *tern_mailbox_flags_staged(&play.box.client, 1) |= 1 << 4;
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 68), TERN_MAILBOX_QUIET);
    CU_ASSERT(tern_mailbox_post(&play.client[1], 69));
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 68), TERN_MAILBOX_POSTED);
    close_box();
#else
    tern_test_skip("one access writes a flag in this layout");
#endif
}

static int give_up(void *argument, uint32_t calls) {
    CU_ASSERT_EQUAL(calls, (uint32_t)++ * (int *)argument - 1);
    return calls == 4 ? 77 : 0;
}

/* A wait ends when its hook asks for that, a call that does not have to wait ends at once, and a
 * call that is given up goes on by itself. */
static void waits(void) {
    open_box(1);
    int calls = 0;
    uint64_t value = 5;
    tern_mailbox_wait wait = {give_up, &calls};
    CU_ASSERT_EQUAL(tern_mailbox_call(&play.client[0], fill, NULL, &value, &wait), 77);
    CU_ASSERT_EQUAL(calls, 5);
    CU_ASSERT_EQUAL(tern_mailbox_look(&play.box, 0), TERN_MAILBOX_POSTED);
    CU_ASSERT_EQUAL(play.box.client_locks[0].holder, 0);
    calls = 0;
    CU_ASSERT_EQUAL(tern_mailbox_send(&play.client[1], fill, &value, &wait), 77);
    CU_ASSERT_EQUAL(calls, 5);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], work, NULL, NULL), 1);
    CU_ASSERT_EQUAL(tern_mailbox_take(&play.client[1]), TERN_MAILBOX_NONE);
    CU_ASSERT_EQUAL(tern_mailbox_serve(&play.server[0], work, NULL, NULL), 1);
    calls = 0;
    CU_ASSERT_EQUAL(tern_mailbox_send(&play.client[1], fill, &value, &wait), 0);
    CU_ASSERT_EQUAL(calls, 0);
    close_box();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"transitions", transitions},   {"memory", memory},
        {"take_all", take_all},         {"served", served},
        {"recycled", recycled},         {"owned", owned},
        {"left_calls", left_calls},     {"kept", kept},
        {"forgotten", forgotten},       {"forgotten_answer", forgotten_answer},
        {"dead_clients", dead_clients}, {"dead_servers", dead_servers},
        {"half_written", half_written}, {"waits", waits}};
    return tern_test_main(argc, argv, "mailbox states", tests, sizeof tests / sizeof tests[0]);
}
