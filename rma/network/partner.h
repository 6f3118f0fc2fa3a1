#ifndef TERN_RMA_NETWORK_PARTNER_H
#define TERN_RMA_NETWORK_PARTNER_H

/* Two ranks test a network: rank 0 and the first rank of another node. These functions exchange
 * messages of MPI between the two and make their operations over the network. */

#include "rma/network/network.h"
#include "src/context.h"

/* What the target, rank 0, tells the origin. */
typedef struct tern_invitation {
    tern_network_name name;
    tern_network_rkey rkey;
    bool good;
} tern_invitation;

/* The rank that is the origin: the first one of another node than rank 0's. */
uint32_t tern_partner_origin(const tern_context *context);

tern_status tern_partner_send(tern_context *context, uint32_t to, const void *data, size_t bytes);
tern_status tern_partner_take(tern_context *context, uint32_t from, void *data, size_t bytes);
/* Waits for a message of one byte. Meanwhile it makes progress of the network, unless that is
 * NULL. */
tern_status tern_partner_hear(tern_context *context, tern_network *network, uint32_t from,
                              char *byte);

/* Posts an operation and waits for its end. posted: false at the first call. TERN_ERR_TIMEOUT: it
 * did not end within limit nanoseconds; another call goes on waiting for it. */
tern_status tern_partner_act(tern_network *network, tern_network_end *end,
                             const tern_network_post *post, bool *posted, uint64_t limit);

/* Deregisters memory, which may be NULL. */
void tern_partner_remove(tern_network *network, tern_network_memory *memory);

#endif
