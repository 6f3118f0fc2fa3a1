#ifndef TERN_SRC_COLLECTIVE_CALLEE_H
#define TERN_SRC_COLLECTIVE_CALLEE_H

/*
 * Callees: the objects of this process that calls name, such as its part of a hash table. A message
 * names one by its nonce, a random number that all ranks agreed on at its creation. The list of
 * callees is private memory, and an entry says of which kind its object is: whatever a message
 * says, its handler finds a live object of the kind that it wants, or none.
 */

#include "src/context.h"

typedef enum tern_callee_kind {
    TERN_CALLEE_TABLE,
    TERN_CALLEE_QUEUE,
    TERN_CALLEE_ENDING, /* of a distributed queue */
    TERN_CALLEE_LOCKS,
    TERN_CALLEE_PART
} tern_callee_kind;

/* Embedded in the object. */
struct tern_callee {
    _Atomic(tern_callee *) next; /* of the same row of the list */
    tern_callee_kind kind;
    uint64_t nonce;
    void *object;
};

/* From now on calls find the object. Called by the collective functions that create and destroy
 * objects, of which a process makes one at a time. */
void tern_callee_add(tern_context *context, tern_callee *callee, tern_callee_kind kind,
                     uint64_t nonce, void *object);

/* No call finds the object any more, and none is in it: waits for the rounds of progress that other
 * threads are in. One that was never added is fine. */
void tern_callee_remove(tern_context *context, tern_callee *callee);

/* In a handler. NULL: there is no such object here (any more). */
void *tern_callee_find(const tern_context *context, tern_callee_kind kind, uint64_t nonce);

/* The status of a call to such an object, "hash table", that is not here. TERN_ERR_PEER if this
 * rank knows of a death: then it destroys an object at once, and the caller may not know of the
 * death yet. Otherwise TERN_ERR_STATE. */
tern_status tern_callee_missing(const tern_context *context, const char *object)
    __attribute__((cold));

#endif
