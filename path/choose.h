#ifndef TERN_PATH_CHOOSE_H
#define TERN_PATH_CHOOSE_H

/*
 * Chooser: decides how an operation of a table, a map or a queue is done: directly, by RMA, or by a
 * call. Single operations, requests, batches and their items all ask it, and nothing else decides.
 * tern_choice_of only decides, and tern_*_explain report that decision. tern_choose decides, too,
 * and also measures, makes progress and times calls where the decision needs it.
 *
 * The chooser looks at five things, in this order: the path that the program names; for a batch
 * whether the memory lies on the caller's node; the paths that the container's options and the
 * sizes of a call leave; for a kind that the cost model does not know, whether load and store reach
 * the memory; and for all other kinds the selector.
 */

#include "path/selector.h"
#include "rma/reply/reply.h"

/* What the chooser is asked. */
typedef struct tern_path_question {
    tern_worker *worker;
    const char *name;   /* of the operation, and of the container, for messages */
    const char *object; /* such as "table" */
    tern_path_target target;
    tern_flags flags;
    tern_path_kind kind;
    bool call_only;   /* the container's option */
    bool reached;     /* load and store reach the target's part */
    bool may_measure; /* the caller may wait for a measurement, and tells how long a call took */
    size_t message, result; /* bytes that a call would send and bring back */
} tern_path_question;

/* The most bytes of arguments that a ring takes in one call, behind the return address. */
static inline size_t tern_call_room(const tern_context *context) {
    const size_t room = context->config.ring_size / 2 - 64 - sizeof(tern_return_address);
    return room < TERN_ARGUMENTS_MAX ? room : TERN_ARGUMENTS_MAX;
}

static inline bool tern_path_is_many(tern_path_kind kind) {
    return kind >= TERN_PATH_FIND_MANY && kind <= TERN_PATH_ADD_MANY;
}

/* Whether the program leaves the path to the chooser. */
static inline bool tern_path_is_open(tern_flags flags) {
    return tern_flags_path(flags) == TERN_AUTO;
}

/* Whether the caller of a batch with these flags works on the memory of a rank itself, because that
 * rank is on its node. Only the processor's atomics may change the memory of a call_only container,
 * so load and store have to reach that. */
static inline bool tern_batch_stays(const tern_context *context, uint32_t rank, tern_flags flags,
                                    bool call_only, bool reached) {
    return tern_path_is_open(flags) && tern_same_node(context, rank) && (reached || !call_only);
}

/* Whether an operation works directly on memory that load and store reach: the program asks for
 * that, or no operation of the kind goes by call. The container must not be call_only, nor flags
 * hold TERN_BY_CALL. */
static inline bool tern_is_direct(const tern_worker *worker, tern_flags flags,
                                  tern_path_kind kind) {
    return (flags & TERN_BY_RMA) != 0 || tern_path_settled(worker, kind);
}

/* The decision. It measures nothing, makes no progress, and depends only on the question and on
 * what the worker knows. TERN_ERR_UNSUPPORTED: the named path is not possible, and why. */
tern_status tern_choice_of(const tern_path_question *question, tern_pick *pick);

/* Decides, and measures first if that is due and allowed. An operation by call on the caller's own
 * part is done in place, so this makes progress before it: a loop of such operations would starve
 * the calls of other ranks. The caller calls tern_pick_done after the operation. */
tern_status tern_choose_at_length(const tern_path_question *question, tern_pick *pick);

/* Decides fast for most operations: those on memory that load and store reach, if no operation of
 * the kind goes by call. False: the operation is not one of these; ask the whole question. */
static inline bool tern_chosen_at_once(const tern_worker *worker, tern_flags flags,
                                       tern_path_kind kind, bool call_only, bool reached,
                                       tern_pick *pick) {
    const bool direct = kind == TERN_PATH_BY_REACH ||
                        (kind < TERN_PATH_KINDS && tern_is_direct(worker, flags, kind));
    if (__builtin_expect(!reached || call_only || (flags & TERN_BY_CALL) != 0 || !direct, 0))
        return false;
    pick->flag = TERN_BY_RMA;
    pick->path = TERN_PATH_DIRECT;
    pick->expected = 0;
    return true;
}

/* Decides by tern_chosen_at_once or, if that returns false, by tern_choose_at_length. */
static inline tern_status tern_choose(const tern_path_question *q, tern_pick *pick) {
    return tern_chosen_at_once(q->worker, q->flags, q->kind, q->call_only, q->reached, pick)
               ? TERN_OK
               : tern_choose_at_length(q, pick);
}

/* Records how long the operation took, if it is timed. */
static inline void tern_pick_done(tern_worker *worker, const tern_pick *pick, tern_status status) {
    if (__builtin_expect(pick->expected != 0, 0))
        tern_selector_record(worker, pick, status);
}

/* explain.c: writes the text of tern_hashtable_explain about count questions, which all have the
 * same target. function: the public one, for messages. */
tern_status tern_path_explain(const tern_path_question *questions, size_t count, char *to,
                              size_t room, size_t *bytes, const char *function);

#endif
