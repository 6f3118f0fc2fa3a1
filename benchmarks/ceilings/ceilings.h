/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ceilings: for each measured thing the same necessary work with no generality, made as fast as
 * possible. One file each. All except message.c and put_poll.c need neither tern nor MPI;
 * tern-ceilings (alone.c) runs those between two processes of its own.
 *
 * Each function does n operations. No compiler may merge, move or drop one: a compiler barrier (no
 * instruction) follows every operation, as in the loop of tern beside it.
 */

#ifndef TERN_BENCHMARKS_CEILINGS_H
#define TERN_BENCHMARKS_CEILINGS_H

#include <stddef.h>
#include <stdint.h>

/* store_fence.c: a store of 8 bytes and a sequentially consistent fence. */
void ceiling_store_fence(uint64_t *word, uint64_t n);

/* load_chain.c: loads of 8 bytes, each at the offset from base that the load before returned.
 * Returns the last offset. */
uint64_t ceiling_load_chain(const char *base, uint64_t offset, uint64_t n);

/* Makes the chain: one random cycle through all words of bytes bytes. A word holds the offset of
 * the next one, plus shift. */
void ceiling_chain_make(uint64_t *words, size_t bytes, uint64_t shift);

/* fetch_add.c, compare_and_swap.c: the processor's instruction on one word. Each returns the last
 * value that it saw there. */
uint64_t ceiling_fetch_add(uint64_t *word, uint64_t n);
uint64_t ceiling_compare_and_swap(uint64_t *word, uint64_t n);

/* accumulate.c: adds count values to the doubles in as many words. */
void ceiling_accumulate(uint64_t *words, const double *values, size_t count, uint64_t n);

/* copy.c: a copy of a size that the compiler does not know: up to this many bytes inline, above
 * that by memcpy. */
#define CEILING_COPY_INLINE 64
void ceiling_copy(void *to, const void *from, size_t bytes, uint64_t n);
/* The same to slots places in turn, one behind the other. The first word of from counts up from
 * 0. */
void ceiling_copy_stream(char *to, uint64_t slots, uint64_t *from, size_t bytes, uint64_t n);

/*
 * flag.c: a round trip over two cache lines. Each word has one writer, which counts up.
 */
typedef struct ceiling_flag {
    uint64_t *there; /* the asker writes it, in the answerer's memory */
    uint64_t *back;  /* the answerer writes it, in the asker's memory */
    uint64_t count;  /* each side has its own */
} ceiling_flag;

void ceiling_flag_ask(ceiling_flag *flag, uint64_t n);
void ceiling_flag_answer(ceiling_flag *flag, uint64_t n);

/*
 * copy_flag.c: the same with data, which each side copies to the other before it raises the flag.
 */
typedef struct ceiling_copy_flag {
    ceiling_flag flag;
    void *to; /* in the other side's memory */
    const void *from;
    size_t bytes;
} ceiling_copy_flag;

void ceiling_copy_flag_ask(ceiling_copy_flag *pair, uint64_t n);
void ceiling_copy_flag_answer(ceiling_copy_flag *pair, uint64_t n);
/* The same for an asker that sends the flag alone, and copies the answered data itself: bytes from
 * from, where the other side puts them, to to. */
void ceiling_copy_flag_take(ceiling_copy_flag *pair, uint64_t n);

/*
 * ring.c: records from one process to another, with one indirect call each. They are published one
 * by one or several together.
 */
typedef void (*ceiling_handler)(void *argument, const void *payload, size_t bytes);

typedef struct ceiling_ring {
    char *data;         /* in the consumer's memory, zeroed */
    uint64_t *consumed; /* position, in the producer's memory, zeroed; the consumer writes it */
    uint64_t bytes;     /* of the ring: a whole number of records */
    uint64_t record;    /* of one record, including its header */
    uint64_t batch;     /* number of bytes published together; 0: each record at once */
    /* each side has its own */
    uint64_t position; /* bytes produced or consumed since the beginning; only grows */
    uint64_t offset;   /* position modulo bytes */
    uint64_t limit;    /* producer: the position up to which it may produce; consumer: the position
                          from which it tells consumed */
} ceiling_ring;

/* Makes a ring of about bytes bytes for payloads of 8, 64 or 256 bytes. */
void ceiling_ring_make(ceiling_ring *ring, char *data, uint64_t *consumed, uint64_t bytes,
                       uint64_t payload, uint64_t batch);
/* Copies each payload from payload, whose first word counts up from 1. */
void ceiling_ring_produce(ceiling_ring *ring, uint64_t *payload, uint64_t bytes, unsigned function,
                          uint64_t n);
/* Calls handlers[function] for each of n records, from one or several rings. pauses: how long the
 * consumer waits before it looks again when all rings are empty. */
void ceiling_rings_consume(ceiling_ring *rings, size_t count, const ceiling_handler *handlers,
                           void *argument, unsigned pauses, uint64_t n);

/*
 * copy_ring.c: bytes from one process to another, without headers or calls.
 */
typedef struct ceiling_copy_ring {
    char *data;         /* in the consumer's memory */
    uint64_t *produced; /* positions, zeroed, on separate lines: in the consumer's memory, */
    uint64_t *consumed; /* and in the producer's */
    uint64_t bytes;     /* of the ring: a whole number of payloads */
    uint64_t payload;
    /* each side has its own */
    uint64_t position; /* bytes since the beginning; only grows */
    uint64_t offset;   /* position modulo bytes */
    uint64_t limit;    /* producer: the position up to which it may produce */
    uint64_t told;     /* consumer: the last position told in consumed */
} ceiling_copy_ring;

