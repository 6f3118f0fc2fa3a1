// tern-test: transports

/* Several workers in each process, each in a thread of its own (MPI_THREAD_SERIALIZED). */

#include "call_trees.h"
#include "thread_tools.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WORKERS = 2, RANKS = 64, MOST = RANKS * WORKERS };

/* One worker and what its thread found out; CUnit hears of it from the thread that runs the test.
 */
typedef struct {
    fixture *f;
    tern_worker *worker;
    uint32_t index;
    int times;
    tern_ptr *all;
    uint64_t next[MOST]; /* by origin worker: the number of its next call */
    uint64_t wrong, due;
    tern_status first;
    char detail[300];
} sailor;

static sailor crew[WORKERS];
static atomic_int sailing; /* threads that still need others to make progress */
static atomic_bool landed;

static bool check(sailor *s, tern_status status, const char *call) {
    if (status != TERN_OK && s->first == TERN_OK) {
        s->first = status;
        snprintf(s->detail, sizeof s->detail, "%.100s: %.180s", call, tern_error_detail());
    }
    return status == TERN_OK;
}

#define CHECK(s, call) check(s, call, #call)

static uint32_t number(tern_worker_id id) { return id.rank * WORKERS + id.index; }

static tern_worker_id by_number(uint32_t n) { return (tern_worker_id){n / WORKERS, n % WORKERS}; }

static bool open_crew(fixture *f) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.ring_size = 8192;
    config.workers = WORKERS;
    if (!fixture_open(f, &config))
        return false;
    memset(crew, 0, sizeof crew);
    for (uint32_t i = 0; i < WORKERS; i++) {
        crew[i].f = f;
        crew[i].index = i;
        crew[i].worker = f->worker;
        if (i > 0)
            EXPECT_OK(tern_worker_adopt(f->context, i, &crew[i].worker));
    }
    return true;
}

static void close_crew(fixture *f) {
    for (uint32_t i = 1; i < WORKERS; i++)
        EXPECT_OK(tern_worker_release(crew[i].worker));
    fixture_close(f);
}

typedef struct {
    sailor *s;
    void (*work)(sailor *s);
} voyage;

/* A thread that is done makes progress until all of all ranks are. */
static void *sail(void *argument) {
    voyage *v = argument;
    v->work(v->s);
    atomic_fetch_sub(&sailing, 1);
    while (v->s->index > 0 && !atomic_load(&landed)) {
        tern_progress(v->s->worker);
        sched_yield();
    }
    return NULL;
}

/* Runs work for every worker at once, this thread being worker 0's, until all ranks are through. */
static void set_sail(fixture *f, void (*work)(sailor *s)) {
    pthread_t threads[WORKERS];
    voyage voyages[WORKERS];
    atomic_store(&sailing, WORKERS);
    atomic_store(&landed, false);
    for (uint32_t i = 0; i < WORKERS; i++) {
        voyages[i] = (voyage){&crew[i], work};
        if (i > 0)
            CU_ASSERT_FATAL(pthread_create(&threads[i], NULL, sail, &voyages[i]) == 0);
    }
    sail(&voyages[0]);
    while (atomic_load(&sailing) > 0) {
        tern_progress(f->worker);
        sched_yield();
    }
    EXPECT_OK(tern_quiesce(f->worker));
    EXPECT_OK(tern_barrier(f->worker));
    atomic_store(&landed, true);
    for (uint32_t i = 1; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (crew[i].first != TERN_OK)
            fprintf(stderr, "worker %u: %s\n", i, crew[i].detail);
        CU_ASSERT_EQUAL(crew[i].first, TERN_OK);
        CU_ASSERT_EQUAL(crew[i].wrong, 0);
    }
}

static tern_status receive(tern_call_info *call, const void *arguments, size_t bytes) {
    sailor *s = &crew[tern_worker_self(call->worker).index];
    const uint64_t *words = arguments;
    uint32_t origin = number(call->origin);
    s->wrong += call->worker != s->worker || words[0] != s->next[origin]++;
    for (size_t i = 1; i < bytes / 8; i++)
        s->wrong += words[i] != words[0] * 1000 + origin + i;
    return TERN_OK;
}
TERN_FUNCTION(receive)

