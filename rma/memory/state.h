#ifndef TERN_RMA_MEMORY_STATE_H
#define TERN_RMA_MEMORY_STATE_H

/* The state of the rma layer in contexts and workers. */

#include <pthread.h>

#include "rma/memory/heap.h"
#include "rma/memory/placement.h"
#include "rma/memory/segment.h"
#include "rma/memory/tables.h"
#include "rma/memory/transport_ops.h"
#include "src/context.h"

struct tern_message_engine;
struct tern_native;
struct tern_port;
struct tern_rkey;
struct tern_sleep_ask;
struct tern_window;
typedef struct tern_in tern_in;
typedef struct tern_out tern_out;
typedef struct tern_inbox_message tern_inbox_message;
typedef struct tern_registration tern_registration;

/* Kinds of records. Each layer handles its own. */
enum {
    TERN_RECORD_NONE,
    TERN_RECORD_SKIP,
    TERN_RECORD_MOVED, /* the ring ends here and goes on in another (rma/ring/growth.c) */
    TERN_RECORD_SERVICE,
    TERN_RECORD_CALL,
    TERN_RECORD_CALL_BUFFER,
    TERN_RECORD_CALL_RETURN,
    TERN_RECORD_CALL_EXTENDED,
    TERN_RECORD_NOTIFY,
    TERN_RECORD_RENDEZVOUS,
    TERN_RECORD_TEAM,
    TERN_RECORD_KINDS
};

/* A handler consumes records of its kind from the head of the ring `in` and returns how many. It
 * consumes at least one, unless the record at the head has to wait. It checks each record with
 * tern_ring_check. */
typedef size_t (*tern_record_handler)(tern_worker *worker, tern_in *in);

/* The owner's records of registered memory, and the rkeys of other ranks' regions
 * (rma/region/region.h). */
enum { TERN_RKEY_LIST_BITS = 8, TERN_RKEY_LISTS = 1 << TERN_RKEY_LIST_BITS };

typedef struct tern_regions {
    pthread_mutex_t lock; /* taken after the MPI lock, if both are */
    tern_registration *entry;
    uint32_t slots; /* slots that have ever been used */
    uint32_t last;  /* the slot that was taken last */
    uint32_t live;
    _Atomic uint64_t changes; /* counts the regions that have begun and that have ended */
    /* rma/region/rkey.h */
    struct tern_rkey *_Atomic rkeys[TERN_RKEY_LISTS];
    _Atomic uint32_t unflushed; /* rkeys of regions with puts that no flush has covered */
} tern_regions;

typedef enum tern_inbox_lane {
    TERN_INBOX_OF_HANDLERS, /* its messages run first */
    TERN_INBOX_OF_OTHERS,
    TERN_INBOX_LANES
} tern_inbox_lane;

/* The inbox of a worker (rma/message/inbox.h). */
typedef struct tern_inbox {
    _Atomic(tern_inbox_message *) arrived; /* list, the latest first; any thread pushes */
    /* Only the worker touches these: the messages that it has taken from arrived, in order. */
    struct {
        tern_inbox_message *first, *last;
    } lane[TERN_INBOX_LANES];
    uint32_t *owed;             /* by rank and lane: cost that was taken and not yet reported */
    bool behind;                /* a report is due, but no send buffer was free */
    _Atomic uint64_t delivered; /* messages of ranks of this node; written with the MPI lock */
} tern_inbox;

/* What a worker that asks for answers knows about one of its cells. */
typedef struct tern_cell_use {
    tern_cell *memory;
    uint64_t before;   /* the sequence in the cell when it was reserved */
    uint32_t asked;    /* low half of the ring position behind the record that asks */
    uint32_t ring;     /* 1 + the ring of that record; 0: not known (tern_reply_note_record) */
    uint64_t given_up; /* answers up to this sequence are dropped; written under the MPI lock */
    uint32_t moved;    /* as in tern_return_address */
    uint32_t rank;     /* the rank whose answer was given up */
} tern_cell_use;

