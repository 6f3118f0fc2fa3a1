#ifndef GRAPH_SPREAD_H
#define GRAPH_SPREAD_H

/*
 * Breadth-first search and connected components are one algorithm here: values spread along edges,
 * and each vertex keeps the least one that it is offered. A step takes all vertices whose value
 * became less in the step before. Each of them offers a value, which a rule makes of its own, to
 * its neighbours. When no vertex has changed, all values are final.
 *
 *     search       a value is the level, and in its low bits the parent. So in the step of its
 *                  level a vertex gets the parent with the least number, and no later offer is
 * less. components   a value is the number of a vertex. In the end each vertex has the least number
 *                  of its component.
 *
 * The least of all offers does not depend on their order. So the answer is the same on any number
 * of ranks.
 */

#include "lists.h"

#define NO_VALUE UINT64_MAX

/* Returns what a vertex with a value offers to its neighbours. */
typedef uint64_t (*spread_rule)(uint64_t vertex, uint64_t value);

/* The vertices of one rank. */
typedef struct {
    const lists *lists;
    spread_rule rule;
    uint64_t *value; /* of each slot */
    bool *waits;     /* whether a slot is in next */
    size_t *now;     /* slots that offer in this step */
    size_t *next;    /* slots that changed in this step */
    size_t now_count, next_count;
} spread;

void spread_open(spread *s, const lists *l, spread_rule rule);
void spread_close(spread *s);

/* Begins a step with the vertices that changed in the last one. */
void spread_turn(spread *s);

/* Offers a value to a vertex of this rank. */
static inline void spread_offer(spread *s, uint64_t vertex, uint64_t value) {
    size_t slot = lists_slot(s->lists, vertex);
    if (slot == NO_SLOT)
        give_up("a value was offered to a vertex of another rank: please report this");
    if (value >= s->value[slot])
        return;
    s->value[slot] = value;
    if (!s->waits[slot]) {
        s->waits[slot] = true;
        s->next[s->next_count++] = slot;
    }
}

/* Searches from a vertex, which only its owner calls. */
void spread_begin_search(spread *s, uint64_t source);
uint64_t spread_search_rule(uint64_t vertex, uint64_t value);
/* Of a value of a search. The source is its own parent. */
static inline uint64_t search_level(uint64_t value) { return value >> VERTEX_BITS; }
static inline uint64_t search_parent(uint64_t value) { return value & VERTEX_MOST; }

void spread_begin_components(spread *s);
uint64_t spread_components_rule(uint64_t vertex, uint64_t value);

#endif
