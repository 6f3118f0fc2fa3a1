#include "src/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/error.h"
#include "src/meeting.h"
#include "src/mpi.h"
#include "src/sibling.h"
#include "src/wait.h"

/*
 * After a death a collective may never end, nor can it be taken back: its request is leaked, and
 * MPI may still write what comes late. So each works in a room of its own, which is left to MPI
 * then.
 */

/* Who knows of a death begins none: it may be past the one in which others still wait, and their
 * messages would meet. */
static tern_status may_begin(const tern_context *context) {
    const uint32_t dead = tern_peers_dead(&context->peers);
    return dead == TERN_NOBODY ? TERN_OK : tern_peer_fail(dead);
}

/* Waits with progress. */
static tern_status finish(tern_context *context, tern_worker *worker, MPI_Request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status waited = TERN_OK;
    for (;;) {
        int done = 0;
        tern_status status = TERN_MPI(PMPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (status != TERN_OK || done)
            return status;
        if (waited != TERN_OK) /* a death, and not complete even after it was noticed */
            return waited;
        if (!context->peers.known && wait.began != 0)
            tern_siblings_look(context, tern_now() - wait.began);
        waited = tern_wait_round(context, &wait, worker != NULL && tern_progress_process(worker),
                                 context->peers.watch == NULL ? TERN_NOBODY : TERN_ANYBODY);
    }
}

tern_status tern_collective_duplicate(tern_context *context, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm *room = malloc(sizeof *room);
    if (room == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a communicator");
    tern_status status = TERN_MPI(PMPI_Comm_idup(comm, room, &request));
    if (status == TERN_OK)
        status = finish(context, NULL, &request);
    if (status == TERN_OK)
        context->comm = *room;
    if (request == MPI_REQUEST_NULL)
        free(room);
    return status;
}

/* For one that may begin. No memory: others may wait for this rank. */
static tern_status open_room(const tern_context *context, size_t bytes, char **room) {
    tern_status status = may_begin(context);
    if (status != TERN_OK)
        return status;
    *room = malloc(bytes + 1); /* of no bytes there may be none */
    return *room != NULL
               ? TERN_OK
               : tern_fail(TERN_ERR_MEMORY, "no memory for a collective of %zu bytes", bytes);
}

/* Ends what was begun in a room, whose first bytes are the result. */
static tern_status conclude(tern_context *context, tern_worker *worker, tern_status begun,
                            MPI_Request *request, void *room, void *result, size_t bytes) {
    tern_status status = begun == TERN_OK ? finish(context, worker, request) : begun;
    if (status == TERN_OK)
        memcpy(result, room, bytes);
    if (*request == MPI_REQUEST_NULL)
        free(room);
    return status;
}

tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered) {
    MPI_Request request = MPI_REQUEST_NULL;
    size_t all = bytes * context->size;
    char *room = NULL;
    tern_status status = open_room(context, all + bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room + all, mine, bytes);
    status = TERN_MPI(PMPI_Iallgather(room + all, (int)bytes, MPI_BYTE, room, (int)bytes, MPI_BYTE,
                                      context->comm, &request));
    return conclude(context, worker, status, &request, room, gathered, all);
}

/* Of numbers of 64 bits, in place. */
static tern_status reduce(tern_context *context, tern_worker *worker, void *values, int count,
                          MPI_Datatype type, MPI_Op op) {
    MPI_Request request = MPI_REQUEST_NULL;
    size_t bytes = (size_t)count * sizeof(uint64_t);
    char *room = NULL;
    tern_status status = open_room(context, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, values, bytes);
    status =
        TERN_MPI(PMPI_Iallreduce(MPI_IN_PLACE, room, count, type, op, context->comm, &request));
    return conclude(context, worker, status, &request, room, values, bytes);
}

tern_status tern_collective_broadcast(tern_context *context, tern_worker *worker, uint32_t root,
                                      void *data, size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    char *room = NULL;
    tern_status status = open_room(context, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, data, bytes);
    status = TERN_MPI(PMPI_Ibcast(room, (int)bytes, MPI_BYTE, (int)root, context->comm, &request));
    return conclude(context, worker, status, &request, room, data, bytes);
}

/* What a meeting sums up: the names, how many ranks have failed, and numbers of the caller's. */
enum { NAME, FAILED, NUMBERS, NUMBERS_MAX = TERN_MEETING_WORDS - NUMBERS };

enum { NAME_BYTES = 64, DETAIL_BYTES = 256 };

static const char *name_of(const tern_worker *worker, const char *otherwise) {
    return worker != NULL && worker->collective != NULL ? worker->collective : otherwise;
}

/* Bits 0-19 count ranks; the others are a hash. */
static uint64_t name_word(const char *name) {
    return (XXH3_64bits(name, strlen(name)) & ~TERN_MEETING_COUNT) | 1;
}

/* All ranks have found out that their names differ: says which this rank and the first other have.
 */
static tern_status tell_mismatch(tern_context *context, tern_worker *worker, const char *name) {
    char mine[NAME_BYTES] = "";
    snprintf(mine, sizeof mine, "%s", name);
    char *all = malloc(context->size * sizeof mine);
    tern_status status =
        all != NULL ? tern_collective_allgather(context, worker, mine, sizeof mine, all)
                    : tern_fail(TERN_ERR_MEMORY, "no memory for the names of %u collectives",
                                context->size);
    uint32_t other = 0;
    while (status == TERN_OK && other < context->size &&
           strncmp(mine, all + other * sizeof mine, sizeof mine) == 0)
        other++;
    if (status == TERN_OK)
        status = tern_fail(TERN_ERR_MISMATCH,
                           "rank %u is in %s and rank %u is in %.*s; all ranks call the same "
                           "collective functions in the same order",
                           context->rank, mine, other, (int)sizeof mine - 1,
                           other < context->size ? all + other * sizeof mine : "another one");
    free(all);
    return status;
}

/* words: as above, this rank's and then the sums. name: used if the worker is in no function with
 * one. That the sum of the names is size times this rank's own is true on every rank if all have
 * the same, and else, for hashes of 44 bits, practically on none. */
static tern_status meet(tern_context *context, tern_worker *worker, const char *name,
                        uint64_t words[TERN_MEETING_WORDS]) {
    name = name_of(worker, name);
    const uint64_t mine = words[NAME] = name_word(name);
    tern_status status = may_begin(context);
    if (status == TERN_OK)
        status = context->meeting != NULL && worker != NULL
                     ? tern_meeting_hold(context, worker, words)
                     : reduce(context, worker, words, TERN_MEETING_WORDS, MPI_UINT64_T, MPI_SUM);
    if (status != TERN_OK || words[NAME] == context->size * mine)
        return status;
    return tell_mismatch(context, worker, name);
}

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker) {
    uint64_t words[TERN_MEETING_WORDS] = {0};
    return meet(context, worker, "a barrier", words);
}

tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count) {
    tern_status status = TERN_OK;
    for (int at = 0; at < count && status == TERN_OK; at += NUMBERS_MAX) {
        uint64_t words[TERN_MEETING_WORDS] = {0};
        const size_t bytes =
            (size_t)(count - at < NUMBERS_MAX ? count - at : NUMBERS_MAX) * sizeof *values;
        memcpy(words + NUMBERS, values + at, bytes);
        status = meet(context, worker, "a sum", words);
        if (status == TERN_OK)
            memcpy(values + at, words + NUMBERS, bytes);
    }
    return status;
}

/* Some rank has failed: tells everybody of the first one. */
static tern_status tell_failure(tern_context *context, tern_worker *worker, tern_status status,
                                const char *what, const char *detail) {
    int64_t first = status == TERN_OK ? (int64_t)context->size : (int64_t)context->rank;
    tern_status code = reduce(context, worker, &first, 1, MPI_INT64_T, MPI_MIN);
    if (code != TERN_OK)
        return code;
    struct {
        int64_t status;
        char detail[DETAIL_BYTES];
    } told;
    memset(&told, 0, sizeof told);
    told.status = status;
    memcpy(told.detail, detail, sizeof told.detail);
    if (first >= (int64_t)context->size)
        return tern_fail(TERN_ERR_CORRUPT,
                         "%s: no rank has failed, and the ranks' meeting in rank 0's segment says "
                         "that one has; look for what writes there",
                         what);
    code = tern_collective_broadcast(context, worker, (uint32_t)first, &told, sizeof told);
    if (code != TERN_OK)
        return code;
    if (status != TERN_OK)
        return tern_fail(status, "%s", detail);
    told.detail[sizeof told.detail - 1] = 0;
    return tern_fail((tern_status)told.status, "%s failed on rank %d: %s", what, (int)first,
                     told.detail);
}

tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what) {
    char detail[DETAIL_BYTES] = "";
    if (status != TERN_OK)
        snprintf(detail, sizeof detail, "%s", tern_error_detail());
    uint64_t words[TERN_MEETING_WORDS] = {[FAILED] = status != TERN_OK};
    tern_status code = meet(context, worker, what, words);
    if (code == TERN_OK && words[FAILED] == 0)
        tern_error_clear(); /* a rank may have recovered from something on the way here */
    if (code != TERN_OK || words[FAILED] == 0)
        return code;
    return tell_failure(context, worker, status, what, detail);
}

tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what) {
    char *all = malloc(bytes * context->size);
    tern_status status = all != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory: %s", what);
    status = tern_collective_agree(context, worker, status, what);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, mine, bytes, all);
    for (uint32_t r = 1; status == TERN_OK && r < context->size; r++)
        if (memcmp(all, all + r * bytes, bytes) != 0)
            status = tern_fail(TERN_ERR_MISMATCH, "%s differ between rank 0 and rank %u", what, r);
    free(all);
    return status;
}
