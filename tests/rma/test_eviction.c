// tern-test: unit

/* Which connection is left. */

#include "harness.h"
#include "rma/port/posting.h"

enum { ROUTES = 5 };

static tern_route routes[ROUTES];

/* All are held, were used in turn, and have nothing under way. */
static void begin(void) {
    for (uint32_t i = 0; i < ROUTES; i++)
        routes[i] = (tern_route){
            .next = i + 1 < ROUTES ? &routes[i + 1] : NULL, .rank = i, .held = true, .used = i + 1};
}

static void least_recently_used(void) {
    begin();
    routes[0].used = 9;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, NULL), &routes[1]);
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, &routes[1]), &routes[2]);
    routes[2].held = false;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, &routes[1]), &routes[3]);
}

static void idle_before_busy(void) {
    begin();
    routes[0].under_way = routes[1].under_way = 1;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, NULL), &routes[2]);
    for (uint32_t i = 0; i < ROUTES; i++)
        routes[i].under_way = 7;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, NULL), &routes[0]);
}

/* Those that were used, even busy ones, go before those that were not, and of these the youngest.
 */
static void unused_ones_last(void) {
    begin();
    for (uint32_t i = 0; i + 1 < ROUTES; i++)
        routes[i].fresh = true;
    routes[ROUTES - 1].under_way = 1;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, NULL), &routes[ROUTES - 1]);
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, &routes[ROUTES - 1]), &routes[ROUTES - 2]);
    routes[1].used = 99;
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, &routes[ROUTES - 1]), &routes[1]);
}

static void none(void) {
    begin();
    for (uint32_t i = 1; i < ROUTES; i++)
        routes[i].held = false;
    CU_ASSERT_PTR_NULL(tern_route_to_evict(routes, &routes[0]));
    CU_ASSERT_PTR_EQUAL(tern_route_to_evict(routes, NULL), &routes[0]);
    CU_ASSERT_PTR_NULL(tern_route_to_evict(NULL, NULL));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"least_recently_used", least_recently_used},
                                           {"idle_before_busy", idle_before_busy},
                                           {"unused_ones_last", unused_ones_last},
                                           {"none", none}};
    return tern_test_main(argc, argv, "eviction", tests, sizeof tests / sizeof *tests);
}
