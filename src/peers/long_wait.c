#include "src/peers/long_wait.h"

#include <string.h>

#include "src/holder.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/peers/activity.h"

#define SECONDS(ns) ((double)(ns)*1e-9)

/* The number in MPI_COMM_WORLD of a rank of the context; the rank itself if MPI cannot be asked
 * now. */
static uint32_t world_rank(const tern_context *context, uint32_t rank) {
    MPI_Group ours = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int from = (int)rank, to = MPI_UNDEFINED;
    const bool had_lock = tern_mpi_locked();
    /* R4 */
    if (atomic_load_explicit(&context->mpi_gone, memory_order_relaxed) ||
        (!had_lock && !tern_mpi_trylock()))
        return rank;
    if (PMPI_Comm_group(context->comm, &ours) == MPI_SUCCESS &&
        PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS)
        PMPI_Group_translate_ranks(ours, 1, &from, world, &to);
    if (ours != MPI_GROUP_NULL)
        PMPI_Group_free(&ours);
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
    if (!had_lock)
        tern_mpi_unlock();
    return to == MPI_UNDEFINED ? rank : (uint32_t)to;
}

static void add_rank(tern_text *text, const tern_context *context, uint32_t rank) {
    const uint32_t world = world_rank(context, rank);
    tern_text_add(text, "rank %u", rank);
    if (world != rank)
        tern_text_add(text, " (%u of MPI_COMM_WORLD)", world);
}

static void add_subject(tern_text *text, const tern_wait_state *wait) {
    if (wait->what == NULL)
        return;
    tern_text_add(text, ", for %s", wait->what);
    if (wait->name != NULL)
        tern_text_add(text, " %s", wait->name);
    else if (wait->number != UINT64_MAX)
        tern_text_add(text, " %llu", (unsigned long long)wait->number);
}

static void add_activity(tern_text *text, tern_context *context, uint32_t rank, uint64_t now) {
    tern_reported reported;
    add_rank(text, context, rank);
    if (!tern_activity_read(context, rank, now, &reported))
        tern_text_add(text, " has not told this process what it is in");
    else if (tern_reported_is_fresh(&reported))
        tern_text_add(text, " is in %s", reported.name);
    else if (reported.name[0] == 0)
        tern_text_add(text, " is outside tern: it computes, or waits in MPI or for a lock");
    else
        tern_text_add(text,
                      " has been outside tern for %.1f s, after %s: it computes, or waits in MPI "
                      "or for a lock",
                      SECONDS(reported.ago), reported.name);
}

/* Whether rank is in the same function in which this rank waits. */
static bool is_in(tern_context *context, uint32_t rank, const char *function, uint64_t now) {
    tern_reported reported;
    return tern_activity_read(context, rank, now, &reported) && tern_reported_is_fresh(&reported) &&
           strncmp(reported.name, function, sizeof reported.name - 1) == 0;
}

/* For a wait for any rank: returns the first rank that is not in the same function, or the size of
 * the context. */
static uint32_t find_absent(tern_context *context, const char *function, uint64_t now) {
    uint32_t rank = 0;
    while (rank < context->size && (rank == context->rank || is_in(context, rank, function, now)))
        rank++;
    return rank;
}

/* Appends what the workers of this thread have not sent. */
static void add_unsent(tern_text *text, const tern_context *context) {
    char bytes[256];
    tern_text unsent = {bytes, sizeof bytes, 0};
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *worker = context->worker[i];
        if (!tern_worker_is_own(worker))
            continue;
        for (size_t k = 0; k < TERN_LAYER_SLOTS; k++)
            if (context->layers[k]->name_unsent != NULL)
                context->layers[k]->name_unsent(worker, &unsent);
        for (const tern_holder *h = worker->holders; h != NULL; h = h->next) {
            const size_t count = h->count(h);
            if (count > 0)
                tern_text_add(&unsent, " %zu %s%s in a %s (%s sends %s),", count, h->item,
                              count == 1 ? "" : "s", h->place, h->flush,
                              count == 1 ? "it" : "them");
        }
    }
    if (unsent.length > 0)
        tern_text_add(text, ". This rank has not sent%.*s itself", (int)unsent.length - 1, bytes);
}

static void warn(tern_context *context, const tern_wait_state *wait, const char *function,
                 uint32_t rank, uint64_t now) {
    char bytes[900];
    tern_text text = {bytes, sizeof bytes, 0};
    const uint32_t other = rank == TERN_ANYBODY ? find_absent(context, function, now) : rank;
    add_rank(&text, context, context->rank);
    tern_text_add(&text, " of context %u with %u ranks has waited %.0f s in %s for ",
                  context->number, context->size, SECONDS(now - wait->began), function);
    if (rank == TERN_ANYBODY)
        tern_text_add(&text, "any rank");
    else
        add_rank(&text, context, rank);
    add_subject(&text, wait);
    tern_text_add(&text, "; ");
    if (other < context->size)
        add_activity(&text, context, other, now);
    else
        tern_text_add(&text, "all ranks are in it");
    add_unsent(&text, context);
    tern_log(TERN_LOG_WARN, "%s. Remedies: docs/howto/debugging-a-hang.md", bytes);
}

void tern_long_wait_look(tern_context *context, tern_wait_state *wait, uint32_t rank,
                         uint64_t now) {
    const uint64_t limit = (uint64_t)context->config.stuck_report * 1000000000u;
    const char *function = wait->in != NULL ? wait->in : tern_waits_in;
    tern_activity_report(context, function, now);
    if (limit == 0 || rank == TERN_NOBODY || wait->warned || now - wait->began < limit)
        return;
    wait->warned = true;
    warn(context, wait, function, rank, now);
}
