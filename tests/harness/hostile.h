/*
 * Records that a correct origin never writes.
 */

#ifndef TERN_TESTS_HARNESS_HOSTILE_H
#define TERN_TESTS_HARNESS_HOSTILE_H

#include "fixture.h"
#include "rma/ring/ring.h"
#include "rpc/state.h"

/* Commits a record of bytes bytes with any header; the next publish sends it. payload NULL: zeros.
 */
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
    if (out->direct)
        out->lane.first_header = header;
    else
        memcpy(out->lane.data + (at & out->lane.mask), &header, sizeof header);
    return TERN_OK;
}

/*
 * For tests that call functions which a file of tern keeps to itself, with what no rank sends.
 */

/* Returns a function as the context knows it. */
static inline tern_function function_of(const tern_context *context, const char *name) {
    const tern_rpc *rpc = tern_rpc_of(context);
    tern_function function = {name, NULL, NULL, 0};
    for (uint32_t i = 0; i < rpc->count; i++)
        for (uint32_t id = 1; strcmp(rpc->name[i], name) == 0 && id < rpc->ids; id++)
            if (rpc->header[id] == tern_record_header(TERN_RECORD_CALL, i, 0)) {
                function.handler = rpc->function[i].handler;
                function.id = id;
            }
    CU_ASSERT_PTR_NOT_NULL_FATAL(function.handler);
    return function;
}

#endif
