// tern-test: transports

/*
 * Guarantees of docs/calls.md and the headers that no model of hash tables checks: what handlers
 * may call, refusals of a full part and of a worker without a free call in every form, what other
 * ranks see of an operation that has returned, and the text that explains a path.
 */

#include "nothing.h"
#include "table_tools.h"

#include "tern/hashtable.h"

static const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;

static tern_hashtable *make(fixture *f, int counter, uint64_t capacity) {
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = counter ? 0 : 8, .counter = counter, .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static tern_status count_up(tern_hashtable_modify_info *info, void *value) {
    uint64_t count;
    (void)info;
    memcpy(&count, value, sizeof count);
    count++;
    memcpy(value, &count, sizeof count);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(count_up)

static tern_status modify(fixture *f, tern_hashtable *table, const uint64_t *key, tern_flags flags,
                          int *existed) {
    return tern_hashtable_modify(f->worker, table, key, &count_up_modifier,
                                 &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, flags,
                                 existed);
}

/* A text of any room is cut, and ends with a zero byte; refusals write nothing. The text has times
 * that were measured, which may change between two calls. */
static void check_explanation(fixture *f, tern_hashtable *table, uint32_t owner) {
    char whole[2048], text[2048];
    size_t bytes = 0, same = 1;
    for (int i = 0; i < 100 && same != bytes; i++) {
        EXPECT_OK(tern_hashtable_explain(f->worker, table, owner, whole, sizeof whole, &bytes));
        CU_ASSERT(bytes > 0 && bytes == strlen(whole));
        EXPECT_OK(tern_hashtable_explain(f->worker, table, owner, NULL, 0, &same));
    }
    CU_ASSERT_EQUAL(same, bytes);
    memset(text, '?', sizeof text);
    EXPECT_OK(tern_hashtable_explain(f->worker, table, owner, text, 5, NULL));
    CU_ASSERT(memcmp(text, whole, 4) == 0 && text[4] == 0 && text[5] == '?');
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_explain(f->worker, table, f->size, text, sizeof text, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_explain(NULL, table, owner, text, 9, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_explain(f->worker, NULL, owner, text, 9, &same));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_explain(f->worker, table, owner, NULL, 9, &same));
    CU_ASSERT(same == bytes && memcmp(text, whole, 4) == 0 && text[5] == '?');
}

static struct {
    fixture *f;
    tern_hashtable *values, *counters;
    uint64_t key, count; /* one that is there; of its counter */
    bool direct;         /* load and store reach its owner */
    tern_hashtable_buffer *buffer;
    int runs;
} inside;

static int look(const void *key, const void *value, void *argument) {
    (void)key, (void)value;
    ++*(uint64_t *)argument;
    return 0;
}

/* Single operations on a key of the rank inside.key belongs to, by RMA. */
static void single_operations_inside(tern_worker *w) {
    const tern_status wanted = inside.direct ? TERN_OK : TERN_ERR_STATE;
    const tern_flags paths[] = {TERN_BY_RMA, TERN_AUTO};
    for (size_t i = 0; i < 2; i++) {
        uint64_t value = 77, before = 77;
        int existed = 77;
        EXPECT(wanted, tern_hashtable_find(w, inside.values, &inside.key, paths[i], &value));
        CU_ASSERT_EQUAL(value, inside.direct ? 1 : 77);
        EXPECT(wanted, tern_hashtable_insert(w, inside.values, &inside.key, &inside.count, paths[i],
                                             &existed));
        CU_ASSERT_EQUAL(existed, inside.direct ? 1 : 77);
        EXPECT(wanted, tern_hashtable_insert_new(w, inside.values, &inside.key, &inside.key,
                                                 paths[i], &existed));
        CU_ASSERT_EQUAL(existed, inside.direct ? 1 : 77);
        EXPECT(wanted, tern_hashtable_add(w, inside.counters, &inside.key, 1, paths[i], &before));
        CU_ASSERT_EQUAL(before, inside.direct ? inside.count : 77);
        EXPECT(wanted, tern_hashtable_compare_swap(w, inside.counters, &inside.key,
                                                   inside.count + 1, inside.count, paths[i], NULL));
        EXPECT(wanted, tern_hashtable_erase(w, inside.counters, &inside.key, paths[i]));
        EXPECT(wanted,
               tern_hashtable_add(w, inside.counters, &inside.key, inside.count, paths[i], NULL));
    }
}

/* All of docs/calls.md that is local, and all that is not for handlers. */
static void others_inside(tern_worker *w) {
    uint64_t number = 77, seen = 0;
    unsigned char found = 77;
    size_t many = 77;
    tern_hashtable *t = inside.counters, *none = NULL;
    tern_hashtable_buffer *buffer = NULL;
    EXPECT_OK(tern_hashtable_for_each(w, t, look, &seen));
    EXPECT_OK(tern_hashtable_local_size(w, t, &number));
    CU_ASSERT_EQUAL(seen, number);
    CU_ASSERT(tern_hashtable_owner(t, &inside.key) < inside.f->size);
    check_explanation(inside.f, t, 0);
    EXPECT_OK(tern_hashtable_buffer_create(w, t, 0, &buffer));
    number = 77;
    EXPECT(TERN_ERR_STATE, tern_hashtable_buffer_add(w, buffer, &inside.key, 1));
    EXPECT(TERN_ERR_STATE, tern_hashtable_buffer_flush(w, buffer, &number));
    EXPECT(TERN_ERR_STATE, tern_hashtable_buffer_destroy(w, buffer, &number));
    EXPECT(fixture_all_direct(inside.f) ? TERN_OK : TERN_ERR_STATE,
           tern_hashtable_for_each_anywhere(w, t, look, &seen));
    EXPECT(TERN_ERR_STATE, tern_hashtable_size(w, t, &number));
    EXPECT(TERN_ERR_STATE, tern_hashtable_clear(w, t));
    EXPECT(TERN_ERR_STATE, tern_hashtable_destroy(w, t));
    EXPECT(TERN_ERR_STATE, tern_hashtable_save(w, t, "/tmp/tern-test-no-file", NULL, 0));
    EXPECT(TERN_ERR_STATE, tern_hashtable_load(w, "/tmp/tern-test-no-file", NULL, NULL, &none));
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_hashtable_file_read("/tmp/tern-test-no-file", &(tern_hashtable_file){.keys = 0}));
    for (tern_flags path = rma; path <= call; path *= 2) {
        EXPECT(TERN_ERR_STATE, tern_hashtable_add_many(w, t, &inside.key, 1, 1, path, &many));
        EXPECT(TERN_ERR_STATE,
               tern_hashtable_insert_many(w, inside.values, &inside.key, &number, 1, path, &many));
        EXPECT(TERN_ERR_STATE,
               tern_hashtable_find_many(w, t, &inside.key, 1, path, &number, &found, &many));
    }
    CU_ASSERT(number == 77 && found == 77 && none == NULL);
    inside.buffer = buffer;
    inside.runs++;
}

static tern_status be_inside(tern_call_info *info, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    single_operations_inside(info->worker);
    others_inside(info->worker);
    return TERN_OK;
}
TERN_FUNCTION(be_inside)

/* The buffer that the handler made is the worker's: it may be destroyed outside. */
static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    inside.f = &f;
    inside.values = make(&f, 0, 100);
    inside.counters = make(&f, 1, 100);
    inside.runs = 0;
    for (uint32_t turn = 0; turn < f.size * f.size; turn++) {
        const uint32_t owner = turn / f.size;
        tern_transport transport = TERN_SHM;
        if (turn % f.size == f.rank) {
            const uint64_t one = 1;
            EXPECT_OK(tern_context_transport(f.context, owner, &transport));
            inside.direct = owner == f.rank || transport == TERN_SHM;
            inside.key = number_owned_by(inside.values, owner, 0);
            inside.count = 1;
            EXPECT_OK(tern_hashtable_insert(f.worker, inside.values, &inside.key, &one, 0, NULL));
            EXPECT_OK(tern_hashtable_add(f.worker, inside.counters, &inside.key, 1, 0, NULL));
            EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){f.rank, 0}, &be_inside_function,
                                       NULL, 0, NULL, 0, NULL));
            uint64_t now = 0;
            EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, inside.buffer, &now));
            CU_ASSERT_EQUAL(now, 0);
            EXPECT_OK(tern_hashtable_find(f.worker, inside.counters, &inside.key, 0, &now));
            CU_ASSERT_EQUAL(now, 1);
            EXPECT_OK(tern_hashtable_erase(f.worker, inside.counters, &inside.key, 0));
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    CU_ASSERT_EQUAL(inside.runs, f.size);
    end(&f, inside.values);
    end(&f, inside.counters);
    fixture_close(&f);
}

