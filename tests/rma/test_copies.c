// tern-test: unit
/* The copies of a port: each lies in one piece of memory of its own, they share a bounded amount of
 * memory, and what copies to lost ranks keep does not stop the others. */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "rma/port/posting.h"

enum { POSTINGS = 256, SOME_LOST = 40 };

static tern_network network;
static tern_network_ops ops;
static tern_native native;
static tern_port port;
static uint32_t registered, registrations_left;

/* Copies under way, with a number that fills each. */
static struct {
    tern_posting *posting;
    bool lost;
} taken[POSTINGS];
static uint32_t count;

static tern_status play_add_local(tern_network_end *end, void *base, size_t bytes,
                                  tern_network_memory **memory) {
    (void)end, (void)bytes;
    if (registrations_left == 0)
        return tern_fail(TERN_ERR_MEMORY, "a played card registers no memory");
    registrations_left--;
    registered++;
    *memory = base;
    return TERN_OK;
}

static void play_remove_memory(tern_network *of, tern_network_memory *memory) {
    CU_ASSERT_PTR_EQUAL(of, &network);
    CU_ASSERT_PTR_NOT_NULL(memory);
    registered--;
}

static void begin(bool registers) {
    ops = (tern_network_ops){.add_local = play_add_local, .remove_memory = play_remove_memory};
    network = (tern_network){.ops = &ops, .local_memory = registers};
    native = (tern_native){.network = &network};
    port = (tern_port){.native = &native};
    registrations_left = UINT32_MAX;
    registered = count = 0;
}

static uint32_t units_of(uint64_t bytes) {
    const uint64_t units = (bytes + TERN_COPY_UNIT - 1) / TERN_COPY_UNIT;
    return units < TERN_COPY_UNITS_MAX ? (uint32_t)units : TERN_COPY_UNITS_MAX;
}

/* Takes a copy of so many bytes as a port does, and fills it. */
static tern_posting *take(uint64_t bytes, bool lost) {
    tern_posting *posting = tern_posting_take(&port, bytes);
    if (posting == NULL)
        return NULL;
    CU_ASSERT_FATAL(count < POSTINGS);
    taken[count].posting = posting;
    taken[count].lost = lost;
    memset(posting->copy.bytes, (int)(count & 0xff), posting->copy.units * TERN_COPY_UNIT);
    posting->context[0] = (char)(count++ & 0xff);
    *(lost ? &port.units_lost : &port.units_taken) += posting->copy.units;
    return posting;
}

/* Gives it back, and checks that nobody has written to it. */
static void give(uint32_t i) {
    tern_posting *posting = taken[i].posting;
    size_t bad = 0;
    for (size_t at = 0; at < posting->copy.units * TERN_COPY_UNIT; at++)
        bad += posting->copy.bytes[at] != posting->context[0];
    CU_ASSERT_EQUAL(bad, 0);
    *(taken[i].lost ? &port.units_lost : &port.units_taken) -= posting->copy.units;
    tern_posting_give(&port, posting);
    taken[i] = taken[--count];
}

static void end(void) {
    while (count > 0)
        give(count - 1);
    CU_ASSERT_EQUAL(port.units_taken, 0);
    CU_ASSERT_EQUAL(port.units_lost, 0);
    CU_ASSERT_EQUAL(registered, network.local_memory ? port.slab_count : 0);
    tern_copies_withdraw(&port);
    CU_ASSERT_EQUAL(registered, 0);
    tern_postings_close(&port);
}

/* Whether so many units are free side by side, by a look at each of the slabs. */
static bool has_run(uint32_t units) {
    for (const tern_slab *slab = port.slabs; slab != NULL; slab = slab->next)
        for (uint32_t first = 0; first + units <= TERN_SLAB; first++) {
            uint32_t free = 0;
            while (free < units && (slab->used >> (first + free) & 1) == 0)
                free++;
            if (free == units)
                return true;
        }
    return false;
}

