// tern-test: transports

/*
 * Hash tables against a model: one random script of finds, inserts, erasures, modifications,
 * additions and exchanges, with misuse in between, runs in every form that the public headers have:
 * blocking by each path, requests, batches, a buffer, and inside handlers. Each answer is checked,
 * and at the end every bit of the table. Each rank works on keys of its own, which lie between
 * those of the others, in phases as the flags promise them.
 *
 * The seed of the run, which is printed, makes the script; --seed runs it again.
 */

#include "table_model.h"

#include <stdlib.h>

#include "tern/hashtable.h"

typedef struct change {
    uint64_t number, old, word, bytes, absent;
} change;

/* The new value takes the place of the old one, which is as it should be. */
static tern_status replace(tern_hashtable_modify_info *info, void *value) {
    static const unsigned char zeros[VALUE_MAX];
    const change *c = info->argument;
    const int right = c->absent ? !info->existed && memcmp(value, zeros, c->bytes) == 0
                                : info->existed && is_value(value, c->bytes, c->number, c->old);
    memcpy(info->result, &right, sizeof right);
    info->result_bytes = sizeof right;
    make_value(value, c->bytes, c->number, c->word);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(replace)

static answer modify(const scene *s, tern_worker *w, const item *i, tern_flags flags) {
    const entry *old = &s->own[i->k];
    const change c = {number_of(s, i->k), old->word, i->word, s->shape->value_bytes, !old->there};
    unsigned char key[KEY_MAX];
    answer a = {TERN_OK, UNTOUCHED, 0};
    int right = 0;
    size_t bytes = 0;
    key_of(s, i->k, key);
    a.status = tern_hashtable_modify(w, s->table, key, &replace_modifier,
                                     &(tern_modify_options){.argument = &c,
                                                            .argument_bytes = sizeof c,
                                                            .absent = i->absent,
                                                            .result = &right,
                                                            .capacity = sizeof right,
                                                            .result_bytes = &bytes},
                                     flags, &a.existed);
    CU_ASSERT(a.status != TERN_OK || (right == 1 && bytes == sizeof right));
    return a;
}

static unsigned char values[STEP][VALUE_MAX];

/* A found value is what the model says, or the memory for it is as it was. */
static void check_value(const scene *s, const unsigned char *value, uint64_t k, uint64_t word,
                        bool found) {
    const size_t bytes = s->shape->counter ? 8 : s->shape->value_bytes;
    uint64_t count = word, touched = 0;
    if (found && s->shape->counter) {
        CU_ASSERT_EQUAL(memcmp(value, &count, sizeof count), 0);
    } else if (found) {
        CU_ASSERT(is_value(value, bytes, number_of(s, k), word));
    } else {
        for (size_t b = 0; b < bytes; b++)
            touched += value[b] != 0xee;
        CU_ASSERT_EQUAL(touched, 0);
    }
}

/* One blocking operation, before the model has changed. */
static answer do_one(const scene *s, tern_worker *w, kind kind, const item *i, tern_flags flags) {
    unsigned char key[KEY_MAX], *value = values[0];
    answer a = {TERN_OK, UNTOUCHED, UNTOUCHED};
    tern_hashtable *t = s->table;
    key_of(s, i->k, key);
    if (kind == INSERT || kind == INSERT_NEW)
        make_value(value, s->shape->value_bytes, number_of(s, i->k), i->word);
    switch (kind) {
    case FIND:
        memset(value, 0xee, s->shape->value_bytes + 8);
        a.status = tern_hashtable_find(w, t, key, flags, value);
        check_value(s, value, i->k, s->own[i->k].word, a.status == TERN_OK);
        break;
    case INSERT:
        a.status = tern_hashtable_insert(w, t, key, value, flags, &a.existed);
        break;
    case INSERT_NEW:
        a.status = tern_hashtable_insert_new(w, t, key, value, flags, &a.existed);
        break;
    case ERASE:
        a.status = tern_hashtable_erase(w, t, key, flags);
        break;
    case MODIFY:
        return modify(s, w, i, flags & ~(tern_flags)TERN_BY_RMA);
    case ADD:
        a.status = tern_hashtable_add(w, t, key, i->word, flags, &a.before);
        break;
    default:
        a.status = tern_hashtable_compare_swap(w, t, key, i->expected, i->word, flags, &a.before);
    }
    return a;
}

/* Outputs of what failed are as they were. */
static void check_answer(const scene *s, kind kind, answer got, answer wanted) {
    char what[80];
    snprintf(what, sizeof what, "kind %d %s", (int)kind, form_names[s->form]);
    tern_expect(got.status, wanted.status, what, __LINE__, __FILE__);
    if (got.status != TERN_OK) {
        CU_ASSERT_EQUAL(got.existed, UNTOUCHED);
    } else if (kind == INSERT || kind == INSERT_NEW || kind == MODIFY) {
        CU_ASSERT_EQUAL(got.existed, wanted.existed);
    } else if (kind == ADD || kind == SWAP) {
        CU_ASSERT_EQUAL(got.before, wanted.before);
    }
}

static void run_blocking(scene *s, kind kind, const item *items, size_t count, tern_flags flags) {
    for (size_t i = 0; i < count; i++) {
        const answer got = do_one(s, s->f->worker, kind, &items[i], flags);
        check_answer(s, kind, got, model_answer(s, kind, &items[i]));
    }
}

/* Requests. */

typedef struct window {
    tern_request requests[STEP];
    unsigned char keys[STEP][KEY_MAX];
    answer wanted[STEP];
    item items[STEP];
    size_t count;
} window;

static tern_status start(scene *s, kind kind, window *n, tern_flags flags) {
    const size_t i = n->count;
    unsigned char key[KEY_MAX];
    tern_worker *w = s->f->worker;
    key_of(s, n->items[i].k, key);
    if (kind == FIND) {
        memset(values[i], 0xee, s->shape->value_bytes + 8);
        return tern_hashtable_find_start(w, s->table, key, flags, values[i], &n->requests[i]);
    }
    make_value(values[i], s->shape->value_bytes, number_of(s, n->items[i].k), n->items[i].word);
    if (kind == INSERT)
        return tern_hashtable_insert_start(w, s->table, key, values[i], flags, &n->requests[i]);
    if (kind == INSERT_NEW)
        return tern_hashtable_insert_new_start(w, s->table, key, values[i], flags, &n->requests[i]);
    return tern_hashtable_add_start(w, s->table, key, n->items[i].word, flags, &n->requests[i]);
}

/* In one of the ways that there are to wait; then each tells what became of it. */
static void complete(scene *s, kind kind, window *n) {
    tern_worker *w = s->f->worker;
    size_t index = 0, ended = 0;
    if (n->count == 0)
        return;
    switch (below(&s->random, 3)) {
    case 0:
        while (index + 1 < n->count && n->wanted[index].status == TERN_OK)
            index++;
        EXPECT(n->wanted[index].status, tern_wait_all(w, n->requests, n->count));
        break;
    case 1:
        for (tern_status status; ended <= n->count; ended++) {
            status = tern_wait_any(w, n->requests, n->count, &index);
            CU_ASSERT_EQUAL(status, index < n->count ? n->wanted[index].status : TERN_OK);
            if (index == n->count)
                break;
        }
        CU_ASSERT_EQUAL(ended, n->count);
        break;
    default:
        for (int done = 0; !done;)
            EXPECT_OK(tern_test(w, &n->requests[n->count - 1], &done));
    }
    for (size_t i = 0; i < n->count; i++) {
        const tern_status status = tern_wait(w, &n->requests[i]);
        tern_expect(status, n->wanted[i].status, form_names[s->form], __LINE__, __FILE__);
        const uint64_t result = tern_request_result(&n->requests[i]);
        if (kind == FIND)
            check_value(s, values[i], n->items[i].k, n->wanted[i].before, status == TERN_OK);
        else if (status == TERN_OK)
            CU_ASSERT_EQUAL(result,
                            kind == ADD ? n->wanted[i].before : (uint64_t)n->wanted[i].existed);
    }
    memset(n->requests, 0, sizeof n->requests);
    n->count = 0;
}

/* Requests on one key are not under way together: they would come in any order. */
static void run_requests(scene *s, kind kind, const item *items, size_t count, tern_flags flags) {
    static window n;
    if (kind != FIND && kind != INSERT && kind != INSERT_NEW && kind != ADD) {
        run_blocking(s, kind, items, count, flags);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool together = false;
        for (size_t j = 0; j < n.count; j++)
            together = together || n.items[j].k == items[i].k;
        if (together)
            complete(s, kind, &n);
        n.items[n.count] = items[i];
        tern_status status = start(s, kind, &n, flags);
        if (status == TERN_ERR_AGAIN && n.count > 0) {
            complete(s, kind, &n);
            n.items[0] = items[i];
            status = start(s, kind, &n, flags);
        }
        if (!tern_expect(status, TERN_OK, form_names[s->form], __LINE__, __FILE__))
            continue;
        n.wanted[n.count++] = model_answer(s, kind, &items[i]);
    }
    complete(s, kind, &n);
}

/* Batches: of several values of one key the last one stays. */

static unsigned char packed_keys[STEP * KEY_MAX], packed[STEP * VALUE_MAX + 1];

static void run_find_many(scene *s, const item *items, size_t count, tern_flags flags) {
    const size_t bytes = s->shape->counter ? 8 : s->shape->value_bytes;
    unsigned char found[STEP];
    size_t present = UNTOUCHED, wanted = 0;
    const bool told = below(&s->random, 2);
    memset(packed, 0xee, count * bytes + 1);
    EXPECT_OK(tern_hashtable_find_many(s->f->worker, s->table, packed_keys, count, flags, packed,
                                       told ? found : NULL, &present));
    for (size_t i = 0; i < count; i++) {
        const answer a = model_answer(s, FIND, &items[i]);
        wanted += a.status == TERN_OK;
        CU_ASSERT(!told || found[i] == (a.status == TERN_OK));
        check_value(s, packed + i * bytes, items[i].k, a.before, a.status == TERN_OK);
    }
    CU_ASSERT_EQUAL(present, wanted);
    CU_ASSERT_EQUAL(packed[count * bytes], 0xee);
}

static void run_batch(scene *s, kind kind, const item *items, size_t count, tern_flags flags) {
    const size_t bytes = s->shape->value_bytes;
    tern_worker *w = s->f->worker;
    size_t done = UNTOUCHED;
    if (kind != FIND && kind != INSERT && kind != ADD) {
        run_blocking(s, kind, items, count, flags);
        return;
    }
    for (size_t i = 0; i < count; i++)
        key_of(s, items[i].k, packed_keys + i * s->shape->key_bytes);
    if (kind == FIND) {
        run_find_many(s, items, count, flags);
        return;
    }
    for (size_t i = 0; i < count && kind == INSERT; i++)
        make_value(packed + i * bytes, bytes, number_of(s, items[i].k), items[i].word);
    if (kind == INSERT)
        EXPECT_OK(tern_hashtable_insert_many(w, s->table, packed_keys, bytes > 0 ? packed : NULL,
                                             count, flags, &done));
    else
        EXPECT_OK(
            tern_hashtable_add_many(w, s->table, packed_keys, count, items[0].word, flags, &done));
    CU_ASSERT_EQUAL(done, count);
    for (size_t i = 0; i < count; i++)
        (void)model_answer(s, kind, &items[i]);
}

static void run_buffer(scene *s, kind kind, const item *items, size_t count, tern_flags flags) {
    unsigned char key[KEY_MAX];
    uint64_t refused = UNTOUCHED;
    if (kind != INSERT && kind != ADD) {
        run_blocking(s, kind, items, count, flags);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        key_of(s, items[i].k, key);
        make_value(values[0], s->shape->value_bytes, number_of(s, items[i].k), items[i].word);
        if (kind == INSERT)
            EXPECT_OK(tern_hashtable_buffer_insert(s->f->worker, s->buffer, key, values[0]));
        else
            EXPECT_OK(tern_hashtable_buffer_add(s->f->worker, s->buffer, key, items[i].word));
        memset(values[0], 0xdd, s->shape->value_bytes); /* it was copied */
        (void)model_answer(s, kind, &items[i]);
    }
    EXPECT_OK(tern_hashtable_buffer_flush(s->f->worker, s->buffer, &refused));
    CU_ASSERT_EQUAL(refused, 0);
}

/* Handlers. */

static struct {
    const scene *scene;
    kind kind;
    const item *item;
    tern_flags flags;
    answer answer;
} handled;

static tern_status do_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    handled.answer = do_one(handled.scene, call->worker, handled.kind, handled.item, handled.flags);
    return TERN_OK;
}
TERN_FUNCTION(do_in_handler)

