#ifndef TERN_TRANSFER_H
#define TERN_TRANSFER_H

/*
 * One-sided transfer: put, get, atomics, completion and order.
 *
 * Completion. tern_put returns when the source may be reused (tern/circular.h has streams of puts
 * that need not wait for that). tern_flush returns when the puts and atomics to a target are
 * complete there: visible to the target, and to every rank that is told of them afterwards.
 * tern_get returns with the data.
 *
 * Departure. Calls and notified transfers may wait in queues of the worker: for the first ring of a
 * pair, for room in a ring, or because a policy gathers them. Only the worker's own progress sends
 * them, so a program must flush before it waits outside tern. docs/calls.md has a table that says
 * when each kind has left.
 *
 * Order. Operations of one worker on one target are ordered like this:
 *
 *     put -> put, put -> atomic, put -> call    only by tern_fence (or tern_flush) between them
 *     atomic -> atomic on the same word         always
 *     get -> anything                           always: when a get returns, it is done
 *
 * Single-copy atomicity. Puts and gets of 1, 2, 4 and 8 bytes, naturally aligned on both sides, are
 * never torn over shm and p2p. Over rma they may be.
 *
 * Every access is checked against the segment or the region; if it lies outside, the status is
 * TERN_ERR_RANGE and no memory is touched. bytes may be 0. Handlers may use all these functions
 * except those that wait for another rank; over shm none waits.
 *
 * Over shm an operation on a segment makes no system call and no MPI call, and its target need not
 * take part; registered memory costs what tern/registration.h says. Over rma this depends on MPI:
 * with MPICH the target must be inside MPI now and then. MPI-3 has no non-blocking flush: over rma
 * no time limit can end tern_flush. The death of its target ends it if there were calls or notified
 * puts to the target since the last flush; otherwise, with MPICH, it mostly does not.
 *
 * When a put or get returns TERN_ERR_PEER tern has given it up. Over rma and p2p MPI may still read
 * or write its local memory, which must not be freed or reused until MPI_Finalize. Over ofi the
 * network may do so until the context is destroyed. Over verbs the memory is free, unless the
 * network's card has failed.
 *
 * Over ofi and verbs the network may lose a put after tern_put has returned, and also a put whose
 * rank is alive. The next tern_flush, tern_flush_all or tern_barrier of the worker then returns
 * TERN_ERR_NETWORK, once for each rank.
 */

#include <string.h>

#include "tern/memory.h"
#include "tern/request.h"
#include "tern/detail/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not for applications: the address if load/store reaches [p, p + bytes) and p's rank is below
 * ranks, else NULL. */
TERN_INLINE char *tern_internal_address_below(const tern_worker_view *view, uint32_t ranks,
                                              tern_ptr p, uint64_t bytes) {
    if (__builtin_expect(p.rank >= ranks || p.segment != 0, 0))
        return NULL;
    const tern_reach *reach = &view->reach[p.rank];
    uint64_t at = p.offset - TERN_PTR_ORIGIN;
    if (__builtin_expect(bytes > reach->bytes || at > reach->bytes - bytes, 0))
        return NULL;
    return reach->base + at;
}

/* Not for applications: the address if load/store reaches [p, p + bytes), else NULL. */
TERN_INLINE char *tern_internal_reach_address(const tern_worker *worker, tern_ptr p,
                                              uint64_t bytes) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    return tern_internal_address_below(view, view->ranks, p, bytes);
}

/* Not for applications: the same for the inlined operations. Returns NULL also in a profiled
 * context, whose transfers the library makes and counts. */
TERN_INLINE char *tern_internal_unprofiled_address(const tern_worker *worker, tern_ptr p,
                                                   uint64_t bytes) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    return tern_internal_address_below(view, view->inlined, p, bytes);
}

/* Not for applications: the inlined operations call these if load/store does not reach the memory.
 */
TERN_NODISCARD TERN_API tern_status tern_internal_put_remote(tern_worker *worker, tern_ptr to,
                                                             const void *from, size_t bytes);
TERN_NODISCARD TERN_API tern_status tern_internal_get_remote(tern_worker *worker, void *to,
                                                             tern_ptr from, size_t bytes);
TERN_API void tern_internal_copy(void *to, const void *from, size_t bytes);

