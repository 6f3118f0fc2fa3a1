// tern-test: transports
/*
 * Ring memory as a cache: rings of pairs that have become idle go to busy pairs. In each
 * epoch other pairs are busy, as many as there are rings for, and go on until each of them has had
 * a ring of its own. Records have random sizes, come in order, and none is lost. Each worker has a
 * thread, of which the first one also meets the other ranks.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"
#include "rma/ring/message_channel.h"
#include "rma/memory/state.h"
#include "src/context.h"

enum {
    WORKERS = 3,
    RECORD_MAX = 600,
    TURNS = 16, /* between meetings */
    RECORDS_A_TURN = 8,
    RECORDS_LEAST = 300, /* of a pair in an epoch */
};

/* What workers do; or end. */
enum { IDLE, BUSY, END };

/* Of a pair, at its origin or its target. */
typedef struct counts {
    uint32_t calls, notices;
} counts;

/* A worker and its thread. Counts are by worker of the job. */
typedef struct crew {
    pthread_t thread;
    tern_worker *worker;
    counts *arrived, *sent, *begin;
    bool *busy;
    unsigned *had; /* a bit for each channel of a pair that has had a ring in this epoch */
    uint64_t wrong;
    _Atomic uint64_t left;       /* busy pairs that have had no ring or have more to send */
    _Atomic uint64_t came, went; /* records of all pairs */
    _Atomic unsigned does;       /* what it has begun to do */
} crew;

static fixture f;
static uint32_t total;
static crew mates[WORKERS];
static _Atomic unsigned task;

/* Number and place say what a record has to be. */
static size_t fill(unsigned char *record, uint32_t number) {
    const size_t bytes = sizeof number + number * 2654435761u % (RECORD_MAX - sizeof number);
    memcpy(record, &number, sizeof number);
    memset(record + sizeof number, (int)(number & 0xff), bytes - sizeof number);
    return bytes;
}

static uint32_t number_of(tern_worker_id id) { return id.rank * WORKERS + id.index; }

static tern_status take_call(tern_call_info *call, const void *arguments, size_t bytes) {
    unsigned char expected[RECORD_MAX];
    crew *m = &mates[tern_worker_self(call->worker).index];
    counts *a = &m->arrived[number_of(call->origin)];
    m->wrong += bytes != fill(expected, a->calls) || memcmp(arguments, expected, bytes) != 0;
    a->calls++;
    atomic_fetch_add(&m->came, 1);
    return TERN_OK;
}
TERN_FUNCTION(take_call)

static void look(crew *m) {
    tern_event event;
    while (tern_probe(m->worker, TERN_PROBE_REMOTE, &event) == TERN_OK) {
        counts *a = &m->arrived[number_of(event.peer)];
        uint32_t number = 0;
        memcpy(&number, event.cid, sizeof number);
        m->wrong += event.cid_bytes != sizeof number || number != a->notices;
        a->notices++;
        atomic_fetch_add(&m->came, 1);
    }
    tern_progress(m->worker);
}

/* One record on each channel, if there is room. */
static void send_one(crew *m, uint32_t target) {
    unsigned char record[RECORD_MAX];
    const tern_worker_id id = {target / WORKERS, target % WORKERS};
    counts *c = &m->sent[target];
    tern_status status =
        tern_call_try(m->worker, id, &take_call_function, record, fill(record, c->calls));
    const bool called = status == TERN_OK;
    m->wrong += status != TERN_OK && status != TERN_ERR_AGAIN;
    status = tern_put_notify(m->worker, id, TERN_NULL, NULL, 0,
                             &(tern_notify_options){.cid = &c->notices,
                                                    .cid_bytes = sizeof c->notices,
                                                    .flags = TERN_NOTIFY_NO_LOCAL});
    const bool notified = status == TERN_OK;
    m->wrong += status != TERN_OK && status != TERN_ERR_AGAIN;
    c->calls += called;
    c->notices += notified;
    atomic_fetch_add(&m->went, (uint64_t)called + notified);
}

static bool has_ring(const crew *m, uint32_t target, uint32_t channel) {
    const tern_rma_worker *mine = tern_rma_worker_of(m->worker);
    const tern_out *out = mine->out[tern_endpoint_of(f.context, channel, target)];
    return out != NULL && out->ring != TERN_RING_NONE && !out->opening;
}

/* Not all of them at the same time: on a busy machine a thread that does not run looks idle, and
 * its ring goes to another pair. */
static bool has_had_rings(crew *m, uint32_t target) {
    for (uint32_t channel = 0; channel < TERN_CHANNELS; channel++)
        m->had[target] |= (unsigned)has_ring(m, target, channel) << channel;
    return m->had[target] == (1u << TERN_CHANNELS) - 1;
}

static void take_turn(crew *m) {
    const unsigned does = atomic_load(&task);
    uint64_t left = 0;
    for (uint32_t w = 0; does == BUSY && w < total; w++) {
        for (int i = 0; m->busy[w] && i < RECORDS_A_TURN; i++)
            send_one(m, w);
        left += m->busy[w] &&
                (!has_had_rings(m, w) || m->sent[w].calls - m->begin[w].calls < RECORDS_LEAST ||
                 m->sent[w].notices - m->begin[w].notices < RECORDS_LEAST);
    }
    look(m);
    atomic_store(&m->left, left);
    atomic_store(&m->does, does);
}

