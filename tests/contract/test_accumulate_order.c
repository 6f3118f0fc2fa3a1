// tern-test: transports

/* Histories of updates that give the old number: each is in some order that explains what all of
 * them gave. And updates in handlers. */

#include "contract/number_tools.h"
#include "histories/linearize.h"
#include "histories/record.h"

enum { OBJECTS = 4, OPERATIONS = 20, RANKS = 8, OBJECT_BYTES = 64 };

static const tern_number types[OBJECTS] = {TERN_UINT64, TERN_FLOAT, TERN_COMPLEX_FLOAT,
                                           TERN_COMPLEX_DOUBLE};

/* A number in one word: those of 16 bytes have two small whole numbers as parts. */
static uint64_t packed(tern_number type, number n) {
    if (type != TERN_COMPLEX_DOUBLE)
        return tern_number_bytes(type) == 4 ? n.u32 : n.u64;
    return (uint64_t)(uint32_t)(int32_t)n.d[0] << 32 | (uint32_t)(int32_t)n.d[1];
}

static number unpacked(tern_number type, uint64_t word) {
    number n = {0};
    n.u64 = word;
    if (type == TERN_COMPLEX_DOUBLE)
        n = (number){.d = {(int32_t)(word >> 32), (int32_t)word}};
    return n;
}

/* operation->kind is the reduction. */
static bool step(history_state *state, const history_operation *operation) {
    const tern_number type = types[operation->object];
    if (operation->result != state->word[0])
        return false;
    state->word[0] =
        packed(type, model(type, (tern_reduction)operation->kind, unpacked(type, state->word[0]),
                           unpacked(type, operation->argument[0])));
    return true;
}

static void act(const fixture *f, tern_ptr objects, uint64_t *random, history_operation *o) {
    static const tern_reduction ops[] = {TERN_REDUCE_SUM, TERN_REDUCE_SUM, TERN_REDUCE_REPLACE,
                                         TERN_REDUCE_MAX};
    const uint64_t object = below(random, OBJECTS);
    const tern_number type = types[object];
    const tern_ptr to = tern_ptr_add(objects, (int64_t)object * OBJECT_BYTES);
    tern_reduction op = ops[below(random, 4)];
    if (!tern_number_has(type, op))
        op = TERN_REDUCE_REPLACE;
    number value = {0}, old = {0};
    value.u64 = 1 + below(random, 1000);
    if (is_floating(type) || is_complex(type))
        for (int part = 0; part < (is_complex(type) ? 2 : 1); part++)
            set_part(type, &value, part, (double)(1 + below(random, 1000)));
    *o = (history_operation){.object = object, .kind = (uint16_t)op, .actor = (uint16_t)f->rank};
    o->argument[0] = packed(type, value);
    o->call = history_clock();
    if (type == TERN_UINT64 && op == TERN_REDUCE_SUM && below(random, 2) == 0)
        o->status = tern_atomic_fetch_add(f->worker, to, value.u64, &old.u64);
    else if (type == TERN_FLOAT && op == TERN_REDUCE_SUM && below(random, 2) == 0)
        o->status = tern_atomic_fetch_add_float(f->worker, to, value.f[0], &old.f[0]);
    else
        o->status = tern_get_accumulate(f->worker, to, &value, &old, 1, type, op);
    o->done = history_clock();
    EXPECT_OK(o->status);
    o->result = packed(type, old);
}

static void judge(history_operation *all, size_t count, uint64_t object) {
    history_step *const steps[OPS] = {step, step, step, step, step, step, step, step};
    const history_state nothing = {{0}};
    history_operation own[RANKS * OPERATIONS];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (all[i].object == object)
            own[n++] = all[i];
    const history_verdict verdict = history_judge(own, n, steps, &nothing, NULL);
    if (verdict == HISTORY_VIOLATES)
        for (size_t i = 0; i < n; i++)
            fprintf(stderr, "object %d: rank %d, %llu to %llu, op %d of %llx gave %llx\n",
                    (int)object, own[i].actor, (unsigned long long)own[i].call,
                    (unsigned long long)own[i].done, own[i].kind,
                    (unsigned long long)own[i].argument[0], (unsigned long long)own[i].result);
    CU_ASSERT(verdict != HISTORY_VIOLATES);
}

