#ifndef TERN_SRC_PEERS_ADDRESS_H
#define TERN_SRC_PEERS_ADDRESS_H

/*
 * Address: where the listener of a rank (src/peers/listener.h) may be reached. The ranks tell each
 * other at creation, and each node keeps one table of all of them in shared memory.
 *
 * A place is a number of an address of a rank. Place 0 is loopback, for ranks of one machine and
 * network, which need no other. The addresses of IPv4 follow from place 1 on, then those of IPv6.
 */

#include "src/context.h"

#define TERN_ADDRESS_V4 4u
#define TERN_ADDRESS_V6 1u
#define TERN_ADDRESS_PLACES (1u + TERN_ADDRESS_V4 + TERN_ADDRESS_V6)
#define TERN_NO_PLACE 255u

typedef struct tern_listener_address {
    uint16_t port;       /* 0: there is no listener */
    uint16_t quiet_port; /* where the kernel refuses connections as long as it runs; 0: none */
    uint8_t count4, count6;
    uint8_t answers;                 /* 1: a thread of the process answers questions */
    uint8_t proven;                  /* the place at which the listeners of its machine were reached
                                        at creation, or TERN_NO_PLACE */
    uint32_t v4[TERN_ADDRESS_V4];    /* in network order */
    uint8_t v6[TERN_ADDRESS_V6][16]; /* no link-local ones */
} tern_listener_address;

_Static_assert(sizeof(tern_listener_address) == 40, "it is exchanged and kept for every rank");

/* Adds the addresses of this machine's interfaces that are up. */
void tern_address_find(tern_listener_address *mine);

/* [out] address: of the rank, a copy whose counts are sound. Returns the number of its places: the
 * first choice is place 0 if there is one place, and else place 1. 0: it has no listener. */
uint32_t tern_address_read(const tern_context *context, uint32_t rank,
                           tern_listener_address *address);

/* The choice with that number, from 0 on and round and round, of one that was read. first: the
 * place to begin with. */
uint32_t tern_address_choice(uint32_t places, uint32_t first, uint32_t number);

/* Starts a connection to a port at a place, without blocking. -1, with errno: none. */
int tern_address_connect(const tern_listener_address *address, uint32_t place, uint16_t port);

/* Whether the address at a place of one is among those of other. */
bool tern_address_is_in(const tern_listener_address *one, uint32_t place,
                        const tern_listener_address *other);

#endif
