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
    played.post_max = 1 << 20;
    played.sends = PLAYED_QUEUE;
    played.entries = SIZE_MAX;
    played.providers = 1;
}

static tern_status open_as(bool threads, tern_ofi_progress progress, tern_network **network) {
    const tern_network_options options = {
        .one_machine = true, .threads = threads, .progress = progress, .device = ""};
    tern_error_clear();
    return tern_network_ofi.open(&options, network);
}

static tern_status open_network(bool threads, tern_network **network) {
    return open_as(threads, TERN_OFI_PROGRESS_AUTO, network);
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

/* A network with an end that reaches memory of this process. */
typedef struct scene {
    tern_network *network;
    tern_network_end *end;
    tern_network_memory *memory;
    tern_network_post post; /* names the memory */
} scene;

static bool scene_open(scene *s, void *there, size_t bytes) {
    tern_network_name offer, name;
    *s = (scene){NULL, NULL, NULL, {0}};
    if (!EXPECT_OK(open_network(false, &s->network)))
        return false;
    const tern_network_ops *ops = s->network->ops;
    EXPECT_OK(ops->add_memory(s->network, there, bytes, &s->memory, &s->post.there));
    EXPECT_OK(ops->open_end(s->network, &s->end));
    EXPECT_OK(ops->offer(s->end, &s->post.peer, &offer));
    EXPECT_OK(ops->welcome(s->network, 0, &offer, &name));
    return EXPECT_OK(ops->reach(s->end, &name, &s->post.peer));
}

static void scene_close(scene *s) {
    CU_ASSERT_EQUAL(played.broken, 0);
    s->network->ops->remove_memory(s->network, s->memory);
    s->network->ops->close_end(s->end);
    s->network->ops->close(s->network);
    for (size_t m = 0; m < PLAYED_MEMORY; m++)
        CU_ASSERT(!played.memory[m].open);
}

/* Moves words over the network that is played. */
static void meet_demands(uint64_t *state) {
    uint64_t there[WORDS] = {0};
    scene s;
    if (!scene_open(&s, there, sizeof there))
        return;
    CU_ASSERT_EQUAL(s.network->local_memory, played_demands(FI_MR_LOCAL));
    CU_ASSERT(played.key_bytes == 8 || s.post.there.rkey >> (8 * played.key_bytes) == 0);
    move_words(s.network, s.end, &s.post, there, state);
    CU_ASSERT_EQUAL(played.moves, 8);
    scene_close(&s);
}

static const int bits[] = {FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY,
                           FI_MR_ENDPOINT};
static const uint64_t modes[] = {0, FI_CONTEXT, FI_CONTEXT2};

/* Each of the demands that ofi does, by itself. */
static void each_demand_is_met(void) {
    uint64_t state = tern_test_seed();
    for (int i = 0; i < TIMES / 10; i++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            play(modes[m], 0);
            meet_demands(&state);
        }
        for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
            play(0, bits[b]);
            meet_demands(&state);
        }
        for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
            play(0, 0);
            played.key_bytes = bytes;
            meet_demands(&state);
        }
    }
}

/* Any of them together. */
static void demands_are_met(void) {
    uint64_t state = tern_test_seed();
    for (int i = 0; i < TIMES; i++) {
        int memory_mode = 0;
        for (size_t b = 0; b < sizeof bits / sizeof *bits; b++)
            memory_mode |= tern_test_random(&state) % 2 == 0 ? bits[b] : 0;
        play(modes[tern_test_random(&state) % 3], memory_mode);
        played.key_bytes = tern_test_random(&state) % 2 == 0 ? 4 : 8;
        meet_demands(&state);
    }
}

