// tern-test: transports crowd

/* Teams and their collectives against a model: random teams, lengths and functions, several
 * collectives under way at once, waited for in any order. */

#include <stdlib.h>

#include "thread_tools.h"

enum { RANKS = 64, SHORT_RING = 4096, UNDER_WAY = 8 };

/* Around the bounds of short vectors and of fragments, in rings of 4 and 64 KiB. */
static const size_t counts[] = {0, 1, 2, 3, 111, 112, 113, 127, 128, 129, 500, 2047, 2048, 9001};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static bool set_up(fixture *f, size_t ring_size, size_t workers) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    config.workers = workers;
    return fixture_open(f, &config);
}

static uint64_t mix(uint64_t x) {
    x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

/* What a test knows of a team. */
typedef struct known_team {
    tern_team *team;
    uint32_t ranks[RANKS], size, rank;
    bool is_member;
} known_team;

/* Draws a list of ranks, the same on all ranks, and makes the team on its members. */
static void team_draw(fixture *f, uint64_t *random, known_team *k) {
    uint32_t order[RANKS];
    for (uint32_t r = 0; r < f->size; r++)
        order[r] = r;
    for (uint32_t r = f->size - 1; r > 0; r--) {
        const uint32_t other = (uint32_t)below(random, r + 1), kept = order[r];
        order[r] = order[other];
        order[other] = kept;
    }
    k->size = 1 + (uint32_t)below(random, f->size);
    k->is_member = false;
    k->team = NULL;
    memcpy(k->ranks, order, k->size * sizeof *order);
    for (uint32_t m = 0; m < k->size; m++)
        if (order[m] == f->rank) {
            k->is_member = true;
            k->rank = m;
        }
    if (k->is_member && EXPECT_OK(tern_team_create(f->worker, order, k->size, &k->team))) {
        CU_ASSERT_EQUAL(tern_team_rank(f->worker, k->team), k->rank);
        CU_ASSERT_EQUAL(tern_team_size(f->worker, k->team), k->size);
    }
}

static void team_all(const fixture *f, known_team *k) {
    k->team = NULL;
    k->size = f->size;
    k->rank = f->rank;
    k->is_member = true;
    for (uint32_t r = 0; r < f->size; r++)
        k->ranks[r] = r;
}

enum { BARRIER, BROADCAST, REDUCE, ALLREDUCE, GATHER, ALLGATHER, ALLTOALL, SCAN, BEFORE, KINDS };

/* A collective under way, with its model. */
typedef struct trial {
    tern_request request;
    const known_team *team;
    int kind;
    uint32_t root;
    tern_reduction op;
    size_t count;
    uint64_t seed;
    uint64_t *in, *out; /* out has room for one block of each member, and a word behind */
    bool has_event;
} trial;

/* The i-th number of a member's vector; block: for the member to whom it goes. */
static uint64_t number_of(const trial *t, uint32_t member, uint32_t block, size_t i) {
    return mix(t->seed + mix(member * 97 + block) + i);
}

static uint64_t combine(tern_reduction op, uint64_t a, uint64_t b) {
    return op == TERN_REDUCE_SUM ? a + b : op == TERN_REDUCE_MIN ? (b < a ? b : a) : a < b ? b : a;
}

/* What members first to last - 1 combine to. */
static uint64_t combined(const trial *t, uint32_t last, size_t i) {
    uint64_t value = number_of(t, 0, 0, i);
    for (uint32_t m = 1; m < last; m++)
        value = combine(t->op, value, number_of(t, m, 0, i));
    return value;
}

static tern_status trial_run(tern_worker *w, trial *t, bool starts) {
    tern_team *team = t->team->team;
    const size_t bytes = t->count * 8;
    tern_request *r = &t->request;
    switch (t->kind) {
    case BARRIER:
        return starts ? tern_team_barrier_start(w, team, r) : tern_team_barrier(w, team);
    case BROADCAST:
        return starts ? tern_team_broadcast_start(w, team, t->root, t->out, bytes, r)
                      : tern_team_broadcast(w, team, t->root, t->out, bytes);
    case REDUCE:
        return starts ? tern_team_reduce_start(w, team, t->root, TERN_UINT64, t->op, t->out,
                                               t->count, r)
                      : tern_team_reduce(w, team, t->root, TERN_UINT64, t->op, t->out, t->count);
    case ALLREDUCE:
        return starts ? tern_team_allreduce_start(w, team, TERN_UINT64, t->op, t->out, t->count, r)
                      : tern_team_allreduce(w, team, TERN_UINT64, t->op, t->out, t->count);
    case GATHER:
        return starts ? tern_team_gather_start(w, team, t->root, t->in, t->out, bytes, r)
                      : tern_team_gather(w, team, t->root, t->in, t->out, bytes);
    case ALLGATHER:
        return starts ? tern_team_allgather_start(w, team, t->in, t->out, bytes, r)
                      : tern_team_allgather(w, team, t->in, t->out, bytes);
    case ALLTOALL:
        return starts ? tern_team_alltoall_start(w, team, t->in, t->out, bytes, r)
                      : tern_team_alltoall(w, team, t->in, t->out, bytes);
    case SCAN:
        return starts ? tern_team_scan_start(w, team, TERN_UINT64, t->op, t->out, t->count, r)
                      : tern_team_scan(w, team, TERN_UINT64, t->op, t->out, t->count);
    default:
        return starts
                   ? tern_team_scan_before_start(w, team, TERN_UINT64, t->op, t->out, t->count, r)
                   : tern_team_scan_before(w, team, TERN_UINT64, t->op, t->out, t->count);
    }
}

/* Fills in the vectors and starts; blocks if starts is false. */
static void trial_begin(tern_worker *w, trial *t, const known_team *team, uint64_t *random,
                        bool starts) {
    memset(t, 0, sizeof *t);
    t->team = team;
    t->kind = (int)below(random, KINDS);
    t->root = (uint32_t)below(random, team->size);
    t->op = (tern_reduction)below(random, 3);
    t->count = counts[below(random, COUNTS)];
    t->seed = tern_test_random(random);
    if (!team->is_member)
        return;
    t->in = malloc(t->count * team->size * 8 + 8);
    t->out = malloc(t->count * team->size * 8 + 8);
    for (uint32_t b = 0; b < team->size; b++)
        for (size_t i = 0; i < t->count; i++) {
            t->in[b * t->count + i] = number_of(t, team->rank, t->kind == ALLTOALL ? b : 0, i);
            t->out[b * t->count + i] = b > 0 ? UINT64_C(0xeeee) : number_of(t, team->rank, 0, i);
        }
    t->out[t->count * team->size] = UINT64_C(0xdddd);
    EXPECT_OK(trial_run(w, t, starts));
}

static uint64_t wanted(const trial *t, uint32_t block, size_t i) {
    const known_team *team = t->team;
    const bool at_root = team->rank == t->root;
    switch (t->kind) {
    case BROADCAST:
        return block == 0 ? number_of(t, t->root, 0, i) : UINT64_C(0xeeee);
    case GATHER:
        if (!at_root)
            break;
        return number_of(t, block, 0, i);
    case ALLGATHER:
        return number_of(t, block, 0, i);
    case ALLTOALL:
        return number_of(t, block, team->rank, i);
    case REDUCE:
    case ALLREDUCE:
        if (block == 0)
            return combined(t, team->size, i);
        break;
    case SCAN:
        if (block == 0)
            return combined(t, team->rank + 1, i);
        break;
    case BEFORE:
        if (block == 0 && team->rank > 0)
            return combined(t, team->rank, i);
        break;
    default:
        break;
    }
    return block > 0 ? UINT64_C(0xeeee) : number_of(t, team->rank, 0, i);
}

static void trial_check(trial *t) {
    if (!t->team->is_member)
        return;
    size_t wrong = 0;
    for (uint32_t b = 0; b < t->team->size; b++)
        for (size_t i = 0; i < t->count; i++)
            wrong += t->out[b * t->count + i] != wanted(t, b, i) &&
                     !(t->kind == REDUCE && b == 0 && t->team->rank != t->root);
    if (wrong > 0)
        fprintf(stderr, "function %d, %zu numbers, member %u of %u, root %u: %zu wrong\n", t->kind,
                t->count, t->team->rank, t->team->size, t->root, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(t->out[t->count * t->team->size], UINT64_C(0xdddd));
    free(t->in);
    free(t->out);
}

/* Waits for the trials in an order of this rank's own, by each of the ways to wait. */
static void trials_wait(tern_worker *w, trial *trials, uint32_t count, uint64_t *own) {
    uint32_t order[UNDER_WAY];
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        const uint32_t other = (uint32_t)below(own, i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (uint32_t i = 0; i < count; i++) {
        trial *t = &trials[order[i]];
        int done = 0;
        if (below(own, 2) == 0)
            while (done == 0 && EXPECT_OK(tern_test(w, &t->request, &done)))
                continue;
        EXPECT_OK(tern_wait(w, &t->request));
        trial_check(t);
    }
}

static void random_trials(size_t ring_size, uint64_t salt) {
    fixture f;
    if (!set_up(&f, ring_size, 1))
        return;
    enum { TEAMS = 3 };
    uint64_t random = tern_test_seed() + salt, own = fixture_seed(&f, salt);
    const int times = fixture_times(&f, 40);
    for (int time = 0; time < times; time++) {
        known_team teams[TEAMS];
        trial trials[UNDER_WAY];
        team_all(&f, &teams[0]);
        for (uint32_t i = 1; i < TEAMS; i++)
            team_draw(&f, &random, &teams[i]);
        const bool starts = below(&random, 4) > 0;
        const uint32_t count = 1 + (uint32_t)below(&random, UNDER_WAY);
        for (uint32_t i = 0; i < count; i++) {
            trial_begin(f.worker, &trials[i], &teams[below(&random, TEAMS)], &random, starts);
            if (below(&own, 4) == 0)
                tern_progress(f.worker);
            if (below(&own, 16) == 0)
                sched_yield();
        }
        trials_wait(f.worker, trials, count, &own);
        for (uint32_t i = 1; i < TEAMS; i++)
            EXPECT_OK(tern_team_destroy(f.worker, teams[i].team));
    }
    fixture_close(&f);
}

static void small_rings(void) { random_trials(SHORT_RING, 1); }
static void usual_rings(void) { random_trials(64 << 10, 2); }

/* A root may be far ahead: the window stops it, and nothing is lost. */
static void far_ahead(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    const int times = 100;
    uint64_t value = 0, wrong = 0;
    if (f.rank != 0)
        for (int i = 0; i < 1000; i++)
            sched_yield();
    for (int i = 0; i < times; i++) {
        if (f.rank == 0)
            value = mix((uint64_t)i);
        EXPECT_OK(tern_team_broadcast(f.worker, NULL, 0, &value, sizeof value));
        wrong += value != mix((uint64_t)i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fixture_close(&f);
}

static tern_status start_sum(tern_worker *worker, uint64_t *value, tern_request *request) {
    return tern_team_allreduce_start(worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, value, 1, request);
}

/* As many as may be under way, and one more. */
static void limit(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    static tern_request requests[TERN_TEAM_UNDER_WAY + 1];
    static uint64_t values[TERN_TEAM_UNDER_WAY];
    memset(requests, 0, sizeof requests);
    EXPECT_OK(tern_team_barrier(f.worker, NULL));
    uint32_t started = 0;
    for (; started < TERN_TEAM_UNDER_WAY; started++) {
        values[started] = f.rank + started;
        EXPECT_OK(start_sum(f.worker, &values[started], &requests[started]));
    }
    EXPECT_OK(tern_wait_all(f.worker, requests, started));
    for (uint32_t i = 0; i < started; i++)
        CU_ASSERT_EQUAL(values[i], (uint64_t)f.size * (f.size - 1) / 2 + (uint64_t)f.size * i);
    /* The last rank comes later, so on the others all of them are under way. These are outside tern
     * meanwhile, and find the vectors of the last rank before they have sent all of theirs. */
    const bool is_last = f.rank == f.size - 1;
    memset(requests, 0, sizeof requests);
    for (uint32_t i = 0; i < TERN_TEAM_UNDER_WAY; i++)
        values[i] = f.rank + i;
    if (is_last)
        CU_ASSERT(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (uint32_t i = 0; i < TERN_TEAM_UNDER_WAY; i++)
        EXPECT_OK(start_sum(f.worker, &values[i], &requests[i]));
    if (!is_last) {
        EXPECT(TERN_ERR_AGAIN, start_sum(f.worker, &values[0], &requests[TERN_TEAM_UNDER_WAY]));
        EXPECT_DETAIL("64 collectives of the team are under way");
        CU_ASSERT(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CU_ASSERT(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    EXPECT_OK(tern_wait_all(f.worker, requests, TERN_TEAM_UNDER_WAY));
    for (uint32_t i = 0; i < TERN_TEAM_UNDER_WAY; i++)
        CU_ASSERT_EQUAL(values[i], (uint64_t)f.size * (f.size - 1) / 2 + (uint64_t)f.size * i);
    fixture_close(&f);
}

/* The work of a thread with a worker of its own. */
typedef struct thread_job {
    tern_worker *worker;
    uint64_t random;
    uint32_t size;
    int times;
    size_t failures;
} thread_job;

static void *sum_in_thread(void *argument) {
    thread_job *job = argument;
    tern_team *reverse = NULL;
    tern_worker *w = job->worker;
    const uint32_t rank = tern_worker_self(w).rank;
    job->failures += tern_team_stride(w, job->size - 1, -1, job->size, &reverse) != TERN_OK;
    for (int i = 0; i < job->times && job->failures == 0; i++) {
        enum { MOST = 1000 };
        static _Thread_local uint64_t values[2][MOST];
        tern_request requests[2];
        const size_t count = below(&job->random, MOST);
        const uint32_t root = (uint32_t)below(&job->random, job->size);
        memset(requests, 0, sizeof requests);
        for (size_t n = 0; n < count; n++) {
            values[0][n] = rank + n;
            values[1][n] = root == job->size - 1 - rank ? n : 0;
        }
        job->failures += tern_team_allreduce_start(w, NULL, TERN_UINT64, TERN_REDUCE_MAX, values[0],
                                                   count, &requests[0]) != TERN_OK;
        job->failures += tern_team_broadcast_start(w, reverse, root, values[1], count * 8,
                                                   &requests[1]) != TERN_OK;
        job->failures += tern_wait_all(w, requests, 2) != TERN_OK;
        for (size_t n = 0; n < count; n++)
            job->failures += values[0][n] != job->size - 1 + n || values[1][n] != n;
    }
    job->failures += tern_team_destroy(w, reverse) != TERN_OK;
    return NULL;
}

/* Threads are in collectives of their workers at the same time. */
static void threads(void) {
    enum { THREADS = 3 };
    fixture f;
    if (!set_up(&f, 64 << 10, 1 + THREADS))
        return;
    thread_job jobs[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t] = (thread_job){
            .random = tern_test_seed() + t, .size = f.size, .times = fixture_times(&f, 100)};
        EXPECT_OK(tern_worker_adopt(f.context, t + 1, &jobs[t].worker));
    }
    EXPECT_OK(tern_barrier(f.worker));
    run_serving(&f, sum_in_thread, jobs, sizeof *jobs, THREADS);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t t = 0; t < THREADS; t++) {
        CU_ASSERT_EQUAL(jobs[t].failures, 0);
        EXPECT_OK(tern_worker_release(jobs[t].worker));
    }
    fixture_close(&f);
}

/* Two teams of one list, with collectives of both under way, are two. */
static void same_list(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_team *teams[2] = {NULL, NULL};
    uint64_t values[2] = {f.rank, f.rank};
    tern_request requests[2];
    memset(requests, 0, sizeof requests);
    for (int i = 0; i < 2; i++)
        EXPECT_OK(tern_team_stride(f.worker, 0, 1, f.size, &teams[i]));
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t which = (i + f.rank) % 2;
        EXPECT_OK(tern_team_allreduce_start(f.worker, teams[which], TERN_UINT64,
                                            which == 0 ? TERN_REDUCE_SUM : TERN_REDUCE_MAX,
                                            &values[which], 1, &requests[which]));
    }
    EXPECT_OK(tern_wait_all(f.worker, requests, 2));
    CU_ASSERT_EQUAL(values[0], (uint64_t)f.size * (f.size - 1) / 2);
    CU_ASSERT_EQUAL(values[1], f.size - 1);
    for (int i = 0; i < 2; i++)
        EXPECT_OK(tern_team_destroy(f.worker, teams[i]));
    fixture_close(&f);
}

static void splits(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    tern_team *half = NULL, *alone = NULL, *quarter = NULL, *reverse = NULL;
    /* In the order from the highest rank down. */
    EXPECT_OK(tern_team_split(f.worker, NULL, f.rank % 2, f.size - f.rank, &half));
    const uint32_t members = (f.size + 1 - f.rank % 2) / 2;
    CU_ASSERT_EQUAL(tern_team_size(f.worker, half), members);
    CU_ASSERT_EQUAL(tern_team_rank(f.worker, half), members - 1 - f.rank / 2);
    for (uint32_t m = 0; m < members; m++) {
        uint32_t rank = 0;
        EXPECT_OK(tern_team_translate(f.worker, half, m, &rank));
        CU_ASSERT_EQUAL(rank, (members - 1 - m) * 2 + f.rank % 2);
    }
    EXPECT_OK(tern_team_split(f.worker, half, f.rank % 4 / 2, 0, &quarter));
    EXPECT_OK(tern_team_split(f.worker, NULL, TERN_TEAM_ALONE, 0, &alone));
    CU_ASSERT_EQUAL(tern_team_size(f.worker, alone), 1);
    EXPECT_OK(tern_team_stride(f.worker, f.size - 1, -1, f.size, &reverse));
    uint64_t sums[4] = {f.rank, f.rank, f.rank, f.rank}, wanted_half = 0;
    EXPECT_OK(tern_team_allreduce(f.worker, half, TERN_UINT64, TERN_REDUCE_SUM, &sums[0], 1));
    EXPECT_OK(tern_team_allreduce(f.worker, alone, TERN_UINT64, TERN_REDUCE_SUM, &sums[1], 1));
    EXPECT_OK(tern_team_scan_before(f.worker, reverse, TERN_UINT64, TERN_REDUCE_SUM, &sums[2], 1));
    EXPECT_OK(tern_team_barrier(f.worker, quarter));
    for (uint32_t r = f.rank % 2; r < f.size; r += 2)
        wanted_half += r;
    CU_ASSERT_EQUAL(sums[0], wanted_half);
    CU_ASSERT_EQUAL(sums[1], f.rank);
    uint64_t above = f.rank == f.size - 1 ? f.rank : 0;
    for (uint32_t r = f.rank + 1; r < f.size; r++)
        above += r;
    CU_ASSERT_EQUAL(sums[2], above);
    EXPECT_OK(tern_team_destroy(f.worker, half));
    EXPECT_OK(tern_team_destroy(f.worker, alone));
    EXPECT_OK(tern_team_destroy(f.worker, quarter));
    EXPECT_OK(tern_team_destroy(f.worker, reverse));
    EXPECT_OK(tern_team_destroy(f.worker, NULL));
    fixture_close(&f);
}

/* Local events tell of collectives. */
static void events(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    uint64_t values[2] = {1, 2};
    tern_request requests[2];
    memset(requests, 0, sizeof requests);
    EXPECT_OK(tern_team_allreduce_start(f.worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, &values[0], 1,
                                        &requests[0]));
    EXPECT_OK(tern_team_event(f.worker, &requests[0], 7));
    EXPECT_OK(tern_team_broadcast_start(f.worker, NULL, 0, &values[1], 8, &requests[1]));
    EXPECT_OK(tern_wait(f.worker, &requests[1]));
    EXPECT_OK(tern_team_event(f.worker, &requests[1], 8));
    uint64_t seen = 0;
    for (int i = 0; i < 2; i++) {
        tern_event event;
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_ANY, &event));
        CU_ASSERT_EQUAL(event.kind, TERN_EVENT_LOCAL);
        CU_ASSERT_EQUAL(event.status, TERN_OK);
        CU_ASSERT_EQUAL(event.bytes, 8);
        CU_ASSERT_EQUAL(event.peer.rank, f.rank);
        seen += event.local_cid;
    }
    CU_ASSERT_EQUAL(seen, 15);
    CU_ASSERT_EQUAL(values[0], f.size);
    EXPECT_OK(tern_wait(f.worker, &requests[0]));
    fixture_close(&f);
}

/* Members in different functions: all that still are in one learn both names. */
static void mismatches(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    uint64_t value = 1;
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_team_barrier(f.worker, NULL)
                                              : tern_team_allreduce(f.worker, NULL, TERN_UINT64,
                                                                    TERN_REDUCE_SUM, &value, 1));
        EXPECT_DETAIL("tern_team_barrier");
        EXPECT_DETAIL("tern_team_allreduce (TERN_REDUCE_SUM of TERN_UINT64, root 0, 8 bytes)");
        CU_ASSERT_EQUAL(value, 1);
        uint64_t values[2] = {1, 1};
        EXPECT(TERN_ERR_MISMATCH, tern_team_allreduce(f.worker, NULL, TERN_UINT64, TERN_REDUCE_SUM,
                                                      values, f.rank == 0 ? 1 : 2));
        EXPECT_DETAIL("16 bytes");
        /* Each waits for the other and none sends. */
        if (f.rank == 0)
            EXPECT(TERN_ERR_MISMATCH,
                   tern_team_broadcast(f.worker, NULL, f.size - 1, &value, sizeof value));
        else if (f.rank == f.size - 1) {
            EXPECT(TERN_ERR_MISMATCH, tern_team_broadcast(f.worker, NULL, 0, &value, sizeof value));
            EXPECT_DETAIL("root 0");
        } else
            EXPECT(TERN_ERR_MISMATCH, tern_team_broadcast(f.worker, NULL, 0, &value, sizeof value));
    }
    value = f.rank;
    EXPECT_OK(tern_team_allreduce(f.worker, NULL, TERN_UINT64, TERN_REDUCE_MAX, &value, 1));
    CU_ASSERT_EQUAL(value, f.size - 1);
    fixture_close(&f);
}

static tern_status starts_in_handler(tern_call_info *call, const void *data, size_t bytes) {
    (void)data, (void)bytes;
    static tern_request request;
    EXPECT(TERN_ERR_STATE, tern_team_barrier_start(call->worker, NULL, &request));
    EXPECT_DETAIL("not allowed in a handler");
    return TERN_OK;
}

static void arguments(void) {
    static tern_function function = {.name = "team_starts", .handler = starts_in_handler};
    fixture f;
    EXPECT_OK(tern_function_register(&function));
    if (!fixture_open(&f, NULL))
        return;
    tern_worker *w = f.worker;
    tern_team *team = NULL;
    tern_request request = {0};
    uint64_t value = 0;
    const uint32_t twice[] = {f.rank, f.rank}, outside = f.size, other = (f.rank + 1) % f.size;
    if (f.size > 1) {
        EXPECT(TERN_ERR_ARGUMENT, tern_team_create(w, twice, 2, &team));
        EXPECT_DETAIL("twice");
        EXPECT(TERN_ERR_ARGUMENT, tern_team_create(w, &other, 1, &team));
        EXPECT_DETAIL("only members make a team");
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_team_create(w, &outside, 1, &team));
    EXPECT_DETAIL("there are only");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_create(w, NULL, 1, &team));
    EXPECT_DETAIL("ranks is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_create(w, twice, 0, &team));
    EXPECT_DETAIL("count is 0");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_stride(w, f.size, 1, 1, &team));
    EXPECT_DETAIL("not within ranks");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_translate(w, NULL, f.size, &(uint32_t){0}));
    EXPECT_DETAIL("is not in the team");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_broadcast(w, NULL, f.size, &value, 8));
    EXPECT_DETAIL("root is");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_broadcast(w, NULL, 0, NULL, 8));
    EXPECT_DETAIL("an address is NULL");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_team_allreduce(w, NULL, (tern_number)100, TERN_REDUCE_SUM, &value, 1));
    EXPECT_DETAIL("type is 100");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_allgather(w, NULL, &value, &value, SIZE_MAX));
    EXPECT_DETAIL("are too many");
    EXPECT(TERN_ERR_ARGUMENT, tern_team_event(w, &request, 1));
    EXPECT_DETAIL("not of a collective of a team");
    EXPECT_OK(tern_barrier(w));
    EXPECT_OK(tern_call(w, tern_worker_self(w), &function, NULL, 0));
    EXPECT_OK(tern_barrier(w));
    /* Under way: the team stays, and the request has one event. */
    const uint32_t self = f.rank;
    EXPECT_OK(tern_team_create(w, &self, 1, &team));
    EXPECT_OK(tern_team_barrier_start(w, team, &request));
    EXPECT_OK(tern_wait(w, &request));
    EXPECT_OK(tern_team_destroy(w, team));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"usual_rings", usual_rings}, {"small_rings", small_rings},
        {"far_ahead", far_ahead},     {"limit", limit},
        {"threads", threads},         {"same_list", same_list},
        {"splits", splits},           {"events", events},
        {"mismatches", mismatches},   {"arguments", arguments}};
    return tern_test_main(argc, argv, "team", tests, sizeof tests / sizeof tests[0]);
}
