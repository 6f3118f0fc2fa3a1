// tern-test: transports

/* Invalid calls to a search are refused and do no harm. A result that cannot be made fails on all
 * ranks. */

#include "hostile.h"
#include "mcts/search.h"
#include "mcts/work.h"
#include "search_tools.h"

static const tic_tac_toe_state empty;
static const tern_search_limits limits = {.rollouts = 300};

static tern_search *begin(fixture *f, size_t ring_size) {
    const tern_search_options options = {.memory = (size_t)4 << 20, .simulations = 1};
    tern_search *search = NULL;
    tern_search_result result;
    CU_ASSERT_TRUE_FATAL(search_open(f, 1, ring_size));
    CU_ASSERT_TRUE_FATAL(EXPECT_OK(tern_search_create(f->worker, &tic_tac_toe, &options, &search)));
    EXPECT_OK(tern_search_reset(f->worker, search, &empty));
    EXPECT_OK(search_run(f, search, &limits, &result));
    return search;
}

enum { SELECT, CREATE, CREATED, BACK, MARK, LOOK, CLAIM, CALLS };

static const struct {
    const char *name;
    size_t bytes;
} calls[CALLS] = {
    [SELECT] = {"tern_mcts_on_select", sizeof(tern_mcts_message)},
    [CREATE] = {"tern_mcts_on_create", sizeof(tern_mcts_message)},
    [CREATED] = {"tern_mcts_on_created", offsetof(tern_mcts_message, depth)},
    [BACK] = {"tern_mcts_on_back", offsetof(tern_mcts_message, from)},
    [MARK] = {"tern_mcts_on_mark", sizeof(tern_mcts_head) + 8},
    [LOOK] = {"tern_mcts_on_look", sizeof(tern_mcts_head) + 8},
    [CLAIM] = {"tern_mcts_on_claim", sizeof(tern_mcts_head) + 24},
};

/* Makes such a call to a rank and returns its status. */
static tern_status answer(const fixture *f, uint32_t rank, int call, const tern_mcts_message *m,
                          size_t bytes) {
    const tern_function function = function_of(f->context, calls[call].name);
    char result[64];
    return tern_call_return(f->worker, (tern_worker_id){rank, 0}, &function, m, bytes, result,
                            sizeof result, NULL);
}

/* Names that are invalid at a rank: 0, of index 0, of a node that does not exist, of a worker that
 * does not exist, and the largest value. */
static uint64_t bad_name(const fixture *f, uint32_t rank, int i) {
    const uint64_t names[] = {0, tern_mcts_name(rank, 0), tern_mcts_name(rank, 0x7fffffff),
                              tern_mcts_name(f->size, 1), UINT64_MAX};
    return names[i];
}

static void call_badly(const fixture *f, const tern_search *s, uint32_t rank, int call) {
    for (int i = 0; i < 5; i++) {
        tern_mcts_message m = {.head = tern_mcts_head_to(s),
                               .name = bad_name(f, rank, i),
                               .slot = 1000,
                               .count = 1,
                               .from = bad_name(f, rank, 4 - i)};
        /* A mark is a hint, so an unknown name is no error. */
        EXPECT(call == MARK ? TERN_OK : TERN_ERR_STATE,
               answer(f, rank, call, &m, calls[call].bytes));
        EXPECT(TERN_ERR_STATE, answer(f, rank, call, &m, calls[call].bytes - 4));
        EXPECT(TERN_ERR_STATE, answer(f, rank, call, &m, 0));
        m.head.nonce++;
        EXPECT(TERN_ERR_STATE, answer(f, rank, call, &m, calls[call].bytes));
        m.head = (tern_mcts_head){0};
        EXPECT(TERN_ERR_STATE, answer(f, rank, call, &m, calls[call].bytes));
    }
}

/* Existing nodes with edges that do not exist; then more points than games give, and more tokens
 * than there can be. */
