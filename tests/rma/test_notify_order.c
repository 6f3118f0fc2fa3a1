// tern-test: transports

/*
 * Notified transfers against a model: every pair of ranks has a stream of operations whose kind,
 * size, flags, cids and content follow from its two ranks and a number, so each side knows what the
 * other's next event has to be. Calls that tell how far a rank has come run in between.
 */

#include "fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"

enum { RANKS = 64, SLOTS = 16, SLOT = 9000, SOURCE = 20000 };

typedef struct {
    bool is_get;
    size_t bytes, cid_bytes;
    unsigned flags;
    uint64_t place; /* of a get, in what the owner never changes */
} operation;

/* What this rank has to do with another. */
typedef struct {
    uint64_t asked;               /* operations of this rank */
    uint64_t local, told;         /* of them: locally complete; known to be complete there */
    uint64_t arrived, untold;     /* operations of the other: next one due; not told of */
    bool done[SLOTS], met[SLOTS]; /* relaxed: events that came, by slot */
    char *slots;                  /* sources of puts and places of gets */
} pair;

static struct {
    fixture f;
    pair with[RANKS];
    tern_ptr memory[RANKS]; /* a slot for each operation of each rank, then what gets read */
    uint64_t times, wrong, random;
    bool relaxed;
    size_t direct_most, remote_most;
} model;

static unsigned char letter(uint32_t origin, uint32_t target, uint64_t n, size_t i) {
    return (unsigned char)(origin * 17 + target * 59 + n * 31 + i * 13 + (i >> 8));
}

static unsigned char cid_letter(uint32_t origin, uint64_t n, size_t i) {
    return (unsigned char)(origin * 7 + n * 101 + i * 3 + 1);
}

static unsigned char source_letter(uint32_t owner, size_t i) {
    return (unsigned char)(owner * 11 + i * 5 + (i >> 7));
}

static operation nth(uint32_t origin, uint32_t target, uint64_t n) {
    static const size_t sizes[] = {1,   2,    7,    8,    9,    63,   64,   127,  128,
                                   129, 1000, 1279, 1280, 1281, 4095, 4096, 4097, SLOT};
    static const size_t cids[] = {0, 1, 2, 7, 8, 9, 64, 255, 256};
    uint64_t state = ((uint64_t)origin << 32 | target) * 1000003 + n + tern_test_seed() * 77;
    operation o = {.flags = 0};
    uint64_t dice = below(&state, 16);
    o.is_get = dice < 4;
    if (dice != 4 && dice != 3)
        o.bytes =
            dice < 8 ? sizes[below(&state, sizeof sizes / sizeof *sizes)] : 1 + below(&state, 200);
    o.cid_bytes = below(&state, 2) == 0 ? cids[below(&state, sizeof cids / sizeof *cids)]
                                        : below(&state, 257);
    if (model.relaxed && o.cid_bytes < 8)
        o.cid_bytes = 8;
    dice = below(&state, 8);
    o.flags = dice < 2 ? TERN_NOTIFY_NO_LOCAL : dice == 2 ? TERN_NOTIFY_NO_REMOTE : 0;
    if (o.flags == TERN_NOTIFY_NO_REMOTE && o.bytes == 0)
        o.flags = 0;
    o.place = below(&state, SOURCE - SLOT);
    return o;
}

static bool has_local(const operation *o) { return (o->flags & TERN_NOTIFY_NO_LOCAL) == 0; }

static bool has_remote(const operation *o) { return (o->flags & TERN_NOTIFY_NO_REMOTE) == 0; }

static tern_ptr slot_of(uint32_t owner, uint32_t origin, uint64_t n) {
    return tern_ptr_add(model.memory[owner],
                        (int64_t)(((uint64_t)origin * SLOTS + n % SLOTS) * SLOT));
}

static char *my_slot(uint32_t other, uint64_t n) {
    return model.with[other].slots + n % SLOTS * SLOT;
}

