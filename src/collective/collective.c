#include "src/collective/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "src/collective/collective_buffer.h"
#include "src/collective/meeting.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

enum { NAME_BYTES = 64, DETAIL_BYTES = 256 };

/* The status and detail of this rank's part. */
typedef struct failure {
    int64_t status;
    char detail[DETAIL_BYTES];
} failure;

static const failure no_failure = {.status = TERN_OK};

_Static_assert(TERN_COLLECTIVE_BUFFER_RESERVE >= sizeof(failure),
               "a rank without memory can tell why");
_Static_assert(TERN_COLLECTIVE_BUFFER_RESERVE >= TERN_MEETING_WORDS * sizeof(uint64_t), "and meet");

enum { BUFFER_USUAL = 64 << 10, PIECE_LEAST = 8 };

enum { TAG_PASS = 5 }; /* a tag of context->comm; rma/transport uses the others */

tern_status tern_collective_may_begin(const tern_context *context) {
    const uint32_t dead = tern_peers_dead(&context->peers);
    if (dead != TERN_NOBODY)
        return tern_peer_fail(dead);
    const uint32_t lost = tern_lost_any(context);
    return lost == TERN_NOBODY ? TERN_OK
                               : tern_lost_check((tern_context *)(uintptr_t)context, lost);
}

/* Waits for a collective of MPI, making progress. */
static tern_status collective_finish(tern_context *context, tern_worker *worker,
                                     MPI_Request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status waited = TERN_OK;
    for (;;) {
        int done = 0;
        tern_status status =
            TERN_MPI_TO(context, TERN_ANYBODY, PMPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (status != TERN_OK || done)
            return status;
        if (waited != TERN_OK) /* a rank has died, and one more test has not found the collective
                                  complete */
            return waited;
        if (context->meanwhile.run != NULL)
            context->meanwhile.run(context->meanwhile.argument);
        if (!context->peers.known && wait.began != 0)
            tern_siblings_look(context, tern_now() - wait.began);
        const size_t found =
            worker != NULL ? tern_progress_process(worker) : tern_contexts_round(NULL);
        waited = tern_wait_round(context, &wait, found,
                                 context->peers.count == 0 ? TERN_NOBODY : TERN_ANYBODY);
    }
}

/* Checks that a collective that needs so many bytes of the collective buffer may begin. */
static tern_status buffer_check(const tern_context *context, size_t bytes) {
    tern_status status = tern_collective_may_begin(context);
    if (status != TERN_OK)
        return status;
    if (context->collective_buffer == NULL)
        return tern_fail(TERN_ERR_MPI, "MPI has not ended an earlier collective of this context");
    if (bytes > context->collective_buffer_bytes)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a collective of %zu bytes", bytes);
    return TERN_OK;
}

/* Waits for the collective that uses the collective buffer. If it does not end, leaves the
 * buffer to MPI. */
static tern_status collective_conclude(tern_context *context, tern_worker *worker,
                                       tern_status begun, MPI_Request *request) {
    const tern_status status =
        begun == TERN_OK ? collective_finish(context, worker, request) : begun;
    if (*request != MPI_REQUEST_NULL)
        tern_collective_buffer_leave(context);
    return status;
}

tern_status tern_collective_open(tern_context *context, tern_status before) {
    const size_t least = ((size_t)context->size + 1) * NAME_BYTES;
    tern_status status =
        tern_collective_buffer_open(context, least > BUFFER_USUAL ? least : BUFFER_USUAL);
    if (context->collective_buffer == NULL) /* then this rank cannot even tell the others */
        return status;
    return tern_collective_agree(context, NULL, before != TERN_OK ? before : status,
                                 "tern_context_create");
}

tern_status tern_collective_duplicate(tern_context *context) {
    MPI_Request request = MPI_REQUEST_NULL;
    tern_status status = buffer_check(context, sizeof(MPI_Comm));
    if (status != TERN_OK)
        return status;
    MPI_Comm *copy = (void *)context->collective_buffer;
    status = TERN_MPI_TO(context, TERN_ANYBODY, PMPI_Comm_idup(context->comm, copy, &request));
    status = collective_conclude(context, NULL, status, &request);
    if (status == TERN_OK)
        context->comm = *copy;
    return status;
}

/* Gathers bytes of each rank; the result is at the beginning of the collective buffer. */
static tern_status collective_gather(tern_context *context, tern_worker *worker, const void *mine,
                                     size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    const size_t all = bytes * context->size;
    tern_status status = buffer_check(context, all + bytes);
    if (status != TERN_OK)
        return status;
    char *buffer = context->collective_buffer;
    memcpy(buffer + all, mine, bytes);
    status = TERN_MPI_TO(context, TERN_ANYBODY,
                         PMPI_Iallgather(buffer + all, (int)bytes, MPI_BYTE, buffer, (int)bytes,
                                         MPI_BYTE, context->comm, &request));
    return collective_conclude(context, worker, status, &request);
}

/* Gathers in pieces that fit the usual part of the collective buffer, so that in a large job the
 * rest of the buffer stays untouched. */
tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered) {
    const size_t usual = BUFFER_USUAL / ((size_t)context->size + 1);
    const size_t most = usual > PIECE_LEAST ? usual : PIECE_LEAST;
    tern_status status = TERN_OK;
    for (size_t at = 0; at < bytes && status == TERN_OK; at += most) {
        const size_t piece = bytes - at < most ? bytes - at : most;
        status = collective_gather(context, worker, (const char *)mine + at, piece);
        for (uint32_t r = 0; r < context->size && status == TERN_OK; r++)
            memcpy((char *)gathered + r * bytes + at, context->collective_buffer + r * piece,
                   piece);
    }
    return status;
}