typedef struct tern_rma {
    tern_layout layout;
    tern_tables tables;
    char *table_base;
    int fd;                /* of this rank's segment, until it is shared; or -1 */
    tern_segment *segment; /* by rank; base NULL: the rank is not of this node */
    tern_reach *reach;     /* by rank, what the inlined operations read */
    char *mine;            /* base of this rank's segment */
    bool places_shared;    /* context->node and the machines of peers lie in the node's segment */
    tern_placement placement;
    size_t parts; /* of the heap: part i lies on placement.node[i] */
    tern_heap *heap;
    pthread_mutex_t heap_lock;
    const tern_transport_ops *direct;            /* to ranks that share memory */
    const tern_transport_ops *remote;            /* to others; NULL: every rank shares memory */
    const tern_transport_ops *message_transport; /* carries records of message channels */
    struct tern_message_engine *messages;
    _Atomic uint64_t *inbox_used;              /* credit, by worker number and lane (inbox.h) */
    tern_inbox_message *inbox_reserve;         /* for a message that comes when malloc fails */
    _Atomic(tern_inbox_message *) inbox_spare; /* the reserve, or NULL while it is used */
    tern_in *ins;                              /* one for each ring of the arena */
    _Atomic uint32_t ins_used;
    struct tern_message_channel *message_channels; /* of this process; under the MPI lock */
    _Atomic uint64_t message_frames; /* frames that came by messages, without ring memory */
    _Atomic uint64_t message_frames_answered; /* of these, how many led to requests for rings */
    struct tern_window *window;               /* over rma; else NULL */
    struct tern_native *native;               /* over ofi and verbs; else NULL */
    _Atomic uint32_t dials;                   /* questions to listeners that are under way */
    _Atomic uint32_t listener_address_index;  /* index of the address that answered last */
    _Atomic uint32_t listeners_silent;        /* listeners in a row that did not answer */
    _Atomic uint64_t listeners_resume;        /* ns: when listeners are tried after such silence */
    tern_record_handler handler[TERN_RECORD_KINDS];
    struct tern_thread_replies *replies; /* answers for threads without a worker */
    tern_regions regions;
    atomic_bool cma_refused; /* the system does not let processes reach into each other */
} tern_rma;

/* What a flush has to cover. PUTS: puts that MPI may keep back until a flush. RECORDS: all else. */
enum { TERN_DIRTY_RECORDS = 1, TERN_DIRTY_PUTS = 2 };

typedef struct tern_rma_worker {
    tern_out **out;     /* by endpoint; NULL: no ring yet */
    tern_in **in;       /* by endpoint */
    tern_out *outs;     /* list of all rings of out */
    tern_in *ins;       /* list of the rings of in, the latest first */
    tern_in *looked_at; /* the ring of ins that was last checked for being idle; or NULL */
    uint32_t settling;  /* not 0: a ring is being flushed, so no ring is closed */
    _Atomic(struct tern_message_channel *) *message_channels; /* by endpoint */
    /* Rings that are polled: by progress, and by probes. */
    struct {
        tern_in **ring;
        size_t count;
    } active[TERN_CHANNELS];
    tern_out *pending; /* rings with records that progress is to publish */
    bool corked;       /* tern_ring_cork */
    uint32_t rounds;
    uint32_t warm;                         /* number of coming rounds that each ask MPI */
    int numa;                              /* the NUMA node that its memory lies on */
    _Alignas(TERN_LINE) char *worker_page; /* begins the cache line that idle rounds read */
    _Atomic(tern_out *) wanted; /* list of rings that targets want back (rma/ring/reclaim.h) */
    tern_inbox inbox;
    tern_dirty *dirty;     /* by rank: what was sent since the last flush; NULL if all are direct */
    uint32_t *dirty_ranks; /* the ranks with something to flush, in any order */
    uint32_t dirty_count;
    uint32_t puts_left;          /* ranks with TERN_DIRTY_PUTS */
    struct tern_sleep_ask *asks; /* questions under way; rma/ring/sleep.h */
    uint32_t asking;             /* number of them */
    tern_posts *posts;           /* by rank; NULL unless the transport settles posts */
    uint64_t settle_wanted;      /* 1 + the rank whose posts progress is to settle; 0: none */
    struct tern_port *port;      /* to the network; NULL: not used yet */
    uint32_t port_polls;         /* calls of tern_port_poll */
    void **remotes;              /* by rank; used by the port */
    void *words;                 /* spare memory for rma's next atomic or flush; or NULL */
    uint64_t sequence;           /* of the answer that was asked for last */
    uint64_t cells_used;         /* bit per cell */
    uint64_t cells_given_up;     /* cells in use whose answer was given up */
    tern_cell_use cell[TERN_CALL_REQUESTS];
    /* By cell: the low bits of worker->looked when a test last checked the cell. */
    uint16_t cell_looked[TERN_CALL_REQUESTS];
} tern_rma_worker;

