/*
 * Whether a recorded history linearizes: whether its operations have an order in which each follows
 * all that had returned before it was called, and gives what it gave when they are done one after
 * the other. Objects are judged one by one, since a history linearizes if that of each object does
 * (Herlihy and Wing); a key of a hash table is an object.
 */

#ifndef TERN_TESTS_LINEARIZE_H
#define TERN_TESTS_LINEARIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/status.h"

enum { HISTORY_OPERATIONS = 512, HISTORY_WORDS = 16 };

/* What the model knows of an object. Equal states are equal in every word. */
typedef struct history_state {
    uint64_t word[HISTORY_WORDS];
} history_state;

typedef struct history_operation {
    uint64_t call, done; /* ns; call <= done. It is before those that are called after done */
    uint64_t object;
    uint64_t argument[2], result;
    tern_status status;
    uint16_t kind; /* index into the kinds that it is judged by */
    uint16_t actor;
    uint8_t flags; /* for the reader of a report */
    /* Operations of one actor and one chain, but 0, take effect in the order of their calls, and of
     * their places where these are equal: what a batch or a buffer holds. */
    uint32_t chain;
    uint32_t place;
} history_operation;

/* Whether the operation may give what it gave, in this state; changes state to what follows. */
typedef bool history_step(history_state *state, const history_operation *operation);

typedef enum history_verdict {
    HISTORY_LINEARIZES,
    HISTORY_VIOLATES,
    HISTORY_UNDECIDED /* too many operations, or configurations, to tell */
} history_verdict;

/* Judges the history of one object that begins in state initial. Sorts operations by their call.
 * step: by kind. [out] most (may be NULL): how many operations some attempt put in order. */
history_verdict history_judge(history_operation *operations, size_t count,
                              history_step *const *step, const history_state *initial,
                              size_t *most);

#endif
