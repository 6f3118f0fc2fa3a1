// tern-test: unit
/* What a provider of libfabric may demand: ofi does it, or refuses the provider with a message. One
 * that fails makes way for the next. The provider is played (harness/played_ofi.h). */

#include "fixture.h"
#include "played_library.h"
#include "played_ofi.h"
#include "rma/network/network.h"

enum { TIMES = 300, WORDS = 16 };

/* The linker gives this name (tests/CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count);

tern_status __wrap_tern_library_load(const char *transport, const char *library,
                                     const tern_symbol *symbols, size_t count) {
    const played_symbol list[] = {{"fi_getinfo", (void (*)(void))played_getinfo, NULL},
                                  {"fi_fabric", (void (*)(void))played_fabric, NULL},
                                  {"fi_dupinfo", NULL, &played_dupinfo}};
    CU_ASSERT_STRING_EQUAL(transport, "ofi");
    return played_load(library, symbols, count, list, sizeof list / sizeof *list);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void play(uint64_t mode, int memory_mode) {
    memset(&played, 0, sizeof played);
    played.mode = mode;
    played.memory_mode = memory_mode;
    played.key_bytes = 8;
    played.providers = 1;
}

static tern_status open_network(bool threads, tern_network **network) {
    const tern_network_options options = {.one_machine = true, .threads = threads, .device = ""};
    tern_error_clear();
    return tern_network_ofi.open(&options, network);
}

/* Starts an operation and completes it. */
static void act(tern_network *network, tern_network_end *end, tern_network_post *post) {
    static _Alignas(64) char context[TERN_NETWORK_CONTEXT];
    tern_network_done done;
    memset(context, 0, sizeof context);
    post->context = context;
    EXPECT_OK(network->ops->post(end, post));
    CU_ASSERT_EQUAL_FATAL(network->ops->complete(end, &done, 1), 1);
    CU_ASSERT(done.context == context && done.status == TERN_OK);
}

/* Writes, reads and adds at random words of there; here: registered, or NULL for each post. */
static void move_words(tern_network *network, tern_network_end *end, tern_network_post *post,
                       uint64_t *there, uint64_t *state) {
    static struct {
        uint64_t before;
        tern_network_words words;
        uint64_t after;
    } mine;
    tern_network_memory *local = NULL;
    if (tern_test_random(state) % 2 == 0 && network->local_memory)
        EXPECT_OK(network->ops->add_local(end, &mine, sizeof mine, &local));
    for (int i = 0; i < 8; i++) {
        const uint64_t at = tern_test_random(state) % WORDS, value = tern_test_random(state);
        const uint64_t old = there[at];
        post->local = local;
        post->here = &mine.words;
        post->offset = at * 8;
        post->bytes = 8;
        post->act = (tern_network_act)(tern_test_random(state) % 3);
        mine.words = (tern_network_words){.operand = value};
        if (post->act == TERN_NETWORK_WRITE)
            mine.words.old = value;
        act(network, end, post);
        CU_ASSERT_EQUAL(there[at], post->act == TERN_NETWORK_READ    ? old
                                   : post->act == TERN_NETWORK_WRITE ? value
                                                                     : old + value);
        CU_ASSERT(post->act == TERN_NETWORK_WRITE || mine.words.old == old);
    }
    if (local != NULL)
        network->ops->remove_memory(network, local);
}

