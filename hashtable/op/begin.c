#include "hashtable/op/begin.h"

#include "hashtable/op/message.h"

/* What each kind of op needs. */
typedef enum needs_of { ANY, VALUES, COUNTERS } needs_of;
static const struct needs {
    tern_flags excluded; /* the promise that the op itself would break */
    needs_of of;         /* what the table must have */
    bool given, taken, numbers;
} needs[] = {
    [TERN_OP_FIND] = {.excluded = TERN_WRITE_ONLY, .taken = true},
    [TERN_OP_INSERT] = {.excluded = TERN_READ_ONLY, .of = VALUES, .given = true},
    [TERN_OP_INSERT_NEW] = {.excluded = TERN_READ_ONLY, .of = VALUES, .given = true},
    [TERN_OP_ERASE] = {.excluded = TERN_READ_ONLY},
    [TERN_OP_ADD] = {.excluded = TERN_READ_ONLY, .of = COUNTERS},
    [TERN_OP_COMPARE_SWAP] = {.excluded = TERN_READ_ONLY, .of = COUNTERS, .numbers = true},
};

static tern_status check_number(const char *name, uint64_t number) {
    if (tern_counter_number(tern_counter_word(number)) == number)
        return TERN_OK;
    return tern_fail(TERN_ERR_RANGE,
                     "%s: %lld is not a counter's number; allowed are -2^61 to 2^61 - 1", name,
                     (long long)number);
}

static tern_status asked_check(const tern_asked *asked) {
    const struct needs *n = &needs[asked->kind];
    const tern_hashtable *table = asked->table;
    tern_status status = tern_hashtable_check(asked->worker, table, asked->key, asked->flags,
                                              n->excluded, asked->name);
    if (status == TERN_OK && n->of != ANY)
        status = tern_hashtable_check_kind(table, n->of == COUNTERS, asked->name);
    if (status != TERN_OK)
        return status;
    const bool counts = tern_shape_counts(table->shape);
    if ((n->given && asked->given == NULL && table->value_bytes > 0) ||
        (n->taken && asked->taken == NULL && (counts || table->value_bytes > 0)))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", asked->name);
    if (n->numbers)
        status = check_number(asked->name, asked->number);
    if (status == TERN_OK && n->numbers)
        status = check_number(asked->name, asked->desired);
    return status;
}

/* Not inlined, so that a caller which asks no question needs no stack for it. */
static __attribute__((noinline)) tern_status asked_question(const tern_asked *asked, uint32_t owner,
                                                            bool may_measure, tern_pick *pick) {
    tern_path_question question = tern_op_question(asked->worker, asked->table, asked->kind, owner,
                                                   asked->flags, asked->name);
    question.may_measure = may_measure;
    return tern_choose_at_length(&question, pick);
}

tern_status tern_asked_choose(const tern_asked *asked, bool may_measure, tern_table_key *key,
                              tern_pick *pick) {
    const tern_hashtable *table = asked->table;
    tern_status status = asked_check(asked);
    if (status != TERN_OK)
        return status;
    tern_key_load(table, asked->key, key);
    const uint32_t owner = tern_hash_owner(table, key->hash);
    status = tern_hashtable_check_owner(table, owner, asked->flags, asked->name);
    if (status != TERN_OK)
        return status;
    return tern_chosen_at_once(asked->worker, asked->flags, tern_op_path(asked->kind, table),
                               table->call_only, !tern_op_is_remote(table, owner), pick)
               ? TERN_OK
               : asked_question(asked, owner, may_measure, pick);
}
