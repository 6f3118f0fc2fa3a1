/*
 * One job of the campaign: ranks work on shared tables, maps, queues and memory and save and load a
 * table, while some of them are killed or stopped (director.h). Each rank checks what it reads
 * (campaign_model.h), that an error names a rank that is dead, and that no operation lasts long.
 * The survivors go on for a while, close everything, and work in a context of their own.
 */

#include <stdlib.h>
#include <string.h>

#include "campaign_model.h"
#include "director.h"
#include "survivors.h"

#include "tern/hashtable.h"

enum {
    STEPS = 200,       /* of a rank between two collective functions */
    ROUNDS = 8,        /* of a job without a death */
    STEPS_AFTER = 150, /* of a survivor that has been told */
    LONGEST_VALUE = 3000
};

/* In seconds. An operation may have to wait for a rank that is stopped, on a machine that is busy:
 * only a hang lasts longer. */
static const double patient = 60;

typedef struct values {
    tern_hashtable *table, *counters;
    tern_hashtable *copy; /* of the table, loaded */
    tern_map *map;
    tern_queue *queue;
    tern_ptr *memory; /* by rank: a value for each rank */
    model of_table, of_map, of_memory;
    uint64_t counted[MODEL_KEYS], counts_seen[MODEL_KEYS];
    uint32_t pushed, popped[MODEL_RANKS]; /* numbers of items, by writer */
} values;

static struct {
    fixture f;
    values v;
    uint64_t state;  /* of this rank's own draws */
    uint64_t shared; /* the same draws on every rank */
    uint32_t rounds;
    bool open;     /* the context */
    bool begun;    /* some objects are made, */
    bool made;     /* all of them */
    bool told;     /* of a death */
    bool anywhere; /* ranks die inside MPI and in the creation of a context, too */
    bool apart;    /* it was told where others may have left the context or the objects */
    char path[512];
} job;

static void complain(const char *what, tern_status status) {
    char text[600];
    snprintf(text, sizeof text, "%.100s in round %u: %s (%.300s)", what, job.rounds,
             tern_strerror(status), status == TERN_OK ? "" : tern_error_detail());
    CU_assertImplementation(CU_FALSE, __LINE__, text, __FILE__, "", CU_FALSE);
}

static bool names_dead_rank(void) {
    for (int rank = 0; rank < tern_test_size(); rank++) {
        char name[32];
        snprintf(name, sizeof name, "rank %d has died", rank);
        const char *at = strstr(tern_error_detail(), name);
        if (at != NULL && tern_test_dead(rank))
            return true;
    }
    return false;
}

/* Whether the operation succeeded. It may also end with one other status, and with the news of a
 * death. */
static bool judge(const char *what, tern_status status, tern_status other, double since) {
    if (MPI_Wtime() - since > patient)
        complain("lasted long", status);
    if (status == TERN_ERR_PEER) {
        if (!names_dead_rank())
            complain(what, status);
        job.told = true;
    } else if (status != TERN_OK && status != other) {
        complain(what, status);
    }
    return status == TERN_OK;
}

