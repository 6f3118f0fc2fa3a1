/*
 * One rank lacks memory, mappings, files or sockets in what all ranks take part in: its calls for
 * them fail, the first, then the second, and so on, alone or with all that follow. No rank waits
 * for ever, all get the same status, and those that lack nothing learn which rank does. Then the
 * same scene succeeds, so a failure has changed nothing.
 */

#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "hungry.h"
#include "tern/agree.h"
#include "tern/distributed_queue.h"
#include "tern/hashtable.h"
#include "tern/lock.h"
#include "tern/map.h"
#include "tern/part.h"
#include "tern/queue.h"

static tern_config config;
static char folder[32], path[64];

/* Longer than all rings, and not of the memory that fails. */
enum { LONG_COUNT = 100000 };
static uint64_t long_vector[LONG_COUNT];

/* Collective. f: an open context; unused by the scene that makes one. */
typedef tern_status scene(fixture *f);

static tern_status creates(fixture *f) {
    tern_context *context = NULL;
    (void)f;
    tern_status status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    CU_ASSERT_EQUAL(status == TERN_OK, context != NULL);
    return status == TERN_OK ? tern_context_destroy(context) : status;
}

static tern_status agrees(fixture *f) {
    uint64_t numbers[40] = {1};
    char text[300] = "text";
    tern_status status = tern_barrier(f->worker);
    if (status == TERN_OK)
        status = tern_agree(f->worker, TERN_OK, "agreeing");
    if (status == TERN_OK)
        status = tern_same(f->worker, text, sizeof text, "the text");
    if (status == TERN_OK)
        status = tern_sum(f->worker, numbers, 40);
    if (status == TERN_OK)
        CU_ASSERT_EQUAL(numbers[0], f->size);
    return status;
}

/* A collective that could not start has not begun: the program frees memory and tries again. One
 * that fails later fails with the same status on all members that have not ended it. */
#define COMPLETE(status, detail, worker, start)                                                    \
    do {                                                                                           \
        tern_request request = {0};                                                                \
        tern_status one;                                                                           \
        while ((one = (start)) == TERN_ERR_MEMORY)                                                 \
            (void)hungry_pause();                                                                  \
        one = one == TERN_OK ? tern_wait(worker, &request) : one;                                  \
        if ((status) == TERN_OK)                                                                   \
            snprintf(detail, sizeof(detail), "%s", tern_error_detail());                           \
        (status) = (status) == TERN_OK ? one : (status);                                           \
    } while (0)

/* A context in which no worker has sent to another yet. */
static tern_status collects(fixture *f) {
    tern_context *context = NULL;
    tern_worker *worker = NULL;
    (void)f;
    const uint64_t failing = hungry_pause();
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_OK(tern_worker_adopt(context, 0, &worker));
    hungry_go_on(failing);
    uint64_t numbers[2] = {1, tern_context_rank(context)}, data = numbers[1];
    for (size_t i = 0; i < LONG_COUNT; i++)
        long_vector[i] = 1;
    tern_status status = TERN_OK;
    char detail[256] = "";
    COMPLETE(status, detail, worker, tern_team_barrier_start(worker, NULL, &request));
    COMPLETE(status, detail, worker,
             tern_team_broadcast_start(worker, NULL, 0, &data, sizeof data, &request));
    COMPLETE(status, detail, worker,
             tern_team_allreduce_start(worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, numbers, 2,
                                       &request));
    COMPLETE(status, detail, worker,
             tern_team_allreduce_start(worker, NULL, TERN_UINT64, TERN_REDUCE_SUM, long_vector,
                                       LONG_COUNT, &request));
    COMPLETE(status, detail, worker,
             tern_team_broadcast_start(worker, NULL, 0, long_vector, sizeof long_vector, &request));
    (void)hungry_pause();
    status = status == TERN_OK ? TERN_OK : tern_fail(status, "%s", detail);
    status = tern_agree(worker, status, "the collectives");
    if (status == TERN_OK) {
        CU_ASSERT_EQUAL(long_vector[0], tern_context_size(context));
        CU_ASSERT_EQUAL(long_vector[LONG_COUNT - 1], tern_context_size(context));
        CU_ASSERT_EQUAL(data, 0);
        CU_ASSERT_EQUAL(numbers[0], tern_context_size(context));
    }
    snprintf(detail, sizeof detail, "%s", tern_error_detail());
    EXPECT_OK(tern_worker_release(worker));
    EXPECT_OK(tern_context_destroy(context));
    hungry_go_on(failing);
    return status == TERN_OK ? status : tern_fail(status, "%s", detail);
}

