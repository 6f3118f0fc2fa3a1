/*
 * What the job of the campaign may read. A value carries its key, its writer and a number that the
 * writer counts up; only one rank writes a key. An odd number stands for a stored value, an even
 * one for a key that its writer has erased. An operation that ended with an error may have
 * happened.
 */

#ifndef TERN_TESTS_CAMPAIGN_MODEL_H
#define TERN_TESTS_CAMPAIGN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_KEYS = 48, MODEL_RANKS = 8 }; /* keys of each writer, writers */

typedef struct model_value {
    uint64_t key;
    uint32_t writer, number;
    uint64_t check;
} model_value;

/* What a rank knows of a container. */
typedef struct model {
    uint32_t sure[MODEL_KEYS];               /* of its own keys: the last number that was stored, */
    uint32_t tried[MODEL_KEYS];              /* and the last that was tried */
    uint32_t seen[MODEL_KEYS * MODEL_RANKS]; /* by key: the largest number that it has read */
} model;

static inline uint64_t model_check(const model_value *v) {
    uint64_t z = v->key * UINT64_C(0x9e3779b97f4a7c15) ^
                 ((uint64_t)v->writer << 32 | v->number) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 31)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 29);
}

static inline model_value model_make(uint64_t key, uint32_t writer, uint32_t number) {
    model_value v = {key, writer, number, 0};
    v.check = model_check(&v);
    return v;
}

/* The number of the next store, or erasure, of the own key with this index. */
static inline uint32_t model_next(const model *m, uint32_t index, bool stores) {
    const uint32_t next = m->tried[index] + 1;
    return next % 2 == stores ? next : next + 1;
}

static inline void model_tried(model *m, uint32_t index, uint32_t number, bool succeeded) {
    m->tried[index] = number;
    if (succeeded)
        m->sure[index] = number;
}

/* Whether a reader may have found this value under key. */
static inline bool model_may_find(model *m, uint64_t key, uint32_t reader, uint32_t ranks,
                                  const model_value *v) {
    const uint32_t index = (uint32_t)(key / ranks);
    if (v->key != key || v->writer != key % ranks || v->check != model_check(v) ||
        v->number % 2 == 0 || v->number < m->seen[key])
        return false;
    m->seen[key] = v->number;
    return v->writer != reader || (m->sure[index] <= v->number && v->number <= m->tried[index]);
}

/* Whether a reader may have found nothing under key. */
static inline bool model_may_miss(const model *m, uint64_t key, uint32_t reader, uint32_t ranks) {
    const uint32_t index = (uint32_t)(key / ranks);
    return key % ranks != reader || m->sure[index] % 2 == 0 || m->sure[index] < m->tried[index];
}

#endif
