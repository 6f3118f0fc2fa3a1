/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Bare TCP between two ranks: one connection, whose receiver polls. */

#ifndef TERN_BENCHMARKS_TCP_H
#define TERN_BENCHMARKS_TCP_H

#include <stdint.h>

#include <mpi.h>

/* Collective over comm. The connection, or -1 on both ranks: they did not reach each other. */
int ceiling_tcp_open(MPI_Comm comm, int other);
void ceiling_tcp_close(int connection);

/* Round trips of 8 bytes. */
void ceiling_tcp_ask(int connection, uint64_t n);
void ceiling_tcp_answer(int connection, uint64_t n);

#endif
