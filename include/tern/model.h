#ifndef TERN_MODEL_H
#define TERN_MODEL_H

/*
 * The cost model of the containers (BCL, paper 003 section II-C): when does an operation
 * by RMA beat one by call? By RMA it costs the sum of the gets, puts and atomics that it is made
 * of; by call one round trip, and the same sum as the owner pays it in its own memory. What the
 * components cost is measured (tern-bench model does) or, before anything was, guessed. The model
 * knows the best case: nobody in the way, a target that attends, and no collision but those that it
 * is told of.
 *
 * In short: by RMA where load/store reaches the owner, or where a get is cheap and one does; by
 * call where several round trips would be needed and the owner attends. TERN_VIA_AUTO decides by
 * this model, on costs that it measures (tern/promise.h); tern_hashtable_explain tells its sums.
 */

#include "tern/config.h"
#include "tern/context.h"
#include "tern/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What each component costs towards one target, in ns, with data of some 8 bytes. */
typedef struct tern_costs {
    double get;    /* R */
    double put;    /* W: until its source may be reused */
    double flush;  /* what a flush behind a put takes more */
    double cas;    /* A: compare-and-swap at a random place */
    double fetch;  /* A: any other atomic, a load too, at a random place */
    double hot;    /* A on one word that everybody uses, as a queue's tail */
    double call;   /* a round trip of tern_call_return to a function that does nothing */
    double passed; /* not a cost: looks at buckets of other keys that an operation on a hash table
                      takes on its way, on average [0] */
} tern_costs;

/* Operations, as the tables of tern/hashtable.h and tern/queue.h have them. CLASSIC and CHECKSUM:
 * the paper's own (its tables II and III). */
typedef enum tern_model_operation {
    TERN_MODEL_INSERT, /* a new key */
    TERN_MODEL_UPDATE, /* insert of a key that is there */
    TERN_MODEL_FIND,   /* a key that is there */
    TERN_MODEL_MISS,   /* find of a key that is not */
    TERN_MODEL_ADD,    /* to a key that is there */
    TERN_MODEL_ADD_NEW,
    TERN_MODEL_PUSH,
    TERN_MODEL_POP,
    TERN_MODEL_CLASSIC_INSERT,
    TERN_MODEL_CLASSIC_FIND,
    TERN_MODEL_CLASSIC_PUSH,
    TERN_MODEL_CLASSIC_POP,
    TERN_MODEL_CHECKSUM_PUSH,
    TERN_MODEL_OPERATIONS
} tern_model_operation;

/* Guesses for a transport, of the right order of magnitude. Any thread. */
TERN_API void tern_costs_guess(tern_transport transport, tern_costs *costs);

/* [out] costs: the same towards a target that attends only every compute_ns, between which it
 * computes: what needs it waits half that time, by p2p everything but a put that need not arrive,
 * else calls alone. Any thread. */
TERN_API void tern_costs_computing(const tern_costs *attentive, tern_transport transport,
                                   double compute_ns, tern_costs *costs);

/* [out] ns: what the operation costs its caller by RMA or by call, where components towards the
 * owner cost target, and towards itself, at the owner, own. TERN_ERR_ARGUMENT: a pointer is NULL;
 * no such operation or promise; via is TERN_VIA_AUTO, which has no cost of its own. Any thread. */
TERN_NODISCARD TERN_API tern_status tern_model_predict(tern_model_operation operation,
                                                       tern_promise promise, tern_via via,
                                                       const tern_costs *target,
                                                       const tern_costs *own, double *ns);

#ifdef __cplusplus
}
#endif

#endif
