/*
 * Records that a correct origin never writes.
 */

#ifndef TERN_TESTS_HARNESS_HOSTILE_H
#define TERN_TESTS_HARNESS_HOSTILE_H

#include "fixture.h"
#include "rma/ring/ring.h"

/* Commits a record of bytes whose header says something else, which goes out with the next publish.
 * payload NULL: zeros. */
static inline tern_status inject_record(tern_worker *worker, tern_out *out, uint64_t header,
                                        const void *payload, size_t bytes) {
    void *room = NULL;
    tern_status status = tern_ring_reserve(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memset(room, 0, bytes);
    if (payload != NULL)
        memcpy(room, payload, bytes);
    uint64_t at = out->lane.write;
    tern_ring_commit(out, tern_record_header(TERN_RECORD_CALL, 1, bytes));
    if (out->near)
        out->lane.first_header = header;
    else
        memcpy(out->lane.data + (at & out->lane.mask), &header, sizeof header);
    return TERN_OK;
}

#endif
