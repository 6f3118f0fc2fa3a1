#ifndef TERN_RMA_PORT_POSTING_H
#define TERN_RMA_PORT_POSTING_H

/* Shared by the files of a port: port.c, first contact (contact.c), memory (pool.c), and the
 * eviction of connections (eviction.c). */

#include "rma/region/rkey.h"
#include "rma/port/local.h"
#include "rma/port/port.h"
#include "rma/port/question.h"
#include "rma/memory/state.h"

#define TERN_BLOCK 64u         /* postings in one allocation */
#define TERN_COPY_UNIT 8192u   /* a copy takes a run of units of so many bytes, */
#define TERN_COPY_UNITS_MAX 8u /* at most so many */
#define TERN_SLAB 16u          /* units in one allocation */
#define TERN_SLABS_MAX 16u     /* slabs of a port, without those that copies to lost ranks fill */

/* A rank that a port talks to. */
typedef struct tern_route {
    struct tern_route *next;
    uint32_t rank;
    bool reached;           /* the port has a working connection to the rank's end */
    bool met;               /* and a read from its segment has succeeded */
    tern_posting *greeting; /* that read; NULL: not under way */
    uint64_t greeted[2];    /* what it has read: magic and nonce of the segment */
    bool lost;              /* the rank is dead; port.under_way no longer counts its postings */
    bool held;              /* has a connection, or has offered one */
    bool fresh;             /* the connection has not been used yet */
    uint64_t used;          /* port.uses at the last use, or when the connection was offered */
    uint64_t peer;          /* the network's name for the connection, if held */
    uint32_t under_way;     /* number of postings */
    uint32_t units_taken;   /* by their copies */
    uint64_t losses[TERN_LOSSES]; /* operations that were not kept and that the network has lost */
    uint64_t told[TERN_FLUSHERS]; /* of losses[TERN_LOSS_FLUSH], how many a flush has told of */
    uint64_t known;               /* a bit for each piece whose rkey is known */
    tern_network_rkey rkey[TERN_PIECES_MAX];
    tern_question question; /* the open question to the rank, for piece asked */
    uint64_t asked;
    bool offered; /* the question carried an offer: its answer completes the connection */
    tern_contact answer;
} tern_route;

/* Memory that holds the data of a posting for the network: units of a slab, one after the other. */
typedef struct tern_copy {
    struct tern_slab *slab; /* NULL: the posting has no copy */
    char *bytes;
    uint32_t first, units;
} tern_copy;

struct tern_posting {
    _Alignas(TERN_LINE) char context[TERN_NETWORK_CONTEXT]; /* first; for the network */
    tern_posting *next;                                     /* in the list of free ones */
    tern_posting *whole;                                    /* the first posting of the operation */
    tern_route *to;
    /* Valid in the first posting, which stands for the whole. */
    uint32_t pieces; /* postings under way, plus 1 while more may be started */
    bool kept;       /* the caller will ask for its end */
    tern_loss loss;  /* not kept: what tells of its loss */
    tern_status status;
    tern_rkey *rkey;
    /* Valid in every posting. */
    tern_copy copy;           /* holds the data for the network; without it, post.here does */
    tern_local_region *local; /* the region in which post.here lies; or NULL */
    void *back;               /* where the result of a read is copied; or NULL */
    tern_network_post post;
    bool again;   /* as in tern_move */
    bool answers; /* it writes a reply, into the cell `answer` */
    tern_answer_to answer;
    uint64_t lost_at; /* time when the network first lost it; 0: not lost */
};

typedef struct tern_slab {
    struct tern_slab *next, *next_open; /* in the lists of the port */
    tern_network_memory *local;         /* NULL: the network needs no registration */
    uint32_t used;                      /* a bit for each unit */
    _Alignas(TERN_LINE) char bytes[TERN_SLAB * TERN_COPY_UNIT];
} tern_slab;

