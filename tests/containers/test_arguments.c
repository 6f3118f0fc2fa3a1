// tern-test: unit

/*
 * Public functions are called with each wrong argument in turn. A call returns the status, names
 * itself and the argument with its value, and changes neither its results nor the objects.
 */

#include <string.h>

#include "call_tools.h"
#include "games.h"
#include "tern/archive.h"
#include "tern/circular.h"
#include "tern/team.h"
#include "tern/hashtable.h"
#include "tern/lock.h"
#include "tern/mailbox_host.h"
#include "tern/map.h"
#include "tern/mcts.h"
#include "tern/model.h"
#include "tern/synchronizer.h"

/* The results of all calls of a test: no refused call writes to them. */
typedef union results {
    tern_ptr ptr;
    tern_event event;
    tern_descriptor descriptor;
    tern_piece piece;
    double number;
    uint64_t word;
    void *object;
    size_t bytes;
    unsigned char byte[256];
} results;

static void results_fill(results *r) { memset(r->byte, 0x5a, sizeof r->byte); }

static bool results_unchanged(const results *r) {
    for (size_t i = 0; i < sizeof r->byte; i++)
        if (r->byte[i] != 0x5a)
            return false;
    return true;
}

/* Expects the status and the part of its text, and that the call leaves r as it is. */
#define REFUSED(status, part, call)                                                                \
    do {                                                                                           \
        tern_error_clear();                                                                        \
        EXPECT(status, call);                                                                      \
        EXPECT_DETAIL(part);                                                                       \
        CU_ASSERT(results_unchanged(&r));                                                          \
    } while (0)
#define WRONG(part, call) REFUSED(TERN_ERR_ARGUMENT, part, call)

static void memory(void) {
    fixture f;
    results r;
    tern_ptr p = TERN_NULL, q = TERN_NULL;
    unsigned char bytes[64] = {0};
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    EXPECT_OK(tern_alloc(f.worker, sizeof bytes, 0, TERN_DOMAIN_GLOBAL, &p));
    WRONG("tern_free: worker is NULL", tern_free(NULL, p));
    WRONG("tern_free: the pointer, to rank 1 and segment 0",
          tern_free(f.worker, (tern_ptr){.rank = f.size, .offset = p.offset}));
    WRONG("tern_register: worker, base or p is NULL",
          tern_register(NULL, bytes, sizeof bytes, &r.ptr));
    WRONG("tern_deregister: worker is NULL", tern_deregister(NULL, p));
    WRONG("worker", tern_alloc(NULL, 8, 0, TERN_DOMAIN_GLOBAL, &r.ptr));
    WRONG("alignment is 3", tern_alloc(f.worker, 8, 3, TERN_DOMAIN_GLOBAL, &r.ptr));
    WRONG("domain is 77", tern_alloc(f.worker, 8, 0, (tern_domain)77, &r.ptr));
    WRONG("tern_alloc: bytes is 0; ask for 1 or more",
          tern_alloc(f.worker, 0, 0, TERN_DOMAIN_GLOBAL, &r.ptr));
    WRONG("tern_alloc_all: mine is NULL", tern_alloc_all(f.worker, 8, 0, TERN_DOMAIN_GLOBAL, NULL));
    EXPECT_OK(tern_register(f.worker, bytes, sizeof bytes, &q));
    WRONG("not to an allocation; pass registered memory to tern_deregister",
          tern_free_all(f.worker, q));
    EXPECT_OK(tern_deregister(f.worker, q));
    /* The failed calls have freed nothing. */
    EXPECT_OK(tern_put(f.worker, p, bytes, sizeof bytes));
    EXPECT_OK(tern_free(f.worker, p));
    fixture_close(&f);
}

