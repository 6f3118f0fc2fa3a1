/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* A notified put reduced to the data and the word that announces it: each side copies its data to
 * the other side's place and then raises the flag there. */

#include "ceilings.h"

static inline void send(const ceiling_copy_flag *pair, uint64_t *flag, uint64_t count) {
    ceiling_copy(pair->to, pair->from, pair->bytes, 1);
    __atomic_store_n(flag, count, __ATOMIC_RELEASE); /* pairs with the other side's load */
}

static inline void await(const uint64_t *flag, uint64_t count) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != count) /* with the store in send */
        ;
}

void ceiling_copy_flag_ask(ceiling_copy_flag *pair, uint64_t n) {
    while (n-- > 0) {
        pair->flag.count++;
        send(pair, pair->flag.there, pair->flag.count);
        await(pair->flag.back, pair->flag.count);
    }
}

void ceiling_copy_flag_answer(ceiling_copy_flag *pair, uint64_t n) {
    while (n-- > 0) {
        pair->flag.count++;
        await(pair->flag.there, pair->flag.count);
        send(pair, pair->flag.back, pair->flag.count);
    }
}

void ceiling_copy_flag_take(ceiling_copy_flag *pair, uint64_t n) {
    while (n-- > 0) {
        pair->flag.count++;
        __atomic_store_n(pair->flag.there, pair->flag.count, __ATOMIC_RELEASE); /* with await */
        await(pair->flag.back, pair->flag.count);
        ceiling_copy(pair->to, pair->from, pair->bytes, 1);
    }
}
