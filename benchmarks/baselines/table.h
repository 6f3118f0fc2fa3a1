/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hash table of BCL (paper 003, section III-B and table II), on tern's public API: a
 * distributed array of buckets with linear probing. A bucket is
 *
 *     state    8 bytes, changed and read by atomics alone, but for finds in a phase
 *     key      8 bytes
 *     value
 *
 * State, from bit 0:
 *
 *     0        taken: the bucket has a key, which never changes again
 *     1        locked: one insert writes the bucket
 *     8..31    tag: bits of the key's hash
 *     54..63   number of finds that read the bucket
 *
 *     insert, read/write    CAS to locked, put, fetch-and-AND to unlock
 *     insert, write only    CAS to taken, put
 *     find, read/write      fetch-and-add of a reader, get, fetch-and-add to take it back
 *     find, read only       get
 *     by call               one round trip; the owner does the operation in its own memory
 *
 * Two things differ from the paper. Readers are counted, where the paper sets one of several bits.
 * The tag is new: an insert passes a bucket of another key without reading it, as the insert of the
 * paper's figure 1 does, and yet finds the bucket of its own key and replaces the value.
 *
 * In a phase of inserts (WRITE_ONLY) or of finds (READ_ONLY), which tern_barrier begins and ends,
 * all operations of all ranks make that promise. The keys of a phase of inserts differ from each
 * other and from those in the table: such an insert reads no key.
 *
 * Linearization points: insert of a new key: the fetch-and-AND; of a known key: the same; find: the
 * fetch-and-add that counts the reader, or that meets a free bucket.
 *
 * One worker of each rank uses the table. A rank that dies leaves what it has locked locked for
 * ever: this is a baseline, not a container.
 */

#ifndef TERN_BASELINES_TABLE_H
#define TERN_BASELINES_TABLE_H

#include <mpi.h>

#include "tern/tern.h"

enum { BASELINE_VALUE_MAX = 1000 };

typedef struct baseline_table baseline_table;

/** Creates a table. Collective over comm, which has the ranks of the context in their order.
 *
 * @param value_bytes 1 to BASELINE_VALUE_MAX
 * @param buckets number of buckets of each rank, 1 or more
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_MEMORY on all ranks if one of them has no room */
tern_status baseline_table_create(tern_worker *worker, MPI_Comm comm, size_t value_bytes,
                                  uint64_t buckets, baseline_table **table);
/** Frees the table. Collective. */
tern_status baseline_table_destroy(tern_worker *worker, baseline_table *table);

/** Stores value under key.
 *
 * @param flags TERN_READ_WRITE or TERN_WRITE_ONLY; with TERN_BY_CALL by call, otherwise by RMA
 * @param[out] existed 1 if the key was there; may be NULL
 * @return TERN_OK; TERN_ERR_FULL if all buckets of the owner have other keys; what tern returns */
tern_status baseline_table_insert(tern_worker *worker, baseline_table *table, uint64_t key,
                                  const void *value, tern_flags flags, int *existed);
/** Finds the value of key.
 *
 * @param flags TERN_READ_WRITE or TERN_READ_ONLY; with TERN_BY_CALL by call, otherwise by RMA
 * @return TERN_OK; TERN_ERR_NOT_FOUND; what tern returns */
tern_status baseline_table_find(tern_worker *worker, baseline_table *table, uint64_t key,
                                tern_flags flags, void *value);

/** Returns the rank that owns key. */
uint32_t baseline_table_owner(const baseline_table *table, uint64_t key);

#endif
