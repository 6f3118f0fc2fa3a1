#include "rma/layer.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "rma/memory/doorbell.h"
#include "rma/message/inbox.h"
#include "rma/port/port.h"
#include "rma/region/rkey.h"
#include "rma/reply/owner_service.h"
#include "rma/reply/thread_reply.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/sleep.h"
#include "rma/serve.h"
#include "rma/transfer.h"
#include "rma/transport/mpi_rma.h"
#include "rma/transport/posts.h"
#include "rma/transport/transport.h"
#include "src/collective/collective.h"
#include "src/context.h"
#include "src/log.h"
#include "src/progress/progress.h"
#include "src/mpi/mpi.h"
#include "src/peers/peers.h"

static tern_status make_heap(tern_rma *rma, size_t page) {
    /* Offsets count from the start of the heap, which is aligned to 2 MiB in every mapping. */
    uint64_t cut[TERN_NUMA_MAX + 1];
    for (size_t i = 0; i <= rma->parts; i++)
        cut[i] = tern_segment_cut(&rma->layout, page, rma->parts, i);
    return tern_heap_create(cut, rma->parts, &rma->heap);
}

static tern_status make_tables(tern_context *context, tern_rma *rma) {
    const tern_placement *placement = &rma->placement;
    const bool apart = placement->topology != NULL;
    tern_tables *tables = &rma->tables;
    tern_tables_compute(context->size, context->workers, rma->layout.ring_count, apart, tables);
    rma->table_base = tern_tables_map(tables);
    if (rma->table_base == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu bytes of tables", tables->bytes);
    for (uint32_t i = 0; apart && i < context->workers; i++)
        tern_placement_bind(placement, tern_tables_of_worker(tables, rma->table_base, i),
                            tables->worker_bytes,
                            placement->node[tern_placement_guess(placement, i)], false);
    rma->segment = (void *)(rma->table_base + tables->segment);
    rma->reach = (void *)(rma->table_base + tables->reach);
    rma->inbox_used = (void *)(rma->table_base + tables->inbox);
    rma->ins = (void *)(rma->table_base + tables->ins);
    return TERN_OK;
}

static tern_status make_segment(tern_context *context, tern_rma *rma) {
    tern_layout_compute(&context->config, context->size, &rma->layout);
    tern_status status = tern_placement_open(&rma->placement);
    if (status == TERN_OK)
        status = make_tables(context, rma);
    if (status != TERN_OK)
        return status;
    tern_segment *mine = &rma->segment[context->rank];
    status = tern_segment_create(&context->config, &rma->layout, mine, &rma->fd);
    if (status != TERN_OK)
        return status;
    rma->parts = tern_segment_parts(&rma->layout, mine->page, rma->placement.nodes);
    tern_placement_bind_segment(&rma->placement, &rma->layout, mine, rma->parts, context->workers);
    tern_segment_prefault(&context->config, &rma->layout, mine);
    status = make_heap(rma, mine->page);
    if (status != TERN_OK)
        return status;
    rma->mine = mine->base;
    tern_segment_header *header = (void *)rma->mine;
    header->magic = TERN_SEGMENT_MAGIC;
    header->nonce = context->nonce;
    /* R9: arena_find_part; before the segment is shared */
    atomic_store_explicit(&header->arena_parts,
                          (uint32_t)tern_segment_arena_parts(&rma->layout, rma->placement.nodes),
                          memory_order_relaxed);
    return TERN_OK;
}

/* The segment of the node's lowest rank, which holds the data that the node has only once. */
static tern_segment *node_segment(const tern_rma *rma) {
    tern_segment *lowest = rma->segment;
    while (lowest->base == NULL)
        lowest++;
    return lowest;
}

static uint32_t *node_places(const tern_rma *rma) {
    return (void *)(node_segment(rma)->base + rma->layout.places);
}

/* On the node's lowest rank: writes the node and the machine of each rank. */
static void write_places(const tern_context *context, const tern_rma *rma) {
    const size_t bytes = context->size * sizeof(uint32_t);
    uint32_t *node = node_places(rma);
    if (node_segment(rma) != &rma->segment[context->rank])
        return;
    memcpy(node, context->node, bytes);
    memcpy(node + context->size, context->peers.machine, bytes);
}

/* Replaces this rank's private copy by the node's one copy, which every rank has mapped. */
static void share_places(tern_context *context, tern_rma *rma) {
    free(context->node);
    free(context->peers.machine);
    context->node = node_places(rma);
    context->peers.machine = context->node + context->size;
    rma->places_shared = true;
}

static tern_status map_node(tern_context *context, tern_rma *rma) {
    int *fds = malloc(context->size * sizeof *fds);
    tern_status status =
        fds != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    status = tern_collective_agree(context, NULL, status, "sharing segments");
    if (status != TERN_OK) {
        free(fds);
        return status;
    }
    for (uint32_t r = 0; r < context->size; r++)
        fds[r] = -1;
    status = tern_segment_share(context, rma->fd, fds);
    for (uint32_t r = 0; r < context->size; r++) {
        if (fds[r] < 0)
            continue;
        if (status == TERN_OK)
            status = tern_segment_map(&context->config, &rma->layout, fds[r], &rma->segment[r]);
        close(fds[r]);
    }
    free(fds);
    for (uint32_t r = 0; status == TERN_OK && r < context->size; r++) {
        char *base = rma->segment[r].base;
        if (base == NULL)
            continue;
        const tern_segment_header *header = (const void *)base;
        if (header->magic != TERN_SEGMENT_MAGIC || header->nonce != context->nonce)
            status =
                tern_fail(TERN_ERR_SYSTEM, "rank %u has shared memory that is not its segment", r);
        rma->reach[r] = (tern_reach){base + rma->layout.heap, rma->layout.heap_bytes};
    }
    /* The mapping does not need the descriptor. */
    close(rma->fd);
    rma->fd = -1;
    if (status == TERN_OK)
        write_places(context, rma);
    status = tern_collective_agree(context, NULL, status, "mapping segments");
    if (status == TERN_OK)
        share_places(context, rma);
    return status;
}

static tern_status rma_make_workers(tern_context *context, tern_rma *rma) {
    uint32_t total = context->size * context->workers;
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *worker = context->worker[i];
        char *tables = tern_tables_of_worker(&rma->tables, rma->table_base, i);
        tern_rma_worker *mine = (void *)(tables + rma->tables.worker);
        worker->layer[TERN_LAYER_RMA] = mine;
        mine->out = (void *)(tables + rma->tables.out);
        mine->in = (void *)(tables + rma->tables.in);
        mine->message_channels = (void *)(tables + rma->tables.message_channels);
        for (uint32_t c = 0; c < TERN_CHANNELS; c++)
            mine->active[c].ring = (tern_in **)(void *)(tables + rma->tables.active) + c * total;
        mine->inbox.owed = (void *)(tables + rma->tables.owed);
        if (rma->remote != NULL)
            mine->dirty = (void *)(tables + rma->tables.dirty);
        mine->dirty_ranks = (void *)(tables + rma->tables.dirty_ranks);
        if (rma->remote != NULL && rma->remote->settle != NULL)
            mine->posts = (void *)(tables + rma->tables.posts);
        mine->remotes = (void *)(tables + rma->tables.remotes);
        mine->worker_page = tern_worker_page(context, worker->id);
        const size_t expected = tern_placement_guess(&rma->placement, i);
        mine->numa = rma->placement.node[expected];
        tern_doorbell_set_numa(mine->worker_page, (uint32_t)expected);
        tern_reply_open(worker);
        uint32_t direct = 1u << TERN_DOMAIN_NODE | 1u << TERN_DOMAIN_OWNER;
        if (tern_processor_serves_global(context))
            direct |= 1u << TERN_DOMAIN_GLOBAL;
        worker->view = (tern_worker_view){.reach = rma->reach,
                                          .ranks = context->size,
                                          .inlined = context->profiling == NULL ? context->size : 0,
                                          .workers = context->workers,
                                          .out = mine->out,
                                          .direct_domains = direct,
                                          .calls_sent = &worker->stats.calls_sent};
    }
    /* Threads without a worker reach the same memory, but have no rings. */
    tern_worker *nobody = tern_context_nobody(context);
    nobody->view = (tern_worker_view){.reach = rma->reach,
                                      .ranks = context->size,
                                      .inlined = context->size,
                                      .in_progress = nobody->in_progress};
    return TERN_OK;
}

