/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Errors end the program by MPI's default error handler. */

#include "put_poll.h"

#include <string.h>

enum { FLAG = 8, SLOTS = 64 };

static void put(const ceiling_put_poll *pair, const void *from, size_t at, size_t bytes) {
    MPI_Put(from, (int)bytes, MPI_BYTE, pair->other, (MPI_Aint)at, (int)bytes, MPI_BYTE, pair->win);
}

/* MPI's rule: the source of a put must not change until a flush. One flush frees all slots. */
static char *next_slot(ceiling_put_poll *pair, size_t size) {
    size_t slots = pair->room / size < SLOTS ? pair->room / size : SLOTS;
    if (++pair->slot >= slots) {
        MPI_Win_flush_local(pair->other, pair->win);
        pair->slot = 0;
    }
    return pair->stage + pair->slot * size;
}

static void send(ceiling_put_poll *pair) {
    size_t data = (pair->bytes + 7) & ~(size_t)7;
    char *from = next_slot(pair, data + FLAG);
    memcpy(from + data, &pair->count, FLAG);
    if (pair->apart) {
        put(pair, from, pair->flag_at - data, pair->bytes);
        MPI_Win_flush(pair->other, pair->win);
        put(pair, from + data, pair->flag_at, FLAG);
    } else {
        put(pair, from, pair->flag_at - data, data + FLAG);
    }
}

static void await(const ceiling_put_poll *pair) {
    const uint64_t *flag = (const uint64_t *)(const void *)(pair->mine + pair->flag_at);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != pair->count) {
        int there;
        MPI_Iprobe(pair->other, 0, pair->comm, &there, MPI_STATUS_IGNORE);
    }
}

void ceiling_put_poll_ask(ceiling_put_poll *pair, uint64_t n) {
    while (n-- > 0) {
        pair->count++;
        send(pair);
        await(pair);
    }
}

void ceiling_put_poll_answer(ceiling_put_poll *pair, uint64_t n) {
    while (n-- > 0) {
        pair->count++;
        await(pair);
        send(pair);
    }
}
