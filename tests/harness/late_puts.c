#include "late_puts.h"

#include <stdlib.h>

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"

typedef struct late {
    struct late *next;
    uint64_t offset, bytes;
    uint32_t rank;
    char data[];
} late;

static late *first, **last = &first;
static late *gone; /* MPI may still read them */
static uint64_t held, random_state;
static bool by_chance;

static bool never(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                  uint64_t bytes) {
    (void)worker, (void)rank, (void)offset, (void)from, (void)bytes;
    return false;
}

static bool hold(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes) {
    (void)worker;
    if (by_chance && below(&random_state, 2))
        return false;
    late *put = malloc(sizeof *put + bytes);
    if (put == NULL)
        return false;
    *put = (late){NULL, offset, bytes, rank};
    memcpy(put->data, from, bytes);
    *last = put;
    last = &put->next;
    held++;
    return true;
}

static void let_go(tern_worker *worker, uint32_t rank) {
    late **at = &first;
    while (*at != NULL) {
        late *put = *at;
        if (put->rank != rank) {
            at = &put->next;
            continue;
        }
        (void)tern_window_put(worker, rank, put->offset, put->data, put->bytes);
        *at = put->next;
        put->next = gone;
        gone = put;
    }
    last = at;
}

void late_puts_begin(fixture *f, bool sometimes) {
    static const tern_put_hook hook = {.put = never, .flush = let_go, .hold = hold};
    held = 0;
    by_chance = sometimes;
    random_state = fixture_seed(f, 577);
    if (fixture_uses_rma(f))
        tern_window_set_hook(tern_rma_of(f->context)->window, &hook);
}

uint64_t late_puts_end(fixture *f) {
    EXPECT_OK(tern_barrier(f->worker));
    CU_ASSERT_PTR_NULL(first);
    for (late *next; gone != NULL; gone = next) {
        next = gone->next;
        free(gone);
    }
    if (fixture_uses_rma(f))
        tern_window_set_hook(tern_rma_of(f->context)->window, NULL);
    return held;
}
