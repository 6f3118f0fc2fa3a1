// tern-test: transports least=2
/*
 * Answers that nobody waits for any more (rma/reply/reply.h), from inside: whenever they come, they
 * leave those to later questions alone, and their cells come back into use.
 */

#include "fixture.h"
#include "rma/reply/reply.h"
#include "rma/memory/state.h"
#include "rpc/call/overflow.h"

enum { BYTES = 48 };

static fixture f;
static uint32_t peer; /* that is to answer */

static tern_cell image_of(const tern_return_address *address, char content) {
    tern_cell image;
    memset(&image, content, sizeof image);
    atomic_init(&image.sequence, address->sequence);
    image.status = TERN_OK;
    image.bytes = BYTES;
    return image;
}

static tern_cell *memory_of(const tern_return_address *address) {
    return tern_rma_worker_of(f.worker)->cell[address->cell].memory;
}

/* The answer of a rank of this node. */
static void answer_direct(const tern_return_address *address, char content) {
    char payload[BYTES];
    memset(payload, content, sizeof payload);
    EXPECT_OK(tern_reply_send(f.worker, f.worker->id, address, TERN_OK, payload, BYTES));
}

/* What MPI may still write long after a death, where the cell lay when it was put. */
static void answer_by_put(const tern_return_address *address, tern_cell *memory, char content) {
    tern_cell image = image_of(address, content);
    atomic_init(&image.sequence, address->sequence | TERN_REPLY_CHECKED);
    image.check = tern_reply_checksum(f.context, &image);
    memcpy((void *)memory, &image, offsetof(tern_cell, payload) + BYTES);
}

static void answer_by_message(const tern_return_address *address, char content) {
    const tern_cell image = image_of(address, content);
    tern_mpi_lock();
    tern_reply_receive(f.worker, address->cell, &image);
    tern_mpi_unlock();
}

static void expect_answer(const tern_return_address *address, char content) {
    CU_ASSERT(tern_reply_arrived(f.worker, address));
    const char *payload = tern_reply_cell(f.worker, address)->payload;
    CU_ASSERT(payload[0] == content && payload[BYTES - 1] == content);
}

/* How many cells are free; all of them are free again afterwards. */
static size_t count_free(void) {
    tern_return_address taken[TERN_CALL_REQUESTS];
    size_t count = 0;
    while (count < TERN_CALL_REQUESTS && tern_reply_expect(f.worker, &taken[count]) == TERN_OK)
        count++;
    for (size_t i = 0; i < count; i++)
        tern_reply_release(f.worker, &taken[i]);
    tern_error_clear();
    return count;
}

static bool goes_by(tern_transport transport) {
    return tern_transport_to(f.context, peer)->name == transport;
}

static bool goes_by_puts(void) { return tern_transport_to(f.context, peer)->puts_outlive; }

static void mark_peer(bool dead) {
    atomic_store(&f.context->peers.dead[peer / 64], dead ? (uint64_t)1 << peer % 64 : 0);
}

static void of_the_living(void) {
    tern_return_address first, second;
    EXPECT_OK(tern_reply_expect(f.worker, &first));
    tern_reply_give_up(f.worker, &first, peer);
    EXPECT_OK(tern_reply_expect(f.worker, &second));
    CU_ASSERT_EQUAL(second.cell == first.cell, goes_by(TERN_P2P));
    CU_ASSERT_EQUAL(count_free(), TERN_CALL_REQUESTS - (goes_by(TERN_P2P) ? 1 : 2));
    answer_direct(&second, 2);
    if (goes_by(TERN_P2P))
        answer_by_message(&first, 1);
    else if (goes_by_puts())
        answer_by_put(&first, memory_of(&first), 1);
    else
        answer_direct(&first, 1);
    expect_answer(&second, 2);
    tern_reply_release(f.worker, &second);
    CU_ASSERT_EQUAL(count_free(), TERN_CALL_REQUESTS);
}

static void of_the_dead(void) {
    tern_return_address first, second;
    EXPECT_OK(tern_reply_expect(f.worker, &first));
    tern_cell *memory = memory_of(&first);
    mark_peer(true);
    tern_reply_give_up(f.worker, &first, peer);
    EXPECT_OK(tern_reply_expect(f.worker, &second));
    CU_ASSERT_EQUAL(second.cell, first.cell);
    answer_direct(&second, 2);
    if (goes_by_puts())
        answer_by_put(&first, memory, 1);
    if (goes_by(TERN_P2P))
        answer_by_message(&first, 1);
    expect_answer(&second, 2);
    tern_reply_release(f.worker, &second);
    CU_ASSERT_EQUAL(count_free(), TERN_CALL_REQUESTS);
    mark_peer(false);
}

/* The living first, and then they die: their cells are looked at again when no other is left. */
static void of_the_dying(void) {
    for (int i = 0; i < TERN_CALL_REQUESTS; i++) {
        tern_return_address address;
        EXPECT_OK(tern_reply_expect(f.worker, &address));
        tern_reply_give_up(f.worker, &address, peer);
    }
    CU_ASSERT_EQUAL(count_free(), goes_by(TERN_P2P) ? TERN_CALL_REQUESTS : 0);
    mark_peer(true);
    CU_ASSERT_EQUAL(count_free(), TERN_CALL_REQUESTS);
    mark_peer(false);
}

/* A call that waits in this process for room is lost when its target has died, and the answer to it
 * is given here. By then its caller may have heard of the death. */
static void of_the_lost(void) {
    tern_return_address first, second;
    const size_t bytes = sizeof(tern_pending_call) + sizeof first;
    tern_pending_call *call = calloc(1, bytes);
    EXPECT_OK(tern_reply_expect(f.worker, &first));
    call->header = tern_record_header(TERN_RECORD_CALL_RETURN, 0, sizeof first);
    memcpy(call->payload, &first, sizeof first);
    mark_peer(true);
    tern_reply_give_up(f.worker, &first, peer);
    EXPECT_OK(tern_reply_expect(f.worker, &second));
    CU_ASSERT_EQUAL(second.cell, first.cell);
    answer_direct(&second, 2);
    tern_count(&f.worker->stats.calls_sent, 1);
    tern_call_lost(f.worker, f.worker->id, call, TERN_ERR_PEER);
    expect_answer(&second, 2);
    tern_reply_release(f.worker, &second);
    /* One that nobody has given up is told. */
    EXPECT_OK(tern_reply_expect(f.worker, &first));
    memcpy(call->payload, &first, sizeof first);
    tern_count(&f.worker->stats.calls_sent, 1);
    tern_call_lost(f.worker, f.worker->id, call, TERN_ERR_PEER);
    CU_ASSERT(tern_reply_arrived(f.worker, &first));
    CU_ASSERT_EQUAL(tern_reply_cell(f.worker, &first)->status, TERN_ERR_PEER);
    tern_reply_release(f.worker, &first);
    mark_peer(false);
    free(call);
}

static void all(void) {
    if (!fixture_open(&f, NULL))
        return;
    /* The last rank to the first, so that some peers are remote however ranks share nodes. */
    peer = (f.rank + f.size - 1) % f.size;
    of_the_living();
    of_the_dead();
    of_the_dying();
    of_the_lost();
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"late answers", all}};
    return tern_test_main(argc, argv, "reply_late", tests, sizeof tests / sizeof tests[0]);
}
