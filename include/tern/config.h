#ifndef TERN_CONFIG_H
#define TERN_CONFIG_H

/*
 * Configuration: every option of tern, as a struct and as environment variables TERN_*. Precedence,
 * low to high: the default, the environment, what the program writes into the struct after
 * tern_config_init(). A value that is not allowed is an error that says what is. A TERN_* variable
 * that is not an option does nothing: rank 0 of the first context of a process logs a warning that
 * names it and the option with the nearest name. Variables that end with _ROOT, _DIR or _HOME say
 * where software is installed, and cause no warning. All ranks of a context must agree on every
 * option but the log level. `tern-info` prints each option with its value, where it came from and
 * what it does, and the variables that are refused or ignored.
 */

#include <stddef.h>
#include <stdio.h>

#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How two ranks that share no memory reach each other. */
typedef enum tern_transport_choice {
    TERN_TRANSPORT_AUTO, /* verbs, or else ofi, where a put lands without its target's help, as fast
                            as a message; else rma where it does; else p2p */
    TERN_TRANSPORT_SHM,  /* shared memory or an error */
    TERN_TRANSPORT_RMA,  /* MPI one-sided */
    TERN_TRANSPORT_P2P,  /* messages that the target's progress serves */
    TERN_TRANSPORT_OFI,  /* libfabric, without MPI */
    TERN_TRANSPORT_VERBS /* libibverbs, without MPI */
} tern_transport_choice;

/* The value of verbs_gid_index with which tern chooses the address. */
#define TERN_VERBS_GID_ANY 255u

/* The pages of segments. */
typedef enum tern_huge_pages {
    TERN_HUGE_PAGES_AUTO, /* the largest that the system has, else transparent, else ordinary */
    TERN_HUGE_PAGES_NONE,
    TERN_HUGE_PAGES_2M,
    TERN_HUGE_PAGES_1G
} tern_huge_pages;

/* How the memory of another process of the node is copied from or to that is registered. */
typedef enum tern_cma {
    TERN_CMA_AUTO, /* from process to process, where the system allows it */
    TERN_CMA_OFF   /* by the owner's progress */
} tern_cma;

/* How records that travel by MPI's puts become visible to their consumer. */
typedef enum tern_rma_commit {
    TERN_RMA_COMMIT_CHECKSUM, /* a batch validates itself: one put */
    TERN_RMA_COMMIT_FLUSH     /* put, flush, then a put of the published position */
} tern_rma_commit;

/* What applies atomics on TERN_DOMAIN_GLOBAL memory of other nodes. */
typedef enum tern_rma_atomics {
    TERN_RMA_ATOMICS_AUTO,  /* MPI where its puts are one-sided and its atomics sound, else owner */
    TERN_RMA_ATOMICS_MPI,   /* MPI's atomics, everywhere and by everyone */
    TERN_RMA_ATOMICS_OWNER, /* the owner's processor, asked by a message */
    TERN_RMA_ATOMICS_NETWORK /* over ofi and verbs: the network's atomics, everywhere and by
                                everyone; of 4 bytes only over ofi */
} tern_rma_atomics;

/* Notified operations that find room while earlier ones of their pair wait for it. */
typedef enum tern_order {
    TERN_ORDER_STRICT, /* wait behind them */
    TERN_ORDER_RELAXED /* overtake them */
} tern_order;

/* When the calls of one worker to another become visible to it (call.h). */
typedef enum tern_publish {
    TERN_PUBLISH_WRITE,   /* each at once */
    TERN_PUBLISH_BATCHED, /* so many bytes together, or when they are flushed */
    TERN_PUBLISH_SPILL    /* each at once; kept here only while the ring is full */
} tern_publish;

/* Lines up to this level are written to standard error. */
typedef enum tern_log_level {
    TERN_LOG_NONE,
    TERN_LOG_ERROR,
    TERN_LOG_WARN,
    TERN_LOG_INFO,
    TERN_LOG_DEBUG
} tern_log_level;

/* Each field is the option of the same name: TERN_SEGMENT_SIZE is segment_size. Sizes are in bytes.
 */