tern_status tern_collective_gather(tern_context *context, const void *mine, size_t bytes,
                                   void *gathered) {
    MPI_Request request = MPI_REQUEST_NULL;
    tern_status status = tern_collective_may_begin(context);
    if (status == TERN_OK)
        status = TERN_MPI_TO(context, TERN_ANYBODY,
                             PMPI_Igather(mine, (int)bytes, MPI_BYTE, gathered, (int)bytes,
                                          MPI_BYTE, 0, context->comm, &request));
    return status == TERN_OK ? collective_finish(context, NULL, &request) : status;
}

/* Reduces numbers of 64 bits, in place. */
static tern_status collective_reduce(tern_context *context, tern_worker *worker, void *values,
                                     int count, MPI_Datatype type, MPI_Op op) {
    MPI_Request request = MPI_REQUEST_NULL;
    size_t bytes = (size_t)count * sizeof(uint64_t);
    tern_status status = buffer_check(context, bytes);
    if (status != TERN_OK)
        return status;
    memcpy(context->collective_buffer, values, bytes);
    status = TERN_MPI_TO(context, TERN_ANYBODY,
                         PMPI_Iallreduce(MPI_IN_PLACE, context->collective_buffer, count, type, op,
                                         context->comm, &request));
    status = collective_conclude(context, worker, status, &request);
    if (status == TERN_OK)
        memcpy(values, context->collective_buffer, bytes);
    return status;
}

static tern_status collective_spread(tern_context *context, tern_worker *worker, uint32_t root,
                                     void *data, size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    tern_status status = buffer_check(context, bytes);
    if (status != TERN_OK)
        return status;
    memcpy(context->collective_buffer, data, bytes);
    status = TERN_MPI_TO(context, TERN_ANYBODY,
                         PMPI_Ibcast(context->collective_buffer, (int)bytes, MPI_BYTE, (int)root,
                                     context->comm, &request));
    status = collective_conclude(context, worker, status, &request);
    if (status == TERN_OK)
        memcpy(data, context->collective_buffer, bytes);
    return status;
}