static void call_with_bad_edges(const fixture *f, const tern_search *s) {
    static const uint32_t slots[] = {9, TERN_MCTS_LOOSE | 9, TERN_MCTS_LOOSE - 1,
                                     TERN_MCTS_OWN - 1};
    uint32_t rank = tern_mcts_owner(s->root);
    tern_mcts_message m = {.head = tern_mcts_head_to(s), .name = s->root, .count = 1};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        m.slot = slots[i];
        for (int call = CREATE; call <= BACK; call++)
            EXPECT(TERN_ERR_STATE, answer(f, rank, call, &m, calls[call].bytes));
    }
    m.slot = 0;
    m.count = 1000000;
    EXPECT(TERN_ERR_STATE, answer(f, rank, BACK, &m, calls[BACK].bytes));
    EXPECT(TERN_ERR_STATE, answer(f, rank, SELECT, &m, calls[SELECT].bytes));
}

static void bad_names_do_no_harm(void) {
    fixture f;
    tern_search_result result;
    tern_search *search = begin(&f, 4096);
    for (uint32_t rank = 0; rank < f.size; rank++)
        for (int call = 0; call < CALLS; call++)
            call_badly(&f, search, rank, call);
    call_with_bad_edges(&f, search);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(search_run(&f, search, &limits, &result));
    search_check(&f, search, &result, 2 * limits.rollouts - 1);
    EXPECT_OK(tern_search_advance(f.worker, search, result.best));
    EXPECT_OK(search_run(&f, search, &limits, &result));
    EXPECT_OK(tern_mcts_check(f.worker, search));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* The principal variation leads to a node that does not exist: the rank that follows it fails, and
 * all other ranks learn of the failure. */
static void all_hear_that_there_is_no_result(void) {
    fixture f;
    tern_search *search = begin(&f, 4096);
    tern_mcts_worker *w = &search->worker[0];
    tern_mcts_node *root = tern_mcts_local(search, search->root) != NULL
                               ? tern_mcts_node_of(search, search->root)
                               : NULL;
    if (f.size == 1) {
        tern_test_skip("somebody has to be asked");
    } else {
        EXPECT_OK(tern_mcts_result(w));
        tern_mcts_edges *edges = root != NULL ? tern_mcts_edges_of(root) : NULL;
        for (uint32_t i = 0; edges != NULL && i < edges->count; i++)
            tern_mcts_links(edges)[i].child =
                tern_mcts_name((tern_mcts_owner(search->root) + 1) % f.size, 0x7fffffff);
        EXPECT(TERN_ERR_STATE, tern_mcts_result(w));
        EXPECT_DETAIL(root != NULL ? "node" : "the result of tern_search_run failed on rank");
    }
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

/* The bytes that the statistics count for a message are the bytes that it takes in its ring. The
 * messages have invalid names, so the search ignores them. */
static void bytes_are_those_of_the_rings(void) {
    fixture f;
    tern_search *search = begin(&f, 0); /* rings large enough not to wrap around in this test */
    tern_mcts_worker *w = &search->worker[0];
    const uint32_t target = (f.rank + 1) % f.size;
    for (int kind = TERN_MCTS_SELECT; kind <= TERN_MCTS_BACK && fixture_all_direct(&f); kind++) {
        tern_mcts_message m = {.name = 0};
        tern_out *out = NULL;
        EXPECT_OK(tern_ring_open(f.worker, target, &out));
        const uint64_t counted = w->statistics.bytes, at = out->lane.write;
        tern_mcts_send(w, (tern_mcts_kind)kind, target, &m,
                       kind == TERN_MCTS_CREATE ? search->root_state : NULL);
        CU_ASSERT(w->statistics.bytes > counted);
        CU_ASSERT_EQUAL(w->statistics.bytes - counted, out->lane.write - at);
        EXPECT_OK(tern_quiesce(f.worker));
    }
    if (!fixture_all_direct(&f))
        tern_test_skip("a ring to a remote rank has headers of frames, too");
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"bad_names_do_no_harm", bad_names_do_no_harm},
        {"bytes_are_those_of_the_rings", bytes_are_those_of_the_rings},
        {"all_hear_that_there_is_no_result", all_hear_that_there_is_no_result},
    };
    return tern_test_main(argc, argv, "mcts_names", tests, sizeof tests / sizeof *tests);
}