/* Copies bytes from local memory to a global address. On return the source may be reused.
 * TERN_ERR_RANGE, TERN_ERR_PEER, TERN_ERR_MPI. For registered memory (tern/registration.h) also, in
 * a handler: TERN_ERR_AGAIN if it is memory of another node that this rank uses for the first time;
 * TERN_ERR_STATE if the owner's progress would have to copy it. Outside handlers: TERN_ERR_AGAIN if
 * the owner's progress has to copy it and all TERN_CALL_REQUESTS of this worker are in use. */
TERN_NODISCARD TERN_INLINE tern_status tern_put(tern_worker *worker, tern_ptr to, const void *from,
                                                size_t bytes) {
    char *address = tern_internal_unprofiled_address(worker, to, bytes);
    if (__builtin_expect(address == NULL, 0))
        return tern_internal_put_remote(worker, to, from, bytes);
    if (__builtin_constant_p(bytes) && bytes == 8 && ((uintptr_t)address & 7) == 0) {
        uint64_t word;
        memcpy(&word, from, 8);
        /* R10 */
        __atomic_store_n((uint64_t *)(void *)address, word, __ATOMIC_RELAXED);
    } else {
        tern_internal_copy(address, from, bytes);
    }
    return TERN_OK;
}

/* Copies bytes from a global address to local memory, and blocks until they are there. Returns the
 * same errors as tern_put. */
TERN_NODISCARD TERN_INLINE tern_status tern_get(tern_worker *worker, void *to, tern_ptr from,
                                                size_t bytes) {
    const char *address = tern_internal_unprofiled_address(worker, from, bytes);
    if (__builtin_expect(address == NULL, 0))
        return tern_internal_get_remote(worker, to, from, bytes);
    if (__builtin_constant_p(bytes) && bytes == 8 && ((uintptr_t)address & 7) == 0) {
        /* R10 */
        uint64_t word = __atomic_load_n((const uint64_t *)(const void *)address, __ATOMIC_RELAXED);
        memcpy(to, &word, 8);
    } else {
        tern_internal_copy(to, address, bytes);
    }
    return TERN_OK;
}

/* Starts a put and returns (tern/request.h). The program must not change the local memory until the
 * request is complete, which it is when tern_put would return. Like tern_put it may wait for the
 * rkey of registered memory. It returns the same errors; TERN_ERR_ARGUMENT: the request is under
 * way. */
TERN_NODISCARD TERN_API tern_status tern_put_start(tern_worker *worker, tern_ptr to,
                                                   const void *from, size_t bytes,
                                                   tern_request *request);

/* Starts a get and returns (tern/request.h). The program must not touch the local memory until the
 * request is complete. Otherwise as tern_put_start. */
TERN_NODISCARD TERN_API tern_status tern_get_start(tern_worker *worker, void *to, tern_ptr from,
                                                   size_t bytes, tern_request *request);

/* Not for applications. */
TERN_NODISCARD TERN_API tern_status tern_internal_flush_remote(tern_worker *worker, uint32_t rank);

/* Waits, making progress, until everything that this worker has queued for rank has left: calls,
 * notified puts and gets, and messages of rendezvous, also calls that tern_call_policy and
 * tern_call_cork hold back. Queued calls leave when the target makes progress. Notified operations
 * whose ring is full leave when the target probes; tern_flush does not wait for those to this
 * worker itself. Then it waits until every put and atomic of this worker to rank is complete there.
 * The program must have waited for non-blocking puts. Over shm, with nothing queued, this is a
 * sequentially consistent fence; in a handler, over shm, it is only the fence. TERN_ERR_ARGUMENT;
 * TERN_ERR_PEER: also if queued operations were given up because rank died meanwhile;
 * TERN_ERR_NETWORK: a put of this worker to rank was lost since the last flush; TERN_ERR_STATE, in
 * a handler: it would have to wait. */
TERN_NODISCARD TERN_INLINE tern_status tern_flush(tern_worker *worker, uint32_t rank) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    if (__builtin_expect(rank >= view->inlined || view->reach[rank].bytes == 0 || view->unsent != 0,
                         0))
        return tern_internal_flush_remote(worker, rank);
    /* R3: tern_flush */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return TERN_OK;
}

/* Flushes as tern_flush does, for every rank. */
TERN_NODISCARD TERN_API tern_status tern_flush_all(tern_worker *worker);

/* Orders this worker's earlier puts and atomics to rank before its later puts, atomics and calls
 * there. Cheaper than a flush: over shm and p2p only a compiler barrier and a release fence. */
TERN_NODISCARD TERN_API tern_status tern_fence(tern_worker *worker, uint32_t rank);