static void check_put(uint32_t origin, uint64_t n, const operation *o) {
    const unsigned char *at = tern_local(model.f.context, slot_of(model.f.rank, origin, n));
    for (size_t i = 0; i < o->bytes; i++)
        model.wrong += at[i] != letter(origin, model.f.rank, n, i);
}

static void check_get(uint32_t owner, uint64_t n, const operation *o) {
    const unsigned char *at = (const unsigned char *)my_slot(owner, n);
    for (size_t i = 0; i < o->bytes; i++)
        model.wrong += at[i] != source_letter(owner, o->place + i);
}

/* A rank has seen this many of the caller's operations. */
static tern_status tell(tern_call_info *call, const void *arguments, size_t bytes) {
    pair *p = &model.with[call->origin.rank];
    uint64_t told = 0;
    memcpy(&told, arguments, bytes);
    model.wrong += bytes != 8 || told < p->told || (!model.relaxed && told > p->asked);
    p->told = told;
    return TERN_OK;
}
TERN_FUNCTION(tell)

/* With TERN_ORDER=relaxed events may come in another order; their number is in the cid, or the
 * local one. Moves *next past all that came. */
static void tick_off(uint64_t *next, bool *came, uint64_t n, uint32_t origin, uint32_t target,
                     bool (*has)(const operation *)) {
    operation o;
    while (*next < model.times && (o = nth(origin, target, *next), !has(&o)))
        ++*next;
    model.wrong += n < *next || n >= *next + SLOTS || came[n % SLOTS];
    came[n % SLOTS] = true;
    for (; *next < model.times; ++*next) {
        o = nth(origin, target, *next);
        if (has(&o) && !came[*next % SLOTS])
            break;
        came[*next % SLOTS] = false;
    }
}

static void tell_arrived(uint32_t origin) {
    pair *p = &model.with[origin];
    if (p->untold > 0)
        EXPECT_OK(
            tern_call(model.f.worker, (tern_worker_id){origin, 0}, &tell_function, &p->arrived, 8));
    p->untold = 0;
}

static void meet_remote(const tern_event *event, const unsigned char *cid) {
    uint32_t origin = event->peer.rank;
    pair *p = &model.with[origin];
    uint64_t n = p->arrived;
    operation o = nth(origin, model.f.rank, n);
    if (model.relaxed) {
        memcpy(&n, cid, 8);
        o = nth(origin, model.f.rank, n);
        tick_off(&p->arrived, p->met, n, origin, model.f.rank, has_remote);
    } else {
        for (; !has_remote(&o) && n < model.times; o = nth(origin, model.f.rank, ++n))
            ;
        p->arrived = n + 1;
    }
    model.wrong += event->kind != TERN_EVENT_REMOTE || event->status != TERN_OK ||
                   event->peer.index != 0 || event->is_get != o.is_get || n >= model.times ||
                   event->bytes != o.bytes || event->cid_bytes != o.cid_bytes ||
                   (uintptr_t)cid % 8 != 0 || event->local_cid != 0;
    for (size_t i = model.relaxed ? 8 : 0; i < o.cid_bytes; i++)
        model.wrong += cid[i] != cid_letter(origin, n, i);
    if (!o.is_get)
        check_put(origin, n, &o);
    if (++p->untold == 4)
        tell_arrived(origin);
}

static void meet_local(const tern_event *event) {
    uint32_t target = event->peer.rank;
    pair *p = &model.with[target];
    uint64_t n = p->local;
    operation o = nth(model.f.rank, target, n);
    if (model.relaxed) {
        n = event->local_cid >> 8;
        o = nth(model.f.rank, target, n);
        tick_off(&p->local, p->done, n, model.f.rank, target, has_local);
    } else {
        for (; !has_local(&o) && n < p->asked; o = nth(model.f.rank, target, ++n))
            ;
        p->local = n + 1;
    }
    model.wrong += n >= p->asked || event->local_cid != (n << 8 | (target & 0xff)) ||
                   event->status != TERN_OK || event->is_get != o.is_get ||
                   event->bytes != o.bytes || event->cid_bytes != 0 || event->peer.index != 0;
    if (o.is_get)
        check_get(target, n, &o);
}

