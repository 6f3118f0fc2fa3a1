#include "tern/hashtable.h"

#include "hashtable/call.h"
#include "hashtable/operations.h"

/* The public operations on one key: arguments are checked here, then the operation is done by RMA
 * or by a call. One whose owner is the caller is done in place either way. */

/* Whether this process does the operation itself. One by call makes progress even then, as every
 * wait for a reply does: the calls of others would starve behind a loop of them. */
static bool in_place(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                     tern_via via) {
    if (via == TERN_VIA_RMA)
        return true;
    if (owner != table->rank)
        return false;
    (void)tern_progress_round(worker);
    return true;
}

tern_status tern_hashtable_check(const tern_worker *worker, const tern_hashtable *table,
                                 const void *keys, tern_promise promise, tern_promise excluded,
                                 tern_via via, const char *name) {
    if (worker == NULL || table == NULL || keys == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL  ? "worker"
                         : table == NULL ? "table"
                                         : "key");
    if (worker->context != table->context)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker and table are of different contexts", name);
    if ((unsigned)promise > TERN_PROMISE_READ_ONLY)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: promise %d is none%s", name, (int)promise,
                         promise == TERN_PROMISE_LOCAL ? " of a hash table: TERN_PROMISE_LOCAL is "
                                                         "for queues"
                                                       : "");
    if (promise == excluded)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: promise %s excludes the operation itself", name,
                         promise == TERN_PROMISE_READ_ONLY ? "TERN_PROMISE_READ_ONLY"
                                                           : "TERN_PROMISE_WRITE_ONLY");
    if ((unsigned)via > TERN_VIA_AUTO)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: via %d is none", name, (int)via);
    if (via == TERN_VIA_RMA && table->call_only)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: the table is call_only; pass TERN_VIA_CALL or create it without",
                         name);
    return TERN_OK;
}

tern_status tern_hashtable_check_kind(const tern_hashtable *table, int counter, const char *name) {
    if (tern_shape_counts(table->shape) == counter)
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED, "%s: the table has %s", name,
                     counter ? "values; create it with counter = 1"
                             : "counters; use tern_hashtable_add");
}

tern_status tern_hashtable_outcome(const tern_hashtable *table, uint32_t owner,
                                   tern_status status) {
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "all %llu buckets of rank %u's part belong to other keys, erased ones "
                         "too; clear it or create it with a greater capacity",
                         (unsigned long long)table->buckets, owner);
    if (status == TERN_ERR_NOT_FOUND)
        return tern_fail(status, "no such key");
    return status;
}

