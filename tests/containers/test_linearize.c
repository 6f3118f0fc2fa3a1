// tern-test: unit

/* The checker of histories itself: against histories that are known, against those that a
 * sequential run explains, and against a search through all orders. */

#include "histories/record.h"

enum { INSERT, FIND, ADD, PUSH, POP, STEPS };

static history_step *steps[STEPS];

static void take_steps(void) {
    steps[INSERT] = history_of_values.kind[0].step;
    steps[FIND] = history_of_values.kind[4].step;
    steps[ADD] = history_of_counters.kind[0].step;
    steps[PUSH] = history_of_queues.kind[0].step;
    steps[POP] = history_of_queues.kind[1].step;
}

#define NOTHING TERN_ERR_NOT_FOUND
#define DO(kind, call, done, status, argument, result)                                             \
    { call, done, 0, {argument}, result, status, kind, 0, 0, 0, 0 }
/* The same in a chain. */
#define NTH(place, kind, call, done, status, argument, result)                                     \
    { call, done, 0, {argument}, result, status, kind, 0, 0, 1, place }

typedef struct known {
    const char *what;
    bool linearizes;
    uint64_t capacity;
    history_operation operation[6];
} known;

/* Unused operations have no times. */
static const known histories[] = {
    {"a find during an insert sees nothing",
     true,
     0,
     {DO(INSERT, 1, 10, TERN_OK, 7, 0), DO(FIND, 2, 3, NOTHING, 0, 0)}},
    {"or sees it", true, 0, {DO(INSERT, 1, 10, TERN_OK, 7, 0), DO(FIND, 2, 3, TERN_OK, 0, 7)}},
    {"but not first so and then otherwise",
     false,
     0,
     {DO(INSERT, 1, 10, TERN_OK, 7, 0), DO(FIND, 2, 3, TERN_OK, 0, 7),
      DO(FIND, 4, 5, NOTHING, 0, 0)}},
    {"after it, nothing is too little",
     false,
     0,
     {DO(INSERT, 1, 2, TERN_OK, 7, 0), DO(FIND, 3, 4, NOTHING, 0, 0)}},
    {"called when it returns is not after it",
     true,
     0,
     {DO(INSERT, 1, 3, TERN_OK, 7, 0), DO(FIND, 3, 4, NOTHING, 0, 0)}},
    {"two that insert, neither the second",
     false,
     0,
     {DO(INSERT, 1, 5, TERN_OK, 7, 0), DO(INSERT, 2, 6, TERN_OK, 8, 0)}},
    {"the value of nobody",
     false,
     0,
     {DO(INSERT, 1, 2, TERN_OK, 7, 0), DO(FIND, 3, 4, TERN_OK, 0, 9)}},
    {"two finds that see two inserts in two orders",
     false,
     0,
     {DO(INSERT, 1, 2, TERN_OK, 1, 0), DO(INSERT, 3, 20, TERN_OK, 2, 1),
      DO(INSERT, 3, 20, TERN_OK, 3, 1), DO(FIND, 4, 5, TERN_OK, 0, 2),
      DO(FIND, 6, 7, TERN_OK, 0, 3), DO(FIND, 8, 9, TERN_OK, 0, 2)}},
    {"a count that was lost",
     false,
     0,
     {DO(ADD, 1, 5, TERN_OK, 1, 0), DO(ADD, 2, 6, TERN_OK, 2, 0)}},
    {"an error is no result", false, 0, {DO(INSERT, 1, 2, TERN_ERR_FULL, 7, 0)}},
    {"items in the order of overlapping pushes",
     true,
     2,
     {DO(PUSH, 1, 5, TERN_OK, 7, 0), DO(PUSH, 2, 6, TERN_OK, 8, 0), DO(POP, 7, 8, TERN_OK, 0, 8),
      DO(POP, 9, 10, TERN_OK, 0, 7)}},
    {"items out of the order of pushes",
     false,
     2,
     {DO(PUSH, 1, 2, TERN_OK, 7, 0), DO(PUSH, 3, 4, TERN_OK, 8, 0), DO(POP, 7, 8, TERN_OK, 0, 8),
      DO(POP, 9, 10, TERN_OK, 0, 7)}},
    {"a batch, and what comes in between",
     true,
     3,
     {NTH(0, PUSH, 1, 9, TERN_OK, 7, 0), NTH(1, PUSH, 1, 9, TERN_OK, 8, 0),
      DO(PUSH, 2, 3, TERN_OK, 5, 0), DO(POP, 10, 11, TERN_OK, 0, 7), DO(POP, 12, 13, TERN_OK, 0, 5),
      DO(POP, 14, 15, TERN_OK, 0, 8)}},
    {"a batch the other way round",
     false,
     3,
     {NTH(0, PUSH, 1, 9, TERN_OK, 7, 0), NTH(1, PUSH, 1, 9, TERN_OK, 8, 0),
      DO(POP, 10, 11, TERN_OK, 0, 8), DO(POP, 12, 13, TERN_OK, 0, 7)}},
    {"a chain of calls that end together",
     false,
     0,
     {NTH(0, INSERT, 1, 9, TERN_OK, 7, 0), NTH(0, INSERT, 2, 9, TERN_OK, 8, 1),
      DO(FIND, 3, 4, TERN_OK, 0, 8), DO(FIND, 5, 6, TERN_OK, 0, 7)}},
    {"a wait that ends with nothing",
     true,
     1,
     {DO(PUSH, 1, 2, TERN_OK, 7, 0), DO(PUSH, 3, 4, TERN_ERR_TIMEOUT, 8, 0),
      DO(POP, 5, 6, TERN_OK, 0, 7), DO(POP, 7, 8, TERN_ERR_TIMEOUT, 0, 0)}},
    {"and one that has pushed all the same",
     false,
     2,
     {DO(PUSH, 1, 2, TERN_ERR_TIMEOUT, 7, 0), DO(POP, 3, 4, TERN_OK, 0, 7)}},
    {"an item twice",
     false,
     2,
     {DO(PUSH, 1, 2, TERN_OK, 7, 0), DO(POP, 3, 6, TERN_OK, 0, 7), DO(POP, 4, 5, TERN_OK, 0, 7)}},
    {"full while one is popped",
     true,
     1,
     {DO(PUSH, 1, 2, TERN_OK, 7, 0), DO(POP, 3, 6, TERN_OK, 0, 7),
      DO(PUSH, 4, 5, TERN_ERR_FULL, 8, 0)}},
    {"full after one was popped",
     false,
     1,
     {DO(PUSH, 1, 2, TERN_OK, 7, 0), DO(POP, 3, 4, TERN_OK, 0, 7),
      DO(PUSH, 5, 6, TERN_ERR_FULL, 8, 0)}},
    {"empty after a push, behind one that is not through",
     false,
     2,
     {DO(PUSH, 1, 9, TERN_OK, 7, 0), DO(PUSH, 2, 3, TERN_OK, 8, 0),
      DO(POP, 4, 5, TERN_ERR_EMPTY, 0, 0)}},
};