static void call_everybody(sailor *s) {
    uint64_t words[60];
    uint32_t all = s->f->size * WORKERS, self = number(tern_worker_self(s->worker));
    for (uint64_t n = 0; n < (uint64_t)s->times; n++) {
        for (uint32_t w = 0; w < all; w++) {
            size_t count = 1 + (n * 7 + w) % 60;
            words[0] = n;
            for (size_t i = 1; i < count; i++)
                words[i] = n * 1000 + self + i;
            CHECK(s, tern_call(s->worker, by_number((w + self) % all), &receive_function, words,
                               count * 8));
        }
    }
    /* Every call made to this worker arrives while it makes progress. */
    for (uint32_t w = 0; w < all && s->first == TERN_OK;) {
        if (s->next[w] == (uint64_t)s->times) {
            w++;
            continue;
        }
        tern_progress(s->worker);
        sched_yield();
    }
}

static void calls_between_all_pairs(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    for (int i = 0; i < WORKERS; i++)
        crew[i].times = fixture_times(&f, 2000);
    EXPECT_OK(tern_barrier(f.worker));
    set_sail(&f, call_everybody);
    for (int i = 0; i < WORKERS; i++)
        for (uint32_t w = 0; w < f.size * WORKERS; w++)
            CU_ASSERT_EQUAL(crew[i].next[w], (uint64_t)crew[i].times);
    close_crew(&f);
}

static tern_status echo(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t *result = call->result;
    memcpy(result, arguments, bytes);
    result[1] = number(tern_worker_self(call->worker));
    call->result_bytes = 16;
    return TERN_OK;
}
TERN_FUNCTION(echo)

static void ask_everybody(sailor *s) {
    uint64_t random = fixture_seed(s->f, 50 + s->index);
    for (int i = 0; i < s->times; i++) {
        uint32_t w = (uint32_t)below(&random, s->f->size * WORKERS);
        uint64_t question = tern_test_random(&random), answer[2] = {0, 0};
        size_t got = 0;
        CHECK(s, tern_call_return(s->worker, by_number(w), &echo_function, &question,
                                  sizeof question, answer, sizeof answer, &got));
        s->wrong += got != 16 || answer[0] != question || answer[1] != w;
    }
}

static void results_from_all(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    for (int i = 0; i < WORKERS; i++)
        crew[i].times = fixture_times(&f, 1000);
    EXPECT_OK(tern_barrier(f.worker));
    set_sail(&f, ask_everybody);
    close_crew(&f);
}

/* Every worker starts trees of calls that grow over all workers: what runs is what all have due. */
static void start_trees(sailor *s) {
    uint64_t random = fixture_seed(s->f, 80 + s->index), landed_at[MOST] = {0};
    for (int i = 0; i < s->times; i++) {
        branch root = {tern_test_random(&random), (uint32_t)below(&random, 6), s->f->size, WORKERS};
        uint32_t w = (uint32_t)below(&random, s->f->size * WORKERS);
        expect(&root, w, landed_at);
        CHECK(s, tern_call(s->worker, by_number(w), &grow_function, &root, sizeof root));
    }
    for (uint32_t w = 0; w < s->f->size * WORKERS; w++)
        s->due += landed_at[w];
}

static void trees_of_all(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    here.executed = here.failed = 0;
    for (int i = 0; i < WORKERS; i++)
        crew[i].times = fixture_times(&f, 300);
    EXPECT_OK(tern_barrier(f.worker));
    set_sail(&f, start_trees);
    uint64_t sums[2] = {here.executed, 0}, *all = calloc((size_t)f.size * 2, sizeof *all);
    for (int i = 0; i < WORKERS; i++)
        sums[1] += crew[i].due;
    fixture_share(&f, sums, sizeof sums, all);
    uint64_t balance = 0;
    for (uint32_t r = 0; r < f.size; r++)
        balance += all[2 * r] - all[2 * r + 1];
    CU_ASSERT_EQUAL(balance, 0);
    CU_ASSERT_EQUAL(here.failed, 0);
    free(all);
    close_crew(&f);
}

enum { SLOT = 512 };

