// tern-test: unit

/*
 * The chooser (path/choose.h) beside a plain model of it: each combination of flags, options,
 * sizes, reach, kind and class, and of what the worker knows of the class. There is one rank; two
 * more are made up, one of its node and one of another.
 */

#include "path/choose.h"

#include "fixture.h"

enum { RANKS = 3, OPEN_KINDS = 8 };

/* What a worker knows of the class, and whether it may wait. */
typedef enum knowledge { SETTLED, CHEAP_RMA, CHEAP_CALL, NOTHING, HANDLER, KNOWLEDGES } knowledge;

typedef struct sizes {
    size_t message, result;
    bool fits, one_reply;
} sizes;

typedef struct expected {
    bool refused;
    tern_flags flag;
    tern_path path;
    tern_reason reason;
} expected;

static bool is_batch(tern_path_kind kind) {
    return kind == TERN_PATH_FIND_MANY || kind == TERN_PATH_INSERT_MANY ||
           kind == TERN_PATH_ADD_MANY;
}

/* What the selector says. A batch asks it about other nodes alone. */
static expected by_costs(knowledge known, tern_path_class class) {
    switch (known) {
    case SETTLED:
        return (expected){false, TERN_BY_RMA, 0,
                          class == TERN_PATH_CLASS_LOCAL ? TERN_REASON_MPI : TERN_REASON_COSTS};
    case HANDLER:
        return (expected){false, TERN_BY_RMA, 0, TERN_REASON_BUSY};
    case NOTHING:
        return class == TERN_PATH_CLASS_OWN ? (expected){false, TERN_BY_CALL, 0, TERN_REASON_COSTS}
                                            : (expected){false, TERN_BY_RMA, 0, TERN_REASON_DUE};
    case CHEAP_RMA:
        return class == TERN_PATH_CLASS_OWN ? (expected){false, TERN_BY_CALL, 0, TERN_REASON_COSTS}
                                            : (expected){false, TERN_BY_RMA, 0, TERN_REASON_COSTS};
    default:
        return (expected){false, TERN_BY_CALL, 0, TERN_REASON_COSTS};
    }
}

static expected flag_of(const tern_path_question *q, const sizes *s, knowledge known,
                        tern_path_class class) {
    const bool rma = (q->flags & TERN_BY_RMA) != 0, call = (q->flags & TERN_BY_CALL) != 0;
    const bool owner_alone = q->kind == TERN_PATH_BY_OWNER;
    const bool fits = s->fits && (s->one_reply || is_batch(q->kind));
    if (rma)
        return (expected){q->call_only || owner_alone, TERN_BY_RMA, 0, TERN_REASON_ASKED};
    if (call)
        return (expected){!fits, TERN_BY_CALL, 0, TERN_REASON_ASKED};
    if (is_batch(q->kind) && class != TERN_PATH_CLASS_REMOTE && (!q->call_only || q->reached))
        return (expected){false, TERN_BY_RMA, 0, TERN_REASON_NODE};
    if (q->call_only || owner_alone)
        return (expected){!fits, TERN_BY_CALL, 0, TERN_REASON_ONLY};
    if (!s->fits || !s->one_reply)
        return (expected){false, TERN_BY_RMA, 0, TERN_REASON_ONLY};
    if (q->kind == TERN_PATH_BY_REACH)
        return (expected){false, q->reached ? TERN_BY_RMA : TERN_BY_CALL, 0, TERN_REASON_REACH};
    return by_costs(known, class);
}

static expected model(const tern_path_question *q, const sizes *s, knowledge known,
                      tern_path_class class) {
    expected e = flag_of(q, s, known, class);
    e.path = e.flag == TERN_BY_CALL && class != TERN_PATH_CLASS_OWN ? TERN_PATH_CALL
             : q->reached                                           ? TERN_PATH_DIRECT
                                                                    : TERN_PATH_REMOTE;
    return e;
}

/* Sets what the worker knows of all classes. */
static void know(tern_worker *worker, knowledge known) {
    tern_selector *s = tern_selector_of(worker);
    const uint32_t all = (UINT32_C(1) << TERN_PATH_KINDS) - 1;
    for (tern_path_class class = 0; class < TERN_PATH_CLASSES; class ++)
        s->of[class] = (tern_path_costs){.measured = known == NOTHING ? 0 : 1,
                                         .by_call = known == CHEAP_CALL ? all : 0,
                                         .open = known == SETTLED ? 0 : all};
    worker->unsettled = known == SETTLED ? 0 : all | all << OPEN_KINDS | all << 2 * OPEN_KINDS;
    worker->in_handler = known == HANDLER;
}

