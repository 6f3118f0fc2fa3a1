#include "src/context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/collective/collective_buffer.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/collective/object.h"
#include "src/mpi/pmpi.h"
#include "src/profile/profile.h"
#include "src/progress/progress.h"
#include "src/topology.h"
#include "src/peers/peers.h"
#include "src/progress/wait.h"
#include "tern/message.h"

/* Gives the context a duplicate of comm whose errors return; the application's communicator and its
 * error handler stay as they are. Before that the ranks tell each other, over the application's
 * communicator, which processes they are. If a rank never comes the creation fails in that step. It
 * must not fail in the duplication: Open MPI agrees on the numbers of communicators one after the
 * other, so an unfinished duplication would block every later communicator of the process. before:
 * as for tern_collective_open. */
static tern_status context_duplicate(tern_context *context, MPI_Comm comm, tern_status before) {
    int rank = 0, size = 0, inter = 0;
    tern_status status = TERN_MPI(PMPI_Comm_test_inter(comm, &inter));
    if (status == TERN_OK && inter)
        status = tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_context_create: comm is an intercommunicator; pass an intracommunicator");
    if (status == TERN_OK)
        status = TERN_MPI(PMPI_Comm_rank(comm, &rank));
    if (status == TERN_OK)
        status = TERN_MPI(PMPI_Comm_size(comm, &size));
    context->rank = (uint32_t)rank;
    context->size = (uint32_t)size;
    context->comm = comm;
    if (status == TERN_OK)
        status = tern_collective_open(context, before);
    if (status == TERN_OK)
        status = tern_peers_open(context);
    if (status == TERN_OK)
        status = tern_collective_duplicate(context);
    if (status != TERN_OK) {
        context->comm = MPI_COMM_NULL;
        return status;
    }
    return TERN_MPI(PMPI_Comm_set_errhandler(context->comm, MPI_ERRORS_RETURN));
}

/* Warns of unknown variables only once, since the environment is the same for all contexts of a
 * process and mostly for all ranks. */
static void warn_once(const tern_context *context) {
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    /* R4 */
    if (context->rank == 0 && !atomic_flag_test_and_set(&warned))
        tern_config_warn();
}

/* Names the first option in which a rank differs from rank 0. */
static tern_status name_the_option(tern_context *context) {
    tern_config *all = calloc(context->size, sizeof *all);
    tern_status status =
        all != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    status = tern_collective_agree(context, NULL, status, "comparing options");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, &context->config, sizeof *all, all);
    for (uint32_t r = 1; status == TERN_OK && r < context->size; r++) {
        char first[256], other[256];
        const char *option = tern_config_difference(&all[0], &all[r], first, other, sizeof first);
        if (option != NULL)
            status = tern_fail(TERN_ERR_MISMATCH,
                               "%s is '%s' on rank 0 and '%s' on rank %u; give every rank the same",
                               option, first, other, r);
    }
    free(all);
    return status;
}

/* Each rank compares its options with those of rank 0. */
static tern_status agree_on_config(tern_context *context) {
    tern_config first = context->config;
    uint64_t differs = 0;
    tern_status status = tern_collective_broadcast(context, NULL, 0, &first, sizeof first);
    if (status == TERN_OK) {
        char theirs[8], mine[8];
        differs =
            tern_config_difference(&first, &context->config, theirs, mine, sizeof mine) != NULL;
        status = tern_collective_sum(context, NULL, &differs, 1);
    }
    return status == TERN_OK && differs > 0 ? name_the_option(context) : status;
}

