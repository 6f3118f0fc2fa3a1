// tern-test: unit
/* How verbs chooses a card, a port, an address and a partition, what it asks of the card for its
 * packets, and how many operations it posts: against cards that are played (played_verbs.h). No
 * card is needed: tern_library_load, which would load libibverbs, is wrapped and gives those
 * functions. */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "played_verbs.h"
#include "rma/network/library.h"
#include "rma/network/verbs_card.h"
#include "tern/config.h"

#define MUST(call) CU_ASSERT_EQUAL_FATAL(call, TERN_OK)

enum { TIMES = 2000 };

/* The linker gives this name (tests/CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count);

tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count) {
    static const struct {
        const char *name;
        void (*function)(void);
    } played[] = {
#define PLAYED(name) {"ibv_" #name, (void (*)(void))play_##name}
        PLAYED(fork_init),        PLAYED(get_device_list),
        PLAYED(free_device_list), PLAYED(open_device),
        PLAYED(get_device_name),  PLAYED(close_device),
        PLAYED(query_port),       PLAYED(query_device),
        PLAYED(query_pkey),       PLAYED(alloc_pd),
        PLAYED(dealloc_pd),       PLAYED(reg_mr),
        PLAYED(dereg_mr),         PLAYED(create_cq),
        PLAYED(destroy_cq),       PLAYED(create_qp),
        PLAYED(modify_qp),        PLAYED(destroy_qp),
        PLAYED(wc_status_str),    {"_ibv_query_gid_ex", (void (*)(void))play_query_gid_ex}};
    CU_ASSERT_STRING_EQUAL(transport, "verbs");
    CU_ASSERT_STRING_EQUAL(library, "libibverbs.so.1");
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < sizeof played / sizeof *played; j++)
            if (strcmp(symbols[i].name, played[j].name) == 0) {
                memcpy(symbols[i].at, &played[j].function, sizeof played[j].function);
                found = true;
            }
        CU_ASSERT_FATAL(found);
    }
    return TERN_OK;
}
/* NOLINTEND(bugprone-reserved-identifier) */

typedef enum address { ZERO, LINK_LOCAL, IPV6, IPV4 } address;

static struct ibv_gid_entry gid_of(uint32_t type, address kind, uint8_t last) {
    static const uint8_t begin[][12] = {[LINK_LOCAL] = {0xfe, 0x80},
                                        [IPV6] = {0x20, 0x01, 0x0d, 0xb8},
                                        [IPV4] = {[10] = 0xff, [11] = 0xff}};
    struct ibv_gid_entry entry = {.gid_type = type};
    if (kind == ZERO)
        return entry;
    memcpy(entry.gid.raw, begin[kind], sizeof begin[kind]);
    entry.gid.raw[15] = last;
    return entry;
}

/* One card with one active port of RoCE and no address. */
static played_port *play_roce(void) {
    memset(cards, 0, sizeof cards);
    card_count = 1;
    inline_limit = 128;
    posts = polled = 0;
    outcome = IBV_WC_SUCCESS;
    for (int i = 0; i < CARDS; i++) {
        cards[i].driver.context.ops.post_send = play_post_send;
        cards[i].driver.context.ops.poll_cq = play_poll_cq;
        cards[i].driver.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        cards[i].driver.sz = sizeof cards[i].driver;
        cards[i].driver.query_port = driver_query_port;
    }
    played_port *port = &cards[0].port[0];
    *port = (played_port){
        .active = true, .link_layer = IBV_LINK_LAYER_ETHERNET, .keys = 1, .key = {0xffff}};
    return port;
}

static const tern_network_options any = {.device = "", .gid_index = TERN_VERBS_GID_ANY};

static void open_card(tern_verbs_card *card, const tern_network_options *options) {
    const int before = forks_prepared;
    MUST(tern_verbs_card_open(card, options));
    CU_ASSERT_EQUAL(forks_prepared, before + 1);
    CU_ASSERT_EQUAL(cards_open, 1);
}

