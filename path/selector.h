#ifndef TERN_PATH_SELECTOR_H
#define TERN_PATH_SELECTOR_H

/*
 * Selector: decides whether an operation by TERN_AUTO goes by RMA or by call. Each worker has
 * one selector, so threads share nothing. It knows classes of targets, not single ranks, so its
 * size does not depend on the number of ranks.
 *
 * The first operation on a class that could go by call measures what a get, a put, an atomic and a
 * call cost there (measure.c). From these the cost model computes a sum for each path and each kind
 * of operation, and the selector takes the cheaper path. It leaves the path in use only for one
 * that is cheaper by a quarter. If calls then take far longer than their sum, the class is
 * inattentive: the worker measures its RMA costs again, decides again, and measures the class anew
 * after a pause. The pause doubles each time that the class is found inattentive again.
 *
 * Over shared memory the selector takes calls only if ranks serve calls while their workers are
 * outside tern (tern_path_attends). Otherwise a rank that waits in MPI could keep the caller
 * waiting for ever, and RMA needs no progress of that rank. So a call can cost time, but it never
 * decides whether an operation ends.
 *
 * Budget: an operation that is settled on RMA pays one load of the worker's cache line and one
 * branch. It reads no clock. Only operations by call are timed.
 */

#include <stdbool.h>

#include "rma/reply/reply.h"
#include "src/context.h"
#include "tern/container.h"
#include "tern/model.h"
#include "tern/status.h"

/* The kinds of operations for which the selector decides separately. MANY: one key of a batch. */
typedef enum tern_path_kind {
    TERN_PATH_FIND,
    TERN_PATH_INSERT, /* and erasures */
    TERN_PATH_ADD,
    TERN_PATH_PUSH,
    TERN_PATH_POP,
    TERN_PATH_FIND_MANY,
    TERN_PATH_INSERT_MANY,
    TERN_PATH_ADD_MANY,
    TERN_PATH_KINDS,
    /* Kinds that the cost model does not know (path/choose.h). */
    TERN_PATH_BY_REACH = TERN_PATH_KINDS, /* by RMA where load and store reach, else by call */
    TERN_PATH_BY_OWNER                    /* the owner alone does it */
} tern_path_kind;

typedef enum tern_path_class {
    TERN_PATH_CLASS_OWN,
    TERN_PATH_CLASS_LOCAL, /* another rank of the node, reached by load and store */
    TERN_PATH_CLASS_REMOTE,
    TERN_PATH_CLASSES
} tern_path_class;

/* What an operation costs its caller by each path, in ns. */
typedef struct tern_sums {
    double rma, call;
} tern_sums;

/* What a worker knows about a class. */
typedef struct tern_path_costs {
    tern_costs costs;  /* of the components, in ns */
    double late;       /* mean time that recent calls took beyond their sum, in ns */
    uint64_t measured; /* time of the last measurement, in ns; 0: none */
    uint64_t until;    /* the class is inattentive until this time; 0: it is not */
    uint64_t pause;    /* length of the last inattentive time, in ns; 0: there was none */
    uint32_t by_call;  /* one bit per kind: the path in use is the call */
    uint32_t open;     /* one bit per kind: it has not settled on RMA */
} tern_path_costs;

typedef struct tern_selector {
    tern_path_costs of[TERN_PATH_CLASSES]; /* of class OWN only costs and measured are used */
    uint64_t asked, answered;              /* number of the last question and answer (measure.c) */
} tern_selector;

/* The target of an operation: the worker that takes its calls, and two words of the container there
 * that measurements may write, the first by puts and the second by atomics. */
typedef struct tern_path_target {
    tern_worker_id worker;
    tern_ptr scratch;
} tern_path_target;

/* The path of an operation: how this process does it. By RMA it is direct or remote. */
typedef enum tern_path {
    TERN_PATH_DIRECT, /* by load and store */
    TERN_PATH_REMOTE, /* by gets, puts and atomics */
    TERN_PATH_CALL    /* by a call to the owner, which does it */
} tern_path;

/* Why the chooser has taken a path. */
typedef enum tern_reason {
    TERN_REASON_ASKED, /* the program names the path */
    TERN_REASON_ONLY,  /* options or sizes leave no other */
    TERN_REASON_REACH, /* load and store reach the memory, or do not */
    TERN_REASON_NODE,  /* a batch works on the memory of its own node itself */
    TERN_REASON_MPI,   /* a rank of the node that waits in MPI serves no calls */
    TERN_REASON_BUSY,  /* the caller cannot wait for a call, or has all of them under way */
    TERN_REASON_DUE,   /* costs are to be measured first, or again */
    TERN_REASON_COSTS  /* it is the cheaper path */
} tern_reason;

