// tern-test: unit
/* How many operations an end of verbs posts and what they carry, how workers come and go, and what
 * a card reports: against cards that are played (played_verbs.h). */

#include <stdlib.h>
#include <string.h>

#include "caught.h"
#include "fixture.h"
#include "played_verbs.h"
#include "rma/network/verbs_card.h"

#define MUST(call) CU_ASSERT_EQUAL_FATAL(call, TERN_OK)

enum { PEERS = 40, PER_PEER = 127 };

typedef struct crowd {
    tern_network *network;
    tern_network_end *end;
    uint64_t peer[PEERS];
    char *contexts;
    char data[256];
} crowd;

static void crowd_open(crowd *c) {
    const tern_network_ops *ops = &tern_network_verbs;
    MUST(ops->open(&any, &c->network));
    MUST(ops->open_end(c->network, &c->end));
    c->contexts = calloc((size_t)PEERS * PER_PEER, TERN_NETWORK_CONTEXT);
    CU_ASSERT_FATAL(c->contexts != NULL);
    for (int i = 0; i < PEERS; i++) {
        tern_network_name name;
        c->peer[i] = 0;
        MUST(ops->offer(c->end, &c->peer[i], &name));
        MUST(ops->reach(c->end, &name, &c->peer[i]));
    }
}

static void crowd_close(crowd *c) {
    const tern_network_ops *ops = &tern_network_verbs;
    ops->close_end(c->end);
    ops->close(c->network);
    free(c->contexts);
    CU_ASSERT_EQUAL(queue_pairs, 0);
    CU_ASSERT_EQUAL(completion_queues, 0);
    CU_ASSERT_EQUAL(cards_open, 0);
}

static tern_status crowd_post_any(crowd *c, uint32_t peer, uint32_t number, size_t bytes,
                                  bool late) {
    const tern_network_post post = {.act = TERN_NETWORK_WRITE,
                                    .peer = c->peer[peer],
                                    .here = c->data,
                                    .bytes = bytes,
                                    .late = late,
                                    .context = c->contexts + (size_t)number * TERN_NETWORK_CONTEXT};
    return tern_network_verbs.post(c->end, &post);
}

static tern_status crowd_post(crowd *c, uint32_t peer, uint32_t number, size_t bytes) {
    return crowd_post_any(c, peer, number, bytes, false);
}

/* Posts to as many peers as one likes, of which none answers, leave the completion queue room for
 * each of them: with the queue full a card would end all its connections. */
static void completions_have_room(void) {
    play_address(play_roce());
    crowd c;
    crowd_open(&c);
    uint32_t accepted = 0, refused = 0;
    for (uint32_t i = 0; i < PEERS * PER_PEER; i++) {
        const tern_status status = crowd_post(&c, i % PEERS, accepted, 8);
        accepted += status == TERN_OK;
        refused += status == TERN_ERR_AGAIN;
    }
    CU_ASSERT_EQUAL(accepted + refused, PEERS * PER_PEER);
    CU_ASSERT_EQUAL(accepted, posts);
    CU_ASSERT(accepted <= entries);
    CU_ASSERT(refused > 0);

    /* Each completion, of a dead peer, too, makes room for one more. */
    tern_network_done done[16];
    outcome = IBV_WC_RETRY_EXC_ERR;
    CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 16), 16);
    for (int i = 0; i < 16; i++)
        CU_ASSERT_EQUAL(done[i].status, TERN_ERR_NETWORK);
    for (uint32_t i = 0; i < 16; i++)
        EXPECT_OK(crowd_post(&c, i, accepted + i, 8));
    EXPECT(TERN_ERR_AGAIN, crowd_post(&c, 16, accepted + 16, 8));
    while (tern_network_verbs.complete(c.end, done, 16) > 0)
        continue;
    CU_ASSERT_EQUAL(polled, posts);
    crowd_close(&c);
}

/* A post carries as much data as the card takes, in halves of 128 bytes down to 16, or none. This
 * card refuses to register other data. */
static void posts_carry_what_the_card_takes(void) {
    static const struct {
        uint32_t limit;
        size_t carried;
    } tries[] = {{0, 0},   {8, 0},   {15, 0},    {16, 16},   {31, 16},
                 {40, 32}, {64, 64}, {128, 128}, {1024, 128}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        play_address(play_roce());
        inline_limit = tries[i].limit;
        crowd c;
        crowd_open(&c);
        if (tries[i].carried > 0) {
            EXPECT_OK(crowd_post(&c, 0, 0, tries[i].carried));
            CU_ASSERT((post_flags & IBV_SEND_INLINE) != 0);
        }
        EXPECT(TERN_ERR_MEMORY, crowd_post(&c, 0, 1, tries[i].carried + 1));
        tern_network_done done[1];
        (void)tern_network_verbs.complete(c.end, done, 1);
        crowd_close(&c);
    }
}

