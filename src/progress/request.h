#ifndef TERN_SRC_PROGRESS_REQUEST_H
#define TERN_SRC_PROGRESS_REQUEST_H

/*
 * The inside of requests (tern/request.h). The layer that starts an operation gives it a kind.
 */

#include "src/context.h"
#include "tern/request.h"

typedef struct tern_request_kind {
    /* Returns whether wait could return without waiting for another rank. Ends the request if that
     * needs no wait. Makes no progress. */
    bool (*look)(tern_worker *worker, tern_request *request);
    /* Waits for the operation, ends the request, and returns the outcome with its text. */
    tern_status (*wait)(tern_worker *worker, tern_request *request);
    /* Returns the outcome, which is an error, and sets its text. NULL: a general text is used. */
    tern_status (*explain)(const tern_request *request);
} tern_request_kind;

enum { TERN_REQUEST_UNDER_WAY = -1 };

static inline bool tern_request_is_under_way(const tern_request *request) {
    return request->outcome == TERN_REQUEST_UNDER_WAY;
}

/* TERN_ERR_ARGUMENT, in the name of function: the request cannot be started. */
tern_status tern_request_check(const tern_request *request, const char *function);

/* rank: the other rank of the operation. */
static inline void tern_request_begin(tern_request *request, const tern_request_kind *kind,
                                      uint32_t rank) {
    request->kind = kind;
    request->rank = rank;
    request->result = 0;
    request->told = 0;
    request->outcome = TERN_REQUEST_UNDER_WAY;
}

static inline tern_status tern_request_end(tern_request *request, tern_status outcome,
                                           uint64_t result) {
    request->result = outcome == TERN_OK ? result : 0;
    request->outcome = (int16_t)outcome;
    return outcome;
}

/* Returns the outcome of a complete request, and sets a text if it is an error. */
tern_status tern_request_tell(const tern_request *request);

#endif