static tern_status makes_queues(fixture *f) {
    const tern_queue_options options = {.item_bytes = 100, .capacity = 8};
    tern_queue *queue = NULL;
    tern_distributed_queue *queues = NULL;
    tern_status status = tern_queue_create(f->worker, &options, &queue);
    if (status == TERN_OK)
        status = tern_queue_destroy(f->worker, queue);
    if (status == TERN_OK)
        status = tern_distributed_queue_create(f->worker, &options, &queues);
    return status == TERN_OK ? tern_distributed_queue_destroy(f->worker, queues) : status;
}

static tern_status makes_tables(fixture *f) {
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_status status = tern_hashtable_create(
        f->worker,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 64, .grow = 1},
        &table);
    if (status == TERN_OK)
        status = tern_barrier(f->worker);
    tern_status ended = tern_hashtable_destroy(f->worker, table);
    status = status == TERN_OK ? ended : status;
    if (status == TERN_OK)
        status = tern_map_create(f->worker, &(tern_map_options){.capacity = 64}, &map);
    return status == TERN_OK ? tern_map_destroy(f->worker, map) : status;
}

/* Only the end of a map lacks memory. Each rank has blocks that the parts of the others name, and
 * the entries are the largest that a map has. */
static tern_status ends_maps(fixture *f) {
    const tern_map_options options = {.capacity = 64, .inline_bytes = TERN_MAP_INLINE_MAX};
    tern_map *map = NULL;
    const uint64_t failing = hungry_pause();
    EXPECT_OK(tern_map_create(f->worker, &options, &map));
    for (uint64_t i = 0, key = f->rank; i < 8; i++, key += f->size)
        EXPECT_OK(tern_map_insert(f->worker, map, &key, sizeof key, long_vector, 2000, TERN_BY_RMA,
                                  NULL));
    EXPECT_OK(tern_barrier(f->worker));
    hungry_go_on(failing);
    return tern_map_destroy(f->worker, map);
}

static tern_status makes_others(fixture *f) {
    tern_locks *locks = NULL;
    tern_part *part = NULL;
    int fd = -1, data = 0;
    tern_status status = tern_locks_create(f->worker, 5, &locks);
    if (status == TERN_OK)
        status = tern_locks_destroy(f->worker, locks);
    if (status == TERN_OK)
        status = tern_part_create(f->worker, "a kind", &data, &part);
    if (status == TERN_OK)
        tern_part_destroy(part);
    if (status == TERN_OK)
        status = tern_pass_descriptor(f->worker, 0, &fd);
    if (status == TERN_OK)
        CU_ASSERT(fd < 0 || close(fd) == 0);
    return status;
}

static tern_hashtable *kept;

static tern_status saves(fixture *f) {
    uint64_t key = f->rank, value = 1;
    tern_hashtable *loaded = NULL;
    tern_status status = tern_hashtable_insert(f->worker, kept, &key, &value, TERN_BY_RMA, NULL);
    CU_ASSERT(status == TERN_OK || status == TERN_ERR_EXISTS);
    status = tern_hashtable_save(f->worker, kept, path, "note", 4);
    if (status == TERN_OK)
        status = tern_hashtable_load(f->worker, path, NULL, NULL, &loaded);
    return status == TERN_OK ? tern_hashtable_destroy(f->worker, loaded) : status;
}

