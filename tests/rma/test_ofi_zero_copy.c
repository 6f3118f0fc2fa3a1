// tern-test: ranks least=2

/* Transfers over a network that moves registered memory only: memory of this rank's segment and of
 * its regions goes under its own key, without a copy and without a registration for each operation.
 * Between tern and the network stands a card that is played: it knows what is registered, counts,
 * and refuses keys that do not cover what is posted. */

#include <stdlib.h>

#include "caught.h"
#include "fixture.h"
#include "rma/memory/state.h"
#include "rma/network/process.h"
#include "tern/circular.h"

enum { UNDER_WAY = 4096 };

/* Registered memory. */
typedef struct played_memory {
    struct played_memory *next;
    tern_network_memory *real;
    const char *base;
    size_t bytes;
    const void *end; /* the end that it serves; NULL: each end, if they share keys */
    uint32_t under_way;
} played_memory;

typedef struct played_end {
    tern_network_end *real;
    struct {
        void *context;
        played_memory *memory;
    } posted[UNDER_WAY];
    size_t count;
} played_end;

static const tern_network_ops *real;
static tern_network_ops played;
static bool shares_keys, refuses, silent;
static played_memory *registered;
static uint64_t refusals;
static uint64_t registrations;          /* of memory */
static uint64_t posts_registered;       /* posts that had to register their memory */
static uint64_t wrong;                  /* keys that do not cover what is posted, or are in use */
static const char *watched, *watch_end; /* memory of the test's transfer */
static uint64_t bytes_watched;          /* that were posted from or to it under a key */

static played_end *end_of(tern_network_end *end) { return (played_end *)(void *)end; }

static tern_status add(tern_network_memory *inner, void *base, size_t bytes, const void *end,
                       tern_network_memory **memory) {
    played_memory *fresh = calloc(1, sizeof *fresh);
    CU_ASSERT_FATAL(fresh != NULL);
    *fresh = (played_memory){registered, inner, base, bytes, end, 0};
    registered = fresh;
    registrations++;
    *memory = (tern_network_memory *)(void *)fresh;
    return TERN_OK;
}

static tern_status refuse(void) {
    refusals++;
    return tern_fail(TERN_ERR_MEMORY, "a played card registers no memory");
}

static tern_status play_add_memory(tern_network *network, void *base, size_t bytes,
                                   tern_network_memory **memory, tern_network_rkey *rkey) {
    tern_network_memory *inner;
    tern_status status = real->add_memory(network, base, bytes, &inner, rkey);
    return status == TERN_OK ? add(inner, base, bytes, NULL, memory) : status;
}

static tern_status play_add_local(tern_network_end *end, void *base, size_t bytes,
                                  tern_network_memory **memory) {
    tern_network_memory *inner;
    if (refuses)
        return refuse();
    tern_status status = real->add_local(end_of(end)->real, base, bytes, &inner);
    return status == TERN_OK ? add(inner, base, bytes, end, memory) : status;
}

static void play_remove_memory(tern_network *network, tern_network_memory *memory) {
    played_memory **link = &registered;
    while (*link != NULL && (void *)*link != (void *)memory)
        link = &(*link)->next;
    CU_ASSERT_FATAL(*link != NULL);
    played_memory *m = *link;
    wrong += m->under_way;
    *link = m->next;
    real->remove_memory(network, m->real);
    free(m);
}

static tern_status play_open_end(tern_network *network, tern_network_end **end) {
    played_end *fresh = calloc(1, sizeof *fresh);
    CU_ASSERT_FATAL(fresh != NULL);
    *end = (tern_network_end *)(void *)fresh;
    return real->open_end(network, &fresh->real);
}

/* What serves an end alone is deregistered before: libfabric closes no domain that has memory. */
static void play_close_end(tern_network_end *end) {
    for (const played_memory *m = registered; m != NULL; m = m->next)
        CU_ASSERT(m->end != end);
    real->close_end(end_of(end)->real);
    free(end);
}

static tern_status play_offer(tern_network_end *end, uint64_t *peer, tern_network_name *offer) {
    return real->offer(end_of(end)->real, peer, offer);
}

static tern_status play_reach(tern_network_end *end, const tern_network_name *name,
                              uint64_t *peer) {
    return real->reach(end_of(end)->real, name, peer);
}