static void close_card(tern_verbs_card *card) {
    tern_verbs_card_close(card);
    CU_ASSERT_EQUAL(cards_open, 0);
}

/* The table of a Mellanox card: version 1 before version 2 of each address. */
static void version_2_comes_before_version_1(void) {
    played_port *port = play_roce();
    tern_verbs_card card;
    port->gids = 4;
    port->gid[0] = gid_of(IBV_GID_TYPE_ROCE_V1, LINK_LOCAL, 1);
    port->gid[1] = gid_of(IBV_GID_TYPE_ROCE_V2, LINK_LOCAL, 1);
    port->gid[2] = gid_of(IBV_GID_TYPE_ROCE_V1, IPV4, 1);
    port->gid[3] = gid_of(IBV_GID_TYPE_ROCE_V2, IPV4, 1);
    open_card(&card, &any);
    CU_ASSERT_EQUAL(card.gid_index, 3);
    CU_ASSERT_STRING_EQUAL(card.name, "first:1");
    close_card(&card);

    tern_network_options given = any;
    given.gid_index = 2;
    open_card(&card, &given);
    CU_ASSERT_EQUAL(card.gid_index, 2);
    CU_ASSERT_EQUAL(memcmp(&card.gid, &port->gid[2].gid, sizeof card.gid), 0);
    close_card(&card);
}

/* Random tables, against the order that the documentation gives. */
static void the_best_address_is_chosen(void) {
    uint64_t state = tern_test_seed();
    for (int i = 0; i < TIMES; i++) {
        played_port *port = play_roce();
        int best = -1, merit = 0;
        port->gids = (int)(tern_test_random(&state) % (GIDS + 1));
        for (int j = 0; j < port->gids; j++) {
            const uint32_t type = (uint32_t)(tern_test_random(&state) % 3);
            const address kind = (address)(tern_test_random(&state) % 4);
            port->gid[j] = gid_of(type, kind, (uint8_t)(j + 1));
            const int here = kind == ZERO ? 0 : type != IBV_GID_TYPE_ROCE_V2 ? 1 : 1 + (int)kind;
            if (here > merit) {
                merit = here;
                best = j;
            }
        }
        tern_verbs_card card;
        const tern_status status = tern_verbs_card_open(&card, &any);
        CU_ASSERT_EQUAL(status, best < 0 ? TERN_ERR_UNSUPPORTED : TERN_OK);
        if (status == TERN_OK) {
            CU_ASSERT_EQUAL(card.gid_index, best);
            tern_verbs_card_close(&card);
        }
        CU_ASSERT_EQUAL(cards_open, 0);
    }
}

/* A path of InfiniBand is routed to another subnet, or where the port demands it; one of RoCE is
 * always. */
static void what_is_routed(void) {
    played_port *port = play_roce();
    tern_verbs_card card;
    tern_network_options options = any;
    options.service_level = 3;
    options.traffic_class = 104;
    const struct ibv_gid_entry here = gid_of(IBV_GID_TYPE_IB, LINK_LOCAL, 1),
                               near = gid_of(IBV_GID_TYPE_IB, LINK_LOCAL, 2),
                               there = gid_of(IBV_GID_TYPE_IB, IPV6, 2);
    for (int flags = 0; flags < 2; flags++)
        for (int ethernet = 0; ethernet < 2; ethernet++) {
            struct ibv_ah_attr path;
            port->gids = 1;
            port->gid[0] = here;
            port->lid = ethernet ? 0 : 7;
            port->link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
            port->flags = flags ? IBV_QPF_GRH_REQUIRED : 0;
            open_card(&card, &options);
            tern_verbs_card_path(&card, 9, &near.gid, &path);
            CU_ASSERT_EQUAL(path.is_global, flags || ethernet);
            CU_ASSERT_EQUAL(path.dlid, 9);
            CU_ASSERT_EQUAL(path.sl, 3);
            CU_ASSERT_EQUAL(path.port_num, 1);
            tern_verbs_card_path(&card, 9, &there.gid, &path);
            CU_ASSERT_EQUAL(path.is_global, 1);
            CU_ASSERT_EQUAL(path.grh.traffic_class, 104);
            CU_ASSERT_EQUAL(memcmp(&path.grh.dgid, &there.gid, sizeof there.gid), 0);
            close_card(&card);
            /* A driver without a function of its own does not tell its flags. */
            cards[0].driver.query_port = NULL;
            open_card(&card, &options);
            CU_ASSERT_EQUAL(card.routes, ethernet);
            close_card(&card);
            cards[0].driver.query_port = driver_query_port;
        }
}

