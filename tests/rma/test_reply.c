// tern-test: unit
/*
 * Reply cells from inside (rma/reply/reply.h): an answer that MPI puts word by word, in any order,
 * is not taken before the whole of it is there.
 */

#include "fixture.h"
#include "rma/reply/reply.h"
#include "rma/memory/state.h"

enum { BYTES = 40, WORDS = (offsetof(tern_cell, payload) + BYTES) / 8 };

/* What rma_reply puts. */
static tern_cell image_of(const fixture *f, const tern_return_address *address, char content) {
    tern_cell image;
    memset(&image, content, sizeof image);
    atomic_init(&image.sequence, address->sequence | TERN_REPLY_CHECKED);
    image.status = TERN_OK;
    image.bytes = BYTES;
    image.check = tern_reply_checksum(f->context, &image);
    return image;
}

static uint64_t *own_cell(const fixture *f, const tern_return_address *address) {
    return (uint64_t *)(void *)(tern_rma_worker_of(f->worker)->worker_page +
                                tern_rma_of(f->context)->layout.cells) +
           address->cell * sizeof(tern_cell) / 8;
}

/* Puts the words in the order of a walk that meets each once, beginning with the first, and expects
 * the answer with the last one only. */
static void put_in_steps(fixture *f, size_t step, char content) {
    tern_return_address address;
    if (!EXPECT_OK(tern_reply_expect(f->worker, &address)))
        return;
    const tern_cell image = image_of(f, &address, content);
    uint64_t *cell = own_cell(f, &address);
    for (size_t i = 0, at = 0; i < WORDS; i++, at = (at + step) % WORDS) {
        CU_ASSERT(!tern_reply_arrived(f->worker, &address));
        memcpy(cell + at, (const uint64_t *)(const void *)&image + at, 8);
    }
    CU_ASSERT(tern_reply_arrived(f->worker, &address));
    CU_ASSERT_EQUAL(
        memcmp(tern_reply_cell(f->worker, &address)->payload, image.payload, image.bytes), 0);
    tern_reply_release(f->worker, &address);
}

static void store(fixture *f, char content) {
    tern_return_address address;
    char payload[BYTES];
    memset(payload, content, sizeof payload);
    if (!EXPECT_OK(tern_reply_expect(f->worker, &address)))
        return;
    CU_ASSERT(!tern_reply_arrived(f->worker, &address));
    EXPECT_OK(tern_reply_send(f->worker, f->worker->id, &address, TERN_OK, payload, BYTES));
    CU_ASSERT(tern_reply_arrived(f->worker, &address));
    CU_ASSERT_EQUAL(memcmp(tern_reply_cell(f->worker, &address)->payload, payload, BYTES), 0);
    tern_reply_release(f->worker, &address);
}

/* Also in a cell whose last answer was stored by a rank of the node. */
static void comes_in_pieces(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    _Static_assert(WORDS == 8, "odd steps meet every word");
    for (size_t step = 1; step < WORDS; step += 2) {
        put_in_steps(&f, step, (char)step);
        store(&f, (char)(step + 100));
    }
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"comes in pieces", comes_in_pieces}};
    return tern_test_main(argc, argv, "reply", tests, sizeof tests / sizeof tests[0]);
}
