// tern-test: unit
/*
 * The books of circular buffers (rma/circle.h) against a model: a list of units in the order
 * of the circle, a list of all pieces ever cut, and a byte map that shows overlaps.
 */

#include "base/error.h"
#include "harness.h"
#include "rma/circle.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, UNIT = 256, UNITS_MAX = 12, PIECES_MAX = 60000 };
enum { HELD, UNDER_WAY, FREE };

typedef struct {
    uint32_t unit, rank;
    uint64_t at, bytes, number;
    int state;
} piece;

static struct {
    tern_circle circle;
    tern_posts posts[RANKS];
    char memory[UNITS_MAX][UNIT];
    bool taken[UNITS_MAX][UNIT];
    uint32_t order[UNITS_MAX]; /* units, the current one first */
    uint32_t units;
    uint64_t used;
    piece *pieces;
    uint64_t first, next;
    uint64_t random;
    int wrong;
} model;

static uint64_t below(uint64_t limit) { return tern_test_random(&model.random) % limit; }

static void add_units(uint32_t more) {
    CU_ASSERT_EQUAL(tern_circle_add(&model.circle, more, model.memory[model.units]), TERN_OK);
    uint32_t behind = model.units > 0 ? 1 : 0;
    memmove(&model.order[behind + more], &model.order[behind],
            (model.units - behind) * sizeof model.order[0]);
    for (uint32_t i = 0; i < more; i++)
        model.order[behind + i] = model.units + i;
    model.units += more;
}

static void open_circle(uint32_t units) {
    piece *pieces = model.pieces;
    memset(&model, 0, sizeof model);
    model.pieces = pieces != NULL ? pieces : malloc(PIECES_MAX * sizeof *pieces);
    model.random = tern_test_seed() * 977 + units;
    CU_ASSERT_EQUAL_FATAL(tern_circle_open(&model.circle, UNIT, model.posts), TERN_OK);
    add_units(units);
}

static void close_circle(void) {
    CU_ASSERT_EQUAL(model.wrong, 0);
    tern_circle_close(&model.circle);
}

/* Pieces of a unit that the circle may not have let go yet. */
static int live_of(uint32_t unit) {
    int live = 0;
    for (uint64_t i = model.first; i < model.next; i++)
        live += model.pieces[i].unit == unit;
    return live;
}

static void let_go(void) {
    for (; model.first < model.next; model.first++) {
        const piece *p = &model.pieces[model.first];
        bool free = p->state == FREE ||
                    (p->state == UNDER_WAY && p->number <= model.posts[p->rank].flushes);
        if (!free)
            return;
        memset(&model.taken[p->unit][p->at], 0, p->bytes);
    }
}

/* Where the next piece has to be. */
static bool expect_place(uint64_t bytes) {
    let_go();
    if (live_of(model.order[0]) == 0)
        model.used = 0;
    if (model.used + bytes <= UNIT)
        return true;
    if (live_of(model.order[1 % model.units]) > 0)
        return false;
    uint32_t left = model.order[0];
    memmove(&model.order[0], &model.order[1], (model.units - 1) * sizeof left);
    model.order[model.units - 1] = left;
    model.used = 0;
    return true;
}

static tern_status cut(uint64_t bytes) {
    char *memory = NULL;
    uint64_t id = UINT64_MAX;
    bool room = expect_place(bytes);
    tern_status status = tern_circle_cut(&model.circle, bytes, &memory, &id);
    if (!room) {
        model.wrong += status != TERN_ERR_AGAIN || id != UINT64_MAX || memory != NULL;
        return status;
    }
    uint32_t unit = model.order[0];
    model.wrong += status != TERN_OK || memory != &model.memory[unit][model.used] ||
                   id != model.next || tern_circle_held(&model.circle, id) == NULL;
    for (uint64_t i = 0; i < bytes; i++) {
        model.wrong += model.taken[unit][model.used + i];
        model.taken[unit][model.used + i] = true;
    }
    model.pieces[model.next++] =
        (piece){.unit = unit, .at = model.used, .bytes = bytes, .state = HELD};
    model.used += bytes;
    return status;
}

/* NULL: nothing is held. */
static piece *some_held(uint64_t *id) {
    uint64_t count = model.next - model.first, start = below(count + 1);
    for (uint64_t i = 0; i < count; i++) {
        *id = model.first + (start + i) % count;
        if (model.pieces[*id].state == HELD)
            return &model.pieces[*id];
    }
    return NULL;
}

static void give(uint64_t id) {
    tern_entry *entry = tern_circle_held(&model.circle, id);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    entry->number = 0;
    model.pieces[id].state = FREE;
    model.wrong += tern_circle_held(&model.circle, id) != NULL;
}

