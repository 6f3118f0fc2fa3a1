#ifndef TERN_RMA_NETWORK_CAPABILITY_H
#define TERN_RMA_NETWORK_CAPABILITY_H

/* tern tests what a network can do and does not rely on what the network says. Some networks claim
 * to need no help of the target but do need it, some complete operations before the data is there,
 * and some complete no operation at all. */

#include "rma/network/network.h"
#include "src/context.h"

typedef struct tern_network_findings {
    bool works;            /* transfers complete if their target makes progress */
    bool one_sided;        /* also those to and from a rank that sleeps outside of any call */
    uint64_t trip;         /* time of a put with its completion, ns */
    uint64_t message_trip; /* time of a message of MPI with its answer, ns */
    uint64_t looks;        /* completed transfers whose bytes the test has looked at */
    uint64_t early;        /* of these, transfers that had completed before all bytes were there */
} tern_network_findings;

/* Collective: tests the network between the first ranks of two nodes. Takes about 13 ms, and 90 ms
 * if the network needs its targets' help. */
tern_status tern_network_capabilities(tern_context *context, tern_network *network,
                                      tern_network_findings *findings);

typedef struct tern_network_atomics {
    bool sound;    /* two ranks, each with an end of its own, change one word and lose no update */
    bool coherent; /* nor do the network and the owner's processor */
    uint64_t trip; /* time of an atomic with its completion, ns */
} tern_network_atomics;

/* Collective: tests the network's atomics between the first ranks of two nodes. Nothing is found,
 * and nothing tested, if a rank has none, or does not claim coherence though that is needed. */
tern_status tern_network_test_atomics(tern_context *context, tern_network *network,
                                      bool needs_coherence, tern_network_atomics *found);

#endif
