/*
 * The halo by calls: an outer row is an argument of a call, and the called function keeps the
 * memory of the argument as the neighbour's halo row.
 *
 * The rows lie in the segment, so an archive that shares does not copy them: it refers to them, and
 * the neighbour gets them from there before the function runs (tern/archive.h). An archive
 * that does not share holds a copy of the row; `copy` uses it, to compare the two.
 */
#include "band.h"
#include "halo.h"

struct halo_state {
    band *b;
    tern_part *part; /* by which calls find this rank's halo_state */
    tern_writer writer;
    tern_vector row[SIDES][2]; /* rows that have come: the memory of b->halo */
    /* Two of each, for even and odd steps. */
    tern_synchronizer awaited[2];  /* counts rows that have not come yet */
    tern_synchronizer reusable[2]; /* counts rows that neighbours have not got yet */
};

/* Runs at the neighbour, in its tern_progress. */
static tern_status take_row(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t id = 0;
    size_t step = 0;
    tern_reader reader;
    check(tern_call_reader(call, arguments, bytes, &reader));
    check(TERN_READ(&reader, &id, 1));
    check(TERN_READ(&reader, &step, 1));
    struct halo_state *h = tern_part_find(call->worker, "halo_state", id);
    if (h == NULL)
        return TERN_ERR_STATE;
    int side = call->origin.rank < h->b->rank ? ABOVE : BELOW, state = state_before(step);
    tern_vector_destroy(&h->row[side][state]); /* the row of two steps ago */
    check(TERN_READ_VECTOR(&reader, call->worker, double, &h->row[side][state]));
    check(tern_reader_close(&reader));
    h->b->halo[side][state] = tern_vector_data(&h->row[side][state]);
    return tern_synchronizer_lower(call->worker, h->awaited[state], 1);
}
TERN_FUNCTION(take_row)

static void await(const band *b, int state) {
    check(tern_synchronizer_raise(b->worker, b->halo_state->awaited[state],
                                  b->has[ABOVE] + b->has[BELOW]));
}

static void open_copying(band *b) {
    struct halo_state *h = b->halo_state = calloc(1, sizeof *h);
    check(h != NULL ? TERN_OK : TERN_ERR_MEMORY);
    h->b = b;
    check(tern_part_create(b->worker, "halo_state", h, &h->part));
    check(tern_writer_open(&h->writer, NULL, 0, row_bytes(b) + 64));
    for (int state = 0; state < 2; state++) {
        check(tern_synchronizer_create(b->worker, &h->awaited[state]));
        check(tern_synchronizer_create(b->worker, &h->reusable[state]));
        await(b, state);
    }
}

static void open_sharing(band *b) {
    open_copying(b);
    check(tern_writer_share(&b->halo_state->writer, b->worker, 0));
}

static void send_rows(band *b, size_t step) {
    struct halo_state *h = b->halo_state;
    const uint64_t id = tern_part_id(h->part);
    int now = state_before(step);
    tern_archive_options options = {.reusable = &h->reusable[now]};
    for (int side = 0; side < SIDES; side++) {
        if (!b->has[side])
            continue;
        check(tern_writer_reset(&h->writer));
        check(TERN_WRITE(&h->writer, &id, 1));
        check(TERN_WRITE(&h->writer, &step, 1));
        check(TERN_WRITE(&h->writer, outer_row(b, now, side), b->columns));
        check(tern_call_archive(b->worker, b->neighbour[side], &take_row_function, &h->writer,
                                &options));
    }
}

static void wait_for_halo(band *b, size_t step) {
    struct halo_state *h = b->halo_state;
    int now = state_before(step);
    check(tern_synchronizer_wait(b->worker, h->awaited[now]));
    await(b, now); /* waits for the rows after next, which no neighbour sends before it has this
                      rank's next rows */
    check(tern_synchronizer_wait(b->worker, h->reusable[1 - now]));
}

static void close_halo(band *b) {
    struct halo_state *h = b->halo_state;
    for (int state = 0; state < 2; state++) {
        check(tern_synchronizer_wait(b->worker, h->reusable[state]));
        for (int side = 0; side < SIDES; side++)
            tern_vector_destroy(&h->row[side][state]);
    }
    tern_writer_close(&h->writer);
    tern_part_destroy(h->part);
    free(h);
}

/* Each neighbour's rows of two steps are kept while those of the next two may come. Copied rows
 * also lie in the segment until the neighbour has got them: two steps' rows for each neighbour. */
const halo halo_call = {"call", 8, open_sharing, send_rows, wait_for_halo, close_halo};
const halo halo_copy = {"copy", 12, open_copying, send_rows, wait_for_halo, close_halo};
