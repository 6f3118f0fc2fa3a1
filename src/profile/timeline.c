#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "src/collective/collective.h"
#include "src/log.h"
#include "src/profile/trace.h"

/*
 * The file of TERN_TRACE, in the Trace Event Format, which Perfetto and chrome://tracing read. Each
 * rank sorts the events of its workers, converts their times to rank 0's clock, and sends them as
 * lines of one size. Rank 0 writes each line when it arrives.
 */

enum { TEXT = 64 << 10, LINE_MOST = 1024 };

/* Further kinds of lines, beside those of events. */
enum { LINE_RANK = TERN_TRACE_ARROW_TO + 1, LINE_WORKER };

/* A line, as ranks send it to rank 0. */
typedef struct timeline_line {
    int64_t began;   /* ns since rank 0 has created the context */
    uint64_t lasted; /* ns */
    uint64_t number; /* of an event; for a rank, the error of its clock; for a worker, how many
                        events it dropped */
    uint32_t worker, rank, kind, pad;
    char name[88]; /* of the function or of the wait; "": the name of the kind */
} timeline_line;

struct tern_timeline {
    char path[sizeof((tern_config *)0)->trace + 64];
    int fd; /* rank 0's */
    tern_clock first, last;
    uint64_t began; /* by rank 0's clock */
    /* The next line of this rank: a worker's own line or that of an event. */
    bool told; /* the rank's own line was given */
    uint32_t worker;
    size_t line;
    /* Rank 0's. */
    uint64_t offset, dropped;
    int error;  /* errno of the first write that failed; 0: none has */
    bool comma; /* the file has a line, so the next one needs a comma */
    size_t used;
    char text[TEXT];
};

/* The file of a process's first context has the name in TERN_TRACE. Later contexts, and those whose
 * rank 0 is not rank 0 of MPI_COMM_WORLD, add a suffix. */
static void timeline_name(const tern_context *context, tern_timeline *t) {
    static _Atomic uint32_t contexts;
    int world = 0, used;
    /* R4 */
    const uint32_t before = atomic_fetch_add_explicit(&contexts, 1, memory_order_relaxed);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world);
    used = snprintf(t->path, sizeof t->path, "%s", context->config.trace);
    if (world != 0)
        used += snprintf(t->path + used, sizeof t->path - (size_t)used, ".rank%d", world);
    if (before > 0)
        snprintf(t->path + used, sizeof t->path - (size_t)used, ".%u", before + 1);
}

