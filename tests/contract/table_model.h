/* What test_hashtable_model.c runs: the forms and kinds of operations, and the model of a rank's
 * own keys, which lie between those of the others. */

#ifndef TERN_TESTS_CONTRACT_TABLE_MODEL_H
#define TERN_TESTS_CONTRACT_TABLE_MODEL_H

#include "table_tools.h"

#include "tern/hashtable.h"

enum { STEP = 10, EACH_MOST = 160, UNTOUCHED = 77 };

typedef enum form {
    BLOCKING_RMA,
    BLOCKING_CALL,
    BLOCKING_AUTO,
    REQUESTS_RMA,
    REQUESTS_CALL,
    BATCHES_RMA,
    BATCHES_CALL,
    BUFFERED,
    IN_HANDLERS,
    FORMS
} form;

static const char *const form_names[FORMS] = {
    "blocking by RMA", "blocking by call", "blocking",
    "requests by RMA", "requests by call", "batches by RMA",
    "batches by call", "through a buffer", "in handlers"};

static const tern_flags form_paths[FORMS] = {TERN_BY_RMA,  TERN_BY_CALL, TERN_AUTO,
                                             TERN_BY_RMA,  TERN_BY_CALL, TERN_BY_RMA,
                                             TERN_BY_CALL, TERN_AUTO,    TERN_BY_RMA};

typedef enum kind { FIND, INSERT, INSERT_NEW, ERASE, MODIFY, ADD, SWAP, MISUSE } kind;

typedef struct shape {
    size_t key_bytes, value_bytes;
    int counter, grow, call_only;
    uint64_t each; /* keys of a rank */
} shape;

typedef struct item {
    uint64_t k;        /* which of the rank's keys */
    uint64_t word;     /* the version of a value, what is added, the desired counter */
    uint64_t expected; /* counter */
    tern_absent absent;
} item;

typedef struct entry {
    uint64_t there, word; /* the version of the value, or the counter */
} entry;

typedef struct answer {
    tern_status status;
    int existed;
    uint64_t before;
} answer;

typedef struct scene {
    fixture *f;
    const shape *shape;
    tern_hashtable *table;
    tern_hashtable_buffer *buffer;
    form form;
    tern_flags promise;
    uint64_t random, newest;
    entry own[EACH_MOST];
} scene;

static uint64_t number_of(const scene *s, uint64_t k) { return k * s->f->size + s->f->rank; }

static void key_of(const scene *s, uint64_t k, void *key) {
    make_key(key, s->shape->key_bytes, number_of(s, k));
}

/* What the operation answers, by the model, which it changes. */
static answer model_answer(scene *s, kind kind, const item *i) {
    entry *at = &s->own[i->k];
    answer a = {TERN_OK, at->there != 0, at->word};
    const bool absent = at->there == 0;
    if (absent && (kind == FIND || kind == ERASE || kind == SWAP ||
                   (kind == MODIFY && i->absent == TERN_ABSENT_FAIL)))
        return (answer){TERN_ERR_NOT_FOUND, 0, 0};
    if (kind == ERASE)
        *at = (entry){0, 0};
    else if (kind == INSERT || kind == MODIFY || (kind == INSERT_NEW && absent))
        *at = (entry){1, i->word};
    else if (kind == ADD)
        *at = (entry){1, at->word + i->word};
    else if (kind == SWAP && at->word == i->expected)
        at->word = i->word;
    return a;
}

#endif