static void synchronizers(void) {
    fixture f;
    results r;
    tern_synchronizer s;
    uint64_t outstanding = 7;
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    EXPECT_OK(tern_synchronizer_create(f.worker, &s));
    WRONG("tern_synchronizer_create: worker or synchronizer is NULL",
          tern_synchronizer_create(NULL, &s));
    WRONG("tern_synchronizer_create: worker or synchronizer is NULL",
          tern_synchronizer_create(f.worker, NULL));
    WRONG("tern_synchronizer_raise: worker is NULL", tern_synchronizer_raise(NULL, s, 1));
    WRONG("tern_synchronizer_lower: worker is NULL", tern_synchronizer_lower(NULL, s, 1));
    WRONG("tern_synchronizer_wait: worker is NULL", tern_synchronizer_wait(NULL, s));
    WRONG("tern_synchronizer_test: worker is NULL", tern_synchronizer_test(NULL, s, &r.word));
    WRONG("tern_synchronizer_test: outstanding is NULL", tern_synchronizer_test(f.worker, s, NULL));
    WRONG("tern_synchronizer_destroy: worker is NULL", tern_synchronizer_destroy(NULL, &s));
    WRONG("tern_synchronizer_destroy: synchronizer is NULL",
          tern_synchronizer_destroy(f.worker, NULL));
    EXPECT_OK(tern_synchronizer_test(f.worker, s, &outstanding));
    CU_ASSERT_EQUAL(outstanding, 0);
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &s));
    fixture_close(&f);
}

static void the_model(void) {
    results r;
    tern_costs costs;
    results_fill(&r);
    tern_costs_guess(TERN_SHM, &costs);
    const tern_costs *c = &costs;
    static const tern_model_operation insert = (tern_model_operation)0;
    WRONG("target, own or ns is NULL", tern_model_predict(insert, TERN_BY_RMA, NULL, c, &r.number));
    WRONG("target, own or ns is NULL", tern_model_predict(insert, TERN_BY_RMA, c, NULL, &r.number));
    WRONG("target, own or ns is NULL", tern_model_predict(insert, TERN_BY_RMA, c, c, NULL));
    WRONG("operation is 99",
          tern_model_predict((tern_model_operation)99, TERN_BY_RMA, c, c, &r.number));
    WRONG("tern_model_predict: TERN_AUTO has no cost",
          tern_model_predict(insert, TERN_AUTO, c, c, &r.number));
    WRONG("tern_model_predict: the promise TERN_LOCAL",
          tern_model_predict(insert, TERN_BY_RMA | TERN_LOCAL, c, c, &r.number));
}

static size_t do_nothing(tern_worker *worker, void *argument) {
    (void)worker;
    (void)argument;
    return 0;
}

static void pieces_locks_and_hooks(void) {
    fixture f;
    results r;
    tern_circular *buffer = NULL;
    tern_locks *locks = NULL;
    tern_locks *none = NULL;
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    EXPECT_OK(tern_circular_create(f.worker, NULL, &buffer));
    WRONG("tern_circular_create: worker or circular is NULL",
          tern_circular_create(NULL, NULL, (tern_circular **)&r.object));
    WRONG("tern_circular_create: unit_bytes is 2147483648; use at most 1073741824",
          tern_circular_create(f.worker, &(tern_circular_options){.unit_bytes = (size_t)1 << 31},
                               (tern_circular **)&r.object));
    WRONG("units is 9 and units_max is 8",
          tern_circular_create(f.worker, &(tern_circular_options){.units = 9, .units_max = 8},
                               (tern_circular **)&r.object));
    WRONG("tern_piece_try: worker, circular or piece is NULL",
          tern_piece_try(f.worker, NULL, 8, &r.piece));
    WRONG("worker, circular or piece is NULL", tern_piece_try(f.worker, buffer, 8, NULL));
    REFUSED(TERN_ERR_RANGE, "a piece of 5000 bytes does not fit into a unit, which has 4096",
            tern_piece_try(f.worker, buffer, 5000, &r.piece));
    EXPECT_OK(tern_circular_destroy(f.worker, buffer));

    EXPECT_OK(tern_locks_create(f.worker, 2, &locks));
    WRONG("count is 0", tern_locks_create(f.worker, 0, (tern_locks **)&r.object));
    WRONG("tern_lock_acquire: worker or locks is NULL", tern_lock_acquire(f.worker, none, 0));
    WRONG("tern_lock_acquire: index is 2; there are 2", tern_lock_acquire(f.worker, locks, 2));
    WRONG("tern_lock_try: taken is NULL", tern_lock_try(f.worker, locks, 0, NULL));
    REFUSED(TERN_ERR_STATE, "this worker does not hold lock 1",
            tern_lock_release(f.worker, locks, 1));
    WRONG("worker is NULL", tern_locks_destroy(NULL, locks));
    EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
    EXPECT_OK(tern_lock_release(f.worker, locks, 0));
    EXPECT_OK(tern_locks_destroy(f.worker, locks));

    WRONG("tern_progress_hook_remove: context is NULL",
          tern_progress_hook_remove(NULL, do_nothing, NULL));
    fixture_close(&f);
}