tern_status tern_collective_broadcast(tern_context *context, tern_worker *worker, uint32_t root,
                                      void *data, size_t bytes) {
    tern_status status = TERN_OK;
    for (size_t at = 0; at < bytes && status == TERN_OK; at += BUFFER_USUAL)
        status = collective_spread(context, worker, root, (char *)data + at,
                                   bytes - at < BUFFER_USUAL ? bytes - at : BUFFER_USUAL);
    return status;
}

tern_status tern_collective_pass(tern_context *context, uint32_t from, uint32_t to, void *data,
                                 size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    tern_status status = buffer_check(context, bytes);
    if (status != TERN_OK)
        return status;
    memcpy(context->collective_buffer, data, bytes);
    if (context->rank == from)
        status = TERN_MPI_TO(context, to,
                             PMPI_Isend(context->collective_buffer, (int)bytes, MPI_BYTE, (int)to,
                                        TAG_PASS, context->comm, &request));
    else
        status = TERN_MPI_TO(context, from,
                             PMPI_Irecv(context->collective_buffer, (int)bytes, MPI_BYTE, (int)from,
                                        TAG_PASS, context->comm, &request));
    status = collective_conclude(context, NULL, status, &request);
    if (status == TERN_OK)
        memcpy(data, context->collective_buffer, bytes);
    return status;
}

tern_status tern_collective_claim(tern_worker *worker) {
    tern_context *context = worker->context;
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    for (tern_worker *other = NULL; status == TERN_OK; other = NULL) {
        /* R6: tern_collective_yield */
        if (atomic_compare_exchange_strong_explicit(&context->meets, &other, worker,
                                                    memory_order_acquire, memory_order_relaxed) ||
            other == worker)
            return TERN_OK;
        status = tern_wait_round(context, &wait, tern_progress_process(worker), TERN_ANYBODY);
    }
    return status;
}

void tern_collective_yield(tern_worker *worker) {
    _Atomic(tern_worker *) *meets = &worker->context->meets;
    /* R6: tern_collective_claim; the load is of this thread's own store, or another worker's */
    if (atomic_load_explicit(meets, memory_order_relaxed) == worker)
        atomic_store_explicit(meets, NULL, memory_order_release);
}

void tern_collective_leave(tern_worker *const *entered) {
    if (*entered == NULL)
        return;
    (*entered)->collective = NULL;
    if (!(*entered)->in_progress) /* in a handler the collective is refused */
        tern_collective_yield(*entered);
}

/* The words that a meeting sums up: the names, how many ranks have failed, and numbers of the
 * caller. */
enum { NAME, FAILED, NUMBERS, NUMBERS_MAX = TERN_MEETING_WORDS - NUMBERS };

static const char *collective_name_of(const tern_worker *worker, const char *otherwise) {
    return worker != NULL && worker->collective != NULL ? worker->collective : otherwise;
}

/* Bits 0-19 count ranks; the others are a hash of the name. */
static uint64_t name_word(const char *name) {
    return (XXH3_64bits(name, strlen(name)) & ~TERN_MEETING_COUNT) | 1;
}

/* Called when all ranks have found out that their words differ: they tell each other which
 * functions they are in. TERN_ERR_MISMATCH, on every rank: these differ. */
static tern_status collective_compare(tern_context *context, tern_worker *worker,
                                      const char *name) {
    char mine[NAME_BYTES] = "";
    snprintf(mine, sizeof mine, "%s", name);
    const tern_status status = collective_gather(context, worker, mine, sizeof mine);
    if (status != TERN_OK)
        return status;
    const char *all = (const void *)context->collective_buffer;
    uint32_t other = 0;
    while (other < context->size &&
           strncmp(all + (size_t)other * NAME_BYTES, mine, NAME_BYTES) == 0)
        other++;
    if (other == context->size)
        return TERN_OK;
    return tern_fail(TERN_ERR_MISMATCH,
                     "rank %u is in %.*s and rank %u is in %.*s; all ranks call the same "
                     "collective functions in the same order",
                     context->rank, NAME_BYTES - 1, mine, other, NAME_BYTES - 1,
                     all + (size_t)other * NAME_BYTES);
}