/* Any of the demands that ofi does, together. */
static void demands_are_met(void) {
    static const int bits[] = {FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY,
                               FI_MR_ENDPOINT};
    static const uint64_t modes[] = {0, FI_CONTEXT, FI_CONTEXT2};
    uint64_t state = tern_test_seed();
    for (int i = 0; i < TIMES; i++) {
        uint64_t there[WORDS] = {0};
        int memory_mode = 0;
        tern_network *network = NULL;
        tern_network_end *end = NULL;
        tern_network_memory *memory = NULL;
        tern_network_name offer, name;
        tern_network_post post = {0};
        for (size_t b = 0; b < sizeof bits / sizeof *bits; b++)
            memory_mode |= tern_test_random(&state) % 2 == 0 ? bits[b] : 0;
        play(modes[tern_test_random(&state) % 3], memory_mode);
        played.key_bytes = tern_test_random(&state) % 2 == 0 ? 4 : 8;
        if (!EXPECT_OK(open_network(false, &network)))
            return;
        CU_ASSERT_EQUAL(network->local_memory, (memory_mode & FI_MR_LOCAL) != 0);
        EXPECT_OK(network->ops->add_memory(network, there, sizeof there, &memory, &post.there));
        CU_ASSERT(played.key_bytes == 8 || post.there.rkey <= UINT32_MAX);
        EXPECT_OK(network->ops->open_end(network, &end));
        EXPECT_OK(network->ops->offer(end, &post.peer, &offer));
        EXPECT_OK(network->ops->welcome(network, 0, &offer, &name));
        EXPECT_OK(network->ops->reach(end, &name, &post.peer));
        move_words(network, end, &post, there, &state);
        CU_ASSERT_EQUAL(played.broken, 0);
        CU_ASSERT_EQUAL(played.moves, 8);
        network->ops->remove_memory(network, memory);
        network->ops->close_end(end);
        network->ops->close(network);
        for (size_t m = 0; m < PLAYED_MEMORY; m++)
            CU_ASSERT(!played.memory[m].open);
    }
}

/* What ofi does not do is refused, and the message names it. */
static void other_demands_are_refused(void) {
    tern_network *network = NULL;
    play(0, FI_MR_RAW | FI_MR_LOCAL);
    EXPECT(TERN_ERR_UNSUPPORTED, open_network(true, &network));
    EXPECT_DETAIL("the provider first demands FI_MR_RAW, which tern does not do");
    play(FI_MSG_PREFIX, 0);
    EXPECT(TERN_ERR_UNSUPPORTED, open_network(true, &network));
    EXPECT_DETAIL("the provider first demands FI_MSG_PREFIX");
    play(0, 0);
    played.key_bytes = 16;
    EXPECT(TERN_ERR_UNSUPPORTED, open_network(true, &network));
    EXPECT_DETAIL("the provider first demands keys of more than 8 bytes");
    CU_ASSERT_EQUAL(played.taken[0], 0);
    play(0, 0);
    played.providers = 0;
    EXPECT(TERN_ERR_UNSUPPORTED, open_network(true, &network));
    EXPECT_DETAIL("no provider with remote memory");
}

/* The domain of a provider cannot be opened: the next is taken. Of the last the error is told. */
static void the_next_is_taken(void) {
    for (size_t providers = 1; providers <= 3; providers++)
        for (size_t failing = 0; failing <= providers; failing++) {
            tern_network *network = NULL;
            play(0, 0);
            played.providers = providers;
            played.failing = failing;
            tern_status status = open_network(false, &network);
            if (failing == providers) {
                EXPECT(TERN_ERR_NETWORK, status);
                EXPECT_DETAIL("FI_PROVIDER names another provider");
                EXPECT_DETAIL(played_names[providers - 1]);
                continue;
            }
            if (!EXPECT(TERN_OK, status))
                return;
            CU_ASSERT_STRING_EQUAL(network->name, played_names[failing]);
            CU_ASSERT_STRING_EQUAL(played.taken, played_names[failing]);
            network->ops->close(network);
        }
}

/* Where the process may have no thread, or there is nothing to sleep on, the provider has to make
 * progress by itself. */
static void without_a_helper(void) {
    for (int no_wait = 0; no_wait < 2; no_wait++) {
        tern_network *network = NULL;
        play(0, 0);
        played.no_wait = no_wait != 0;
        if (!EXPECT_OK(open_network(no_wait != 0, &network)))
            return;
        CU_ASSERT(!played.took_calls);
        CU_ASSERT(network->one_sided);
        network->ops->close(network);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"demands_are_met", demands_are_met},
        {"other_demands_are_refused", other_demands_are_refused},
        {"the_next_is_taken", the_next_is_taken},
        {"without_a_helper", without_a_helper},
    };
    return tern_test_main(argc, argv, "ofi_modes", tests, sizeof tests / sizeof *tests);
}