static tern_status insert(tern_worker *worker, tern_hashtable *table, const void *key,
                          const void *value, bool only_new, tern_promise promise, tern_via via,
                          int *existed) {
    const char *name = only_new ? "tern_hashtable_insert_new" : "tern_hashtable_insert";
    tern_status status =
        tern_hashtable_check(worker, table, key, promise, TERN_PROMISE_READ_ONLY, via, name);
    if (status == TERN_OK)
        status = tern_hashtable_check_kind(table, 0, name);
    if (status == TERN_OK && value == NULL && table->value_bytes > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", name);
    if (status == TERN_OK && (via == TERN_VIA_CALL || table->call_only))
        status = tern_call_check_insert(table);
    if (status != TERN_OK)
        return status;
    tern_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    bool there;
    tern_pick pick = tern_chooser_take(&table->chooser, worker, owner, TERN_KIND_WRITE, via);
    if (in_place(worker, table, owner, pick.via))
        status =
            tern_operation_insert(worker, table, k.words, k.hash, value, only_new, promise, &there);
    else
        status = tern_call_insert(worker, table, owner, &k, value, only_new, &there);
    tern_pick_done(&pick);
    if (status == TERN_OK && existed != NULL)
        *existed = there;
    return tern_hashtable_outcome(table, owner, status);
}

tern_status tern_hashtable_insert(tern_worker *worker, tern_hashtable *table, const void *key,
                                  const void *value, tern_promise promise, tern_via via,
                                  int *existed) {
    return insert(worker, table, key, value, false, promise, via, existed);
}

tern_status tern_hashtable_insert_new(tern_worker *worker, tern_hashtable *table, const void *key,
                                      const void *value, tern_promise promise, tern_via via,
                                      int *existed) {
    return insert(worker, table, key, value, true, promise, via, existed);
}

tern_status tern_hashtable_erase(tern_worker *worker, tern_hashtable *table, const void *key,
                                 tern_promise promise, tern_via via) {
    tern_status status = tern_hashtable_check(worker, table, key, promise, TERN_PROMISE_READ_ONLY,
                                              via, "tern_hashtable_erase");
    if (status != TERN_OK)
        return status;
    tern_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    tern_pick pick = tern_chooser_take(&table->chooser, worker, owner, TERN_KIND_WRITE, via);
    if (in_place(worker, table, owner, pick.via))
        status = tern_operation_erase(worker, table, k.words, k.hash);
    else
        status = tern_call_erase(worker, table, owner, &k);
    tern_pick_done(&pick);
    return tern_hashtable_outcome(table, owner, status);
}

tern_status tern_hashtable_add(tern_worker *worker, tern_hashtable *table, const void *key,
                               uint64_t delta, tern_promise promise, tern_via via,
                               uint64_t *before) {
    tern_status status = tern_hashtable_check(worker, table, key, promise, TERN_PROMISE_READ_ONLY,
                                              via, "tern_hashtable_add");
    if (status == TERN_OK)
        status = tern_hashtable_check_kind(table, 1, "tern_hashtable_add");
    if (status != TERN_OK)
        return status;
    tern_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    uint64_t was;
    tern_pick pick = tern_chooser_take(&table->chooser, worker, owner, TERN_KIND_WRITE, via);
    if (in_place(worker, table, owner, pick.via))
        status = tern_operation_add(worker, table, k.words, k.hash, delta, promise, &was);
    else
        status = tern_call_add(worker, table, owner, &k, delta, &was);
    tern_pick_done(&pick);
    if (status == TERN_OK && before != NULL)
        *before = was;
    return tern_hashtable_outcome(table, owner, status);
}

static tern_status check_number(const char *name, uint64_t number) {
    if (tern_counter_number(tern_counter_word(number)) == number)
        return TERN_OK;
    return tern_fail(TERN_ERR_RANGE, "%s: %lld is no counter's; they go from -2^61 to 2^61 - 1",
                     name, (long long)number);
}

tern_status tern_hashtable_compare_swap(tern_worker *worker, tern_hashtable *table, const void *key,
                                        uint64_t expected, uint64_t desired, tern_promise promise,
                                        tern_via via, uint64_t *before) {
    static const char name[] = "tern_hashtable_compare_swap";
    tern_status status =
        tern_hashtable_check(worker, table, key, promise, TERN_PROMISE_READ_ONLY, via, name);
    if (status == TERN_OK)
        status = tern_hashtable_check_kind(table, 1, name);
    if (status == TERN_OK)
        status = check_number(name, expected);
    if (status == TERN_OK)
        status = check_number(name, desired);
    if (status != TERN_OK)
        return status;
    tern_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    uint64_t was;
    tern_pick pick = tern_chooser_take(&table->chooser, worker, owner, TERN_KIND_WRITE, via);
    if (in_place(worker, table, owner, pick.via))
        status =
            tern_operation_compare_swap(worker, table, k.words, k.hash, expected, desired, &was);
    else
        status = tern_call_compare_swap(worker, table, owner, &k, expected, desired, &was);
    tern_pick_done(&pick);
    if (status == TERN_OK && before != NULL)
        *before = was;
    return tern_hashtable_outcome(table, owner, status);
}

tern_status tern_hashtable_find(tern_worker *worker, tern_hashtable *table, const void *key,
                                tern_promise promise, tern_via via, void *value) {
    tern_status status = tern_hashtable_check(worker, table, key, promise, TERN_PROMISE_WRITE_ONLY,
                                              via, "tern_hashtable_find");
    if (status == TERN_OK && value == NULL &&
        (table->value_bytes > 0 || tern_shape_counts(table->shape)))
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_hashtable_find: value is NULL");
    if (status == TERN_OK && (via == TERN_VIA_CALL || table->call_only))
        status = tern_call_check_find(table);
    if (status != TERN_OK)
        return status;
    tern_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    tern_pick pick = tern_chooser_take(&table->chooser, worker, owner, TERN_KIND_READ, via);
    if (in_place(worker, table, owner, pick.via))
        status = tern_operation_find(worker, table, k.words, k.hash, promise, value);
    else
        status = tern_call_find(worker, table, owner, &k, value);
    tern_pick_done(&pick);
    return tern_hashtable_outcome(table, owner, status);
}

uint32_t tern_hashtable_owner(const tern_hashtable *table, const void *key) {
    if (table == NULL || key == NULL)
        return UINT32_MAX;
    tern_key k;
    tern_key_load(table, key, &k);
    return tern_hash_owner(table, k.hash);
}
