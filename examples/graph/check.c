#include "answer.h"

#include <inttypes.h>
#include <stdarg.h>

#include "spread.h"

/* A sequential run, and the answers by slot. */
typedef struct {
    lists lists;
    uint64_t source;
    uint64_t *level;       /* of the sequential search, NO_VALUE if not reached */
    size_t *parent;        /* in the union-find */
    const answer **answer; /* NULL: none */
    char *why;
    size_t room;
} verdict;

static bool wrong(const verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(const verdict *v, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->why, v->room, format, arguments);
    va_end(arguments);
    return false;
}

digest answers_digest(const answer *answers, size_t count) {
    digest d = {0};
    for (size_t i = 0; i < count; i++) {
        const answer *a = &answers[i];
        d.hashes += mix(mix(mix(a->vertex + 1) ^ a->search) ^ a->component);
        d.components += a->component == a->vertex;
        if (a->search != NO_VALUE) {
            d.reached++;
            d.levels += search_level(a->search);
        }
    }
    return d;
}

static void make_lists(verdict *v, const edges *all) {
    edges arcs = {0};
    for (size_t i = 0; i < all->count; i++) {
        edges_add(&arcs, all->at[i].from, all->at[i].to);
        edges_add(&arcs, all->at[i].to, all->at[i].from);
    }
    lists_make(&v->lists, &arcs);
    edges_free(&arcs);
}

static void search(verdict *v) {
    const lists *l = &v->lists;
    size_t *queue = need(NULL, l->vertices, sizeof *queue), first = 0, last = 0;
    for (size_t slot = 0; slot < l->vertices; slot++)
        v->level[slot] = NO_VALUE;
    queue[last++] = lists_slot(l, v->source);
    v->level[queue[0]] = 0;
    while (first < last) {
        size_t slot = queue[first++];
        for (size_t i = l->start[slot]; i < l->start[slot + 1]; i++) {
            size_t to = lists_slot(l, l->neighbour[i]);
            if (v->level[to] == NO_VALUE) {
                v->level[to] = v->level[slot] + 1;
                queue[last++] = to;
            }
        }
    }
    free(queue);
}

static size_t find_root(size_t *parent, size_t slot) {
    while (parent[slot] != slot) {
        parent[slot] = parent[parent[slot]];
        slot = parent[slot];
    }
    return slot;
}

/* The root of each component is its least vertex. */
static void unite(verdict *v, const edges *all) {
    for (size_t slot = 0; slot < v->lists.vertices; slot++)
        v->parent[slot] = slot;
    for (size_t i = 0; i < all->count; i++) {
        size_t a = find_root(v->parent, lists_slot(&v->lists, all->at[i].from));
        size_t b = find_root(v->parent, lists_slot(&v->lists, all->at[i].to));
        if (v->lists.vertex[a] < v->lists.vertex[b])
            v->parent[b] = a;
        else
            v->parent[a] = b;
    }
}

static bool place_answers(verdict *v, const answer *answers, size_t count) {
    for (size_t slot = 0; slot < v->lists.vertices; slot++)
        v->answer[slot] = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t slot = lists_slot(&v->lists, answers[i].vertex);
        if (slot == NO_SLOT)
            return wrong(v, "vertex %" PRIu64 " is not in the graph", answers[i].vertex);
        if (v->answer[slot] != NULL)
            return wrong(v, "vertex %" PRIu64 " is there twice", answers[i].vertex);
        v->answer[slot] = &answers[i];
    }
    if (count < v->lists.vertices)
        return wrong(v, "the graph has %zu vertices, and %zu of them have an answer",
                     v->lists.vertices, count);
    return true;
}

static bool has_edge(const lists *l, size_t slot, uint64_t to) {
    size_t low = l->start[slot], high = l->start[slot + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->neighbour[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->start[slot + 1] && l->neighbour[low] == to;
}

static uint64_t level_of(const answer *a) {
    return a->search == NO_VALUE ? NO_VALUE : search_level(a->search);
}

static bool check_vertex(const verdict *v, size_t slot) {
    const answer *a = v->answer[slot];
    uint64_t level = level_of(a), least = v->lists.vertex[find_root(v->parent, slot)];
    if (level != v->level[slot])
        return wrong(v, "vertex %" PRIu64 " has level %" PRId64 ", the sequential search %" PRId64,
                     a->vertex, (int64_t)level, (int64_t)v->level[slot]);
    if (a->component != least)
        return wrong(v, "vertex %" PRIu64 " is in component %" PRIu64 ", by union-find in %" PRIu64,
                     a->vertex, a->component, least);
    if (level == NO_VALUE)
        return true;
    uint64_t parent = search_parent(a->search);
    if (a->vertex == v->source)
        return parent == v->source || wrong(v, "the source has a parent, %" PRIu64, parent);
    if (!has_edge(&v->lists, slot, parent))
        return wrong(v, "vertex %" PRIu64 " has no edge to its parent %" PRIu64, a->vertex, parent);
    if (level_of(v->answer[lists_slot(&v->lists, parent)]) + 1 != level)
        return wrong(v, "the parent of vertex %" PRIu64 ", %" PRIu64 ", is not one level above it",
                     a->vertex, parent);
    return true;
}

static bool check_edge(const verdict *v, const edge *e) {
    uint64_t from = level_of(v->answer[lists_slot(&v->lists, e->from)]);
    uint64_t to = level_of(v->answer[lists_slot(&v->lists, e->to)]);
    if ((from == NO_VALUE) != (to == NO_VALUE) || from - to + 1 > 2)
        return wrong(v, "the edge %" PRIu64 " %" PRIu64 " joins levels %" PRId64 " and %" PRId64,
                     e->from, e->to, (int64_t)from, (int64_t)to);
    return true;
}

bool answers_check(const answer *answers, size_t count, const edges *all, uint64_t source,
                   char *why, size_t room) {
    verdict v = {.source = source, .why = why, .room = room};
    make_lists(&v, all);
    size_t vertices = v.lists.vertices;
    v.level = need(NULL, vertices, sizeof *v.level);
    v.parent = need(NULL, vertices, sizeof *v.parent);
    v.answer = need(NULL, vertices, sizeof(const answer *));
    search(&v);
    unite(&v, all);
    bool good = place_answers(&v, answers, count);
    for (size_t i = 0; good && i < all->count; i++)
        good = check_edge(&v, &all->at[i]);
    for (size_t slot = 0; good && slot < vertices; slot++)
        good = check_vertex(&v, slot);
    lists_free(&v.lists);
    free(v.level);
    free(v.parent);
    free(v.answer);
    return good;
}