static tern_status find_nodes(tern_context *context) {
    const uint32_t size = context->size, *machine = context->peers.machine;
    uint32_t piece = (uint32_t)context->config.ranks_per_node;
    tern_transport_choice choice = context->config.transport;
    /* A program that asks for a network transport on one machine wants it to be used, so each rank
     * is a node. */
    if (piece == 0 && tern_peers_on_one_machine(&context->peers) && choice != TERN_TRANSPORT_AUTO &&
        choice != TERN_TRANSPORT_SHM)
        piece = 1;
    context->node = calloc(size, sizeof *context->node);
    tern_status status =
        context->node != NULL
            ? tern_topology_nodes(machine, size, piece, context->node, &context->nodes)
            : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", size);
    if (status == TERN_OK && choice == TERN_TRANSPORT_SHM && context->nodes > 1)
        status = tern_fail(TERN_ERR_UNSUPPORTED,
                           "TERN_TRANSPORT=shm, but the %u ranks lie on %u nodes; use auto", size,
                           context->nodes);
    return tern_collective_agree(context, NULL, status, "finding nodes");
}

static tern_status context_make_workers(tern_context *context) {
    context->workers = (uint32_t)(context->config.workers + context->config.service_threads);
    context->worker = calloc(context->workers + 1, sizeof(tern_worker *));
    if (context->worker == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u workers", context->workers);
    for (uint32_t i = 0; i <= context->workers; i++) {
        /* Each worker has cache lines of its own, since different threads write workers. */
        tern_worker *worker = aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);
        if (worker == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for %u workers", context->workers);
        memset(worker, 0, sizeof *worker);
        worker->context = context;
        worker->index = i < context->workers ? i : TERN_NO_WORKER;
        worker->id = context->rank * context->workers + i % context->workers;
        worker->in_progress = i == context->workers;
        context->worker[i] = worker;
    }
    return TERN_OK;
}

/* Draws the nonce, and agrees on whether waits in MPI make progress, which they do on every rank or
 * on none. */
static tern_status draw_nonce(tern_context *context) {
    uint64_t nonce = 0;
    if (context->rank == 0 && getrandom(&nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        nonce = tern_now();
    uint64_t sum[2] = {nonce, tern_pmpi_is_loaded()};
    tern_status status = tern_collective_sum(context, NULL, sum, 2);
    context->nonce = sum[0];
    context->pmpi = context->config.pmpi_handlers && sum[1] == context->size;
    if (status == TERN_OK && context->rank == 0 && sum[1] > 0 && sum[1] < context->size)
        tern_log(TERN_LOG_WARN,
                 "libtern_pmpi serves %u of %u ranks, so it does nothing for this context; load it "
                 "on all of them",
                 (uint32_t)sum[1], context->size);
    return status;
}

/* Frees local memory, and MPI's objects unless MPI is of no use any more. */
static void context_dispose(tern_context *context, size_t layers) {
    /* R7: finalized_under_us */
    bool mpi = !atomic_load(&context->mpi_gone);
    tern_pmpi_end(context);
    tern_service_threads_stop(context);
    while (layers > 0)
        context->layers[--layers]->close(context);
    tern_objects_discard(context);
    if (mpi)
        tern_mpi_forget_finalize(context);
    if (tern_mpi_is_of_use(context) && context->comm != MPI_COMM_NULL)
        (void)TERN_MPI(PMPI_Comm_free(&context->comm));
    tern_profile_close(context);
    tern_collective_buffer_close(context);
    tern_peers_close(&context->peers);
    free(context->node);
    context->node = NULL;
    tern_contexts_end();
}

/* Frees a context whose creation failed, so that no other thread has seen it. */
static void context_forget(tern_context *context) {
    for (uint32_t i = 0; context->worker != NULL && i <= context->workers; i++)
        free(context->worker[i]);
    free(context->worker);
    free(context);
}

static void context_init(tern_context *context, const tern_layer *const *layers) {
    static _Atomic uint32_t created;
    memset(context, 0, sizeof *context);
    tern_contexts_begin();
    /* R4; the number names the context in warnings */
    context->number = atomic_fetch_add_explicit(&created, 1, memory_order_relaxed) + 1;
    context->comm = MPI_COMM_NULL;
    context->layers = layers;
    context->finalize_key = MPI_KEYVAL_INVALID;
    atomic_init(&context->peers.first, TERN_NOBODY);
    atomic_init(&context->peers.stuck_rank, TERN_NOBODY);
    /* R9: tern_context_open; before the context is anybody's */
    atomic_flag_clear(&context->tasks_busy);
}

/* Called if this rank has no memory for a context: it takes part in the creation with a temporary
 * one, so that the others get the error. */
static tern_status context_refuse(MPI_Comm comm) {
    tern_context context;
    context_init(&context, NULL);
    context.closing = true;
    tern_status status = tern_fail(TERN_ERR_MEMORY, "no memory for a context");
    status = context_duplicate(&context, comm, status);
    context_dispose(&context, 0);
    return status;
}

/* TERN_ERR_STATE if this thread runs a handler, in any context: creating or destroying a context
 * there could wait for itself. */
static tern_status context_may_change(const char *function) {
    return !tern_contexts_reading()
               ? TERN_OK
               : tern_fail(TERN_ERR_STATE, "%s may wait and is not allowed in a handler", function);
}

tern_status tern_worker_check(const tern_context *context, tern_worker_id id,
                              const char *function) {
    if (tern_is_worker(context, id))
        return TERN_OK;
    if (tern_is_destroyed(context))
        return tern_destroyed_fail(function);
    return tern_fail(TERN_ERR_ARGUMENT,
                     "%s: there is no worker %u of rank %u; ranks are 0 to %u and workers 0 to %u",
                     function, id.index, id.rank, context->size - 1, context->workers - 1);
}

tern_status tern_context_open(MPI_Comm comm, const tern_config *config,
                              const tern_layer *const *layers, tern_context **context) {
    if (comm == MPI_COMM_NULL)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_context_create: comm is MPI_COMM_NULL; pass a communicator that this rank is in");
    tern_status status = context_may_change("tern_context_create");
    if (status == TERN_OK)
        status = tern_mpi_check(1);
    if (status != TERN_OK)
        return status;
    tern_context *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return context_refuse(comm);
    context_init(fresh, layers);
    size_t opened = 0;

    status = context_duplicate(fresh, comm, TERN_OK);
    if (status != TERN_OK)
        goto fail;
    int world_rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    tern_log_set_rank(world_rank);

    if (context == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_context_create: context is NULL");
    else if (config != NULL)
        fresh->config = *config;
    else
        status = tern_config_init(&fresh->config);
    if (status == TERN_OK)
        status = tern_config_check(&fresh->config);
    if (status == TERN_OK)
        status = tern_mpi_check(fresh->config.workers + fresh->config.service_threads);
    if (status == TERN_OK) {
        tern_log_set_level(fresh->config.log_level);
        status = context_make_workers(fresh);
    }
    if (status == TERN_OK)
        status = tern_profile_open(fresh);
    status = tern_collective_agree(fresh, NULL, status, "checking the configuration");
    if (status == TERN_OK)
        status = agree_on_config(fresh);
    if (status == TERN_OK)
        status = tern_collective_agree(fresh, NULL, tern_mpi_watch_finalize(fresh),
                                       "watching MPI_Finalize");
    if (status == TERN_OK)
        status = draw_nonce(fresh);
    if (status == TERN_OK)
        status = find_nodes(fresh);
    if (status == TERN_OK)
        status = tern_profile_begin(fresh);
    if (status != TERN_OK)
        goto fail;
    warn_once(fresh);

    for (size_t i = 0; i < TERN_LAYER_SLOTS; i++) {
        status = layers[i]->open(fresh);
        bool mine = status == TERN_OK;
        status = tern_collective_agree(fresh, NULL, status, layers[i]->name);
        if (mine)
            opened++;
        if (status != TERN_OK)
            goto fail;
    }
    status = tern_service_threads_start(fresh);
    status = tern_collective_agree(fresh, NULL, status, "starting service threads");
    if (status != TERN_OK)
        goto fail;
    tern_pmpi_begin(fresh);
    tern_contexts_join(fresh);
    *context = fresh;
    return TERN_OK;

fail:
    fresh->closing = true;
    context_dispose(fresh, opened);
    context_forget(fresh);
    return status;
}

static tern_status context_drain(tern_context *context, size_t layer) {
    TERN_COLLECTIVE(context->worker[0], "tern_context_destroy");
    /* R7: finalized_under_us */
    if (atomic_load(&context->mpi_gone) || context->layers[layer]->drain == NULL)
        return TERN_OK;
    return context->layers[layer]->drain(context, context->worker[0]);
}

static void context_report(tern_context *context) {
    TERN_COLLECTIVE(context->worker[0], "tern_context_destroy");
    /* R7: finalized_under_us */
    if (!atomic_load(&context->mpi_gone))
        tern_profile_report(context);
}

/* Agrees on whether objects are left, so that every rank gets the same status. After a death
 * objects do not keep the context from being destroyed. */
static tern_status agree_on_objects(tern_context *context) {
    TERN_COLLECTIVE(context->worker[0], "tern_context_destroy");
    /* R7: finalized_under_us */
    if (atomic_load(&context->mpi_gone))
        return TERN_OK;
    return tern_collective_agree(context, context->worker[0],
                                 tern_objects_check(context, "tern_context_destroy"),
                                 "tern_context_destroy");
}

static tern_status destroy_may_begin(tern_context *context) {
    tern_status status = TERN_OK;
    for (size_t i = 0; i < context->config.workers && status == TERN_OK; i++)
        status = tern_worker_may_wait(context->worker[i], "tern_context_destroy");
    return status == TERN_OK ? agree_on_objects(context) : status;
}

tern_status tern_context_destroy(tern_context *context) {
    if (context == NULL)
        return TERN_OK;
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_context_destroy");
    tern_status status = context_may_change("tern_context_destroy");
    if (status != TERN_OK)
        return status;
    /* From here on only this thread uses the workers. */
    tern_contexts_leave(context);
    status = destroy_may_begin(context);
    /* The other ranks are in another function, or objects are left: the context lives on. */
    if (status == TERN_ERR_STATE || status == TERN_ERR_MISMATCH) {
        tern_contexts_join(context);
        return status;
    }
    context->closing = true;
    /* From here on the progress of this thread's waits replaces the service threads. */
    tern_service_threads_stop(context);
    for (size_t layer = TERN_LAYER_SLOTS; layer-- > 0 && status == TERN_OK;)
        status = context_drain(context, layer);
    if (status == TERN_OK)
        context_report(context);
    const bool is_lost = status == TERN_ERR_MPI && tern_any_is_lost(&context->peers);
    context_dispose(context, TERN_LAYER_SLOTS);
    tern_destroyed_keep(context);
    if (status != TERN_OK && status != TERN_ERR_PEER && !is_lost)
        return status;
    tern_error_clear(); /* drop a text that says that something could no longer be sent, or not to a
                           rank that is dead or that MPI does not reach */
    return TERN_OK;
}

uint32_t tern_context_rank(const tern_context *context) { return context->rank; }

uint32_t tern_context_size(const tern_context *context) { return context->size; }

uint32_t tern_context_workers(const tern_context *context) {
    return (uint32_t)context->config.workers;
}

tern_worker_id tern_context_service(const tern_context *context, uint32_t rank) {
    uint32_t threads = (uint32_t)context->config.service_threads;
    if (threads == 0)
        return (tern_worker_id){rank, 0};
    return (tern_worker_id){rank, (uint32_t)context->config.workers + context->rank % threads};
}

const tern_config *tern_context_config(const tern_context *context) { return &context->config; }

uint32_t tern_context_dead(tern_context *context) {
    if (tern_is_destroyed(context))
        return TERN_NO_RANK;
    tern_peers_look(&context->peers);
    tern_watch(context, TERN_ANYBODY, 0, tern_now());
    return tern_peers_dead(&context->peers);
}

const char *tern_transport_name(tern_transport transport) {
    static const char *const names[] = {"shm", "rma", "p2p", "ofi", "verbs"};
    return (unsigned)transport < sizeof names / sizeof *names ? names[transport] : "none";
}
