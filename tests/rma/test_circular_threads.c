// tern-test: transports

/*
 * Two workers of each process, each in a thread of its own and with a buffer of its own, put to the
 * same ranks at the same time: the flush of one frees nothing of the other's.
 */

#include "fixture.h"

#include <pthread.h>

enum { WORKERS = 2, RANKS = 64, SLOTS = 40, SLOT = 200 };

typedef struct {
    fixture *f;
    tern_worker *worker;
    tern_ptr *all; /* SLOTS slots for each worker of the job */
    uint32_t index;
    int rounds;
    tern_status first;
    char detail[200];
} crew;

static unsigned char letter(uint32_t origin, int round, uint64_t slot, size_t i) {
    return (unsigned char)(origin * 31 + (uint64_t)round * 7 + slot * 13 + i * 3 + 1);
}

static bool note(crew *c, tern_status status) {
    if (status != TERN_OK && c->first == TERN_OK) {
        c->first = status;
        snprintf(c->detail, sizeof c->detail, "%.190s", tern_error_detail());
    }
    return status == TERN_OK;
}

static tern_ptr place(const crew *c, uint32_t rank, uint64_t slot) {
    uint32_t self = c->f->rank * WORKERS + c->index;
    return tern_ptr_add(c->all[rank], (int64_t)((self * SLOTS + slot) * SLOT));
}

static void put_one(crew *c, tern_circular *buffer, uint32_t rank, int round, uint64_t slot) {
    tern_piece piece;
    if (!note(c, tern_piece_take(c->worker, buffer, SLOT, &piece)))
        return;
    unsigned char *at = piece.memory;
    for (size_t i = 0; i < SLOT; i++)
        at[i] = letter(c->f->rank * WORKERS + c->index, round, slot, i);
    note(c, tern_piece_put(c->worker, buffer, &piece, place(c, rank, slot), SLOT));
}

/* Later rounds go to the same places: the fence keeps them behind. */
static void *sail(void *argument) {
    crew *c = argument;
    tern_circular *buffer;
    tern_circular_options options = {
        .unit_bytes = SLOT, .units = 1, .units_max = 12, .flush_every = 5 + c->index * 20};
    if (!note(c, tern_circular_create(c->worker, &options, &buffer)))
        return NULL;
    for (int round = 0; round < c->rounds && c->first == TERN_OK; round++)
        for (uint32_t rank = 0; rank < c->f->size; rank++) {
            for (uint64_t slot = 0; slot < SLOTS; slot++)
                put_one(c, buffer, rank, round, slot);
            note(c, tern_fence(c->worker, rank));
        }
    note(c, tern_flush_all(c->worker));
    note(c, tern_circular_destroy(c->worker, buffer));
    return NULL;
}

static size_t wrong_at(const fixture *f, tern_ptr mine, int last) {
    const unsigned char *at = tern_local(f->context, mine);
    size_t wrong = 0;
    for (uint32_t origin = 0; origin < f->size * WORKERS; origin++)
        for (uint64_t slot = 0; slot < SLOTS; slot++)
            for (size_t i = 0; i < SLOT; i++)
                wrong += *at++ != letter(origin, last, slot, i);
    return wrong;
}

static void two_workers_put(void) {
    fixture f;
    crew crews[WORKERS] = {{.first = TERN_OK}};
    pthread_t threads[WORKERS];
    tern_ptr all[RANKS];
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.workers = WORKERS;
    if (!fixture_open(&f, &config))
        return;
    fixture_alloc_all(&f, (size_t)f.size * WORKERS * SLOTS * SLOT, TERN_DOMAIN_GLOBAL, all);
    int rounds = fixture_times(&f, 40);
    for (uint32_t i = 0; i < WORKERS; i++) {
        crews[i] = (crew){.f = &f, .worker = f.worker, .all = all, .index = i, .rounds = rounds};
        if (i > 0)
            EXPECT_OK(tern_worker_adopt(f.context, i, &crews[i].worker));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t i = 0; i < WORKERS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, sail, &crews[i]), 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(crews[i].first, TERN_OK);
        CU_ASSERT_STRING_EQUAL(crews[i].detail, "");
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(wrong_at(&f, all[f.rank], rounds - 1), 0);
    for (uint32_t i = 1; i < WORKERS; i++)
        EXPECT_OK(tern_worker_release(crews[i].worker));
    fixture_free_all(&f, all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"two_workers_put", two_workers_put}};
    return tern_test_main(argc, argv, "circular_threads", tests, 1);
}