/* Only the first connection of an end tries out what the card takes. */
static void a_limit_is_found_once(void) {
    play_address(play_roce());
    inline_limit = 40;
    queue_attempts = 0;
    crowd c;
    crowd_open(&c);
    CU_ASSERT_EQUAL(queue_attempts, PEERS + 2);
    crowd_close(&c);
}

/* The queues are told the partition and the traffic class. */
static void queues_are_told(void) {
    played_port *port = play_roce();
    play_address(port);
    port->keys = 2;
    port->key[1] = 0x8005;
    tern_network_options options = any;
    options.partition_key = 5;
    options.traffic_class = 26 << 2;
    const tern_network_ops *ops = &tern_network_verbs;
    tern_network *network;
    tern_network_end *end;
    tern_network_name name;
    uint64_t peer = 0;
    MUST(ops->open(&options, &network));
    MUST(ops->open_end(network, &end));
    EXPECT_OK(ops->offer(end, &peer, &name));
    EXPECT_OK(ops->reach(end, &name, &peer));
    CU_ASSERT_EQUAL(started.pkey_index, 1);
    CU_ASSERT_EQUAL(started.ah_attr.is_global, 1);
    CU_ASSERT_EQUAL(started.ah_attr.grh.traffic_class, 104);
    ops->close_end(end);
    ops->close(network);
}

/* A connection is offered again, or closed, once its posts have ended: those that nobody is told
 * of, too, and the empty write behind them, for which no port polls. */
static void late_posts_end_with_their_connection(void) {
    const tern_network_ops *ops = &tern_network_verbs;
    play_address(play_roce());
    crowd c;
    tern_network_name name;
    tern_network_done done[4];
    crowd_open(&c);
    const int before = queue_pairs;
    for (uint32_t i = 0; i < 2; i++)
        EXPECT_OK(crowd_post_any(&c, 0, i, 8, true));
    CU_ASSERT_EQUAL(ops->complete(c.end, done, 4), 1);
    EXPECT(TERN_ERR_AGAIN, ops->offer(c.end, &c.peer[0], &name));
    CU_ASSERT_EQUAL(ops->complete(c.end, done, 4), 0);
    CU_ASSERT_EQUAL(ops->complete(c.end, done, 4), 1);
    EXPECT_OK(ops->offer(c.end, &c.peer[0], &name));
    EXPECT_OK(ops->reach(c.end, &name, &c.peer[0]));
    CU_ASSERT_EQUAL(queue_pairs, before);

    for (int comes = 0; comes < 2; comes++) {
        outcome = IBV_WC_RETRY_EXC_ERR;
        for (uint32_t i = 0; i < 2; i++)
            EXPECT_OK(crowd_post_any(&c, 0, i, 8, true));
        ops->hasten(c.end, c.peer[0]);
        CU_ASSERT_EQUAL(ops->complete(c.end, done, 2), 2);
        posts -= !comes; /* the completion of the empty write does not come yet */
        ops->leave(c.end, c.peer[0], &name);
        CU_ASSERT_EQUAL(queue_pairs, before - comes);
        if (!comes)
            EXPECT(TERN_ERR_AGAIN, ops->offer(c.end, &c.peer[0], &name));
        posts += !comes;
        EXPECT_OK(ops->offer(c.end, &c.peer[0], &name));
        EXPECT_OK(ops->reach(c.end, &name, &c.peer[0]));
        outcome = IBV_WC_SUCCESS;
        EXPECT_OK(crowd_post(&c, 0, 0, 8));
        CU_ASSERT_EQUAL(ops->complete(c.end, done, 4), 1);
        CU_ASSERT_EQUAL(done[0].status, TERN_OK);
        CU_ASSERT_EQUAL(queue_pairs, before);
    }
    crowd_close(&c);
}

/* An end that is closed gives back the registrations of its posts under way. */
static void an_end_gives_registrations_back(void) {
    play_address(play_roce());
    crowd c;
    crowd_open(&c);
    registers = true;
    for (uint32_t i = 0; i < 10; i++)
        EXPECT_OK(crowd_post_any(&c, i % 3, i, 4096, i % 2 == 0));
    CU_ASSERT_EQUAL(registered, 10);
    crowd_close(&c);
    CU_ASSERT_EQUAL(registered, 0);
}

