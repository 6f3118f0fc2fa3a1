/*
 * plain_client FD: a program without MPI that joins the mailbox behind an inherited descriptor. It
 * makes some calls, and exits with 0 if the answers were right.
 */

#include <stdlib.h>

#include "tern/mailbox_host.h"

enum { CALLS = 50, BYTES = 1000 };

static int call(tern_mailbox_worker *worker, uint8_t seed) {
    uint8_t request[BYTES], reply[2 * BYTES];
    uint64_t bytes = 0, want = BYTES * 5 / 4;
    for (int i = 0; i < BYTES; i++)
        request[i] = (uint8_t)(seed + i);
    if (tern_mailbox_request(worker, request, BYTES, reply, sizeof reply, &bytes, 30000000000u) !=
        TERN_OK)
        return 1;
    for (uint64_t i = 0; i < want; i++)
        if (reply[i] != (uint8_t)(request[i % BYTES] + 1))
            return 2;
    return bytes == want ? 0 : 3;
}

int main(int argc, char **argv) {
    tern_mailbox_share *share = NULL;
    tern_mailbox_worker worker;
    int wrong = 0;
    if (argc != 2 || tern_mailbox_attach(atoi(argv[1]), &share) != TERN_OK)
        return 10;
    if (tern_mailbox_join(share, TERN_MAILBOX_CLIENT, &worker) != TERN_OK)
        return 11;
    for (int i = 0; i < CALLS && wrong == 0; i++)
        wrong = call(&worker, (uint8_t)i);
    tern_mailbox_leave(&worker);
    tern_mailbox_destroy(share);
    return wrong;
}
