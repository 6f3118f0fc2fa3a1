/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A discrete-event simulation of tern's rings, tables and queues over LogGP. Each rank has one
 * processor and one port. A chain is a thread of operations of a rank, one after the other; a rank
 * with w operations under way has w chains.
 *
 * Puts, gets, frames of records and answers are one-sided: they cost their sender o and no
 * processor at the other end. A call is a record in a ring; each record is published at once, in a
 * frame. Its target sees it after delay, and works for serve. Messages cost o at both ends. The
 * target tells credit when more than half a ring is consumed. Pairs beyond the ring
 * memory of the target send by messages. A ring that has been idle for as long as idle_polls
 * rounds is asleep; the next frame costs a question, its answer and a message that wakes it.
 * Atomics are applied by the port, or by the owner's processor, asked by a message.
 *
 * All ranks are simulated; none stands for others. What is not simulated: the network between the
 * ports (it has no queues), ranks of one node, and first contact unless fresh is set.
 */

#ifndef TERN_BENCHMARKS_SCALE_SIMULATION_H
#define TERN_BENCHMARKS_SCALE_SIMULATION_H

#include "loggp.h"

typedef enum scale_program {
    SCALE_CALL,        /* one-way calls */
    SCALE_CALL_RETURN, /* calls with a result */
    SCALE_PUT,         /* puts, each until it is complete */
    SCALE_INSERT_RMA,  /* of keys into a hash table */
    SCALE_INSERT_CALL,
    SCALE_PUSH_RMA, /* to queues */
    SCALE_PROGRAMS
} scale_program;

typedef enum scale_towards {
    SCALE_UNIFORM, /* a random rank, or the owner of a random key */
    SCALE_ZIPF,    /* the owner of a key drawn by Zipf's law with exponent 1 */
    SCALE_OTHERS,  /* the other ranks in turn */
    SCALE_FIRST    /* rank 0 */
} scale_towards;

typedef struct scale_job {
    scale_loggp costs, message; /* of one-sided transfers, and of messages */
    bool messages;              /* all transfers are messages, as over p2p */
    double issue;               /* ns of the origin's processor for an operation, besides o */
    double serve;               /* of the target's for a record, besides the o of a message */
    double delay;               /* ns until a target sees a record */
    double local;               /* of an operation on the own rank */
    double polls;               /* of an empty round of progress */
    bool by_owner;              /* atomics */
    bool fresh;                 /* rings are opened by the first record */
    scale_program program;
    scale_towards towards;
    uint32_t ranks;
    uint32_t operations; /* of each rank */
    uint32_t under_way;
    uint32_t bytes;        /* of arguments or of data */
    uint32_t results;      /* of a call with a result */
    uint32_t frame_header; /* before each frame of records */
    uint32_t ring_bytes;
    uint32_t credit_bytes; /* consumed bytes after which credit is told; 0: half a ring */
    uint32_t rings;        /* into a rank; further pairs send by messages */
    uint32_t idle_polls, active_rings;
    uint32_t keys; /* of a table, 1 to 2^26 */
    uint64_t seed;
} scale_job;

/* Bytes of the parts of what travels (rma/ring/ring.h, rma/message/message.h, rma/reply/reply.h).
 */
enum {
    SCALE_HEADER = 8,        /* of a record */
    SCALE_FRAME_HEADER = 24, /* before records that are put */
    SCALE_ADDRESS = 16,      /* of an answer, in a call with a result */
    SCALE_MESSAGE = 48,
    SCALE_CELL = 24,  /* of an answer, before the result */
    SCALE_WORD = 16,  /* request for a get or an atomic */
    SCALE_ANSWER = 8, /* of an atomic */
    SCALE_KEYS_MAX = 1 << 26
};

/* Counts of all ranks together. */
typedef struct scale_outcome {
    double ns;         /* until all had ended */
    double p50, p99;   /* ns from the begin to the end of an operation; within 1 % */
    double busiest;    /* share of that time in which the busiest processor worked */
    uint64_t executed; /* operations */
    uint64_t sent, received, bytes_sent, bytes_received; /* whatever travels */
    uint64_t openings, frames, record_bytes, replies, credits, wakes, by_message;
    uint64_t puts, gets, atomics, flushes, retries;
    uint64_t events;
} scale_outcome;

/* False: no memory. */
bool scale_simulate(const scale_job *job, scale_outcome *outcome);

#endif
