// tern-test: transports

/* Hash table: functions of the application that owners run on values. */

#include "table_tools.h"

typedef struct tally {
    uint64_t count, sum, twice; /* twice the sum: a torn value shows */
} tally;

static const tern_flags rw = TERN_READ_WRITE;

/* Adds the numbers that the argument holds; gives the tally. */
static tern_status count_numbers(tern_hashtable_modify_info *info, void *value) {
    tally *t = value;
    const char *numbers = info->argument;
    if (!info->existed && (t->count | t->sum | t->twice) != 0)
        return TERN_ERR_SYSTEM;
    for (size_t i = 0; i < info->argument_bytes / 8; i++) {
        uint64_t number;
        memcpy(&number, numbers + 8 * i, 8);
        t->sum += number;
    }
    t->count++;
    t->twice = 2 * t->sum;
    memcpy(info->result, t, sizeof *t);
    info->result_bytes = sizeof *t;
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(count_numbers)

/* Spoils the value, then thinks better of it. */
static tern_status refuse(tern_hashtable_modify_info *info, void *value) {
    memset(value, 0xee, sizeof(tally));
    (void)info;
    return TERN_ERR_UNSUPPORTED;
}
TERN_HASHTABLE_MODIFIER(refuse)

static tern_status give_bytes(tern_hashtable_modify_info *info, void *value) {
    (void)value;
    memcpy(&info->result_bytes, info->argument, sizeof info->result_bytes);
    if (info->result_bytes <= TERN_HASHTABLE_MODIFY_RESULT_MAX)
        memset(info->result, 0x5a, info->result_bytes);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(give_bytes)

/* Gives its key, the rank that asked, and what its user pointer names. */
static tern_status tell(tern_hashtable_modify_info *info, void *value) {
    (void)value;
    memcpy(info->result, info->key, 8);
    uint64_t origin = info->origin.rank;
    memcpy((char *)info->result + 8, &origin, 8);
    memcpy((char *)info->result + 16, info->user, 8);
    info->result_bytes = 24;
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(tell)

static tern_hashtable *make(fixture *f, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = sizeof(tally), .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static tern_status count(fixture *f, tern_hashtable *table, uint64_t key, uint64_t number,
                         tern_absent absent, tally *now, int *existed) {
    return tern_hashtable_modify(f->worker, table, &key, &count_numbers_modifier,
                                 &(tern_modify_options){.argument = &number,
                                                        .argument_bytes = sizeof number,
                                                        .absent = absent,
                                                        .result = now,
                                                        .capacity = sizeof *now},
                                 rw, existed);
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *values = make(&f, 10), *counters = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 10},
        &counters));
    uint64_t key = 1;
    const tern_hashtable_modifier *m = &count_numbers_modifier;
    tern_worker *w = f.worker;
    const tern_absent in = TERN_ABSENT_INSERT;
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_modify(w, values, &key, NULL, &(tern_modify_options){.absent = in}, rw,
                                 NULL));
    EXPECT_DETAIL("modifier");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_modify(w, values, &key, m,
                                 &(tern_modify_options){.argument_bytes = 1, .absent = in}, rw,
                                 NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_modify(w, values, &key, m,
                                 &(tern_modify_options){.absent = in, .capacity = 8}, rw, NULL));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_modify(w, values, &key, m,
                                 &(tern_modify_options){.absent = (tern_absent)2}, rw, NULL));
    EXPECT_DETAIL("absent is 2");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_modify(w, values, &key, m, &(tern_modify_options){.absent = in},
                                 TERN_READ_ONLY, NULL));
    EXPECT_DETAIL("TERN_READ_ONLY");
    EXPECT(TERN_ERR_UNSUPPORTED,
           tern_hashtable_modify(w, values, &key, m, &(tern_modify_options){.absent = in},
                                 TERN_BY_RMA, NULL));
    EXPECT_DETAIL("TERN_BY_RMA");
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_hashtable_modify(w, values, &key, m, NULL, TERN_WRITE_ONLY | TERN_BY_CALL, NULL));
    EXPECT(TERN_ERR_UNSUPPORTED,
           tern_hashtable_modify(w, counters, &key, m, &(tern_modify_options){.absent = in}, rw,
                                 NULL));
    EXPECT_DETAIL("tern_hashtable_compare_swap");
    if (f.size > 1) {
        static char large[1 << 20];
        uint64_t remote = number_owned_by(values, (f.rank + 1) % f.size, 0);
        EXPECT(TERN_ERR_RANGE,
               tern_hashtable_modify(w, values, &remote, m,
                                     &(tern_modify_options){.argument = large,
                                                            .argument_bytes = sizeof large,
                                                            .absent = in},
                                     rw, NULL));
        EXPECT_DETAIL("TERN_RING_SIZE");
    }
    CU_ASSERT_EQUAL(total_keys(&f, values), 0);
    end(&f, values);
    end(&f, counters);
    fixture_close(&f);
}