/* Whether the key that a post names serves its end and covers its memory. */
static bool serves(const played_memory *key, const void *end, const tern_network_post *post) {
    const played_memory *m = registered;
    const char *here = post->here;
    const size_t bytes =
        post->act == TERN_NETWORK_READ || post->act == TERN_NETWORK_WRITE ? post->bytes : 8;
    while (m != NULL && m != key)
        m = m->next;
    return m != NULL && here >= m->base && here + bytes <= m->base + m->bytes &&
           (m->end == end || (m->end == NULL && shares_keys));
}

static tern_status play_post(tern_network_end *handle, const tern_network_post *post) {
    played_end *end = end_of(handle);
    played_memory *key = (played_memory *)(void *)post->local;
    const char *here = post->here;
    tern_network_post inner = *post;
    if (end->count == UNDER_WAY)
        return TERN_ERR_AGAIN;
    if (key == NULL && refuses)
        return refuse();
    wrong += key != NULL && !serves(key, handle, post);
    inner.local = key != NULL && key->end == handle ? key->real : NULL;
    tern_status status = real->post(end->real, &inner);
    if (status != TERN_OK)
        return status;
    posts_registered += key == NULL;
    if (key != NULL) {
        key->under_way++;
        bytes_watched += here >= watched && here < watch_end ? post->bytes : 0;
    }
    end->posted[end->count].context = post->context;
    end->posted[end->count++].memory = key;
    return TERN_OK;
}

static size_t play_complete(tern_network_end *handle, tern_network_done *done, size_t most) {
    played_end *end = end_of(handle);
    const size_t count = silent ? 0 : real->complete(end->real, done, most);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (end->posted[at].context != done[i].context)
            at++;
        if (end->posted[at].memory != NULL)
            end->posted[at].memory->under_way--;
        end->posted[at] = end->posted[--end->count];
    }
    return count;
}

static tern_status play_open(const tern_network_options *options, tern_network **network) {
    tern_status status = real->open(options, network);
    if (status != TERN_OK)
        return status;
    (*network)->ops = &played;
    (*network)->local_memory = true;
    (*network)->shares_keys = shares_keys;
    return TERN_OK;
}

static void play_close(tern_network *network) {
    network->ops = real;
    real->close(network);
}

static const tern_network_ops *play(const tern_network_ops *ops) {
    real = ops;
    played = *ops;
    played.open = play_open;
    played.close = play_close;
    played.add_memory = play_add_memory;
    played.remove_memory = play_remove_memory;
    played.open_end = play_open_end;
    played.close_end = play_close_end;
    played.add_local = play_add_local;
    played.offer = play_offer;
    played.reach = play_reach;
    played.post = play_post;
    played.complete = play_complete;
    return &played;
}

/* ---- The transfers ---- */

enum {
    COPIED = 65536,        /* a blocking put of at most so many bytes may be copied */
    SMALL = 1088,          /* so may every other transfer of at most so many */
    MOST = 3 << 20,        /* bytes of a transfer */
    LANE = (40 << 20),     /* of the segment: more than one piece */
    REGION = MOST + 65536, /* the largest region */
    REGIONS = 3
};

static fixture f;
static tern_ptr memory[64]; /* of LANE bytes on each rank; half for the others, half its own */
static char *regions[REGIONS], *plain, *model;
static tern_ptr region[REGIONS];
static size_t region_bytes[REGIONS];

static bool open_played(bool shares) {
    tern_config config;
    tern_network_hook = play;
    shares_keys = shares;
    refusals = registrations = posts_registered = wrong = bytes_watched = 0;
    refuses = silent = false;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_OFI;
    config.ranks_per_node = 1;
    config.workers = 1;
    config.ring_size = (size_t)1 << 20;
    config.ring_memory = (size_t)8 << 20;
    config.segment_size = (size_t)LANE + ((size_t)8 << 20);
    if (!fixture_open(&f, &config))
        return false;
    fixture_alloc_all(&f, LANE, TERN_DOMAIN_OWNER, memory);
    plain = malloc(REGION);
    model = calloc(LANE / 2, 1);
    CU_ASSERT_FATAL(plain != NULL && model != NULL);
    return true;
}