/* How one operation is done, and why (path/choose.h). */
typedef struct tern_pick {
    tern_flags flag; /* TERN_BY_RMA or TERN_BY_CALL */
    tern_path path;  /* never TERN_PATH_CALL for the caller's own part */
    tern_reason reason;
    tern_path_class class;
    double expected; /* the predicted sum in ns if the operation is timed, else 0 */
    uint64_t began;
    tern_path_target target; /* if it is timed */
} tern_pick;

/* The decisions themselves. They depend on their arguments alone. now: the path in use, or AUTO
 * before the first decision. */
tern_sums tern_path_sums(tern_path_kind kind, const tern_costs *target, const tern_costs *own);
tern_flags tern_path_choose(tern_flags now, tern_sums sums);
/* Chooses a path for every kind. first: no path is in use yet. */
void tern_path_decide(tern_path_costs *costs, const tern_costs *own, bool first);
/* Records that a call took this long, and what its predicted sum was (both in ns). Returns true if
 * the class is inattentive from now on. */
bool tern_path_late(tern_path_costs *costs, double expected, double took, uint64_t now);

/* measure.c: measure the components in the caller's own memory, and on a target. A cost that
 * cannot be measured stays as it was. tern_measure_call waits a fraction of a millisecond for the
 * answers of a target. If they do not come, it returns false, and the call's cost is the time that
 * it has waited. */
void tern_measure_own(tern_costs *costs);
void tern_measure_rma(tern_worker *worker, const tern_path_target *target, tern_costs *costs);
bool tern_measure_call(tern_worker *worker, const tern_path_target *target, tern_costs *costs);

static inline tern_selector *tern_selector_of(const tern_worker *worker) {
    return (tern_selector *)worker->layer[TERN_LAYER_PATH];
}

/* Whether ranks serve calls while their workers are outside tern: by service threads or by
 * libtern_pmpi. */
static inline bool tern_path_attends(const tern_context *context) {
    return tern_serves_containers(context) || context->pmpi;
}

static inline tern_path_class tern_path_class_of(const tern_context *context, uint32_t rank) {
    return rank == context->rank           ? TERN_PATH_CLASS_OWN
           : tern_same_node(context, rank) ? TERN_PATH_CLASS_LOCAL
                                           : TERN_PATH_CLASS_REMOTE;
}

/* Initializes a selector. It has no measurements. */
void tern_selector_begin(tern_worker *worker, tern_selector *selector);

/* The bit of worker->unsettled for operations of a kind on a class. */
static inline uint32_t tern_path_bit(tern_path_class class, tern_path_kind kind) {
    return UINT32_C(1) << ((unsigned)class * TERN_PATH_KINDS + (unsigned)kind);
}

/* True: operations of the kind go by RMA to all memory that load and store reach, and need no
 * selector. */
static inline bool tern_path_settled(const tern_worker *worker, tern_path_kind kind) {
    return (worker->unsettled & (tern_path_bit(TERN_PATH_CLASS_OWN, kind) |
                                 tern_path_bit(TERN_PATH_CLASS_LOCAL, kind))) == 0;
}

/* Returns the cheaper path of an operation of the kind on the class, as far as the worker knows.
 * Returns RMA in a handler, which cannot wait for a call, and while the program has all of the
 * worker's calls under way. [out] reason: why. */
tern_flags tern_selector_path(tern_worker *worker, tern_path_kind kind, tern_path_class class,
                              tern_reason *reason);
/* Measures a class, and decides again. */
void tern_selector_look(tern_worker *worker, tern_path_class class, const tern_path_target *target);
/* The predicted sum of an operation by call, in ns. */
double tern_selector_expects(const tern_worker *worker, tern_path_kind kind, tern_path_class class);
/* Records that a timed operation has ended with status. */
void tern_selector_record(tern_worker *worker, const tern_pick *pick, tern_status status);

/*
 * flags.c: the flags of a container's operation have two parts, a promise and a path. Inside the
 * library a variable `promise` is one of TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY and
 * TERN_LOCAL, and a variable `flags` may hold both parts.
 */

static inline tern_flags tern_flags_promise(tern_flags flags) { return flags & TERN_PROMISES; }

static inline tern_flags tern_flags_path(tern_flags flags) { return flags & TERN_PATHS; }

/* Refuses, with TERN_ERR_ARGUMENT, flags that are unknown or contradict each other.
 *
 * @param flags of the public function `name`
 * @param excluded the promise that the operation itself breaks; TERN_READ_WRITE: none */
tern_status tern_flags_check(tern_flags flags, tern_flags excluded, const char *name);

#endif
