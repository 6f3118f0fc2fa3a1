#include "histories/linearize.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * Depth-first search (Wing and Gong), which gives up a configuration that it has met before (Lowe):
 * which operations are in order already, and the state they led to, say all about what can follow.
 * Of configurations their 128-bit hashes are kept. Two with one hash would be a violation that did
 * none, once in 2^80 or so histories, and never the other way round.
 */

enum { CONFIGURATIONS = 1 << 19 };

typedef struct configuration {
    uint64_t done[HISTORY_OPERATIONS / 64];
    history_state state;
} configuration;

typedef struct search {
    const history_operation *operations;
    size_t count, most;
    history_step *const *step;
    configuration now;
    XXH128_hash_t *met; /* open addressing; a zero is free */
    size_t places, used;
    bool undecided;
} search;

static bool is_done(const search *s, size_t i) { return s->now.done[i / 64] >> i % 64 & 1; }

static void flip(search *s, size_t i) { s->now.done[i / 64] ^= UINT64_C(1) << i % 64; }

static bool put(XXH128_hash_t *met, size_t places, XXH128_hash_t hash) {
    size_t at = hash.low64 & (places - 1);
    for (; met[at].low64 != 0; at = (at + 1) & (places - 1))
        if (XXH128_isEqual(met[at], hash))
            return false;
    met[at] = hash;
    return true;
}

static bool grow(search *s) {
    size_t places = s->places == 0 ? 1024 : 2 * s->places;
    XXH128_hash_t *met = places <= CONFIGURATIONS ? calloc(places, sizeof *met) : NULL;
    if (met == NULL)
        return false;
    for (size_t i = 0; i < s->places; i++)
        if (s->met[i].low64 != 0)
            put(met, places, s->met[i]);
    free(s->met);
    s->met = met;
    s->places = places;
    return true;
}

/* Whether the search has not been where it is now. */
static bool is_new(search *s) {
    if (2 * s->used >= s->places && !grow(s)) {
        s->undecided = true;
        return false;
    }
    XXH128_hash_t hash = XXH3_128bits(&s->now, sizeof s->now);
    hash.low64 |= 1;
    bool fresh = put(s->met, s->places, hash);
    s->used += fresh;
    return fresh;
}

/* Whether what is before it in its chain is done. */
static bool is_next_of_chain(const search *s, size_t first, size_t i) {
    const history_operation *o = &s->operations[i];
    for (size_t j = first; o->chain != 0 && j < i; j++)
        if (s->operations[j].chain == o->chain && s->operations[j].actor == o->actor &&
            !is_done(s, j))
            return false;
    return true;
}

/* Next in order may be what was called before any of the rest had returned. first: all before it
 * are done; done: how many are. */
static bool extend(search *s, size_t first, size_t done) {
    s->most = done > s->most ? done : s->most;
    if (done == s->count)
        return true;
    if (!is_new(s))
        return false;
    while (is_done(s, first))
        first++;
    uint64_t horizon = UINT64_MAX;
    size_t end = first;
    for (; end < s->count && s->operations[end].call <= horizon; end++)
        if (!is_done(s, end) && s->operations[end].done < horizon)
            horizon = s->operations[end].done;
    const history_state before = s->now.state;
    for (size_t i = first; i < end; i++) {
        const history_operation *o = &s->operations[i];
        if (is_done(s, i) || !is_next_of_chain(s, first, i) ||
            !s->step[o->kind](&s->now.state, o)) {
            s->now.state = before;
            continue;
        }
        flip(s, i);
        if (extend(s, first, done + 1))
            return true;
        flip(s, i);
        s->now.state = before;
    }
    return false;
}

static int by_call(const void *a, const void *b) {
    const history_operation *x = a, *y = b;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

history_verdict history_judge(history_operation *operations, size_t count,
                              history_step *const *step, const history_state *initial,
                              size_t *most) {
    search s = {.operations = operations, .count = count, .step = step};
    if (count > HISTORY_OPERATIONS)
        return HISTORY_UNDECIDED;
    qsort(operations, count, sizeof *operations, by_call);
    s.now.state = *initial;
    bool found = extend(&s, 0, 0);
    free(s.met);
    if (most != NULL)
        *most = s.most;
    return found ? HISTORY_LINEARIZES : s.undecided ? HISTORY_UNDECIDED : HISTORY_VIOLATES;
}
