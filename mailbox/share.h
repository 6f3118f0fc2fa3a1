#ifndef TERN_MAILBOX_SHARE_H
#define TERN_MAILBOX_SHARE_H

/*
 * The memory of a share:
 *
 *     offset      bytes         content                 written by
 *     0           8             magic                   creator, before others attach
 *     8           24            shape                   creator, before others attach
 *     32          4             served                  a server that joins or leaves; a worker
 *                                                       that removes a dead server
 *     36          28            unused
 *     64          128           cores: one bit for      each worker that joins
 *                               each core that a
 *                               worker may run on
 *     192         8 * workers   one word for each       the worker itself; a worker that removes
 *                               worker (workers.c)      it when it is dead
 *     next line                 the mailbox             clients and servers (tern/mailbox.h)
 */

#include <stdatomic.h>

#include "tern/mailbox_host.h"

#define TERN_MAILBOX_CORES 1024u

typedef struct tern_mailbox_share_head {
    uint64_t magic;
    tern_internal_mailbox_shape shape;
    _Atomic(uint32_t) served; /* 1: a server has taken part */
    uint32_t unused[7];
    _Atomic(uint64_t) cores[TERN_MAILBOX_CORES / 64]; /* at offset 64 */
    _Atomic(uint64_t) workers[];
} tern_mailbox_share_head;

struct tern_mailbox_share {
    tern_mailbox_share_head *head;
    tern_internal_mailbox_shape
        shape; /* checked once; the copy in shared memory is not read again */
    size_t bytes;
    int fd;
};

#endif
