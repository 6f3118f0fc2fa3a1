#ifndef TERN_RMA_NETWORK_NETWORK_H
#define TERN_RMA_NETWORK_NETWORK_H

/*
 * Network: remote memory without MPI. A process has one network, the end at which other ranks reach
 * its memory. Each worker that talks to far ranks has a port of its own: it posts operations there
 * and takes their completions, so workers share no lock. What operations mean to tern is
 * rma/network/port.h's; a network posts and completes.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/status.h"

/* How the end of a rank is reached. */
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

/* A write or a read. It is under way until the port completes its context. */
typedef struct tern_network_post {
    bool write;
    uint64_t peer; /* as tern_network_ops.reach gave it */
    tern_network_key there;
    uint64_t offset; /* of the memory that the key names */
    void *here;
    size_t bytes;
    void *context; /* 64 bytes first that are the network's while the operation is under way */
} tern_network_post;

typedef struct tern_network_done {
    void *context;
    tern_status status; /* TERN_ERR_NETWORK with no detail set */
} tern_network_done;

struct tern_network_ops;

/* What every kind begins with. */
typedef struct tern_network {
    const struct tern_network_ops *ops;
    const char *name;     /* of what it stands on, for people */
    bool one_sided;       /* says that it needs no help of the target's process */
    size_t post_max;      /* bytes of one post */
    pthread_mutex_t lock; /* around progress, registration */
} tern_network;

typedef struct tern_network_ops {
    /* one_machine: all ranks are on it. TERN_ERR_UNSUPPORTED: there is none here. */
    tern_status (*open)(bool one_machine, tern_network **network);
    void (*close)(tern_network *network);
    tern_status (*get_name)(const tern_network *network, tern_network_name *name);
    /* The lock is held, for these three. */
    tern_status (*add_memory)(tern_network *network, void *base, size_t bytes,
                              tern_network_memory **memory, tern_network_key *key);
    void (*remove_memory)(tern_network *network, tern_network_memory *memory);
    /* What the network needs of this process for others' operations; NULL: nothing. */
    void (*progress)(tern_network *network);

    tern_status (*open_end)(tern_network *network, tern_network_end **end);
    void (*close_end)(tern_network_end *end);
    tern_status (*reach)(tern_network_end *end, const tern_network_name *name, uint64_t *peer);
    /* TERN_ERR_AGAIN: not before others are complete. TERN_ERR_NETWORK. */
    tern_status (*post)(tern_network_end *end, const tern_network_post *post);
    /* How many are complete, at most `most`. */
    size_t (*complete)(tern_network_end *end, tern_network_done *done, size_t most);
} tern_network_ops;

/* For tests: gives what stands between tern and a network that is being opened. NULL: nothing. */
extern const tern_network_ops *(*tern_network_hook)(const tern_network_ops *ops);

#ifdef TERN_HAVE_OFI
extern const tern_network_ops tern_network_ofi;
#endif

#endif
