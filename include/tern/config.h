#ifndef TERN_CONFIG_H
#define TERN_CONFIG_H

/*
 * Configuration: every option of tern, as a struct and as environment variables TERN_*. Precedence,
 * low to high: the default, the environment, what the program writes into the struct after
 * tern_config_init(). A value that is not allowed is an error, and its text says what is allowed. A
 * TERN_* variable that is not an option has no effect: rank 0 of the first context of a process
 * logs a warning with its name and the name of the most similar option. Variables that end with
 * _ROOT, _DIR or _HOME say where software is installed, and cause no warning. All ranks of a
 * context must agree on every option but the log level. `tern-info` prints each option with its
 * value, where it came from and what it does, and the variables that are refused or ignored.
 *
 * The version of tern and the level of the log are here, too.
 */

#include <stddef.h>
#include <stdio.h>

#include "tern/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of tern's version, as numbers. The build reads the version from here. */
#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 2
#define TERN_VERSION_PATCH 0

/* Not for applications: a number as text. */
#define TERN_INTERNAL_TEXT_(n) #n
#define TERN_INTERNAL_TEXT(n) TERN_INTERNAL_TEXT_(n)

/* The version as text, with dots between the parts. */
#define TERN_VERSION_STRING                                                                        \
    TERN_INTERNAL_TEXT(TERN_VERSION_MAJOR)                                                         \
    "." TERN_INTERNAL_TEXT(TERN_VERSION_MINOR) "." TERN_INTERNAL_TEXT(TERN_VERSION_PATCH)

/* How two ranks that share no memory reach each other. */
typedef enum tern_transport_choice {
    TERN_TRANSPORT_AUTO, /* verbs, or else ofi, if over it a put needs no help of its target and is
                            as fast as a message; else rma if a put needs no help; else p2p */
    TERN_TRANSPORT_SHM,  /* shared memory or an error */
    TERN_TRANSPORT_RMA,  /* MPI one-sided */
    TERN_TRANSPORT_P2P,  /* messages that the target's progress serves */
    TERN_TRANSPORT_OFI,  /* libfabric, without MPI */
    TERN_TRANSPORT_VERBS /* libibverbs, without MPI */
} tern_transport_choice;

/* The value of verbs_gid_index that lets tern choose the address. */
#define TERN_VERBS_GID_ANY 255u

/* The pages of segments. */
typedef enum tern_huge_pages {
    TERN_HUGE_PAGES_AUTO, /* the largest pages that the system has, else transparent huge pages,
                             else ordinary pages */
    TERN_HUGE_PAGES_NONE,
    TERN_HUGE_PAGES_2M,
    TERN_HUGE_PAGES_1G
} tern_huge_pages;

/* How a process copies to and from registered memory of another process of its node. */
typedef enum tern_cma {
    TERN_CMA_AUTO, /* with one system call, where the system allows it */
    TERN_CMA_OFF   /* the owner's progress copies */
} tern_cma;

/* How records that travel by MPI's puts become visible to their consumer. */
typedef enum tern_rma_commit {
    TERN_RMA_COMMIT_CHECKSUM, /* a frame carries a checksum: one put */
    TERN_RMA_COMMIT_FLUSH     /* put, flush, then a put of the published position */
} tern_rma_commit;

/* What applies atomics on TERN_DOMAIN_GLOBAL memory of other nodes. */
typedef enum tern_rma_atomics {
    TERN_RMA_ATOMICS_AUTO,   /* MPI if its puts are one-sided and its atomics sound, or the network
                                by the rule of docs/networks.md, else owner */
    TERN_RMA_ATOMICS_MPI,    /* MPI's atomics, on every node and by every rank */
    TERN_RMA_ATOMICS_OWNER,  /* the owner's processor: the origin asks it by a message */
    TERN_RMA_ATOMICS_NETWORK /* over ofi and verbs: the network's atomics, on every node and by
                                every rank, but on the owner's node the processor's if they are
                                coherent; of 4 bytes over verbs the owner's node */
} tern_rma_atomics;

/* Whose calls make libfabric's progress (docs/networks.md). */
typedef enum tern_ofi_progress {
    TERN_OFI_PROGRESS_AUTO,     /* tern's where that is possible, else the provider's own */
    TERN_OFI_PROGRESS_MANUAL,   /* tern's, by its workers and a thread */
    TERN_OFI_PROGRESS_AUTOMATIC /* the provider's own */
} tern_ofi_progress;

/* What a notified operation does that finds room while earlier operations of its pair wait for
 * room. */
typedef enum tern_order {
    TERN_ORDER_STRICT, /* they wait behind the earlier ones */
    TERN_ORDER_RELAXED /* they overtake the earlier ones */
} tern_order;