/* In a handler, an operation is refused unless it goes by RMA to direct memory or its key belongs
 * to the handler's rank. An operation that would wait may have to be repeated. In both cases
 * nothing has changed, and the test does the same outside of the handler. */
static void run_handlers(scene *s, kind kind, const item *items, size_t count, tern_flags flags) {
    unsigned char key[KEY_MAX];
    for (size_t i = 0; i < count; i++) {
        key_of(s, items[i].k, key);
        const uint32_t owner = tern_hashtable_owner(s->table, key);
        const bool rma = !s->shape->call_only && kind != MODIFY && below(&s->random, 4) > 0;
        tern_transport transport = TERN_P2P;
        EXPECT_OK(tern_context_transport(s->f->context, owner, &transport));
        handled.scene = s;
        handled.kind = kind;
        handled.item = &items[i];
        handled.flags = (flags & ~(tern_flags)TERN_PATHS) | (rma ? TERN_BY_RMA : TERN_BY_CALL);
        EXPECT_OK(tern_call_return(s->f->worker, (tern_worker_id){s->f->rank, 0},
                                   &do_in_handler_function, NULL, 0, NULL, 0, NULL));
        const tern_status status = handled.answer.status;
        const bool may = owner == s->f->rank || (rma && transport == TERN_SHM);
        if (!may)
            check_answer(s, kind, handled.answer, (answer){TERN_ERR_STATE, 0, 0});
        if (!may || status == TERN_ERR_AGAIN || status == TERN_ERR_FULL)
            run_blocking(s, kind, &items[i], 1, flags & ~(tern_flags)TERN_PATHS);
        else
            check_answer(s, kind, handled.answer, model_answer(s, kind, &items[i]));
    }
}