static void containers(void) {
    fixture f;
    results r;
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_queue *queue = NULL;
    tern_hashtable_options as_table = {.key_bytes = 8, .value_bytes = 8, .capacity = 4};
    const tern_queue_options as_queue = {.item_bytes = 8, .capacity = 4};
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &as_table, &table));
    EXPECT_OK(tern_map_create(f.worker, &(tern_map_options){.capacity = 4}, &map));
    EXPECT_OK(tern_queue_create(f.worker, &as_queue, &queue));
    WRONG("tern_hashtable_destroy: worker is NULL", tern_hashtable_destroy(NULL, table));
    WRONG("worker is NULL", tern_map_destroy(NULL, map));
    WRONG("worker is NULL", tern_queue_destroy(NULL, queue));
    as_table.grow = 2;
    WRONG("grow is 2; allowed are 0 and 1",
          tern_hashtable_create(f.worker, &as_table, (tern_hashtable **)&r.object));
    as_table = (tern_hashtable_options){.key_bytes = 8, .counter = -1, .capacity = 4};
    WRONG("counter is -1; allowed are 0 and 1",
          tern_hashtable_create(f.worker, &as_table, (tern_hashtable **)&r.object));
    WRONG("tern_map_create: options is NULL",
          tern_map_create(f.worker, NULL, (tern_map **)&r.object));
    WRONG("tern_map_create: map is NULL",
          tern_map_create(f.worker, &(tern_map_options){.capacity = 4}, NULL));
    WRONG("inline_bytes is 65537; allowed are 0 to",
          tern_map_create(f.worker, &(tern_map_options){.capacity = 4, .inline_bytes = 65537},
                          (tern_map **)&r.object));
    /* The failed calls have destroyed nothing. */
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    EXPECT_OK(tern_map_destroy(f.worker, map));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    fixture_close(&f);
}

static tern_status ignore(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(ignore)

static void serve(tern_mailbox_service *service, uint32_t slot, const void *request,
                  uint64_t bytes) {
    (void)service;
    (void)slot;
    (void)request;
    (void)bytes;
}

static void calls_and_mailboxes(void) {
    fixture f;
    results r;
    tern_writer writer;
    tern_mailbox_service service;
    tern_mailbox_share *share = NULL;
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    EXPECT_OK(tern_writer_open(&writer, NULL, 0, 4096));
    WRONG("tern_call_archive_start: worker or writer is NULL",
          tern_call_archive_start(f.worker, to(0), &ignore_function, NULL, NULL, 0,
                                  (tern_request *)r.byte));
    tern_writer_close(&writer);
    EXPECT_OK(tern_mailbox_create(NULL, &share));
    WRONG("tern_mailbox_service_open: service, share or handle is NULL",
          tern_mailbox_service_open(&service, NULL, 64, serve, NULL));
    WRONG("tern_mailbox_service_open: service, share or handle is NULL",
          tern_mailbox_service_open(&service, share, 64, NULL, NULL));
    tern_mailbox_destroy(share);
    fixture_close(&f);
}

static void objects_of_another_context(void) {
    fixture f, g;
    results r;
    tern_hashtable *table = NULL;
    tern_search *search = NULL;
    tern_search_result result;
    const tern_hashtable_options as_table = {.key_bytes = 8, .value_bytes = 8, .capacity = 4};
    const tern_search_options as_search = {.memory = (size_t)1 << 20};
    const tern_search_limits limits = {.rollouts = 10};
    const tic_tac_toe_state empty = {0};
    results_fill(&r);
    if (!fixture_enter(&f) || !fixture_open_on(&g, MPI_COMM_WORLD, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &as_table, &table));
    EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &as_search, &search));
    WRONG("tern_hashtable_destroy: worker and table are of different contexts",
          tern_hashtable_destroy(g.worker, table));
    WRONG("tern_search_reset: worker and search are of different contexts",
          tern_search_reset(g.worker, search, &empty));
    WRONG("tern_search_run: worker and search are of different contexts",
          tern_search_run(g.worker, search, &limits, &result));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&g);
    fixture_close(&f);
}

