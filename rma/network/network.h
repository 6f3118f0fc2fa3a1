#ifndef TERN_RMA_NETWORK_NETWORK_H
#define TERN_RMA_NETWORK_NETWORK_H

/*
 * A network reaches remote memory without MPI. A process has one network, which holds the end at
 * which other ranks reach its memory. Each worker that talks to remote ranks has a port of its own,
 * where it posts operations and takes their completions, so workers share no lock. A network only
 * posts and completes; rma/port/port.h makes tern's operations from that.
 */

#include <stdatomic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tern/config.h"
#include "tern/stats.h"
#include "tern/status.h"

/* What one side of a connection (between an end and a process) tells the other. */
#define TERN_NETWORK_NAME_MAX 88u
typedef struct tern_network_name {
    uint64_t bytes;
    char text[TERN_NETWORK_NAME_MAX];
} tern_network_name;

/* Names registered memory of a rank in the operations of other ranks. */
typedef struct tern_network_rkey {
    uint64_t rkey;
    uint64_t base; /* what operations call its first byte: its address there, or 0 */
} tern_network_rkey;

typedef struct tern_network_memory tern_network_memory; /* registered */
typedef struct tern_network_end tern_network_end; /* end of a port; each network has its own kind */

/* Atomics are of 8 bytes or, where the network has them, of 4. */
typedef enum tern_network_act {
    TERN_NETWORK_READ,
    TERN_NETWORK_WRITE,
    TERN_NETWORK_ADD,
    TERN_NETWORK_CAS
} tern_network_act;

/* The words of an atomic, at `here`. */
typedef struct tern_network_words {
    uint64_t old; /* [out] the old word */
    uint64_t operand, expected;
} tern_network_words;

/* An operation. It is under way until the port completes its context. */
#define TERN_NETWORK_CONTEXT 128u
typedef struct tern_network_post {
    tern_network_act act;
    uint64_t peer;
    tern_network_rkey there;
    uint64_t offset; /* in the memory that the rkey names */
    void *here;
    tern_network_memory *local; /* memory in which `here` lies; NULL: it is not registered */
    size_t bytes;               /* bytes read or written there */
    bool late;     /* a write for whose end nobody waits: it may complete late, see hasten */
    bool more;     /* others follow soon: it may start together with them, see start */
    void *context; /* TERN_NETWORK_CONTEXT bytes for the network, while under way */
} tern_network_post;

typedef struct tern_network_done {
    void *context;
    tern_status status; /* TERN_ERR_NETWORK comes without an error detail */
} tern_network_done;

typedef struct tern_network_options {
    bool one_machine; /* all ranks run on one machine */
    bool threads;     /* tern may start threads in this process */
    tern_ofi_progress progress;
    const char *device; /* "": any card */
    size_t gid_index;   /* TERN_VERBS_GID_ANY */
    size_t service_level;
    size_t traffic_class;
    size_t partition_key; /* 0: the first of the port */
    size_t mtu;           /* 0: that of the card */
    size_t queue_pairs;   /* largest number of an end */
} tern_network_options;

struct tern_network_ops;

/* What a network's card has reported of itself. */
typedef enum tern_network_trouble {
    TERN_NETWORK_FINE,
    TERN_NETWORK_PORT_DOWN, /* operations fail until the port is active again */
    TERN_NETWORK_FAILED     /* for good: operations under way may never complete */
} tern_network_trouble;

/* The beginning of every network's state. */
typedef struct tern_network {
    const struct tern_network_ops *ops;
    const char *name;       /* name of the provider: ranks that reach each other have the same */
    const char *card;       /* name of the card, for logs */
    bool one_sided;         /* claims to need no help of the target's process */
    bool helped;            /* a helper makes its progress while no worker does */
    bool local_memory;      /* moves only registered memory; registers other memory for each post */
    bool shares_keys;       /* memory of add_memory serves as `local` of every end, too */
    bool connects;          /* after a failed operation its connection cannot be used any more */
    size_t connections_max; /* of an end; 0: the network manages them itself */
    size_t post_max;        /* bytes of one post */
    size_t inline_max;      /* bytes that a post carries itself */
    bool says_ordered; /* claims to order its writes to one process; tern does not rely on it */
    bool has_atomics;  /* claims to have add and compare of 8 bytes */
    bool has_narrow;   /* and of 4 bytes */
    bool coherent;     /* claims that these and the processor's are atomic with each other */
    _Atomic uint64_t rounds;   /* of progress that workers have made */
    _Atomic uint32_t welcomed; /* ends of other processes that may reach this one */
    _Atomic uint32_t trouble;  /* tern_network_trouble */
    pthread_mutex_t lock;      /* held during progress and registration */
} tern_network;