typedef struct tern_block {
    struct tern_block *next;
    tern_posting posting[TERN_BLOCK];
} tern_block;

/* A question that tells a process that a connection to it was closed. */
typedef struct tern_farewell {
    struct tern_farewell *next;
    uint32_t rank;
    tern_question question;
    tern_contact answer;
} tern_farewell;

struct tern_port {
    tern_native *native;
    tern_network_end *end;
    tern_locals locals;
    tern_route **by_rank; /* NULL: never used */
    tern_route *routes;
    uint32_t under_way; /* postings, without those to lost ranks */
    bool refused;       /* the network had no room for the last post */
    bool gathers;       /* tern_port_gather */
    bool waits;         /* some posts may wait for further ones */
    tern_posting *free;
    tern_block *blocks;
    tern_slab *slabs;
    tern_slab *open_slabs; /* those with a free unit */
    uint32_t slab_count;
    uint32_t units_taken;       /* by copies, without those to lost ranks */
    uint32_t units_lost;        /* by copies to lost ranks */
    tern_posting *lost;         /* postings that the network has lost and that are tried again */
    uint64_t next_try;          /* time of the next try */
    uint64_t uses;              /* counts the uses of all connections */
    size_t connections;         /* number of connections that its routes hold */
    tern_route *leaves;         /* takes no new postings; its connection is closed next; or NULL */
    const tern_route *room_for; /* the route for which room is made or reserved; or NULL */
    tern_farewell *farewells;   /* not answered yet */
};

/* pool.c: memory of postings and of their copies, which the port keeps until it closes. */

/* Takes a posting. copied: bytes of the move, of which it gets a copy of up to TERN_COPY_MAX bytes;
 * 0: it needs none. The copy has fewer units than that only if no other copy is under way that will
 * make room. NULL: no memory, or the caller waits for other copies to land. */
tern_posting *tern_posting_take(tern_port *port, uint64_t copied);
void tern_posting_give(tern_port *port, tern_posting *posting);
void tern_posting_give_copy(tern_port *port, tern_posting *posting);
/* Takes back the registrations of the copies, before the end is closed. */
void tern_copies_withdraw(tern_port *port);
void tern_postings_close(tern_port *port);

/* eviction.c */

/* Begins a connection for a route. [out] offer: for the rank. TERN_ERR_AGAIN: another connection
 * must be closed first, or postings on the route's failed connection are still under way.
 * TERN_ERR_MEMORY: no memory, and no other connection that could be closed. */
tern_status tern_connection_offer(tern_worker *worker, tern_route *to, tern_network_name *offer);
/* Closes the connection of port->leaves. TERN_ERR_AGAIN: some of its postings are not complete. */
tern_status tern_connection_leave(tern_worker *worker, tern_port *port);
/* Chooses the route whose connection the port closes next, but not `but`. NULL: no other route has
 * a connection. */
tern_route *tern_route_to_evict(tern_route *routes, const tern_route *but);
void tern_farewells_poll(tern_worker *worker, tern_port *port);
void tern_farewells_close(tern_port *port);

/* contact.c */

/* The port's state for a rank, made if need be. NULL: no memory. */
tern_route *tern_route_find(tern_port *port, uint32_t rank);
/* Connects to the rank. TERN_ERR_AGAIN: the rank was asked where its end is, and for the piece that
 * the greeting reads. */
tern_status tern_route_reach(tern_worker *worker, tern_route *to);
/* Makes contact as far as a piece needs it. TERN_ERR_AGAIN: the rank was asked for the piece's
 * rkey, or the greeting is under way. */
tern_status tern_route_meet(tern_worker *worker, tern_route *to, uint64_t piece);

/* port.c: starts the next part of a move to a rank that was met, or the greeting itself. */
tern_status tern_posting_start(tern_worker *worker, tern_route *to, const tern_move *move,
                               uint64_t *moved, tern_posting **whole);

#endif
