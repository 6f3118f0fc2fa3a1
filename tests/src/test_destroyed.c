// tern-test: transports

/* A worker and a context after tern_context_destroy: told TERN_ERR_STATE, not read after their end.
 */

#include "call_tools.h"

static tern_status answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(answer)

static void hear(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    (void)worker;
    (void)event;
    (void)cid;
    (void)argument;
}

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        EXPECT(TERN_ERR_STATE, call);                                                              \
        EXPECT_DETAIL("the context has been destroyed");                                           \
    } while (0)

static void use(tern_context *context, tern_worker *w, tern_ptr p) {
    static char memory[64];
    uint64_t word = 0, cid = 1;
    tern_worker *other = NULL;
    tern_transport transport;
    tern_event event;
    tern_ptr q = TERN_NULL;
    tern_request request = {0};
    tern_descriptor descriptor = {.id = 1};
    tern_queue *queue = NULL;
    tern_hashtable *table = NULL;
    tern_map *map = NULL;
    tern_locks *locks = NULL;
    tern_circular *circular = NULL;
    const tern_queue_options as_queue = {.item_bytes = 8, .capacity = 4};
    const tern_hashtable_options as_table = {.key_bytes = 8, .value_bytes = 8, .capacity = 4};
    const tern_map_options as_map = {.capacity = 4};
    REFUSED(tern_context_destroy(context));
    REFUSED(tern_context_transport(context, 0, &transport));
    REFUSED(tern_worker_adopt(context, 0, &other));
    REFUSED(tern_worker_release(w));
    CU_ASSERT_EQUAL(tern_progress(w), 0);
    CU_ASSERT_PTR_NULL(tern_local(context, p));
    REFUSED(tern_put(w, p, &word, sizeof word));
    REFUSED(tern_get(w, &word, p, sizeof word));
    REFUSED(tern_put_start(w, p, &word, sizeof word, &request));
    REFUSED(tern_get_start(w, &word, p, sizeof word, &request));
    const tern_section section = {.element_bytes = 8};
    const tern_extent extent = {p, &word, 8};
    REFUSED(tern_put_strided(w, p, &word, &section));
    REFUSED(tern_get_strided_start(w, &word, p, &section, &request));
    REFUSED(tern_put_vector(w, p.rank, &extent, 1));
    REFUSED(tern_put_strided_notify(w, (tern_worker_id){0, 0}, p, &word, &section, NULL));
    REFUSED(tern_atomic_fetch_add(w, p, 1, &word));
    REFUSED(tern_flush(w, p.rank));
    REFUSED(tern_flush_all(w));
    REFUSED(tern_fence(w, p.rank));
    REFUSED(tern_alloc(w, 64, 0, TERN_DOMAIN_GLOBAL, &q));
    REFUSED(tern_alloc_on(w, 0, TERN_NUMA_ANY, 64, 0, TERN_DOMAIN_GLOBAL, &q));
    REFUSED(tern_free(w, p));
    REFUSED(tern_register(w, memory, sizeof memory, &q));
    REFUSED(tern_barrier(w));
    REFUSED(tern_quiesce(w));
    REFUSED(tern_call(w, to(0), &answer_function, &word, sizeof word));
    REFUSED(tern_call_try(w, to(0), &answer_function, &word, sizeof word));
    REFUSED(tern_call(w, tern_by_message(to(0)), &answer_function, &word, sizeof word));
    REFUSED(tern_call(tern_context_caller(context), to(0), &answer_function, &word, sizeof word));
    REFUSED(tern_call_with(w, to(0), &answer_function, &word, sizeof word, NULL));
    REFUSED(tern_call_all(w, &answer_function, &word, sizeof word, NULL));
    REFUSED(tern_call_start(w, to(0), &answer_function, &word, sizeof word, NULL, 0, &request));
    REFUSED(tern_call_return(w, to(0), &answer_function, &word, sizeof word, NULL, 0, NULL));
    REFUSED(tern_call_policy(w, to(0), TERN_PUBLISH_WRITE, 0));
    REFUSED(tern_call_flush(w, to(0)));
    REFUSED(tern_put_notify(w, to(p.rank), p, &word, sizeof word,
                            &(tern_notify_options){.cid = &cid, .cid_bytes = sizeof cid}));
    REFUSED(tern_get_notify(w, to(p.rank), &word, p, sizeof word,
                            &(tern_notify_options){.cid = &cid, .cid_bytes = sizeof cid}));
    REFUSED(tern_probe(w, TERN_PROBE_ANY, &event));
    REFUSED(tern_probe_each(w, TERN_PROBE_ANY, hear, NULL, 1, NULL));
    REFUSED(tern_event_wait(w, TERN_PROBE_ANY, &event));
    REFUSED(tern_post_send(w, to(0), 1, p, 8, &request));
    REFUSED(tern_rendezvous_finish(w, &descriptor, 0));
    REFUSED(tern_circular_create(w, NULL, &circular));
    REFUSED(tern_queue_create(w, &as_queue, &queue));
    REFUSED(tern_hashtable_create(w, &as_table, &table));
    REFUSED(tern_map_create(w, &as_map, &map));
    REFUSED(tern_locks_create(w, 1, &locks));
}

static void use_is_refused(void) {
    fixture f;
    tern_ptr all[RANKS];
    if (!fixture_open(&f, NULL))
        return;
    fixture_alloc_all(&f, 64, TERN_DOMAIN_GLOBAL, all);
    tern_ptr next = all[(f.rank + 1) % f.size];
    EXPECT_OK(tern_call_return(f.worker, to((f.rank + 1) % f.size), &answer_function, NULL, 0, NULL,
                               0, NULL));
    fixture_close(&f);
    use(f.context, f.worker, next);
}

/* As many are kept as the header says; one more and the first is freed, and not before. */
static void the_last_ones_are_kept(void) {
    enum { KEPT = 16 };
    fixture f[KEPT];
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    for (int i = 0; i < KEPT; i++) {
        if (!fixture_open(&f[i], &config))
            return;
        fixture_close(&f[i]);
    }
    for (int i = 0; i < KEPT; i++)
        REFUSED(tern_barrier(f[i].worker));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"use_is_refused", use_is_refused},
        {"the_last_ones_are_kept", the_last_ones_are_kept},
    };
    return tern_test_main(argc, argv, "destroyed", tests, sizeof tests / sizeof tests[0]);
}
