#include "tern/wait.h"

#include "base/error.h"
#include "rma/transfer.h"
#include "src/progress/wait.h"

/* Waits and tests for words of memory. A wait is a loop around one look, which keeps what it has
 * found in a tern_until. */

typedef enum tern_until_kind { UNTIL_ALL, UNTIL_ANY, UNTIL_SOME } tern_until_kind;

typedef struct tern_until {
    const char *name; /* of the public function */
    const tern_word_list *words;
    tern_until_kind kind;
    size_t at;       /* all: the words before this one have satisfied their comparisons; any: where
                        the search begins */
    size_t *indices; /* some */
    size_t found;    /* some: how many; any: the index */
} tern_until;

static size_t until_width(const tern_word_list *words) {
    return words->width == 0 ? 8 : words->width;
}

/* Loads word i, or its value; 4 bytes are extended as the comparison says. */
static uint64_t until_load(const tern_word_list *w, size_t i, bool of_words) {
    const bool is_signed = w->comparison >= TERN_LESS_SIGNED;
    uint64_t long_word = 0;
    uint32_t short_word = 0;
    if (!of_words && w->values == NULL) {
        long_word = w->value;
        short_word = (uint32_t)w->value;
    } else if (until_width(w) == 8) {
        const uint64_t *word = (const uint64_t *)(of_words ? w->words : w->values) + i;
        /* R11: tern_fence; what was put before the word is read after it */
        long_word = of_words ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : *word;
    } else {
        const uint32_t *word = (const uint32_t *)(of_words ? w->words : w->values) + i;
        /* R11: tern_fence; what was put before the word is read after it */
        short_word = of_words ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : *word;
    }
    if (until_width(w) == 8)
        return long_word;
    return is_signed ? (uint64_t)(int64_t)(int32_t)short_word : short_word;
}

static bool until_holds(const tern_word_list *w, size_t i) {
    const uint64_t word = until_load(w, i, true), value = until_load(w, i, false);
    const int64_t signed_word = (int64_t)word, signed_value = (int64_t)value;
    switch (w->comparison) {
    case TERN_EQUAL:
        return word == value;
    case TERN_NOT_EQUAL:
        return word != value;
    case TERN_LESS:
        return word < value;
    case TERN_LESS_EQUAL:
        return word <= value;
    case TERN_GREATER:
        return word > value;
    case TERN_GREATER_EQUAL:
        return word >= value;
    case TERN_LESS_SIGNED:
        return signed_word < signed_value;
    case TERN_LESS_EQUAL_SIGNED:
        return signed_word <= signed_value;
    case TERN_GREATER_SIGNED:
        return signed_word > signed_value;
    case TERN_GREATER_EQUAL_SIGNED:
        return signed_word >= signed_value;
    }
    return false;
}

static bool until_counts(const tern_word_list *w, size_t i) {
    return w->skip == NULL || w->skip[i] == 0;
}

/* Returns whether the wait is over. */
static bool until_look(tern_until *u) {
    const tern_word_list *w = u->words;
    bool none = true;
    if (u->kind == UNTIL_ALL) {
        while (u->at < w->count && (!until_counts(w, u->at) || until_holds(w, u->at)))
            u->at++;
        return u->at == w->count;
    }
    u->found = u->kind == UNTIL_ANY ? TERN_NO_WORD : 0;
    for (size_t k = 0; k < w->count; k++) {
        const size_t i =
            u->kind == UNTIL_ANY && k >= w->count - u->at ? k - (w->count - u->at) : k + u->at;
        if (!until_counts(w, i))
            continue;
        none = false;
        if (!until_holds(w, i))
            continue;
        if (u->kind == UNTIL_ANY) {
            u->found = i;
            return true;
        }
        u->indices[u->found++] = i;
    }
    return none || (u->kind == UNTIL_SOME && u->found > 0);
}

static tern_status until_check(const tern_worker *worker, const tern_until *u, const void *out) {
    const tern_word_list *w = u->words;
    if (worker == NULL || w == NULL || out == NULL || (w->count > 0 && w->words == NULL))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker, the words or an output is NULL", u->name);
    if (until_width(w) != 8 && until_width(w) != 4)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: width is %zu; words have 4 or 8 bytes", u->name,
                         w->width);
    if ((uintptr_t)w->words % until_width(w) != 0 || (uintptr_t)w->values % until_width(w) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: words or values of %zu bytes lie at %p and %p; align them", u->name,
                         until_width(w), w->words, w->values);
    if ((unsigned)w->comparison > TERN_GREATER_EQUAL_SIGNED)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: comparison is %d; pass a tern_comparison", u->name,
                         (int)w->comparison);
    if (w->peer != NULL && *w->peer >= worker->context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: peer is %u, but there are only %u ranks", u->name,
                         *w->peer, worker->context->size);
    return TERN_OK;
}

/* Waits for a tern_until that was checked. After an error it looks once more: the peer may have
 * changed the word before it died. */
static tern_status until_wait(tern_worker *worker, tern_until *u) {
    const uint32_t rank = u->words->peer != NULL ? *u->words->peer : TERN_ANYBODY;
    if (until_look(u))
        return TERN_OK;
    tern_status status = tern_worker_may_wait(worker, u->name);
    if (status != TERN_OK)
        return status;
    tern_wait_state wait = TERN_WAIT_FOR("a word of its memory to change", NULL, UINT64_MAX);
    do {
        (void)tern_puts_deliver(worker); /* another rank may need these puts to change the word */
        const size_t events = tern_progress_round(worker);
        if (until_look(u))
            return TERN_OK;
        status = tern_wait_round(worker->context, &wait, events, rank);
    } while (status == TERN_OK);
    if (!until_look(u))
        return status;
    tern_error_clear();
    return TERN_OK;
}

