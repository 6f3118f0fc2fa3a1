// tern-test: unit
/* Which provider of libfabric ofi takes: on machines that this file plays. tern_library_load is
 * wrapped; of libfabric's functions it replaces those that list providers and open a fabric. */

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "played_library.h"
#include "rma/network/network.h"

enum { PROVIDERS = 6, TIMES = 2000 };

/* A provider of the machine that is played. */
typedef struct played_provider {
    const char *name;
    bool by_itself, atomics, card;
} played_provider;

static played_provider machine[PROVIDERS];
static size_t provider_count;
static uint32_t loaded = FI_VERSION(1, 17),
                asked;  /* versions: of the library, and what ofi asks for */
static char taken[32];  /* the provider whose fabric was opened first */
static bool taken_card; /* and whether it has a card */
static struct fi_info *(*real_dupinfo)(const struct fi_info *info);
static void (*real_freeinfo)(struct fi_info *info);

static bool has_what_hints_ask(const played_provider *p, const struct fi_info *hints) {
    return (p->atomics || (hints->caps & FI_ATOMIC) == 0) &&
           (p->by_itself || hints->domain_attr->data_progress != FI_PROGRESS_AUTO);
}

static int play_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                        const struct fi_info *hints, struct fi_info **info) {
    CU_ASSERT_PTR_NULL(node);
    CU_ASSERT_PTR_NULL(service);
    CU_ASSERT_EQUAL(flags, 0);
    asked = version;
    struct fi_info **end = info;
    *info = NULL;
    for (size_t i = 0; i < provider_count; i++) {
        const played_provider *p = &machine[i];
        if (!has_what_hints_ask(p, hints))
            continue;
        struct fi_info *one = real_dupinfo(NULL);
        CU_ASSERT_FATAL(one != NULL);
        one->fabric_attr->prov_name = strdup(p->name);
        one->fabric_attr->name = strdup(p->card ? "card" : "sockets");
        one->domain_attr->data_progress =
            p->by_itself && hints->domain_attr->data_progress != FI_PROGRESS_MANUAL
                ? FI_PROGRESS_AUTO
                : FI_PROGRESS_MANUAL;
        if (p->card) {
            one->nic = calloc(1, sizeof *one->nic);
            CU_ASSERT_FATAL(one->nic != NULL);
        }
        *end = one;
        end = &one->next;
    }
    return *info != NULL ? 0 : -FI_ENODATA;
}

static void play_freeinfo(struct fi_info *info) {
    for (struct fi_info *i = info; i != NULL; i = i->next) {
        free(i->nic);
        i->nic = NULL;
    }
    real_freeinfo(info);
}

static struct fi_info *play_dupinfo(const struct fi_info *info) {
    if (info == NULL)
        return real_dupinfo(NULL);
    struct fi_info copy = *info;
    copy.nic = NULL;
    copy.next = NULL;
    struct fi_info *fresh = real_dupinfo(&copy);
    if (fresh != NULL && info->nic != NULL)
        fresh->nic = calloc(1, sizeof *fresh->nic);
    return fresh;
}

static int play_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context) {
    (void)fabric, (void)context;
    if (taken[0] != 0)
        return -FI_ENODEV;
    snprintf(taken, sizeof taken, "%s", attr->prov_name);
    taken_card = strcmp(attr->name, "card") == 0;
    return -FI_ENODEV;
}

static uint32_t play_version(void) { return loaded; }

/* The linker gives this name (tests/CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count);

tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count) {
    const played_symbol list[] = {{"fi_getinfo", (void (*)(void))play_getinfo, NULL},
                                  {"fi_freeinfo", (void (*)(void))play_freeinfo, &real_freeinfo},
                                  {"fi_dupinfo", (void (*)(void))play_dupinfo, &real_dupinfo},
                                  {"fi_fabric", (void (*)(void))play_fabric, NULL},
                                  {"fi_version", (void (*)(void))play_version, NULL}};
    CU_ASSERT_STRING_EQUAL(transport, "ofi");
    return played_load(library, symbols, count, list, sizeof list / sizeof *list);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* What ofi takes on the machine; "" if it takes none. */