/* Each form of an insert or an add meets a part that is full: it says so, and nothing changes; keys
 * that are there are still written. */
static void refuse_values(fixture *f, tern_hashtable *table, uint64_t key, uint64_t old) {
    for (int i = 0; i < 3; i++) {
        const tern_flags path = fixture_path((uint64_t)i);
        uint64_t value = 5, refused = 77, got = 77;
        int existed = 77;
        size_t stored = 77;
        tern_request r = {0};
        tern_hashtable_buffer *buffer = NULL;
        EXPECT(TERN_ERR_FULL,
               tern_hashtable_insert(f->worker, table, &key, &value, path, &existed));
        EXPECT(TERN_ERR_FULL,
               tern_hashtable_insert_new(f->worker, table, &key, &value, path, &existed));
        if (path != rma)
            EXPECT(TERN_ERR_FULL, modify(f, table, &key, path, &existed));
        CU_ASSERT_EQUAL(existed, 77);
        EXPECT_OK(tern_hashtable_insert_start(f->worker, table, &key, &value, path, &r));
        EXPECT(TERN_ERR_FULL, tern_wait(f->worker, &r));
        EXPECT_OK(tern_hashtable_insert_new_start(f->worker, table, &key, &value, path, &r));
        EXPECT(TERN_ERR_FULL, tern_wait(f->worker, &r));
        const uint64_t keys[] = {key, old}, values[] = {6, 7 + (uint64_t)i};
        EXPECT(TERN_ERR_FULL,
               tern_hashtable_insert_many(f->worker, table, keys, values, 2, path, &stored));
        CU_ASSERT_EQUAL(stored, 1);
        EXPECT_OK(tern_hashtable_find(f->worker, table, &old, path, &got));
        CU_ASSERT_EQUAL(got, 7 + (uint64_t)i);
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 0, &buffer));
        EXPECT_OK(tern_hashtable_buffer_insert(f->worker, buffer, &key, &value));
        EXPECT_OK(tern_hashtable_buffer_insert(f->worker, buffer, &old, &value));
        EXPECT(TERN_ERR_FULL, tern_hashtable_buffer_destroy(f->worker, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 1);
        EXPECT_OK(tern_hashtable_insert_new(f->worker, table, &old, &key, path, &existed));
        CU_ASSERT_EQUAL(existed, 1);
        EXPECT_OK(tern_hashtable_find(f->worker, table, &old, path, &got));
        CU_ASSERT_EQUAL(got, 5);
        got = 77;
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f->worker, table, &key, path, &got));
        CU_ASSERT_EQUAL(got, 77);
    }
}

