// tern-test: transports
/*
 * A mailbox that the ranks of each node make together: the first rank of a node serves, the others
 * call.
 */

#include <stdlib.h>
#include <sys/stat.h>

#include "fixture.h"
#include "tern/mailbox_node.h"

static uint32_t ended;

static void count_calls(tern_mailbox_service *service, uint32_t slot, const void *request,
                        uint64_t bytes) {
    uint64_t *reply = tern_mailbox_reply(service, slot, sizeof *reply);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reply);
    ended += bytes == 0;
    *reply = 0;
    for (uint64_t i = 0; i < bytes; i++)
        *reply += ((const uint8_t *)request)[i];
}

static void serve(fixture *f, tern_mailbox_share *share, uint32_t clients) {
    tern_mailbox_worker worker;
    tern_mailbox_service service;
    ended = 0;
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_SERVER, &worker));
    EXPECT_OK(tern_mailbox_service_open(&service, share, 100000, count_calls, NULL));
    EXPECT_OK(tern_barrier(f->worker));
    while (ended < clients)
        tern_ignore(tern_mailbox_attend(&worker, &service, 1000000, NULL));
    /* What the last one of them waits for may still be under way. */
    tern_mailbox_leave(&worker);
    tern_mailbox_service_close(&service);
}

static void call(fixture *f, tern_mailbox_share *share) {
    static uint8_t request[20000];
    tern_mailbox_worker worker;
    memset(request, 1, sizeof request);
    EXPECT_OK(tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &worker));
    EXPECT_OK(tern_barrier(f->worker));
    for (uint64_t bytes = sizeof request;; bytes /= 3) {
        uint64_t sum = 99, got = 0;
        EXPECT_OK(tern_mailbox_request(&worker, request, bytes, &sum, sizeof sum, &got,
                                       TERN_MAILBOX_FOREVER));
        CU_ASSERT(got == sizeof sum && sum == bytes);
        if (bytes == 0)
            break;
    }
    tern_mailbox_leave(&worker);
}

static void on_nodes(void) {
    fixture f;
    tern_mailbox_options options = {.slots = 8, .packet_bytes = 256};
    tern_mailbox_share *share = NULL;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT(TERN_ERR_ARGUMENT, tern_mailbox_create_on_node(NULL, &options, &share));
    for (int round = 0; round < 3; round++) {
        if (!EXPECT_OK(tern_mailbox_create_on_node(f.worker, &options, &share)))
            break;
        /* The ranks that have the same memory are those of a node. */
        struct stat info;
        CU_ASSERT_EQUAL(fstat(tern_mailbox_fd(share), &info), 0);
        uint64_t mine = info.st_ino, *all = calloc(f.size, sizeof *all);
        uint32_t first = f.size, count = 0;
        fixture_share(&f, &mine, sizeof mine, all);
        for (uint32_t r = f.size; r-- > 0;) {
            tern_transport transport = TERN_P2P;
            EXPECT_OK(tern_context_transport(f.context, r, &transport));
            if (fixture_all_direct(&f))
                CU_ASSERT_EQUAL(all[r], mine);
            if (all[r] != mine)
                continue;
            first = r;
            count++;
        }
        if (first == f.rank)
            serve(&f, share, count - 1);
        else
            call(&f, share);
        EXPECT_OK(tern_barrier(f.worker));
        tern_mailbox_destroy(share);
        free(all);
    }
    options.slots = f.rank == 0 ? 3 : 4;
    if (f.size > 1)
        EXPECT(TERN_ERR_MISMATCH, tern_mailbox_create_on_node(f.worker, &options, &share));
    options.packet_bytes = 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_mailbox_create_on_node(f.worker, &options, &share));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"on_nodes", on_nodes}};
    return tern_test_main(argc, argv, "mailbox node", tests, 1);
}