static const char *take(bool one_machine) {
    const tern_network_options options = {
        .one_machine = one_machine, .threads = one_machine, .device = ""};
    tern_network *network;
    taken[0] = 0;
    const tern_status status = tern_network_ofi.open(&options, &network);
    CU_ASSERT_EQUAL(status, taken[0] != 0 ? TERN_ERR_NETWORK : TERN_ERR_UNSUPPORTED);
    return taken;
}

static void play(const played_provider *providers, size_t count) {
    memcpy(machine, providers, count * sizeof *providers);
    provider_count = count;
}

/* TCP makes progress by itself and has atomics; the card's provider does neither. */
static void the_card_comes_before_tcp(void) {
    static const char *const cards[] = {"cxi", "efa", "psm3", "opx"};
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        for (int atomics = 0; atomics < 2; atomics++) {
            const played_provider both[] = {{"tcp;ofi_rxm", true, true, false},
                                            {cards[i], false, atomics != 0, true}};
            play(both, 2);
            CU_ASSERT_STRING_EQUAL(take(false), cards[i]);
        }
}

/* psm3 also works over sockets, on a machine without a card. */
static void without_a_card_it_is_tcp(void) {
    const played_provider both[] = {{"psm3", false, true, false},
                                    {"tcp;ofi_rxm", true, true, false}};
    play(both, 2);
    CU_ASSERT_STRING_EQUAL(take(false), "tcp;ofi_rxm");
}

/* Of a provider that has both, the card is taken. */
static void the_card_comes_before_sockets(void) {
    const played_provider both[] = {{"psm3", false, true, false}, {"psm3", false, true, true}};
    play(both, 2);
    CU_ASSERT_STRING_EQUAL(take(false), "psm3");
    CU_ASSERT(taken_card);
}

/* Random machines: cards, then progress, then atomics, as far as a provider has them. */
static void the_best_comes_first(void) {
    static const char *const names[] = {"cxi", "efa", "tcp;ofi_rxm", "shm", "net", "verbs;ofi_rxm"};
    uint64_t state = tern_test_seed();
    for (int i = 0; i < TIMES; i++) {
        played_provider some[PROVIDERS];
        const size_t count = tern_test_random(&state) % (PROVIDERS + 1);
        int most = -1;
        size_t best = 0;
        for (size_t j = 0; j < count; j++) {
            const size_t n = tern_test_random(&state) % (sizeof names / sizeof *names);
            const uint64_t has = tern_test_random(&state);
            some[j] = (played_provider){names[n], (has & 1) != 0, (has & 2) != 0, (has & 4) != 0};
            const bool own = some[j].card && n < 2;
            const int merit = 4 * own + 2 * some[j].atomics + some[j].by_itself;
            if (merit > most) {
                most = merit;
                best = j;
            }
        }
        play(some, count);
        CU_ASSERT_STRING_EQUAL(take(i % 2 == 0), count > 0 ? some[best].name : "");
        CU_ASSERT(count == 0 || taken_card == some[best].card);
    }
}

/* A library is asked for its own version, or for the one that tern was built with if that is older,
 * and refused below 1.15. */
static void versions(void) {
    const uint32_t built = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    const uint32_t some[] = {FI_VERSION(1, 14), FI_VERSION(1, 15), FI_VERSION(1, 16), built,
                             FI_VERSION(2, 3)};
    const played_provider tcp = {"tcp;ofi_rxm", true, true, false};
    play(&tcp, 1);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        asked = 0;
        loaded = some[i];
        CU_ASSERT_STRING_EQUAL(take(true), i == 0 ? "" : "tcp;ofi_rxm");
        CU_ASSERT_EQUAL(asked, i == 0 ? 0 : some[i] < built ? some[i] : built);
        if (i == 0)
            EXPECT_DETAIL("is libfabric 1.14; install 1.15 or newer");
    }
    loaded = built;
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"the_card_comes_before_tcp", the_card_comes_before_tcp},
        {"without_a_card_it_is_tcp", without_a_card_it_is_tcp},
        {"the_card_comes_before_sockets", the_card_comes_before_sockets},
        {"the_best_comes_first", the_best_comes_first},
        {"versions", versions},
    };
    return tern_test_main(argc, argv, "ofi_provider", tests, sizeof tests / sizeof *tests);
}