/* Each worker has a slot in everybody's memory, of which it keeps a model. */
static void put_and_get(sailor *s) {
    fixture *f = s->f;
    uint64_t random = fixture_seed(f, 60 + s->index);
    char *model = calloc(f->size, SLOT), data[SLOT];
    uint32_t self = number(tern_worker_self(s->worker));
    for (int i = 0; i < s->times; i++) {
        uint32_t r = (uint32_t)below(&random, f->size);
        size_t bytes = 1 + below(&random, SLOT), at = below(&random, SLOT - bytes + 1);
        tern_ptr p = tern_ptr_add(s->all[r], (int64_t)(64 + self * SLOT + at));
        char *mine = model + r * SLOT + at;
        if (below(&random, 2) == 0) {
            memset(mine, (int)below(&random, 256), bytes);
            CHECK(s, tern_fence(s->worker, r));
            CHECK(s, tern_put(s->worker, p, mine, bytes));
        } else {
            tern_request request = {0};
            memset(&request, 0, sizeof request);
            CHECK(s, tern_flush(s->worker, r));
            CHECK(s, tern_get_start(s->worker, data, p, bytes, &request));
            CHECK(s, tern_wait(s->worker, &request));
            s->wrong += memcmp(data, mine, bytes) != 0;
        }
        CHECK(s, tern_atomic_fetch_add(s->worker, s->all[i % 2 == 0 ? 0 : r], 1, NULL));
    }
    CHECK(s, tern_flush_all(s->worker));
    free(model);
}

static void transfers_and_atomics(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 64 + (size_t)f.size * WORKERS * SLOT, TERN_DOMAIN_GLOBAL, all);
    for (int i = 0; i < WORKERS; i++) {
        crew[i].times = fixture_times(&f, 3000);
        crew[i].all = all;
    }
    set_sail(&f, put_and_get);
    uint64_t sum = 0, value = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT_OK(tern_atomic_load(f.worker, all[r], &value));
        sum += value;
    }
    CU_ASSERT_EQUAL(sum, (uint64_t)crew[0].times * f.size * WORKERS);
    fixture_free_all(&f, all);
    free(all);
    close_crew(&f);
}

/* Heaps are shared by the workers of a process, and by those who ask from elsewhere. */
static void allocate(sailor *s) {
    enum { LIVE = 16 };
    tern_ptr live[LIVE];
    size_t sizes[LIVE], count = 0;
    char marks[LIVE], data[2048];
    uint64_t random = fixture_seed(s->f, 70 + s->index);
    for (int i = 0; i < s->times || count > 0; i++) {
        if (i >= s->times || count == LIVE || (count > 0 && below(&random, 2) == 0)) {
            count--;
            CHECK(s, tern_flush(s->worker, live[count].rank));
            CHECK(s, tern_get(s->worker, data, live[count], sizes[count]));
            for (size_t b = 0; b < sizes[count]; b++)
                s->wrong += data[b] != marks[count];
            CHECK(s, tern_free(s->worker, live[count]));
            continue;
        }
        sizes[count] = 1 + below(&random, sizeof data);
        marks[count] = (char)below(&random, 256);
        tern_worker_id near = by_number((uint32_t)below(&random, s->f->size * WORKERS));
        if (below(&random, 3) == 0)
            near = tern_worker_self(s->worker);
        if (!CHECK(s, tern_alloc_on_worker(s->worker, near, sizes[count], 0, TERN_DOMAIN_GLOBAL,
                                           &live[count])))
            return;
        memset(data, marks[count], sizes[count]);
        CHECK(s, tern_put(s->worker, live[count], data, sizes[count]));
        count++;
    }
}

static void allocation(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    for (int i = 0; i < WORKERS; i++)
        crew[i].times = fixture_times(&f, 2000);
    EXPECT_OK(tern_barrier(f.worker));
    set_sail(&f, allocate);
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_EQUAL(info.in_use, 0);
    close_crew(&f);
}

/* A worker goes from thread to thread, and its calls stay in order. */
static void *send_some(void *argument) {
    sailor *s = argument;
    CHECK(s, tern_worker_adopt(s->f->context, 1, &s->worker));
    tern_worker_id to = {(s->f->rank + 1) % s->f->size, 0};
    for (int i = 0; i < 10 && s->first == TERN_OK; i++) {
        uint64_t n = (uint64_t)s->times++;
        CHECK(s, tern_call(s->worker, to, &receive_function, &n, sizeof n));
    }
    CHECK(s, tern_worker_release(s->worker));
    return NULL;
}

static void from_thread_to_thread(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    EXPECT_OK(tern_worker_release(crew[1].worker));
    EXPECT_OK(tern_barrier(f.worker));
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        CU_ASSERT_FATAL(pthread_create(&thread, NULL, send_some, &crew[1]) == 0);
        join_serving(&f, thread);
    }
    CU_ASSERT_EQUAL(crew[1].first, TERN_OK);
    EXPECT_OK(tern_quiesce(f.worker));
    uint32_t origin = (f.rank + f.size - 1) % f.size * WORKERS + 1;
    CU_ASSERT_EQUAL(crew[0].next[origin], 200);
    CU_ASSERT_EQUAL(crew[0].wrong, 0);
    EXPECT_OK(tern_worker_adopt(f.context, 1, &crew[1].worker));
    close_crew(&f);
}

