/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bare libfabric between two ranks: one endpoint on each side, writes and reads, with no
 * generality. Both sides read completions while they wait, since some providers move nothing
 * otherwise.
 */

#ifndef TERN_BENCHMARKS_FABRIC_H
#define TERN_BENCHMARKS_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

typedef struct ceiling_fabric ceiling_fabric;

/* Collective over comm, which is used for nothing else. NULL on both ranks: there is no provider.
 * most: bytes of the largest operation. [out] name: of the provider, static memory. */
ceiling_fabric *ceiling_fabric_open(MPI_Comm comm, int other, size_t most, const char **name);
void ceiling_fabric_close(ceiling_fabric *fabric);

/* Round trips of a write of 8 bytes or more into memory whose last word the other side polls. */
void ceiling_fabric_ask(ceiling_fabric *fabric, uint64_t bytes, uint64_t n);
void ceiling_fabric_answer(ceiling_fabric *fabric, uint64_t bytes, uint64_t n);

/* n operations, each complete at the target before the next. */
void ceiling_fabric_write(ceiling_fabric *fabric, uint64_t bytes, uint64_t n);
void ceiling_fabric_read(ceiling_fabric *fabric, uint64_t bytes, uint64_t n);
/* n writes, many under way. */
void ceiling_fabric_stream(ceiling_fabric *fabric, uint64_t bytes, uint64_t n);
/* What the target does meanwhile. */
void ceiling_fabric_attend(ceiling_fabric *fabric);

#endif
