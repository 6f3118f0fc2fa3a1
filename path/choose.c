#include "path/choose.h"

#include "base/error.h"
#include "src/progress/wait.h"

/* Whether a call has room for the message and the result. For a batch of finds the owner sends
 * larger values in a call of its own. */
static bool call_fits(const tern_path_question *q) {
    return q->message <= tern_call_room(q->worker->context) &&
           (q->result <= TERN_RESULT_MAX || tern_path_is_many(q->kind));
}

static __attribute__((cold)) tern_status refuse_rma(const tern_path_question *q) {
    if (q->kind == TERN_PATH_BY_OWNER)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: the owner runs modifiers; leave TERN_BY_RMA out", q->name);
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "%s: the %s is call_only; pass TERN_BY_CALL or create it without", q->name,
                     q->object);
}

static __attribute__((cold)) tern_status refuse_call(const tern_path_question *q) {
    const char *other = q->call_only ? "" : " or pass TERN_BY_RMA";
    const tern_context *context = q->worker->context;
    if (q->message > tern_call_room(context))
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: by call it takes %zu bytes and a ring takes %zu at a time; raise "
                         "TERN_RING_SIZE (now %zu)%s",
                         q->name, q->message, tern_call_room(context), context->config.ring_size,
                         other);
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "%s: a call returns at most %u bytes and there are %zu; pass TERN_BY_RMA",
                     q->name, TERN_RESULT_MAX, q->result);
}

tern_status tern_choice_of(const tern_path_question *q, tern_pick *pick) {
    const tern_context *context = q->worker->context;
    const uint32_t rank = q->target.worker.rank;
    const tern_flags asked = tern_flags_path(q->flags);
    const bool calls_alone = q->call_only || q->kind == TERN_PATH_BY_OWNER, fits = call_fits(q);
    tern_pick p = {.flag = asked, .class = tern_path_class_of(context, rank)};
    if (asked == TERN_BY_RMA && calls_alone)
        return refuse_rma(q);
    if (!tern_path_is_open(asked)) {
        p.reason = TERN_REASON_ASKED;
    } else if (tern_path_is_many(q->kind) &&
               tern_batch_stays(context, rank, q->flags, q->call_only, q->reached)) {
        p.flag = TERN_BY_RMA;
        p.reason = TERN_REASON_NODE;
    } else if (calls_alone || !fits || q->result > TERN_RESULT_MAX) {
        p.flag = calls_alone ? TERN_BY_CALL : TERN_BY_RMA;
        p.reason = TERN_REASON_ONLY;
    } else if (q->kind == TERN_PATH_BY_REACH) {
        p.flag = q->reached ? TERN_BY_RMA : TERN_BY_CALL;
        p.reason = TERN_REASON_REACH;
    } else {
        p.flag = tern_selector_path(q->worker, q->kind, p.class, &p.reason);
    }
    if (p.flag == TERN_BY_CALL && !fits)
        return refuse_call(q);
    p.path = p.flag == TERN_BY_CALL && p.class != TERN_PATH_CLASS_OWN ? TERN_PATH_CALL
             : q->reached                                             ? TERN_PATH_DIRECT
                                                                      : TERN_PATH_REMOTE;
    *pick = p;
    return TERN_OK;
}

tern_status tern_choose_at_length(const tern_path_question *q, tern_pick *pick) {
    tern_status status = tern_choice_of(q, pick);
    if (status == TERN_OK && pick->reason == TERN_REASON_DUE && q->may_measure) {
        tern_selector_look(q->worker, pick->class, &q->target);
        status = tern_choice_of(q, pick);
    }
    if (status != TERN_OK || pick->flag != TERN_BY_CALL)
        return status;
    if (pick->path != TERN_PATH_CALL) {
        (void)tern_progress_round(q->worker);
    } else if (q->may_measure && pick->reason >= TERN_REASON_DUE) {
        pick->target = q->target;
        pick->expected = tern_selector_expects(q->worker, q->kind, pick->class);
        pick->began = tern_now();
    }
    return TERN_OK;
}