/* What is refused changes nothing. */
static void misuse(scene *s, const item *i, tern_flags path) {
    const shape *h = s->shape;
    tern_worker *w = s->f->worker;
    unsigned char key[KEY_MAX];
    uint64_t before = UNTOUCHED;
    int existed = UNTOUCHED;
    unsigned char *value = values[0];
    const tern_flags other = h->call_only ? TERN_BY_RMA : TERN_BY_RMA | TERN_BY_CALL;
    key_of(s, i->k, key);
    memset(value, 0xee, h->value_bytes + 8);
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, s->table, key, TERN_WRITE_ONLY | path, value));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_erase(w, s->table, key, TERN_LOCAL | TERN_WRITE_ONLY | path));
    if (tern_hashtable_owner(s->table, key) != s->f->rank) {
        if (h->value_bytes <= TERN_RESULT_MAX)
            EXPECT(TERN_ERR_ARGUMENT,
                   tern_hashtable_find(w, s->table, key, TERN_LOCAL | path, value));
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, s->table, key, TERN_LOCAL | path));
        EXPECT_DETAIL("TERN_LOCAL");
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, s->table, key, path | 1u << 30, value));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, s->table, key, TERN_READ_ONLY | path));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, s->table, NULL, path));
    EXPECT(h->call_only ? TERN_ERR_UNSUPPORTED : TERN_ERR_ARGUMENT,
           tern_hashtable_erase(w, s->table, key, other));
    if (h->counter) {
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_hashtable_insert(w, s->table, key, value, path, &existed));
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_hashtable_insert_new(w, s->table, key, value, path, &existed));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_add(w, s->table, key, 1, TERN_READ_ONLY | path, &before));
        EXPECT(TERN_ERR_RANGE, tern_hashtable_compare_swap(w, s->table, key, s->own[i->k].word,
                                                           UINT64_C(1) << 61, path, &before));
    } else {
        EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_add(w, s->table, key, 1, path, &before));
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_hashtable_compare_swap(w, s->table, key, 0, 1, path, &before));
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_insert(w, s->table, key, value, TERN_READ_ONLY | path, &existed));
    }
    CU_ASSERT(before == UNTOUCHED && existed == UNTOUCHED);
    check_value(s, value, i->k, 0, false);
}