typedef struct tern_config {
    tern_transport_choice transport;
    size_t ranks_per_node;  /* size of virtual nodes; 0: the real ones */
    size_t workers;         /* per process, 1 to 1,024 */
    size_t service_threads; /* per process, 0 to 64, that serve while the application does not */
    size_t segment_size;    /* heap of each rank that others can reach */
    tern_huge_pages huge_pages;
    int prefault;           /* 1: touch the whole segment at creation */
    size_t ring_size;       /* of a ring at first: power of two, 4 KiB to 16 MiB */
    size_t ring_growth;     /* times that size at most: power of two, 1 to 1,024 */
    size_t ring_memory;     /* all rings into one rank together */
    size_t overflow_memory; /* of a worker, for calls that wait for room without their caller, half
                               of it for those of handlers: where handlers call back, as much as a
                               ring may grow to for each pair that floods the other */
    tern_publish publish;   /* of calls, where tern_call_policy says nothing else */
    size_t publish_bytes;   /* TERN_PUBLISH_BATCHED: so many together */
    size_t broadcast_arity; /* ranks that each rank passes a broadcast on to */
    size_t idle_polls;      /* empty polls after which a ring is left to its bell */
    size_t active_rings;    /* a worker with no more polls all of them, whatever their traffic */
    size_t mpi_interval;    /* polls of memory between two calls for MPI progress */
    tern_cma cma;
    tern_rma_commit rma_commit;
    tern_rma_atomics rma_atomics;
    int listener;          /* 1: over ofi, and between machines, a thread of each process answers
                              ranks that meet it (docs/networks.md) or watch it (docs/deaths.md);
                              0: its progress and its kernel do */
    size_t packed_max;     /* data up to this goes with its notification, over shm */
    size_t packed_max_far; /* the same over rma and p2p */
    size_t zero_copy_min;  /* content of an archive from here on goes to chunks (tern/archive.h) */
    tern_order order;
    size_t notify_queue;  /* notified operations that may wait for each target */
    size_t notify_events; /* local events of a worker that may wait to be probed for */
    int pmpi_handlers;    /* 1: with libtern_pmpi, handlers run in waits of MPI (docs/mpi.md) */
    size_t peer_patience; /* seconds after which a wait looks whether its rank, of another machine,
                             is there, and one for a rank that is stuck in MPI, because of a death,
                             is an error; 0: never (docs/deaths.md) */
    size_t host_timeout;  /* seconds of silence after which a machine counts as dead; 0: never */
    size_t stuck_report;  /* seconds after which a wait warns of what it waits for; 0: never */
    int stats;            /* 1: a table of what the ranks did when the context is destroyed
                             (docs/profiling.md) */
    char trace[256];      /* file that rank 0 writes then: a timeline of all ranks; "": none */
    size_t trace_events;  /* of a worker that it has room for */
    tern_log_level log_level;
    char verbs_device[32];      /* card, or card:port; "": a near one that is active */
    size_t verbs_gid_index;     /* TERN_VERBS_GID_ANY: the first that maps an IPv4 address */
    size_t verbs_service_level; /* of all packets */
    size_t verbs_mtu;           /* largest packet in bytes; 0: the port's */
    size_t verbs_queue_pairs;   /* connections of a worker at a time; old ones are closed for new */
} tern_config;

/* [out] config: every option at its default, then overridden by the environment. TERN_ERR_CONFIG
 * names the first variable whose value is not allowed; config is unchanged then. Local, never
 * blocks, any thread. */
TERN_NODISCARD TERN_API tern_status tern_config_init(tern_config *config);

/* Sets one option from text as the environment would: tern_config_set(&c, "TERN_WORKERS", "2").
 * Sizes take the suffixes K, M and G (powers of 1,024). TERN_ERR_CONFIG: there is no such option,
 * or the value is not allowed; config is unchanged then. */
TERN_NODISCARD TERN_API tern_status tern_config_set(tern_config *config, const char *name,
                                                    const char *value);

/* Checks every field. TERN_ERR_CONFIG names the first bad one and says what is allowed. */
TERN_NODISCARD TERN_API tern_status tern_config_check(const tern_config *config);

/* Writes the table of options: name, value, origin (default, environment or program), meaning.
 * config NULL: what tern_config_init() would give, and also the variables of the environment that
 * it refuses or that are no options. Leaves tern_error_detail() as it is. */
TERN_API void tern_config_print(const tern_config *config, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