static void *work(void *argument) {
    crew *m = argument;
    while (atomic_load(&m->does) != END) {
        take_turn(m);
        sched_yield();
    }
    return NULL;
}

/* Until all workers of this rank do so. */
static void set_task(unsigned does) {
    atomic_store(&task, does);
    for (uint32_t i = 0; i < WORKERS; i++)
        while (atomic_load(&mates[i].does) != does) {
            take_turn(&mates[0]);
            sched_yield();
        }
}

/* Of all ranks. */
static uint64_t sum(uint64_t (*of)(const crew *)) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < WORKERS; i++)
        value += of(&mates[i]);
    EXPECT_OK(tern_sum(f.worker, &value, 1));
    return value;
}

static uint64_t left_of(const crew *m) { return atomic_load(&m->left); }
static uint64_t came_of(const crew *m) { return atomic_load(&m->came); }
static uint64_t went_of(const crew *m) { return atomic_load(&m->went); }
static uint64_t wrong_of(const crew *m) { return m->wrong; }
static uint64_t reclaimed_of(const crew *m) { return m->worker->stats.rings_reclaimed; }
static uint64_t malformed_of(const crew *m) { return m->worker->stats.records_malformed; }

/* Every rank draws the same: some pairs into each rank. */
static void choose_busy(uint64_t *random, uint32_t pairs_at_target) {
    for (uint32_t i = 0; i < WORKERS; i++) {
        memset(mates[i].busy, 0, total);
        memset(mates[i].had, 0, total * sizeof *mates[i].had);
        memcpy(mates[i].begin, mates[i].sent, total * sizeof *mates[i].sent);
    }
    for (uint32_t target = 0; target < f.size; target++)
        for (uint32_t k = 0; k < pairs_at_target; k++) {
            const uint32_t origin = (uint32_t)(tern_test_random(random) % total);
            const uint32_t index = (uint32_t)(tern_test_random(random) % WORKERS);
            if (origin / WORKERS == f.rank)
                mates[origin % WORKERS].busy[target * WORKERS + index] = true;
        }
}

/* All ranks meet as often. If some pair never gets a ring, the deadline of the suite tells. */
static void epoch(uint64_t *random, uint32_t pairs_at_target) {
    choose_busy(random, pairs_at_target);
    set_task(BUSY);
    do {
        for (int i = 0; i < TURNS; i++)
            take_turn(&mates[0]);
    } while (sum(left_of) > 0);
    set_task(IDLE);
    const uint64_t went = sum(went_of);
    while (sum(came_of) < went)
        take_turn(&mates[0]);
    CU_ASSERT_EQUAL(sum(came_of), went);
}

static void crew_begin(void) {
    atomic_store(&task, IDLE);
    for (uint32_t i = 0; i < WORKERS; i++) {
        mates[i] = (crew){.worker = f.worker};
        mates[i].arrived = calloc(total, sizeof(counts));
        mates[i].sent = calloc(total, sizeof(counts));
        mates[i].begin = calloc(total, sizeof(counts));
        mates[i].busy = calloc(total, sizeof(bool));
        mates[i].had = calloc(total, sizeof(unsigned));
    }
}

static void crew_end(void) {
    for (uint32_t i = 0; i < WORKERS; i++) {
        free(mates[i].arrived);
        free(mates[i].sent);
        free(mates[i].begin);
        free(mates[i].busy);
        free(mates[i].had);
    }
}

static void cache(size_t rings, size_t growth, uint32_t pairs_at_target, unsigned epochs) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.workers = WORKERS;
    config.ring_size = 4096;
    config.ring_memory = rings * config.ring_size;
    config.ring_growth = growth;
    config.idle_polls = 16;
    if (!fixture_open(&f, &config))
        return;
    total = f.size * WORKERS;
    crew_begin();
    for (uint32_t i = 1; i < WORKERS; i++) {
        EXPECT_OK(tern_worker_adopt(f.context, i, &mates[i].worker));
        CU_ASSERT_FATAL(pthread_create(&mates[i].thread, NULL, work, &mates[i]) == 0);
    }
    uint64_t random = 7;
    for (unsigned e = 0; e < epochs; e++)
        epoch(&random, pairs_at_target);
    EXPECT_OK(tern_quiesce(f.worker));
    atomic_store(&task, END);
    for (uint32_t i = 1; i < WORKERS; i++) {
        pthread_join(mates[i].thread, NULL);
        EXPECT_OK(tern_worker_release(mates[i].worker));
    }
    CU_ASSERT_EQUAL(sum(wrong_of), 0);
    CU_ASSERT_EQUAL(sum(malformed_of), 0);
    CU_ASSERT(sum(reclaimed_of) > 0);
    crew_end();
    fixture_close(&f);
}

static void as_many_as_busy(void) { cache(8, 1, 4, tern_test_full() ? 60 : 3); }

static void rings_that_grow(void) { cache(16, 4, 4, tern_test_full() ? 60 : 3); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"as many as busy", as_many_as_busy},
                                           {"rings that grow", rings_that_grow}};
    return tern_test_main(argc, argv, "ring_cache", tests, 2);
}