static void refuse_counts(fixture *f, tern_hashtable *table, uint64_t key, uint64_t old) {
    uint64_t count = 1, got = 77;
    for (int i = 0; i < 3; i++) {
        const tern_flags path = fixture_path((uint64_t)i);
        uint64_t before = 77, refused = 77;
        size_t added = 77;
        tern_request r = {0};
        tern_hashtable_buffer *buffer = NULL;
        EXPECT(TERN_ERR_FULL, tern_hashtable_add(f->worker, table, &key, 1, path, &before));
        EXPECT(TERN_ERR_NOT_FOUND,
               tern_hashtable_compare_swap(f->worker, table, &key, 0, 1, path, &before));
        CU_ASSERT_EQUAL(before, 77);
        EXPECT_OK(tern_hashtable_add_start(f->worker, table, &key, 1, path, &r));
        EXPECT(TERN_ERR_FULL, tern_wait(f->worker, &r));
        const uint64_t keys[] = {old, key, old};
        EXPECT(TERN_ERR_FULL, tern_hashtable_add_many(f->worker, table, keys, 3, 10, path, &added));
        CU_ASSERT_EQUAL(added, 2);
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 1, &buffer));
        for (int n = 0; n < 3; n++)
            EXPECT_OK(tern_hashtable_buffer_add(f->worker, buffer, &keys[n], 100));
        EXPECT(TERN_ERR_FULL, tern_hashtable_buffer_flush(f->worker, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 1);
        EXPECT_OK(tern_hashtable_buffer_destroy(f->worker, buffer, &refused));
        CU_ASSERT_EQUAL(refused, 0);
        count += 220;
        EXPECT_OK(tern_hashtable_find(f->worker, table, &old, path, &got));
        CU_ASSERT_EQUAL(got, count);
    }
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f->worker, table, &key, 0, &got));
    CU_ASSERT_EQUAL(got, count);
}

