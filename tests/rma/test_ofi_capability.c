// tern-test: ranks least=2

/* What a context finds out about a network at creation, over networks that this file plays: what
 * completes before its bytes are there is refused, and what is slow is not misjudged. */

#include "fixture.h"
#include "played_network.h"
#include "rma/memory/state.h"
#include "rma/network/process.h"
#include "src/mpi/mpi.h"

enum { SIZES = 4, GAMES = 8, GAMES_FULL = 100 };

static const uint64_t sizes[SIZES] = {8, 4096, 65536, PLAYED_MAX};
static const played_game usual = {.lies_every = 1, .post_max = PLAYED_MAX};

static tern_status create(tern_transport_choice transport, tern_context **context) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = transport;
    config.segment_size = (size_t)4 << 20;
    return tern_context_create(MPI_COMM_WORLD, &config, context);
}

/* No rank gets a context over this network if it asks for it, and another transport if it does
 * not. */
static void expect_refused(const played_game *game) {
    tern_context *context = NULL;
    tern_transport transport = TERN_OFI;
    played_set(game);
    EXPECT(TERN_ERR_UNSUPPORTED, create(TERN_TRANSPORT_OFI, &context));
    EXPECT_DETAIL("played (card0) completes transfers too early");
    EXPECT_DETAIL("FI_PROVIDER");
    played_set(game);
    if (EXPECT_OK(create(TERN_TRANSPORT_AUTO, &context))) {
        const uint32_t next = (tern_context_rank(context) + 1) % tern_context_size(context);
        EXPECT_OK(tern_context_transport(context, next, &transport));
        CU_ASSERT(transport == TERN_RMA || transport == TERN_P2P);
        EXPECT_OK(tern_context_destroy(context));
    }
}

/* Each rank puts words to the next one and tells it by a message of MPI after the flush. */
static void exchange(fixture *f, uint64_t seed) {
    enum { WORDS = 10000 };
    static uint64_t words[WORDS], wanted[WORDS];
    tern_ptr memory[64];
    uint64_t mine = seed + f->rank, other = seed + (f->rank + f->size - 1) % f->size;
    const uint32_t next = (f->rank + 1) % f->size;
    fixture_alloc_all(f, sizeof words, TERN_DOMAIN_OWNER, memory);
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = tern_test_random(&mine);
        wanted[i] = tern_test_random(&other);
    }
    EXPECT_OK(tern_put(f->worker, memory[next], words, sizeof words));
    EXPECT_OK(tern_flush(f->worker, next));
    EXPECT_OK(tern_barrier(f->worker));
    CU_ASSERT_EQUAL(memcmp(tern_local(f->context, memory[f->rank]), wanted, sizeof wanted), 0);
    EXPECT_OK(tern_barrier(f->worker));
    fixture_free_all(f, memory);
}

static void expect_taken(const played_game *game, bool one_sided) {
    fixture f = {.comm = MPI_COMM_WORLD};
    tern_config config;
    tern_network_info info = {.one_sided = !one_sided};
    played_set(game);
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_OFI;
    config.segment_size = (size_t)4 << 20;
    if (!fixture_open(&f, &config))
        return;
    EXPECT_OK(tern_context_network(f.context, &info));
    CU_ASSERT_STRING_EQUAL(info.name, "played");
    CU_ASSERT_EQUAL(info.one_sided, one_sided);
    exchange(&f, tern_test_seed());
    fixture_close(&f);
}

static bool begin(void) {
    if (played_begin())
        return true;
    tern_test_skip("the ranks do not all share memory");
    return false;
}

/* A network that tells the truth is taken. */
static void the_truth(void) {
    if (!begin())
        return;
    expect_taken(&usual, true);
    played_end();
}

/* Whatever the size from which completions of puts lie. */
static void lies_about_puts(void) {
    if (!begin())
        return;
    for (size_t i = 0; i < SIZES; i++) {
        played_game game = usual;
        game.lies_from = sizes[i];
        game.lies_act = TERN_NETWORK_WRITE;
        expect_refused(&game);
    }
    played_end();
}

static void lies_about_gets(void) {
    if (!begin())
        return;
    played_game game = usual;
    game.lies_from = 8;
    game.lies_act = TERN_NETWORK_READ;
    expect_refused(&game);
    played_end();
}

/* Completions lie only where many puts are under way. */
static void lies_about_bursts(void) {
    if (!begin())
        return;
    for (int local_memory = 0; local_memory < 2; local_memory++) {
        played_game game = usual;
        game.lies_from = 8;
        game.lies_act = TERN_NETWORK_WRITE;
        game.lies_full = true;
        game.local_memory = local_memory != 0;
        expect_refused(&game);
        game.help_from = 8;
        expect_refused(&game);
    }
    played_end();
}