/* [out] over: whether a wait would return at once. */
static tern_status until_test(tern_worker *worker, tern_until *u, bool *over) {
    *over = until_look(u);
    if (*over)
        return TERN_OK;
    if (!worker->in_handler && !worker->in_progress) {
        (void)tern_progress_round(worker);
        tern_look_vainly(worker);
        *over = until_look(u);
    }
    if (*over || u->words->peer == NULL)
        return TERN_OK;
    const tern_status status = tern_glance(worker, *u->words->peer);
    *over = status != TERN_OK && until_look(u);
    if (!*over)
        return status;
    tern_error_clear();
    return TERN_OK;
}

static tern_status until_wait_one(tern_worker *worker, const char *name,
                                  const tern_word_list *words) {
    tern_until u = {.name = name, .words = words, .kind = UNTIL_ALL};
    const tern_status status = until_check(worker, &u, words);
    return status == TERN_OK ? until_wait(worker, &u) : status;
}

tern_status tern_wait_until(tern_worker *worker, const uint64_t *word, tern_comparison comparison,
                            uint64_t value) {
    const tern_word_list words = {
        .words = word, .count = 1, .comparison = comparison, .value = value};
    return until_wait_one(worker, "tern_wait_until", &words);
}

tern_status tern_wait_until32(tern_worker *worker, const uint32_t *word, tern_comparison comparison,
                              uint32_t value) {
    const tern_word_list words = {
        .words = word, .count = 1, .width = 4, .comparison = comparison, .value = value};
    return until_wait_one(worker, "tern_wait_until32", &words);
}

tern_status tern_wait_until_all(tern_worker *worker, const tern_word_list *words) {
    return until_wait_one(worker, "tern_wait_until_all", words);
}

/* The number of the word at which a search begins. */
static size_t until_start(const tern_word_list *words, size_t start) {
    return words != NULL && words->count > 0 ? start % words->count : 0;
}

tern_status tern_wait_until_any(tern_worker *worker, const tern_word_list *words, size_t start,
                                size_t *index) {
    tern_until u = {.name = "tern_wait_until_any",
                    .words = words,
                    .kind = UNTIL_ANY,
                    .at = until_start(words, start)};
    tern_status status = until_check(worker, &u, index);
    if (status == TERN_OK)
        status = until_wait(worker, &u);
    if (status == TERN_OK)
        *index = u.found;
    return status;
}

tern_status tern_wait_until_some(tern_worker *worker, const tern_word_list *words, size_t *indices,
                                 size_t *found) {
    tern_until u = {
        .name = "tern_wait_until_some", .words = words, .kind = UNTIL_SOME, .indices = indices};
    tern_status status = until_check(worker, &u, indices != NULL ? found : NULL);
    if (status == TERN_OK)
        status = until_wait(worker, &u);
    if (status == TERN_OK)
        *found = u.found;
    return status;
}

static tern_status until_test_all(tern_worker *worker, const char *name,
                                  const tern_word_list *words, int *holds) {
    tern_until u = {.name = name, .words = words, .kind = UNTIL_ALL};
    bool over = false;
    tern_status status = until_check(worker, &u, holds);
    if (status == TERN_OK)
        status = until_test(worker, &u, &over);
    if (status == TERN_OK)
        *holds = over;
    return status;
}

tern_status tern_test_until(tern_worker *worker, const uint64_t *word, tern_comparison comparison,
                            uint64_t value, int *holds) {
    const tern_word_list words = {
        .words = word, .count = 1, .comparison = comparison, .value = value};
    return until_test_all(worker, "tern_test_until", &words, holds);
}

tern_status tern_test_until32(tern_worker *worker, const uint32_t *word, tern_comparison comparison,
                              uint32_t value, int *holds) {
    const tern_word_list words = {
        .words = word, .count = 1, .width = 4, .comparison = comparison, .value = value};
    return until_test_all(worker, "tern_test_until32", &words, holds);
}

tern_status tern_test_until_all(tern_worker *worker, const tern_word_list *words, int *holds) {
    return until_test_all(worker, "tern_test_until_all", words, holds);
}

tern_status tern_test_until_any(tern_worker *worker, const tern_word_list *words, size_t start,
                                size_t *index) {
    tern_until u = {.name = "tern_test_until_any",
                    .words = words,
                    .kind = UNTIL_ANY,
                    .at = until_start(words, start)};
    bool over;
    tern_status status = until_check(worker, &u, index);
    if (status == TERN_OK)
        status = until_test(worker, &u, &over);
    if (status == TERN_OK)
        *index = u.found;
    return status;
}

tern_status tern_test_until_some(tern_worker *worker, const tern_word_list *words, size_t *indices,
                                 size_t *found) {
    tern_until u = {
        .name = "tern_test_until_some", .words = words, .kind = UNTIL_SOME, .indices = indices};
    bool over;
    tern_status status = until_check(worker, &u, indices != NULL ? found : NULL);
    if (status == TERN_OK)
        status = until_test(worker, &u, &over);
    if (status == TERN_OK)
        *found = u.found;
    return status;
}
