#include "tern/hashtable.h"

#include "hashtable/batch/ask.h"
#include "hashtable/bucket/short.h"
#include "hashtable/op/begin.h"

/* The public operations on one key check the arguments, and then do the operation by RMA or by a
 * call, or in place if the caller owns the key. Inserts, adds and finds try the short path
 * (short.h) first: one condition in table_begin covers all that tern_hashtable_check does. If it is
 * false, the operation takes the general path, where that check says what is wrong. */

/* Does any operation by the general path: in place, by RMA or by a call to the owner. */
static __attribute__((noinline)) tern_status table_operate(const tern_asked *asked) {
    tern_table_key k;
    tern_pick pick;
    tern_status status = tern_asked_choose(asked, true, &k, &pick);
    if (status != TERN_OK)
        return status;
    tern_op op;
    tern_asked_begin(asked, &k, &op);
    status = pick.path == TERN_PATH_CALL ? tern_op_call(&op, NULL) : tern_op_run(&op);
    tern_pick_done(asked->worker, &pick, status);
    if (status == TERN_OK && asked->existed != NULL)
        *asked->existed = op.result != 0;
    if (status == TERN_OK && asked->before != NULL)
        *asked->before = op.result;
    return tern_hashtable_outcome(asked->table, tern_hash_owner(asked->table, k.hash), status);
}

/* Whether flags are TERN_LOCAL, maybe with TERN_BY_RMA, and the key is this rank's. */
static bool is_own(const tern_hashtable *table, const void *key, tern_flags flags) {
    uint64_t word;
    memcpy(&word, key, sizeof word);
    return (flags & ~(tern_flags)TERN_BY_RMA) == TERN_LOCAL &&
           tern_hash_owner(table, tern_hash_word(&word, 0)) == table->rank;
}

/* True: the operation takes the short path (short.h). [out] word, p: key and search. */
TERN_ALWAYS_INLINE bool table_begin(tern_worker *worker, tern_hashtable *table, const void *key,
                                    tern_flags flags, tern_op_kind kind, bool right, uint64_t *word,
                                    tern_key_search *p) {
    const tern_flags other = kind == TERN_OP_FIND ? TERN_READ_ONLY : TERN_WRITE_ONLY;
    if (!right || worker == NULL || table == NULL || key == NULL || !table->plain ||
        ((flags & ~(other | TERN_BY_RMA)) != 0 && !is_own(table, key, flags)) ||
        worker->context != table->context ||
        (kind != TERN_OP_FIND && tern_shape_counts(table->shape) != (kind == TERN_OP_ADD)))
        return false;
    memcpy(word, key, sizeof *word);
    *p = tern_probe_start(worker, table, word, tern_hash_word(word, 0));
    if (p->part->direct == NULL)
        return false;
    return tern_is_direct(worker, flags,
                          kind == TERN_OP_FIND  ? TERN_PATH_FIND
                          : kind == TERN_OP_ADD ? TERN_PATH_ADD
                                                : TERN_PATH_INSERT);
}

#define AT_LENGTH(...)                                                                             \
    table_operate(&(const tern_asked){__VA_ARGS__, .worker = worker, .table = table, .key = key,   \
                                      .flags = flags})

TERN_ALWAYS_INLINE tern_status table_insert(tern_worker *worker, tern_hashtable *table,
                                            const void *key, const void *value, bool only_new,
                                            tern_flags flags, int *existed, const char *name) {
    uint64_t word;
    tern_key_search p;
    if (__builtin_expect(
            table_begin(worker, table, key, flags, TERN_OP_INSERT, value != NULL, &word, &p), 1)) {
        tern_short_outcome met = tern_short_insert(p, value, only_new, tern_flags_promise(flags));
        if (__builtin_expect(met != TERN_SHORT_DECLINED, 1)) {
            if (existed != NULL)
                *existed = met == TERN_SHORT_MINE;
            return TERN_OK;
        }
    }
    return AT_LENGTH(.kind = only_new ? TERN_OP_INSERT_NEW : TERN_OP_INSERT, .given = value,
                     .name = name, .existed = existed);
}

tern_status tern_hashtable_insert(tern_worker *worker, tern_hashtable *table, const void *key,
                                  const void *value, tern_flags flags, int *existed) {
    return table_insert(worker, table, key, value, false, flags, existed, __func__);
}