/* membarrier can replace the fences of publishers only if every process has registered for it. */
static tern_status agree_on_fences(tern_context *context) {
    uint64_t refused = !tern_membarrier_register();
    tern_status status = tern_collective_sum(context, NULL, &refused, 1);
    context->fences = refused > 0;
    if (context->fences && context->rank == 0)
        tern_log(TERN_LOG_INFO,
                 "the system refuses membarrier; every publish makes a memory fence");
    return status;
}

/* Whether MPI may still use memory of this ring after a death. Over rma, MPI may still read the
 * staging memory from which it puts; p2p copies records. Abandons an open question; if that
 * is not possible, MPI may still write the answer into out. */
static bool is_left_to_mpi(tern_out *out) {
    const bool asked = out->opening || out->growth == TERN_GROWTH_ASKED;
    const bool answerable = asked && !tern_question_abandon(&out->open_question);
    return out->transport->name == TERN_RMA || answerable;
}

static void free_out(tern_out *out) {
    if (out->transport != &tern_transport_shm) {
        free(out->lane.data);
        free(out->next_data);
    }
    free(out);
}

static void rma_close_layer(tern_context *context) {
    tern_rma *rma = tern_rma_of(context);
    if (rma == NULL)
        return;
    tern_listeners_close(context);
    /* R4; the listener, which reads it, has ended */
    atomic_store_explicit(&context->peers.activity, NULL, memory_order_relaxed);
    tern_messages_close(context, rma->messages);
    for (uint32_t i = 0; i < context->workers; i++)
        if (tern_rma_worker_of(context->worker[i]) != NULL)
            tern_port_close(tern_rma_worker_of(context->worker[i])->port);
    tern_message_channel_close(context);
    tern_regions_close(context);
    tern_native_close(rma->native);
    tern_window_close(context, rma->window);
    const bool mpi = tern_mpi_is_of_use(context);
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_rma_worker *mine = tern_rma_worker_of(context->worker[i]);
        if (mine == NULL)
            continue;
        tern_inbox_discard(context->worker[i]);
        for (tern_out *out = mine->outs, *next; out != NULL; out = next) {
            next = out->next;
            if (!is_left_to_mpi(out) || mpi)
                free_out(out);
        }
        for (tern_in *in = mine->ins, *next; in != NULL; in = next) {
            next = in->next;
            if (in->is_allocated)
                free(in);
        }
        free(mine->words);
        context->worker[i]->layer[TERN_LAYER_RMA] = NULL;
    }
    tern_heap_destroy(rma->heap);
    tern_inbox_close(context);
    tern_thread_replies_close(context);
    if (rma->places_shared) {
        context->node = NULL;
        context->peers.machine = NULL;
    }
    for (uint32_t r = 0; rma->segment != NULL && r < context->size; r++)
        tern_segment_destroy(&rma->segment[r]);
    tern_tables_unmap(&rma->tables, rma->table_base);
    tern_placement_close(&rma->placement);
    if (rma->fd >= 0)
        close(rma->fd);
    pthread_mutex_destroy(&rma->heap_lock);
    free(rma);
    context->layer[TERN_LAYER_RMA] = NULL;
    context->activity = NULL;
    context->meeting = NULL;
}

