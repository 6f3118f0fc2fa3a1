#include "mcts/work.h"

#include <stdlib.h>

/* Doubles the array. The new elements are free. */
static bool returns_grow(tern_mcts_worker *w) {
    uint32_t size = w->returns_size > 0 ? 2 * w->returns_size : 256;
    tern_mcts_return *more = realloc(w->returns, size * sizeof *more);
    if (more == NULL) {
        tern_mcts_fail(w->search,
                       tern_fail(TERN_ERR_MEMORY,
                                 "no memory for %u rollouts under way in shared nodes", size));
        return false;
    }
    w->returns = more;
    for (uint32_t i = w->returns_size > 0 ? w->returns_size : 1; i < size; i++) {
        more[i].next = w->returns_free;
        w->returns_free = i;
    }
    w->returns_size = size;
    return true;
}

void tern_mcts_return_push(tern_mcts_worker *w, tern_mcts_node *node, uint64_t from,
                           uint32_t slot) {
    if (w->returns_free == 0 && !returns_grow(w))
        return;
    uint32_t i = w->returns_free;
    w->returns_free = w->returns[i].next;
    w->returns[i] = (tern_mcts_return){from, slot, node->returns};
    node->returns = i;
}

void tern_mcts_return_pop(tern_mcts_worker *w, tern_mcts_node *node, uint64_t *from,
                          uint32_t *slot) {
    uint32_t i = node->returns;
    *from = i != 0 ? w->returns[i].name : 0;
    *slot = i != 0 ? w->returns[i].slot : 0;
    if (i == 0) /* after a failure, or for a message that no worker of this search sent */
        return;
    node->returns = w->returns[i].next;
    w->returns[i].next = w->returns_free;
    w->returns_free = i;
}
