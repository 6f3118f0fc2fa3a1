// tern-test: transports

/*
 * Parts of a program's own objects: calls find them by their ids, the context is not destroyed
 * before them, and a program waits for calls as tern does.
 */

#include "call_tools.h"
#include "tern/agree.h"
#include "tern/part.h"

typedef struct shop {
    uint64_t sold;
} shop;

typedef struct order {
    uint64_t id, pieces;
} order;

static tern_status sell(tern_call_info *call, const void *arguments, size_t bytes) {
    order o;
    memcpy(&o, arguments, bytes < sizeof o ? bytes : sizeof o);
    shop *found = tern_part_find(call->worker, "shop", o.id);
    if (found == NULL)
        return tern_call_fail(call, TERN_ERR_STATE, "no such shop");
    found->sold += o.pieces;
    return TERN_OK;
}
TERN_FUNCTION(sell)

static tern_status order_at(fixture *f, uint32_t rank, uint64_t id) {
    order o = {id, 3};
    return tern_call_return(f->worker, to(rank), &sell_function, &o, sizeof o, NULL, 0, NULL);
}

static void calls_find_parts(void) {
    fixture f;
    shop mine[2] = {{0}, {0}};
    tern_part *part[2] = {NULL, NULL}, *other = NULL;
    if (!fixture_open(&f, NULL))
        return;
    for (int i = 0; i < 2; i++)
        EXPECT_OK(tern_part_create(f.worker, "shop", &mine[i], &part[i]));
    EXPECT_OK(tern_part_create(f.worker, "farm", &mine[0], &other));
    const uint64_t ids[] = {tern_part_id(part[0]), tern_part_id(part[1]), tern_part_id(other)};
    EXPECT_OK(tern_same(f.worker, ids, sizeof ids, "the ids"));
    CU_ASSERT(ids[0] != 0 && ids[0] != ids[1]);
    EXPECT_OK(tern_barrier(f.worker));
    const uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(order_at(&f, next, ids[1]));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(mine[0].sold == 0 && mine[1].sold == 3);

    /* Neither an object of another kind nor one that does not exist. */
    EXPECT(TERN_ERR_STATE, order_at(&f, next, ids[2]));
    EXPECT(TERN_ERR_STATE, order_at(&f, next, ids[0] + ids[1]));
    EXPECT_DETAIL("no such shop");
    CU_ASSERT_PTR_EQUAL(tern_part_find(f.worker, "farm", ids[2]), &mine[0]);

    EXPECT_OK(tern_barrier(f.worker));
    tern_part_destroy(part[1]);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT(TERN_ERR_STATE, order_at(&f, next, ids[1]));
    EXPECT_OK(order_at(&f, next, ids[0]));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(mine[0].sold == 3 && mine[1].sold == 3);

    EXPECT(TERN_ERR_STATE, tern_context_destroy(f.context));
    EXPECT_DETAIL("2 objects are still alive: shop, farm;");
    tern_part_destroy(part[0]);
    tern_part_destroy(other);
    tern_part_destroy(NULL);
    fixture_close(&f);
}

static void bad_arguments_are_refused_everywhere(void) {
    fixture f;
    shop mine = {0};
    tern_part *part = NULL;
    if (!fixture_open(&f, NULL))
        return;
    const bool last = f.rank == f.size - 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_part_create(NULL, "shop", &mine, &part));
    EXPECT(TERN_ERR_ARGUMENT, tern_part_create(f.worker, last ? NULL : "shop", &mine, &part));
    EXPECT(TERN_ERR_ARGUMENT, tern_part_create(f.worker, "shop", &mine, last ? NULL : &part));
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH,
               last ? tern_barrier(f.worker) : tern_part_create(f.worker, "shop", &mine, &part));
        EXPECT_DETAIL("is in tern_part_create");
    }
    CU_ASSERT_PTR_NULL(part);
    EXPECT_OK(tern_part_create(f.worker, "shop", NULL, &part)); /* nothing is a part, too */
    CU_ASSERT_PTR_NULL(tern_part_find(f.worker, "shop", tern_part_id(part)));
    tern_part_destroy(part);
    fixture_close(&f);
}

/* Each rank waits until all have called it. Between cork and uncork no call waits. */
static void a_program_waits_for_calls(void) {
    fixture f;
    shop mine = {0};
    tern_part *part = NULL;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_part_create(f.worker, "shop", &mine, &part));
    EXPECT_OK(tern_barrier(f.worker));
    order o = {tern_part_id(part), 1};
    tern_call_cork(f.worker);
    for (uint32_t r = 0; r < f.size; r++)
        for (int i = 0; i < 5; i++)
            EXPECT_OK(tern_call(f.worker, to(r), &sell_function, &o, sizeof o));
    tern_call_uncork(f.worker);
    tern_call_cork(NULL);
    tern_call_uncork(NULL);
    tern_await wait = TERN_AWAIT_START;
    tern_status status = TERN_OK;
    while (mine.sold < (uint64_t)5 * f.size && status == TERN_OK)
        status = tern_await_round(f.worker, &wait, tern_progress(f.worker));
    EXPECT_OK(status);
    CU_ASSERT_EQUAL(mine.sold, (uint64_t)5 * f.size);
    EXPECT(TERN_ERR_ARGUMENT, tern_await_round(NULL, &wait, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_await_round(f.worker, NULL, 0));
    CU_ASSERT_EQUAL(tern_context_dead(f.context), TERN_NO_RANK);
    EXPECT_OK(tern_barrier(f.worker));
    tern_part_destroy(part);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"calls_find_parts", calls_find_parts},
        {"bad_arguments_are_refused_everywhere", bad_arguments_are_refused_everywhere},
        {"a_program_waits_for_calls", a_program_waits_for_calls},
    };
    return tern_test_main(argc, argv, "part", tests, sizeof tests / sizeof *tests);
}