/* Large transfers may need the target where words do not. */
static void help_of_the_target(void) {
    if (!begin())
        return;
    for (size_t i = 0; i < SIZES; i++) {
        played_game game = usual;
        game.help_from = sizes[i];
        expect_taken(&game, false);
    }
    played_end();
}

/* Gets may need the target where puts do not. */
static void help_with_gets(void) {
    if (!begin())
        return;
    played_game game = usual;
    game.help_from = 8;
    game.help_gets = true;
    expect_taken(&game, false);
    played_end();
}

/* One transfer takes long: the machine was busy. The first posts are 21 puts for connection and
 * times, and one that the target helps. */
static void one_is_slow(void) {
    if (!begin())
        return;
    for (uint64_t post = 23; post < 27; post++) {
        played_game game = usual;
        game.stall_at = post;
        game.stall = 25000000;
        expect_taken(&game, true);
    }
    played_end();
}

/* All large transfers take long: the network is slow. */
static void large_ones_are_slow(void) {
    if (!begin())
        return;
    played_game game = usual;
    game.slow_from = 65536;
    game.slow = 80000000;
    expect_taken(&game, true);
    played_end();
}

static uint64_t draw_size(uint64_t *random, size_t post_max) {
    size_t fit = SIZES;
    while (sizes[fit - 1] > post_max)
        fit--;
    return sizes[tern_test_random(random) % fit];
}

/* Random networks: what lies is refused, and what needs help is known. */
static void random_networks(void) {
    if (!begin())
        return;
    uint64_t random = tern_test_seed();
    const int games = tern_test_full() ? GAMES_FULL : GAMES;
    for (int i = 0; i < games; i++) {
        played_game game = usual;
        game.post_max = sizes[1 + tern_test_random(&random) % 3];
        game.local_memory = tern_test_random(&random) % 2 == 0;
        if (tern_test_random(&random) % 2 == 0)
            game.help_from = draw_size(&random, game.post_max);
        game.help_gets = tern_test_random(&random) % 2 == 0;
        if (tern_test_random(&random) % 3 == 0) {
            game.slow_from = draw_size(&random, game.post_max);
            game.slow = tern_test_random(&random) % 2000000;
        }
        if (tern_test_random(&random) % 2 == 0) {
            game.lies_from = draw_size(&random, game.post_max);
            game.lies_act =
                tern_test_random(&random) % 4 == 0 ? TERN_NETWORK_READ : TERN_NETWORK_WRITE;
            game.lies_full =
                game.lies_act == TERN_NETWORK_WRITE && tern_test_random(&random) % 3 == 0;
            if (game.lies_full)
                game.lies_from = 8;
            game.lies_every = game.lies_act == TERN_NETWORK_READ || game.lies_full
                                  ? 1
                                  : 1 + tern_test_random(&random) % 2;
        }
        if (game.lies_from > 0)
            expect_refused(&game);
        else
            expect_taken(&game, game.help_from == 0);
    }
    played_end();
}

/* The provider net of libfabric 1.17 completes puts when they are sent. On a busy machine all that
 * a creation looks at may be there in time, so it is tried again. */
static void a_real_one(void) {
    tern_status status = TERN_OK;
    setenv("FI_PROVIDER", "net", 1);
    for (int i = 0; i < 20 && status == TERN_OK; i++) {
        tern_context *context = NULL;
        tern_network_info info = {.name = ""};
        status = create(TERN_TRANSPORT_OFI, &context);
        if (status != TERN_OK)
            break;
        EXPECT_OK(tern_context_network(context, &info));
        EXPECT_OK(tern_context_destroy(context));
        if (strcmp(info.name, "net") != 0) {
            tern_test_skip("libfabric was in use before FI_PROVIDER was set");
            return;
        }
    }
    if (strstr(tern_error_detail(), "has no provider") != NULL) {
        tern_test_skip("this libfabric has no provider net");
        return;
    }
    CU_ASSERT_EQUAL(status, TERN_ERR_UNSUPPORTED);
    EXPECT_DETAIL("net");
    EXPECT_DETAIL("completes transfers too early");
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"the_truth", the_truth},
        {"lies_about_puts", lies_about_puts},
        {"lies_about_gets", lies_about_gets},
        {"lies_about_bursts", lies_about_bursts},
        {"help_of_the_target", help_of_the_target},
        {"help_with_gets", help_with_gets},
        {"one_is_slow", one_is_slow},
        {"large_ones_are_slow", large_ones_are_slow},
        {"random_networks", random_networks},
        {"a_real_one", a_real_one},
    };
    return tern_test_main(argc, argv, "ofi_capability", tests, sizeof tests / sizeof *tests);
}
