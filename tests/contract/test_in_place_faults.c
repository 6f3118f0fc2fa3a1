// tern-test: ranks survivors least=2

/* A rank dies for which others wait by tern_wait_until and the like, or to which they build calls:
 * the waits end and say so unless their words have come, and calls to the living go on. */

#include "fixture.h"
#include "survivors.h"

static uint64_t ran;

static tern_status run(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    ran += bytes;
    return TERN_OK;
}
TERN_FUNCTION(run)

static fixture f;

/* Word 0 was put by the victim before it died, word 1 is put by nobody. */
static void waits_end(const tern_ptr *all) {
    const uint64_t *words = tern_local(f.context, all[f.rank]);
    const uint32_t victim = play.victim;
    tern_word_list list = {.words = words + 1, .count = 1, .value = 1, .peer = &victim};
    size_t index = 77, indices[2];
    int holds = 0;
    tern_status status;
    TOLD(victim, tern_wait_until_all(f.worker, &list));
    TOLD(victim, tern_wait_until(f.worker, words + 1, TERN_EQUAL, 1));
    TOLD(victim, tern_wait_until_any(f.worker, &list, 0, &index));
    TOLD(victim, tern_wait_until_some(f.worker, &list, indices, &index));
    CU_ASSERT_EQUAL(index, 77);
    while ((status = tern_test_until_all(f.worker, &list, &holds)) == TERN_OK && still_patient())
        ;
    EXPECT(TERN_ERR_PEER, status);
    /* A word that has come counts, although its rank is dead. */
    list.words = words;
    EXPECT_OK(tern_wait_until(f.worker, words, TERN_EQUAL, 1));
    EXPECT_OK(tern_wait_until_all(f.worker, &list));
    EXPECT_OK(tern_test_until_all(f.worker, &list, &holds));
    CU_ASSERT_EQUAL(holds, 1);
    list.count = 2;
    EXPECT_OK(tern_wait_until_any(f.worker, &list, 1, &index));
    CU_ASSERT_EQUAL(index, 0);
    /* A wait for a rank that lives goes on. */
    if (f.size > 2 && f.rank < 2) {
        const uint32_t other = 1 - f.rank;
        const uint64_t two = 2;
        list = (tern_word_list){.words = words + 1, .count = 1, .value = 2, .peer = &other};
        tern_ptr place = all[other];
        place.offset += 8;
        EXPECT_OK(tern_put(f.worker, place, &two, sizeof two));
        EXPECT_OK(tern_wait_until_all(f.worker, &list));
    }
}

/* Calls to the dead rank end with an error at the latest when its ring is full. */
static void calls_end(void) {
    const uint32_t victim = play.victim;
    tern_reservation call;
    tern_status status;
    do {
        status =
            tern_call_reserve(f.worker, (tern_worker_id){victim, 0}, &run_function, 600, &call);
        if (status != TERN_OK)
            break;
        memset(call.arguments, 1, call.bytes);
        status = tern_call_commit(&call, 600);
        if (status != TERN_OK) {
            EXPECT(TERN_ERR_STATE, tern_barrier(f.worker));
            tern_call_cancel(&call);
        }
    } while (status == TERN_OK && still_patient());
    EXPECT(TERN_ERR_PEER, status);
    const uint32_t next = (f.rank + 1) % (f.size - 1);
    EXPECT_OK(tern_call_reserve(f.worker, (tern_worker_id){next, 0}, &run_function, 40, &call));
    EXPECT_OK(tern_call_commit(&call, 5));
    const uint32_t from = (f.rank + f.size - 2) % (f.size - 1);
    EXPECT_OK(tern_wait_until_all(
        f.worker, &(tern_word_list){.words = &ran, .count = 1, .value = 5, .peer = &from}));
}

static void a_rank_dies(void) {
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    tern_ptr *all = calloc(f.size, sizeof *all);
    const uint64_t one = 1;
    fixture_alloc_all(&f, 16, TERN_DOMAIN_NODE, all);
    EXPECT_OK(tern_call(f.worker, (tern_worker_id){play.victim, 0}, &run_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    ran = 0;
    for (uint32_t r = 0; r < f.size && f.rank == play.victim; r++) {
        EXPECT_OK(tern_put(f.worker, all[r], &one, sizeof one));
        EXPECT_OK(tern_flush(f.worker, r));
    }
    lose_later(&f);
    waits_end(all);
    calls_end();
    free(all);
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "in_place_faults", tests, 1);
}