/* The waits of collectives make progress for a worker that nobody has; a thread that adopts it then
 * gets it all the same. */
static void *come_and_go(void *argument) {
    sailor *s = argument;
    while (s->first == TERN_OK && !atomic_load(&landed)) {
        CHECK(s, tern_worker_adopt(s->f->context, 1, &s->worker));
        CHECK(s, tern_worker_release(s->worker));
    }
    return NULL;
}

static void adopted_beside_a_barrier(void) {
    fixture f;
    pthread_t thread;
    if (!open_crew(&f))
        return;
    EXPECT_OK(tern_worker_release(crew[1].worker));
    atomic_store(&landed, false);
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, come_and_go, &crew[1]) == 0);
    for (int times = fixture_times(&f, 2000); times > 0; times--)
        EXPECT_OK(tern_barrier(f.worker));
    atomic_store(&landed, true);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(crew[1].first, TERN_OK);
    EXPECT_OK(tern_worker_adopt(f.context, 1, &crew[1].worker));
    close_crew(&f);
}

/* One thread may have all workers, and call from one to the other. */
static void one_thread_with_all(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t n = 0;
    for (; n < 20; n++) {
        for (uint32_t i = 0; i < WORKERS; i++)
            for (uint32_t w = 0; w < f.size * WORKERS; w++)
                EXPECT_OK(tern_call(crew[i].worker, by_number(w), &receive_function, &n, sizeof n));
        for (uint32_t i = 0; i < WORKERS; i++)
            tern_progress(crew[i].worker);
    }
    /* A worker that nobody has is looked after in tern_quiesce; one that is adopted is not. */
    EXPECT_OK(tern_worker_release(crew[1].worker));
    EXPECT_OK(tern_quiesce(f.worker));
    for (uint32_t i = 0; i < WORKERS; i++) {
        for (uint32_t w = 0; w < f.size * WORKERS; w++)
            CU_ASSERT_EQUAL(crew[i].next[w], n);
        CU_ASSERT_EQUAL(crew[i].wrong, 0);
    }
    EXPECT_OK(tern_worker_adopt(f.context, 1, &crew[1].worker));
    EXPECT_OK(tern_barrier(f.worker));
    close_crew(&f);
}

/* The application's own MPI calls in another thread, under tern's lock. */

static void *talk(void *argument) {
    sailor *s = argument;
    int rank = (int)s->f->rank, size = (int)s->f->size, in = 0;
    MPI_Comm comm = s->f->comm;
    while (in < 200) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int out = s->times, done = 0;
        tern_mpi_lock();
        MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 7, comm, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 7, comm, &requests[1]);
        tern_mpi_unlock();
        while (!done) {
            tern_mpi_lock();
            MPI_Testall(2, requests, &done, statuses);
            tern_mpi_unlock();
            sched_yield();
        }
        s->wrong += in != s->times++;
    }
    return NULL;
}

static void beside_the_applications_mpi(void) {
    fixture f;
    if (!open_crew(&f))
        return;
    EXPECT_OK(tern_worker_release(crew[1].worker));
    EXPECT_OK(tern_barrier(f.worker));
    pthread_t thread;
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, talk, &crew[1]) == 0);
    int calls = 0;
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        uint64_t question = 5, answer[2];
        tern_worker_id to = {(f.rank + 1) % f.size, 0};
        if (calls++ < 50)
            EXPECT_OK(tern_call_return(f.worker, to, &echo_function, &question, sizeof question,
                                       answer, sizeof answer, NULL));
        tern_progress(f.worker);
        sched_yield();
    }
    CU_ASSERT_EQUAL(crew[1].wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_worker_adopt(f.context, 1, &crew[1].worker));
    close_crew(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"calls_between_all_pairs", calls_between_all_pairs},
        {"results_from_all", results_from_all},
        {"trees_of_all", trees_of_all},
        {"transfers_and_atomics", transfers_and_atomics},
        {"allocation", allocation},
        {"from_thread_to_thread", from_thread_to_thread},
        {"adopted_beside_a_barrier", adopted_beside_a_barrier},
        {"one_thread_with_all", one_thread_with_all},
        {"beside_the_applications_mpi", beside_the_applications_mpi},
    };
    return tern_test_main(argc, argv, "workers", tests, sizeof tests / sizeof tests[0]);
}
