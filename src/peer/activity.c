#include "src/peer/activity.h"

#include <stdio.h>
#include <string.h>

#include "src/log.h"

/* A rank that waits in tern reports every 5 ms, if the system lets it run. */
#define FRESH_NS 1000000000u

static tern_activity *activity_of(const tern_context *context, uint32_t rank) {
    return context->activity != NULL ? context->activity(context, rank) : NULL;
}

/* Another thread that is just writing tells as much: then this one writes nothing. A version that
 * stays odd was written by another rank, and the line is left as it is: it is a hint. */
static void activity_report(tern_context *context, const char *name, uint64_t now) {
    tern_activity *mine = activity_of(context, context->rank);
    if (mine == NULL)
        return;
    /* R4; the exchange decides */
    uint64_t version = atomic_load_explicit(&mine->version, memory_order_relaxed);
    /* R6: activity_report; after what the last writer stored */
    if (version % 2 == 1 ||
        !atomic_compare_exchange_strong_explicit(&mine->version, &version, version + 1,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    /* R2: read_activity; the odd version before the words */
    atomic_thread_fence(memory_order_release);
    uint64_t words[TERN_ACTIVITY_WORDS] = {0};
    strncpy((char *)words, name, sizeof words - 1);
    for (size_t i = 0; i < TERN_ACTIVITY_WORDS; i++)
        /* R2: read_activity */
        atomic_store_explicit(&mine->name[i], words[i], memory_order_relaxed);
    /* R2: read_activity */
    atomic_store_explicit(&mine->seen, now, memory_order_relaxed);
    /* R1: read_activity, activity_report; the even version after the words */
    atomic_store_explicit(&mine->version, version + 2, memory_order_release);
}

/* [out] name, seen. An empty name: nothing has been reported, or it is just being written. */
static void read_activity(const tern_activity *a, char name[TERN_ACTIVITY_BYTES], uint64_t *seen) {
    uint64_t words[TERN_ACTIVITY_WORDS];
    /* R1: activity_report */
    const uint64_t version = atomic_load_explicit(&a->version, memory_order_acquire);
    /* R2: activity_report; the fence has the words before the second look at the version */
    for (size_t i = 0; i < TERN_ACTIVITY_WORDS; i++)
        words[i] = atomic_load_explicit(&a->name[i], memory_order_relaxed);
    *seen = atomic_load_explicit(&a->seen, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (version % 2 == 1 || atomic_load_explicit(&a->version, memory_order_relaxed) != version)
        words[0] = 0;
    memcpy(name, words, TERN_ACTIVITY_BYTES);
    name[TERN_ACTIVITY_BYTES - 1] = 0;
}

static bool is_still_in(uint64_t seen, uint64_t now) { return now < seen + FRESH_NS; }

/* What rank has reported. */
static void activity_describe(const tern_context *context, uint32_t rank, uint64_t now, char *text,
                              size_t room) {
    const tern_activity *a = activity_of(context, rank);
    char name[TERN_ACTIVITY_BYTES] = "";
    uint64_t seen = 0;
    if (a != NULL)
        read_activity(a, name, &seen);
    if (a == NULL)
        snprintf(text, room, "is on another node, so what it is in is not known here");
    else if (name[0] == 0)
        snprintf(text, room, "has not reported to wait in anything");
    else if (is_still_in(seen, now))
        snprintf(text, room, "is in %s", name);
    else
        snprintf(text, room, "last reported to be in %s, %.1f s ago", name,
                 (double)(now - seen) * 1e-9);
}

/* Whether rank is in the function that this rank waits in. */
static bool is_in(const tern_context *context, uint32_t rank, const char *function, uint64_t now) {
    const tern_activity *a = activity_of(context, rank);
    char name[TERN_ACTIVITY_BYTES];
    uint64_t seen;
    if (a == NULL)
        return false;
    read_activity(a, name, &seen);
    return is_still_in(seen, now) && strncmp(name, function, sizeof name - 1) == 0;
}

static void activity_warn(const tern_context *context, const char *function, uint32_t rank,
                          uint64_t waited, uint64_t now) {
    char whom[32] = "any rank", other[128] = "";
    uint32_t shown = rank;
    if (rank == TERN_ANYBODY) {
        shown = 0;
        while (shown < context->size &&
               (shown == context->rank || is_in(context, shown, function, now)))
            shown++;
    } else {
        snprintf(whom, sizeof whom, "rank %u", rank);
    }
    if (shown < context->size)
        activity_describe(context, shown, now, other, sizeof other);
    if (shown < context->size)
        tern_log(TERN_LOG_WARN, "rank %u has waited %.0f s in %s for %s; rank %u %s", context->rank,
                 (double)waited * 1e-9, function, whom, shown, other);
    else
        tern_log(TERN_LOG_WARN, "rank %u has waited %.0f s in %s for %s; all ranks are in it",
                 context->rank, (double)waited * 1e-9, function, whom);
}

void tern_activity_wait(tern_context *context, tern_wait_state *wait, uint32_t rank, uint64_t now) {
    const uint64_t limit = (uint64_t)context->config.stuck_report * 1000000000u;
    const char *function = wait->in != NULL ? wait->in : tern_waits_in;
    activity_report(context, function, now);
    if (limit == 0 || rank == TERN_NOBODY || wait->warned || now - wait->began < limit)
        return;
    wait->warned = true;
    activity_warn(context, function, rank, now - wait->began, now);
}