/* Makes a ring of about bytes bytes for payloads of 8, 64 or 256 bytes. */
void ceiling_copy_ring_make(ceiling_copy_ring *ring, char *data, uint64_t *produced,
                            uint64_t *consumed, uint64_t bytes, uint64_t payload);
/* Copies n payloads, whose first word counts up from 1. */
void ceiling_copy_ring_produce(ceiling_copy_ring *ring, uint64_t *payload, uint64_t n);
/* Waits for n payloads. Returns the sum of the first words of their lines; for 8 bytes, of all
 * words. */
uint64_t ceiling_copy_ring_consume(ceiling_copy_ring *ring, uint64_t n);

/*
 * flag_tree.c: a word goes from rank 0 to all ranks, passed on from rank to rank, until all ranks
 * have told rank 0 that they have it.
 */
#define CEILING_TREE_LINE 128

typedef struct ceiling_flag_tree {
    char *there; /* one line for each rank, which its parent in the tree writes; zeroed */
    char *back;  /* one line for each rank, in which it tells rank 0; zeroed */
    unsigned rank, ranks;
    unsigned arity; /* number of ranks to which each rank passes the word on */
    uint64_t count; /* each rank has its own */
} ceiling_flag_tree;

void ceiling_flag_tree_send(ceiling_flag_tree *tree, uint64_t n); /* rank 0 */
void ceiling_flag_tree_pass(ceiling_flag_tree *tree, uint64_t n); /* every other rank */

/*
 * table.c: an open-addressed table of 8-byte keys and values over two parts. queue.c: a queue of
 * 8-byte items. Both assume what tern has to check: that there is a free bucket or slot, that the
 * entry is there and complete, that the item has been pushed.
 */
typedef struct ceiling_bucket {
    uint64_t state; /* 0: free */
    uint64_t key, value;
    uint64_t unused; /* makes a bucket as large as tern's */
} ceiling_bucket;

typedef struct ceiling_table {
    ceiling_bucket *part[2]; /* zeroed */
    uint64_t buckets;        /* of one part, less than 2^32 */
} ceiling_table;

/* The keys of a run: mix is a bijection, so different numbers have different keys. */
static inline uint64_t ceiling_mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns a number below bound, which is less than 2^32. */
static inline uint64_t ceiling_random(uint64_t *state, uint64_t bound) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((*state >> 32) * bound) >> 32;
}

/* Inserts n keys, of every second number from first on. The value is the number. */
void ceiling_table_insert(const ceiling_table *table, uint64_t first, uint64_t n);
/* Looks for n random keys of numbers below bound. Returns how many had another value than their
 * number. */
uint64_t ceiling_table_find(const ceiling_table *table, uint64_t *random, uint64_t bound,
                            uint64_t n);
/* Adds 1 to the values of n random keys of numbers below bound. */
void ceiling_table_add(const ceiling_table *table, uint64_t *random, uint64_t bound, uint64_t n);
/* The same, many keys at a time. */
void ceiling_table_add_many(const ceiling_table *table, uint64_t *random, uint64_t bound,
                            uint64_t n);

typedef struct ceiling_queue {
    uint64_t *tail, *head; /* on separate lines */
    uint64_t *items;
    uint64_t mask; /* capacity - 1; the capacity is a power of two */
} ceiling_queue;

/* Each operation uses a random one of count queues. */
void ceiling_queue_push(const ceiling_queue *queues, uint64_t count, uint64_t *random,
                        const uint64_t *item, uint64_t n);
/* Returns the exclusive or of the items. */
uint64_t ceiling_queue_pop(const ceiling_queue *queues, uint64_t count, uint64_t *random,
                           uint64_t n);

/*
 * update.c: adds 1 repeatedly to the word of the object that which names: by the locked instruction
 * in memory that others update too, and to counts of this process alone. mask: number of entries of
 * which, less 1.
 */
void ceiling_update_shared(char *objects, uint64_t apart, const uint32_t *which, uint64_t mask,
                           uint64_t n);
void ceiling_update_private(uint64_t *counts, const uint32_t *which, uint64_t mask, uint64_t n);

/*
 * apps.c: words of a table over two parts, word i in part i % 2. which names the words in turn: 1
 * is added by the locked instruction, or the word is copied to got. mask: number of entries of
 * which and of got, less 1. first: the first entry to use.
 */
void ceiling_histogram(uint64_t *const part[2], const uint32_t *which, uint64_t mask,
                       uint64_t first, uint64_t n);
void ceiling_gather(uint64_t *const part[2], const uint32_t *which, uint64_t mask, uint64_t first,
                    uint64_t n, uint64_t *got);

/* hex.c: plays n random games from an empty 11 x 11 board. Returns how many black wins. */
uint64_t ceiling_hex(uint64_t seed, uint64_t n);

/*
 * system.c: round trips by the system: on two words, for which both sides wait asleep, and of eight
 * bytes by two pipes or a socket. The functions return whether all went well.
 */
typedef struct ceiling_futex {
    uint32_t *there, *back; /* shared, zeroed */
    uint32_t count;         /* each side has its own */
} ceiling_futex;

void ceiling_futex_ask(ceiling_futex *futex, uint64_t n);
void ceiling_futex_answer(ceiling_futex *futex, uint64_t n);
int ceiling_bytes_ask(int to, int from, uint64_t n);
int ceiling_bytes_answer(int to, int from, uint64_t n);

#endif