static void known_ones(void) {
    take_steps();
    for (size_t i = 0; i < sizeof histories / sizeof *histories; i++) {
        known h = histories[i];
        history_state start = {{h.capacity}};
        size_t count = 0, most = 99;
        while (count < 6 && h.operation[count].call != 0)
            count++;
        bool linearizes =
            history_judge(h.operation, count, steps, &start, &most) == HISTORY_LINEARIZES;
        CU_ASSERT_EQUAL(linearizes, h.linearizes);
        if (linearizes != h.linearizes)
            printf("\n%s", h.what);
        CU_ASSERT(linearizes ? most == count : most < count);
    }
}

/* A sequential run, which knows nothing of the models, whose operations then get times around the
 * moment at which each took place. */
static size_t a_run(uint64_t *random, bool queue, uint64_t capacity, size_t count, uint64_t overlap,
                    history_operation *o) {
    uint64_t items[64], head = 0, tail = 0, value = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t moment = 1000 + 10 * i;
        bool writes = below(random, 2);
        o[i] = (history_operation){.call = moment - below(random, overlap),
                                   .done = moment + below(random, overlap),
                                   .argument[0] = i + 1};
        o[i].kind = queue ? (writes ? PUSH : POP) : (writes ? INSERT : FIND);
        if (queue && writes && tail - head == capacity) {
            o[i].status = TERN_ERR_FULL;
        } else if (queue && writes) {
            items[tail++] = i + 1;
        } else if (queue && tail == head) {
            o[i].status = TERN_ERR_EMPTY;
        } else if (queue) {
            o[i].result = items[head++];
        } else if (writes) {
            o[i].result = value != 0;
            value = i + 1;
        } else {
            o[i].status = value == 0 ? TERN_ERR_NOT_FOUND : TERN_OK;
            o[i].result = value;
        }
    }
    return count;
}