/* Waits until all ranks have called it, and ends a phase. Collective over the ranks of the context,
 * one worker of each; blocks, making progress. Every put and atomic of these workers is complete at
 * its target before any rank returns. While it waits, the worker also makes progress for the
 * workers of its process that no thread has adopted, which late ranks may have called.
 * TERN_ERR_PEER when a rank died; TERN_ERR_STATE in a handler. TERN_ERR_MISMATCH: another rank has
 * called another collective function; the detail has both names, every rank gets the error, nothing
 * was done, and the next collective works. This is true of all collective functions of a context. A
 * rank that has returned may make calls, and a rank that is still inside runs them before it
 * returns; tern_phase (tern/call.h) holds them back. */
TERN_NODISCARD TERN_API tern_status tern_barrier(tern_worker *worker);

/*
 * Atomics on naturally aligned words of 4 or 8 bytes. [out] old: the value before; may be NULL.
 * Each returns when it is done. The tern_domain of the memory says which ranks may use them.
 * TERN_ERR_RANGE; TERN_ERR_ARGUMENT: not aligned; TERN_ERR_UNSUPPORTED: TERN_DOMAIN_NODE memory of
 * another node. Order: sequentially consistent over shm; elsewhere they are atomic, and ordered per
 * word.
 */
typedef enum tern_atomic_op {
    TERN_ATOMIC_ADD,
    TERN_ATOMIC_AND,
    TERN_ATOMIC_OR,
    TERN_ATOMIC_XOR,
    TERN_ATOMIC_SWAP,
    TERN_ATOMIC_CAS,
    TERN_ATOMIC_LOAD,
    TERN_ATOMIC_STORE
} tern_atomic_op;

/* Not for applications: any atomic, of width 4 or 8; operand is what to add, store, ... */
TERN_NODISCARD TERN_API tern_status tern_internal_atomic_remote(tern_worker *worker, tern_ptr p,
                                                                tern_atomic_op op, unsigned width,
                                                                uint64_t operand, uint64_t expected,
                                                                uint64_t *old);

/* Starts an atomic on a word of 8 bytes and returns (tern/request.h). operand: the number to add or
 * store, or for TERN_ATOMIC_CAS the number that replaces expected. [out] old: the word before; must
 * not be NULL and must stay valid until the request is complete. The atomic is done when this
 * returns if load/store reaches the word, and over rma if MPI's own atomics serve it. In a handler
 * only those atomics are allowed, others return TERN_ERR_STATE. */
TERN_NODISCARD TERN_API tern_status tern_atomic_start(tern_worker *worker, tern_ptr p,
                                                      tern_atomic_op op, uint64_t operand,
                                                      uint64_t expected, uint64_t *old,
                                                      tern_request *request);

/* Not for applications: returns address (the word's, or NULL) if the processor's atomics serve the
 * word, else NULL. */
TERN_INLINE void *tern_internal_direct_word(const tern_worker *worker, tern_ptr p, unsigned width,
                                            char *address) {
    const tern_worker_view *view = (const tern_worker_view *)(const void *)worker;
    int direct = p.domain < 32 && ((view->direct_domains >> p.domain) & 1) != 0;
    return direct && ((uintptr_t)address & (width - 1)) == 0 ? address : NULL;
}

/* Not for applications: the word's address if the processor's atomics serve it, else NULL. */
TERN_INLINE void *tern_internal_atomic_address(const tern_worker *worker, tern_ptr p,
                                               unsigned width) {
    return tern_internal_direct_word(worker, p, width,
                                     tern_internal_reach_address(worker, p, width));
}

/* Not for applications: the same for the inlined atomics; NULL also in a profiled context. */
TERN_INLINE void *tern_internal_unprofiled_word(const tern_worker *worker, tern_ptr p,
                                                unsigned width) {
    return tern_internal_direct_word(worker, p, width,
                                     tern_internal_unprofiled_address(worker, p, width));
}

/* Not for applications: an atomic with an operand. */
#define TERN_ATOMIC_FETCH(name, op, builtin, type, suffix)                                         \
    TERN_NODISCARD TERN_INLINE tern_status tern_atomic_##name##suffix(                             \
        tern_worker *worker, tern_ptr p, type operand, type *old) {                                \
        type *word = (type *)tern_internal_unprofiled_word(worker, p, sizeof(type));               \
        if (__builtin_expect(word == NULL, 0)) {                                                   \
            uint64_t before = 0;                                                                   \
            tern_status status =                                                                   \
                tern_internal_atomic_remote(worker, p, op, sizeof(type), operand, 0, &before);     \
            if (status == TERN_OK && old != NULL)                                                  \
                *old = (type)before;                                                               \
            return status;                                                                         \
        }                                                                                          \
        type before = builtin(word, operand, __ATOMIC_SEQ_CST);                                    \
        if (old != NULL)                                                                           \
            *old = before;                                                                         \
        return TERN_OK;                                                                            \
    }