/* Collective. The statuses of all ranks agree, and the others name the victim. */
static void judge(tern_status status, int victim, const char *name, unsigned long long n) {
    int mine = (int)status, all[8], size = tern_test_size();
    char text[600], rank[24];
    snprintf(rank, sizeof rank, "rank %d", victim);
    /* A rank to which the victim gives no ring fails in a collective of a team as well. */
    const char *named_rank = strcmp(name, "collecting") == 0 ? "has failed on rank " : rank;
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    bool same = true;
    for (int r = 0; r < size; r++)
        same &= all[r] == all[0];
    const bool clean = status == TERN_OK || status == TERN_ERR_MEMORY || status == TERN_ERR_SYSTEM;
    const bool named =
        status == TERN_OK || tern_test_rank() == victim || strstr(tern_error_detail(), named_rank);
    snprintf(text, sizeof text, "%.40s, call %llu of %s: '%.60s' (%.300s)", name, n, rank,
             tern_strerror(status), status == TERN_OK ? "" : tern_error_detail());
    CU_assertImplementation(same && clean && named, __LINE__, text, __FILE__, "", CU_FALSE);
}

/* Collective. Returns whether rank victim has had calls that failed. */
static bool played(fixture *f, scene *play, const char *name, int victim, uint64_t first,
                   uint64_t last) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (tern_test_rank() == victim)
        hungry_begin(first, last);
    const tern_status status = play(f);
    unsigned long long failures = tern_test_rank() == victim ? hungry_end() : 0;
    judge(status, victim, name, first);
    EXPECT_OK(play(f)); /* nothing fails any more */
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CU_ASSERT(status == TERN_OK || failures > 0);
    return failures > 0;
}

/* Every call in turn, or in a quick run some of them, ever fewer, that the seed draws. */
static void starve(scene *play, const char *name) {
    uint64_t random = tern_test_seed();
    fixture f;
    tern_segment_info info;
    if (!fixture_open(&f, &config))
        return;
    if (play == saves)
        EXPECT_OK(tern_hashtable_create(
            f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 64},
            &kept));
    for (int run = 0; run < 4; run++) {
        const int victim = run % 2 == 0 ? 0 : tern_test_size() - 1;
        uint64_t n = tern_test_full() ? 1 : 1 + tern_test_random(&random) % 3;
        while (played(&f, play, name, victim, n, run < 2 ? n : UINT64_MAX))
            n += tern_test_full() ? 1 : 1 + n / 4 + tern_test_random(&random) % (n / 2 + 1);
    }
    if (play == saves)
        EXPECT_OK(tern_hashtable_destroy(f.worker, kept));
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_EQUAL(info.in_use, 0);
    fixture_close(&f);
}

static void creating(void) { starve(creates, "creating"); }
static void agreeing(void) { starve(agrees, "agreeing"); }
static void collecting(void) { starve(collects, "collecting"); }
static void making_queues(void) { starve(makes_queues, "making_queues"); }
static void making_tables(void) { starve(makes_tables, "making_tables"); }
static void ending_maps(void) { starve(ends_maps, "ending_maps"); }
static void making_others(void) { starve(makes_others, "making_others"); }

static void saving(void) {
    if (tern_test_rank() == 0) {
        snprintf(folder, sizeof folder, "/tmp/tern-test-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/table", folder);
    starve(saves, "saving");
    MPI_Barrier(MPI_COMM_WORLD);
    if (tern_test_rank() == 0) {
        CU_ASSERT_EQUAL(unlink(path), 0);
        CU_ASSERT_EQUAL(rmdir(folder), 0); /* not empty: a failed save left its file */
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"creating", creating},
        {"agreeing", agreeing},
        {"making_queues", making_queues},
        {"making_tables", making_tables},
        {"ending_maps", ending_maps},
        {"making_others", making_others},
        {"saving", saving},
        {"collecting", collecting},
    };
    if (tern_config_init(&config) != TERN_OK)
        return 1;
    config.segment_size = (size_t)2 << 20;
    config.ring_memory = (size_t)512 << 10;
    config.log_level = TERN_LOG_NONE;
    return tern_test_main(argc, argv, "shortage", tests, sizeof tests / sizeof *tests);
}