static void close_played(void) {
    fixture_free_all(&f, memory);
    fixture_close(&f);
    free(plain);
    free(model);
    tern_network_hook = NULL;
    CU_ASSERT_PTR_NULL(registered);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void fill(char *bytes, size_t count, uint64_t *random) {
    for (size_t i = 0; i < count; i += 8) {
        const uint64_t word = tern_test_random(random);
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

/* A size on either side of each size at which the way of a transfer changes, or any. */
static size_t draw_bytes(uint64_t *random) {
    static const size_t sizes[] = {1,    8,     128,   SMALL,   SMALL + 1, 8192,
                                   8193, 65536, 65537, 1 << 20, MOST};
    if (below(random, 3) == 0)
        return 1 + below(random, 200000);
    return sizes[below(random, sizeof sizes / sizeof *sizes)];
}

static void begin_region(uint32_t i, uint64_t *random) {
    region_bytes[i] = MOST + below(random, REGION - MOST) + 1;
    EXPECT_OK(tern_register(f.worker, regions[i], region_bytes[i], &region[i]));
}

/* The kinds of local memory. */
enum { SEGMENT, IN_REGION, PLAIN, PLACES };

/* Often across the end of a piece of the segment. */
static char *draw_in_segment(size_t bytes, uint64_t *random) {
    const tern_native *native = tern_rma_of(f.context)->native;
    char *first = (char *)tern_local(f.context, memory[f.rank]) + LANE / 2;
    char *last = first + LANE / 2 - bytes;
    const uint64_t piece = (uint64_t)(last - native->segment) / native->piece_bytes;
    char *cut = native->segment + piece * native->piece_bytes;
    if (cut > first + bytes && below(random, 2) == 0)
        return cut - below(random, bytes);
    return first + below(random, (uint64_t)(last - first) + 1);
}

/* Often at the end of a region. */
static char *draw_in_region(size_t bytes, uint64_t *random) {
    const uint32_t i = (uint32_t)below(random, REGIONS);
    const uint64_t last = region_bytes[i] - bytes;
    return regions[i] + (below(random, 2) == 0 ? last : below(random, last + 1));
}

static char *draw_place(uint32_t kind, size_t bytes, uint64_t *random) {
    if (kind == SEGMENT)
        return draw_in_segment(bytes, random);
    return kind == IN_REGION ? draw_in_region(bytes, random)
                             : plain + below(random, REGION - bytes + 1);
}

enum { PUT, PUT_START, GET, GET_START, WAYS };

static tern_status transfer(uint32_t way, tern_ptr there, char *here, size_t bytes) {
    tern_request request = {0};
    tern_status status = TERN_OK;
    if (way == PUT)
        return tern_put(f.worker, there, here, bytes);
    if (way == GET)
        return tern_get(f.worker, here, there, bytes);
    status = way == PUT_START ? tern_put_start(f.worker, there, here, bytes, &request)
                              : tern_get_start(f.worker, here, there, bytes, &request);
    return status == TERN_OK ? tern_wait(f.worker, &request) : status;
}

/* Random transfers between local memory of each kind and the next rank's, against a model. Every
 * byte of a large one goes under the key of its memory, and no post registers any. */
static void random_transfers(bool shares) {
    if (!open_played(shares))
        return;
    uint64_t random = fixture_seed(&f, shares);
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t made = REGIONS, bad = 0, copied = 0, plain_large = 0;
    for (uint32_t i = 0; i < REGIONS; i++) {
        regions[i] = malloc(REGION);
        CU_ASSERT_FATAL(regions[i] != NULL);
        begin_region(i, &random);
    }
    const uint64_t before = registrations;
    for (int i = fixture_times(&f, 3000); i > 0; i--) {
        if (below(&random, 10) == 0) { /* a region ends, and another begins at the same address */
            const uint32_t r = (uint32_t)below(&random, REGIONS);
            EXPECT_OK(tern_deregister(f.worker, region[r]));
            begin_region(r, &random);
            made++;
        }
        const uint32_t kind = (uint32_t)below(&random, PLACES);
        const uint32_t way = (uint32_t)below(&random, WAYS);
        const size_t bytes = draw_bytes(&random), at = below(&random, LANE / 2 - bytes + 1);
        char *here = draw_place(kind, bytes, &random);
        const bool puts = way == PUT || way == PUT_START;
        fill(here, bytes, &random);
        watched = here;
        watch_end = here + bytes;
        bytes_watched = 0;
        const uint64_t unregistered = posts_registered;
        if (puts)
            memcpy(model + at, here, bytes);
        bad += transfer(way, tern_ptr_add(memory[next], (int64_t)at), here, bytes) != TERN_OK;
        bad += puts && tern_flush(f.worker, next) != TERN_OK;
        bad += !puts && memcmp(here, model + at, bytes) != 0;
        if (kind == PLAIN)
            plain_large += posts_registered - unregistered;
        else if (bytes > SMALL && (way != PUT || bytes > COPIED))
            copied += bytes_watched != bytes;
        bad += kind != PLAIN && posts_registered != unregistered;
        if (puts) {
            watched = watch_end = NULL;
            bad += tern_get(f.worker, plain, tern_ptr_add(memory[next], (int64_t)at), bytes) !=
                       TERN_OK ||
                   memcmp(plain, model + at, bytes) != 0;
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_EQUAL(copied, 0);
    CU_ASSERT(plain_large > 0); /* other memory is registered for each post, which is counted */
    /* Each end of a region's life, each piece of the segment, and some buffers for copies. */
    CU_ASSERT(registrations - before <= 2 * made + 100);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint32_t i = 0; i < REGIONS; i++) {
        EXPECT_OK(tern_deregister(f.worker, region[i]));
        free(regions[i]);
    }
    close_played();
}

static void keys_of_all_ends(void) { random_transfers(true); }

static void keys_of_one_end(void) { random_transfers(false); }

/* A region may end while a transfer from it is under way, as the memory of any transfer must stay
 * only as memory. Its key is given back afterwards. */
static void a_region_that_ends_early(bool shares) {
    enum { BYTES = 1 << 20 };
    if (!open_played(shares))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t random = fixture_seed(&f, 7);
    char *source = malloc(BYTES), *back = malloc(BYTES);
    tern_request request = {0};
    tern_ptr p;
    fill(source, BYTES, &random);
    EXPECT_OK(tern_register(f.worker, source, BYTES, &p));
    EXPECT_OK(tern_put(f.worker, memory[next], source, BYTES));
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_barrier(f.worker));
    fill(source, BYTES, &random);
    silent = true; /* nothing completes */
    EXPECT_OK(tern_put_start(f.worker, memory[next], source, BYTES, &request));
    EXPECT_OK(tern_deregister(f.worker, p));
    tern_progress(f.worker);
    EXPECT_OK(tern_register(f.worker, source, BYTES, &p));
    silent = false;
    EXPECT_OK(tern_wait(f.worker, &request));
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_get(f.worker, back, memory[next], BYTES));
    CU_ASSERT_EQUAL(memcmp(source, back, BYTES), 0);
    EXPECT_OK(tern_deregister(f.worker, p));
    tern_progress(f.worker);
    uint64_t left = 0; /* keys of the region */
    for (const played_memory *m = registered; m != NULL; m = m->next)
        left += m->base == source;
    CU_ASSERT_EQUAL(left, 0);
    EXPECT_OK(tern_barrier(f.worker));
    free(source);
    free(back);
    close_played();
}

static void ends_early_shared(void) { a_region_that_ends_early(true); }

static void ends_early_own(void) { a_region_that_ends_early(false); }

/* If no memory can be registered, transfers from regions and the segment go by copies. */
static void refused_registrations(void) {
    enum { BYTES = 1 << 20 };
    if (!open_played(false))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t random = fixture_seed(&f, 9);
    char *here = (char *)tern_local(f.context, memory[f.rank]) + LANE / 2, *back = malloc(BYTES);
    EXPECT_OK(tern_put(f.worker, memory[next], here, 8)); /* has a buffer for copies registered */
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_get(f.worker, back, memory[next], 8));
    EXPECT_OK(tern_barrier(f.worker));
    fill(here, BYTES, &random);
    refuses = true;
    watched = here;
    watch_end = here + BYTES;
    caught log = caught_begin();
    EXPECT_OK(tern_put(f.worker, memory[next], here, BYTES));
    EXPECT_OK(tern_flush(f.worker, next));
    EXPECT_OK(tern_get(f.worker, back, memory[next], BYTES));
    CU_ASSERT_EQUAL(memcmp(here, back, BYTES), 0);
    CU_ASSERT_EQUAL(bytes_watched, 0);
    CU_ASSERT_EQUAL(refusals, 1); /* the card was not asked again */
    char *text = caught_end(&log);
    const char *said = strstr(text, "go by copies");
    CU_ASSERT_FATAL(said != NULL);
    CU_ASSERT_PTR_NULL(strstr(said + 1, "go by copies"));
    free(text);
    refuses = false;
    EXPECT_OK(tern_barrier(f.worker));
    free(back);
    close_played();
}

/* The memory of the next transfer. */
static void watch(const char *here, size_t bytes) {
    watched = here;
    watch_end = here + bytes;
    bytes_watched = posts_registered = 0;
}

/* Pieces of a circular buffer go without copies. */
static void circular_pieces(void) {
    enum { UNIT = 1 << 20 };
    if (!open_played(true))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    uint64_t random = fixture_seed(&f, 11);
    tern_circular_options options = {.unit_bytes = UNIT, .units = 2, .units_max = 2};
    tern_circular *circular = NULL;
    tern_piece piece;
    char *back = malloc(UNIT);
    EXPECT_OK(tern_circular_create(f.worker, &options, &circular));
    for (int i = 0; i < 8; i++) {
        EXPECT_OK(tern_piece_take(f.worker, circular, UNIT, &piece));
        fill(piece.memory, UNIT, &random);
        memcpy(model, piece.memory, UNIT);
        watch(piece.memory, UNIT);
        EXPECT_OK(tern_piece_put(f.worker, circular, &piece, memory[next], UNIT));
        EXPECT_OK(tern_flush(f.worker, next));
        CU_ASSERT_EQUAL(bytes_watched, UNIT);
        CU_ASSERT_EQUAL(posts_registered, 0);
        EXPECT_OK(tern_get(f.worker, back, memory[next], UNIT));
        CU_ASSERT_EQUAL(memcmp(model, back, UNIT), 0);
    }
    EXPECT_OK(tern_circular_destroy(f.worker, circular));
    EXPECT_OK(tern_barrier(f.worker));
    free(back);
    close_played();
}

static void await_local_event(void) {
    tern_event event;
    EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_LOCAL, &event));
    CU_ASSERT_EQUAL(event.status, TERN_OK);
}

