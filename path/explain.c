#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "path/choose.h"
#include "src/progress/wait.h"

/* Explains the decisions of TERN_AUTO in words and ns. */

typedef struct text {
    char *to;
    size_t room, bytes; /* bytes: length of the whole text, even if room is less */
} text;

static __attribute__((format(printf, 2, 3))) void text_add(text *t, const char *format, ...) {
    const size_t left = t->bytes < t->room ? t->room - t->bytes : 0;
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(left > 0 ? t->to + t->bytes : NULL, left, format, arguments);
    va_end(arguments);
    t->bytes += added > 0 ? (size_t)added : 0;
}

static const char *const places[] = {[TERN_PATH_CLASS_OWN] = "the caller itself",
                                     [TERN_PATH_CLASS_LOCAL] = "of the caller's node",
                                     [TERN_PATH_CLASS_REMOTE] = "of another node"};

static void explain_components(text *t, const char *of, const tern_costs *c) {
    text_add(t, "; %s get %.0f ns, put %.0f, flush %.0f, atomic %.0f", of, c->get, c->put, c->flush,
             c->fetch);
}

static void explain_class(text *t, const tern_worker *worker, uint32_t rank, tern_path_class class,
                          const tern_path_costs *c) {
    tern_transport transport = TERN_SHM;
    tern_ignore(tern_context_transport(worker->context, rank, &transport));
    text_add(t, "rank %u, %s, %s", rank, places[class], tern_transport_name(transport));
    if (c->measured != 0) {
        explain_components(t, "measured", &c->costs);
        text_add(t, ", call %.0f", c->costs.call);
        explain_components(t, "own", &tern_selector_of(worker)->of[TERN_PATH_CLASS_OWN].costs);
    }
    const uint64_t now = tern_now();
    if (c->until > now)
        text_add(t, "; calls are answered late: measured again in %.0f ms",
                 (double)(c->until - now) / 1e6);
    text_add(t, "\n");
}

static void explain_costs(text *t, const tern_path_question *q, const tern_pick *pick) {
    const tern_selector *s = tern_selector_of(q->worker);
    const tern_path_costs *c = &s->of[pick->class];
    const bool call = pick->flag == TERN_BY_CALL;
    if (c->measured == 0) {
        text_add(t, "not decided; the first operation measures\n");
        return;
    }
    const tern_sums sums = tern_path_sums(q->kind, &c->costs, &s->of[TERN_PATH_CLASS_OWN].costs);
    text_add(t, "by %s; %.0f ns by RMA, %.0f ns by call%s\n", call ? "call" : "RMA", sums.rma,
             sums.call, call != (sums.call < sums.rma) ? "; the lead is less than a quarter" : "");
}

/* The texts of the reasons. NULL: the costs decide, and explain_costs writes the text. */
static const char *const reasons[] = {
    [TERN_REASON_ASKED] = "since the program asks for it",
    [TERN_REASON_ONLY] = "since options or sizes permit no other path",
    [TERN_REASON_REACH] = "since load and store reach the memory",
    [TERN_REASON_NODE] = "since a batch works on the memory of its own node itself",
    [TERN_REASON_MPI] = "since a rank of the node that waits in MPI serves no calls",
    [TERN_REASON_BUSY] = "since the caller is in a handler, or has all its calls under way",
    [TERN_REASON_COSTS] = NULL};

static void explain_kind(text *t, const tern_path_question *q) {
    tern_pick pick;
    text_add(t, "%s: ", q->name);
    if (tern_choice_of(q, &pick) != TERN_OK) {
        text_add(t, "none; %s\n", tern_error_detail());
        tern_error_clear();
    } else if (pick.class == TERN_PATH_CLASS_OWN) {
        text_add(t, "in place\n");
    } else if (reasons[pick.reason] == NULL) {
        explain_costs(t, q, &pick);
    } else {
        const bool call = pick.flag == TERN_BY_CALL;
        text_add(t, "by %s, %s\n", call ? "call" : "RMA",
                 call && pick.reason == TERN_REASON_REACH
                     ? "since load and store do not reach the memory"
                     : reasons[pick.reason]);
    }
}

tern_status tern_path_explain(const tern_path_question *questions, size_t count, char *to,
                              size_t room, size_t *bytes, const char *function) {
    if (to == NULL && room > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: text is NULL and has room for %zu bytes", function,
                         room);
    const tern_worker *worker = questions->worker;
    const uint32_t rank = questions->target.worker.rank;
    const tern_path_class class = tern_path_class_of(worker->context, rank);
    text t = {to, room, 0};
    explain_class(&t, worker, rank, class, &tern_selector_of(worker)->of[class]);
    for (size_t i = 0; i < count; i++)
        explain_kind(&t, &questions[i]);
    if (bytes != NULL)
        *bytes = t.bytes;
    return TERN_OK;
}
