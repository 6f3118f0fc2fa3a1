#ifndef TERN_PATH_SELECTOR_H
#define TERN_PATH_SELECTOR_H

/*
 * Selector: decides whether an operation by TERN_VIA_AUTO goes by RMA or by call. Each worker has
 * one, so threads share nothing. It knows classes of targets, not ranks: its size does not depend
 * on the number of ranks.
 *
 * The first operation on a class that could go by call measures what get, put, atomic and call cost
 * there (measure.c). The cost model turns that into a sum for each way and kind of operation, and
 * the cheaper way is taken; a way that is in use is left only for one that leads by a quarter. If
 * calls then take far longer than their sum, the class is inattentive: the worker measures it as it
 * is, decides again, and comes back to measure it anew after a pause, which doubles each time that
 * the class is found inattentive again.
 *
 * Over shared memory a call is taken only where ranks serve calls without their workers
 * (tern_path_attends): a rank that waits in MPI would else keep the caller waiting for ever, and
 * RMA there needs nobody. So a call can cost time, but never decides whether an operation ends.
 *
 * Budget: an operation that is settled on RMA pays one load of the worker's line and one branch. It
 * reads no clock. Only operations by call are timed.
 */

#include <stdbool.h>

#include "rma/reply.h"
#include "src/context.h"
#include "tern/model.h"

/* Kinds of operations that the selector tells apart. MANY: one key of a batch. */
typedef enum tern_path_kind {
    TERN_PATH_FIND,
    TERN_PATH_INSERT, /* erasures too */
    TERN_PATH_ADD,
    TERN_PATH_PUSH,
    TERN_PATH_POP,
    TERN_PATH_FIND_MANY,
    TERN_PATH_INSERT_MANY,
    TERN_PATH_ADD_MANY,
    TERN_PATH_KINDS
} tern_path_kind;

typedef enum tern_path_class {
    TERN_PATH_OWN,
    TERN_PATH_LOCAL, /* another rank of the node, reached by load and store */
    TERN_PATH_REMOTE,
    TERN_PATH_CLASSES
} tern_path_class;

/* What operations of a kind cost their caller by each way, in ns. */
typedef struct tern_sums {
    double rma, call;
} tern_sums;

/* What a worker knows of a class. */
typedef struct tern_path_costs {
    tern_costs costs;  /* ns, of the components */
    double late;       /* ns that calls take more than their sum, over the latest of them */
    uint64_t measured; /* when the class was last measured, ns; 0: never */
    uint64_t until;    /* until when it counts as inattentive; 0: it does not */
    uint64_t pause;    /* ns: how long it did the last time; 0: it never did */
    uint32_t by_call;  /* a bit for each kind: the way in use is the call */
    uint32_t open;     /* a bit for each kind that has not settled on RMA */
} tern_path_costs;

typedef struct tern_selector {
    tern_path_costs of[TERN_PATH_CLASSES]; /* OWN: costs alone */
    uint64_t asked, answered;              /* calls of measure.c, by number */
} tern_selector;

/* An operation's way. expected is its sum in ns if it is timed, else 0. */
typedef struct tern_pick {
    tern_via via;
    tern_path_class class;
    double expected;
    uint64_t began;
} tern_pick;

/* Whom an operation is for: the worker that takes calls, and two words of the container there that
 * measurements may write, the first by puts and the second by atomics. */
typedef struct tern_path_target {
    tern_worker_id worker;
    tern_ptr scratch;
} tern_path_target;

/* The decisions themselves, which look at nothing but their arguments. now: AUTO if no way is in
 * use. */
tern_sums tern_path_sums(tern_path_kind kind, const tern_costs *target, const tern_costs *own);
tern_via tern_path_choose(tern_via now, tern_sums sums);
/* Chooses for every kind. first: no way is in use. */
void tern_path_decide(tern_path_costs *costs, const tern_costs *own, bool first);
/* Takes note of a call that took so long where its sum was expected. True: the class is inattentive
 * from now on. */
bool tern_path_late(tern_path_costs *costs, double expected, double took, uint64_t now);

/* measure.c: the components towards memory of the caller's own, and towards a target. What cannot
 * be measured is left alone. tern_measure_call gives a target that computes a fraction of a
 * millisecond to answer; then it is false, and the call costs at least what it has waited. */
void tern_measure_own(tern_costs *costs);
void tern_measure_rma(tern_worker *worker, const tern_path_target *target, tern_costs *costs);
bool tern_measure_call(tern_worker *worker, const tern_path_target *target, tern_costs *costs);

static inline tern_selector *tern_selector_of(const tern_worker *worker) {
    return (tern_selector *)worker->layer[TERN_LAYER_PATH];
}

/* Whether ranks serve calls while their workers are outside tern. */
static inline bool tern_path_attends(const tern_context *context) {
    return tern_serves_containers(context) || context->pmpi;
}

static inline tern_path_class tern_path_class_of(const tern_context *context, uint32_t rank) {
    return rank == context->rank           ? TERN_PATH_OWN
           : tern_same_node(context, rank) ? TERN_PATH_LOCAL
                                           : TERN_PATH_REMOTE;
}

/* A selector that knows nothing yet. */
void tern_selector_begin(tern_worker *worker, tern_selector *selector);

/* The bit of worker->unsettled for operations of a kind on a class. */
static inline uint32_t tern_path_bit(tern_path_class class, tern_path_kind kind) {
    return UINT32_C(1) << ((unsigned)class * TERN_PATH_KINDS + (unsigned)kind);
}

/* True: what load and store reach goes by RMA, and the selector has nothing to do with it. */
static inline bool tern_path_settled(const tern_worker *worker, tern_path_kind kind) {
    return (worker->unsettled &
            (tern_path_bit(TERN_PATH_OWN, kind) | tern_path_bit(TERN_PATH_LOCAL, kind))) == 0;
}

/* The way of one operation by TERN_VIA_AUTO; tern_selector_done takes note of how long it took. In
 * a handler, which cannot wait for a call, and where the program holds all futures, it is RMA. */
tern_pick tern_selector_take(tern_worker *worker, tern_path_kind kind,
                             const tern_path_target *target);
void tern_selector_done(tern_worker *worker, const tern_pick *pick, const tern_path_target *target);

/* The same of one that was asked for via. only: the way that the container's options leave, or AUTO
 * if they leave both. */
static inline tern_pick tern_path_take(tern_worker *worker, tern_path_kind kind,
                                       const tern_path_target *target, tern_via via,
                                       tern_via only) {
    via = __builtin_expect(via == TERN_VIA_AUTO, 0) ? only : via;
    if (__builtin_expect(via == TERN_VIA_AUTO, 0))
        return tern_selector_take(worker, kind, target);
    const tern_pick pick = {.via = via};
    return pick;
}

/* The way of something that is not timed: a request, a batch. may_measure: it may wait. */
tern_via tern_selector_way(tern_worker *worker, tern_path_kind kind, const tern_path_target *target,
                           bool may_measure);

/* explain.c: what tern_hashtable_explain promises, for count kinds of operations on rank, which is
 * one of the context's. only: as of tern_path_take. */
typedef struct tern_path_question {
    const char *name;
    tern_path_kind kind;
    tern_via only;
} tern_path_question;
tern_status tern_path_explain(const tern_worker *worker, uint32_t rank,
                              const tern_path_question *questions, size_t count, char *to,
                              size_t room, size_t *bytes, const char *function);

#endif