/* The next key behind k, around the end, that lies in the rank's own part. False: no key does. */
static bool choose_local(const scene *s, uint64_t *k) {
    unsigned char key[KEY_MAX];
    for (uint64_t i = 0; i < s->shape->each; i++) {
        *k = (*k + 1) % s->shape->each;
        key_of(s, *k, key);
        if (tern_hashtable_owner(s->table, key) == s->f->rank)
            return true;
    }
    return false;
}

/* Draws a step of the script, the same in every form. All that is added in a step is the same. */
static kind draw(scene *s, uint64_t *script, item *items, size_t *count) {
    static const kind of_values[] = {INSERT, INSERT_NEW, ERASE, MODIFY, INSERT, MISUSE, FIND, FIND},
                      of_counters[] = {ADD, SWAP, ERASE, ADD, SWAP, MISUSE, FIND, FIND};
    const bool reads = s->promise == TERN_READ_ONLY, writes = s->promise == TERN_WRITE_ONLY;
    const uint64_t which = reads ? 6 : below(script, writes ? 6 : 8), delta = below(script, 5) - 2;
    kind kind = s->shape->counter ? of_counters[which] : of_values[which];
    *count = 1 + below(script, STEP);
    for (size_t i = 0; i < *count; i++) {
        items[i].k = below(script, s->shape->each);
        if (s->promise == TERN_LOCAL && kind != MISUSE && !choose_local(s, &items[i].k))
            kind = MISUSE;
        items[i].absent = below(script, 2) ? TERN_ABSENT_INSERT : TERN_ABSENT_FAIL;
        items[i].word = kind == ADD ? delta : ++s->newest;
        items[i].expected = s->own[items[i].k].word + below(script, 2);
    }
    return kind;
}

