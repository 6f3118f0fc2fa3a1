/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Errors end the program by MPI's default error handler. */

#include "put_poll.h"

#include <string.h>

enum { FLAG = 8, SLOTS = 64 };

static void put(const ceiling_put_poll *way, const void *from, size_t at, size_t bytes) {
    MPI_Put(from, (int)bytes, MPI_BYTE, way->other, (MPI_Aint)at, (int)bytes, MPI_BYTE, way->win);
}

/* MPI's rule: the source of a put must not change until a flush. One flush frees all slots. */
static char *next_slot(ceiling_put_poll *way, size_t size) {
    size_t slots = way->room / size < SLOTS ? way->room / size : SLOTS;
    if (++way->slot >= slots) {
        MPI_Win_flush_local(way->other, way->win);
        way->slot = 0;
    }
    return way->stage + way->slot * size;
}

static void send(ceiling_put_poll *way) {
    size_t data = (way->bytes + 7) & ~(size_t)7;
    char *from = next_slot(way, data + FLAG);
    memcpy(from + data, &way->count, FLAG);
    if (way->apart) {
        put(way, from, way->flag_at - data, way->bytes);
        MPI_Win_flush(way->other, way->win);
        put(way, from + data, way->flag_at, FLAG);
    } else {
        put(way, from, way->flag_at - data, data + FLAG);
    }
}

static void await(const ceiling_put_poll *way) {
    const uint64_t *flag = (const uint64_t *)(const void *)(way->mine + way->flag_at);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != way->count) {
        int there;
        MPI_Iprobe(way->other, 0, way->comm, &there, MPI_STATUS_IGNORE);
    }
}

void ceiling_put_poll_ask(ceiling_put_poll *way, uint64_t n) {
    while (n-- > 0) {
        way->count++;
        send(way);
        await(way);
    }
}

void ceiling_put_poll_answer(ceiling_put_poll *way, uint64_t n) {
    while (n-- > 0) {
        way->count++;
        await(way);
        send(way);
    }
}