#define JUDGE(other, call)                                                                         \
    __extension__({                                                                                \
        const double job_since = MPI_Wtime();                                                      \
        judge(#call, call, other, job_since);                                                      \
    })

static uint64_t draw(uint64_t limit) { return below(&job.state, limit); }

static tern_flags draw_path(void) { return fixture_path(draw(3)); }

static uint64_t draw_key(void) { return draw(MODEL_KEYS * (uint64_t)job.f.size); }

static uint64_t own_key(uint32_t index) { return index * (uint64_t)job.f.size + job.f.rank; }

/* ---- Steps: one operation and a look at what it gave ---- */

static void table_change(void) {
    const uint32_t index = (uint32_t)draw(MODEL_KEYS);
    const bool stores = draw(4) != 0;
    const uint64_t key = own_key(index);
    const uint32_t number = model_next(&job.v.of_table, index, stores);
    const model_value v = model_make(key, job.f.rank, number);
    const double since = MPI_Wtime();
    const tern_status status =
        stores ? tern_hashtable_insert(job.f.worker, job.v.table, &key, &v, draw_path(), NULL)
               : tern_hashtable_erase(job.f.worker, job.v.table, &key, draw_path());
    (void)judge("a change of the table", status, stores ? TERN_OK : TERN_ERR_NOT_FOUND, since);
    if (status == TERN_ERR_NOT_FOUND &&
        !model_may_miss(&job.v.of_table, key, job.f.rank, job.f.size))
        complain("the table lost a key", status);
    model_tried(&job.v.of_table, index, number, status == TERN_OK || status == TERN_ERR_NOT_FOUND);
}

static void table_find_in(tern_hashtable *table, uint64_t key) {
    model_value v = {0, 0, 0, 0};
    const double since = MPI_Wtime();
    const tern_status status = tern_hashtable_find(job.f.worker, table, &key, draw_path(), &v);
    if (judge("a find in the table", status, TERN_ERR_NOT_FOUND, since)) {
        if (!model_may_find(&job.v.of_table, key, job.f.rank, job.f.size, &v))
            complain("garbage in the table", status);
    } else if (status == TERN_ERR_NOT_FOUND &&
               !model_may_miss(&job.v.of_table, key, job.f.rank, job.f.size)) {
        complain("the table lost a key", status);
    }
}

static void table_find(void) { table_find_in(job.v.table, draw_key()); }

static void counter_add(void) {
    const uint64_t key = draw(MODEL_KEYS);
    uint64_t before = 0;
    if (!JUDGE(TERN_OK,
               tern_hashtable_add(job.f.worker, job.v.counters, &key, 1, draw_path(), &before)))
        return;
    if (before < job.v.counted[key] || before < job.v.counts_seen[key])
        complain("a counter went back", TERN_OK);
    job.v.counted[key]++;
    job.v.counts_seen[key] = before + 1;
}

/* A value of a map is followed by bytes that depend on its check. */
static size_t bytes_of(const model_value *v) {
    return sizeof *v + v->check % (LONGEST_VALUE - sizeof *v);
}

static void map_change(void) {
    static unsigned char bytes[LONGEST_VALUE];
    const uint32_t index = (uint32_t)draw(MODEL_KEYS);
    const bool stores = draw(4) != 0;
    const uint64_t key = own_key(index);
    const uint32_t number = model_next(&job.v.of_map, index, stores);
    const model_value v = model_make(key, job.f.rank, number);
    memset(bytes, (int)(v.check % 251), sizeof bytes);
    memcpy(bytes, &v, sizeof v);
    const double since = MPI_Wtime();
    const tern_status status =
        stores ? tern_map_insert(job.f.worker, job.v.map, &key, sizeof key, bytes, bytes_of(&v),
                                 draw_path(), NULL)
               : tern_map_erase(job.f.worker, job.v.map, &key, sizeof key, draw_path());
    (void)judge("a change of the map", status, stores ? TERN_OK : TERN_ERR_NOT_FOUND, since);
    if (status == TERN_ERR_NOT_FOUND && !model_may_miss(&job.v.of_map, key, job.f.rank, job.f.size))
        complain("the map lost a key", status);
    model_tried(&job.v.of_map, index, number, status == TERN_OK || status == TERN_ERR_NOT_FOUND);
}

static bool is_whole(const unsigned char *bytes, size_t count, const model_value *v) {
    if (count < sizeof *v || count != bytes_of(v))
        return false;
    for (size_t i = sizeof *v; i < count; i++)
        if (bytes[i] != v->check % 251)
            return false;
    return true;
}

static void map_find(void) {
    static unsigned char bytes[LONGEST_VALUE];
    const uint64_t key = draw_key();
    size_t count = 0;
    const double since = MPI_Wtime();
    const tern_status status = tern_map_find(job.f.worker, job.v.map, &key, sizeof key, draw_path(),
                                             bytes, sizeof bytes, &count);
    if (judge("a find in the map", status, TERN_ERR_NOT_FOUND, since)) {
        model_value v;
        memcpy(&v, bytes, sizeof v);
        if (!is_whole(bytes, count, &v) ||
            !model_may_find(&job.v.of_map, key, job.f.rank, job.f.size, &v))
            complain("garbage in the map", status);
    } else if (status == TERN_ERR_NOT_FOUND &&
               !model_may_miss(&job.v.of_map, key, job.f.rank, job.f.size)) {
        complain("the map lost a key", status);
    }
}

static void queue_push(void) {
    const model_value v = model_make(0, job.f.rank, ++job.v.pushed);
    (void)JUDGE(TERN_ERR_FULL, tern_queue_try_push(job.f.worker, job.v.queue, &v, draw_path()));
}

static void queue_pop(void) {
    model_value v;
    if (!JUDGE(TERN_ERR_EMPTY, tern_queue_try_pop(job.f.worker, job.v.queue, &v, draw_path())))
        return;
    if (v.check != model_check(&v) || v.writer >= job.f.size || v.number <= job.v.popped[v.writer])
        complain("garbage in the queue", TERN_OK);
    else
        job.v.popped[v.writer] = v.number;
}

/* Each rank writes one place of each rank's memory, and alone reads it. */
static void memory_write(void) {
    const uint32_t target = (uint32_t)draw(job.f.size);
    const uint32_t number = model_next(&job.v.of_memory, target, true);
    const model_value v = model_make(target, job.f.rank, number);
    const tern_ptr place = tern_ptr_add(job.v.memory[target], (int64_t)(job.f.rank * sizeof v));
    const bool good = JUDGE(TERN_OK, tern_put(job.f.worker, place, &v, sizeof v)) &&
                      JUDGE(TERN_OK, tern_flush(job.f.worker, target));
    model_tried(&job.v.of_memory, target, number, good);
}

static void memory_read(void) {
    const uint32_t target = (uint32_t)draw(job.f.size);
    const tern_ptr place =
        tern_ptr_add(job.v.memory[target], (int64_t)(job.f.rank * sizeof(model_value)));
    model_value v;
    /* A put that failed may be there in part. */
    if (job.v.of_memory.sure[target] != job.v.of_memory.tried[target] ||
        !JUDGE(TERN_OK, tern_get(job.f.worker, &v, place, sizeof v)))
        return;
    const model_value is = model_make(target, job.f.rank, job.v.of_memory.sure[target]);
    if (is.number != 0 && memcmp(&v, &is, sizeof v) != 0)
        complain("garbage in memory", TERN_OK);
}

static tern_status mirror(tern_call_info *call, const void *arguments, size_t bytes) {
    model_value v;
    if (bytes != sizeof v)
        return TERN_ERR_RANGE;
    memcpy(&v, arguments, sizeof v);
    v = model_make(v.key, tern_worker_self(call->worker).rank, v.number);
    memcpy(call->result, &v, sizeof v);
    call->result_bytes = sizeof v;
    return TERN_OK;
}
TERN_FUNCTION(mirror)

static void call_and_return(void) {
    const uint32_t target = (uint32_t)draw(job.f.size);
    const tern_worker_id to =
        draw(2) == 0 ? (tern_worker_id){target, 0} : tern_context_service(job.f.context, target);
    const model_value sent = model_make(draw(UINT64_MAX), job.f.rank, (uint32_t)draw(UINT32_MAX));
    const model_value wanted = model_make(sent.key, target, sent.number);
    model_value got = {0, 0, 0, 0};
    size_t bytes = 0;
    if (JUDGE(TERN_OK, tern_call_return(job.f.worker, to, &mirror_function, &sent, sizeof sent,
                                        &got, sizeof got, &bytes)) &&
        (bytes != sizeof got || memcmp(&got, &wanted, sizeof got) != 0))
        complain("garbage from a call", TERN_OK);
}

static void one_step(void) {
    static void (*const steps[])(void) = {
        table_change, table_find, table_find, counter_add,  map_change,  map_find,
        queue_push,   queue_pop,  queue_pop,  memory_write, memory_read, call_and_return,
    };
    steps[draw(sizeof steps / sizeof steps[0])]();
}

/* ---- What all do together ---- */

static bool open_context(MPI_Comm comm) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.service_threads = below(&job.shared, 2);
    job.f.context = NULL;
    if (!JUDGE(TERN_OK, tern_context_create(comm, &config, &job.f.context)))
        return false;
    job.f.comm = comm;
    job.f.rank = tern_context_rank(job.f.context);
    job.f.size = tern_context_size(job.f.context);
    job.open = EXPECT_OK(tern_worker_adopt(job.f.context, 0, &job.f.worker));
    return job.open && JUDGE(TERN_OK, tern_barrier(job.f.worker));
}

