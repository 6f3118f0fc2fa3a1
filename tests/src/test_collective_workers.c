// tern-test: transports

/* Collectives of two workers of each rank at once: one of them meets the other ranks at a time, and
 * a function that meets several times is not mixed with that of the other worker. */

#include <pthread.h>
#include <stdlib.h>

#include "fixture.h"

enum { WORKERS = 2, EACH = 60, PIECES = WORKERS * EACH };

typedef struct crew {
    tern_worker *worker;
    tern_ptr piece[EACH];
    uint64_t failed;
} crew;

static void *allocate(void *argument) {
    crew *c = argument;
    for (int i = 0; i < EACH; i++)
        c->failed += tern_alloc_all(c->worker, 64, 0, TERN_DOMAIN_OWNER, &c->piece[i]) != TERN_OK;
    return NULL;
}

static int by_offset(const void *a, const void *b) {
    const uint64_t one = ((const tern_ptr *)a)->offset, other = ((const tern_ptr *)b)->offset;
    return (one > other) - (one < other);
}

/* All workers do the same, so whichever of them meet are in the same function. */
static void take_turns(crew *crews) {
    pthread_t thread;
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, allocate, &crews[1]) == 0);
    (void)allocate(&crews[0]);
    pthread_join(thread, NULL);
}

static void at_once(void) {
    fixture f;
    tern_config config;
    static crew crews[WORKERS];
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.workers = WORKERS;
    if (!fixture_open(&f, &config))
        return;
    crews[0] = (crew){.worker = f.worker};
    crews[1] = (crew){.worker = NULL};
    EXPECT_OK(tern_worker_adopt(f.context, 1, &crews[1].worker));
    take_turns(crews);
    CU_ASSERT_EQUAL(crews[0].failed + crews[1].failed, 0);
    /* Each piece was given once here, and lies at the same place of all ranks. */
    tern_ptr piece[PIECES];
    uint64_t places[PIECES], *all = calloc((size_t)f.size * PIECES, sizeof *all), differ = 0;
    memcpy(piece, crews[0].piece, sizeof crews[0].piece);
    memcpy(piece + EACH, crews[1].piece, sizeof crews[1].piece);
    qsort(piece, PIECES, sizeof *piece, by_offset);
    for (int i = 0; i < PIECES; i++) {
        places[i] = piece[i].offset;
        differ += i > 0 && places[i] < places[i - 1] + 64;
    }
    fixture_share(&f, places, sizeof places, all);
    for (uint32_t r = 0; r < f.size; r++)
        differ += memcmp(all + (size_t)r * PIECES, places, sizeof places) != 0;
    CU_ASSERT_EQUAL(differ, 0);
    for (int i = 0; i < PIECES; i++)
        EXPECT_OK(tern_free_all(f.worker, piece[i]));
    free(all);
    EXPECT_OK(tern_worker_release(crews[1].worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"at_once", at_once}};
    return tern_test_main(argc, argv, "collective_workers", tests, 1);
}