/* With every owner in turn. */
static void one_key_after_the_other(void) {
    static uint64_t secret = 4711;
    tell_modifier.call->user = &secret;
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 100 * f.size);
    for (uint32_t owner = 0; owner < f.size; owner++) {
        uint64_t key = number_owned_by(table, owner, 1000 * f.rank), told[3];
        tally now = {0, 0, 0}, found;
        int existed = 77;
        size_t bytes = 0;
        EXPECT(TERN_ERR_NOT_FOUND, count(&f, table, key, 1, TERN_ABSENT_FAIL, &now, &existed));
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_hashtable_modify(f.worker, table, &key, &refuse_modifier,
                                     &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, rw,
                                     &existed));
        CU_ASSERT_EQUAL(existed, 77);
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &found));
        EXPECT_OK(count(&f, table, key, 5, TERN_ABSENT_INSERT, &now, &existed));
        CU_ASSERT_EQUAL(existed, 0);
        EXPECT(TERN_ERR_UNSUPPORTED,
               tern_hashtable_modify(f.worker, table, &key, &refuse_modifier, NULL, rw, NULL));
        EXPECT_OK(count(&f, table, key, 6, TERN_ABSENT_FAIL, &now, &existed));
        CU_ASSERT_EQUAL(existed, 1);
        EXPECT_OK(tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &found));
        CU_ASSERT(found.count == 2 && found.sum == 11 && found.twice == 22);
        CU_ASSERT(memcmp(&found, &now, sizeof now) == 0);
        EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, TERN_BY_RMA));
        EXPECT(TERN_ERR_NOT_FOUND, count(&f, table, key, 1, TERN_ABSENT_FAIL, &now, &existed));
        EXPECT_OK(count(&f, table, key, 7, TERN_ABSENT_INSERT, &now, &existed));
        CU_ASSERT(existed == 0 && now.count == 1 && now.sum == 7);
        EXPECT_OK(tern_hashtable_modify(
            f.worker, table, &key, &tell_modifier,
            &(tern_modify_options){.result = told, .capacity = sizeof told, .result_bytes = &bytes},
            rw, &existed));
        CU_ASSERT(bytes == 24 && told[0] == key && told[1] == f.rank && existed == 1);
        CU_ASSERT_EQUAL(told[2], secret);
        EXPECT(TERN_ERR_RANGE,
               tern_hashtable_modify(f.worker, table, &key, &tell_modifier,
                                     &(tern_modify_options){.result = told, .capacity = 23}, rw,
                                     NULL));
    }
    end(&f, table);
    fixture_close(&f);
}

static void results_of_every_size(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 10);
    uint64_t key = f.rank;
    unsigned char result[TERN_HASHTABLE_MODIFY_RESULT_MAX];
    static const size_t sizes[] = {0, 1, TERN_HASHTABLE_MODIFY_RESULT_MAX,
                                   TERN_HASHTABLE_MODIFY_RESULT_MAX + 1};
    for (size_t i = 0; i < 4; i++) {
        size_t got = 77;
        bool fits = sizes[i] <= TERN_HASHTABLE_MODIFY_RESULT_MAX;
        EXPECT(fits ? TERN_OK : TERN_ERR_RANGE,
               tern_hashtable_modify(f.worker, table, &key, &give_bytes_modifier,
                                     &(tern_modify_options){.argument = &sizes[i],
                                                            .argument_bytes = sizeof sizes[i],
                                                            .absent = TERN_ABSENT_INSERT,
                                                            .result = result,
                                                            .capacity = sizeof result,
                                                            .result_bytes = &got},
                                     rw, NULL));
        CU_ASSERT_EQUAL(got, fits ? sizes[i] : 77);
        if (fits && sizes[i] > 0)
            CU_ASSERT_EQUAL(result[sizes[i] - 1], 0x5a);
    }
    end(&f, table);
    fixture_close(&f);
}

