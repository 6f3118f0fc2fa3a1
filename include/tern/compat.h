#ifndef TERN_COMPAT_H
#define TERN_COMPAT_H

/*
 * Names and arguments of tern 0.2 that are others now, for programs that were written for it.
 * Include this header behind or before the others, or give the compiler -include tern/compat.h. The
 * next minor version will remove this header. docs/upgrading.md lists what has changed, and the
 * headers of 0.2 that other headers have taken in.
 *
 * In C, a file with this header calls tern_put_notify, tern_get_notify, tern_hashtable_modify and
 * tern_map_modify with the arguments of 0.2 alone. In C++ it may use either form.
 */

#include "tern/hashtable.h"
#include "tern/map.h"
#include "tern/message.h"
#include "tern/notify.h"
#include "tern/progress.h"
#include "tern/stats.h"
#include "tern/team.h"

/* The old name of a call to all workers, and the old collectives, which are those of the team of
 * all ranks now. */
#define tern_broadcast tern_call_all
#define tern_notify_barrier(worker) tern_team_barrier(worker, NULL)
#define tern_notify_broadcast(worker, root, data, bytes)                                           \
    tern_team_broadcast(worker, NULL, root, data, bytes)
#define tern_notify_allreduce(worker, type, op, values, count)                                     \
    tern_team_allreduce(worker, NULL, type, op, values, count)
#define tern_spread(worker, root, data, bytes) tern_team_broadcast(worker, NULL, root, data, bytes)

/* The old names of modifiers of tables, and of what belongs to them. */
#define tern_modify_info tern_hashtable_modify_info
#define tern_modify_function tern_hashtable_modify_function
#define tern_modifier tern_hashtable_modifier
#define TERN_MODIFIER(name) TERN_HASHTABLE_MODIFIER(name)
#define TERN_MODIFIER_ANY_THREAD(name) TERN_HASHTABLE_MODIFIER_ANY_THREAD(name)
#define TERN_MODIFY_RESULT_MAX TERN_HASHTABLE_MODIFY_RESULT_MAX

/* The old names of the flags of paths, and of how the buffer of a call travels. The field `way` of
 * tern_call_options is `transfer`; it has no old name, since a macro with such a common name would
 * change other code. */
#define TERN_WAYS TERN_PATHS
#define tern_buffer_way tern_buffer_transfer

/* The old name of the most keys that a buffer gathers for one owner. */
#define TERN_BUFFER_KEYS TERN_HASHTABLE_BUFFER_KEYS

/* The old names of counters (tern_stats). */
#define ways_left connections_evicted
#define batches_sent frames_sent
#define batches_torn frames_torn
#define rings_loose message_channels
#define bells_rung doorbells_rung

/* The old name of an option, as a field of tern_config. The variable of the environment has the new
 * name alone, TERN_PACKED_MAX_REMOTE. */
#define packed_max_far packed_max_remote

/* The old name of the credit of calls by message. */
#define TERN_MESSAGE_WINDOW TERN_MESSAGE_CREDIT_BYTES

/* Not for applications: how a function with the arguments of 0.2 is defined. In C++ it is one more
 * function of the same name. In C it has another name, for which a macro stands below. */
#ifdef __cplusplus
#define TERN_INTERNAL_COMPAT(name) TERN_NODISCARD inline tern_status name
#else
#define TERN_INTERNAL_COMPAT(name)                                                                 \
    TERN_NODISCARD static inline __attribute__((unused)) tern_status tern_internal_compat_##name
#endif

/* A barrier of MPI in which the worker makes progress. */
TERN_NODISCARD static inline __attribute__((unused)) tern_status
tern_mpi_barrier(tern_worker *worker, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    int begun = MPI_SUCCESS;
    if (worker != NULL) {
        tern_mpi_lock();
        begun = MPI_Ibarrier(comm, &request);
        tern_mpi_unlock();
    }
    if (begun != MPI_SUCCESS)
        return TERN_ERR_MPI;
    return tern_mpi_wait(worker, &request, MPI_STATUS_IGNORE);
}

TERN_INTERNAL_COMPAT(tern_put_notify)
(tern_worker *worker, tern_worker_id target, tern_ptr to, const void *from, size_t bytes,
 uint64_t local_cid, const void *cid, size_t cid_bytes, unsigned flags) {
    const tern_notify_options options = {local_cid, cid, cid_bytes, flags};
    return tern_put_notify(worker, target, to, from, bytes, &options);
}

TERN_INTERNAL_COMPAT(tern_get_notify)
(tern_worker *worker, tern_worker_id owner, void *to, tern_ptr from, size_t bytes,
 uint64_t local_cid, const void *cid, size_t cid_bytes, unsigned flags) {
    const tern_notify_options options = {local_cid, cid, cid_bytes, flags};
    return tern_get_notify(worker, owner, to, from, bytes, &options);
}

TERN_INTERNAL_COMPAT(tern_hashtable_modify)
(tern_worker *worker, tern_hashtable *table, const void *key,
 const tern_hashtable_modifier *modifier, const void *argument, size_t bytes, tern_absent absent,
 tern_flags flags, void *result, size_t capacity, size_t *result_bytes, int *existed) {
    const tern_modify_options options = {argument, bytes, absent, result, capacity, result_bytes};
    return tern_hashtable_modify(worker, table, key, modifier, &options, flags, existed);
}

TERN_INTERNAL_COMPAT(tern_map_modify)
(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
 const tern_map_modifier *modifier, const void *argument, size_t bytes, tern_absent absent,
 tern_flags flags, void *result, size_t capacity, size_t *result_bytes, int *existed) {
    const tern_modify_options options = {argument, bytes, absent, result, capacity, result_bytes};
    return tern_map_modify(worker, map, key, key_bytes, modifier, &options, flags, existed);
}

#ifndef __cplusplus
#define tern_put_notify tern_internal_compat_tern_put_notify
#define tern_get_notify tern_internal_compat_tern_get_notify
#define tern_hashtable_modify tern_internal_compat_tern_hashtable_modify
#define tern_map_modify tern_internal_compat_tern_map_modify
#endif

#endif
