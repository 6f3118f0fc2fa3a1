// tern-test: transports

/* Segments: allocation here and elsewhere, its limits and errors, local addresses. */

#include "fixture.h"

#include <stdlib.h>

enum { SEGMENT = 1 << 20 };

static bool open_small(fixture *f) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = SEGMENT;
    return fixture_open(f, &config);
}

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

static void fill(char *at, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(seed + i * 131);
}

static size_t count_wrong(const char *at, size_t bytes, uint64_t seed) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += at[i] != (char)(seed + i * 131);
    return wrong;
}

static void pointer_helpers(void) {
    tern_ptr p = {.rank = 3, .segment = 1, .domain = TERN_DOMAIN_NODE, .offset = 5000};
    CU_ASSERT_EQUAL(sizeof(tern_ptr), 16);
    CU_ASSERT(tern_ptr_is_null(TERN_NULL));
    CU_ASSERT(!tern_ptr_is_null(p));
    CU_ASSERT(tern_ptr_equal(TERN_NULL, TERN_NULL));
    CU_ASSERT(tern_ptr_equal(p, p));
    tern_ptr q = tern_ptr_add(p, 100);
    CU_ASSERT_EQUAL(tern_ptr_diff(q, p), 100);
    CU_ASSERT_EQUAL(tern_ptr_diff(p, q), -100);
    CU_ASSERT(tern_ptr_equal(tern_ptr_add(q, -100), p));
    tern_ptr other[4] = {p, p, p, p};
    other[0].rank++;
    other[1].segment++;
    other[2].domain++;
    other[3].offset++;
    for (int i = 0; i < 4; i++)
        CU_ASSERT(!tern_ptr_equal(p, other[i]));
}

static void sizes_and_alignments(void) {
    fixture f;
    if (!open_small(&f))
        return;
    size_t before = in_use(&f);
    tern_ptr p = TERN_NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 0, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 8, 3, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_DETAIL("3");
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 8, (size_t)2 << 30, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 8, SIZE_MAX, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 8, 0, (tern_domain)3, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc(f.worker, 8, 0, TERN_DOMAIN_GLOBAL, NULL));
    CU_ASSERT(tern_ptr_is_null(p));
    CU_ASSERT_EQUAL(in_use(&f), before);

    for (size_t alignment = 0; alignment <= SEGMENT / 4;
         alignment = alignment ? alignment * 2 : 1) {
        for (int domain = 0; domain < 3; domain++) {
            if (!EXPECT_OK(tern_alloc(f.worker, 1, alignment, (tern_domain)domain, &p)))
                continue;
            size_t wanted = alignment == 0 ? 64 : alignment;
            void *here = tern_local(f.context, p);
            CU_ASSERT_PTR_NOT_NULL(here);
            CU_ASSERT_EQUAL((uintptr_t)here % wanted, 0);
            CU_ASSERT_EQUAL(p.rank, f.rank);
            CU_ASSERT_EQUAL(p.domain, domain);
            CU_ASSERT(p.offset >= TERN_PTR_ORIGIN);
            CU_ASSERT(in_use(&f) > before);
            EXPECT_OK(tern_free(f.worker, p));
            CU_ASSERT_EQUAL(in_use(&f), before);
        }
    }
    fixture_close(&f);
}

/* Segments are aligned to a huge page; tern cannot guarantee more. */
static void large_alignments(void) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)8 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_ptr p = TERN_NULL, none = TERN_NULL;
    for (size_t alignment = (size_t)1 << 18; alignment <= (size_t)2 << 20; alignment *= 2) {
        EXPECT_OK(tern_alloc(f.worker, 100, alignment, TERN_DOMAIN_GLOBAL, &p));
        CU_ASSERT_EQUAL((uintptr_t)tern_local(f.context, p) % alignment, 0);
        EXPECT_OK(tern_free(f.worker, p));
    }
    EXPECT(TERN_ERR_ARGUMENT,
           tern_alloc(f.worker, 100, (size_t)4 << 20, TERN_DOMAIN_GLOBAL, &none));
    EXPECT_DETAIL("alignment");
    CU_ASSERT(tern_ptr_is_null(none));
    fixture_close(&f);
}