/* A move of 64 KiB is one copy, and 2 MiB hold 32 of these or 256 small ones. */
static void a_port_has_2_mib(void) {
    static const struct {
        uint64_t bytes;
        uint32_t copies;
    } tries[] = {{1, 256}, {8192, 256}, {8193, 128}, {65536, 32}, {(uint64_t)1 << 40, 32}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        begin(i % 2 == 0);
        uint32_t copies = 0;
        for (tern_posting *p; (p = take(tries[i].bytes, false)) != NULL; copies++)
            CU_ASSERT_EQUAL(p->copy.units, units_of(tries[i].bytes));
        CU_ASSERT_EQUAL(copies, tries[i].copies);
        CU_ASSERT_EQUAL(port.slab_count, TERN_SLABS_MAX);
        end();
    }
}

/* Copies of any size come and go. Each is whole; one that is refused had no room. Some are to lost
 * ranks, and stay to the end. */
static void copies_come_and_go(void) {
    uint64_t random = tern_test_seed();
    uint64_t refused = 0;
    for (int round = 0; round < 20; round++) {
        begin(round % 2 == 0);
        const uint64_t most =
            round % 4 == 0 ? TERN_COPY_MAX : 1 + tern_test_random(&random) % 40000;
        uint32_t lost = 0;
        for (int i = 0; i < 1500; i++) {
            if (count == POSTINGS || (count > 0 && tern_test_random(&random) % 8 < 3)) {
                const uint32_t which = (uint32_t)(tern_test_random(&random) % count);
                if (!taken[which].lost)
                    give(which);
                continue;
            }
            const bool loses = lost < SOME_LOST && tern_test_random(&random) % 16 == 0;
            const uint64_t bytes = 1 + tern_test_random(&random) % most;
            const bool waits = port.units_taken > 0;
            const tern_posting *p = take(bytes, loses);
            lost += p != NULL && loses;
            refused += p == NULL;
            CU_ASSERT(p != NULL || waits);
            if (p == NULL)
                CU_ASSERT(!has_run(units_of(bytes)));
            if (p != NULL && waits)
                CU_ASSERT_EQUAL(p->copy.units, units_of(bytes));
            CU_ASSERT(port.slab_count * TERN_SLAB <=
                      TERN_SLABS_MAX * TERN_SLAB + SOME_LOST * TERN_COPY_UNITS_MAX);
        }
        end();
    }
    CU_ASSERT(refused > 0);
}

/* Copies to lost ranks fill all memory, and others go on. */
static void lost_ranks_stop_nobody(void) {
    begin(false);
    while (count < 32)
        CU_ASSERT_PTR_NOT_NULL_FATAL(take(TERN_COPY_MAX, true));
    for (int i = 0; i < 100; i++) {
        const tern_posting *p = take(TERN_COPY_MAX, false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_EQUAL(p->copy.units, TERN_COPY_UNITS_MAX);
        give(count - 1);
    }
    end();
}

/* A network that registers one slab alone: its units are used, and it is not asked again. Where a
 * lost copy lies in the middle, smaller copies do. */
static void a_refused_registration(void) {
    begin(true);
    registrations_left = 1;
    CU_ASSERT_PTR_NOT_NULL(take(TERN_COPY_MAX, false));
    CU_ASSERT_PTR_NOT_NULL(take(TERN_COPY_MAX, false));
    CU_ASSERT_PTR_NULL(take(1, false));
    CU_ASSERT(port.locals.refused);
    registrations_left = 1;
    CU_ASSERT_PTR_NULL(take(1, false));
    CU_ASSERT_EQUAL(registrations_left, 1);
    while (count > 0)
        give(count - 1);
    for (int i = 0; i < 7; i++) /* units 0 to 6 */
        CU_ASSERT_PTR_NOT_NULL(take(1, false));
    CU_ASSERT_PTR_NOT_NULL(take(4 * TERN_COPY_UNIT, true)); /* units 7 to 10 */
    CU_ASSERT_PTR_NULL(take(TERN_COPY_MAX, false));         /* the seven will land */
    for (uint32_t i = 7; i-- > 0;)
        give(i);
    const tern_posting *p = take(TERN_COPY_MAX, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->copy.units, 7);
    end();
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_port_has_2_mib", a_port_has_2_mib},
                                           {"copies_come_and_go", copies_come_and_go},
                                           {"lost_ranks_stop_nobody", lost_ranks_stop_nobody},
                                           {"a_refused_registration", a_refused_registration}};
    return tern_test_main(argc, argv, "copies", tests, sizeof tests / sizeof *tests);
}
