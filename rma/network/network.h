#ifndef TERN_RMA_NETWORK_NETWORK_H
#define TERN_RMA_NETWORK_NETWORK_H

/*
 * Network: remote memory without MPI. A process has one network, the end at which other ranks reach
 * its memory. Each worker that talks to far ranks has a port of its own: it posts operations there
 * and takes their completions, so workers share no lock. What operations mean to tern is
 * rma/port/port.h's; a network posts and completes.
 */

#include <stdatomic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/status.h"

/* What one side of a way between an end and a process tells the other. */
#define TERN_NETWORK_NAME_MAX 88u
typedef struct tern_network_name {
    uint64_t bytes;
    char text[TERN_NETWORK_NAME_MAX];
} tern_network_name;

/* What names memory of a rank to others. */
typedef struct tern_network_key {
    uint64_t key;
    uint64_t base; /* what its first byte is called */
} tern_network_key;

typedef struct tern_network_memory tern_network_memory; /* registered */
typedef struct tern_network_end tern_network_end;       /* a port's, of the network's kind */

/* Atomics are of 8 bytes or, where the network has them, of 4. */
typedef enum tern_network_act {
    TERN_NETWORK_READ,
    TERN_NETWORK_WRITE,
    TERN_NETWORK_ADD,
    TERN_NETWORK_CAS
} tern_network_act;

/* What an atomic has at `here`. */
typedef struct tern_network_words {
    uint64_t old; /* [out] what was there before */
    uint64_t operand, expected;
} tern_network_words;

/* An operation. It is under way until the port completes its context. */
#define TERN_NETWORK_CONTEXT 128u
typedef struct tern_network_post {
    tern_network_act act;
    uint64_t peer;
    tern_network_key there;
    uint64_t offset; /* of the memory that the key names */
    void *here;
    tern_network_memory *local; /* that `here` lies in; NULL: it is not registered */
    size_t bytes;               /* that it reads or writes there */
    void *context; /* of TERN_NETWORK_CONTEXT bytes that are the network's while it is under way */
} tern_network_post;

typedef struct tern_network_done {
    void *context;
    tern_status status; /* TERN_ERR_NETWORK with no detail set */
} tern_network_done;

typedef struct tern_network_wish {
    bool one_machine;   /* all ranks are on it */
    const char *device; /* "": any */
    size_t gid_index;   /* TERN_VERBS_GID_ANY */
    size_t service_level;
    size_t mtu;         /* 0: the card's */
    size_t queue_pairs; /* of an end, at most */
} tern_network_wish;

struct tern_network_ops;

/* What every kind begins with. */
typedef struct tern_network {
    const struct tern_network_ops *ops;
    const char *name;          /* of what it stands on: the same for ranks that reach each other */
    const char *card;          /* for people */
    bool one_sided;            /* says that it needs no help of the target's process */
    bool local_memory;         /* moves registered memory only, and registers other for each post */
    bool connects;             /* a way is of no use once an operation on it has failed */
    size_t ways_max;           /* that an end may have at a time; 0: it manages them itself */
    size_t post_max;           /* bytes of one post */
    size_t inline_max;         /* bytes that a post carries itself */
    bool says_ordered;         /* of its writes to one process; tern relies on none */
    bool has_atomics;          /* says that it can add and compare 8 bytes */
    bool has_narrow;           /* and 4 */
    _Atomic uint32_t welcomed; /* ends of other processes */
    pthread_mutex_t lock;      /* around progress, registration */
} tern_network;

typedef struct tern_network_ops {
    /* TERN_ERR_UNSUPPORTED: there is none here. */
    tern_status (*open)(const tern_network_wish *wish, tern_network **network);
    void (*close)(tern_network *network);
    /* The lock is held, for these five. Lets an end of another process, worker `from`'s, reach this
     * one. [out] name: what it needs for that. The same offer gets the same answer.
     * TERN_ERR_NETWORK: it is older than one that was welcomed. */
    tern_status (*welcome)(tern_network *network, uint64_t from, const tern_network_name *offer,
                           tern_network_name *name);
    /* The worker has left the way that this offer began. Another one stays. */
    void (*dismiss)(tern_network *network, uint64_t from, const tern_network_name *offer);
    tern_status (*add_memory)(tern_network *network, void *base, size_t bytes,
                              tern_network_memory **memory, tern_network_key *key);
    void (*remove_memory)(tern_network *network, tern_network_memory *memory);
    /* What the network needs of this process for others' operations; NULL: nothing. */
    void (*progress)(tern_network *network);

    tern_status (*open_end)(tern_network *network, tern_network_end **end);
    void (*close_end)(tern_network_end *end);
    /* Memory of this process that the end moves; remove_memory gives it back. NULL: as any. */
    tern_status (*add_local)(tern_network_end *end, void *base, size_t bytes,
                             tern_network_memory **memory);
    /* Begins a way to another process. peer: 0, or that of one that has failed. [out] peer, offer.
     * TERN_ERR_AGAIN: not before operations on the failed one are complete. TERN_ERR_MEMORY: not
     * before another one is left. */
    tern_status (*offer)(tern_network_end *end, uint64_t *peer, tern_network_name *offer);
    /* Gives back a way that was offered, on which nothing is under way. peer: to be offered again.
     * [out] offer: for the process that has welcomed it. */
    void (*leave)(tern_network_end *end, uint64_t peer, tern_network_name *offer);
    /* Ends what the offer began. name: what the process has answered. */
    tern_status (*reach)(tern_network_end *end, const tern_network_name *name, uint64_t *peer);
    /* TERN_ERR_AGAIN: not before others are complete. TERN_ERR_MEMORY: `here` cannot be registered.
     * TERN_ERR_NETWORK. */
    tern_status (*post)(tern_network_end *end, const tern_network_post *post);
    /* How many are complete, at most `most`. */
    size_t (*complete)(tern_network_end *end, tern_network_done *done, size_t most);
} tern_network_ops;

/* Where the network needs this process for others' operations, and no other thread sees to it. */
static inline void tern_network_progress(tern_network *network) {
    if (network->ops->progress != NULL && pthread_mutex_trylock(&network->lock) == 0) {
        network->ops->progress(network);
        pthread_mutex_unlock(&network->lock);
    }
}

/* For tests: gives what stands between tern and a network that is being opened. NULL: nothing. */
extern const tern_network_ops *(*tern_network_hook)(const tern_network_ops *ops);

#ifdef TERN_HAVE_VERBS
extern const tern_network_ops tern_network_verbs;
#endif
#ifdef TERN_HAVE_OFI
extern const tern_network_ops tern_network_ofi;
#endif

#endif
