#ifndef TERN_RMA_PORT_POSTING_H
#define TERN_RMA_PORT_POSTING_H

/* What the files of a port have in common: port.c, first contact (contact.c), memory (pool.c), ways
 * that are left (eviction.c). */

#include "rma/region/rkey.h"
#include "rma/port/port.h"
#include "rma/port/question.h"
#include "rma/memory/state.h"

#define TERN_BLOCK 64u /* postings that are allocated together */
#define TERN_SLAB 16u  /* copies, likewise */

/* A rank that a port talks to. */
typedef struct tern_route {
    struct tern_route *next;
    uint32_t rank;
    bool reached;           /* there is a way to its end */
    bool met;               /* and a read from its segment has come back */
    tern_posting *greeting; /* that read; NULL: not under way */
    uint64_t greeted[2];    /* magic and nonce of its segment */
    bool lost;              /* dead, and its postings are counted no more */
    bool held;              /* it has a way, or has offered one */
    bool fresh;             /* which has not been used yet */
    uint64_t used;          /* the port's count at the last use, or when it was offered */
    uint64_t peer;          /* held */
    uint32_t under_way;     /* postings */
    tern_status failed;
    uint64_t known; /* a bit for each piece whose key is here */
    tern_network_key key[TERN_PIECES_MAX];
    tern_question question; /* what it was asked, for the piece below */
    uint64_t asked;
    bool offered; /* with the question: the answer ends the way that it began */
    tern_contact answer;
} tern_route;

struct tern_posting {
    _Alignas(TERN_LINE) char context[TERN_NETWORK_CONTEXT]; /* first: the network's */
    tern_posting *next;                                     /* free ones */
    tern_posting *whole;
    tern_route *to;
    /* Of the whole. */
    uint32_t pieces; /* under way, and one more as long as others may be started */
    bool kept;       /* its end will be asked for */
    tern_status status;
    tern_rkey *key;
    /* Of the piece. */
    struct tern_copy_buffer
        *copy;  /* what the network writes from, or reads to; NULL: the program's memory */
    void *back; /* where a read's copy goes; or NULL */
    tern_network_post post;
    bool again;
    bool answers;
    tern_answer_to answer;
    uint64_t lost_at; /* the clock when the network lost it first; 0: it has not */
};

typedef struct tern_copy_buffer {
    struct tern_copy_buffer *next; /* free ones */
    tern_network_memory *local;
    char *bytes; /* port.copy_bytes of them */
} tern_copy_buffer;

typedef struct tern_slab {
    struct tern_slab *next;
    tern_network_memory *local;
    tern_copy_buffer copy[TERN_SLAB];
    _Alignas(TERN_LINE) char bytes[];
} tern_slab;

typedef struct tern_block {
    struct tern_block *next;
    tern_posting posting[TERN_BLOCK];
} tern_block;

/* What tells a process that a way to it was left. */
typedef struct tern_farewell {
    struct tern_farewell *next;
    uint32_t rank;
    tern_question question;
    tern_contact answer;
} tern_farewell;

struct tern_port {
    tern_native *native;
    tern_network_end *end;
    tern_route **by_rank; /* NULL: not talked to */
    tern_route *routes;
    uint32_t under_way; /* postings, without those that are lost */
    bool refused;       /* the network has not taken the last post */
    tern_posting *free;
    tern_block *blocks;
    tern_slab *slabs;
    tern_copy_buffer *free_copies;
    size_t copy_bytes;
    bool bounces;               /* memory could not be registered: large moves go by copies, too */
    tern_posting *lost;         /* which the network has lost, to be tried again */
    uint64_t next_try;          /* at this time */
    uint64_t uses;              /* of its ways */
    size_t ways;                /* that its routes hold */
    tern_route *leaves;         /* takes no new postings, and is left once it has none; or NULL */
    const tern_route *room_for; /* what it is left for, until that has it or leaves another */
    tern_farewell *farewells;   /* under way */
};

/* pool.c: memory of postings and of copies, which is kept until the port closes. */

/* The bytes of a copy are set before the first is taken. NULL: no memory. */
tern_posting *tern_posting_take(tern_port *port, bool copied);
void tern_posting_give(tern_port *port, tern_posting *posting);
void tern_posting_give_copy(tern_port *port, tern_posting *posting);
void tern_postings_close(tern_port *port);

/* eviction.c */

/* [out] offer: of a way that the route holds then. TERN_ERR_AGAIN: another one is to be left first,
 * or postings on the route's own one that has failed are under way. TERN_ERR_MEMORY: there is no
 * other. */
tern_status tern_way_offer(tern_worker *worker, tern_route *to, tern_network_name *offer);
/* Leaves the way that is to be left. TERN_ERR_AGAIN: not before its postings are complete. */
tern_status tern_way_leave(tern_worker *worker, tern_port *port);
/* The route whose way is to be left rather than that of others, but for one; NULL: none. */
tern_route *tern_way_choose(tern_route *routes, const tern_route *but);
void tern_farewells_poll(tern_worker *worker, tern_port *port);
void tern_farewells_close(tern_port *port);

/* contact.c */

/* NULL: no memory. */
tern_route *tern_route_find(tern_port *port, uint32_t rank);
/* TERN_ERR_AGAIN: it has been asked where its end is, and for the piece that the greeting reads. */
tern_status tern_route_reach(tern_worker *worker, tern_route *to);
/* TERN_ERR_AGAIN: it has been asked for the key of the piece, or is being greeted. */
tern_status tern_route_meet(tern_worker *worker, tern_route *to, uint64_t piece);

/* port.c: starts the next part of a move to a rank that was met, or is greeted. */
tern_status tern_posting_start(tern_worker *worker, tern_route *to, const tern_move *move,
                               uint64_t *moved, tern_posting **whole);

#endif
