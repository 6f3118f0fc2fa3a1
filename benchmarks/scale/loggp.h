/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * LogGP: the cost of a message of k bytes between two processes, in ns.
 *
 *     o  time of a processor to send or to receive a message
 *     g  least time between two messages at a port
 *     G  time of each further byte at a port
 *     L  time from port to port
 *
 *     origin's processor |--o--|
 *     origin's port            |-(k-1)G-|---g---|
 *     network                           |----L----|
 *     target's port                               |      the next message at least g + (k-1)G later
 *     target's processor                          |--o--|
 *
 * So one message takes o + (k-1)G + L + o.
 */

#ifndef TERN_BENCHMARKS_SCALE_LOGGP_H
#define TERN_BENCHMARKS_SCALE_LOGGP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct scale_loggp {
    double o, g, G, L;
} scale_loggp;

typedef struct scale_network {
    const char *name;
    scale_loggp costs;
    const char *what;
} scale_network;

/* The known networks; one without a name ends them. docs/scaling.md says where their figures come
 * from. */
extern const scale_network scale_networks[];

/* Reads a known name, or four numbers o,g,G,L. False: text is neither. */
bool scale_network_parse(const char *text, scale_network *network);

/* When the processor and the port of a process are free again. */
typedef struct scale_process {
    double processor, out, in;
} scale_process;

/* The processor works for so long from at on, or when it is free. Returns the end. */
double scale_work(scale_process *process, double at, double ns);
/* A message of so many bytes goes to the port. Returns when it arrives at the other end. */
double scale_send(const scale_loggp *costs, scale_process *process, double at, uint32_t bytes);
/* It has arrived there. Returns when the port has taken it. */
double scale_receive(const scale_loggp *costs, scale_process *process, double at, uint32_t bytes);

#endif