tern_status tern_timeline_open(tern_context *context) {
    tern_timeline *t = malloc(sizeof *t);
    if (t == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for TERN_TRACE");
    memset(t, 0, offsetof(tern_timeline, text));
    t->fd = -1;
    context->profiling->timeline = t;
    if (context->rank != 0)
        return TERN_OK;
    timeline_name(context, t);
    t->fd = open(t->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (t->fd >= 0 && lseek(t->fd, 0, SEEK_CUR) >= 0)
        return TERN_OK;
    return tern_fail(TERN_ERR_CONFIG,
                     "TERN_TRACE: rank 0 cannot write %s: %s; name a file that it can create",
                     t->path, strerror(errno));
}

tern_status tern_timeline_begin(tern_context *context) {
    tern_timeline *t = context->profiling->timeline;
    t->began = context->profiling->began;
    tern_status status = tern_collective_broadcast(context, NULL, 0, &t->began, sizeof t->began);
    return status == TERN_OK ? tern_clock_compare(context, &t->first) : status;
}

void tern_timeline_close(tern_context *context) {
    tern_timeline *t = context->profiling->timeline;
    if (t != NULL && t->fd >= 0)
        close(t->fd);
    free(t);
}

/* This rank's lines. */

/* Sorts enclosing events before the events in them, and an arrow behind the event at which it
 * begins or ends. */
static int event_before(const void *a, const void *b) {
    const tern_trace_event *x = a, *y = b;
    if (x->began != y->began)
        return x->began < y->began ? -1 : 1;
    const bool x_is_arrow = x->kind >= TERN_SPAN_KINDS, y_is_arrow = y->kind >= TERN_SPAN_KINDS;
    if (x_is_arrow != y_is_arrow)
        return x_is_arrow ? 1 : -1;
    return x->ended > y->ended ? -1 : x->ended < y->ended;
}

/* Converts a time to rank 0's clock. Between the two comparisons clocks are assumed to drift at a
 * constant rate. */
static int64_t timeline_time(const tern_timeline *t, uint64_t now) {
    const int64_t passed = (int64_t)(t->last.at - t->first.at);
    const double drift = passed > 0 ? (double)(t->last.ahead - t->first.ahead) / (double)passed : 0;
    const double since = (double)(int64_t)(now - t->first.at);
    return (int64_t)(now - t->began) - t->first.ahead - (int64_t)(drift * since);
}

static void line_of_rank(const tern_context *context, timeline_line *line) {
    const tern_timeline *t = context->profiling->timeline;
    line->kind = LINE_RANK;
    line->number = t->first.error > t->last.error ? t->first.error : t->last.error;
    if (gethostname(line->name, sizeof line->name - 1) != 0)
        line->name[0] = 0;
}

static void line_of_worker(const tern_context *context, uint32_t worker, timeline_line *line) {
    const uint32_t own = (uint32_t)context->config.workers;
    const bool serves = worker >= own;
    line->kind = LINE_WORKER;
    line->worker = worker;
    line->number = context->worker[worker]->profile->trace->dropped;
    snprintf(line->name, sizeof line->name, serves ? "service thread %u" : "worker %u",
             serves ? worker - own : worker);
}

static void line_of_event(const tern_context *context, uint32_t worker, const tern_trace_event *e,
                          timeline_line *line) {
    const tern_profiling *profiling = context->profiling;
    const char *name = e->name;
    line->began = timeline_time(profiling->timeline, e->began);
    line->lasted = (uint64_t)(timeline_time(profiling->timeline, e->ended) - line->began);
    line->number = e->number;
    line->worker = worker;
    line->rank = e->rank;
    line->kind = e->kind;
    if (name == NULL && e->function < profiling->functions)
        name = profiling->name[e->function];
    snprintf(line->name, sizeof line->name, "%s", name != NULL ? name : "");
}

static void timeline_give(void *argument, void *records, size_t count) {
    const tern_context *context = argument;
    tern_timeline *t = context->profiling->timeline;
    timeline_line *line = records;
    memset(line, 0, count * sizeof *line);
    for (; count > 0; count--, line++) {
        if (!t->told) {
            t->told = true;
            line_of_rank(context, line);
            continue;
        }
        const tern_trace *trace = context->worker[t->worker]->profile->trace;
        if (t->line == 0)
            line_of_worker(context, t->worker, line);
        else
            line_of_event(context, t->worker, &trace->event[t->line - 1], line);
        if (t->line++ == trace->count) {
            t->worker++;
            t->line = 0;
        }
    }
}

/* Rank 0's file. */

static void timeline_flush(tern_timeline *t) {
    for (size_t at = 0; at < t->used && t->error == 0;) {
        const ssize_t put = tern_file_put(t->fd, t->text + at, t->used - at, t->offset);
        if (put < 0 && errno != EINTR)
            t->error = errno;
        at += put > 0 ? (size_t)put : 0;
        t->offset += put > 0 ? (uint64_t)put : 0;
    }
    t->used = 0;
}

static void timeline_print(tern_timeline *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void timeline_print(tern_timeline *t, const char *format, ...) {
    va_list arguments;
    if (TEXT - t->used < LINE_MOST)
        timeline_flush(t);
    va_start(arguments, format);
    t->used += (size_t)vsnprintf(t->text + t->used, LINE_MOST, format, arguments);
    va_end(arguments);
}

/* Writes a name as a string of JSON. */
static const char *timeline_quote(const char name[88], char quoted[88 * 6]) {
    char *to = quoted;
    for (size_t i = 0; i < 88 && name[i] != 0; i++) {
        const unsigned char c = (unsigned char)name[i];
        if (c == '"' || c == '\\' || c < 0x20)
            to += sprintf(to, "\\u%04x", c);
        else
            *to++ = (char)c;
    }
    *to = 0;
    return quoted;
}

static void timeline_print_time(tern_timeline *t, const char *key, int64_t ns) {
    const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    timeline_print(t, ",\"%s\":%s%llu.%03u", key, ns < 0 ? "-" : "",
                   (unsigned long long)(size / 1000), (unsigned)(size % 1000));
}

/* Process number 0 is not used, since viewers take it for the system. */
static void timeline_print_place(tern_timeline *t, const tern_context *context, const char *phase,
                                 uint32_t rank, uint32_t worker) {
    timeline_print(t, "%s\n{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%llu", t->comma ? "," : "", phase,
                   (unsigned long long)rank + 1,
                   (unsigned long long)rank * context->workers + worker + 1);
    t->comma = true;
}

static void timeline_print_rank(tern_timeline *t, const tern_context *context, uint32_t rank,
                                const timeline_line *line, const char *host) {
    timeline_print_place(t, context, "M", rank, 0);
    timeline_print(t, ",\"name\":\"process_name\",\"args\":{\"name\":\"rank %u on %s\"}}", rank,
                   host);
    timeline_print_place(t, context, "M", rank, 0);
    timeline_print(t, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", rank);
    timeline_print_place(t, context, "M", rank, 0);
    timeline_print(t,
                   ",\"name\":\"process_labels\",\"args\":{\"labels\":\"clock within %llu ns\"}}",
                   (unsigned long long)line->number);
}

static void timeline_print_worker(tern_timeline *t, const tern_context *context, uint32_t rank,
                                  const timeline_line *line, const char *name) {
    timeline_print_place(t, context, "M", rank, line->worker);
    timeline_print(t, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s", name);
    if (line->number > 0)
        timeline_print(t, " (%llu events dropped)", (unsigned long long)line->number);
    timeline_print(t, "\"}}");
    t->dropped += line->number;
}

static void timeline_print_arrow(tern_timeline *t, const tern_context *context, uint32_t rank,
                                 const timeline_line *line) {
    const bool begins = line->kind == TERN_TRACE_ARROW_FROM;
    timeline_print_place(t, context, begins ? "s" : "f", rank, line->worker);
    timeline_print(t, ",%s\"cat\":\"arrows\",\"name\":\"record\",\"id\":\"0x%llx\"",
                   begins ? "" : "\"bp\":\"e\",", (unsigned long long)line->number);
    timeline_print_time(t, "ts", line->began);
    timeline_print(t, "}");
}

static void timeline_print_span(tern_timeline *t, const tern_context *context, uint32_t rank,
                                const timeline_line *line, const char *name) {
    static const char *const one[TERN_SPAN_KINDS] = {
#define X(name, text, of_one) of_one,
        TERN_SPANS(X)
#undef X
    };
    const bool calls = line->kind == TERN_SPAN_CALL && name[0] != 0;
    timeline_print_place(t, context, "X", rank, line->worker);
    timeline_print(t, ",\"cat\":\"%s\",\"name\":\"%s%s\"", tern_span_names[line->kind],
                   calls ? "call " : "", name[0] != 0 ? name : one[line->kind]);
    timeline_print_time(t, "ts", line->began);
    timeline_print_time(t, "dur", (int64_t)line->lasted);
    timeline_print(t, ",\"args\":{");
    if (line->rank < context->size)
        timeline_print(t, "\"rank\":%u%s", line->rank, line->number > 0 ? "," : "");
    if (line->number > 0)
        timeline_print(t, "\"bytes\":%llu", (unsigned long long)line->number);
    timeline_print(t, "}}");
}

static void timeline_take(void *argument, uint32_t rank, const void *records, size_t count) {
    const tern_context *context = argument;
    tern_timeline *t = context->profiling->timeline;
    char quoted[88 * 6];
    for (const timeline_line *line = records; count > 0; count--, line++) {
        const char *name = timeline_quote(line->name, quoted);
        if (line->kind == LINE_RANK)
            timeline_print_rank(t, context, rank, line, name);
        else if (line->kind == LINE_WORKER)
            timeline_print_worker(t, context, rank, line, name);
        else if (line->kind >= TERN_SPAN_KINDS)
            timeline_print_arrow(t, context, rank, line);
        else
            timeline_print_span(t, context, rank, line, name);
    }
}

static tern_status timeline_end(const tern_context *context, tern_timeline *t) {
    timeline_print(t, "\n],\"otherData\":{\"ranks\":%u,\"dropped\":%llu}}\n", context->size,
                   (unsigned long long)t->dropped);
    timeline_flush(t);
    if (t->dropped > 0)
        tern_log(TERN_LOG_WARN,
                 "%s lacks %llu events, for which workers had no room; raise TERN_TRACE_EVENTS, "
                 "which is %zu",
                 t->path, (unsigned long long)t->dropped, context->config.trace_events);
    return t->error == 0
               ? TERN_OK
               : tern_fail(TERN_ERR_SYSTEM, "writing %s: %s", t->path, strerror(t->error));
}

tern_status tern_timeline_write(tern_context *context) {
    tern_timeline *t = context->profiling->timeline;
    uint64_t lines = 1;
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_trace *trace = context->worker[i]->profile->trace;
        qsort(trace->event, trace->count, sizeof trace->event[0], event_before);
        lines += 1 + trace->count;
    }
    tern_status status = tern_clock_compare(context, &t->last);
    if (status == TERN_OK && context->rank == 0)
        timeline_print(t, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    const tern_gathering gathering = {sizeof(timeline_line), timeline_give, timeline_take, context};
    if (status == TERN_OK)
        status = tern_profile_gather(context, &gathering, lines);
    return status == TERN_OK && context->rank == 0 ? timeline_end(context, t) : status;
}
