// tern-test: ranks least=3

/* Over libfabric: what one worker does waits for no other worker of its process, and for no help of
 * its target. */

#include "fixture.h"
#include "flaky.h"
#include "native.h"
#include "rma/network/process.h"
#include "rma/memory/state.h"
#include "src/mpi/mpi.h"
#include "thread_tools.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMES = 100 };

static fixture f;
static tern_ptr memory[64];

static bool open_ofi(size_t workers, size_t bytes) {
    tern_config config;
    native_config(&config, bytes);
    config.workers = workers;
    return native_open(&f, &config, bytes, memory);
}

static void close_ofi(void) { native_close(&f, memory); }

static tern_ptr word_of(uint32_t rank, uint64_t index) {
    return tern_ptr_add(memory[rank], (int64_t)(8 * index));
}

static void put_and_flush(tern_worker *worker, tern_ptr word, uint64_t value, tern_status *first) {
    tern_status status = tern_put(worker, word, &value, sizeof value);
    if (status == TERN_OK)
        status = tern_flush(worker, word.rank);
    if (*first == TERN_OK)
        *first = status;
}

/* The transport is what creation found. */
static void what_was_found(void) {
    tern_network_info info;
    EXPECT(TERN_ERR_ARGUMENT, tern_context_network(NULL, &info));
    if (!open_ofi(1, 4096))
        return;
    EXPECT(TERN_ERR_ARGUMENT, tern_context_network(f.context, NULL));
    EXPECT_OK(tern_context_network(f.context, &info));
    CU_ASSERT(strlen(info.name) > 0 && strlen(info.card) > 0);
    CU_ASSERT(info.put_ns > 0 && info.message_ns > 0);
    CU_ASSERT(info.largest >= 4096);
    const tern_network *network = tern_rma_of(f.context)->native->network;
    CU_ASSERT_EQUAL(info.one_sided, network->one_sided);
    CU_ASSERT_STRING_EQUAL(info.name, network->name);
    close_ofi();
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_P2P;
    config.ranks_per_node = 1;
    if (!fixture_open(&f, &config))
        return;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_network(f.context, &info));
    fixture_close(&f);
}

/* No rank gets a context where a network is not there. */
static void no_such_card(void) {
    tern_config config;
    tern_context *context = NULL;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_VERBS;
    config.ranks_per_node = 1;
    EXPECT_OK(tern_config_set(&config, "TERN_VERBS_DEVICE", "nonesuch:7"));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("verbs");
    CU_ASSERT_PTR_NULL(context);
}

/* The locks that this thread has taken in tern, which is part of this program; libraries take their
 * own. */
static _Thread_local uint64_t locks;

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*lock)(pthread_mutex_t *);
    if (lock == NULL)
        lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    Dl_info caller, here;
    if (dladdr(__builtin_return_address(0), &caller) != 0 && dladdr(&f, &here) != 0 &&
        caller.dli_fbase == here.dli_fbase)
        locks++;
    return lock(mutex);
}

/* Once two ranks have met, no put and no flush takes a lock, that around MPI or another. */
static void no_lock(void) {
    if (!open_ofi(1, 4096))
        return;
    static char words[4096];
    const uint32_t next = (f.rank + 1) % f.size;
    tern_status status = TERN_OK;
    uint64_t word = 0;
    tern_ptr mine, region[64];
    EXPECT_OK(tern_register(f.worker, words, sizeof words, &mine));
    fixture_share(&f, &mine, sizeof mine, region);
    for (int registered = 0; registered < 2; registered++) {
        const tern_ptr to = registered ? region[next] : word_of(next, f.rank);
        put_and_flush(f.worker, to, 0, &status);
        EXPECT_OK(tern_barrier(f.worker));
        const uint64_t around_mpi = tern_mpi_locks(), all = locks;
        for (uint64_t i = 1; i <= TIMES; i++)
            put_and_flush(f.worker, to, i, &status);
        CU_ASSERT_EQUAL(tern_mpi_locks(), around_mpi);
        CU_ASSERT_EQUAL(locks, all);
        EXPECT_OK(status);
        EXPECT_OK(tern_get(f.worker, &word, to, sizeof word));
        CU_ASSERT_EQUAL(word, TIMES);
    }
    CU_ASSERT(locks > 0); /* to register takes some, so they are counted */
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_deregister(f.worker, mine));
    close_ofi();
}

