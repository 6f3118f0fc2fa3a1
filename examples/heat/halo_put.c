/*
 * The halo by puts: each rank puts its outer rows into its neighbours' halo rows with
 * tern_put_notify, and later waits for the events that tell that its own halo has come.
 */
#include <string.h>

#include "band.h"
#include "halo.h"

struct halo_state {
    tern_ptr rows; /* four on each rank, all at the same place: by side, then by state */
    int due[2];    /* events for which even and odd steps still wait */
};

static tern_ptr halo_row(const band *b, uint32_t rank, int side, int state) {
    return tern_ptr_add(tern_ptr_on(b->halo_state->rows, rank),
                        (int64_t)((size_t)(2 * side + state) * row_bytes(b)));
}

static void open_halo(band *b) {
    const tern_context *context = tern_worker_context(b->worker);
    b->halo_state = calloc(1, sizeof *b->halo_state);
    check(b->halo_state != NULL ? TERN_OK : TERN_ERR_MEMORY);
    check(tern_alloc_all(b->worker, (size_t)2 * SIDES * row_bytes(b), 0, TERN_DOMAIN_GLOBAL,
                         &b->halo_state->rows));
    for (int side = 0; side < SIDES; side++)
        for (int state = 0; state < 2 && b->has[side]; state++)
            b->halo[side][state] = tern_local(context, halo_row(b, b->rank, side, state));
}

/* Two events are due for each row: that the neighbour's row has come, and that the own row may be
 * overwritten. Both carry the step's number. */
static void send_rows(band *b, size_t step) {
    int now = state_before(step);
    tern_notify_options both = {.local_cid = step, .cid = &step, .cid_bytes = sizeof step};
    for (int side = 0; side < SIDES; side++) {
        if (!b->has[side])
            continue;
        b->halo_state->due[now] += 2;
        /* The neighbour above has this rank below. */
        check(tern_put_notify(b->worker, b->neighbour[side],
                              halo_row(b, b->neighbour[side].rank, 1 - side, now),
                              outer_row(b, now, side), row_bytes(b), &both));
    }
}

static void wait_for_halo(band *b, size_t step) {
    int *due = b->halo_state->due;
    while (due[state_before(step)] > 0) {
        tern_event event;
        size_t of = 0;
        check(tern_event_wait(b->worker, TERN_PROBE_ANY, &event));
        check(event.kind == TERN_EVENT_LOCAL ? event.status : TERN_OK);
        if (event.kind == TERN_EVENT_LOCAL)
            of = (size_t)event.local_cid;
        else
            memcpy(&of, event.cid, sizeof of);
        due[state_before(of)]--;
    }
}

static void close_halo(band *b) {
    check(tern_free_all(b->worker, b->halo_state->rows));
    free(b->halo_state);
}

const halo halo_put = {"put", 4, open_halo, send_rows, wait_for_halo, close_halo};