static void the_whole_heap(void) {
    fixture f;
    if (!open_small(&f))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    CU_ASSERT(info.bytes >= SEGMENT);
    size_t before = info.in_use;
    tern_ptr p = TERN_NULL, q = TERN_NULL;
    EXPECT(TERN_ERR_MEMORY, tern_alloc(f.worker, info.bytes + 1, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    EXPECT(TERN_ERR_MEMORY, tern_alloc(f.worker, SIZE_MAX, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_MEMORY, tern_alloc(f.worker, SIZE_MAX - 63, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_MEMORY, tern_alloc(f.worker, SIZE_MAX / 2 + 1, 0, TERN_DOMAIN_GLOBAL, &p));
    CU_ASSERT(tern_ptr_is_null(p));
    CU_ASSERT_EQUAL(in_use(&f), before);

    if (before == 0 && EXPECT_OK(tern_alloc(f.worker, info.bytes, 0, TERN_DOMAIN_GLOBAL, &p))) {
        char *all = tern_local(f.context, p);
        all[0] = 1;
        all[info.bytes - 1] = 1;
        EXPECT(TERN_ERR_MEMORY, tern_alloc(f.worker, 1, 0, TERN_DOMAIN_GLOBAL, &q));
        CU_ASSERT_EQUAL(in_use(&f), info.bytes);
        EXPECT_OK(tern_free(f.worker, p));
    }
    CU_ASSERT_EQUAL(before, 0);
    CU_ASSERT_EQUAL(in_use(&f), before);

    /* Filled with small pieces, emptied in another order, it is whole again. */
    enum { PIECES = SEGMENT / 1024 };
    static tern_ptr pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++)
        EXPECT_OK(tern_alloc(f.worker, 1024, 0, TERN_DOMAIN_GLOBAL, &pieces[i]));
    for (size_t i = 0; i < PIECES; i++)
        EXPECT_OK(tern_free(f.worker, pieces[i * 389 % PIECES]));
    EXPECT_OK(tern_alloc(f.worker, SEGMENT, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_OK(tern_free(f.worker, p));
    fixture_close(&f);
}

typedef struct {
    tern_ptr p;
    size_t bytes;
    uint64_t seed;
} piece;

/* Pieces do not overlap and keep what is in them, whatever is taken and given back around them. */
static void random_allocation(void) {
    fixture f;
    if (!open_small(&f))
        return;
    enum { LIVE = 200 };
    static piece live[LIVE];
    size_t count = 0, wrong = 0, overlaps = 0, bytes_live = 0;
    uint64_t random = fixture_seed(&f, 1);
    int refused = 0, times = tern_test_full() ? 100000 : 8000;
    for (int i = 0; i < times; i++) {
        if (count == LIVE || (count > 0 && below(&random, 100) < 45)) {
            size_t at = below(&random, count);
            wrong += count_wrong(tern_local(f.context, live[at].p), live[at].bytes, live[at].seed);
            EXPECT_OK(tern_free(f.worker, live[at].p));
            bytes_live -= live[at].bytes;
            live[at] = live[--count];
            continue;
        }
        piece *new = &live[count];
        new->bytes = 1 + below(&random, below(&random, 10) == 0 ? 100000 : 2000);
        new->seed = tern_test_random(&random);
        size_t alignment = (size_t)1 << below(&random, 13), before = in_use(&f);
        tern_ptr p = TERN_NULL;
        tern_status status = tern_alloc(f.worker, new->bytes, alignment, TERN_DOMAIN_GLOBAL, &p);
        if (status != TERN_OK) {
            CU_ASSERT_EQUAL(status, TERN_ERR_MEMORY);
            CU_ASSERT(tern_ptr_is_null(p));
            CU_ASSERT_EQUAL(in_use(&f), before);
            refused++;
            continue;
        }
        CU_ASSERT(in_use(&f) >= before + new->bytes);
        new->p = p;
        char *here = tern_local(f.context, p);
        CU_ASSERT_FATAL(here != NULL);
        overlaps += (uintptr_t)here % alignment != 0 || p.offset < TERN_PTR_ORIGIN ||
                    tern_local(f.context, tern_ptr_add(p, (int64_t) new->bytes - 1)) == NULL;
        for (size_t k = 0; k < count; k++)
            overlaps += p.offset < live[k].p.offset + live[k].bytes &&
                        live[k].p.offset < p.offset + new->bytes;
        fill(here, new->bytes, new->seed);
        bytes_live += new->bytes;
        count++;
    }
    CU_ASSERT(in_use(&f) >= bytes_live);
    while (count > 0) {
        piece *last = &live[--count];
        wrong += count_wrong(tern_local(f.context, last->p), last->bytes, last->seed);
        EXPECT_OK(tern_free(f.worker, last->p));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(overlaps, 0);
    CU_ASSERT(refused > 0);
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void bad_frees(void) {
    fixture f;
    if (!open_small(&f))
        return;
    tern_ptr p = TERN_NULL, q = TERN_NULL;
    EXPECT_OK(tern_alloc(f.worker, 1000, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT_OK(tern_alloc(f.worker, 1000, 0, TERN_DOMAIN_GLOBAL, &q));
    size_t before = in_use(&f);
    EXPECT_OK(tern_free(f.worker, TERN_NULL));
    tern_ptr bad[] = {tern_ptr_add(p, 64), tern_ptr_add(p, 1), tern_ptr_add(p, -64), p, p, p, p};
    bad[3].offset = TERN_PTR_ORIGIN - 8;
    bad[4].offset = UINT64_MAX;
    bad[5].segment = 5;
    bad[6].rank = f.size;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tern_status status = tern_free(f.worker, bad[i]);
        CU_ASSERT(status == TERN_ERR_ARGUMENT || (i > 2 && status == TERN_ERR_RANGE));
        CU_ASSERT_EQUAL(in_use(&f), before);
    }
    EXPECT_OK(tern_free(f.worker, p));
    EXPECT(TERN_ERR_ARGUMENT, tern_free(f.worker, p));
    EXPECT_OK(tern_free(f.worker, q));
    EXPECT(TERN_ERR_ARGUMENT, tern_free(f.worker, q));
    /* Another rank's books are as strict. */
    uint32_t next = (f.rank + 1) % f.size;
    EXPECT_OK(tern_alloc_on(f.worker, next, TERN_NUMA_ANY, 100, 0, TERN_DOMAIN_GLOBAL, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_free(f.worker, tern_ptr_add(p, 8)));
    EXPECT_OK(tern_free(f.worker, p));
    EXPECT(TERN_ERR_ARGUMENT, tern_free(f.worker, p));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void on_another_rank(void) {
    fixture f;
    if (!open_small(&f))
        return;
    tern_ptr *mine = calloc(f.size, sizeof *mine), *all = calloc(f.size * f.size, sizeof *all);
    char data[5000], back[5000];
    for (uint32_t r = 0; r < f.size; r++) {
        tern_worker_id id = {r, 0};
        if (r % 2 == 0)
            EXPECT_OK(tern_alloc_on(f.worker, r, TERN_NUMA_ANY, sizeof data, 256, TERN_DOMAIN_OWNER,
                                    &mine[r]));
        else
            EXPECT_OK(
                tern_alloc_on_worker(f.worker, id, sizeof data, 256, TERN_DOMAIN_OWNER, &mine[r]));
        CU_ASSERT_EQUAL(mine[r].rank, r);
        CU_ASSERT_EQUAL(mine[r].domain, TERN_DOMAIN_OWNER);
        fill(data, sizeof data, f.rank * 1000 + r);
        EXPECT_OK(tern_put(f.worker, mine[r], data, sizeof data));
    }
    fixture_share(&f, mine, f.size * sizeof *mine, all);
    CU_ASSERT(in_use(&f) >= f.size * sizeof data);
    /* Each rank reads, then frees, what the next one allocated. */
    uint32_t next = (f.rank + 1) % f.size;
    for (uint32_t r = 0; r < f.size; r++) {
        tern_ptr p = all[next * f.size + r];
        memset(back, 0, sizeof back);
        EXPECT_OK(tern_get(f.worker, back, p, sizeof back));
        CU_ASSERT_EQUAL(count_wrong(back, sizeof back, next * 1000 + r), 0);
        EXPECT_OK(tern_free(f.worker, p));
    }
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    free(mine);
    free(all);
    fixture_close(&f);
}

static void bad_requests_to_another_rank(void) {
    fixture f;
    if (!open_small(&f))
        return;
    tern_ptr p = TERN_NULL;
    tern_domain any = TERN_DOMAIN_GLOBAL;
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on(f.worker, r, TERN_NUMA_ANY, 0, 0, any, &p));
        EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on(f.worker, r, TERN_NUMA_ANY, 8, 12, any, &p));
        EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on(f.worker, r, TERN_NUMA_ANY, 8, 0, any, NULL));
        EXPECT(TERN_ERR_MEMORY, tern_alloc_on(f.worker, r, TERN_NUMA_ANY, SEGMENT * 2, 0, any, &p));
        EXPECT(TERN_ERR_MEMORY, tern_alloc_on(f.worker, r, TERN_NUMA_ANY, SIZE_MAX, 0, any, &p));
        EXPECT(TERN_ERR_UNSUPPORTED, tern_alloc_on(f.worker, r, 4000, 8, 0, any, &p));
        EXPECT_DETAIL("4000");
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on(f.worker, f.size, TERN_NUMA_ANY, 8, 0, any, &p));
    tern_worker_id nobody = {f.size, 0}, no_worker = {f.rank, 7};
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on_worker(f.worker, nobody, 8, 0, any, &p));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_on_worker(f.worker, no_worker, 8, 0, any, &p));
    CU_ASSERT(tern_ptr_is_null(p));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

/* All ranks fill the segment of one until it is full; nothing is lost when it is. */
static void full_segment_of_another_rank(void) {
    fixture f;
    if (!open_small(&f))
        return;
    enum { BYTES = SEGMENT / 16 };
    tern_ptr taken[17];
    uint64_t mine = 0, *all = calloc(f.size, sizeof *all);
    tern_status status = TERN_OK;
    EXPECT_OK(tern_barrier(f.worker));
    while (mine < 17 && status == TERN_OK) {
        tern_ptr p = TERN_NULL;
        status = tern_alloc_on(f.worker, 0, TERN_NUMA_ANY, BYTES, 0, TERN_DOMAIN_GLOBAL, &p);
        if (status == TERN_OK)
            taken[mine++] = p;
        else
            CU_ASSERT(tern_ptr_is_null(p));
    }
    CU_ASSERT_EQUAL(status, TERN_ERR_MEMORY);
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    fixture_share(&f, &mine, sizeof mine, all);
    uint64_t sum = 0;
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT_EQUAL(sum, 16);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(in_use(&f), SEGMENT);
    EXPECT_OK(tern_barrier(f.worker));
    while (mine > 0)
        EXPECT_OK(tern_free(f.worker, taken[--mine]));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    free(all);
    fixture_close(&f);
}

/* Everybody allocates everywhere at once; what is put into a piece stays there until it is freed.
 */
static void random_allocation_everywhere(void) {
    fixture f;
    if (!open_small(&f))
        return;
    enum { LIVE = 40 };
    static piece live[LIVE];
    static char data[4096];
    size_t count = 0, wrong = 0;
    uint64_t random = fixture_seed(&f, 2);
    int times = fixture_times(&f, 8000);
    for (int i = 0; i < times || count > 0; i++) {
        if (i >= times || count == LIVE || (count > 0 && below(&random, 2) == 0)) {
            size_t at = below(&random, count);
            EXPECT_OK(tern_flush(f.worker, live[at].p.rank));
            EXPECT_OK(tern_get(f.worker, data, live[at].p, live[at].bytes));
            wrong += count_wrong(data, live[at].bytes, live[at].seed);
            EXPECT_OK(tern_free(f.worker, live[at].p));
            live[at] = live[--count];
            continue;
        }
        piece *new = &live[count];
        new->bytes = 1 + below(&random, sizeof data);
        new->seed = tern_test_random(&random);
        tern_status status =
            tern_alloc_on(f.worker, (uint32_t)below(&random, f.size), TERN_NUMA_ANY, new->bytes,
                          (size_t)1 << below(&random, 10), TERN_DOMAIN_GLOBAL, &new->p);
        if (status == TERN_ERR_MEMORY)
            continue;
        if (!EXPECT_OK(status))
            break;
        fill(data, new->bytes, new->seed);
        EXPECT_OK(tern_put(f.worker, new->p, data, new->bytes));
        count++;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void local_addresses(void) {
    fixture f;
    if (!open_small(&f))
        return;
    tern_segment_info info;
    tern_segment_get_info(f.context, &info);
    CU_ASSERT_PTR_NULL(tern_local(f.context, TERN_NULL));
    for (uint32_t r = 0; r < f.size; r++) {
        tern_transport transport = TERN_RMA;
        EXPECT_OK(tern_context_transport(f.context, r, &transport));
        tern_ptr p = {.rank = r, .offset = TERN_PTR_ORIGIN};
        CU_ASSERT_EQUAL(tern_local(f.context, p) != NULL, transport == TERN_SHM);
        p.offset += info.bytes - 1;
        CU_ASSERT_EQUAL(tern_local(f.context, p) != NULL, transport == TERN_SHM);
        p.offset++;
        CU_ASSERT_PTR_NULL(tern_local(f.context, p));
        p.offset = TERN_PTR_ORIGIN - 1;
        CU_ASSERT_PTR_NULL(tern_local(f.context, p));
        p.offset = UINT64_MAX;
        CU_ASSERT_PTR_NULL(tern_local(f.context, p));
        p.offset = TERN_PTR_ORIGIN + (UINT64_C(1) << 63);
        CU_ASSERT_PTR_NULL(tern_local(f.context, p));
        p.offset = TERN_PTR_ORIGIN;
        p.segment = 1;
        CU_ASSERT_PTR_NULL(tern_local(f.context, p));
    }
    tern_ptr p = {.rank = f.size, .offset = TERN_PTR_ORIGIN};
    CU_ASSERT_PTR_NULL(tern_local(f.context, p));
    p.rank = UINT32_MAX;
    CU_ASSERT_PTR_NULL(tern_local(f.context, p));

    /* A load and a get see the same bytes. */
    EXPECT_OK(tern_alloc(f.worker, 64, 0, TERN_DOMAIN_GLOBAL, &p));
    char *here = tern_local(f.context, p), back[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(here);
    CU_ASSERT((char *)tern_local(f.context, tern_ptr_add(p, 63)) == here + 63);
    fill(here, 64, 9);
    EXPECT_OK(tern_get(f.worker, back, p, 64));
    CU_ASSERT_EQUAL(count_wrong(back, 64, 9), 0);
    EXPECT_OK(tern_free(f.worker, p));
    fixture_close(&f);
}

/* A handler may use its own heap; it may not wait for another rank's. */
static struct {
    tern_status own, own_free, remote, remote_free;
    int runs;
} in_handler;

static tern_status allocate_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_ptr p = TERN_NULL, remote;
    uint32_t size = tern_context_size(tern_worker_context(call->worker));
    uint32_t self = tern_worker_self(call->worker).rank;
    memcpy(&remote, arguments, bytes);
    in_handler.runs++;
    in_handler.own = tern_alloc(call->worker, 100, 0, TERN_DOMAIN_GLOBAL, &p);
    in_handler.own_free = tern_free(call->worker, p);
    in_handler.remote = tern_alloc_on(call->worker, (self + 1) % size, TERN_NUMA_ANY, 100, 0,
                                      TERN_DOMAIN_GLOBAL, &p);
    in_handler.remote_free = tern_free(call->worker, remote);
    return TERN_OK;
}
TERN_FUNCTION(allocate_in_handler)

/* Segments of which each rank has taken other pieces. */
static size_t take_some(fixture *f, uint64_t *random, tern_ptr *taken, size_t count) {
    size_t got = 0;
    for (size_t i = 0; i < count; i++)
        got += tern_alloc(f->worker, 64 + below(random, 3000), 0, TERN_DOMAIN_GLOBAL,
                          &taken[got]) == TERN_OK;
    for (size_t i = 0; i < got; i += 2) {
        EXPECT_OK(tern_free(f->worker, taken[i]));
        taken[i] = TERN_NULL;
    }
    return got;
}

static void the_same_place_on_all(void) {
    fixture f;
    if (!open_small(&f))
        return;
    enum { OWN = 60, PIECES = 10 };
    tern_ptr own[OWN], pieces[PIECES];
    size_t bytes[PIECES], wrong = 0;
    uint64_t random = fixture_seed(&f, 31), shared = tern_test_seed();
    const size_t got = take_some(&f, &random, own, OWN);
    const uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    for (size_t i = 0; i < PIECES; i++) {
        char content[8000];
        const size_t alignment = (size_t)1 << below(&shared, 13);
        uint64_t places[64] = {0};
        bytes[i] = 1 + below(&shared, sizeof content);
        EXPECT_OK(tern_alloc_all(f.worker, bytes[i], alignment, TERN_DOMAIN_GLOBAL, &pieces[i]));
        CU_ASSERT_EQUAL(pieces[i].rank, f.rank);
        CU_ASSERT_EQUAL((uintptr_t)tern_local(f.context, pieces[i]) % alignment, 0);
        fixture_share(&f, &pieces[i].offset, sizeof(uint64_t), places);
        for (uint32_t r = 0; r < f.size; r++)
            wrong += places[r] != pieces[i].offset;
        fill(content, bytes[i], f.rank + 100 * i);
        EXPECT_OK(tern_put(f.worker, tern_ptr_on(pieces[i], next), content, bytes[i]));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < PIECES; i++)
        wrong += count_wrong(tern_local(f.context, pieces[i]), bytes[i], before + 100 * i);
    CU_ASSERT_EQUAL(wrong, 0);
    for (size_t i = 0; i < PIECES; i++) /* by any rank's piece */
        EXPECT_OK(tern_free_all(f.worker, tern_ptr_on(pieces[(i + 3) % PIECES], next)));
    for (size_t i = 0; i < got; i++)
        EXPECT_OK(tern_free(f.worker, own[i]));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void no_place_on_all(void) {
    fixture f;
    if (!open_small(&f))
        return;
    const tern_domain domain = TERN_DOMAIN_GLOBAL;
    tern_ptr all = TERN_NULL, own = TERN_NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_all(NULL, 8, 0, domain, &all));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_all(f.worker, 0, 0, domain, &all));
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_all(f.worker, 8, f.rank == 0 ? 3 : 0, domain, &all));
    EXPECT_DETAIL("alignment is 3");
    EXPECT(TERN_ERR_ARGUMENT, tern_alloc_all(f.worker, 8, 0, domain, NULL));
    if (f.size > 1)
        EXPECT(TERN_ERR_MISMATCH, tern_alloc_all(f.worker, 8 + f.rank, 0, domain, &all));
    /* One rank has nothing left but at its end, and then nothing at all. */
    const size_t rest = 128 << 10;
    if (f.rank == 0)
        EXPECT_OK(tern_alloc(f.worker, SEGMENT - rest, 0, domain, &own));
    EXPECT_OK(tern_alloc_all(f.worker, rest, 0, domain, &all));
    CU_ASSERT_EQUAL(in_use(&f), f.rank == 0 ? SEGMENT : rest);
    const size_t used = in_use(&f);
    tern_ptr more = TERN_NULL;
    EXPECT(TERN_ERR_MEMORY, tern_alloc_all(f.worker, 64, 0, domain, &more));
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    CU_ASSERT(tern_ptr_is_null(more));
    CU_ASSERT_EQUAL(in_use(&f), used);
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH,
               tern_free_all(f.worker, f.rank == 0 ? all : tern_ptr_add(all, 64)));
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_free_all(f.worker, all)
                                              : tern_alloc_all(f.worker, 64, 0, domain, &more));
    }
    CU_ASSERT_EQUAL(in_use(&f), used);
    EXPECT(TERN_ERR_ARGUMENT, tern_free_all(f.worker, tern_ptr_add(all, 64)));
    EXPECT(TERN_ERR_ARGUMENT, tern_free_all(NULL, all));
    EXPECT_OK(tern_free_all(f.worker, all));
    EXPECT_OK(tern_free_all(f.worker, TERN_NULL));
    EXPECT_OK(tern_free(f.worker, own));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void in_a_handler(void) {
    fixture f;
    if (!open_small(&f))
        return;
    uint32_t next = (f.rank + 1) % f.size;
    tern_ptr remote = TERN_NULL;
    EXPECT_OK(tern_alloc_on(f.worker, next, TERN_NUMA_ANY, 64, 0, TERN_DOMAIN_GLOBAL, &remote));
    tern_worker_id self = {f.rank, 0};
    in_handler.runs = 0;
    EXPECT_OK(tern_call_return(f.worker, self, &allocate_in_handler_function, &remote,
                               sizeof remote, NULL, 0, NULL));
    CU_ASSERT_EQUAL(in_handler.runs, 1);
    CU_ASSERT_EQUAL(in_handler.own, TERN_OK);
    CU_ASSERT_EQUAL(in_handler.own_free, TERN_OK);
    if (f.size > 1) {
        CU_ASSERT_EQUAL(in_handler.remote, TERN_ERR_STATE);
        CU_ASSERT_EQUAL(in_handler.remote_free, TERN_ERR_STATE);
        EXPECT_OK(tern_free(f.worker, remote));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.size > 1)
        CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"pointer_helpers", pointer_helpers},
        {"sizes_and_alignments", sizes_and_alignments},
        {"large_alignments", large_alignments},
        {"the_whole_heap", the_whole_heap},
        {"random_allocation", random_allocation},
        {"bad_frees", bad_frees},
        {"on_another_rank", on_another_rank},
        {"bad_requests_to_another_rank", bad_requests_to_another_rank},
        {"full_segment_of_another_rank", full_segment_of_another_rank},
        {"random_allocation_everywhere", random_allocation_everywhere},
        {"local_addresses", local_addresses},
        {"the_same_place_on_all", the_same_place_on_all},
        {"no_place_on_all", no_place_on_all},
        {"in_a_handler", in_a_handler},
    };
    return tern_test_main(argc, argv, "memory", tests, sizeof tests / sizeof tests[0]);
}
