#ifndef TERN_SRC_COLLECTIVE_CALLEE_H
#define TERN_SRC_COLLECTIVE_CALLEE_H

/*
 * Callees: the objects of this process to which calls go, such as its part of a hash table. A
 * message names such an object by its nonce, a random number on which all ranks agreed when they
 * created it. The list of callees is private memory, and each entry has the kind of its object. So
 * whatever a message contains, its handler finds a live object of the right kind, or none.
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
    _Atomic(tern_callee *) next; /* the next in the same row of the list */
    tern_callee_kind kind;
    uint64_t nonce;
    void *object;
};

/* Adds an object to the list: from now on calls find it. Only the collective functions that create
 * and destroy objects call this, and a process is in one of them at a time. */
void tern_callee_add(tern_context *context, tern_callee *callee, tern_callee_kind kind,
                     uint64_t nonce, void *object);

/* Removes an object from the list: when this returns no call finds it, and no handler uses it any
 * more, because it waits for the rounds of progress of other threads. An object that was never
 * added is fine. */
void tern_callee_remove(tern_context *context, tern_callee *callee);

/* Finds an object, in a handler. NULL: this process has no such object (any more). */
void *tern_callee_find(const tern_context *context, tern_callee_kind kind, uint64_t nonce);

/* The status of a call to an object that this process does not have. object: its kind, such as
 * "hash table". TERN_ERR_PEER if this rank knows of a death: then it has destroyed the object
 * without waiting for the caller, which may not know of the death yet. Otherwise TERN_ERR_STATE. */
tern_status tern_callee_missing(const tern_context *context, const char *object)
    __attribute__((cold));

#endif