typedef struct tern_network_ops {
    /* TERN_ERR_UNSUPPORTED: the machine has no such network. */
    tern_status (*open)(const tern_network_options *options, tern_network **network);
    void (*close)(tern_network *network);
    /* The lock is held for these five. welcome lets an end of another process, that of worker
     * `from`, reach this one. [out] name: what that end needs for it. The same offer gets the same
     * answer. TERN_ERR_NETWORK: the offer is older than one that was welcomed before. */
    tern_status (*welcome)(tern_network *network, uint64_t from, const tern_network_name *offer,
                           tern_network_name *name);
    /* Closes the connection that this offer began, since the worker has left it. A connection that
     * another offer began stays. */
    void (*dismiss)(tern_network *network, uint64_t from, const tern_network_name *offer);
    tern_status (*add_memory)(tern_network *network, void *base, size_t bytes,
                              tern_network_memory **memory, tern_network_rkey *rkey);
    void (*remove_memory)(tern_network *network, tern_network_memory *memory);
    /* Does the work that operations of other processes need in this one. NULL: they need none. */
    void (*progress)(tern_network *network);

    tern_status (*open_end)(tern_network *network, tern_network_end **end);
    void (*close_end)(tern_network_end *end);
    /* Counts in `stats` what the end does from now on. NULL: the network does not count. */
    void (*count)(tern_network_end *end, tern_stats *stats);
    /* Registers memory of this process for the end to move; remove_memory undoes it. NULL: no
     * registration is needed. */
    tern_status (*add_local)(tern_network_end *end, void *base, size_t bytes,
                             tern_network_memory **memory);
    /* Begins a connection to another process. peer: 0, or that of a failed connection. [out] peer,
     * offer. TERN_ERR_AGAIN: operations on the failed connection must complete first.
     * TERN_ERR_MEMORY: the caller must leave another connection first. */
    tern_status (*offer)(tern_network_end *end, uint64_t *peer, tern_network_name *offer);
    /* Closes a connection on which no operation is under way. peer: can be passed to offer again.
     * [out] offer: that of the connection, for the process that has welcomed it. */
    void (*leave)(tern_network_end *end, uint64_t peer, tern_network_name *offer);
    /* Completes a connection that an offer began. name: the answer of the other process. */
    tern_status (*reach)(tern_network_end *end, const tern_network_name *name, uint64_t *peer);
    /* Starts an operation. TERN_ERR_AGAIN: others must complete first. TERN_ERR_MEMORY: `here`
     * cannot be registered. TERN_ERR_NETWORK. */
    tern_status (*post)(tern_network_end *end, const tern_network_post *post);
    /* Starts the posts that wait for those that follow. complete and hasten do that, too. NULL: no
     * post waits. */
    void (*start)(tern_network_end *end);
    /* Called when the caller begins to wait for the late posts to a peer: they complete as soon as
     * they can. Otherwise they complete with a later post to that peer, or some time after calls of
     * `complete` find nothing. NULL: posts do not complete late. */
    void (*hasten)(tern_network_end *end, uint64_t peer);
    /* Ends all operations to a peer soon, for a caller that has given them up: they fail, and after
     * that the network touches no memory for them. NULL: they end when the network ends them. */
    void (*retire)(tern_network_end *end, uint64_t peer);
    /* Takes up to `most` completions; returns how many. */
    size_t (*complete)(tern_network_end *end, tern_network_done *done, size_t most);
    /* Reads what the card has reported, and sets `trouble`; a system call. For long waits of
     * workers that have nothing under way; complete reads it in others. NULL: cards report nothing.
     */
    void (*look)(tern_network *network);
} tern_network_ops;

/* Makes the network's progress for operations of other processes, unless another thread is doing
 * so. */
static inline void tern_network_progress(tern_network *network) {
    if (network->ops->progress != NULL && pthread_mutex_trylock(&network->lock) == 0) {
        network->ops->progress(network);
        /* R5; the holder of the lock. R4: helper_run */
        atomic_store_explicit(&network->rounds,
                              atomic_load_explicit(&network->rounds, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        pthread_mutex_unlock(&network->lock);
    }
}

/* Describes the network's trouble for an error detail, with the name of the card. "": it has none.
 */
static inline const char *tern_network_trouble_text(const tern_network *network, char *text,
                                                    size_t bytes) {
    /* R4 */
    const uint32_t trouble = atomic_load_explicit(&network->trouble, memory_order_relaxed);
    text[0] = 0;
    if (trouble != TERN_NETWORK_FINE)
        snprintf(text, bytes,
                 trouble == TERN_NETWORK_FAILED ? "; card %s of this rank has failed"
                                                : "; port %s of this rank is down",
                 network->card);
    return text;
}

/* For tests: returns the functions that are used in the place of those of a network that is being
 * opened. NULL: no hook. */
extern const tern_network_ops *(*tern_network_hook)(const tern_network_ops *ops);

#ifdef TERN_HAVE_VERBS
extern const tern_network_ops tern_network_verbs;
#endif
#ifdef TERN_HAVE_OFI
extern const tern_network_ops tern_network_ofi;
#endif

#endif