/* A put that runs across the pieces in which the segment is registered, and one to each side. */
static void across_pieces(void) {
    const size_t bytes = (size_t)40 << 20;
    if (!open_ofi(1, bytes))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    unsigned char *out = malloc(bytes), *back = malloc(bytes);
    uint64_t random = tern_test_seed() + f.rank;
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = tern_test_random(&random);
        memcpy(out + i, &word, sizeof word);
    }
    EXPECT_OK(tern_put(f.worker, memory[next], out, bytes));
    EXPECT_OK(tern_get(f.worker, back, memory[next], bytes));
    CU_ASSERT_EQUAL(memcmp(out, back, bytes), 0);
    for (int i = 0; i < 40; i++) {
        const size_t length = 1 + tern_test_random(&random) % (bytes / 2);
        const size_t at = tern_test_random(&random) % (bytes - length);
        tern_request request = {0};
        EXPECT_OK(tern_put_start(f.worker, tern_ptr_add(memory[next], (int64_t)at), out + at / 2,
                                 length, &request));
        EXPECT_OK(tern_wait(f.worker, &request));
        memcpy(back + at, out + at / 2, length);
    }
    memcpy(out, back, bytes);
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_get(f.worker, back, memory[next], bytes));
    CU_ASSERT_EQUAL(memcmp(out, back, bytes), 0);
    free(out);
    free(back);
    close_ofi();
}

/* More operations at once than a port has flights, of all sizes, to all ranks. */
static void many_at_once(void) {
    enum { MANY = 2000, ROOM = 4096 };
    if (!open_ofi(1, (size_t)MANY * 8 * 64))
        return;
    static tern_request request[MANY];
    static uint64_t word[MANY];
    memset(request, 0, sizeof request);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < MANY; i++) {
        word[i] = i << 8 | f.rank;
        EXPECT_OK(tern_put_start(f.worker, word_of((uint32_t)(i % f.size), i * 64 + f.rank),
                                 &word[i], 8, &request[i]));
    }
    EXPECT_OK(tern_wait_all(f.worker, request, MANY));
    EXPECT_OK(tern_flush_all(f.worker));
    memset(word, 0, sizeof word);
    for (uint64_t i = 0; i < MANY; i++)
        EXPECT_OK(tern_get_start(f.worker, &word[i],
                                 word_of((uint32_t)(i % f.size), i * 64 + f.rank), 8, &request[i]));
    EXPECT_OK(tern_wait_all(f.worker, request, MANY));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < MANY; i++)
        wrong += word[i] != (i << 8 | f.rank);
    CU_ASSERT_EQUAL(wrong, 0);
    close_ofi();
}

static bool thread_is_stopped(pid_t process, const char *thread) {
    char path[300], line[300] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)process, thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true; /* it has ended */
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *state = strrchr(line, ')');
    return read && state != NULL && state[2] == 'T';
}

/* All threads, the network's too. */
static bool is_stopped(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    bool stopped = tasks != NULL;
    for (struct dirent *task; stopped && (task = readdir(tasks)) != NULL;)
        stopped = task->d_name[0] == '.' || thread_is_stopped(process, task->d_name);
    if (tasks != NULL)
        closedir(tasks);
    return stopped;
}

/* What the thread of the other worker does while the first waits for a stopped rank. */
static struct {
    tern_worker *worker;
    pid_t stopped;
    atomic_bool first_waits, first_is_through;
    bool was_through;
    tern_status status;
} other;

static void *put_to_the_attentive(void *nothing) {
    (void)nothing;
    while (!atomic_load(&other.first_waits))
        sched_yield();
    for (uint64_t i = 0; i < TIMES; i++)
        put_and_flush(other.worker, word_of(2, 1), i, &other.status);
    other.was_through = atomic_load(&other.first_is_through);
    kill(other.stopped, SIGCONT);
    return NULL;
}

static bool lands_by_itself(void) {
    return strcmp(tern_rma_of(f.context)->native->network->name, "verbs") == 0;
}

/* Worker 0 of rank 0 flushes to rank 1, which is stopped, until worker 1 is through with its puts
 * to rank 2. If these waited for worker 0, none would ever end. */