/* The numbers of first packets differ from process to process. */
static void first_packets_are_random(void) {
    const tern_network_ops *ops = &tern_network_verbs;
    uint32_t packet[4], same = 0;
    for (size_t i = 0; i < sizeof packet / sizeof *packet; i++) {
        tern_network *network;
        tern_network_end *end;
        tern_network_name name;
        uint64_t peer = 0;
        play_address(play_roce());
        MUST(ops->open(&any, &network));
        MUST(ops->open_end(network, &end));
        EXPECT_OK(ops->offer(end, &peer, &name));
        memcpy(&packet[i], name.text + 12, sizeof packet[i]); /* after two numbers */
        CU_ASSERT(packet[i] <= 0xffffff);
        same += packet[i] == packet[0];
        ops->close_end(end);
        ops->close(network);
    }
    CU_ASSERT(same < 4);
}

/* ---- Guests ---- */

enum { WORKERS = 500, STEPS = 20000 };

/* An offer with that number, which is the first word of a name of verbs. */
static tern_network_name offer_of(const tern_network_name *like, uint64_t number) {
    tern_network_name offer = *like;
    memcpy(offer.text, &number, sizeof number);
    return offer;
}

/* Workers come, come again with a later offer, and leave, in random order. The same offer gets the
 * same answer, and an older one is refused. */
static void workers_come_and_go(void) {
    const tern_network_ops *ops = &tern_network_verbs;
    static uint64_t current[WORKERS], last[WORKERS];
    static tern_network_name answer[WORKERS];
    uint64_t state = tern_test_seed(), steps = 0, present = 0;
    play_address(play_roce());
    crowd c;
    tern_network_name like, name;
    uint64_t peer = 0;
    crowd_open(&c);
    EXPECT_OK(ops->offer(c.end, &peer, &like));
    const int before = queue_pairs;
    memset(current, 0, sizeof current);
    memset(last, 0, sizeof last);
    for (; steps < STEPS; steps++) {
        const uint64_t worker = tern_test_random(&state) % WORKERS;
        const uint64_t from = worker << 16 | (worker & 3), number = last[worker] + 1;
        const uint64_t what = tern_test_random(&state) % 8, here = current[worker];
        const tern_network_name now = offer_of(&like, here), next = offer_of(&like, number),
                                older = offer_of(&like, here - 1);
        if (what < 3) {
            EXPECT_OK(ops->welcome(c.network, from, &next, &answer[worker]));
            present += here == 0;
            current[worker] = last[worker] = number;
        } else if (what == 3 && here > 0) {
            EXPECT_OK(ops->welcome(c.network, from, &now, &name));
            CU_ASSERT_EQUAL(memcmp(name.text, answer[worker].text, name.bytes), 0);
        } else if (what == 4 && here > 0) {
            EXPECT(TERN_ERR_NETWORK, ops->welcome(c.network, from, &older, &name));
        } else if (what == 5) {
            ops->dismiss(c.network, from, &next); /* an offer that never came */
        } else {
            ops->dismiss(c.network, from, &now);
            present -= here > 0;
            current[worker] = 0;
        }
        CU_ASSERT_EQUAL(queue_pairs, before + (int)present);
    }
    CU_ASSERT(present > 100);
    crowd_close(&c);
}

/* ---- What a card reports ---- */

static uint32_t trouble_of(const crowd *c) { return atomic_load(&c->network->trouble); }

/* Fails one operation, after which tern reads the events, and checks the log of that. */
static void fail_and_expect(crowd *c, enum ibv_wc_status failure, const char *said) {
    tern_network_done done[2];
    outcome = failure;
    EXPECT_OK(crowd_post(c, 0, 0, 8));
    caught log = caught_begin();
    const size_t count = tern_network_verbs.complete(c->end, done, 2);
    char *text = caught_end(&log);
    CU_ASSERT_EQUAL(count, 1);
    CU_ASSERT_EQUAL(done[0].status, TERN_ERR_NETWORK);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, said));
    CU_ASSERT_EQUAL(events, 0);
    CU_ASSERT_EQUAL(events_open, 0);
    free(text);
    outcome = IBV_WC_SUCCESS;
}

/* Events of the port are in the log and in errors, with the name of the card and the port. The
 * other port of the card does not matter. */
static void a_port_that_goes_down(void) {
    play_address(play_roce());
    crowd c;
    char text[128];
    crowd_open(&c);
    CU_ASSERT_STRING_EQUAL(tern_network_trouble_text(c.network, text, sizeof text), "");
    play_event(IBV_EVENT_PORT_ERR, 2);
    fail_and_expect(&c, IBV_WC_RETRY_EXC_ERR, "");
    CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_FINE);
    play_event(IBV_EVENT_PORT_ERR, 1);
    fail_and_expect(&c, IBV_WC_RETRY_EXC_ERR, "verbs: port first:1 is down");
    CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_PORT_DOWN);
    CU_ASSERT_STRING_EQUAL(tern_network_trouble_text(c.network, text, sizeof text),
                           "; port first:1 of this rank is down");
    play_event(IBV_EVENT_PORT_ACTIVE, 1);
    fail_and_expect(&c, IBV_WC_RETRY_EXC_ERR, "verbs: port first:1 is active again");
    CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_FINE);
    crowd_close(&c);
}