/* The highest bit of a key, which tells full members from limited ones, does not matter. */
static void a_partition_has_its_key(void) {
    played_port *port = play_roce();
    tern_verbs_card card;
    tern_network_options options = any;
    port->gids = 1;
    port->gid[0] = gid_of(IBV_GID_TYPE_ROCE_V2, IPV4, 1);
    port->keys = 4; /* the last one is not in use */
    port->key[1] = 0x0005;
    port->key[2] = 0x8006;
    static const struct {
        size_t given;
        int index;
    } tries[] = {{0, 0}, {0x7fff, 0}, {0x8005, 1}, {5, 1}, {6, 2}, {7, -1}, {0x8000, -1}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        options.partition_key = tries[i].given;
        if (tries[i].index < 0) {
            EXPECT(TERN_ERR_UNSUPPORTED, tern_verbs_card_open(&card, &options));
            EXPECT_DETAIL("with the key TERN_VERBS_PKEY=");
            continue;
        }
        open_card(&card, &options);
        CU_ASSERT_EQUAL(card.partition, tries[i].index);
        close_card(&card);
    }
}

static void a_port_is_named_or_found(void) {
    play_roce();
    tern_verbs_card card;
    tern_network_options options = any;
    card_count = 2;
    cards[0].port[0].active = false;
    cards[1].port[1] = (played_port){.active = true,
                                     .link_layer = IBV_LINK_LAYER_ETHERNET,
                                     .gids = 1,
                                     .gid = {gid_of(IBV_GID_TYPE_ROCE_V2, IPV4, 1)}};
    open_card(&card, &options);
    CU_ASSERT_STRING_EQUAL(card.name, "second:2");
    close_card(&card);
    static const char *const good[] = {"second", "second:2"};
    static const char *const bad[] = {"first", "second:1", "third", "secon"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        options.device = good[i];
        open_card(&card, &options);
        CU_ASSERT_STRING_EQUAL(card.name, "second:2");
        close_card(&card);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.device = bad[i];
        EXPECT(TERN_ERR_UNSUPPORTED, tern_verbs_card_open(&card, &options));
        EXPECT_DETAIL(bad[i]);
        CU_ASSERT_EQUAL(cards_open, 0);
    }
    options.device = "second";
    options.gid_index = 1;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_verbs_card_open(&card, &options));
    EXPECT_DETAIL("TERN_VERBS_GID_INDEX=1");
}

/* ---- Operations ---- */

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

static void play_address(played_port *port) {
    port->gids = 1;
    port->gid[0] = gid_of(IBV_GID_TYPE_ROCE_V2, IPV4, 1);
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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"version_2_comes_before_version_1", version_2_comes_before_version_1},
        {"the_best_address_is_chosen", the_best_address_is_chosen},
        {"what_is_routed", what_is_routed},
        {"a_partition_has_its_key", a_partition_has_its_key},
        {"a_port_is_named_or_found", a_port_is_named_or_found},
        {"completions_have_room", completions_have_room},
        {"posts_carry_what_the_card_takes", posts_carry_what_the_card_takes},
        {"a_limit_is_found_once", a_limit_is_found_once},
        {"queues_are_told", queues_are_told},
        {"workers_come_and_go", workers_come_and_go},
        {"late_posts_end_with_their_connection", late_posts_end_with_their_connection},
    };
    return tern_test_main(argc, argv, "verbs", tests, sizeof tests / sizeof *tests);
}