/* One rank after the other fills the part of the next one. */
static void full_in_every_form(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (int counter = 0; counter < 2; counter++) {
        tern_hashtable *table = make(&f, counter, 1);
        const uint32_t owner = (f.rank + 1) % f.size;
        for (uint32_t turn = 0; turn < f.size; turn++) {
            uint64_t key = number_owned_by(table, owner, 0), old = key, one = 1;
            tern_status status = TERN_OK;
            for (int i = 0; turn == f.rank && status == TERN_OK && i < 1000; i++) {
                key = number_owned_by(table, owner, i == 0 ? 0 : key + 1);
                status = counter ? tern_hashtable_add(f.worker, table, &key, 1, 0, NULL)
                                 : tern_hashtable_insert(f.worker, table, &key, &one, 0, NULL);
            }
            if (turn == f.rank) {
                EXPECT(TERN_ERR_FULL, status);
                EXPECT_DETAIL("capacity");
                (counter ? refuse_counts : refuse_values)(&f, table, key, old);
            }
            EXPECT_OK(tern_barrier(f.worker));
        }
        end(&f, table);
    }
    fixture_close(&f);
}

/* A worker that holds all its calls: TERN_ERR_AGAIN by call, nothing is done, and AUTO goes by RMA.
 */
static void no_call_is_left(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *values = make(&f, 0, 100), *counters = make(&f, 1, 100);
    const uint32_t next = (f.rank + 1) % f.size;
    tern_request held[TERN_CALL_REQUESTS] = {0};
    uint64_t key = number_owned_by(values, next, 1000 * f.rank), value = 5, got = 77;
    int existed = 77;
    start_all_calls(&f, next, held);
    if (f.size > 1) {
        tern_worker *w = f.worker;
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_insert(w, values, &key, &value, call, &existed));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_insert_new(w, values, &key, &value, call, &existed));
        EXPECT(TERN_ERR_AGAIN, modify(&f, values, &key, call, &existed));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_find(w, values, &key, call, &got));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_erase(w, values, &key, call));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_add(w, counters, &key, 1, call, &got));
        EXPECT(TERN_ERR_AGAIN, tern_hashtable_compare_swap(w, counters, &key, 0, 1, call, &got));
        CU_ASSERT(existed == 77 && got == 77);
    }
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, values, &key, rma, &got));
    EXPECT_OK(tern_hashtable_insert(f.worker, values, &key, &value, TERN_AUTO, &existed));
    CU_ASSERT_EQUAL(existed, 0);
    EXPECT_OK(tern_hashtable_add(f.worker, counters, &key, 3, TERN_AUTO, &got));
    CU_ASSERT_EQUAL(got, 0);
    wait_for_all_calls(&f, held);
    EXPECT_OK(tern_hashtable_find(f.worker, values, &key, call, &got));
    CU_ASSERT_EQUAL(got, 5);
    end(&f, values);
    end(&f, counters);
    fixture_close(&f);
}

/* What an operation has changed when it returned is seen by what begins later: the next rank is
 * told by MPI alone. */

static void store(fixture *f, tern_hashtable *table, const uint64_t *key, const uint64_t *value,
                  uint64_t form) {
    const tern_flags path = form % 2 ? call : rma;
    tern_request r = {0};
    tern_hashtable_buffer *buffer = NULL;
    switch (form / 2) {
    case 0:
        EXPECT_OK(tern_hashtable_insert(f->worker, table, key, value, path, NULL));
        break;
    case 1:
        EXPECT_OK(tern_hashtable_insert_start(f->worker, table, key, value, path, &r));
        EXPECT_OK(tern_wait(f->worker, &r));
        break;
    case 2:
        EXPECT_OK(tern_hashtable_insert_many(f->worker, table, key, value, 1, path, NULL));
        break;
    default:
        EXPECT_OK(tern_hashtable_buffer_create(f->worker, table, 0, &buffer));
        EXPECT_OK(tern_hashtable_buffer_insert(f->worker, buffer, key, value));
        EXPECT_OK(tern_hashtable_buffer_flush(f->worker, buffer, NULL));
        EXPECT_OK(tern_hashtable_buffer_destroy(f->worker, buffer, NULL));
    }
}

