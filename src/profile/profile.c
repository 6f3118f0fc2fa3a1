#include "src/profile/profile.h"

#include <stdlib.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/profile/trace.h"
#include "src/progress/wait.h"

const char *const tern_span_names[TERN_SPAN_KINDS] = {
#define X(name, text, one) text,
    TERN_SPANS(X)
#undef X
};

/* The worker for which this thread last made progress. The nonce distinguishes a context from a
 * later one at the same address. */
static _Thread_local struct {
    const tern_context *context;
    uint64_t nonce;
    tern_worker *worker;
} profiled;

void tern_profile_use(tern_worker *worker) {
    if (worker == NULL) {
        profiled.context = NULL;
        return;
    }
    profiled.context = worker->context;
    profiled.nonce = worker->context->nonce;
    profiled.worker = worker;
}

/* Returns the profile of the worker for which this thread last made progress; NULL: that worker
 * belongs to another context. */
static tern_profile *profile_of_thread(const tern_context *context) {
    return profiled.context == context && profiled.nonce == context->nonce
               ? profiled.worker->profile
               : NULL;
}

static tern_wait_tally *wait_tally_of(tern_profile *p, const char *name) {
    size_t i = 0;
    while (i < TERN_PROFILE_WAITS - 1 && p->waits[i].name != NULL && p->waits[i].name != name)
        i++;
    if (p->waits[i].name == NULL)
        p->waits[i].name = i < TERN_PROFILE_WAITS - 1 ? name : "other waits";
    return &p->waits[i];
}

static void tally_wait(tern_tally *tally, uint64_t ns) {
    tally->waits++;
    tally->waited += ns;
}

static void trace_add(tern_trace *trace, tern_span_kind kind, uint64_t began, uint64_t ended,
                      uint32_t rank, uint64_t bytes, uint32_t function, const char *name) {
    const tern_trace_event event = {began, ended, bytes, name, rank, function, kind};
    tern_trace_add(trace, &event);
}

static void wait_close(tern_worker *worker) {
    tern_profile *p = worker->profile;
    if (p->wait.state == NULL)
        return;
    const uint64_t ns = p->wait.last - p->wait.began;
    tern_wait_tally *tally = wait_tally_of(p, p->wait.name);
    tally->number++;
    tally->ns += ns;
    tally_wait(&p->kind[p->wait.within], ns);
    if (p->wait.rank < worker->context->size)
        tally_wait(&p->peer[p->wait.rank], ns);
    if (p->wait.function < worker->context->profiling->functions)
        tally_wait(&p->called[p->wait.function], ns);
    if (p->trace != NULL)
        trace_add(p->trace, TERN_SPAN_WAIT, p->wait.began, p->wait.last, p->wait.rank, 0,
                  TERN_NO_FUNCTION, p->wait.name);
    p->wait.state = NULL;
}

/* A call with the same state continues the same wait. The state of another wait may lie at the
 * address of an earlier one; its beginning differs then. */
void tern_profile_wait(tern_context *context, tern_await *state, uint32_t rank) {
    tern_profile *p = profile_of_thread(context);
    if (p == NULL)
        return;
    const uint64_t now = tern_now();
    if (p->wait.state == state && p->wait.mark == state->began) {
        p->wait.last = now;
        return;
    }
    wait_close(profiled.worker);
    if (state->began == 0)
        state->began = now;
    p->wait.state = state;
    p->wait.mark = state->began;
    p->wait.began = p->wait.last = now;
    p->wait.name = state->in != NULL ? state->in : tern_waits_in;
    p->wait.rank = rank;
    p->wait.function = p->function;
    p->wait.within = p->now;
}

void tern_profile_waited(const tern_context *context, const tern_await *state) {
    tern_profile *p = profile_of_thread(context);
    if (p != NULL && p->wait.state == state)
        p->wait.last = tern_now();
}

static void tally_add(tern_tally *tally, uint64_t bytes, uint64_t ns) {
    tally->number++;
    tally->bytes += bytes;
    tally->ns += ns;
}

tern_span tern_span_begin(tern_worker *worker, tern_span_kind kind, uint32_t function) {
    tern_profile *p = worker->profile;
    const tern_span span = {tern_now(), p->now, p->function};
    p->now = kind;
    p->function = function;
    return span;
}