/* Every modification of a key finds another count, while others find, and put back by RMA what they
 * found. */
static void nothing_comes_in_between(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 2, MOST = 2000 };
    tern_hashtable *table = make(&f, KEYS);
    uint64_t random = fixture_seed(&f, 3), done[KEYS] = {0}, all[64][KEYS], torn = 0;
    static unsigned char seen[KEYS][4 * MOST], everybody[4 * sizeof seen];
    memset(seen, 0, sizeof seen);
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = fixture_times(&f, 800); i > 0; i--) {
        uint64_t key = below(&random, KEYS);
        tally t = {0, 0, 0};
        if (below(&random, 2)) {
            EXPECT_OK(count(&f, table, key, (uint64_t)i, TERN_ABSENT_INSERT, &t, NULL));
            done[key]++;
            if (t.count <= 4 * MOST && t.count > 0)
                seen[key][t.count - 1]++;
        } else {
            tern_status status = tern_hashtable_find(f.worker, table, &key, any_path(&random), &t);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            int existed = 0;
            EXPECT(TERN_OK, status == TERN_OK
                                ? tern_hashtable_insert_new(f.worker, table, &key, &t,
                                                            any_path(&random), &existed)
                                : TERN_OK);
            CU_ASSERT_EQUAL(existed, status == TERN_OK);
        }
        torn += t.twice != 2 * t.sum;
    }
    CU_ASSERT_EQUAL(torn, 0);
    fixture_share(&f, done, sizeof done, all);
    fixture_share(&f, seen, sizeof seen, everybody);
    for (uint64_t k = 0; k < KEYS; k++) {
        uint64_t total = 0, wrong = 0;
        for (uint32_t r = 0; r < f.size; r++)
            total += all[r][k];
        for (uint64_t c = 0; c < 4 * MOST; c++) {
            unsigned times = 0;
            for (uint32_t r = 0; r < f.size; r++)
                times += everybody[r * sizeof seen + k * sizeof seen[0] + c];
            wrong += times != (c < total);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    end(&f, table);
    fixture_close(&f);
}

/* Modifications that insert race with erases by RMA: lives begin as often as they end. */
static void modified_keys_come_and_go(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 1);
    uint64_t random = fixture_seed(&f, 4), key = 3, ends[2] = {0, 0}, all[64][2], begun = 0,
             ended = 0;
    tally t;
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = fixture_times(&f, 600); i > 0; i--) {
        if (below(&random, 2)) {
            int existed = 77;
            EXPECT_OK(count(&f, table, key, 1, TERN_ABSENT_INSERT, &t, &existed));
            CU_ASSERT_EQUAL(existed, t.count > 1);
            ends[0] += existed == 0;
        } else {
            tern_status status = tern_hashtable_erase(f.worker, table, &key, any_path(&random));
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            ends[1] += status == TERN_OK;
        }
    }
    fixture_share(&f, ends, sizeof ends, all);
    for (uint32_t r = 0; r < f.size; r++) {
        begun += all[r][0];
        ended += all[r][1];
    }
    tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &t);
    CU_ASSERT_EQUAL(begun - ended, status == TERN_OK);
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"one_key_after_the_other", one_key_after_the_other},
        {"results_of_every_size", results_of_every_size},
        {"nothing_comes_in_between", nothing_comes_in_between},
        {"modified_keys_come_and_go", modified_keys_come_and_go},
    };
    return tern_test_main(argc, argv, "hashtable_modify", tests, sizeof tests / sizeof tests[0]);
}