/* Finds the first rank that has failed, if any, and gives every rank its status and detail. */
static tern_status collective_tell_failure(tern_context *context, tern_worker *worker,
                                           const failure *mine, const char *what) {
    int64_t first = mine->status == TERN_OK ? (int64_t)context->size : (int64_t)context->rank;
    tern_status code = collective_reduce(context, worker, &first, 1, MPI_INT64_T, MPI_MIN);
    if (code != TERN_OK || first == context->size)
        return code;
    failure told = *mine;
    code = collective_spread(context, worker, (uint32_t)first, &told, sizeof told);
    if (code != TERN_OK)
        return code;
    if (mine->status != TERN_OK)
        return tern_fail((tern_status)mine->status, "%s", mine->detail);
    told.detail[sizeof told.detail - 1] = 0;
    return tern_fail((tern_status)told.status, "%s failed on rank %d: %s", what, (int)first,
                     told.detail);
}

/* sums: the words of this rank, replaced by the sums over all ranks. */
static tern_status hold_meeting(tern_context *context, tern_worker *worker,
                                uint64_t sums[TERN_MEETING_WORDS]) {
    tern_status status = tern_collective_may_begin(context);
    if (status != TERN_OK)
        return status;
    status =
        context->meeting != NULL && worker != NULL
            ? tern_meeting_hold(context, worker, sums)
            : collective_reduce(context, worker, sums, TERN_MEETING_WORDS, MPI_UINT64_T, MPI_SUM);
    if (status == TERN_OK)
        /* R4; the meeting has ordered what it stands for */
        atomic_fetch_add_explicit(&context->meetings, 1, memory_order_relaxed);
    return status;
}

/* words: the caller's numbers, replaced by their sums. what: the name to use if the worker is in no
 * named function. If all ranks have the same name, the sum of the name words is size times this
 * rank's own, on every rank. If they have different names, with hashes of 44 bits this is
 * practically true on no rank. */
static tern_status collective_meet(tern_context *context, tern_worker *worker, const char *what,
                                   const failure *mine, uint64_t words[TERN_MEETING_WORDS]) {
    const char *name = collective_name_of(worker, what);
    const uint64_t word = name_word(name);
    words[NAME] = word;
    words[FAILED] = mine->status != TERN_OK;
    tern_status status = worker != NULL ? tern_collective_claim(worker) : TERN_OK;
    if (status == TERN_OK)
        status = hold_meeting(context, worker, words);
    if (status == TERN_OK && words[NAME] != context->size * word)
        status = collective_compare(context, worker, name);
    if (status == TERN_OK && words[FAILED] > 0)
        status = collective_tell_failure(context, worker, mine, what);
    if (worker != NULL && worker->collective == NULL)
        tern_collective_yield(worker);
    return status;
}

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker) {
    uint64_t words[TERN_MEETING_WORDS] = {0};
    return collective_meet(context, worker, "a barrier", &no_failure, words);
}

tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count) {
    tern_status status = TERN_OK;
    for (int at = 0; at < count && status == TERN_OK; at += NUMBERS_MAX) {
        uint64_t words[TERN_MEETING_WORDS] = {0};
        const size_t bytes =
            (size_t)(count - at < NUMBERS_MAX ? count - at : NUMBERS_MAX) * sizeof *values;
        memcpy(words + NUMBERS, values + at, bytes);
        status = collective_meet(context, worker, "a sum", &no_failure, words);
        if (status == TERN_OK)
            memcpy(values + at, words + NUMBERS, bytes);
    }
    return status;
}

tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what) {
    failure mine = {.status = status};
    if (status != TERN_OK)
        snprintf(mine.detail, sizeof mine.detail, "%s", tern_error_detail());
    uint64_t words[TERN_MEETING_WORDS] = {0};
    status = collective_meet(context, worker, what, &mine, words);
    if (status == TERN_OK)
        tern_error_clear(); /* the text of a failure from which this rank has recovered */
    return status;
}
