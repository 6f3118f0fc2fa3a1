/* The simulation's bytes and memory beside those of real ranks: bytes of the rings that calls have
 * gone through, and pages that tern has touched before and after it has met anybody. */

#include <stdlib.h>
#include <sys/mman.h>

#include "fixture.h"
#include "rma/memory/state.h"
#include "rma/ring/ring.h"
#include "src/peers/address.h"
#include "scale/memory.h"
#include "scale/simulation.h"

enum { EACH = 20 };

static tern_status scale_real_answer(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    call->result_bytes = 8;
    memset(call->result, 1, 8);
    return TERN_OK;
}
TERN_FUNCTION(scale_real_answer)

static size_t resident(char *base, size_t bytes) {
    const size_t pages = (bytes + TERN_PAGE - 1) / TERN_PAGE;
    unsigned char *in = malloc(pages);
    size_t count = 0;
    CU_ASSERT_EQUAL_FATAL(mincore(base, bytes, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    free(in);
    return count * TERN_PAGE;
}

/* All that scale_memory counts and that lies in pages of tern's own: tables and the segment up to
 * its heap. */
static size_t touched(const fixture *f) {
    const tern_rma *rma = tern_rma_of(f->context);
    return resident(rma->table_base, rma->tables.bytes) + resident(rma->mine, rma->layout.heap);
}

/* Blocking calls to the other ranks in turn, as SCALE_OTHERS. */
static void call_others(fixture *f) {
    for (uint32_t i = 0; i < EACH * (f->size - 1); i++) {
        uint64_t word = i;
        const tern_worker_id to = {(f->rank + 1 + i % (f->size - 1)) % f->size, 0};
        EXPECT_OK(tern_call_return(f->worker, to, &scale_real_answer_function, &word, sizeof word,
                                   &word, sizeof word, NULL));
    }
    EXPECT_OK(tern_barrier(f->worker));
}

static uint64_t consumed(const fixture *f) {
    const tern_rma_worker *mine = tern_rma_worker_of(f->worker);
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < f->size; r++) {
        const tern_in *in = mine->in[tern_endpoint_of(f->context, TERN_CHANNEL_CALLS, r)];
        bytes += in != NULL ? in->position : 0;
    }
    return bytes;
}

static void bytes_and_memory(void) {
    fixture f;
    scale_memory memory;
    scale_outcome outcome;
    tern_transport transport = TERN_SHM;
    if (!fixture_open(&f, NULL))
        return;
    const tern_config *config = tern_context_config(f.context);
    const tern_rma *rma = tern_rma_of(f.context);
    EXPECT_OK(tern_context_transport(f.context, (f.rank + 1) % f.size, &transport));
    CU_ASSERT_FATAL(transport != TERN_SHM);
    scale_memory_compute(config, f.size, 1, f.size - 1, &memory);
    CU_ASSERT_EQUAL(memory.reserved, rma->tables.bytes + rma->layout.bytes);
    CU_ASSERT_EQUAL(memory.rings, f.size - 1);

    const size_t before = touched(&f);
    CU_ASSERT(before <= memory.process + sizeof(tern_listener_address) * f.size);
    call_others(&f);
    const size_t after = touched(&f);
    CU_ASSERT(after > before);
    /* The origin's staging lies elsewhere: it is the part that the rank has not in these pages. */
    CU_ASSERT(after <= memory.idle);
    if (before > memory.process || after > memory.idle)
        fprintf(stderr, "touched %zu and then %zu bytes; computed are %zu and %zu\n", before, after,
                memory.process, memory.idle);

    const scale_job job = {.costs = scale_networks[0].costs,
                           .program = SCALE_CALL_RETURN,
                           .towards = SCALE_OTHERS,
                           .fresh = true,
                           .ranks = f.size,
                           .operations = EACH * (f.size - 1),
                           .under_way = 1,
                           .bytes = 8,
                           .results = 8,
                           .frame_header = transport == TERN_P2P ? 0 : SCALE_FRAME_HEADER,
                           .ring_bytes = (uint32_t)config->ring_size,
                           .rings = UINT32_MAX,
                           .active_rings = UINT32_MAX,
                           .keys = 1,
                           .seed = 1};
    CU_ASSERT_FATAL(scale_simulate(&job, &outcome));
    uint64_t mine = consumed(&f), all[64], sum = 0;
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT_EQUAL(sum, outcome.record_bytes);
    if (sum != outcome.record_bytes)
        fprintf(stderr, "%llu bytes, simulated %llu\n", (unsigned long long)sum,
                (unsigned long long)outcome.record_bytes);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"bytes_and_memory", bytes_and_memory}};
    return tern_test_main(argc, argv, "scale_real", tests, 1);
}