/* Not for applications: all atomics on words of a type. */
#define TERN_ATOMICS(type, suffix)                                                                 \
    TERN_ATOMIC_FETCH(fetch_add, TERN_ATOMIC_ADD, __atomic_fetch_add, type, suffix)                \
    TERN_ATOMIC_FETCH(fetch_and, TERN_ATOMIC_AND, __atomic_fetch_and, type, suffix)                \
    TERN_ATOMIC_FETCH(fetch_or, TERN_ATOMIC_OR, __atomic_fetch_or, type, suffix)                   \
    TERN_ATOMIC_FETCH(fetch_xor, TERN_ATOMIC_XOR, __atomic_fetch_xor, type, suffix)                \
    TERN_ATOMIC_FETCH(swap, TERN_ATOMIC_SWAP, __atomic_exchange_n, type, suffix)                   \
    /* Stores desired if the word holds expected; old tells (old == expected: it was stored). */   \
    TERN_NODISCARD TERN_INLINE tern_status tern_atomic_cas##suffix(                                \
        tern_worker *worker, tern_ptr p, type expected, type desired, type *old) {                 \
        type *word = (type *)tern_internal_unprofiled_word(worker, p, sizeof(type));               \
        if (__builtin_expect(word == NULL, 0)) {                                                   \
            uint64_t before = 0;                                                                   \
            tern_status status = tern_internal_atomic_remote(                                      \
                worker, p, TERN_ATOMIC_CAS, sizeof(type), desired, expected, &before);             \
            if (status == TERN_OK && old != NULL)                                                  \
                *old = (type)before;                                                               \
            return status;                                                                         \
        }                                                                                          \
        /* R7 */                                                                                   \
        __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST,                 \
                                    __ATOMIC_SEQ_CST);                                             \
        if (old != NULL)                                                                           \
            *old = expected;                                                                       \
        return TERN_OK;                                                                            \
    }                                                                                              \
    TERN_NODISCARD TERN_INLINE tern_status tern_atomic_load##suffix(tern_worker *worker,           \
                                                                    tern_ptr p, type *value) {     \
        type *word = (type *)tern_internal_unprofiled_word(worker, p, sizeof(type));               \
        if (__builtin_expect(word == NULL, 0)) {                                                   \
            uint64_t now = 0;                                                                      \
            tern_status status = tern_internal_atomic_remote(worker, p, TERN_ATOMIC_LOAD,          \
                                                             sizeof(type), 0, 0, &now);            \
            if (status == TERN_OK)                                                                 \
                *value = (type)now;                                                                \
            return status;                                                                         \
        }                                                                                          \
        /* R7 */                                                                                   \
        *value = __atomic_load_n(word, __ATOMIC_SEQ_CST);                                          \
        return TERN_OK;                                                                            \
    }                                                                                              \
    TERN_NODISCARD TERN_INLINE tern_status tern_atomic_store##suffix(tern_worker *worker,          \
                                                                     tern_ptr p, type value) {     \
        type *word = (type *)tern_internal_unprofiled_word(worker, p, sizeof(type));               \
        if (__builtin_expect(word == NULL, 0))                                                     \
            return tern_internal_atomic_remote(worker, p, TERN_ATOMIC_STORE, sizeof(type), value,  \
                                               0, NULL);                                           \
        /* R7 */                                                                                   \
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);                                           \
        return TERN_OK;                                                                            \
    }

/* The atomics, each on uint64_t, and with the suffix 32 on uint32_t. tern_atomic_fetch_add(worker,
 * p, operand, &old) and so on for fetch_and, fetch_or, fetch_xor, swap; tern_atomic_cas(worker, p,
 * expected, desired, &old); tern_atomic_load(worker, p, &value); tern_atomic_store(worker, p,
 * value). */
TERN_ATOMICS(uint64_t, )
TERN_ATOMICS(uint32_t, 32)

#undef TERN_ATOMICS
#undef TERN_ATOMIC_FETCH

#ifdef __cplusplus
}
#endif

#endif