/* So do notified puts and gets in ledger mode. */
static void notified(void) {
    static const size_t sizes[] = {SMALL + 1, 8192, 65536, 65537, 1 << 20, MOST};
    if (!open_played(true))
        return;
    const uint32_t next = (f.rank + 1) % f.size;
    const tern_notify_options ledger = {.flags = TERN_NOTIFY_NO_REMOTE};
    uint64_t random = fixture_seed(&f, 13);
    char *here = (char *)tern_local(f.context, memory[f.rank]) + LANE / 2;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t bytes = sizes[i];
        fill(here, bytes, &random);
        memcpy(model, here, bytes);
        watch(here, bytes);
        EXPECT_OK(tern_put_notify(f.worker, (tern_worker_id){next, 0}, memory[next], here, bytes,
                                  &ledger));
        await_local_event();
        EXPECT_OK(tern_flush(f.worker, next));
        CU_ASSERT_EQUAL(bytes_watched, bytes);
        memset(here, 0, bytes);
        watch(here, bytes);
        EXPECT_OK(tern_get_notify(f.worker, (tern_worker_id){next, 0}, here, memory[next], bytes,
                                  &ledger));
        await_local_event();
        CU_ASSERT_EQUAL(bytes_watched, bytes);
        CU_ASSERT_EQUAL(posts_registered, 0);
        CU_ASSERT_EQUAL(memcmp(model, here, bytes), 0);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_played();
}

