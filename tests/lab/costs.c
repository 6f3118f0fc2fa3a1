/*
 * What operations cost the card over verbs, by the counters of tern/stats.h: rank 0 works on the
 * memory of rank 1.
 */

#include "fixture.h"

#include <stdlib.h>

enum { PUTS = 1000, LARGE = 65536 };

static fixture f;
static tern_ptr memory[2];
static tern_stats before, after;

/* The connection, the buffers and the target's memory are in use already. */
static bool costs_open(void) {
    tern_config config;
    uint64_t word = 0;
    EXPECT_OK(tern_config_init(&config));
    if (!fixture_open(&f, &config))
        return false;
    fixture_alloc_all(&f, LARGE, TERN_DOMAIN_OWNER, memory);
    if (f.rank == 0)
        for (int i = 0; i < PUTS; i++) {
            EXPECT_OK(tern_put(f.worker, memory[1], &word, sizeof word));
            EXPECT_OK(tern_flush(f.worker, 1));
        }
    tern_stats_get(f.worker, &before);
    return true;
}

static uint64_t grown(size_t field) {
    uint64_t was, is;
    memcpy(&was, (const char *)&before + field, sizeof was);
    memcpy(&is, (const char *)&after + field, sizeof is);
    return is - was;
}
#define GROWN(field) grown(offsetof(tern_stats, field))

static void costs_take(void) {
    tern_stats_get(f.worker, &after);
    printf("%llu copies, %llu registrations, %llu completions, %llu doorbells ... ",
           (unsigned long long)GROWN(network_copies),
           (unsigned long long)GROWN(network_registrations),
           (unsigned long long)GROWN(network_completions),
           (unsigned long long)GROWN(network_doorbells));
}

static void costs_close(void) {
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

/* Small puts: the card completes few of them, and the last one holds what it should. */
static void small_puts(void) {
    if (!costs_open())
        return;
    if (f.rank == 0) {
        uint64_t word = 0, got = 0;
        for (word = 1; word <= PUTS; word++)
            EXPECT_OK(tern_put(f.worker, memory[1], &word, sizeof word));
        EXPECT_OK(tern_flush(f.worker, 1));
        costs_take();
        CU_ASSERT_EQUAL(GROWN(network_copies), PUTS);
        /* Buffers are registered 16 at a time, and 256 posts are under way at most. */
        CU_ASSERT(GROWN(network_registrations) <= 16);
        CU_ASSERT(GROWN(network_completions) > 0);
        CU_ASSERT(GROWN(network_completions) <= 40);
        CU_ASSERT(GROWN(network_doorbells) <= PUTS + 40);
        EXPECT_OK(tern_get(f.worker, &got, memory[1], sizeof got));
        CU_ASSERT_EQUAL(got, PUTS);
    }
    costs_close();
}

/* A put and its flush: one post and one completion. */
static void single_puts(void) {
    if (!costs_open())
        return;
    if (f.rank == 0) {
        for (uint64_t word = 0; word < PUTS; word++) {
            EXPECT_OK(tern_put(f.worker, memory[1], &word, sizeof word));
            EXPECT_OK(tern_flush(f.worker, 1));
        }
        costs_take();
        CU_ASSERT_EQUAL(GROWN(network_completions), PUTS);
        CU_ASSERT_EQUAL(GROWN(network_doorbells), PUTS);
    }
    costs_close();
}

/* A put in parts: the first one, on an idle connection, and the last one complete. */
static void a_large_put(void) {
    if (!costs_open())
        return;
    char *data = malloc(LARGE);
    CU_ASSERT_FATAL(data != NULL);
    memset(data, 7, LARGE);
    if (f.rank == 0) {
        EXPECT_OK(tern_put(f.worker, memory[1], data, LARGE));
        EXPECT_OK(tern_flush(f.worker, 1));
        costs_take();
        CU_ASSERT(GROWN(network_completions) > 0);
        CU_ASSERT(GROWN(network_completions) <= 2);
    }
    free(data);
    costs_close();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"small_puts", small_puts}, {"single_puts", single_puts}, {"a_large_put", a_large_put}};
    return tern_test_main(argc, argv, "costs", tests, sizeof tests / sizeof *tests);
}