static void meet(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    (void)worker;
    *(int *)argument += 1;
    if (event->kind == TERN_EVENT_LOCAL)
        meet_local(event);
    else
        meet_remote(event, cid);
}

static bool slot_is_free(uint32_t target, uint64_t n) {
    if (n < SLOTS)
        return true;
    const pair *p = &model.with[target];
    uint64_t before = n - SLOTS;
    /* In relaxed order what came out of order is not counted. */
    operation o = nth(model.f.rank, target, before);
    return (!has_remote(&o) || p->told > before) && (!has_local(&o) || p->local > before);
}

/* Asks for the next operation on target. */
static void ask(uint32_t target) {
    pair *p = &model.with[target];
    uint64_t n = p->asked;
    if (n == model.times || !slot_is_free(target, n))
        return;
    operation o = nth(model.f.rank, target, n);
    char *memory = my_slot(target, n);
    unsigned char cid[TERN_CID_MAX];
    for (size_t i = 0; i < o.cid_bytes; i++)
        cid[i] = cid_letter(model.f.rank, n, i);
    if (model.relaxed)
        memcpy(cid, &n, 8);
    tern_worker_id other = {target, 0};
    uint64_t local = n << 8 | (target & 0xff);
    tern_status status;
    p->asked++; /* it may be told before this returns */
    if (o.is_get) {
        status = tern_get_notify(
            model.f.worker, other, memory,
            tern_ptr_add(model.memory[target],
                         (int64_t)((size_t)model.f.size * SLOTS * SLOT + o.place)),
            o.bytes,
            &(tern_notify_options){
                .local_cid = local, .cid = cid, .cid_bytes = o.cid_bytes, .flags = o.flags});
    } else {
        for (size_t i = 0; i < o.bytes; i++)
            memory[i] = (char)letter(model.f.rank, target, n, i);
        status = tern_put_notify(
            model.f.worker, other, slot_of(target, model.f.rank, n), memory, o.bytes,
            &(tern_notify_options){
                .local_cid = local, .cid = cid, .cid_bytes = o.cid_bytes, .flags = o.flags});
        tern_transport transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(model.f.context, target, &transport));
        bool direct = transport == TERN_SHM;
        bool packed = has_remote(&o) && o.bytes <= (direct ? model.direct_most : model.remote_most);
        if (status == TERN_OK && (direct || packed))
            memset(memory, 0xdd, o.bytes);
    }
    memset(cid, 0xee, sizeof cid);
    p->asked -= status != TERN_OK;
    if (status != TERN_ERR_AGAIN)
        EXPECT_OK(status);
}

static int probe(void) {
    int met = 0;
    unsigned which = 1 + (unsigned)below(&model.random, 3);
    tern_event event;
    memset(&event, 0, sizeof event);
    if (below(&model.random, 2) == 0) {
        tern_status status = tern_probe(model.f.worker, which, &event);
        if (status == TERN_OK)
            meet(model.f.worker, &event, event.cid, &met);
        else
            CU_ASSERT_EQUAL(status, TERN_ERR_EMPTY);
        model.wrong += status == TERN_OK && ((unsigned)event.kind & which) == 0;
    } else {
        size_t handled = 99, limit = 1 + below(&model.random, 20);
        EXPECT_OK(tern_probe_each(model.f.worker, which, meet, &met, limit, &handled));
        model.wrong += handled != (size_t)met || handled > limit;
    }
    return met;
}

static bool over(void) {
    for (uint32_t r = 0; r < model.f.size; r++) {
        pair *p = &model.with[r];
        uint64_t arrived = p->arrived, local = p->local;
        operation o;
        while (arrived < model.times && (o = nth(r, model.f.rank, arrived), !has_remote(&o)))
            arrived++;
        while (local < model.times && (o = nth(model.f.rank, r, local), !has_local(&o)))
            local++;
        if (p->asked < model.times || arrived < model.times || local < model.times)
            return false;
    }
    return true;
}

