/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The flag is the payload: a word that counts up. Each rank first passes it on and then tells the
 * root directly, on a line of its own. */

#include "ceilings.h"
#include "wait.h"

static uint64_t *line(char *lines, unsigned rank) {
    return (uint64_t *)(void *)(lines + (size_t)rank * CEILING_TREE_LINE);
}

static void await(const uint64_t *word, uint64_t count) {
    unsigned looks = 0;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != count) /* pairs with the stores below */
        if (++looks > 64)
            ceiling_wait(looks);
}

static void pass_on(const ceiling_flag_tree *tree) {
    const unsigned first = tree->rank * tree->arity + 1;
    for (unsigned to = first; to < first + tree->arity && to < tree->ranks; to++)
        __atomic_store_n(line(tree->there, to), tree->count, __ATOMIC_RELEASE);
}

void ceiling_flag_tree_send(ceiling_flag_tree *tree, uint64_t n) {
    while (n-- > 0) {
        tree->count++;
        pass_on(tree);
        for (unsigned from = 1; from < tree->ranks; from++)
            await(line(tree->back, from), tree->count);
    }
}

void ceiling_flag_tree_pass(ceiling_flag_tree *tree, uint64_t n) {
    while (n-- > 0) {
        tree->count++;
        await(line(tree->there, tree->rank), tree->count);
        pass_on(tree);
        __atomic_store_n(line(tree->back, tree->rank), tree->count, __ATOMIC_RELEASE);
    }
}