/* A card that has failed stays so, whatever its port reports later. */
static void a_card_that_fails(void) {
    static const enum ibv_event_type ends[] = {IBV_EVENT_DEVICE_FATAL, IBV_EVENT_CQ_ERR};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        play_address(play_roce());
        crowd c;
        char text[128];
        crowd_open(&c);
        play_event(IBV_EVENT_QP_FATAL, 0);
        fail_and_expect(&c, IBV_WC_FATAL_ERR, "a connection over first:1 has failed");
        CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_FINE);
        play_event(ends[i], 0);
        play_event(IBV_EVENT_PORT_ACTIVE, 1);
        fail_and_expect(&c, IBV_WC_FATAL_ERR, "verbs: card first:1 has failed");
        CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_FAILED);
        CU_ASSERT_STRING_EQUAL(tern_network_trouble_text(c.network, text, sizeof text),
                               "; card first:1 of this rank has failed");
        crowd_close(&c);
    }
}

/* Events are read in a long wait, too, and not by polls of an idle end or by short waits. */
static void events_are_read_in_long_waits(void) {
    play_address(play_roce());
    crowd c;
    tern_network_done done[2];
    crowd_open(&c);
    play_event(IBV_EVENT_DEVICE_FATAL, 0);
    for (int i = 0; i < 100000; i++)
        CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 2), 0);
    CU_ASSERT_EQUAL(event_reads, 0);
    EXPECT_OK(crowd_post(&c, 0, 0, 8));
    const uint32_t due = posts;
    posts = polled; /* the card completes nothing */
    caught log = caught_begin();
    for (int i = 0; i < 1000; i++)
        (void)tern_network_verbs.complete(c.end, done, 2);
    CU_ASSERT_EQUAL(event_reads, 0);
    for (int i = 0; i < 100000; i++)
        (void)tern_network_verbs.complete(c.end, done, 2);
    char *text = caught_end(&log);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "verbs: card first:1 has failed: a fatal event"));
    CU_ASSERT(event_reads > 1 && event_reads < 100);
    CU_ASSERT_EQUAL(trouble_of(&c), TERN_NETWORK_FAILED);
    free(text);
    posts = due;
    CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 2), 1);
    crowd_close(&c);
}

/* After IBV_WC_RETRY_EXC_ERR the connection is made again, once all that was posted has ended. */
static void a_lost_connection_is_made_again(void) {
    play_address(play_roce());
    crowd c;
    tern_network_name name;
    tern_network_done done[4];
    crowd_open(&c);
    const int before = queue_pairs;
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_OK(crowd_post(&c, 0, i, 8));
    outcome = IBV_WC_RETRY_EXC_ERR;
    CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 1), 1);
    CU_ASSERT_EQUAL(done[0].status, TERN_ERR_NETWORK);
    EXPECT(TERN_ERR_AGAIN, tern_network_verbs.offer(c.end, &c.peer[0], &name));
    outcome = IBV_WC_WR_FLUSH_ERR;
    CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 4), 2);
    CU_ASSERT_EQUAL(done[1].status, TERN_ERR_NETWORK);
    EXPECT_OK(tern_network_verbs.offer(c.end, &c.peer[0], &name));
    EXPECT_OK(tern_network_verbs.reach(c.end, &name, &c.peer[0]));
    CU_ASSERT_EQUAL(queue_pairs, before);
    outcome = IBV_WC_SUCCESS;
    EXPECT_OK(crowd_post(&c, 0, 0, 8));
    CU_ASSERT_EQUAL(tern_network_verbs.complete(c.end, done, 4), 1);
    CU_ASSERT_EQUAL(done[0].status, TERN_OK);
    crowd_close(&c);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"completions_have_room", completions_have_room},
        {"posts_carry_what_the_card_takes", posts_carry_what_the_card_takes},
        {"a_limit_is_found_once", a_limit_is_found_once},
        {"queues_are_told", queues_are_told},
        {"an_end_gives_registrations_back", an_end_gives_registrations_back},
        {"first_packets_are_random", first_packets_are_random},
        {"workers_come_and_go", workers_come_and_go},
        {"late_posts_end_with_their_connection", late_posts_end_with_their_connection},
        {"a_port_that_goes_down", a_port_that_goes_down},
        {"a_card_that_fails", a_card_that_fails},
        {"events_are_read_in_long_waits", events_are_read_in_long_waits},
        {"a_lost_connection_is_made_again", a_lost_connection_is_made_again},
    };
    return tern_test_main(argc, argv, "verbs_ends", tests, sizeof tests / sizeof *tests);
}