static void run_step(scene *s, uint64_t *script) {
    static void (*const runs[FORMS])(scene *, kind, const item *, size_t, tern_flags) = {
        run_blocking, run_blocking, run_blocking, run_requests, run_requests,
        run_batch,    run_batch,    run_buffer,   run_handlers};
    item items[STEP];
    size_t count = 0;
    const kind kind = draw(s, script, items, &count);
    const tern_flags path = s->shape->call_only && form_paths[s->form] == TERN_BY_RMA
                                ? TERN_BY_CALL
                                : form_paths[s->form];
    if (kind == MISUSE)
        misuse(s, &items[0], path);
    else
        runs[s->form](s, kind, items, count, s->promise | path);
}

/* The whole table, as one walk sees it. */
typedef struct census {
    const scene *scene;
    const entry *all; /* of each rank */
    uint64_t seen, wrong;
    bool own, first; /* the part of the rank; no more than one key */
} census;

static int look(const void *key, const void *value, void *argument) {
    census *c = argument;
    const shape *h = c->scene->shape;
    unsigned char wanted[KEY_MAX];
    uint64_t number = 0, count = 0;
    memcpy(&number, key, h->key_bytes < 8 ? h->key_bytes : 8);
    make_key(wanted, h->key_bytes, number);
    c->seen++;
    c->wrong += (uintptr_t)key % 8 != 0 || memcmp(key, wanted, h->key_bytes) != 0;
    c->wrong += c->own && tern_hashtable_owner(c->scene->table, key) != c->scene->f->rank;
    const uint32_t size = c->scene->f->size;
    if (number / size >= h->each) {
        c->wrong++;
        return c->first;
    }
    const entry *at = &c->all[number % size * EACH_MOST + number / size];
    if (h->counter)
        memcpy(&count, value, sizeof count);
    c->wrong += at->there == 0 || (h->counter ? count != at->word
                                              : !is_value(value, h->value_bytes, number, at->word));
    return c->first;
}

/* Collective, behind a barrier: the table holds what the models of all ranks say, and no more. */
static void check_all(scene *s) {
    fixture *f = s->f;
    entry *all = calloc((size_t)f->size * EACH_MOST, sizeof *all);
    uint64_t there = 0, size = 0, local = 0;
    fixture_share(f, s->own, sizeof s->own, all);
    for (size_t i = 0; i < (size_t)f->size * EACH_MOST; i++)
        there += all[i].there;
    census own = {.scene = s, .all = all, .own = true}, whole = {.scene = s, .all = all};
    census first = {.scene = s, .all = all, .first = true};
    EXPECT_OK(tern_hashtable_for_each(f->worker, s->table, look, &own));
    EXPECT_OK(tern_hashtable_for_each_anywhere(f->worker, s->table, look, &whole));
    EXPECT_OK(tern_hashtable_local_size(f->worker, s->table, &local));
    EXPECT_OK(tern_hashtable_for_each_anywhere(f->worker, s->table, look, &first));
    CU_ASSERT_EQUAL(own.wrong + whole.wrong + first.wrong, 0);
    CU_ASSERT_EQUAL(first.seen, there > 0);
    CU_ASSERT_EQUAL(own.seen, local);
    CU_ASSERT_EQUAL(whole.seen, there);
    EXPECT_OK(tern_hashtable_size(f->worker, s->table, &size));
    CU_ASSERT_EQUAL(size, there);
    free(all);
}

