#include "histories/crew.h"

#include <sched.h>
#include <stdlib.h>

typedef struct recruit {
    history_crew *crew;
    uint32_t index;
} recruit;

static uint16_t actor_number(const history_crew *crew, uint32_t index) {
    return (uint16_t)(crew->f->rank * crew->actors + index);
}

static void *serve(void *argument) {
    recruit *me = argument;
    history_crew *crew = me->crew;
    tern_worker *worker = NULL;
    history_actor *actor = &crew->actor[me->index];
    unsigned failed = tern_worker_adopt(crew->f->context, me->index + 1, &worker) != TERN_OK;
    actor->worker = worker;
    for (unsigned round = 1;; round++) {
        atomic_fetch_add(&crew->failures, failed);
        atomic_fetch_add(&crew->done, 1);
        /* A map that is destroyed meanwhile waits until the calls of every worker have run. */
        while (atomic_load(&crew->round) != round)
            if (worker == NULL || tern_progress(worker) == 0)
                sched_yield();
        if (crew->part == NULL || worker == NULL)
            break;
        history_act(actor, crew->part);
        /* The barrier that ends a phase is another worker's. */
        failed = tern_flush_all(worker) != TERN_OK;
    }
    if (worker != NULL && tern_worker_release(worker) != TERN_OK)
        atomic_fetch_add(&crew->failures, 1);
    return NULL;
}

static void wait_for_threads(history_crew *crew) {
    while (atomic_load(&crew->done) != crew->threads)
        if (tern_progress(crew->f->worker) == 0)
            sched_yield();
    CU_ASSERT_EQUAL(atomic_load(&crew->failures), 0);
}

static void next_round(history_crew *crew, const history_part *part) {
    crew->part = part;
    atomic_store(&crew->done, 0);
    atomic_fetch_add(&crew->round, 1);
}

bool history_crew_open(history_crew *crew, fixture *f, uint32_t threads) {
    static recruit recruits[CREW_THREADS];
    *crew = (history_crew){.f = f, .threads = threads, .actors = threads == 0 ? 1 : threads};
    for (uint32_t i = 0; i < crew->actors; i++)
        if (!history_actor_open(&crew->actor[i], f, f->worker, actor_number(crew, i)))
            return false;
    for (uint32_t i = 0; i < threads; i++) {
        recruits[i] = (recruit){crew, i};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&crew->thread[i], NULL, serve, &recruits[i]), 0);
    }
    wait_for_threads(crew);
    if (atomic_load(&crew->failures) > 0)
        abort(); /* a thread that has no worker is in no round */
    return true;
}

void history_crew_close(history_crew *crew) {
    next_round(crew, NULL);
    for (uint32_t i = 0; i < crew->threads; i++)
        pthread_join(crew->thread[i], NULL);
    CU_ASSERT_EQUAL(atomic_load(&crew->failures), 0);
    for (uint32_t i = 0; i < crew->actors; i++)
        history_actor_close(&crew->actor[i]);
}

/* Collective: a part of a history, and the barrier behind it. */
static void act(history_crew *crew, const history_part *part) {
    if (crew->threads == 0) {
        history_act(&crew->actor[0], part);
    } else {
        next_round(crew, part);
        wait_for_threads(crew);
    }
    EXPECT_OK(tern_barrier(crew->f->worker));
}

enum { KEYS = 3 }; /* of a history */

/* Operations of each actor in a part: enough for some disorder, few enough to be judged. */
static int operations_of(const history_crew *crew) {
    int each = 24 / (int)(crew->f->size * crew->actors);
    return each > 3 ? each : 3;
}

/* Sizes that are written by one store, within a line, and by many of them. */
static size_t any_bytes(uint64_t *random) {
    static const size_t sizes[] = {8, 24, 200, 1000};
    return sizes[below(random, 4)];
}

/* First a mix or a phase of writes, then a phase of reads or a mix. */
static void act_twice(history_crew *crew, history_part *part, uint64_t *common) {
    part->phase = below(common, 3) ? PHASE_MIXED : PHASE_WRITES;
    part->operations = operations_of(crew);
    act(crew, part);
    part->phase = below(common, 3) ? PHASE_READS : PHASE_MIXED;
    act(crew, part);
}

/* Tables that grow are small to begin with. */
static tern_hashtable_options table_options(const history_target *target, bool grows,
                                            uint64_t keys) {
    return (tern_hashtable_options){.key_bytes = 8,
                                    .value_bytes = target->counts ? 0 : target->bytes,
                                    .counter = target->counts,
                                    .capacity = grows ? 1 : keys,
                                    .grow = grows};
}

/* Keys of earlier histories stay: buckets become scarce and probes long. */
static history_outcome key_histories(history_crew *crew, history_part *part, int histories,
                                     uint64_t *common, bool quiet) {
    for (int h = 0; h < histories; h++, part->first_object += part->objects)
        act_twice(crew, part, common);
    return history_verdicts(crew->f, crew->actor, crew->actors, part->kinds, &part->target->start,
                            quiet);
}

static history_outcome table_batch(history_crew *crew, bool counter, bool grows, uint64_t number,
                                   int histories, bool quiet) {
    fixture *f = crew->f;
    uint64_t common = tern_test_seed() + number * 7919;
    history_target target = {.bytes = counter ? 8 : any_bytes(&common),
                             .counts = counter,
                             .churn = grows ? 1 + below(&common, 4) : 0};
    tern_hashtable_options options = table_options(&target, grows, (uint64_t)histories * KEYS);
    if (!EXPECT_OK(tern_hashtable_create(f->worker, &options, &target.table)))
        return (history_outcome){0};
    history_part part = {&target, counter ? &history_of_counters : &history_of_values,
                         .objects = KEYS};
    history_outcome outcome = key_histories(crew, &part, histories, &common, quiet);
    EXPECT_OK(tern_hashtable_destroy(f->worker, target.table));
    return outcome;
}

