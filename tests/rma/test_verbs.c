// tern-test: unit
/* How verbs chooses a card, a port, an address and a partition, and what it asks of the card for
 * its packets: against cards that are played (played_verbs.h). No card is needed:
 * tern_library_load, which would load libibverbs, is wrapped and gives those functions. */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "played_verbs.h"
#include "rma/network/verbs_card.h"

#define MUST(call) CU_ASSERT_EQUAL_FATAL(call, TERN_OK)

enum { TIMES = 2000 };

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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"version_2_comes_before_version_1", version_2_comes_before_version_1},
        {"the_best_address_is_chosen", the_best_address_is_chosen},
        {"what_is_routed", what_is_routed},
        {"a_partition_has_its_key", a_partition_has_its_key},
        {"a_port_is_named_or_found", a_port_is_named_or_found},
    };
    return tern_test_main(argc, argv, "verbs", tests, sizeof tests / sizeof *tests);
}