/* The script in one form, on an empty table, which is empty again behind it. */
static void run_form(scene *s, uint64_t script, uint64_t salt) {
    static const tern_flags phases[] = {TERN_WRITE_ONLY, TERN_READ_ONLY,  TERN_READ_WRITE,
                                        TERN_LOCAL,      TERN_WRITE_ONLY, TERN_READ_WRITE};
    const int steps = s->f->size == 1 ? 20 : fixture_all_direct(s->f) ? 5 : s->f->size == 2 ? 4 : 2;
    uint64_t refused = UNTOUCHED;
    s->random = salt;
    s->newest = 0;
    memset(s->own, 0, sizeof s->own);
    if (s->form == BUFFERED)
        EXPECT_OK(tern_hashtable_buffer_create(s->f->worker, s->table, script % 5, &s->buffer));
    for (size_t p = 0; p < sizeof phases / sizeof *phases; p++) {
        s->promise = phases[p];
        for (int i = 0; i < (tern_test_full() ? 10 * steps : steps); i++)
            run_step(s, &script);
        EXPECT_OK(tern_barrier(s->f->worker));
    }
    if (s->form == BUFFERED) {
        EXPECT_OK(tern_hashtable_buffer_destroy(s->f->worker, s->buffer, &refused));
        CU_ASSERT_EQUAL(refused, 0);
    }
    check_all(s);
    EXPECT_OK(tern_hashtable_clear(s->f->worker, s->table));
}

/* No call finds a value of more than TERN_RESULT_MAX but a batch, whose values fit a ring. */
static bool form_fits(const shape *h, form form) {
    if (h->call_only)
        return form_paths[form] != TERN_BY_RMA || form == IN_HANDLERS;
    if (h->value_bytes <= TERN_RESULT_MAX || form == BLOCKING_AUTO)
        return true;
    if (h->value_bytes <= 20000 && (form == BATCHES_CALL || form == BUFFERED))
        return true;
    return form_paths[form] == TERN_BY_RMA && form != IN_HANDLERS;
}

static void follow(fixture *f, const shape *h, uint64_t salt) {
    static scene s;
    s = (scene){.f = f, .shape = h};
    const tern_hashtable_options options = {.key_bytes = h->key_bytes,
                                            .value_bytes = h->value_bytes,
                                            .counter = h->counter,
                                            .capacity = h->grow ? 1 : 2 * h->each * f->size,
                                            .call_only = h->call_only,
                                            .grow = h->grow};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &s.table));
    EXPECT_OK(tern_barrier(f->worker));
    /* Many ranks of other nodes take long on few processors: every other form. */
    const bool some = f->size > 2 && !fixture_all_direct(f) && !tern_test_full();
    const uint64_t turn = tern_test_seed() + salt / 100;
    for (s.form = 0; s.form < FORMS && s.table != NULL; s.form++)
        if (form_fits(h, s.form) && (!some || (turn + s.form) % 2 == 0))
            run_form(&s, fixture_seed(f, salt), fixture_seed(f, salt + 1 + s.form));
    EXPECT_OK(tern_hashtable_destroy(f->worker, s.table));
}

/* Tables of one context, one after the other. */
static void follow_each(const shape *shapes, size_t count, uint64_t salt) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)32 << 20;
    if (!fixture_open(&f, &config))
        return;
    for (size_t i = 0; i < count; i++)
        follow(&f, &shapes[i], salt + 100 * i);
    fixture_close(&f);
}

/* Bytes of a key and of a value; counters, growing, by call only; keys of a rank. */
static const shape fixed[] = {{8, 8, 0, 0, 0, 40}, {1, 0, 0, 0, 0, 30}, {7, 1, 0, 0, 0, 30}},
                   large[] = {{8, 20000, 0, 0, 0, 6}, {9, 65536, 0, 0, 0, 4}},
                   growing[] = {{8, 8, 0, 1, 0, 150},
                                {1024, 13, 0, 1, 0, 20},
                                {31, 1000, 0, 1, 0, 30},
                                {8, 24, 0, 1, 1, 40}},
                   counting[] = {{8, 0, 1, 0, 0, 40}, {12, 0, 1, 1, 0, 150}, {3, 0, 1, 0, 1, 40}};

static void fixed_tables(void) { follow_each(fixed, 3, 1000); }
static void large_values(void) { follow_each(large, 2, 2000); }
static void growing_tables(void) { follow_each(growing, 4, 3000); }
static void counters(void) { follow_each(counting, 3, 4000); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fixed_tables", fixed_tables},
        {"large_values", large_values},
        {"growing_tables", growing_tables},
        {"counters", counters},
    };
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "hashtable_model", tests, 4);
}