/* Writes all words, as many at a time as the network takes. */
static void write_words(scene *s, const uint64_t *words, size_t count) {
    static _Alignas(64) char context[PLAYED_QUEUE][TERN_NETWORK_CONTEXT];
    const tern_network_ops *ops = s->network->ops;
    bool busy[PLAYED_QUEUE] = {false};
    size_t posted = 0, ended = 0;
    s->post.act = TERN_NETWORK_WRITE;
    s->post.bytes = sizeof *words;
    while (ended < count) {
        tern_network_done done[4];
        tern_status status = TERN_OK;
        for (size_t c = 0; c < PLAYED_QUEUE && posted < count && status == TERN_OK; c++) {
            if (busy[c])
                continue;
            s->post.here = (void *)(uintptr_t)&words[posted];
            s->post.offset = posted * sizeof *words;
            s->post.context = context[c];
            status = ops->post(s->end, &s->post);
            busy[c] = status == TERN_OK;
            posted += status == TERN_OK;
        }
        CU_ASSERT_FATAL(status == TERN_OK || status == TERN_ERR_AGAIN);
        const size_t taken = ops->complete(s->end, done, sizeof done / sizeof *done);
        CU_ASSERT_FATAL(taken > 0);
        for (size_t i = 0; i < taken; i++) {
            CU_ASSERT_EQUAL(done[i].status, TERN_OK);
            busy[((char *)done[i].context - context[0]) / TERN_NETWORK_CONTEXT] = false;
        }
        ended += taken;
    }
}

/* Queues with room for little, and small operations. */
static void small_limits(void) {
    enum { MANY = 300 };
    static uint64_t there[MANY], words[MANY];
    uint64_t state = tern_test_seed();
    for (size_t sends = 1; sends <= 16; sends *= 2)
        for (size_t b = 0; b <= sizeof bits / sizeof *bits; b++) {
            scene s;
            play(FI_CONTEXT2, b < sizeof bits / sizeof *bits ? bits[b] : 0);
            played.sends = sends;
            played.entries = 4;
            played.post_max = sizeof *words;
            if (!scene_open(&s, there, sizeof there))
                return;
            CU_ASSERT_EQUAL(s.network->post_max, sizeof *words);
            CU_ASSERT_EQUAL(s.network->inline_max, 0);
            CU_ASSERT(!s.network->says_ordered);
            for (size_t i = 0; i < MANY; i++)
                words[i] = tern_test_random(&state);
            write_words(&s, words, MANY);
            CU_ASSERT_EQUAL(memcmp(there, words, sizeof words), 0);
            CU_ASSERT_EQUAL(played.moves, MANY);
            CU_ASSERT(played.full > 0);
            scene_close(&s);
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

/* The user chooses whose calls make progress. What cannot be had is refused with a message. */
static void progress_of_choice(void) {
    for (int threads = 0; threads < 2; threads++)
        for (int lack = 0; lack < 3; lack++) {
            tern_network *network = NULL;
            play(0, 0);
            played.no_wait = lack == 1;
            played.by_calls = lack == 2;
            tern_status status = open_as(threads != 0, TERN_OFI_PROGRESS_AUTOMATIC, &network);
            if (!played.by_calls && EXPECT(TERN_OK, status)) {
                CU_ASSERT(!played.took_calls && !network->helped && network->one_sided);
                network->ops->close(network);
            } else if (played.by_calls) {
                EXPECT(TERN_ERR_UNSUPPORTED, status);
                EXPECT_DETAIL("TERN_OFI_PROGRESS=automatic");
            }
            /* Queues that are played have no descriptor. */
            EXPECT(TERN_ERR_UNSUPPORTED, open_as(threads != 0, TERN_OFI_PROGRESS_MANUAL, &network));
            EXPECT_DETAIL("TERN_OFI_PROGRESS=manual");
        }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"each_demand_is_met", each_demand_is_met},
        {"demands_are_met", demands_are_met},
        {"small_limits", small_limits},
        {"other_demands_are_refused", other_demands_are_refused},
        {"the_next_is_taken", the_next_is_taken},
        {"without_a_helper", without_a_helper},
        {"progress_of_choice", progress_of_choice},
    };
    return tern_test_main(argc, argv, "ofi_modes", tests, sizeof tests / sizeof *tests);
}