static void put(uint64_t id, uint32_t rank) {
    tern_entry *entry = tern_circle_held(&model.circle, id);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    model.posts[rank].open++;
    entry->number = tern_posts_number(&model.posts[rank]);
    entry->rank = rank;
    model.pieces[id].number = entry->number;
    model.pieces[id].rank = rank;
    model.pieces[id].state = UNDER_WAY;
    model.wrong += tern_circle_held(&model.circle, id) != NULL;
}

static void flush(uint32_t rank) { tern_posts_flushed(&model.posts[rank]); }

/* The piece in the way is the oldest one. */
static void check_oldest(void) {
    const tern_entry *oldest = tern_circle_oldest(&model.circle);
    const piece *p = &model.pieces[model.first];
    model.wrong += p->state == HELD ? oldest->number != TERN_PIECE_HELD
                                    : oldest->number != p->number || oldest->rank != p->rank;
}

static void random_against_model(bool whole, uint32_t units) {
    open_circle(units);
    uint64_t full = 0;
    for (int step = 0; step < 40000 && model.wrong == 0; step++) {
        uint64_t dice = below(100), id;
        if (dice < 45) {
            uint64_t bytes = whole ? UNIT : 8 * (1 + below(dice < 5 ? UNIT / 8 : 6));
            if (cut(bytes) != TERN_ERR_AGAIN)
                continue;
            full++;
            check_oldest();
            if (model.units < UNITS_MAX && below(50) == 0)
                add_units(1 + (uint32_t)below(UNITS_MAX - model.units));
        } else if (dice < 95) {
            const piece *p = some_held(&id);
            if (p != NULL && dice < 55)
                give(id);
            else if (p != NULL)
                put(id, (uint32_t)below(RANKS));
        } else {
            flush((uint32_t)below(RANKS));
        }
    }
    CU_ASSERT(full > 0);
    CU_ASSERT_EQUAL(model.units, UNITS_MAX);
    close_circle();
}

static void whole_units(void) {
    random_against_model(true, 1);
    random_against_model(true, 3);
}

static void parts_of_units(void) {
    random_against_model(false, 1);
    random_against_model(false, 2);
}

static void edges(void) {
    open_circle(2);
    CU_ASSERT_EQUAL(cut(UNIT - 8), TERN_OK);
    CU_ASSERT_EQUAL(cut(8), TERN_OK); /* to the last byte */
    CU_ASSERT_EQUAL(cut(8), TERN_OK);
    CU_ASSERT_EQUAL(cut(UNIT - 8), TERN_OK);
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
    put(0, 1);
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
    flush(0); /* another's */
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
    flush(1);
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN); /* the unit's second piece is held */
    give(1);
    CU_ASSERT_EQUAL(cut(UNIT), TERN_OK);
    give(4); /* younger than those that are held */
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
    CU_ASSERT_PTR_NULL(tern_circle_held(&model.circle, 0));
    CU_ASSERT_PTR_NULL(tern_circle_held(&model.circle, 5));
    CU_ASSERT_PTR_NULL(tern_circle_held(&model.circle, UINT64_MAX));
    close_circle();
}

/* One unit is a circle too, and an empty buffer stays where the cache has it. */
static void one_unit(void) {
    open_circle(1);
    for (uint64_t i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(cut(8), TERN_OK);
        CU_ASSERT_EQUAL(model.pieces[i].at, 0);
        give(i);
    }
    CU_ASSERT_EQUAL(cut(UNIT), TERN_OK);
    CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
    add_units(1);
    CU_ASSERT_EQUAL(cut(8), TERN_OK);
    put(10, 3);
    flush(3);
    CU_ASSERT_EQUAL(cut(UNIT), TERN_OK);
    CU_ASSERT_EQUAL(model.pieces[12].unit, 0);
    close_circle();
}

/* More pieces at a time than the books had room for, and one flush that frees them all. */
static void many_pieces(void) {
    open_circle(UNITS_MAX);
    uint64_t most = UNITS_MAX * UNIT / 8;
    for (int generation = 0; generation < 3; generation++) {
        uint64_t first = model.next;
        for (uint64_t i = 0; i < most; i++)
            CU_ASSERT_EQUAL(cut(8), TERN_OK);
        CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
        for (uint64_t i = 0; i < most; i++)
            put(first + i, 2);
        CU_ASSERT_EQUAL(cut(8), TERN_ERR_AGAIN);
        flush(2);
    }
    CU_ASSERT(model.circle.mask + 1 >= most);
    close_circle();
    free(model.pieces);
    model.pieces = NULL;
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"whole_units", whole_units},
                                           {"parts_of_units", parts_of_units},
                                           {"edges", edges},
                                           {"one_unit", one_unit},
                                           {"many_pieces", many_pieces}};
    return tern_test_main(argc, argv, "circle", tests, sizeof tests / sizeof tests[0]);
}
