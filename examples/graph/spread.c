#include "spread.h"

void spread_open(spread *s, const lists *l, spread_rule rule) {
    *s = (spread){.lists = l, .rule = rule};
    s->value = need(NULL, l->vertices, sizeof *s->value);
    s->waits = need(NULL, l->vertices, sizeof *s->waits);
    s->now = need(NULL, l->vertices, sizeof *s->now);
    s->next = need(NULL, l->vertices, sizeof *s->next);
    for (size_t slot = 0; slot < l->vertices; slot++) {
        s->value[slot] = NO_VALUE;
        s->waits[slot] = false;
    }
}

void spread_close(spread *s) {
    free(s->value);
    free(s->waits);
    free(s->now);
    free(s->next);
}

void spread_turn(spread *s) {
    size_t *now = s->next;
    s->next = s->now;
    s->now = now;
    s->now_count = s->next_count;
    s->next_count = 0;
    for (size_t i = 0; i < s->now_count; i++)
        s->waits[now[i]] = false;
}

void spread_begin_search(spread *s, uint64_t source) { spread_offer(s, source, source); }

uint64_t spread_search_rule(uint64_t vertex, uint64_t value) {
    uint64_t level = search_level(value) + 1;
    if (level == UINT64_MAX >> VERTEX_BITS)
        give_up("a path of 2^24 - 1 edges is too long for this program");
    return level << VERTEX_BITS | vertex;
}

void spread_begin_components(spread *s) {
    for (size_t slot = 0; slot < s->lists->vertices; slot++)
        spread_offer(s, s->lists->vertex[slot], s->lists->vertex[slot]);
}

uint64_t spread_components_rule(uint64_t vertex, uint64_t value) {
    (void)vertex;
    return value;
}