static inline tern_rma *tern_rma_of(const tern_context *context) {
    return context->layer[TERN_LAYER_RMA];
}

static inline tern_regions *tern_regions_of(const tern_context *context) {
    return &tern_rma_of(context)->regions;
}

static inline tern_rma_worker *tern_rma_worker_of(const tern_worker *worker) {
    return worker->layer[TERN_LAYER_RMA];
}

static inline void tern_dirty_mark(tern_rma_worker *mine, uint32_t rank, uint32_t what) {
    tern_dirty *dirty = &mine->dirty[rank];
    if (dirty->what == 0) {
        dirty->at = mine->dirty_count;
        mine->dirty_ranks[mine->dirty_count++] = rank;
    }
    mine->puts_left += (what & ~dirty->what & TERN_DIRTY_PUTS) != 0;
    dirty->what |= what;
}

/* Removes a rank from the list of dirty ranks; the last rank takes its place. */
static inline void tern_dirty_clear(tern_rma_worker *mine, uint32_t rank) {
    tern_dirty *dirty = &mine->dirty[rank];
    const uint32_t last = mine->dirty_ranks[--mine->dirty_count];
    mine->puts_left -= (dirty->what & TERN_DIRTY_PUTS) != 0;
    mine->dirty_ranks[dirty->at] = last;
    mine->dirty[last].at = dirty->at;
    dirty->what = 0;
}

/* Whether load/store reaches the segment of the rank. */
static inline bool tern_rank_is_direct(const tern_context *context, uint32_t rank) {
    return tern_rma_of(context)->segment[rank].base != NULL;
}

static inline const tern_transport_ops *tern_transport_to(const tern_context *context,
                                                          uint32_t rank) {
    const tern_rma *rma = tern_rma_of(context);
    return tern_rank_is_direct(context, rank) ? rma->direct : rma->remote;
}

static inline uint32_t tern_rank_of(const tern_context *context, uint32_t number) {
    return number / context->workers;
}

/* Called when something was sent to or came from a remote rank: the next 256 rounds ask MPI. */
static inline void tern_ring_warm(const tern_worker *worker) {
    tern_rma_worker_of(worker)->warm = 256;
}

/* The endpoint index of a worker on one of its channels. Doorbells, tables of rings and credits are
 * indexed by it. */
static inline uint32_t tern_endpoint_of(const tern_context *context, uint32_t channel,
                                        uint32_t number) {
    return channel * context->size * context->workers + number;
}

/* The page of a worker whose segment this process maps. */
static inline char *tern_worker_page(const tern_context *context, uint32_t number) {
    const tern_rma *rma = tern_rma_of(context);
    return rma->segment[tern_rank_of(context, number)].base + rma->layout.worker_pages +
           number % context->workers * rma->layout.worker_page_bytes;
}

/* Offset of a worker's page in its rank's segment. */
static inline uint64_t tern_worker_page_offset(const tern_context *context, uint32_t number) {
    const tern_layout *layout = &tern_rma_of(context)->layout;
    return layout->worker_pages + number % context->workers * layout->worker_page_bytes;
}

static inline tern_ring_header *tern_ring_header_at(const tern_context *context, uint32_t rank,
                                                    uint32_t ring) {
    const tern_rma *rma = tern_rma_of(context);
    return (tern_ring_header *)(void *)(rma->segment[rank].base + rma->layout.rings) + ring;
}

static inline char *tern_ring_data_at(const tern_context *context, uint32_t rank, uint32_t ring) {
    const tern_rma *rma = tern_rma_of(context);
    return rma->segment[rank].base + rma->layout.arena + ring * rma->layout.ring_bytes;
}

/* access.c: applies an atomic by the processor and returns the old word. */
uint64_t tern_atomic_apply(void *word, tern_atomic_op op, unsigned width, uint64_t operand,
                           uint64_t expected);

#endif
