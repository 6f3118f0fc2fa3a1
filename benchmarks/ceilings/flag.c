/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The flag is the payload: 8 bytes each way. The waits have no pause, since each side owns its
 * core. */

#include "ceilings.h"

void ceiling_flag_ask(ceiling_flag *flag, uint64_t n) {
    uint64_t *there = flag->there, *back = flag->back, count = flag->count;
    for (const uint64_t end = count + n; count < end;) {
        count++;
        __atomic_store_n(there, count, __ATOMIC_RELEASE);        /* pairs with the load in answer */
        while (__atomic_load_n(back, __ATOMIC_ACQUIRE) != count) /* with the store there */
            ;
    }
    flag->count = count;
}

void ceiling_flag_answer(ceiling_flag *flag, uint64_t n) {
    uint64_t *there = flag->there, *back = flag->back, count = flag->count;
    for (const uint64_t end = count + n; count < end;) {
        count++;
        while (__atomic_load_n(there, __ATOMIC_ACQUIRE) != count) /* with the store in ask */
            ;
        __atomic_store_n(back, count, __ATOMIC_RELEASE); /* with the load in ask */
    }
    flag->count = count;
}
