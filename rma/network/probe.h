#ifndef TERN_RMA_NETWORK_PROBE_H
#define TERN_RMA_NETWORK_PROBE_H

/* What a network can do is found by doing it: some say that they need no help of a target and do,
 * and some complete nothing. */

#include "rma/network/network.h"
#include "src/context.h"

typedef struct tern_network_findings {
    bool works;            /* a put to a rank that makes progress lands */
    bool one_sided;        /* and one to a rank that sleeps outside of any call */
    uint64_t trip;         /* of a put and its completion, ns */
    uint64_t message_trip; /* of a message of MPI and its answer, ns */
} tern_network_findings;

/* Collective, some 10 ms: between the first ranks of two nodes. */
tern_status tern_network_probe(tern_context *context, tern_network *network,
                               tern_network_findings *findings);

/* Collective: whether the network has atomics, and those of two ranks on one word, each at an end
 * of its own and all at once, lose no update. */
tern_status tern_network_probe_atomics(tern_context *context, tern_network *network, bool *sound);

#endif