static bool close_context(void) {
    job.open = false;
    EXPECT_OK(tern_worker_release(job.f.worker));
    return JUDGE(TERN_OK, tern_context_destroy(job.f.context));
}

/* Rank 0 answers where the memory of each rank is. */
static tern_ptr my_memory;

static tern_status memory_of(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    memcpy(call->result, &my_memory, sizeof my_memory);
    call->result_bytes = sizeof my_memory;
    return TERN_OK;
}
TERN_FUNCTION(memory_of)

static bool share_memory(void) {
    values *v = &job.v;
    v->memory = calloc(job.f.size, sizeof *v->memory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v->memory);
    if (!JUDGE(TERN_OK, tern_barrier(job.f.worker)))
        return false;
    for (uint32_t r = 0; r < job.f.size; r++)
        if (!JUDGE(TERN_OK,
                   tern_call_return(job.f.worker, (tern_worker_id){r, 0}, &memory_of_function, NULL,
                                    0, &v->memory[r], sizeof v->memory[r], NULL)))
            return false;
    return true;
}

static bool make_objects(void) {
    values *v = &job.v;
    memset(v, 0, sizeof *v);
    const tern_hashtable_options table = {.key_bytes = 8,
                                          .value_bytes = sizeof(model_value),
                                          .capacity = MODEL_KEYS * (uint64_t)job.f.size / 2,
                                          .grow = 1};
    const tern_hashtable_options counters = {.key_bytes = 8, .counter = 1, .capacity = MODEL_KEYS};
    const tern_map_options map = {.capacity = MODEL_KEYS * (uint64_t)job.f.size};
    const tern_queue_options queue = {.host = (uint32_t)below(&job.shared, job.f.size),
                                      .item_bytes = sizeof(model_value),
                                      .capacity = 64};
    const size_t bytes = job.f.size * sizeof(model_value);
    job.begun = true;
    if (!EXPECT_OK(tern_alloc(job.f.worker, bytes, 0, TERN_DOMAIN_OWNER, &my_memory)))
        return false;
    memset(tern_local(job.f.context, my_memory), 0, bytes);
    job.made = JUDGE(TERN_OK, tern_hashtable_create(job.f.worker, &table, &v->table)) &&
               JUDGE(TERN_OK, tern_hashtable_create(job.f.worker, &counters, &v->counters)) &&
               JUDGE(TERN_OK, tern_map_create(job.f.worker, &map, &v->map)) &&
               JUDGE(TERN_OK, tern_queue_create(job.f.worker, &queue, &v->queue)) &&
               share_memory() && JUDGE(TERN_OK, tern_barrier(job.f.worker));
    return job.made;
}

