/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI's own one-sided notified transfer: MPI_Put of data and a flag. The target polls its own
 * memory and calls MPI now and then, since some MPIs move nothing otherwise.
 */

#ifndef TERN_BENCHMARKS_PUT_POLL_H
#define TERN_BENCHMARKS_PUT_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

/*
 * A part of the window, the same on both ranks:    ... data | flag
 *                                                  flag_at ^
 * The data ends where the flag begins, so that one put brings both. The ceiling assumes that the
 * data has arrived when the flag has, which MPI does not guarantee. With apart it does not assume
 * that: the data goes first and is flushed before the flag follows.
 */
typedef struct ceiling_put_poll {
    MPI_Win win;
    MPI_Comm comm; /* used for nothing else */
    int other;
    char *mine; /* this rank's part of the window, zeroed at flag_at */
    size_t flag_at;
    char *stage; /* sources of puts, a slot for each operation until all are flushed */
    size_t room; /* bytes of stage */
    size_t bytes;
    bool apart;
    uint64_t count; /* each side has its own */
    size_t slot;
} ceiling_put_poll;

void ceiling_put_poll_ask(ceiling_put_poll *pair, uint64_t n);
void ceiling_put_poll_answer(ceiling_put_poll *pair, uint64_t n);

#endif
