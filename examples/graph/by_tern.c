/*
 * The graph in tern. A map has the list of neighbours of each vertex. Which rank owns a vertex is
 * the map's choice. Each edge is sent, by a call, to the owners of its ends, and the owners put the
 * lists into the map. An offer to a vertex of another rank is a call to its owner. A combiner keeps
 * offers back and merges those to one vertex, of which it sends the least.
 */
#include <string.h>

#include <tern/tern.h>

#include "job.h"

static tern_context *context;
static tern_worker *worker;
static tern_map *map;
static tern_combiner *combiner;
static edges arcs;      /* that have arrived */
static spread *current; /* where offers go */
static uint64_t *list;  /* room for the longest one */
static size_t list_bytes;

static void check(tern_status status) {
    if (status != TERN_OK)
        give_up(tern_error_detail());
}

static tern_status graph_arc(tern_call_info *call, const void *arguments, size_t bytes) {
    const edge *arc = arguments;
    (void)call, (void)bytes;
    edges_add(&arcs, arc->from, arc->to);
    return TERN_OK;
}
TERN_FUNCTION(graph_arc)

typedef struct {
    uint64_t vertex, value;
} offer;

static tern_status graph_offer(tern_call_info *call, const void *arguments, size_t bytes) {
    const offer *o = arguments;
    (void)call, (void)bytes;
    spread_offer(current, o->vertex, o->value);
    return TERN_OK;
}
TERN_FUNCTION(graph_offer)

static void least(void *into, const void *update, size_t bytes) {
    (void)bytes;
    if (*(const uint64_t *)update < *(uint64_t *)into)
        *(uint64_t *)into = *(const uint64_t *)update;
}

static tern_worker_id owner(uint64_t vertex) {
    return (tern_worker_id){.rank = tern_map_owner(map, &vertex, sizeof vertex)};
}

/* Creates a context whose segments have room for the map, with keys of a rank's share and as much
 * again, and a longest list. */
static void open_context(const job *j, uint64_t capacity) {
    enum { KEY_BYTES = 160 };
    uint64_t lists = 2 * j->all * sizeof(uint64_t), keys = capacity * KEY_BYTES;
    uint64_t needed = 2 * (lists + keys) / j->size + capacity * sizeof(uint64_t) + (64 << 20);
    tern_config config;
    check(tern_config_init(&config));
    if (config.segment_size < needed)
        config.segment_size = ((needed >> 21) + 1) << 21;
    check(tern_context_create(MPI_COMM_WORLD, &config, &context));
    check(tern_worker_adopt(context, 0, &worker));
}

static void send_arc(uint64_t from, uint64_t to) {
    edge arc = {from, to};
    check(tern_call(worker, owner(from), &graph_arc_function, &arc, sizeof arc));
}

/* Puts this rank's lists into the map. A neighbour's owner goes with it, in its high bits, so that
 * no step has to compute it. */
static void fill_map(lists *l) {
    for (size_t i = 0; i < l->start[l->vertices]; i++)
        l->neighbour[i] |= (uint64_t)owner(l->neighbour[i]).rank << VERTEX_BITS;
    for (size_t slot = 0; slot < l->vertices; slot++) {
        size_t bytes = lists_degree(l, slot) * sizeof *l->neighbour;
        check(tern_map_insert(worker, map, &l->vertex[slot], sizeof *l->vertex,
                              l->neighbour + l->start[slot], bytes, TERN_WRITE_ONLY | TERN_BY_RMA,
                              NULL));
        if (bytes > list_bytes)
            list_bytes = bytes;
    }
    check(tern_barrier(worker));
}

/* Offers that a rank keeps back: so many that most vertices get one from each rank and step. They
 * take 24 bytes each. */
enum { COMBINED = 1 << 18 };

static void open_tern(const job *j, lists *l) {
    /* Each edge names at most two vertices that no other edge names. */
    uint64_t capacity = 2 * j->all < j->largest + 1 ? 2 * j->all : j->largest + 1;
    open_context(j, capacity);
    tern_map_options o = {.capacity = capacity};
    check(tern_map_create(worker, &o, &map));
    for (size_t i = 0; i < j->mine.count; i++) {
        send_arc(j->mine.at[i].from, j->mine.at[i].to);
        send_arc(j->mine.at[i].to, j->mine.at[i].from);
    }
    check(tern_quiesce(worker));
    lists_make(l, &arcs);
    edges_free(&arcs);
    fill_map(l);
    lists_forget_neighbours(l);
    list = need(NULL, list_bytes, 1);
    tern_combiner_options c = {.function = &graph_offer_function,
                               .bytes = sizeof(uint64_t),
                               .combine = least,
                               .entries = capacity < COMBINED ? capacity : COMBINED};
    check(tern_combiner_create(worker, &c, &combiner));
}

/* No rank leaves the sum before all ranks have turned, so no offer of this step comes too early. */
static uint64_t turn_tern(spread *s) {
    current = s;
    spread_turn(s);
    uint64_t vertices = s->now_count;
    check(tern_team_allreduce(worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &vertices, 1));
    return vertices;
}

static void send_offer(uint64_t neighbour, uint64_t value) {
    uint64_t vertex = neighbour & VERTEX_MOST;
    tern_worker_id to = {.rank = (uint32_t)(neighbour >> VERTEX_BITS)};
    if (to.rank == tern_context_rank(context))
        spread_offer(current, vertex, value);
    else
        check(tern_combine(worker, combiner, to, vertex, &value));
}

static void step_tern(spread *s) {
    for (size_t i = 0; i < s->now_count; i++) {
        uint64_t vertex = s->lists->vertex[s->now[i]], value = s->rule(vertex, s->value[s->now[i]]);
        size_t bytes;
        check(tern_map_find(worker, map, &vertex, sizeof vertex, TERN_READ_ONLY | TERN_BY_RMA, list,
                            list_bytes, &bytes));
        for (size_t n = 0; n < bytes / sizeof *list; n++)
            send_offer(list[n], value);
    }
    check(tern_combiner_flush(worker, combiner));
    check(tern_quiesce(worker));
}

static void close_tern(void) {
    check(tern_combiner_destroy(worker, combiner));
    check(tern_map_destroy(worker, map));
    check(tern_context_destroy(context));
    free(list);
}

const method by_tern = {"tern", open_tern, turn_tern, step_tern, close_tern};
