/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* What bench_mailbox.c needs of a layout of flags; bench_mailbox_way.h defines it for each. */

#ifndef TERN_BENCHMARKS_BENCH_MAILBOX_H
#define TERN_BENCHMARKS_BENCH_MAILBOX_H

#include <stddef.h>
#include <stdint.h>

enum { MAILBOX_SLOTS = 16, MAILBOX_PACKET = 64 };

/* A mailbox and how its calls are made. */
typedef struct mailbox_run {
    void *memory;              /* zeroed, of bytes() bytes */
    uint32_t clients, servers; /* number of threads */
    int own;                   /* one client and one server keep a slot permanently */
    int send;                  /* asynchronous calls */
    int crowded;               /* there are more threads than cores */
    int payload;               /* 8 bytes each way; otherwise packets stay untouched */
    uint64_t steps;            /* of all servers in a block */
    uint64_t wrong;
} mailbox_run;

typedef struct mailbox_way {
    const char *layout;
    size_t (*bytes)(void);
    /* Returns a word that mailboxes do not use, on the cache line of the client's or server's flag
     * of the pair's own slot. */
    uint64_t *(*beside_flag)(void *memory, int server);
    /* The client of that number makes n calls and then finishes with the mailbox. */
    void (*call)(mailbox_run *run, uint32_t number, uint64_t n);
    /* The server of that number serves until all servers have taken so many steps. */
    void (*serve)(mailbox_run *run, uint32_t number, uint64_t steps);
} mailbox_way;

extern const mailbox_way mailbox_lines, mailbox_bits, mailbox_cas;

#endif