static void a_stopped_rank_delays_nobody_else(void) {
    if (!open_ofi(2, 4096))
        return;
    const int64_t mine = getpid();
    int64_t pid[64];
    fixture_share(&f, &mine, sizeof mine, pid);
    tern_status status = TERN_OK;
    memset(&other, 0, sizeof other);
    if (f.rank == 0) {
        EXPECT_OK(tern_worker_adopt(f.context, 1, &other.worker));
        put_and_flush(f.worker, word_of(1, 0), 1, &status);
        put_and_flush(other.worker, word_of(2, 1), 1, &status);
        EXPECT_OK(status);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        pthread_t thread;
        uint64_t word = 7;
        other.stopped = (pid_t)pid[1];
        CU_ASSERT_EQUAL(pthread_create(&thread, NULL, put_to_the_attentive, NULL), 0);
        CU_ASSERT_EQUAL(kill(other.stopped, SIGSTOP), 0);
        while (!is_stopped(other.stopped))
            usleep(1000);
        EXPECT_OK(tern_put(f.worker, word_of(1, 0), &word, sizeof word));
        atomic_store(&other.first_waits, true);
        EXPECT_OK(tern_flush(f.worker, 1));
        atomic_store(&other.first_is_through, true);
        pthread_join(thread, NULL);
        EXPECT_OK(other.status);
        /* A card lands a put in the memory of a stopped process by itself. */
        CU_ASSERT(!other.was_through || lands_by_itself());
        word = 0;
        EXPECT_OK(tern_get(f.worker, &word, word_of(1, 0), sizeof word));
        CU_ASSERT_EQUAL(word, 7);
        EXPECT_OK(tern_get(f.worker, &word, word_of(2, 1), sizeof word));
        CU_ASSERT_EQUAL(word, TIMES - 1);
        EXPECT_OK(tern_worker_release(other.worker));
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_ofi();
}

/* A rank that sleeps outside of any call: what is put there has landed when the flush returns. */
static void a_sleeping_target(void) {
    if (!open_ofi(1, 4096))
        return;
    tern_status status = TERN_OK;
    if (f.rank == 0)
        put_and_flush(f.worker, word_of(1, 0), 1, &status);
    EXPECT_OK(tern_barrier(f.worker));
    if (!tern_rma_of(f.context)->native->network->one_sided) {
        tern_test_skip("the network needs progress of its targets");
    } else if (f.rank == 0) {
        put_and_flush(f.worker, word_of(1, 0), 2, &status);
        put_and_flush(f.worker, word_of(1, 1), 3, &status);
        EXPECT_OK(status);
    } else if (f.rank == 1) {
        const _Atomic uint64_t *words = tern_local(f.context, memory[1]);
        while (atomic_load(&words[1]) != 3)
            usleep(1000);
        CU_ASSERT_EQUAL(atomic_load(&words[0]), 2);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_ofi();
}

static uint64_t answered;

static tern_status count_and_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    answered++;
    memcpy(call->result, arguments, bytes);
    return tern_call_result(call, bytes);
}
TERN_FUNCTION(count_and_answer)

/* The network takes operations for lost, of which half have landed: records and replies come, and
 * none comes twice; a get brings what is there. */
static void lost_operations(void) {
    enum { CALLS = 3000 };
    flaky_network(tern_test_seed() + 1);
    answered = 0;
    if (open_ofi(1, 4096)) {
        const uint32_t next = (f.rank + 1) % f.size;
        uint64_t wrong = 0;
        uint64_t *words = tern_local(f.context, memory[f.rank]);
        words[0] = 17 + f.rank;
        EXPECT_OK(tern_barrier(f.worker));
        flaky_network_lose(20);
        for (uint64_t i = 0; i < CALLS; i++) {
            uint64_t back = 0, there = 0;
            size_t bytes = 0;
            EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){next, 0},
                                       &count_and_answer_function, &i, sizeof i, &back, sizeof back,
                                       &bytes));
            wrong += back != i || bytes != sizeof back;
            if (i % 16 == 0) {
                EXPECT_OK(tern_get(f.worker, &there, word_of(next, 0), sizeof there));
                wrong += there != 17 + next;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_quiesce(f.worker));
        flaky_network_lose(0);
        CU_ASSERT_EQUAL(answered, CALLS);
        CU_ASSERT(flaky_network_counts().lost > CALLS / 100);
        EXPECT_OK(tern_barrier(f.worker));
        close_ofi();
    }
    flaky_network(0);
}