/* What the last put to each slot left, those without a remote event among them. */
static void check_slots(void) {
    for (uint32_t r = 0; r < model.f.size; r++) {
        for (uint64_t s = 0; s < SLOTS && s < model.times; s++) {
            uint64_t n = (model.times - 1 - s) / SLOTS * SLOTS + s;
            for (;; n -= SLOTS) {
                operation o = nth(r, model.f.rank, n);
                if (!o.is_get && o.bytes > 0)
                    check_put(r, n, &o);
                if ((!o.is_get && o.bytes > 0) || n < SLOTS)
                    break;
            }
        }
    }
}

/* A network that delays puts, lets later ones overtake them and brings them in pieces. */
enum { HELD = 64 };

static struct {
    uint32_t rank;
    uint64_t offset, bytes;
    const char *from;
} held[HELD];
static size_t held_count;
static uint64_t held_ever, held_random;

static bool hold_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                     uint64_t bytes) {
    (void)worker;
    if (held_count == HELD || below(&held_random, 4) == 0)
        return false;
    held[held_count].rank = rank;
    held[held_count].offset = offset;
    held[held_count].bytes = bytes;
    held[held_count++].from = from;
    held_ever++;
    return true;
}

/* A part from anywhere inside, or all, of the i-th. */
static void let_go(tern_worker *worker, size_t i) {
    uint64_t bytes = held[i].bytes, head = bytes;
    if (bytes > 16 && below(&held_random, 2) == 0)
        head = 8 + below(&held_random, bytes - 8) / 8 * 8;
    /* The tail first. */
    if (tern_window_put(worker, held[i].rank, held[i].offset + bytes - head,
                        held[i].from + bytes - head, head) != MPI_SUCCESS)
        model.wrong++;
    held[i].bytes -= head;
    if (held[i].bytes == 0)
        held[i] = held[--held_count];
}

static void let_all_go(tern_worker *worker, uint32_t rank) {
    for (size_t i = held_count; i > 0;) {
        if (held[i - 1].rank == rank)
            let_go(worker, i - 1);
        if (i > held_count || held[i - 1].rank != rank)
            i--;
    }
}

static size_t let_some_go(tern_worker *worker, void *argument) {
    (void)argument;
    tern_mpi_lock();
    for (uint64_t k = below(&held_random, 4); k > 0 && held_count > 0; k--)
        let_go(worker, (size_t)below(&held_random, held_count));
    tern_mpi_unlock();
    return 0;
}

static bool set_up(const tern_config *config, int times) {
    memset(&model, 0, sizeof model);
    if (!fixture_open(&model.f, config))
        return false;
    const fixture *f = &model.f;
    size_t most = config->ring_size / 4 - 264;
    model.direct_most = config->packed_max < most ? config->packed_max : most;
    model.remote_most = config->packed_max_remote < most ? config->packed_max_remote : most;
    model.relaxed = config->order == TERN_ORDER_RELAXED;
    model.times = (uint64_t)fixture_times(f, times);
    model.random = fixture_seed(f, 90);
    size_t slots = (size_t)f->size * SLOTS * SLOT;
    fixture_alloc_all(&model.f, slots + SOURCE, TERN_DOMAIN_GLOBAL, model.memory);
    char *source = (char *)tern_local(f->context, model.memory[f->rank]) + slots;
    for (size_t i = 0; i < SOURCE; i++)
        source[i] = (char)source_letter(f->rank, i);
    for (uint32_t r = 0; r < f->size; r++)
        model.with[r].slots = malloc((size_t)SLOTS * SLOT);
    EXPECT_OK(tern_barrier(f->worker));
    return true;
}

static void clean_up(void) {
    fixture_free_all(&model.f, model.memory);
    for (uint32_t r = 0; r < model.f.size; r++)
        free(model.with[r].slots);
    fixture_close(&model.f);
}

