#ifndef TERN_CHOICE_CHOICE_H
#define TERN_CHOICE_CHOICE_H

/*
 * Choice: which of two ways an operation goes (TERN_VIA_AUTO), by what each is seen to cost. There
 * is one for each worker, target and kind of operation, so a target that does not attend is known
 * by the cost of calls to it, and no choice is shared between threads.
 *
 * Budget. An operation by RMA that is not timed pays a load, a decrement and a store: 1 to 2 ns.
 * One number says all that it asks, so by call that is 0, where a function more does not matter.
 * Timing takes about a hundredth of the time, trials of the dearer way a fiftieth (the constants
 * are in choice.c): no operation is timed for nothing that takes less than some 80 ns, and each
 * trial is paid back by operations the cheaper way before the next.
 */

#include <stdbool.h>
#include <stdlib.h>

#include "rma/reply.h"
#include "src/context.h"
#include "tern/model.h"

/* 32 bytes, so that one never lies across cache lines. */
typedef struct tern_choice {
    uint32_t left;   /* operations by RMA until the next that tern_choice_sample sees */
    uint16_t ended;  /* the period in which the last trial ended */
    uint8_t gap;     /* operations since it saw the last one, or as many as there will be */
    uint8_t joined;  /* the period in which the target called last, if joins */
    int32_t rest;    /* operations until the next trial, or ticks that this one has cost more; own:
                        when the last round of progress was */
    float mean[2];   /* of each way, in ticks; at first the model's */
    float then;      /* the chosen way's, when the last trial ended; own: ticks to the next round */
    uint8_t via;     /* the chosen way */
    uint8_t seen[2]; /* operations that each way's mean is over; the first warms up */
    uint8_t losses;  /* trials lost in succession */
    uint16_t tried;  /* operations of the trial under way; 1 where one goes on that has won */
    uint8_t calls;   /* by call, until the next that is timed; left is 0 meanwhile */
    bool fixed : 1;  /* there is no other way */
    bool own : 1;    /* the target is the caller's rank */
    bool near : 1;   /* RMA needs nobody's help */
    bool first : 1;  /* no trial has told of the other way yet */
    bool joins : 1;  /* the next trial is one of the target's too, and need not be waited for */
    bool served : 1; /* RMA goes by messages that take as much of the target's time as calls */
    uint8_t dear : 2; /* dear operations in succession by the chosen way */
} tern_choice;

/* A way taken. choice is NULL unless the operation is timed. */
typedef struct tern_pick {
    tern_via via;
    tern_choice *choice;
    uint64_t start;
} tern_pick;

/* costs: what the model says of each way, in ticks. */
void tern_choice_begin(tern_choice *choice, const double *costs);

/* The slow half of tern_choice_take: an operation by call, or a timed one by either way. */
tern_pick tern_choice_sample(tern_choice *choice);
/* A timed pick for many at once. */
tern_pick tern_choice_sample_many(tern_choice *choice);
/* Both, of an operation that is timed from now on. */
tern_pick tern_choice_timed(tern_choice *choice, uint64_t now, bool many);

/* The target calls: where it may be trying that, and a trial is half paid for, this rank joins. */
void tern_choice_join(tern_choice *choice, uint64_t now);

/* Count operations that were picked together took so many ticks. */
void tern_choice_learn(const tern_pick *pick, uint64_t ticks, uint64_t count);

static inline tern_pick tern_choice_take(tern_choice *choice) {
    if (__builtin_expect(choice->left == 0, 0))
        return tern_choice_sample(choice);
    choice->left--;
    return (tern_pick){TERN_VIA_RMA, NULL, 0};
}

/* The choices of a container: of all targets for each kind, and so for each worker. */
typedef struct tern_chooser {
    tern_choice *choice;
    size_t row; /* choices of a worker, whole cache lines */
    size_t targets;
} tern_chooser;

/* What a container tells of a kind of its operations. */
typedef struct tern_kind {
    tern_model_operation operation; /* that stands for all of the kind */
    bool rma, call;                 /* which ways are permitted; one is */
} tern_kind;

/* For targets that are the ranks from first on. TERN_ERR_MEMORY. */
tern_status tern_chooser_make(tern_chooser *chooser, const tern_context *context, uint32_t first,
                              uint32_t targets, const tern_kind *kinds, uint32_t count);
static inline void tern_chooser_free(const tern_chooser *chooser) { free(chooser->choice); }

/* A choice for one operation, or for count at once. In a handler, where no call may be waited for,
 * and where the program holds all futures, it is RMA if that is permitted. */
tern_pick tern_chooser_take_many(const tern_chooser *chooser, const tern_worker *worker,
                                 uint32_t target, uint32_t kind);
void tern_pick_end(const tern_pick *pick, uint64_t count);

static inline bool tern_chooser_waits(const tern_worker *worker) {
    return !worker->in_handler && !worker->in_progress;
}

static inline tern_choice *tern_chooser_at(const tern_chooser *chooser, const tern_worker *worker,
                                           uint32_t target, uint32_t kind) {
    return &chooser->choice[worker->index * chooser->row + kind * chooser->targets + target];
}

/* True: by RMA and not timed, so that nothing is to be done when the operation is over. False:
 * tern_chooser_take says how it goes. */
static inline bool tern_chooser_settled(const tern_chooser *chooser, const tern_worker *worker,
                                        uint32_t target, uint32_t kind) {
    tern_choice *choice = tern_chooser_at(chooser, worker, target, kind);
    if (__builtin_expect(choice->left == 0, 0))
        return false;
    choice->left--;
    return true;
}

/* The way of an operation that was asked for via. */
static inline tern_pick tern_chooser_take(const tern_chooser *chooser, const tern_worker *worker,
                                          uint32_t target, uint32_t kind, tern_via via) {
    if (__builtin_expect(via != TERN_VIA_AUTO, 1))
        return (tern_pick){via, NULL, 0};
    tern_choice *choice = tern_chooser_at(chooser, worker, target, kind);
    if (__builtin_expect(!tern_chooser_waits(worker), 0))
        return (tern_pick){choice->fixed ? (tern_via)choice->via : TERN_VIA_RMA, NULL, 0};
    tern_pick pick = tern_choice_take(choice);
    if (pick.via == TERN_VIA_CALL && !choice->fixed && !tern_reply_room(worker))
        pick = (tern_pick){TERN_VIA_RMA, NULL, 0};
    return pick;
}

/* The operation is over. */
static inline void tern_pick_done(const tern_pick *pick) {
    if (__builtin_expect(pick->choice != NULL, 0))
        tern_pick_end(pick, 1);
}

#endif
