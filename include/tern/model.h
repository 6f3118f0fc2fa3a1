#ifndef TERN_MODEL_H
#define TERN_MODEL_H

/*
 * Cost model of the containers (BCL, paper 003 section II-C): it predicts when an operation by RMA
 * is cheaper than one by call. An operation by RMA costs the sum of its gets, puts and atomics. An
 * operation by call costs one round trip, plus the same sum at the prices that the owner pays in
 * its own memory. The prices of the components are measured (tern-bench model does so too); before
 * the first measurement the model uses guesses. The model describes the best case: no contention, a
 * target that attends, and no collisions except those that it is told of (passed).
 *
 * In short: RMA is cheaper if the owner shares memory with the caller, or if a get is cheap and one
 * get is enough. A call is cheaper if RMA would need several round trips and the owner attends.
 * TERN_AUTO decides by this model, with costs that it measures (tern/container.h);
 * tern_hashtable_explain shows the sums.
 */

#include "tern/config.h"
#include "tern/context.h"
#include "tern/container.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cost of each component towards one target, in ns, for data of about 8 bytes. */
typedef struct tern_costs {
    double get;    /* R */
    double put;    /* W: until the source may be reused */
    double flush;  /* how much longer a put with a flush behind it takes */
    double cas;    /* A: compare-and-swap on a random word */
    double fetch;  /* A: any other atomic, a load too, on a random word */
    double hot;    /* A on one word that all ranks use, such as a queue's tail */
    double call;   /* a round trip of tern_call_return to a function that does nothing */
    double store;  /* A together with a put of the entry, both done by the owner; 0: owners do not
                      put [0] */
    double passed; /* not a cost: average number of buckets of other keys that an operation on a
                      hash table looks at [0] */
} tern_costs;

/* The operations in the tables of tern/hashtable.h and tern/queue.h. */
typedef enum tern_model_operation {
    TERN_MODEL_INSERT, /* a new key */
    TERN_MODEL_UPDATE, /* insert of a key that is there */
    TERN_MODEL_FIND,   /* a key that is there */
    TERN_MODEL_MISS,   /* find of a key that is not there */
    TERN_MODEL_ADD,    /* to a key that is there */
    TERN_MODEL_ADD_NEW,
    TERN_MODEL_PUSH,
    TERN_MODEL_POP,
    TERN_MODEL_OPERATIONS
} tern_model_operation;

/** Returns guesses for a transport, of the right order of magnitude. Any thread may call it. */
TERN_API void tern_costs_guess(tern_transport transport, tern_costs *costs);

/** Returns the costs towards a target that computes and attends only once every compute_ns
 * nanoseconds.
 *
 * @param attentive the costs towards the same target while it attends
 * @param transport the transport to it; with p2p every component except put needs the target,
 *     otherwise calls alone do
 * @param compute_ns ns between two moments at which the target attends
 * @param[out] costs attentive, with half of compute_ns added to each component that needs the
 *     target
 *
 * Any thread may call it. */
TERN_API void tern_costs_computing(const tern_costs *attentive, tern_transport transport,
                                   double compute_ns, tern_costs *costs);

/** Predicts what an operation costs its caller.
 *
 * @param operation the operation
 * @param flags TERN_BY_RMA or TERN_BY_CALL, and the promise of a phase or none
 * @param target the costs of the components towards the owner
 * @param own the costs of the components for the owner in its own memory
 * @param[out] ns the cost in ns
 * @return TERN_OK; TERN_ERR_ARGUMENT if a pointer is NULL, there is no such operation, or flags
 *     are contradictory, have TERN_LOCAL or name no path: TERN_AUTO has no cost of its own
 *
 * Any thread may call it. */
TERN_NODISCARD TERN_API tern_status tern_model_predict(tern_model_operation operation,
                                                       tern_flags flags, const tern_costs *target,
                                                       const tern_costs *own, double *ns);

#ifdef __cplusplus
}
#endif

#endif