static void the_options_of_a_context(void) {
    const MPI_Fint world = tern_comm_world_f();
    results r;
    tern_config config;
    results_fill(&r);
    REFUSED(
        TERN_ERR_CONFIG, "the option 'TERN_WORKERS' has no value: write NAME=VALUE",
        tern_context_create_f(world, "TERN_RING_SIZE=8K TERN_WORKERS", (tern_context **)&r.object));
    REFUSED(TERN_ERR_CONFIG, "TERN_WORKERS",
            tern_context_create_f(world, "TERN_WORKERS=many", (tern_context **)&r.object));
    EXPECT_OK(tern_config_init(&config));
    config.ring_size = (size_t)1 << 20;
    config.ring_memory = (size_t)1 << 19;
    REFUSED(TERN_ERR_CONFIG, "TERN_RING_MEMORY=524288 holds no ring of TERN_RING_SIZE=1048576",
            tern_config_check(&config));
    REFUSED(TERN_ERR_CONFIG, "TERN_RING_MEMORY=524288 holds no ring",
            tern_context_create(MPI_COMM_WORLD, &config, (tern_context **)&r.object));
}

static void archives(void) {
    results r;
    unsigned char room[256];
    tern_writer writer;
    tern_vector *vector = NULL;
    tern_reader reader;
    results_fill(&r);
    EXPECT_OK(tern_writer_open(&writer, room, sizeof room, sizeof room));
    WRONG("tern_write_buffer: buffer is NULL", tern_write_buffer(&writer, NULL));
    /* The writer keeps its first failure. */
    EXPECT(TERN_ERR_ARGUMENT, tern_writer_finish(&writer, (const void **)&r.object, &r.bytes));
    tern_writer_close(&writer);
    WRONG("tern_call_reader: call is NULL", tern_call_reader(NULL, room, 8, &reader));
    EXPECT_OK(tern_writer_open(&writer, room, sizeof room, sizeof room));
    const void *archive = NULL;
    size_t bytes = 0;
    EXPECT_OK(tern_writer_finish(&writer, &archive, &bytes));
    EXPECT_OK(tern_reader_open(&reader, archive, bytes));
    WRONG("tern_read_vector: vector is NULL",
          tern_read_vector(&reader, NULL, TERN_ITEM_BYTES, 1, vector));
    tern_writer_close(&writer);
}

static void searches(void) {
    fixture f;
    results r;
    tern_search *search = NULL;
    tern_search_result result;
    const tern_search_limits limits = {.rollouts = 10};
    const tern_search_options sound = {.memory = (size_t)1 << 20};
    const tic_tac_toe_state empty = {0};
    static const struct {
        tern_search_options options;
        const char *text;
    } wrong[] = {
        {{.exploration = 2e6}, "exploration is 2e+06; allowed are numbers up to 1e6"},
        {{.placement = (tern_search_placement)7}, "placement is 7; pass TERN_PLACE_RANDOM"},
        {{.calls_only = 2}, "calls_only is 2; allowed are 0 and 1"},
        {{.publish = (tern_publish)9}, "publish is 9; pass a TERN_PUBLISH_ constant"},
    };
    results_fill(&r);
    if (!fixture_enter(&f))
        return;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        WRONG(wrong[i].text, tern_search_create(f.worker, &tic_tac_toe, &wrong[i].options,
                                                (tern_search **)&r.object));
    EXPECT_OK(tern_search_create(f.worker, &tic_tac_toe, &sound, &search));
    WRONG("tern_search_reset: worker or search is NULL", tern_search_reset(NULL, search, &empty));
    WRONG("tern_search_reset: state is NULL", tern_search_reset(f.worker, search, NULL));
    EXPECT_OK(tern_search_reset(f.worker, search, &empty));
    WRONG("tern_search_run: worker, search, limits or result is NULL",
          tern_search_run(f.worker, search, NULL, &result));
    WRONG("statistics is NULL", tern_search_get_statistics(f.worker, search, NULL));
    WRONG("tern_search_destroy: worker is NULL", tern_search_destroy(NULL, search));
    EXPECT_OK(tern_search_run(f.worker, search, &limits, &result));
    EXPECT_OK(tern_search_destroy(f.worker, search));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"memory", memory},
        {"synchronizers", synchronizers},
        {"the_model", the_model},
        {"pieces_locks_and_hooks", pieces_locks_and_hooks},
        {"containers", containers},
        {"the_options_of_a_context", the_options_of_a_context},
        {"archives", archives},
        {"calls_and_mailboxes", calls_and_mailboxes},
        {"objects_of_another_context", objects_of_another_context},
        {"searches", searches},
    };
    return tern_test_main(argc, argv, "arguments", tests, sizeof tests / sizeof tests[0]);
}