static uint64_t calls_arrived, calls_wrong;

static tern_status take_call(tern_call_info *call, const void *arguments, size_t bytes) {
    const unsigned char *data = arguments;
    (void)call;
    calls_arrived++;
    for (size_t i = 0; i < bytes; i++)
        calls_wrong += data[i] != (unsigned char)(bytes + i);
    return TERN_OK;
}
TERN_FUNCTION(take_call)

/* The staging memory of a ring is tern's own: large frames are not registered either. */
static void large_frames(void) {
    enum { CALLS = 6, BYTES = 200000 };
    if (!open_played(true))
        return;
    const tern_worker_id next = {(f.rank + 1) % f.size, 0};
    unsigned char *arguments = malloc(BYTES + CALLS);
    calls_arrived = calls_wrong = 0;
    EXPECT_OK(tern_barrier(f.worker));
    posts_registered = 0;
    for (size_t bytes = BYTES; bytes < BYTES + CALLS; bytes++) {
        for (size_t i = 0; i < bytes; i++)
            arguments[i] = (unsigned char)(bytes + i);
        EXPECT_OK(tern_call(f.worker, next, &take_call_function, arguments, bytes));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(calls_arrived, CALLS);
    CU_ASSERT_EQUAL(calls_wrong, 0);
    CU_ASSERT_EQUAL(posts_registered, 0);
    EXPECT_OK(tern_barrier(f.worker));
    free(arguments);
    close_played();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"keys_of_all_ends", keys_of_all_ends},
        {"keys_of_one_end", keys_of_one_end},
        {"ends_early_shared", ends_early_shared},
        {"ends_early_own", ends_early_own},
        {"refused_registrations", refused_registrations},
        {"circular_pieces", circular_pieces},
        {"notified", notified},
        {"large_frames", large_frames},
    };
    return tern_test_main(argc, argv, "ofi_zero_copy", tests, sizeof tests / sizeof *tests);
}