void tern_span_end(tern_worker *worker, const tern_span *span, uint32_t rank, uint64_t bytes,
                   tern_status status) {
    tern_profile *p = worker->profile;
    const tern_span_kind kind = p->now;
    const uint32_t function = p->function;
    const uint64_t now = tern_now(), ns = now - span->began;
    if (p->wait.state != NULL && p->wait.began >= span->began)
        wait_close(worker);
    p->now = span->outer;
    p->function = span->function;
    if (status != TERN_OK)
        return;
    tally_add(&p->kind[kind], bytes, ns);
    if (rank < worker->context->size && kind != TERN_SPAN_RUN)
        tally_add(&p->peer[rank], bytes, ns);
    if (function < worker->context->profiling->functions)
        tally_add(kind == TERN_SPAN_RUN ? &p->ran[function] : &p->called[function], bytes, ns);
    if (p->trace != NULL)
        trace_add(p->trace, kind, span->began, now, rank, bytes, function, NULL);
}

void tern_profile_note(tern_worker *worker, tern_span_kind kind, uint32_t rank, uint64_t bytes,
                       uint64_t arrow) {
    tern_profile *p = worker->profile;
    tally_add(&p->kind[kind], bytes, 0);
    if (p->trace == NULL)
        return;
    const uint64_t now = tern_now();
    trace_add(p->trace, kind, now, now, rank, bytes, TERN_NO_FUNCTION, NULL);
    tern_trace_arrow(worker, TERN_TRACE_ARROW_TO, arrow, now);
}

static void profile_free(tern_profile *p) {
    free(p->trace);
    free(p->peer);
    free(p->called);
    free(p->ran);
    free(p);
}

/* events: how many events its trace holds; 0: it has no trace. */
static tern_profile *profile_make(uint32_t ranks, size_t events) {
    tern_profile *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->function = TERN_NO_FUNCTION;
    p->peer = calloc(ranks, sizeof *p->peer);
    for (size_t i = 0; i < TERN_PROFILE_ANSWERS; i++)
        p->answer[i] = TERN_NO_FUNCTION;
    if (events > 0)
        p->trace = tern_trace_make(events);
    if (p->peer != NULL && (events == 0 || p->trace != NULL))
        return p;
    profile_free(p);
    return NULL;
}

tern_status tern_profile_open(tern_context *context) {
    const bool traces = context->config.trace[0] != 0;
    const size_t events = traces ? context->config.trace_events : 0;
    if (!context->config.stats && !traces)
        return TERN_OK;
    context->profiling = calloc(1, sizeof *context->profiling);
    bool made = context->profiling != NULL;
    for (uint32_t i = 0; i < context->workers && made; i++) {
        context->worker[i]->profile = profile_make(context->size, events);
        made = context->worker[i]->profile != NULL;
    }
    if (!made)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the statistics of %u workers",
                         context->workers);
    context->profiling->began = tern_now();
    return traces ? tern_timeline_open(context) : TERN_OK;
}

tern_status tern_profile_begin(tern_context *context) {
    if (context->config.trace[0] == 0)
        return TERN_OK;
    return tern_collective_agree(context, NULL, tern_timeline_begin(context), "comparing clocks");
}

tern_status tern_profile_functions(tern_context *context, uint32_t count, const char *const *name) {
    if (context->profiling == NULL)
        return TERN_OK;
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_profile *p = context->worker[i]->profile;
        p->called = calloc((size_t)count + 1, sizeof *p->called);
        p->ran = calloc((size_t)count + 1, sizeof *p->ran);
        if (p->called == NULL || p->ran == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for the statistics of %u functions",
                             count);
    }
    context->profiling->functions = count;
    context->profiling->name = name;
    return TERN_OK;
}

void tern_profile_close(tern_context *context) {
    if (context->profiling == NULL)
        return;
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_profile *p = context->worker[i]->profile;
        context->worker[i]->profile = NULL;
        if (p != NULL)
            profile_free(p);
    }
    tern_timeline_close(context);
    free(context->profiling);
    context->profiling = NULL;
}

static void profile_warn(const tern_context *context, const char *option, tern_status status) {
    if (status != TERN_OK && context->rank == 0)
        tern_log(TERN_LOG_WARN, "what %s asks for is not written: %s", option, tern_error_detail());
    tern_error_clear();
}

void tern_profile_report(tern_context *context) {
    if (context->profiling == NULL)
        return;
    for (uint32_t i = 0; i < context->workers; i++)
        wait_close(context->worker[i]);
    profiled.context = NULL; /* later waits are tern's own */
    if (context->config.stats)
        profile_warn(context, "TERN_STATS", tern_profile_table(context));
    if (context->config.trace[0] != 0)
        profile_warn(context, "TERN_TRACE", tern_timeline_write(context));
}