static void load(fixture *f, tern_hashtable *table, const uint64_t *key, uint64_t *value,
                 uint64_t form) {
    const tern_flags path = form % 2 ? call : rma;
    tern_request r = {0};
    if (form % 6 < 2) {
        EXPECT_OK(tern_hashtable_find(f->worker, table, key, path, value));
    } else if (form % 6 < 4) {
        EXPECT_OK(tern_hashtable_find_start(f->worker, table, key, path, value, &r));
        EXPECT_OK(tern_wait(f->worker, &r));
    } else {
        EXPECT_OK(tern_hashtable_find_many(f->worker, table, key, 1, path, value, NULL, NULL));
    }
}

/* Passes a word around by MPI, with progress. */
static uint64_t pass_on(fixture *f, uint64_t word) {
    uint64_t got = 0;
    int done = 0;
    MPI_Request both[2];
    MPI_Status states[2];
    EXPECT_OK(tern_flush_all(f->worker)); /* before a wait that is not tern's */
    tern_mpi_lock();
    MPI_Irecv(&got, 1, MPI_UINT64_T, (int)((f->rank + f->size - 1) % f->size), 7, f->comm,
              &both[0]);
    MPI_Isend(&word, 1, MPI_UINT64_T, (int)((f->rank + 1) % f->size), 7, f->comm, &both[1]);
    tern_mpi_unlock();
    while (!done) {
        tern_progress(f->worker);
        tern_mpi_lock();
        MPI_Testall(2, both, &done, states);
        tern_mpi_unlock();
        sched_yield();
    }
    return got;
}

static void what_has_returned_is_seen(void) {
    enum { FORMS = 8 };
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 0, 16 * f.size);
    uint64_t keys[3];
    for (uint32_t i = 0; i < 3; i++)
        keys[i] = number_owned_by(table, i % f.size, 1000 * f.rank);
    for (uint64_t form = 0; form < FORMS * FORMS; form++) {
        const uint64_t key = keys[form % 3], value = form * f.size + f.rank;
        store(&f, table, &key, &value, form % FORMS);
        const uint64_t theirs = pass_on(&f, key);
        uint64_t got = 77;
        load(&f, table, &theirs, &got, form / FORMS);
        CU_ASSERT_EQUAL(got, form * f.size + (f.rank + f.size - 1) % f.size);
        EXPECT_OK(tern_barrier(f.worker)); /* before the key is written again */
    }
    end(&f, table);
    fixture_close(&f);
}

/* Of two ranks that change a key each and then look at the other's, one sees the other's change. */
static void one_of_two_sees_the_other(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    if (f.size == 1) {
        tern_test_skip("one rank sees itself");
        fixture_close(&f);
        return;
    }
    tern_hashtable *tables[] = {make(&f, 0, 20), make(&f, 1, 20)};
    uint64_t random = tern_test_seed(), unseen = 0, keys[2];
    for (int i = fixture_times(&f, 200) * 2; i > 0; i--) {
        tern_hashtable *table = tables[below(&random, 2)];
        const tern_flags write = any_path(&random), read = any_path(&random);
        const uint64_t one = 1;
        keys[0] = below(&random, 10);
        keys[1] = 10 + below(&random, 10);
        uint64_t got = 0, all[64], mine = 1;
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank < 2) {
            if (table == tables[0])
                EXPECT_OK(tern_hashtable_insert(f.worker, table, &keys[f.rank], &one, write, NULL));
            else
                EXPECT_OK(tern_hashtable_add(f.worker, table, &keys[f.rank], 1, write, NULL));
            mine = tern_hashtable_find(f.worker, table, &keys[1 - f.rank], read, &got) == TERN_OK;
        }
        fixture_share(&f, &mine, sizeof mine, all);
        unseen += all[0] + all[1] == 0;
        if (f.rank < 2)
            EXPECT_OK(tern_hashtable_erase(f.worker, table, &keys[f.rank], write));
    }
    CU_ASSERT_EQUAL(unseen, 0);
    end(&f, tables[0]);
    end(&f, tables[1]);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"in_a_handler", in_a_handler},
        {"full_in_every_form", full_in_every_form},
        {"no_call_is_left", no_call_is_left},
        {"what_has_returned_is_seen", what_has_returned_is_seen},
        {"one_of_two_sees_the_other", one_of_two_sees_the_other},
    };
    return tern_test_main(argc, argv, "hashtable_guarantees", tests,
                          sizeof tests / sizeof tests[0]);
}
