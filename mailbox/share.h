#ifndef TERN_MAILBOX_SHARE_H
#define TERN_MAILBOX_SHARE_H

/*
 * The memory of a share:
 *
 *     0             head: what it is; written before anybody else has the descriptor
 *     64            the cores that those who took part may run on, a bit for each
 *     192           a word for each worker that may take part (workers.c)
 *     next line     the mailbox (tern/mailbox.h)
 */

#include <stdatomic.h>

#include "tern/mailbox_host.h"

#define TERN_MAILBOX_CORES 1024u

typedef struct tern_mailbox_share_head {
    uint64_t magic;
    tern_mailbox_shape shape;
    _Atomic(uint32_t) served; /* 1: a server has taken part */
    uint32_t unused[7];
    _Atomic(uint64_t) cores[TERN_MAILBOX_CORES / 64]; /* from offset 64 */
    _Atomic(uint64_t) workers[];
} tern_mailbox_share_head;

struct tern_mailbox_share {
    tern_mailbox_share_head *head;
    tern_mailbox_shape shape; /* checked once; the one in shared memory is not read again */
    size_t bytes;
    int fd;
};

#endif
