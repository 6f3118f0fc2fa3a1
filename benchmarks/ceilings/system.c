/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Round trips by the system: a waiting side sleeps in the kernel. */

#include "ceilings.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wake(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with the load in sleep_until */
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_until(uint32_t *word, uint32_t value) {
    for (;;) {
        uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE); /* with the store in wake */
        if (now == value)
            return;
        (void)syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
    }
}

void ceiling_futex_ask(ceiling_futex *futex, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        futex->count++;
        wake(futex->there, futex->count);
        sleep_until(futex->back, futex->count);
    }
}

void ceiling_futex_answer(ceiling_futex *futex, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        futex->count++;
        sleep_until(futex->there, futex->count);
        wake(futex->back, futex->count);
    }
}

/* Pipes and sockets write and read eight bytes as a whole. */
int ceiling_bytes_ask(int to, int from, uint64_t n) {
    for (uint64_t i = 1, got = 0; i <= n; i++)
        if (write(to, &i, sizeof i) != (ssize_t)sizeof i ||
            read(from, &got, sizeof got) != (ssize_t)sizeof got || got != i)
            return 0;
    return 1;
}

int ceiling_bytes_answer(int to, int from, uint64_t n) {
    uint64_t got = 0;
    for (uint64_t i = 0; i < n; i++)
        if (read(from, &got, sizeof got) != (ssize_t)sizeof got ||
            write(to, &got, sizeof got) != (ssize_t)sizeof got)
            return 0;
    return 1;
}