static void what_took_place(void) {
    take_steps();
    uint64_t random = tern_test_seed();
    int times = tern_test_full() ? 20000 : 2000;
    for (int i = 0; i < times; i++) {
        history_operation o[64];
        bool queue = below(&random, 2);
        uint64_t capacity = 1 + below(&random, 5), overlap = 1 + below(&random, 60);
        history_state start = {{queue ? capacity : 0}};
        size_t count = a_run(&random, queue, capacity, below(&random, 65), overlap, o);
        CU_ASSERT_EQUAL(history_judge(o, count, steps, &start, NULL), HISTORY_LINEARIZES);
    }
}

/* Every order of the operations from at on that follows those before, and time. */
static bool some_order(history_operation *o, size_t at, size_t count, history_state state) {
    if (at == count)
        return true;
    for (size_t i = at; i < count; i++) {
        bool may = true;
        for (size_t j = at; j < count; j++)
            may = may && !(o[j].done < o[i].call);
        history_state next = state;
        if (!may || !steps[o[i].kind](&next, &o[i]))
            continue;
        history_operation chosen = o[i], first = o[at];
        o[i] = first;
        o[at] = chosen;
        bool found = some_order(o, at + 1, count, next);
        o[at] = first;
        o[i] = chosen;
        if (found)
            return true;
    }
    return false;
}

static void change(uint64_t *random, history_operation *o, size_t count) {
    history_operation *one = &o[below(random, count)], *other = &o[below(random, count)];
    uint64_t result = one->result;
    switch (below(random, 5)) {
    case 0:
        one->result = other->result;
        other->result = result;
        break;
    case 1:
        one->result = below(random, count + 1);
        break;
    case 2:
        one->status = other->status;
        break;
    case 3:
        one->done = one->call;
        break;
    default:
        one->call = other->done + 1;
        one->done = one->done < one->call ? one->call : one->done;
        break;
    }
}

/* Of histories that were tampered with, the search through all orders says which still linearize.
 */
static void what_was_changed(void) {
    take_steps();
    uint64_t random = tern_test_seed() + 1, found[2] = {0};
    int times = tern_test_full() ? 200000 : 20000;
    for (int i = 0; i < times; i++) {
        history_operation o[8];
        bool queue = below(&random, 2);
        uint64_t capacity = 1 + below(&random, 3), overlap = 1 + below(&random, 40);
        history_state start = {{queue ? capacity : 0}};
        size_t count = a_run(&random, queue, capacity, 2 + below(&random, 6), overlap, o);
        for (uint64_t changes = 1 + below(&random, 2); changes > 0; changes--)
            change(&random, o, count);
        bool linearizes = some_order(o, 0, count, start);
        found[linearizes]++;
        CU_ASSERT_EQUAL(history_judge(o, count, steps, &start, NULL),
                        linearizes ? HISTORY_LINEARIZES : HISTORY_VIOLATES);
    }
    CU_ASSERT(found[0] > (uint64_t)times / 10);
    CU_ASSERT(found[1] > (uint64_t)times / 10);
}

static void limits(void) {
    take_steps();
    static history_operation o[HISTORY_OPERATIONS + 1];
    history_state start = {{0}};
    CU_ASSERT_EQUAL(history_judge(o, 0, steps, &start, NULL), HISTORY_LINEARIZES);
    for (size_t i = 0; i <= HISTORY_OPERATIONS; i++)
        o[i] = (history_operation){.call = 1 + i, .done = 2 + i, .kind = FIND, .status = NOTHING};
    CU_ASSERT_EQUAL(history_judge(o, HISTORY_OPERATIONS, steps, &start, NULL), HISTORY_LINEARIZES);
    CU_ASSERT_EQUAL(history_judge(o, HISTORY_OPERATIONS + 1, steps, &start, NULL),
                    HISTORY_UNDECIDED);
    /* Any order of overlapping inserts will do, and none explains what was found: too many to try.
     */
    for (size_t i = 0; i < 30; i++)
        o[i] = (history_operation){.call = 1, .done = 2, .kind = INSERT, .argument = {i + 1}};
    for (size_t i = 0; i < 30; i++)
        o[i].result = i > 0;
    o[30] = (history_operation){.call = 3, .done = 4, .kind = FIND, .status = NOTHING};
    CU_ASSERT_EQUAL(history_judge(o, 31, steps, &start, NULL), HISTORY_UNDECIDED);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"known_ones", known_ones},
        {"what_took_place", what_took_place},
        {"what_was_changed", what_was_changed},
        {"limits", limits},
    };
    return tern_test_main(argc, argv, "linearize", tests, sizeof tests / sizeof *tests);
}
