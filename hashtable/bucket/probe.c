#include "hashtable/bucket/probe.h"

#include "hashtable/bucket/scratch.h"
#include "rma/transfer.h"

tern_status tern_probe_wait(tern_worker *worker, tern_wait_state *wait, uint64_t state) {
    tern_context *context = worker->context;
    const uint32_t rank = tern_state_writer(state);
    if (worker->in_handler || worker->in_progress) {
        /* The caller does not learn for which rank it waits, so a death is found out here. */
        tern_peers_look(&context->peers);
        if (rank < context->size && tern_peer_is_dead(&context->peers, rank))
            return tern_peer_fail(rank);
        return tern_fail(TERN_ERR_AGAIN, "rank %u is writing the bucket", rank);
    }
    tern_status status = tern_puts_deliver(worker);
    if (status != TERN_OK)
        return status;
    /* The wait does not start from the beginning after progress: each poll may bring a message, and
     * two ranks that wait for buckets of each other's parts make progress all the time. */
    (void)tern_progress_round(worker);
    return tern_wait_step(context, wait, rank);
}

uint64_t tern_bucket_mark(const tern_key_search *p, uint64_t state, uint64_t marked) {
    uint64_t seen = 0;
    (void)tern_state_cas(p, p->table->shape, true, state, marked, &seen);
    return seen;
}

tern_status tern_bucket_left(const tern_key_search *p) {
    return tern_fail(TERN_ERR_CORRUPT,
                     "a bucket of rank %u's part of a hash table says that its key has moved, and "
                     "none is being moved; look for what writes into rank %u's segment",
                     p->part->buckets.rank, p->part->buckets.rank);
}

tern_status tern_bucket_torn(const tern_key_search *p) {
    return tern_fail(TERN_ERR_CORRUPT,
                     "bucket %llu of rank %u's part of a hash table is locked by rank %u, and its "
                     "entry was written over; look for what writes into rank %u's segment",
                     (unsigned long long)p->index, p->part->buckets.rank, p->table->rank,
                     p->part->buckets.rank);
}

static tern_status probe_corrupt(const tern_key_search *p, uint64_t state, const char *what) {
    return tern_fail(
        TERN_ERR_CORRUPT,
        "bucket %llu of rank %u's part of a hash table has the state %#llx%s; look for "
        "what writes into rank %u's segment",
        (unsigned long long)p->index, p->part->buckets.rank, (unsigned long long)state, what,
        p->part->buckets.rank);
}

tern_status tern_bucket_check(const tern_key_search *p, uint64_t state) {
    const uint32_t writer = tern_state_writer(state);
    if (writer != TERN_NOBODY && writer >= p->table->ranks)
        return probe_corrupt(p, state, ", which names a rank that does not exist");
    if (!tern_state_is_possible(state & ~TERN_STATE_WRONG) ||
        (!tern_state_is_possible(state) && writer == TERN_NOBODY))
        return probe_corrupt(p, state, ", which has bits that no rank sets");
    if (!tern_state_is_possible(state))
        return probe_corrupt(p, state, ", which names a rank that is not writing the bucket");
    return TERN_OK;
}

tern_status tern_bucket_not_whole(const tern_key_search *p, uint64_t state) {
    return probe_corrupt(p, state, " and no whole entry, and nobody is writing it");
}

tern_status tern_bucket_contradictory(const tern_key_search *p, uint64_t state) {
    return probe_corrupt(p, state,
                         ", and an entry that says otherwise of whether its key is there");
}

/* The state names no writer. If an update between the looks at entry and state tore the entry, the
 * next look finds another state or a whole entry, unless an update comes between each time. */
tern_status tern_bucket_look_again(const tern_key_search *p, uint64_t state) {
    enum { LOOKS = 4096, REMOTE_LOOKS = 64 };

    const bool direct = p->part->direct != NULL;
    const tern_shape s = p->table->shape;
    tern_scratch room;
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s)), now = state;
    tern_status status = entry != NULL ? TERN_OK : TERN_ERR_MEMORY;
    bool whole = false;
    for (int i = 0;
         i < (direct ? LOOKS : REMOTE_LOOKS) && status == TERN_OK && now == state && !whole; i++) {
        status = tern_entry_get(p, s, direct, entry);
        whole = status == TERN_OK && tern_probe_judge(p, s, entry) != TERN_ENTRY_INVALID;
        if (status == TERN_OK)
            status = tern_state_reload(p, s, direct, &now);
        tern_relax();
    }
    tern_scratch_free(&room);
    return status != TERN_OK || now != state || whole ? status : tern_bucket_not_whole(p, state);
}
