// tern-test: ranks least=2

/* With TERN_RMA_ATOMICS=network the operations of containers by RMA need nothing of the owner's
 * processor. Rank 1 owns everything; once the others have met it, it computes and calls neither
 * tern nor MPI until the others are through. Over verbs, whose card serves without the process, it
 * is stopped besides. */

#include "nothing.h"
#include "table_tools.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OWNER = 1, KEYS = 12, VALUE = 24, LONG = 300, SLOTS = 8 };

/* Words in the segment of the owner. */
enum { AWAY, THROUGH, SUM, SWAPPED, BITS, NARROW, WORDS = 8 };

static fixture f;
static tern_ptr all[64];
static uint64_t random_state;

static tern_ptr word(unsigned index) { return tern_ptr_add(all[OWNER], 8 * (int64_t)index); }

static _Atomic uint64_t *own_word(unsigned index) { return tern_local(f.context, word(index)); }

static bool another(void) { return f.rank != OWNER; }

static bool over_verbs(void) {
    return tern_context_config(f.context)->transport == TERN_TRANSPORT_VERBS;
}

static bool open_network(void) {
    tern_config config;
    tern_network_info info;
    EXPECT_OK(tern_config_init(&config));
    if (config.transport != TERN_TRANSPORT_VERBS)
        config.transport = TERN_TRANSPORT_OFI;
    config.ranks_per_node = 1;
    config.rma_atomics = TERN_RMA_ATOMICS_NETWORK;
    config.segment_size = (size_t)8 << 20;
    config.host_timeout = 0; /* a stopped rank is no dead machine */
    if (!fixture_open(&f, &config))
        return false;
    EXPECT_OK(tern_context_network(f.context, &info));
    /* A card needs no help, though a machine that stands still for a while makes creation doubt it.
     */
    if (!info.one_sided && !over_verbs()) {
        fixture_close(&f);
        tern_test_lack("this network needs progress of its targets");
        return false;
    }
    fixture_alloc_all(&f, WORDS * sizeof(uint64_t), TERN_DOMAIN_GLOBAL, all);
    random_state = fixture_seed(&f, 1);
    return true;
}

static void close_network(void) {
    fixture_free_all(&f, all);
    fixture_close(&f);
}

static void nap(void) {
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

static bool all_through(void) {
    /* the network adds to the word */
    return atomic_load(own_word(THROUGH)) == f.size - 1;
}

static char state_of(pid_t process) {
    char path[64], line[256] = "", state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        const char *end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
        state = end != NULL ? end[2] : 0;
        fclose(file);
    }
    return state;
}

/* Reads or writes a word of the stopped process. A child has no mapping of its parent's segment. */
static bool word_of(pid_t process, _Atomic uint64_t *at, uint64_t *value, bool write) {
    const struct iovec here = {value, sizeof *value}, there = {(void *)at, sizeof *at};
    return (write ? process_vm_writev(process, &here, 1, &there, 1, 0)
                  : process_vm_readv(process, &here, 1, &there, 1, 0)) == (ssize_t)sizeof *value;
}

/* The child's part: stops its parent, and lets it go on when the others are through. */
static bool keep_stopped(pid_t parent) {
    uint64_t away = 1, through = 0;
    kill(parent, SIGSTOP);
    while (state_of(parent) != 'T')
        nap();
    bool good = word_of(parent, own_word(AWAY), &away, true);
    while (good && through != f.size - 1) { /* the network adds to the word */
        nap();
        good = word_of(parent, own_word(THROUGH), &through, false);
    }
    kill(parent, SIGCONT);
    return good;
}

static void be_stopped(void) {
    int status = 0;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(keep_stopped(parent) ? 0 : 1);
    }
    CU_ASSERT_FATAL(child > 0);
    while (waitpid(child, &status, 0) < 0)
        nap();
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(all_through());
}

static void compute(void) {
    volatile uint64_t state = 1;
    atomic_store(own_word(AWAY), 1);
    while (!all_through())
        state = state * 6364136223846793005u + 1;
}