/* Compares with the model, and the choice that is taken with the choice alone. */
static uint64_t compare(const tern_path_question *q, const sizes *s, knowledge known,
                        tern_path_class class) {
    const expected e = model(q, s, known, class);
    tern_pick pick, taken;
    const tern_status status = tern_choice_of(q, &pick);
    const uint64_t rounds = q->worker->rounds;
    const tern_status chosen = tern_choose(q, &taken);
    const bool progress = q->worker->rounds != rounds;
    tern_error_clear();
    if (e.refused)
        return status != TERN_ERR_UNSUPPORTED || chosen != status;
    const bool serves = e.flag == TERN_BY_CALL && class == TERN_PATH_CLASS_OWN;
    return status != TERN_OK || chosen != status || pick.flag != e.flag || pick.path != e.path ||
           pick.reason != e.reason || pick.class != class || taken.flag != e.flag ||
           taken.path != e.path || taken.expected != 0 || progress != serves;
}

/* All kinds, with all flags. */
static void each_combination(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const size_t room = tern_call_room(f.context);
    const sizes all_sizes[] = {{0, 0, true, true},
                               {room, TERN_RESULT_MAX, true, true},
                               {room + 1, 0, false, true},
                               {room, TERN_RESULT_MAX + 1, true, false}};
    static const tern_flags paths[] = {TERN_AUTO, TERN_BY_RMA, TERN_BY_CALL},
                            promises[] = {TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY,
                                          TERN_LOCAL};
    uint32_t nodes[RANKS] = {0, 0, 1}, *const kept = f.context->node;
    const tern_selector before = *tern_selector_of(f.worker);
    const uint32_t unsettled = f.worker->unsettled;
    uint64_t wrong = 0, compared = 0;
    f.context->node = nodes;
    for (unsigned i = 0; i < 3 * 4 * 2 * 2 * 4; i++)
        for (knowledge known = 0; known < KNOWLEDGES; known++)
            for (tern_path_kind kind = 0; kind <= TERN_PATH_BY_OWNER; kind++)
                for (uint32_t rank = 0; rank < RANKS; rank++) {
                    const sizes *s = &all_sizes[i / 48];
                    const tern_path_question q = {.worker = f.worker,
                                                  .name = "an operation",
                                                  .object = "table",
                                                  .target.worker.rank = rank,
                                                  .flags = paths[i % 3] | promises[i / 3 % 4],
                                                  .kind = kind,
                                                  .call_only = i / 12 % 2,
                                                  .reached = i / 24 % 2,
                                                  .message = s->message,
                                                  .result = s->result};
                    know(f.worker, known);
                    wrong += compare(&q, s, known, (tern_path_class)rank);
                    compared++;
                }
    f.worker->in_handler = false;
    f.worker->unsettled = unsettled;
    *tern_selector_of(f.worker) = before;
    f.context->node = kept;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(compared, UINT64_C(192) * KNOWLEDGES * 10 * RANKS);
    fixture_close(&f);
}

/* A refusal says what is wrong, and what helps. */
static void refusals_say_why(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_pick pick = {.expected = 7};
    tern_path_question q = {.worker = f.worker,
                            .name = "tern_map_find",
                            .object = "map",
                            .flags = TERN_BY_RMA,
                            .kind = TERN_PATH_FIND,
                            .call_only = true};
    EXPECT(TERN_ERR_UNSUPPORTED, tern_choice_of(&q, &pick));
    EXPECT_DETAIL("tern_map_find: the map is call_only; pass TERN_BY_CALL");
    q.kind = TERN_PATH_BY_OWNER;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_choice_of(&q, &pick));
    EXPECT_DETAIL("leave TERN_BY_RMA out");
    q.kind = TERN_PATH_INSERT;
    q.flags = 0;
    q.message = (size_t)1 << 30;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_choice_of(&q, &pick));
    EXPECT_DETAIL("raise TERN_RING_SIZE");
    CU_ASSERT(strstr(tern_error_detail(), "TERN_BY_RMA") == NULL);
    q.flags = TERN_BY_CALL;
    q.call_only = false;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_choice_of(&q, &pick));
    EXPECT_DETAIL("or pass TERN_BY_RMA");
    q.message = 0;
    q.result = TERN_RESULT_MAX + 1;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_choice_of(&q, &pick));
    EXPECT_DETAIL("1025");
    CU_ASSERT_EQUAL(pick.expected, 7);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"each_combination", each_combination},
                                           {"refusals_say_why", refusals_say_why}};
    return tern_test_main(argc, argv, "choose", tests, sizeof tests / sizeof *tests);
}