/* After a lost put the next flush returns an error, once, and the connection goes on working. */
static void lost_puts(void) {
    flaky_network(tern_test_seed() + 1);
    if (open_ofi(1, 4096)) {
        const uint32_t next = (f.rank + 1) % f.size;
        const uint64_t word = 5 + f.rank;
        uint64_t back = 0;
        EXPECT_OK(tern_put(f.worker, word_of(next, 1), &back, sizeof back));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_barrier(f.worker));
        const uint64_t before = flaky_network_counts().lost;
        flaky_network_lose(1);
        EXPECT_OK(tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        EXPECT(TERN_ERR_NETWORK, tern_flush(f.worker, next));
        EXPECT_DETAIL("rank");
        flaky_network_lose(0);
        CU_ASSERT_EQUAL(flaky_network_counts().lost, before + 1);
        EXPECT_OK(tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_get(f.worker, &back, word_of(next, 1), sizeof back));
        CU_ASSERT_EQUAL(back, word);
        EXPECT_OK(tern_barrier(f.worker));
        close_ofi();
    }
    flaky_network(0);
}

/* Memory that cannot be registered: a region is refused, and large transfers go by copies. */
static void no_more_memory(void) {
    const size_t bytes = (size_t)1 << 20;
    flaky_network(2 * tern_test_seed() + 1); /* which moves registered memory only */
    if (open_ofi(1, bytes)) {
        const uint32_t next = (f.rank + 1) % f.size;
        unsigned char *out = malloc(bytes), *back = calloc(bytes, 1);
        tern_ptr place;
        uint64_t random = tern_test_seed() + f.rank;
        for (size_t i = 0; i < bytes; i += 8) {
            const uint64_t word = tern_test_random(&random);
            memcpy(out + i, &word, sizeof word);
        }
        EXPECT_OK(tern_put(f.worker, memory[next], out, 8));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_barrier(f.worker));
        flaky_network_refuse_memory(true);
        EXPECT_OK(tern_put(f.worker, memory[next], out, bytes));
        EXPECT_OK(tern_get(f.worker, back, memory[next], bytes));
        CU_ASSERT_EQUAL(memcmp(out, back, bytes), 0);
        EXPECT(TERN_ERR_MEMORY, tern_register(f.worker, back, bytes, &place));
        EXPECT_DETAIL("registers no memory");
        flaky_network_refuse_memory(false);
        EXPECT_OK(tern_barrier(f.worker));
        free(out);
        free(back);
        close_ofi();
    }
    flaky_network(0);
}

/* Once a card has failed for good its operations may never complete. What is under way ends with an
 * error that names the card, and so does what begins later. */
static void a_card_that_fails(void) {
    flaky_network(2 * tern_test_seed() + 2);
    if (open_ofi(1, 4096)) {
        const uint32_t next = (f.rank + 1) % f.size;
        static char data[4096];
        uint64_t word = 0;
        int done = 0;
        tern_request request = {0};
        tern_network *network = tern_rma_of(f.context)->native->network;
        EXPECT_OK(tern_get(f.worker, &word, word_of(next, 1), sizeof word));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_get_start(f.worker, data, memory[next], sizeof data, &request));
        EXPECT_OK(tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        flaky_network_silence(true);
        EXPECT_OK(tern_test(f.worker, &request, &done));
        CU_ASSERT_EQUAL(done, 0);
        atomic_store(&network->trouble, TERN_NETWORK_FAILED);
        EXPECT(TERN_ERR_NETWORK, tern_wait(f.worker, &request));
        EXPECT_DETAIL(network->card);
        EXPECT(TERN_ERR_NETWORK, tern_flush(f.worker, next));
        EXPECT_DETAIL("has failed");
        EXPECT(TERN_ERR_NETWORK, tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        EXPECT_DETAIL(network->card);
        atomic_store(&network->trouble, TERN_NETWORK_FINE);
        flaky_network_silence(false);
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_barrier(f.worker));
        close_ofi();
    }
    flaky_network(0);
}

/* The listener serves those who are not there yet. */
static void meet_in_mpi(void) {
    tern_mpi_lock();
    MPI_Barrier(f.comm);
    tern_mpi_unlock();
}

/* A segment that cannot be registered is not reached, and is once it can be. */
static void an_unreachable_segment(void) {
    flaky_network(2 * tern_test_seed() + 2);
    if (open_ofi(1, 4096)) {
        const uint32_t next = (f.rank + 1) % f.size;
        const uint64_t word = 7 + f.rank;
        uint64_t back = 0;
        flaky_network_refuse_memory(true);
        meet_in_mpi();
        EXPECT(TERN_ERR_NETWORK, tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        EXPECT_DETAIL("cannot register its memory");
        meet_in_mpi();
        flaky_network_refuse_memory(false);
        meet_in_mpi();
        EXPECT_OK(tern_put(f.worker, word_of(next, 1), &word, sizeof word));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_get(f.worker, &back, word_of(next, 1), sizeof back));
        CU_ASSERT_EQUAL(back, word);
        EXPECT_OK(tern_barrier(f.worker));
        close_ofi();
    }
    flaky_network(0);
}