tern_status tern_hashtable_insert_new(tern_worker *worker, tern_hashtable *table, const void *key,
                                      const void *value, tern_flags flags, int *existed) {
    return table_insert(worker, table, key, value, true, flags, existed, __func__);
}

tern_status tern_hashtable_erase(tern_worker *worker, tern_hashtable *table, const void *key,
                                 tern_flags flags) {
    return AT_LENGTH(.kind = TERN_OP_ERASE, .name = __func__);
}

tern_status tern_hashtable_add(tern_worker *worker, tern_hashtable *table, const void *key,
                               uint64_t delta, tern_flags flags, uint64_t *before) {
    uint64_t word;
    tern_key_search p;
    if (__builtin_expect(table_begin(worker, table, key, flags, TERN_OP_ADD, true, &word, &p), 1)) {
        uint64_t was;
        if (__builtin_expect(tern_short_add(p, delta, tern_flags_promise(flags), &was) !=
                                 TERN_SHORT_DECLINED,
                             1)) {
            if (before != NULL)
                *before = was;
            return TERN_OK;
        }
    }
    return AT_LENGTH(.kind = TERN_OP_ADD, .number = delta, .name = __func__, .before = before);
}

tern_status tern_hashtable_compare_swap(tern_worker *worker, tern_hashtable *table, const void *key,
                                        uint64_t expected, uint64_t desired, tern_flags flags,
                                        uint64_t *before) {
    return AT_LENGTH(.kind = TERN_OP_COMPARE_SWAP, .number = expected, .desired = desired,
                     .name = __func__, .before = before);
}

/* Not inlined, so that the short path saves few registers. While a processor waits for memory, it
 * has several finds under way: the fewer instructions a find takes, the more of them. */
static __attribute__((noinline)) tern_status find_at_length(tern_worker *worker,
                                                            tern_hashtable *table, const void *key,
                                                            tern_flags flags, void *value) {
    return AT_LENGTH(.kind = TERN_OP_FIND, .taken = value, .name = "tern_hashtable_find");
}

tern_status tern_hashtable_find(tern_worker *worker, tern_hashtable *table, const void *key,
                                tern_flags flags, void *value) {
    uint64_t word;
    tern_key_search p;
    if (__builtin_expect(
            table_begin(worker, table, key, flags, TERN_OP_FIND, value != NULL, &word, &p), 1)) {
        tern_short_outcome met = tern_short_find(p, tern_shape_counts(table->shape), value);
        if (__builtin_expect(met != TERN_SHORT_DECLINED, 1)) {
            return met == TERN_SHORT_MINE ? TERN_OK
                                          : tern_hashtable_outcome(table, 0, TERN_ERR_NOT_FOUND);
        }
    }
    return find_at_length(worker, table, key, flags, value);
}

uint32_t tern_hashtable_owner(const tern_hashtable *table, const void *key) {
    if (table == NULL || key == NULL)
        return UINT32_MAX;
    tern_table_key k;
    tern_key_load(table, key, &k);
    return tern_hash_owner(table, k.hash);
}

tern_status tern_hashtable_explain(const tern_worker *worker, const tern_hashtable *table,
                                   uint32_t owner, char *text, size_t room, size_t *bytes) {
    static const char name[] = "tern_hashtable_explain";
    tern_status status = tern_hashtable_check(worker, table, name, 0, TERN_READ_WRITE, name);
    if (status == TERN_OK && owner >= table->ranks)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: owner is %u; there are %u ranks", name, owner,
                           table->ranks);
    if (status != TERN_OK)
        return status;
    const bool counts = tern_shape_counts(table->shape);
    const tern_op_kind change = counts ? TERN_OP_ADD : TERN_OP_INSERT;
    tern_worker *asks = (tern_worker *)(uintptr_t)worker; /* a question may settle replies */
    const tern_path_question questions[] = {
        tern_op_question(asks, table, TERN_OP_FIND, owner, TERN_AUTO, "find"),
        tern_op_question(asks, table, change, owner, TERN_AUTO, counts ? "add" : "insert"),
        tern_items_question(asks, table, TERN_OP_FIND, 0, owner, TERN_AUTO, "find_many"),
        tern_items_question(asks, table, (uint8_t)change, 0, owner, TERN_AUTO,
                            counts ? "add_many" : "insert_many")};
    return tern_path_explain(questions, sizeof questions / sizeof *questions, text, room, bytes,
                             name);
}