static void histories(void) {
    fixture f;
    if (!fixture_enter(&f))
        return;
    CU_ASSERT_FATAL(f.size <= RANKS);
    static history_operation mine[OPERATIONS], all[RANKS * OPERATIONS];
    tern_ptr *places = calloc(f.size, sizeof *places);
    uint64_t random = fixture_seed(&f, 40);
    const int rounds = fixture_times(&f, 400) / 4 + 1;
    for (int round = 0; round < rounds; round++) {
        const uint32_t host = (uint32_t)round % f.size;
        fixture_alloc_all(&f, OBJECTS * OBJECT_BYTES,
                          round % 2 == 0 ? TERN_DOMAIN_GLOBAL : TERN_DOMAIN_OWNER, places);
        for (int i = 0; i < OPERATIONS; i++)
            act(&f, places[host], &random, &mine[i]);
        fixture_share(&f, mine, sizeof mine, all);
        for (uint64_t object = 0; f.rank == 0 && object < OBJECTS; object++)
            judge(all, f.size * OPERATIONS, object);
        fixture_free_all(&f, places);
    }
    free(places);
    fixture_close(&f);
}

static struct {
    tern_context *context;
    tern_ptr *all;
    uint32_t runs;
} handled;

/* Updates the word of each rank, or is told that this would have to wait. */
static tern_status update_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments, (void)bytes;
    const uint32_t size = tern_context_size(handled.context);
    for (uint32_t r = 0; r < size; r++) {
        tern_transport transport = TERN_SHM;
        const uint64_t one = 1;
        uint64_t old = 0;
        tern_request request = {0};
        EXPECT_OK(tern_context_transport(handled.context, r, &transport));
        const tern_status wanted = transport == TERN_SHM ? TERN_OK : TERN_ERR_STATE;
        EXPECT(wanted, tern_accumulate(call->worker, handled.all[r], &one, 1, TERN_UINT64,
                                       TERN_REDUCE_SUM));
        EXPECT(wanted, tern_get_accumulate(call->worker, handled.all[r], &one, &old, 1, TERN_UINT64,
                                           TERN_REDUCE_SUM));
        EXPECT(wanted, tern_get_accumulate_start(call->worker, handled.all[r], &one, &old, 1,
                                                 TERN_UINT64, TERN_REDUCE_SUM, &request));
        EXPECT_OK(tern_wait(call->worker, &request));
    }
    handled.runs++;
    tern_error_clear();
    return TERN_OK;
}
TERN_FUNCTION(update_in_handler)

static void in_handlers(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    handled.all = calloc(f.size, sizeof *handled.all);
    handled.runs = 0;
    handled.context = f.context;
    fixture_alloc_all(&f, 8, TERN_DOMAIN_OWNER, handled.all);
    for (uint32_t r = 0; r < f.size; r++)
        EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){r, 0}, &update_in_handler_function,
                                   NULL, 0, NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(handled.runs, f.size);
    uint64_t direct = 0;
    for (uint32_t r = 0; r < f.size; r++) {
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, r, &transport));
        direct += transport == TERN_SHM;
    }
    CU_ASSERT_EQUAL(*(uint64_t *)tern_local(f.context, handled.all[f.rank]), 3 * direct * f.size);
    fixture_free_all(&f, handled.all);
    free(handled.all);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"histories", histories},
        {"in_handlers", in_handlers},
    };
    return tern_test_main(argc, argv, "accumulate_order", tests, sizeof tests / sizeof tests[0]);
}