static bool unmake_objects(void) {
    values *v = &job.v;
    job.made = job.begun = false;
    bool good = JUDGE(TERN_OK, tern_hashtable_destroy(job.f.worker, v->copy));
    good &= JUDGE(TERN_OK, tern_queue_destroy(job.f.worker, v->queue));
    good &= JUDGE(TERN_OK, tern_map_destroy(job.f.worker, v->map));
    good &= JUDGE(TERN_OK, tern_hashtable_destroy(job.f.worker, v->counters));
    good &= JUDGE(TERN_OK, tern_hashtable_destroy(job.f.worker, v->table));
    EXPECT_OK(tern_free(job.f.worker, my_memory));
    free(v->memory);
    memset(v, 0, sizeof *v);
    return good;
}

/* A rank that is told of a death before may still use the objects of the others. */
static bool may_unmake(void) { return JUDGE(TERN_OK, tern_barrier(job.f.worker)); }

static bool save_and_load(void) {
    values *v = &job.v;
    if (!JUDGE(TERN_OK, tern_hashtable_save(job.f.worker, v->table, job.path, NULL, 0)) ||
        !JUDGE(TERN_OK, tern_hashtable_load(job.f.worker, job.path, NULL, NULL, &v->copy)))
        return false;
    for (uint32_t index = 0; index < MODEL_KEYS && !job.told; index++)
        table_find_in(v->copy, own_key(index));
    if (!may_unmake())
        return false;
    tern_hashtable *copy = v->copy;
    v->copy = NULL;
    return JUDGE(TERN_OK, tern_hashtable_destroy(job.f.worker, copy));
}

