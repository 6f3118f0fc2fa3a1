#ifndef TERN_SRC_PEERS_ADDRESS_H
#define TERN_SRC_PEERS_ADDRESS_H

/*
 * Address: the network addresses of a rank's listener (src/peers/listener.h). The ranks exchange
 * them when a context is created, and each node keeps one table of all of them in shared memory.
 *
 * The addresses of a rank have indices. Index 0 is loopback, the only address that ranks of one
 * machine and network need. IPv4 addresses follow from index 1 on, then IPv6 addresses.
 */

#include "src/context.h"

#define TERN_ADDRESS_V4 4u
#define TERN_ADDRESS_V6 1u
#define TERN_ADDRESSES_MAX (1u + TERN_ADDRESS_V4 + TERN_ADDRESS_V6)
#define TERN_NO_ADDRESS 255u

typedef struct tern_listener_address {
    uint16_t port;       /* 0: there is no listener */
    uint16_t quiet_port; /* a port at which the kernel refuses connections as long as the machine
                            runs; 0: none */
    uint8_t count4, count6;
    uint8_t answers;                 /* 1: a thread of the process answers questions */
    uint8_t proven;                  /* index of the address at which another machine reached the
                                        listeners of this machine at creation, or TERN_NO_ADDRESS
                                      */
    uint32_t v4[TERN_ADDRESS_V4];    /* in network order */
    uint8_t v6[TERN_ADDRESS_V6][16]; /* without link-local addresses */
} tern_listener_address;

_Static_assert(sizeof(tern_listener_address) == 40, "it is exchanged and kept for every rank");

/* Adds the addresses of this machine's interfaces that are up. */
void tern_address_find(tern_listener_address *mine);

/* [out] address: a copy of the rank's, with checked counts. Returns the number of its addresses:
 * if it has one, begin with index 0, otherwise with index 1. 0: the rank has no listener. */
uint32_t tern_address_read(const tern_context *context, uint32_t rank,
                           tern_listener_address *address);

/* Returns the index of the address to try in attempt number, from 0 on. Attempts go round all count
 * addresses. first: the index to begin with. */
uint32_t tern_address_choice(uint32_t count, uint32_t first, uint32_t number);

/* Starts a connection to a port at the address with this index, without blocking. Returns a
 * descriptor, or -1 and errno. */
int tern_address_connect(const tern_listener_address *address, uint32_t index, uint16_t port);

/* Whether the address with this index of one is also an address of other. */
bool tern_address_is_in(const tern_listener_address *one, uint32_t index,
                        const tern_listener_address *other);

#endif