static tern_activity *rma_activity_of(const tern_context *context, uint32_t rank) {
    char *base = tern_rma_of(context)->segment[rank].base;
    return base != NULL ? &((tern_segment_header *)(void *)base)->activity : NULL;
}

/* Opens the listener. The listeners' addresses lie in the segment of the node's lowest rank. */
static tern_status rma_open_listeners(tern_context *context, const tern_rma *rma) {
    tern_segment *segment = node_segment(rma);
    tern_listener_address *table = (void *)(segment->base + rma->layout.listeners);
    return tern_listeners_open(context, rma->native != NULL ? tern_question_reply : NULL, table,
                               segment == &rma->segment[context->rank]);
}

static tern_status rma_open_layer(tern_context *context) {
    tern_rma *rma = calloc(1, sizeof *rma);
    tern_status status =
        rma != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory for a context");
    if (rma != NULL) {
        context->layer[TERN_LAYER_RMA] = rma;
        rma->fd = -1;
        rma->direct = &tern_transport_shm;
        rma->message_transport = &tern_transport_p2p;
        pthread_mutex_init(&rma->heap_lock, NULL);
        tern_regions_open(&rma->regions);
        tern_record_handle(context, TERN_RECORD_SERVICE, tern_service_consume);
        status = make_segment(context, rma);
    }
    status = tern_collective_agree(context, NULL, status, "making segments");
    if (status == TERN_OK)
        status = map_node(context, rma);
    if (status == TERN_OK && context->nodes > 1)
        status = tern_transport_choose(context);
    if (status == TERN_OK)
        status = rma_make_workers(context, rma);
    if (status == TERN_OK)
        status = tern_messages_open(context, tern_message_serve, &rma->messages);
    if (status == TERN_OK)
        status = tern_thread_replies_open(context);
    if (status == TERN_OK && context->size > 1)
        status = tern_inbox_open(context);
    status = tern_collective_agree(context, NULL, status, "setting up transfers");
    if (status == TERN_OK)
        status = agree_on_fences(context);
    if (status == TERN_OK)
        status = rma_open_listeners(context, rma);
    if (status != TERN_OK) {
        rma_close_layer(context);
        return status;
    }
    context->activity = rma_activity_of;
    /* R1: watcher_report */
    atomic_store_explicit(&context->peers.activity, rma_activity_of(context, context->rank),
                          memory_order_release);
    if (rma->remote == NULL)
        context->meeting = &((tern_segment_header *)(void *)rma->segment[0].base)->meeting;
    return TERN_OK;
}