/* Collective: the others do their work while the owner is away. */
static void while_owner_is_away(void (*work)(void), bool stopped) {
    uint64_t away = 0, old = 0;
    if (another()) { /* they meet it: memory that it lends to others is given back by calls */
        const tern_worker_id to = {OWNER, 0};
        EXPECT_OK(tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
        EXPECT_OK(tern_get(f.worker, &away, word(AWAY), sizeof away));
        EXPECT_OK(tern_atomic_fetch_add(f.worker, word(THROUGH), 0, &old));
        CU_ASSERT_EQUAL(away, 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (!another()) {
        if (stopped)
            be_stopped();
        else
            compute();
    } else {
        while (away == 0 && EXPECT_OK(tern_get(f.worker, &away, word(AWAY), sizeof away)))
            continue;
        work();
        EXPECT_OK(tern_atomic_fetch_add(f.worker, word(THROUGH), 1, &old));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (!another()) {
        atomic_store(own_word(AWAY), 0);
        atomic_store(own_word(THROUGH), 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
}

/* Collective: with the owner computing, and stopped where the network can do that. */
static void both_ways(void (*work)(void)) {
    while_owner_is_away(work, false);
    if (over_verbs()) /* the provider tcp of ofi serves in the process */
        while_owner_is_away(work, true);
}

static int times(void) { return tern_test_full() ? 500 : 60; }

static uint64_t sum_of_all(uint64_t mine) {
    uint64_t of[64], sum = 0;
    fixture_share(&f, &mine, sizeof mine, of);
    for (uint32_t r = 0; r < f.size; r++)
        sum += of[r];
    return sum;
}

/* ---- Words ---- */

static uint64_t added, swapped, narrow;

static void change_words(void) {
    uint64_t old = 0, seen = 0;
    uint32_t old4 = 0;
    for (int i = 0; i < times(); i++) {
        const uint64_t delta = below(&random_state, 100);
        EXPECT_OK(tern_atomic_fetch_add(f.worker, word(SUM), delta, &old));
        added += delta;
        for (bool done = false; !done; seen = old) {
            if (!EXPECT_OK(tern_atomic_cas(f.worker, word(SWAPPED), seen, seen + 1, &old)))
                return;
            done = old == seen;
        }
        swapped++;
        EXPECT_OK(tern_atomic_fetch_or(f.worker, word(BITS), UINT64_C(1) << f.rank, NULL));
        EXPECT_OK(tern_atomic_load(f.worker, word(BITS), &old));
        CU_ASSERT(old >> f.rank & 1);
        EXPECT_OK(tern_atomic_fetch_and(f.worker, word(BITS), ~(UINT64_C(1) << f.rank), &old));
        CU_ASSERT(old >> f.rank & 1);
        if (over_verbs()) /* its cards leave words of 4 bytes to the owner */
            continue;
        EXPECT_OK(tern_atomic_fetch_add32(f.worker, word(NARROW), 1, &old4));
        narrow++;
    }
}

static void atomics(void) {
    if (!open_network())
        return;
    added = swapped = narrow = 0;
    both_ways(change_words);
    const uint64_t wanted[] = {sum_of_all(added), sum_of_all(swapped), 0, sum_of_all(narrow)};
    for (unsigned i = 0; i < 4; i++)
        if (!another())
            CU_ASSERT_EQUAL(atomic_load(own_word(SUM + i)), wanted[i]);
    close_network();
}

/* ---- Tables ---- */

static tern_hashtable *table;
static uint64_t keys[KEYS], version[KEYS]; /* this rank's own; 0: it is absent */

static void expect_version(uint64_t key, uint64_t wanted, tern_flags flags) {
    char value[VALUE];
    const tern_status status = tern_hashtable_find(f.worker, table, &key, flags, value);
    EXPECT(wanted == 0 ? TERN_ERR_NOT_FOUND : TERN_OK, status);
    if (status == TERN_OK)
        CU_ASSERT(is_value(value, VALUE, key, wanted));
}

static void change_one(unsigned k, uint64_t next) {
    char value[VALUE];
    int existed = 2;
    make_value(value, VALUE, keys[k], next);
    switch (below(&random_state, 4)) {
    case 0:
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &keys[k], value, TERN_BY_RMA, &existed));
        CU_ASSERT_EQUAL(existed, version[k] != 0);
        version[k] = next;
        break;
    case 1:
        EXPECT_OK(
            tern_hashtable_insert_new(f.worker, table, &keys[k], value, TERN_BY_RMA, &existed));
        CU_ASSERT_EQUAL(existed, version[k] != 0);
        version[k] = version[k] != 0 ? version[k] : next;
        break;
    case 2:
        EXPECT(version[k] == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
               tern_hashtable_erase(f.worker, table, &keys[k], TERN_BY_RMA));
        version[k] = 0;
        break;
    default:
        expect_version(keys[k], version[k], TERN_BY_RMA);
    }
}

/* All keys at once: as a batch, and as requests. */
static void change_all(uint64_t next) {
    static char values[KEYS][VALUE], found[KEYS][VALUE];
    unsigned char there[KEYS];
    tern_request request[KEYS];
    size_t done = 0;
    for (unsigned k = 0; k < KEYS; k++)
        make_value(values[k], VALUE, keys[k], version[k] = next);
    EXPECT_OK(tern_hashtable_insert_many(f.worker, table, keys, values, KEYS, TERN_BY_RMA, &done));
    CU_ASSERT_EQUAL(done, KEYS);
    EXPECT_OK(
        tern_hashtable_find_many(f.worker, table, keys, KEYS, TERN_BY_RMA, found, there, &done));
    CU_ASSERT_EQUAL(done, KEYS);
    CU_ASSERT_EQUAL(memcmp(values, found, sizeof values), 0);
    for (unsigned k = 0; k < KEYS; k++) {
        make_value(values[k], VALUE, keys[k], version[k] = next + 1);
        EXPECT_OK(tern_hashtable_insert_start(f.worker, table, &keys[k], values[k], TERN_BY_RMA,
                                              &request[k]));
    }
    EXPECT_OK(tern_wait_all(f.worker, request, KEYS));
    for (unsigned k = 0; k < KEYS; k++)
        EXPECT_OK(tern_hashtable_find_start(f.worker, table, &keys[k], TERN_BY_RMA, found[k],
                                            &request[k]));
    EXPECT_OK(tern_wait_all(f.worker, request, KEYS));
    CU_ASSERT_EQUAL(memcmp(values, found, sizeof values), 0);
}

static uint64_t next_version;

static void change_table(void) {
    for (int i = 0; i < times(); i++) {
        if (i % 20 == 10) {
            change_all(next_version);
            next_version += 2;
        } else
            change_one((unsigned)below(&random_state, KEYS), next_version++);
    }
}

/* Half of the keys are there from the beginning: the owner has put them in. */
static void tables(void) {
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = VALUE, .capacity = 1024};
    if (!open_network())
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    for (uint32_t r = 0; r < f.size; r++) {
        uint64_t number = (uint64_t)r << 32;
        for (unsigned k = 0; k < KEYS; k++) {
            number = number_owned_by(table, OWNER, number + 1);
            char value[VALUE];
            make_value(value, VALUE, number, 1);
            if (!another() && k % 2 == 0)
                EXPECT_OK(tern_hashtable_insert(f.worker, table, &number, value, 0, NULL));
            if (r == f.rank) {
                keys[k] = number;
                version[k] = another() ? k % 2 == 0 : 0;
            }
        }
    }
    next_version = 2;
    both_ways(change_table);
    if (another())
        for (unsigned k = 0; k < KEYS; k++)
            expect_version(keys[k], version[k], TERN_BY_CALL);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    close_network();
}

/* ---- Counters ---- */

static uint64_t shared[KEYS]; /* the same keys on all ranks */
static uint64_t counted[KEYS];

static void change_counters(void) {
    for (int i = 0; i < times(); i++) {
        const unsigned k = (unsigned)below(&random_state, KEYS);
        uint64_t before = 0, seen = 0;
        size_t done = 0;
        tern_request request;
        switch (below(&random_state, 4)) {
        case 0:
            EXPECT_OK(tern_hashtable_add(f.worker, table, &shared[k], 3, TERN_BY_RMA, &before));
            counted[k] += 3;
            break;
        case 1:
            EXPECT_OK(
                tern_hashtable_add_many(f.worker, table, shared, KEYS, 1, TERN_BY_RMA, &done));
            for (unsigned j = 0; j < KEYS; j++)
                counted[j]++;
            break;
        case 2:
            EXPECT_OK(
                tern_hashtable_add_start(f.worker, table, &shared[k], 5, TERN_BY_RMA, &request));
            EXPECT_OK(tern_wait(f.worker, &request));
            counted[k] += 5;
            break;
        default:
            EXPECT_OK(tern_hashtable_add(f.worker, table, &shared[k], 0, TERN_BY_RMA, &seen));
            do {
                before = seen;
                if (!EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &shared[k], before,
                                                           before + 7, TERN_BY_RMA, &seen)))
                    return;
            } while (seen != before);
            counted[k] += 7;
        }
    }
}

static void counters(void) {
    const tern_hashtable_options options = {.key_bytes = 8, .counter = 1, .capacity = 1024};
    if (!open_network())
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    uint64_t number = 0;
    for (unsigned k = 0; k < KEYS; k++)
        shared[k] = number = number_owned_by(table, OWNER, number + 1);
    memset(counted, 0, sizeof counted);
    both_ways(change_counters);
    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t value = 0;
        const uint64_t wanted = sum_of_all(counted[k]);
        if (wanted > 0)
            EXPECT_OK(tern_hashtable_find(f.worker, table, &shared[k], TERN_BY_RMA, &value));
        CU_ASSERT_EQUAL(value, wanted);
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    close_network();
}

/* ---- Maps ---- */

static tern_map *map;

/* Short values lie in the map, and long ones in blocks. */
static size_t bytes_of(uint64_t key, uint64_t of_version) {
    return (key * 31 + of_version * 97) % LONG;
}

static void insert_version(uint64_t key, uint64_t fresh, int *existed) {
    char value[LONG + 8];
    make_value(value, LONG, key, fresh);
    EXPECT_OK(tern_map_insert(f.worker, map, &key, sizeof key, value, bytes_of(key, fresh),
                              TERN_BY_RMA, existed));
}

static void expect_in_map(uint64_t key, uint64_t wanted, tern_flags flags) {
    char value[LONG] = "", expected[LONG + 8];
    size_t bytes = 0;
    const tern_status status =
        tern_map_find(f.worker, map, &key, sizeof key, flags, value, sizeof value, &bytes);
    EXPECT(wanted == 0 ? TERN_ERR_NOT_FOUND : TERN_OK, status);
    if (status != TERN_OK)
        return;
    make_value(expected, LONG, key, wanted);
    CU_ASSERT_EQUAL(bytes, bytes_of(key, wanted));
    CU_ASSERT_EQUAL(memcmp(value, expected, bytes), 0);
}

/* A rank changes keys of its own, whose blocks are the owner's at first, and a number and a block
 * of all ranks. */
static void change_map(void) {
    for (int i = 0; i < times(); i++) {
        const unsigned k = (unsigned)below(&random_state, KEYS);
        int existed = 2;
        size_t bytes = 0;
        char value[LONG];
        switch (below(&random_state, 4)) {
        case 0:
            insert_version(keys[k], next_version, &existed);
            CU_ASSERT_EQUAL(existed, version[k] != 0);
            version[k] = next_version++;
            break;
        case 1:
            EXPECT(version[k] == 0 ? TERN_ERR_NOT_FOUND : TERN_OK,
                   tern_map_erase(f.worker, map, &keys[k], sizeof keys[k], TERN_BY_RMA));
            version[k] = 0;
            break;
        case 2:
            EXPECT_OK(
                tern_map_add(f.worker, map, &shared[0], sizeof shared[0], 2, TERN_BY_RMA, NULL));
            counted[0] += 2;
            insert_version(shared[1], 3, NULL);
            EXPECT_OK(tern_map_find(f.worker, map, &shared[1], sizeof shared[1], TERN_BY_RMA, value,
                                    sizeof value, &bytes));
            CU_ASSERT_EQUAL(bytes, bytes_of(shared[1], 3));
            break;
        default:
            expect_in_map(keys[k], version[k], TERN_BY_RMA);
        }
    }
}

static void maps(void) {
    const tern_map_options options = {.capacity = 1024};
    if (!open_network())
        return;
    EXPECT_OK(tern_map_create(f.worker, &options, &map));
    uint64_t number = 0;
    for (uint32_t r = 0; r < f.size; r++)
        for (unsigned k = 0; k < KEYS; k++) {
            do
                number++;
            while (tern_map_owner(map, &number, sizeof number) != OWNER);
            if (!another() && k % 2 == 0 && r != OWNER)
                insert_version(number, 1, NULL);
            if (r == f.rank) {
                keys[k] = number;
                version[k] = another() ? k % 2 == 0 : 0;
            }
            if (r == OWNER)
                shared[k] = number;
        }
    counted[0] = 0;
    next_version = 2;
    both_ways(change_map);
    if (another())
        for (unsigned k = 0; k < KEYS; k++)
            expect_in_map(keys[k], version[k], TERN_BY_CALL);
    uint64_t value = 0, wanted = sum_of_all(counted[0]);
    size_t bytes = 0;
    if (wanted > 0)
        EXPECT_OK(tern_map_find(f.worker, map, &shared[0], sizeof shared[0], TERN_BY_RMA, &value,
                                sizeof value, &bytes));
    CU_ASSERT_EQUAL(value, wanted);
    EXPECT_OK(tern_map_destroy(f.worker, map));
    close_network();
}

/* ---- Queues ---- */

static tern_queue *queue;
static uint64_t pushed, popped, last_of[64], out_of_order;

static uint64_t fresh_item(void) { return (uint64_t)f.rank << 32 | ++pushed; }

static void enter(uint64_t item) {
    const uint64_t producer = item >> 32, number = item & UINT32_MAX;
    if (producer >= 64 || number <= last_of[producer])
        out_of_order++;
    else
        last_of[producer] = number;
    popped++;
}

/* A rank pops no more than it has pushed, so that no pop waits for ever. */
static void change_queue(void) {
    for (int i = 0; i < times(); i++) {
        uint64_t item[2] = {fresh_item(), 0};
        tern_request request;
        size_t count = 0;
        tern_status status = TERN_OK;
        switch (below(&random_state, 4)) {
        case 0:
            EXPECT_OK(tern_queue_push(f.worker, queue, &item[0], TERN_BY_RMA));
            EXPECT_OK(tern_queue_pop(f.worker, queue, &item[0], TERN_BY_RMA));
            break;
        case 1:
            status = tern_queue_try_push(f.worker, queue, &item[0], TERN_BY_RMA);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            if (status != TERN_OK) {
                pushed--;
                continue;
            }
            while ((status = tern_queue_try_pop(f.worker, queue, &item[0], TERN_BY_RMA)) ==
                   TERN_ERR_EMPTY)
                continue;
            EXPECT_OK(status);
            break;
        case 2:
            EXPECT_OK(tern_queue_push_many(f.worker, queue, item, 1, TERN_BY_RMA, &count));
            CU_ASSERT_EQUAL(count, 1);
            for (count = 0; count == 0 && (status == TERN_OK || status == TERN_ERR_EMPTY);)
                status = tern_queue_pop_many(f.worker, queue, item, 1, TERN_BY_RMA, &count);
            EXPECT_OK(status);
            break;
        default:
            EXPECT_OK(tern_queue_push_start(f.worker, queue, &item[0], TERN_BY_RMA, &request));
            EXPECT_OK(tern_wait(f.worker, &request));
            EXPECT_OK(tern_queue_pop_start(f.worker, queue, &item[0], TERN_BY_RMA, &request));
            EXPECT_OK(tern_wait(f.worker, &request));
        }
        enter(item[0]);
    }
}

static void queues(void) {
    const tern_queue_options options = {.host = OWNER, .item_bytes = 8, .capacity = SLOTS};
    uint64_t count = 99;
    if (!open_network())
        return;
    EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
    pushed = popped = out_of_order = 0;
    memset(last_of, 0, sizeof last_of);
    both_ways(change_queue);
    CU_ASSERT_EQUAL(out_of_order, 0);
    CU_ASSERT_EQUAL(pushed, popped);
    EXPECT_OK(tern_queue_size(f.worker, queue, &count));
    CU_ASSERT_EQUAL(count, 0);
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    close_network();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"atomics", atomics},
                                           {"tables", tables},
                                           {"counters", counters},
                                           {"maps", maps},
                                           {"queues", queues}};
    return tern_test_main(argc, argv, "ofi_owner_away", tests, sizeof tests / sizeof *tests);
}
