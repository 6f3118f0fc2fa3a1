/*
 * The halo by puts: each rank puts its outer rows into its neighbours' halo rows with
 * tern_put_notify, and later waits for the events that tell that its own halo has come.
 */
#include <string.h>

#include "band.h"
#include "halo.h"

static tern_ptr theirs[SIDES][2]; /* the neighbour's halo row that this rank fills */
static int due[2];                /* events for which even and odd steps still wait */

/* Neighbours tell each other the addresses of their halo rows. The pointers travel as the
 * completion id of a notification that moves no data. */
static void open_halo(band *b) {
    int missing = 0;
    for (int side = 0; side < SIDES; side++) {
        tern_ptr mine[2];
        if (!b->has[side])
            continue;
        for (int state = 0; state < 2; state++) {
            check(tern_alloc(b->worker, row_bytes(b), 0, TERN_DOMAIN_GLOBAL, &mine[state]));
            b->halo[side][state] = tern_local(tern_worker_context(b->worker), mine[state]);
        }
        check(tern_put_notify(b->worker, b->neighbour[side], TERN_NULL, NULL, 0, 0, mine,
                              sizeof mine, TERN_NOTIFY_NO_LOCAL));
        missing++;
    }
    for (; missing > 0; missing--) {
        tern_event event;
        check(tern_event_wait(b->worker, TERN_PROBE_REMOTE, &event));
        memcpy(theirs[event.peer.rank < b->rank ? ABOVE : BELOW], event.cid, sizeof theirs[0]);
    }
}

/* Two events are due for each row: that the neighbour's row has come, and that the own row may be
 * overwritten. Both carry the step's number. */
static void send_rows(band *b, size_t step) {
    int now = state_before(step);
    for (int side = 0; side < SIDES; side++) {
        if (!b->has[side])
            continue;
        due[now] += 2;
        check(tern_put_notify(b->worker, b->neighbour[side], theirs[side][now],
                              outer_row(b, now, side), row_bytes(b), step, &step, sizeof step, 0));
    }
}

static void wait_for_halo(band *b, size_t step) {
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

static void close_halo(band *b) { (void)b; }

const halo halo_put = {"put", 4, open_halo, send_rows, wait_for_halo, close_halo};