static history_outcome map_batch(history_crew *crew, uint64_t number, int histories, bool quiet) {
    fixture *f = crew->f;
    uint64_t common = tern_test_seed() + number * 15485863;
    history_target target = {0};
    const bool grows = below(&common, 2) == 0;
    tern_map_options options = {.capacity = grows ? 1 : (uint64_t)histories * KEYS,
                                .inline_bytes = below(&common, 2) ? 0 : 200,
                                .grow = grows};
    if (!EXPECT_OK(tern_map_create(f->worker, &options, &target.map)))
        return (history_outcome){0};
    history_part part = {&target, &history_of_maps, .objects = KEYS};
    history_outcome outcome = key_histories(crew, &part, histories, &common, quiet);
    EXPECT_OK(tern_map_destroy(f->worker, target.map));
    return outcome;
}

/* Leaves the queue empty to the next history. */
static void empty(history_crew *crew, history_part *part) {
    part->pairs = false;
    part->phase = PHASE_READS;
    part->operations = 2 * (int)part->target->start.word[0];
    act(crew, part);
}

static history_outcome queue_batch(history_crew *crew, bool pairs, uint64_t number, int histories,
                                   bool quiet) {
    fixture *f = crew->f;
    uint64_t common = tern_test_seed() + number * 104729;
    history_target target = {.bytes = any_bytes(&common)};
    target.start.word[0] = 1 + below(&common, pairs ? f->size * crew->actors : 6);
    tern_queue_options options = {.host = (uint32_t)below(&common, f->size),
                                  .item_bytes = target.bytes,
                                  .capacity = target.start.word[0]};
    if (!EXPECT_OK(tern_queue_create(f->worker, &options, &target.queue)))
        return (history_outcome){0};
    history_part part = {&target, &history_of_queues, .objects = 1};
    for (int h = 0; h < histories; h++, part.first_object++) {
        part.pairs = pairs;
        part.phase = PHASE_MIXED;
        part.operations = 2 * operations_of(crew);
        if (pairs)
            act(crew, &part);
        else
            act_twice(crew, &part, &common);
        empty(crew, &part);
    }
    history_outcome outcome =
        history_verdicts(f, crew->actor, crew->actors, part.kinds, &target.start, quiet);
    EXPECT_OK(tern_queue_destroy(f->worker, target.queue));
    return outcome;
}

/* Objects are parts; those of a history have numbers from a multiple of 8 on. */
static history_outcome parts_batch(history_crew *crew, uint64_t number, int histories, bool quiet) {
    fixture *f = crew->f;
    uint64_t common = tern_test_seed() + number * 1299709;
    history_target target = {.bytes = any_bytes(&common)};
    target.start.word[0] = 1 + below(&common, 4);
    tern_queue_options options = {.item_bytes = target.bytes, .capacity = target.start.word[0]};
    if (!EXPECT_OK(tern_distributed_queue_create(f->worker, &options, &target.parts)))
        return (history_outcome){0};
    history_part part = {&target, &history_of_parts, .objects = f->size};
    for (int h = 0; h < histories; h++, part.first_object += 8) {
        act_twice(crew, &part, &common);
        empty(crew, &part);
    }
    history_outcome outcome =
        history_verdicts(f, crew->actor, crew->actors, part.kinds, &target.start, quiet);
    EXPECT_OK(tern_distributed_queue_destroy(f->worker, target.parts));
    return outcome;
}

history_outcome history_batch(history_crew *crew, history_container container, uint64_t number,
                              int histories, bool quiet) {
    switch (container) {
    case HISTORY_PARTS:
        return parts_batch(crew, number, histories, quiet);
    case HISTORY_QUEUE:
    case HISTORY_PAIRS:
        return queue_batch(crew, container == HISTORY_PAIRS, number, histories, quiet);
    case HISTORY_MAPS:
        return map_batch(crew, number, histories, quiet);
    default:
        return table_batch(crew,
                           container == HISTORY_COUNTERS || container == HISTORY_GROWING_COUNTERS,
                           container == HISTORY_GROWING || container == HISTORY_GROWING_COUNTERS,
                           number, histories, quiet);
    }
}

void history_campaign(history_crew *crew, history_container container) {
    /* A batch takes far longer where ranks share processors. */
    const int histories = crew->f->size > 2 || !fixture_all_direct(crew->f) ? 4 : 16;
    const uint64_t budget = (uint64_t)(1e9 * tern_test_seconds(0.2));
    history_outcome outcome = {0}, all = {0};
    for (uint64_t number = 0, end = 0; all.wrong == 0; number++) {
        outcome = history_batch(crew, container, number, histories, false);
        all.judged += outcome.judged;
        all.wrong += outcome.wrong;
        all.undecided += outcome.undecided;
        end = end == 0 ? outcome.clock + budget : end;
        /* Where the search has given up too often, others have to make up for it. */
        const uint64_t give_up = end + (100 * all.undecided > all.judged ? 4 * budget : 0);
        if (outcome.judged == 0 || outcome.clock >= give_up)
            break;
    }
    CU_ASSERT_EQUAL(all.wrong, 0);
    CU_ASSERT(all.judged > 0);
    CU_ASSERT(100 * all.undecided <= 100 + all.judged); /* one, and 1 % */
    if (crew->f->rank == 0)
        printf("%llu histories, %llu undecided ... ", (unsigned long long)all.judged,
               (unsigned long long)all.undecided);
}