/* When the calls of one worker to another become visible to the other (call.h). */
typedef enum tern_publish {
    TERN_PUBLISH_WRITE,   /* each at once */
    TERN_PUBLISH_BATCHED, /* when so many bytes were gathered, or at a flush */
    TERN_PUBLISH_SPILL    /* each at once; queued at the caller while the ring is full */
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
    size_t service_threads; /* per process, 0 to 64; they serve other ranks while the application
                               computes */
    size_t segment_size;    /* memory of each rank that other ranks can reach */
    tern_huge_pages huge_pages;
    int prefault;           /* 1: touch the whole segment at creation */
    size_t ring_size;       /* of a ring at first: power of two, 4 KiB to 16 MiB */
    size_t ring_growth;     /* how many times that size a ring may grow to: power of two, 1 to
                               1,024 */
    size_t ring_memory;     /* the most memory of all rings into one rank */
    size_t overflow_memory; /* of a worker, for queued calls; half of it is for calls of handlers.
                               If handlers call back, allow for each pair that floods each other as
                               much as a ring may grow to */
    tern_publish publish;   /* for pairs of workers without a tern_call_policy */
    size_t publish_bytes;   /* with TERN_PUBLISH_BATCHED: how many bytes are gathered */
    size_t broadcast_arity; /* ranks that each rank passes a broadcast on to */
    size_t idle_polls;      /* empty polls of a ring after which its consumer stops polling, and its
                               producer rings the doorbell */
    size_t active_rings;    /* a worker with at most this many rings polls all of them, whatever
                               their traffic */
    size_t mpi_interval;    /* polls of memory between two calls of MPI for its progress */
    tern_cma cma;
    tern_rma_commit rma_commit;
    tern_rma_atomics rma_atomics;
    int listener;             /* 1: over ofi, and between machines, a thread of each process answers
                                 ranks that connect to it (docs/networks.md) or watch it
                                 (docs/deaths.md); 0: the process's progress and its kernel answer */
    size_t packed_max;        /* data of a notified put up to this size goes in one record with its
                                 notification, over shm */
    size_t packed_max_remote; /* the same over rma and p2p */
    size_t zero_copy_min;     /* content of an archive of this size or more goes to chunks
                                 (tern/archive.h) */
    tern_order order;
    size_t notify_queue;  /* the most notified operations that may wait for a target */
    size_t notify_events; /* the most local events of a worker that may wait for a probe */
    int pmpi_handlers;    /* 1: with libtern_pmpi, handlers run while a rank waits in MPI
                             (docs/mpi.md) */
    size_t peer_patience; /* seconds after which a wait for a rank of another machine checks that
                             the rank lives, and after which a wait for a rank that is stuck in MPI
                             because of a death fails; 0: never (docs/deaths.md) */
    size_t host_timeout;  /* seconds without an answer after which a machine counts as dead; 0:
                             never */
    size_t stuck_report;  /* seconds after which a wait logs a warning that says what it waits for;
                             0: never */
    int stats;            /* 1: tern writes a table of what the ranks did when the context is
                             destroyed (docs/profiling.md) */
    char trace[256];      /* file to which rank 0 writes a timeline of all ranks at that time; "":
                             none */
    size_t trace_events;  /* the most events of a worker in the timeline */
    tern_log_level log_level;
    char verbs_device[32];  /* card, or card:port; "": tern chooses an active card near the
                               process */
    size_t verbs_gid_index; /* TERN_VERBS_GID_ANY: the best one, RoCE version 2 before version 1,
                               IPv4 before IPv6 */
    size_t verbs_service_level; /* of all packets */
    size_t verbs_traffic_class; /* of all packets that are routed, as all of RoCE are: 0 to 255;
                                   DSCP is its upper six bits */
    size_t verbs_pkey;          /* key of the partition; 0: the first of the port */
    size_t verbs_mtu;           /* largest packet in bytes; 0: the largest of the port */
    size_t verbs_queue_pairs;   /* the most connections of a worker at a time; tern closes old ones
                                   for new ones */
    tern_ofi_progress ofi_progress;
} tern_config;

/* Fills in a configuration. [out] config: every option at its default, or as the environment says.
 * TERN_ERR_CONFIG names the first variable whose value is not allowed; config is unchanged then.
 * Local, never blocks, any thread. */
TERN_NODISCARD TERN_API tern_status tern_config_init(tern_config *config);

/* Sets one option from text, as the environment variable would: tern_config_set(&c, "TERN_WORKERS",
 * "2"). Sizes take the suffixes K, M and G (powers of 1,024). TERN_ERR_CONFIG: there is no such
 * option, or the value is not allowed; config is unchanged then. */
TERN_NODISCARD TERN_API tern_status tern_config_set(tern_config *config, const char *name,
                                                    const char *value);

/* Checks every field. TERN_ERR_CONFIG names the first bad one and says what is allowed. */
TERN_NODISCARD TERN_API tern_status tern_config_check(const tern_config *config);

/* Writes the table of options: name, value, origin (default, environment or program), meaning.
 * config NULL: what tern_config_init() would give, and also the variables of the environment that
 * it refuses or that are not options. Does not change tern_error_detail(). */
TERN_API void tern_config_print(const tern_config *config, FILE *out);

/* Sets the level of the log. tern writes one line to standard error for each thing that an operator
 * should know, but no line above this level. All contexts of a process share the level
 * (TERN_LOG_LEVEL, default warn), since their lines end up in one place. Local, any thread. */
TERN_API void tern_log_set_level(tern_log_level level);

/* Returns the level of the log. Local, any thread. */
TERN_API tern_log_level tern_log_get_level(void);

#ifdef __cplusplus
}
#endif

#endif
