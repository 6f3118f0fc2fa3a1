/* Reads back what TERN_TRACE has written, and checks what is true of every timeline. */

#ifndef TERN_TESTS_SRC_TIMELINE_H
#define TERN_TESTS_SRC_TIMELINE_H

#include <jansson.h>
#include <math.h>

#include "fixture.h"

typedef struct timeline {
    json_t *file, *events;
} timeline;

static inline timeline timeline_read(const char *path) {
    json_error_t error;
    timeline t = {json_load_file(path, JSON_REJECT_DUPLICATES, &error), NULL};
    if (t.file == NULL)
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    t.events = json_object_get(t.file, "traceEvents");
    CU_ASSERT(json_is_array(t.events));
    return t;
}

static inline void timeline_free(timeline *t) { json_decref(t->file); }

static inline const char *event_text(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

static inline bool event_is(const json_t *event, const char *phase) {
    return strcmp(event_text(event, "ph"), phase) == 0;
}

static inline int64_t event_ns(const json_t *event, const char *key) {
    return llround(json_number_value(json_object_get(event, key)) * 1000);
}

static inline int event_rank(const json_t *event) {
    return (int)json_integer_value(json_object_get(event, "pid")) - 1;
}

/* How many spans of a category a rank has. */
static inline unsigned timeline_count(const timeline *t, int rank, const char *category) {
    unsigned count = 0;
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        const json_t *e = json_array_get(t->events, i);
        count += event_is(e, "X") && event_rank(e) == rank &&
                 strcmp(event_text(e, "cat"), category) == 0;
    }
    return count;
}

/* Twice the most by which a clock is wrong, in ns: by so much an arrow may go back in time. */
static inline int64_t timeline_error(const timeline *t) {
    int64_t most = 0;
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        const json_t *labels =
            json_object_get(json_object_get(json_array_get(t->events, i), "args"), "labels");
        const char *within = labels == NULL ? NULL : strstr(json_string_value(labels), "within ");
        const long long ns = within != NULL ? atoll(within + strlen("within ")) : 0;
        most = ns > most ? ns : most;
    }
    return 2 * most;
}

static inline int64_t event_end(const json_t *event) {
    return event_ns(event, "ts") + event_ns(event, "dur");
}

/* An arrow leads to what begins there. */
static inline bool is_led_to(const json_t *span, int64_t at) {
    const char *category = event_text(span, "cat");
    return event_ns(span, "ts") == at && (strcmp(category, "calls executed") == 0 ||
                                          strcmp(category, "notifications received") == 0);
}

/* What is wrong in a thread: time goes back, spans neither lie one in another nor one behind
 * another, an arrow begins in no span or does not end where a handler or a notification begins. */
static inline unsigned thread_faults(const timeline *t, int64_t thread) {
    enum { DEPTH = 64 };
    const json_t *span[DEPTH];
    int64_t last = INT64_MIN;
    size_t depth = 0;
    unsigned faults = 0;
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        const json_t *e = json_array_get(t->events, i);
        const int64_t at = event_ns(e, "ts");
        if (json_integer_value(json_object_get(e, "tid")) != thread || event_is(e, "M"))
            continue;
        faults += at < last;
        last = at;
        const bool is_span = event_is(e, "X");
        while (depth > 0 && event_end(span[depth - 1]) < at + is_span)
            depth--;
        if (is_span) {
            faults += depth > 0 && event_end(e) > event_end(span[depth - 1]);
            CU_ASSERT_FATAL(depth < DEPTH);
            span[depth++] = e;
        } else if (event_is(e, "s")) {
            faults += depth == 0;
        } else {
            size_t enclosing = depth;
            while (enclosing > 0 && !is_led_to(span[enclosing - 1], at))
                enclosing--;
            faults += enclosing == 0;
        }
    }
    return faults;
}

static inline void timeline_check_threads(const timeline *t) {
    unsigned threads = 0;
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        const json_t *e = json_array_get(t->events, i);
        if (strcmp(event_text(e, "name"), "thread_name") != 0)
            continue;
        CU_ASSERT_EQUAL(thread_faults(t, json_integer_value(json_object_get(e, "tid"))), 0);
        threads++;
    }
    CU_ASSERT(threads > 0);
}

/* Each arrow has one beginning and one end, which is not before it. Returns how many there are. */
static inline unsigned timeline_check_arrows(const timeline *t) {
    const int64_t error = timeline_error(t);
    json_t *begun = json_object();
    unsigned arrows = 0, wrong = 0;
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        json_t *e = json_array_get(t->events, i);
        if (!event_is(e, "s"))
            continue;
        wrong += json_object_get(begun, event_text(e, "id")) != NULL;
        json_object_set(begun, event_text(e, "id"), e);
    }
    for (size_t i = 0; i < json_array_size(t->events); i++) {
        const json_t *e = json_array_get(t->events, i);
        if (!event_is(e, "f"))
            continue;
        const json_t *from = json_object_get(begun, event_text(e, "id"));
        wrong += from == NULL || event_ns(e, "ts") + error < event_ns(from, "ts");
        json_object_del(begun, event_text(e, "id"));
        arrows++;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(json_object_size(begun), 0);
    json_decref(begun);
    return arrows;
}

#endif