/* A network that offers less than it says is found out at creation. */
static void a_network_that_completes_nothing(void) {
    tern_config config;
    tern_context *context = NULL;
    tern_transport transport = TERN_OFI;
    flaky_network(tern_test_seed() + 1);
    flaky_network_swallow(true);
    EXPECT_OK(tern_config_init(&config));
    config.ranks_per_node = 1;
    config.transport = TERN_TRANSPORT_OFI;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("does not land here");
    config.transport = TERN_TRANSPORT_AUTO;
    if (EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context))) {
        const uint32_t next = (tern_context_rank(context) + 1) % tern_context_size(context);
        EXPECT_OK(tern_context_transport(context, next, &transport));
        CU_ASSERT(transport == TERN_RMA || transport == TERN_P2P);
        EXPECT_OK(tern_context_destroy(context));
    }
    flaky_network_swallow(false);
    flaky_network(0);
}

/* Atomics of the network need no help of the target either, and a network that loses updates is
 * found out. */
static void atomics_of_the_network(void) {
    tern_config config;
    tern_context *context = NULL;
    native_config(&config, 64);
    config.rma_atomics = TERN_RMA_ATOMICS_NETWORK;
    if (fixture_open(&f, &config)) {
        const bool one_sided = tern_rma_of(f.context)->native->network->one_sided;
        tern_network_info info;
        uint64_t old = 99;
        EXPECT_OK(tern_context_network(f.context, &info));
        CU_ASSERT(info.says_atomics && info.atomics);
        fixture_alloc_all(&f, 64, TERN_DOMAIN_GLOBAL, memory);
        EXPECT_OK(tern_atomic_store(f.worker, memory[f.rank], 0));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_atomic_fetch_add(f.worker, memory[0], 1, NULL));
        EXPECT_OK(tern_barrier(f.worker));
        if (one_sided && f.rank != 0) /* while rank 0 sits in MPI */
            for (uint64_t i = 0; i < TIMES; i++)
                EXPECT_OK(tern_atomic_fetch_add(f.worker, memory[0], 1, &old));
        meet_in_mpi();
        EXPECT_OK(tern_atomic_load(f.worker, memory[0], &old));
        CU_ASSERT_EQUAL(old, f.size + (one_sided ? TIMES * (f.size - 1) : 0));
        EXPECT_OK(tern_barrier(f.worker));
        fixture_free_all(&f, memory);
        fixture_close(&f);
    }
    flaky_network(tern_test_seed() + 1);
    flaky_network_lose_updates(true);
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("no atomics here that lose no update");
    flaky_network_lose_updates(false);
    flaky_network(0);
    config.transport = TERN_TRANSPORT_P2P;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("TERN_RMA_ATOMICS=network");
}

/* Over TCP a process that reaches the endpoint needs nothing but an rkey to use the memory. So
 * nobody must be able to guess one. A random number has more than 32 bits, but for one in 2^31. */
static void rkeys_are_drawn(void) {
    static char bytes[4096];
    tern_network_memory *registered = NULL;
    tern_network_rkey rkey = {0, 0};
    if (!open_ofi(1, 4096))
        return;
    tern_network *network = tern_rma_of(f.context)->native->network;
    EXPECT_OK(network->ops->add_memory(network, bytes, sizeof bytes, &registered, &rkey));
    if (strncmp(network->name, "tcp", 3) == 0)
        CU_ASSERT(rkey.rkey > UINT32_MAX);
    network->ops->remove_memory(network, registered);
    close_ofi();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"what_was_found", what_was_found},
        {"no_such_card", no_such_card},
        {"rkeys_are_drawn", rkeys_are_drawn},
        {"no_lock", no_lock},
        {"across_pieces", across_pieces},
        {"many_at_once", many_at_once},
        {"a_stopped_rank_delays_nobody_else", a_stopped_rank_delays_nobody_else},
        {"a_sleeping_target", a_sleeping_target},
        {"lost_operations", lost_operations},
        {"lost_puts", lost_puts},
        {"no_more_memory", no_more_memory},
        {"an_unreachable_segment", an_unreachable_segment},
        {"a_card_that_fails", a_card_that_fails},
        {"atomics_of_the_network", atomics_of_the_network},
        {"a_network_that_completes_nothing", a_network_that_completes_nothing},
    };
    return tern_test_main(argc, argv, "ofi", tests, sizeof tests / sizeof *tests);
}