static tern_status rma_drain(tern_context *context, tern_worker *worker) {
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < context->workers && status == TERN_OK; i++) {
        status = tern_puts_flush_all(context->worker[i]);
        if (status == TERN_OK)
            status = tern_ring_settle(context->worker[i]);
        if (status == TERN_OK)
            status = tern_sleep_settle(context->worker[i]);
        if (status == TERN_OK)
            status = tern_port_settle(context->worker[i]);
    }
    if (status == TERN_OK)
        status = tern_rkeys_settle(worker);
    status = tern_collective_agree(context, worker, status, "tern_context_destroy");
    if (status == TERN_OK)
        status = tern_barrier(worker);
    if (status == TERN_OK)
        status = tern_messages_drain(context);
    /* No rank may unmap memory that another still polls: after this barrier no rank polls any
     * more. */
    return status == TERN_OK ? tern_collective_barrier(context, NULL) : status;
}

static size_t rma_progress(tern_worker *worker) {
    return tern_ring_poll(worker) + tern_posts_advance(worker);
}

/* Names the records that are written but not published, since the program's policy or cork holds
 * them back. */
static void rma_name_unsent(tern_worker *worker, tern_text *text) {
    const tern_rma_worker *mine = tern_rma_worker_of(worker);
    for (const tern_out *out = mine != NULL ? mine->outs : NULL; out != NULL; out = out->next)
        if (out->lane.first_header != 0)
            tern_text_add(text, " %llu bytes of records to rank %u (%s),",
                          (unsigned long long)(out->lane.write - out->lane.first),
                          tern_rank_of(worker->context, out->target),
                          mine->corked ? "the worker is corked: tern_call_uncork sends them"
                                       : "tern_call_flush_all sends them");
}

/* Serves other ranks: polls for their messages and, over a network, polls the port, since some
 * networks advance the operations of other ranks only then. */
static size_t rma_serve(tern_worker *worker) {
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    return remote != NULL ? remote->poll(worker) : 0;
}

static uint32_t rma_unsent(const tern_worker *worker, uint32_t rank) {
    const uint32_t found = tern_ring_unpublished(worker, rank);
    return found != TERN_NOBODY ? found : tern_messages_unsent(worker->context, rank);
}

const tern_layer tern_rma_layer = {
    .name = "opening memory and transfers",
    .open = rma_open_layer,
    .drain = rma_drain,
    .close = rma_close_layer,
    .adopt = tern_placement_follow,
    .progress = rma_progress,
    .unsent = rma_unsent,
    .name_unsent = rma_name_unsent,
    .serve = rma_serve,
};

tern_status tern_context_transport(const tern_context *context, uint32_t rank,
                                   tern_transport *transport) {
    if (context == NULL || transport == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_context_transport: context or transport is NULL");
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_context_transport");
    if (rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank is %u, but there are only %u ranks", rank,
                         context->size);
    *transport = tern_transport_to(context, rank)->name;
    return TERN_OK;
}