static void play(void) {
    const fixture *f = &model.f;
    while (!over() && model.wrong == 0) {
        for (uint64_t k = below(&model.random, 30); k > 0; k--)
            ask((uint32_t)below(&model.random, f->size));
        int met = 0;
        for (uint64_t k = below(&model.random, 20); k > 0; k--)
            met += probe();
        for (uint32_t r = 0; r < f->size && met == 0; r++)
            tell_arrived(r);
        if (below(&model.random, 4) == 0 || met == 0) {
            tern_progress(f->worker);
            sched_yield();
        }
    }
    CU_ASSERT_EQUAL(model.wrong, 0);
    EXPECT_OK(tern_quiesce(f->worker));
    EXPECT_OK(tern_barrier(f->worker));
    check_slots();
    CU_ASSERT_EQUAL(model.wrong, 0);
    tern_event event;
    EXPECT(TERN_ERR_EMPTY, tern_probe(f->worker, TERN_PROBE_ANY, &event));
    tern_stats stats;
    tern_stats_get(f->worker, &stats);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
}

static void run(const tern_config *config, int times) {
    if (!set_up(config, times))
        return;
    play();
    clean_up();
}

static tern_config usual(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    return config;
}

static void by_default(void) {
    tern_config config = usual();
    run(&config, 1500);
}

static void small_rings_and_queues(void) {
    tern_config config = usual();
    config.ring_size = 4096;
    config.notify_queue = 3;
    config.notify_events = 7;
    run(&config, 1500);
}

static void idle_rings(void) {
    tern_config config = usual();
    config.ring_size = 8192;
    config.active_rings = 0;
    config.idle_polls = 1;
    run(&config, 800);
}

/* One ring into each rank: the other pairs send by messages. */
static void without_ring_memory(void) {
    tern_config config = usual();
    config.ring_size = config.ring_memory = 8192;
    run(&config, 800);
}

static void in_relaxed_order(void) {
    tern_config config = usual();
    config.ring_size = 4096;
    config.notify_queue = 20;
    config.order = TERN_ORDER_RELAXED;
    run(&config, 1000);
}

static void all_in_ledger_mode(void) {
    tern_config config = usual();
    config.packed_max = config.packed_max_remote = 0;
    run(&config, 800);
}

static void as_packed_as_can_be(void) {
    tern_config config = usual();
    config.packed_max = config.packed_max_remote = (size_t)1 << 20;
    run(&config, 800);
}

static void with_flushed_frames(void) {
    tern_config config = usual();
    config.rma_commit = TERN_RMA_COMMIT_FLUSH;
    run(&config, 400);
}

static void over_a_bad_network(void) {
    static const tern_put_hook hook = {.put = hold_put, .flush = let_all_go};
    tern_config config = usual();
    config.ring_size = 8192;
    config.active_rings = 0;
    config.idle_polls = 10;
    if (!set_up(&config, 800))
        return;
    if (!fixture_uses_rma(&model.f)) {
        tern_test_skip("puts over rma are what is delayed");
        clean_up();
        return;
    }
    held_count = held_ever = 0;
    held_random = fixture_seed(&model.f, 91);
    struct tern_window *window = tern_rma_of(model.f.context)->window;
    tern_window_set_hook(window, &hook);
    EXPECT_OK(tern_progress_hook_add(model.f.context, let_some_go, NULL));
    play();
    while (held_count > 0)
        let_some_go(model.f.worker, NULL);
    tern_window_set_hook(window, NULL);
    CU_ASSERT(held_ever > 0);
    clean_up();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"by_default", by_default},
        {"small_rings_and_queues", small_rings_and_queues},
        {"idle_rings", idle_rings},
        {"without_ring_memory", without_ring_memory},
        {"in_relaxed_order", in_relaxed_order},
        {"all_in_ledger_mode", all_in_ledger_mode},
        {"as_packed_as_can_be", as_packed_as_can_be},
        {"with_flushed_frames", with_flushed_frames},
        {"over_a_bad_network", over_a_bad_network},
    };
    return tern_test_main(argc, argv, "notify_order", tests, sizeof tests / sizeof tests[0]);
}