static bool make_again(void) { return may_unmake() && unmake_objects() && make_objects(); }

static bool all_again(void) {
    const MPI_Comm comm = job.f.comm;
    return may_unmake() && unmake_objects() && JUDGE(TERN_OK, tern_barrier(job.f.worker)) &&
           close_context() && open_context(comm) && make_objects();
}

/* All ranks do some steps each, and then something together. */
static void one_round(void) {
    for (int i = 0; i < STEPS && !job.told; i++)
        one_step();
    const uint64_t kind = below(&job.shared, 8);
    if (job.told)
        return;
    if (kind == 0)
        job.apart = !(job.anywhere ? all_again() : make_again());
    else if (kind == 1)
        job.apart = !make_again();
    else if (kind < 4)
        (void)save_and_load();
    else if (kind == 4)
        (void)JUDGE(TERN_OK, tern_quiesce(job.f.worker));
    else
        (void)JUDGE(TERN_OK, tern_barrier(job.f.worker));
    job.rounds++;
}

/* ---- The job ---- */

/* The others may still need this rank. */
static void serve_until_all_came(void) {
    while (!director_done()) {
        if (job.open)
            tern_progress(job.f.worker);
        sched_yield();
    }
    tern_test_arrive();
    while (!tern_test_all_arrived()) {
        if (job.open)
            tern_progress(job.f.worker);
        sched_yield();
    }
}

static void go_on_without(void) {
    for (int i = 0; i < STEPS_AFTER && job.made && !job.apart; i++)
        one_step();
    serve_until_all_came();
    if (job.begun)
        (void)unmake_objects();
    serve_until_all_came();
    if (job.open)
        (void)close_context();
}

/* The survivors have a context of their own, and nobody dies any more. */
static void start_again(MPI_Comm rest) {
    job.told = false;
    job.shared = tern_test_seed(); /* some ranks have drawn more often than others by now */
    fprintf(stderr, "campaign: rank %d begins anew\n", tern_test_rank());
    if (!open_context(rest) || !make_objects()) {
        complain("no new context", TERN_ERR_PEER);
        return;
    }
    for (int i = 0; i < STEPS; i++)
        one_step();
    (void)save_and_load();
    (void)(may_unmake() && unmake_objects() && close_context());
    if (job.told)
        complain("a death in the new context", TERN_ERR_PEER);
}

static void run_job(bool kills, bool anywhere) {
    const char *folder = getenv("CAMPAIGN_FOLDER");
    MPI_Comm rest;
    if (tern_test_size() < 2 || tern_test_size() > MODEL_RANKS) {
        tern_test_skip("2 to 8 ranks");
        return;
    }
    snprintf(job.path, sizeof job.path, "%s/table", folder != NULL ? folder : ".");
    job.shared = tern_test_seed();
    job.state = job.shared * 1000003 + (uint64_t)tern_test_rank();
    const director_plan plan = director_draw(&job.shared, tern_test_size(), kills, !anywhere);
    MPI_Comm_split(MPI_COMM_WORLD, plan.victims[tern_test_rank()], tern_test_rank(), &rest);
    tern_log_set_level(TERN_LOG_NONE);
    job.anywhere = anywhere;
    director_meet(&plan);
    if (anywhere)
        director_start();
    job.apart = !open_context(MPI_COMM_WORLD) || !make_objects();
    if (!anywhere)
        director_start();
    while (!job.told && (kills || job.rounds < ROUNDS))
        one_round();
    if (kills)
        go_on_without();
    else
        (void)(may_unmake() && unmake_objects() && close_context());
    while (!director_done())
        sched_yield();
    CU_ASSERT(director_join());
    if (plan.victims[tern_test_rank()])
        for (;;)
            pause();
    CU_ASSERT_EQUAL(job.told, kills);
    /* A rank that died inside MPI may have left the others' messages undelivered. */
    if (!anywhere)
        start_again(rest);
}

static void kills(void) { run_job(true, false); }
static void kills_anywhere(void) { run_job(true, true); }
static void stops(void) { run_job(false, false); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"kills", kills}, {"kills_anywhere", kills_anywhere}, {"stops", stops}};
    return tern_test_main(argc, argv, "campaign", tests, sizeof tests / sizeof tests[0]);
}
