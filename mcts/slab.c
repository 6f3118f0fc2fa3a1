#include "mcts/slab.h"

#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, FIRST_NODE = 1 };

static size_t node_bytes(size_t state_bytes) {
    return (sizeof(tern_mcts_node) + state_bytes + LINE - 1) / LINE * LINE;
}

/* Rounds counts up to eight sizes for each power of two, so that edges freed at one depth can be
 * used at another. [out] class: number of the size. */
static uint32_t slab_round_up(uint32_t count, uint32_t *class) {
    uint32_t shift = count > 16 ? 28 - (uint32_t)__builtin_clz(count) : 0;
    uint32_t units = (uint32_t)(((uint64_t)count + (UINT64_C(1) << shift) - 1) >> shift);
    *class = shift * 8 + units;
    return units << shift;
}

static size_t edges_bytes(uint32_t rounded) {
    return tern_mcts_values_at(rounded) +
           ((size_t)rounded + TERN_MCTS_LANES - 1) / TERN_MCTS_LANES * sizeof(tern_mcts_values);
}

size_t tern_mcts_slab_least(size_t state_bytes, uint32_t moves_max) {
    uint32_t class;
    size_t nodes = (FIRST_NODE + 2) * node_bytes(state_bytes);
    return (nodes + edges_bytes(slab_round_up(moves_max, &class))) / 3 * 4;
}

/* Reserves address space. The system provides the pages when they are touched. */
static void *slab_reserve(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    return p;
}

bool tern_mcts_slab_open(tern_mcts_slab *slab, size_t bytes, size_t state_bytes, bool shared) {
    uint32_t heads = 16;
    memset(slab, 0, sizeof *slab);
    slab->node_bytes = node_bytes(state_bytes);
    if (shared) {
        while (heads < (UINT32_C(1) << 30) && heads * slab->node_bytes * 2 < bytes)
            heads *= 2;
        bytes -= heads * sizeof *slab->heads;
        slab->heads = slab_reserve(heads * sizeof *slab->heads);
        slab->heads_mask = heads - 1;
    }
    /* An index has 32 bits. */
    size_t most = slab->node_bytes * (UINT32_MAX - 1);
    slab->bytes = (bytes < most ? bytes : most) / LINE * LINE;
    slab->memory = slab_reserve(slab->bytes);
    tern_mcts_slab_clear(slab);
    if (slab->memory != NULL && (!shared || slab->heads != NULL))
        return true;
    tern_mcts_slab_close(slab);
    return false;
}

void tern_mcts_slab_close(tern_mcts_slab *slab) {
    if (slab->memory != NULL)
        (void)munmap(slab->memory, slab->bytes);
    if (slab->heads != NULL)
        (void)munmap(slab->heads, (slab->heads_mask + (size_t)1) * sizeof *slab->heads);
    slab->memory = NULL;
    slab->heads = NULL;
}

void tern_mcts_slab_clear(tern_mcts_slab *slab) {
    slab->edges_at = slab->bytes;
    slab->free_nodes = 0;
    memset(slab->free_edges, 0, sizeof slab->free_edges);
    /* R5 */
    atomic_store_explicit(&slab->nodes, FIRST_NODE, memory_order_release);
    if (slab->heads != NULL)
        memset(slab->heads, 0, (slab->heads_mask + (size_t)1) * sizeof *slab->heads);
}

uint32_t tern_mcts_node_take(tern_mcts_slab *slab) {
    uint32_t index = slab->free_nodes;
    /* R5 */
    uint32_t used = atomic_load_explicit(&slab->nodes, memory_order_relaxed);
    if (index != 0)
        slab->free_nodes = tern_mcts_node_at(slab, index)->next;
    else if ((used + (size_t)1) * slab->node_bytes > slab->edges_at)
        return 0;
    else
        index = used;
    tern_mcts_node *node = tern_mcts_node_at(slab, index);
    memset(node, 0, sizeof *node);
    node->live = 1;
    /* A thread that finds an index in use must find a complete node there. */
    if (index == used)
        /* R1: tern_mcts_node_of; a node is whole before its index is in use */
        atomic_store_explicit(&slab->nodes, used + 1, memory_order_release);
    return index;
}

void tern_mcts_node_give(tern_mcts_slab *slab, uint32_t index) {
    tern_mcts_node *node = tern_mcts_node_at(slab, index);
    node->live = 0;
    node->next = slab->free_nodes;
    slab->free_nodes = index;
}

/* Takes free edges of this class, or of the next larger one up to last. */
static tern_mcts_edges *take_free(tern_mcts_slab *slab, uint32_t class, uint32_t last) {
    for (uint32_t c = class; c <= last; c++) {
        tern_mcts_edges *edges = slab->free_edges[c];
        if (edges != NULL) {
            slab->free_edges[c] = edges->free;
            return edges;
        }
    }
    return NULL;
}

tern_mcts_edges *tern_mcts_edges_take(tern_mcts_slab *slab, uint32_t count) {
    uint32_t class, rounded = slab_round_up(count, &class);
    size_t bytes = edges_bytes(rounded);
    /* R5 */
    size_t nodes = atomic_load_explicit(&slab->nodes, memory_order_relaxed) * slab->node_bytes;
    tern_mcts_edges *edges = take_free(slab, class, class);
    if (edges == NULL && slab->edges_at - nodes >= bytes) {
        slab->edges_at -= bytes;
        edges = (tern_mcts_edges *)(void *)(slab->memory + slab->edges_at);
        edges->class = class;
    }
    if (edges == NULL)
        edges = take_free(slab, class, TERN_MCTS_CLASSES - 1);
    if (edges == NULL)
        return NULL;
    class = edges->class;
    memset(edges, 0, edges_bytes(rounded));
    edges->class = class;
    edges->count = count;
    return edges;
}

void tern_mcts_edges_give(tern_mcts_slab *slab, tern_mcts_edges *edges) {
    edges->free = slab->free_edges[edges->class];
    slab->free_edges[edges->class] = edges;
}

uint32_t tern_mcts_slab_find(const tern_mcts_slab *slab, uint64_t hash) {
    uint32_t index = slab->heads[(hash >> 16) & slab->heads_mask];
    while (index != 0 && tern_mcts_node_at(slab, index)->hash != hash)
        index = tern_mcts_node_at(slab, index)->chain;
    return index;
}

void tern_mcts_slab_enter(tern_mcts_slab *slab, uint32_t index) {
    tern_mcts_node *node = tern_mcts_node_at(slab, index);
    uint32_t *head = &slab->heads[(node->hash >> 16) & slab->heads_mask];
    node->chain = *head;
    *head = index;
}
