#include "src/peers/activity.h"

#include <stddef.h>
#include <string.h>

#include "src/peers/watch.h"

/* The activity line of a rank if this process maps it, or NULL. */
static tern_activity *activity_of(const tern_context *context, uint32_t rank) {
    return context->activity != NULL ? context->activity(context, rank) : NULL;
}

/* If another thread is just writing the line this one writes nothing, since that report is as good.
 * If the version stays odd, another rank has overwritten it; the line is left as it is, because it
 * is only a hint. */
void tern_activity_report(tern_context *context, const char *name, uint64_t now) {
    tern_activity *mine = activity_of(context, context->rank);
    if (mine == NULL)
        return;
    /* R4; the exchange decides */
    uint64_t version = atomic_load_explicit(&mine->version, memory_order_relaxed);
    /* R6: tern_activity_report; after what the last writer stored */
    if (version % 2 == 1 ||
        !atomic_compare_exchange_strong_explicit(&mine->version, &version, version + 1,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    /* R2: tern_activity_copy; the odd version before the words */
    atomic_thread_fence(memory_order_release);
    uint64_t words[TERN_ACTIVITY_WORDS] = {0};
    strncpy((char *)words, name, sizeof words - 1);
    for (size_t i = 0; i < TERN_ACTIVITY_WORDS; i++)
        /* R2: tern_activity_copy */
        atomic_store_explicit(&mine->name[i], words[i], memory_order_relaxed);
    /* R2: tern_activity_copy */
    atomic_store_explicit(&mine->seen, now, memory_order_relaxed);
    /* R1: tern_activity_copy, tern_activity_report; the even version after the words */
    atomic_store_explicit(&mine->version, version + 2, memory_order_release);
}

void tern_activity_copy(const tern_activity *a, uint64_t now, tern_reported *reported) {
    uint64_t words[TERN_ACTIVITY_WORDS];
    /* R1: tern_activity_report */
    const uint64_t version = atomic_load_explicit(&a->version, memory_order_acquire);
    /* R2: tern_activity_report; the fence has the words before the second look at the version */
    for (size_t i = 0; i < TERN_ACTIVITY_WORDS; i++)
        words[i] = atomic_load_explicit(&a->name[i], memory_order_relaxed);
    const uint64_t seen = atomic_load_explicit(&a->seen, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (version % 2 == 1 || atomic_load_explicit(&a->version, memory_order_relaxed) != version)
        words[0] = 0;
    memcpy(reported->name, words, sizeof words);
    reported->name[sizeof words - 1] = 0;
    reported->ago = now > seen ? now - seen : 0;
}

/* Reads the activity of a rank of this machine that shares no memory with this rank. */
static bool activity_fetch(tern_context *context, uint32_t rank, tern_activity *copy) {
    tern_peers *peers = &context->peers;
    const tern_sibling *sibling = tern_peer_find(peers, rank);
    if (sibling == NULL)
        return false;
    const uint64_t pointer =
        sibling->call_at + offsetof(tern_peers, activity) - offsetof(tern_peers, call);
    uint64_t address;
    return tern_peer_peek(peers, rank, pointer, &address, sizeof address) && address != 0 &&
           tern_peer_peek(peers, rank, address, copy, sizeof *copy);
}

bool tern_activity_read(tern_context *context, uint32_t rank, uint64_t now,
                        tern_reported *reported) {
    tern_activity copy;
    const tern_activity *mapped = activity_of(context, rank);
    if (mapped == NULL && activity_fetch(context, rank, &copy))
        mapped = &copy;
    if (mapped == NULL)
        return tern_watches_reported(context, rank, now, reported);
    tern_activity_copy(mapped, now, reported);
    return true;
}
