#ifndef TERN_RMA_NETWORK_PROCESS_H
#define TERN_RMA_NETWORK_PROCESS_H

/*
 * The state that the workers of a process share: its network, and the memory that is registered
 * there. The segment is registered in pieces, each when another rank first asks for it.
 */

#include "rma/network/network.h"
#include "rma/network/capability.h"
#include "src/context.h"

#define TERN_PIECES_MAX 64u /* pieces of a segment; each has a bit in a word */

typedef struct tern_native {
    tern_network *network;
    tern_network_findings findings;
    bool atomics;  /* the network's atomics serve TERN_DOMAIN_GLOBAL, on all ranks */
    bool coherent; /* and the processor's do so among ranks that share memory */
    char *segment;
    uint64_t bytes, piece_bytes;
    tern_network_memory *memory[TERN_PIECES_MAX]; /* NULL: not registered */
    tern_network_rkey rkey[TERN_PIECES_MAX];
} tern_native;

/* Opens the network of this process; local. helped: it may have a helper, if the process may have
 * threads. [out] native. TERN_ERR_UNSUPPORTED. */
tern_status tern_native_open(tern_context *context, const tern_network_ops *ops, bool helped,
                             tern_native **native);
void tern_native_close(tern_native *native);
/* Collective: tests what the network can do, and whether it needs progress of this process. [out]
 * native->findings. */
tern_status tern_native_capabilities(tern_context *context, tern_native *native);

/* TERN_ERR_NETWORK: this rank's card has failed for good, so that operations may never end. */
tern_status tern_native_works(const tern_native *native);

/* [out] memory: that of a piece of this rank's segment, which is registered unless it was before.
 */
tern_status tern_native_piece(tern_native *native, uint64_t piece, tern_network_memory **memory);

/* Registers memory of this rank. [out] memory; rkey: for other ranks. */
tern_status tern_native_add(tern_native *native, void *base, size_t bytes,
                            tern_network_memory **memory, tern_network_rkey *rkey);
void tern_native_remove(tern_native *native, tern_network_memory *memory);

/* What a worker asks another rank at first contact. */
typedef struct tern_contact_question {
    uint64_t leaves;         /* 1: the connection of this offer is closed; nothing is asked for */
    uint64_t piece;          /* piece of the rank's segment */
    tern_network_name offer; /* 0 bytes: the worker has a connection already */
} tern_contact_question;

/* What a rank answers. */
typedef struct tern_contact {
    int64_t status;
    tern_network_rkey rkey; /* of the piece that was asked for */
    tern_network_name name; /* the answer to an offer, if there was one */
} tern_contact;

/* Serves a question of another rank's worker: registers the piece, unless it is registered. Any
 * thread. */
void tern_native_tell(tern_context *context, uint64_t from, const tern_contact_question *question,
                      tern_contact *contact);

#endif
