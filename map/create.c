#include "tern/map.h"

#include "hashtable/growth/growth.h"
#include "hashtable/bucket/scratch.h"
#include "map/block.h"
#include "map/op/message.h"
#include "src/collective/collective.h"
#include "tern/call.h"

_Static_assert(8 * (1 + TERN_MAP_FINGERPRINT / 8 + TERN_MAP_WORDS_MAX) <=
                   sizeof((tern_scratch *)NULL)->small,
               "a walk over the entries of a map takes no memory");

const char tern_map_kind[] = "map";

/* Makes the linker take the handler, as hashtable/create.c does for that of tables. */
static __attribute__((used)) const tern_handler serves = tern_map_on_op;

static tern_status map_check_options(const tern_map_options *o, tern_map **map) {
    if (o == NULL || map == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_map_create: %s is NULL",
                         o == NULL ? "options" : "map");
    if (o->inline_bytes > TERN_MAP_INLINE_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "inline_bytes is %zu; allowed are 0 to %u",
                         o->inline_bytes, TERN_MAP_INLINE_MAX);
    return TERN_OK;
}

static size_t inline_bytes(const tern_map_options *o) {
    size_t bytes = (o->inline_bytes + 7) & ~(size_t)7;
    return bytes > TERN_MAP_INLINE_MIN ? bytes : TERN_MAP_INLINE_MIN;
}

tern_status tern_map_create(tern_worker *worker, const tern_map_options *options, tern_map **map) {
    static const char name[] = "tern_map_create";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    tern_map *m = calloc(1, sizeof *m);
    status = map_check_options(options, map);
    if (status == TERN_OK && m == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a map");
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        goto fail;
    const tern_field agreed[] = {{"capacity", options->capacity},
                                 {"inline_bytes", options->inline_bytes},
                                 {"call_only", (uint64_t)options->call_only},
                                 {"grow", (uint64_t)options->grow},
                                 {"the presence of key_owner", options->key_owner != NULL},
                                 {"the presence of key_digest", options->key_digest != NULL}};
    status =
        tern_collective_same_fields(context, worker, agreed, sizeof agreed / sizeof *agreed, name);
    if (status != TERN_OK)
        goto fail;
    m->context = context;
    m->inline_bytes = inline_bytes(options);
    m->key_owner = options->key_owner;
    m->key_digest = options->key_digest;
    m->key_argument = options->key_argument;
    const tern_hashtable_options table = {
        .key_bytes = TERN_MAP_FINGERPRINT,
        .value_bytes = 8 * tern_map_descriptor_words(m),
        .capacity = options->capacity,
        .call_only = options->call_only,
        .grow = options->grow,
        .key_owner = options->key_owner != NULL ? tern_map_fingerprint_owner : NULL,
        .key_argument = m};
    status = tern_hashtable_create(worker, &table, &m->table);
    if (status != TERN_OK)
        goto fail;
    m->table->object.kind = tern_map_kind; /* it is destroyed with the map */
    /* A call may come as soon as another rank has returned. So before the barrier every map knows
     * its table, and the table knows that it belongs to a map. If a death ends the barrier, the map
     * stays for the ranks that have returned, as the table does. */
    status = tern_collective_barrier(context, worker);
    if (status != TERN_OK && status != TERN_ERR_PEER) {
        tern_ignore(tern_hashtable_destroy(worker, m->table));
        goto fail;
    }
    if (status == TERN_OK)
        *map = m;
    return status;
fail:
    free(m);
    return status;
}

static tern_status map_begin(tern_worker *worker, const tern_map *map, const char *name) {
    if (worker == NULL || map == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL ? "worker" : "map");
    if (worker->context != map->context)
        return tern_object_refuse(map->context, name, "map");
    return tern_worker_may_wait(worker, name);
}

typedef struct freeing {
    tern_worker *worker;
    const tern_map *map;
    bool own_only;
} freeing;

static int free_block(const void *fingerprint, const void *value, void *argument) {
    const freeing *f = argument;
    const uint64_t *d = value;
    (void)fingerprint;
    if (tern_map_descriptor_is_small(f->map, d))
        return 0;
    tern_ptr block = tern_block_gaddr(d);
    if (!f->own_only || block.rank == f->map->context->rank)
        tern_block_free(f->worker, f->map, block);
    return 0;
}

/* Gives back every block that this rank's part of the table names. Nobody changes the part
 * meanwhile. own_only: only those that need no other rank. */
static tern_status free_blocks(tern_worker *worker, const tern_map *map, bool own_only) {
    freeing f = {worker, map, own_only};
    return tern_hashtable_for_each(worker, map->table, free_block, &f);
}

tern_status tern_map_destroy(tern_worker *worker, tern_map *map) {
    if (map == NULL)
        return TERN_OK;
    TERN_COLLECTIVE(worker, "tern_map_destroy");
    tern_status status = map_begin(worker, map, "tern_map_destroy");
    if (status != TERN_OK)
        return status;
    tern_peers_look(&worker->context->peers);
    status = tern_barrier(worker);
    if (status == TERN_ERR_MISMATCH)
        return status; /* the other ranks have not called destroy */
    /* Nothing from here on allocates memory: a rank without memory would keep the blocks of other
     * ranks. So this ends the moves of this rank alone; its part then names all blocks to free. */
    const bool died = status == TERN_ERR_PEER;
    tern_status freed = tern_growth_come_to_rest(worker, map->table);
    if (freed == TERN_OK)
        freed = free_blocks(worker, map, died);
    if (!died) {
        tern_status quiesced = tern_quiesce(worker);
        freed = freed == TERN_OK ? quiesced : freed;
    }
    tern_status destroyed = tern_hashtable_destroy(worker, map->table);
    tern_destroyed_keep_object(map, sizeof *map);
    status = status == TERN_OK ? freed : status;
    return status == TERN_OK ? destroyed : status;
}

tern_status tern_map_clear(tern_worker *worker, tern_map *map) {
    TERN_COLLECTIVE(worker, "tern_map_clear");
    tern_status status = map_begin(worker, map, "tern_map_clear");
    if (status != TERN_OK)
        return status;
    tern_peers_look(&worker->context->peers);
    status = tern_barrier(worker);
    if (status == TERN_OK)
        status = tern_growth_end_moves(worker, map->table);
    if (status != TERN_OK)
        return status;
    /* No block is given back twice: one descriptor names it, and the descriptor is cleared before
     * anything else can fail. */
    status = free_blocks(worker, map, false);
    if (status == TERN_OK)
        tern_table_clear_own(worker, map->table);
    tern_status quiesced = tern_quiesce(worker);
    status = status == TERN_OK ? quiesced : status;
    return status == TERN_OK ? tern_barrier(worker) : status;
}

tern_status tern_map_size(tern_worker *worker, tern_map *map, uint64_t *count) {
    TERN_COLLECTIVE(worker, "tern_map_size");
    tern_status status = map_begin(worker, map, "tern_map_size");
    return status == TERN_OK ? tern_hashtable_size(worker, map->table, count) : status;
}
