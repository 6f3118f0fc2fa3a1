/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The counters of searches, in JSON and in words. */

#include "bench_mcts.h"

static double per(uint64_t a, uint64_t b) { return b > 0 ? (double)a / (double)b : 0; }

/* The calls that one look at a ring finds count as one message, as the called worker sees them.
 * Records of barriers are among them, some for each run. */
static double calls_a_message(const mcts_counters *c) {
    return c->search.calls > 0 ? per(c->records, c->runs) : 0;
}

static double idle(const mcts_counters *c) { return per(c->search.idle_ns, c->search.run_ns); }

/* Completions of a worker in a microsecond in which it was not idle. */
static double while_busy(const mcts_counters *c) {
    return 1e3 * per(c->search.completions, c->search.run_ns - c->search.idle_ns);
}

static void write_json(mcts_way *w) {
    const mcts_counters *c = &w->counters;
    const tern_search_statistics *s = &c->search;
    snprintf(w->json, sizeof w->json,
             ",\"visits_per_completion\":{\"tern\":%.4g,\"alone\":%.4g,\"sequential\":%.4g,"
             "\"shared\":%.4g},\"depth\":%.4g,\"calls_per_visit\":%.4g,\"bytes_per_visit\":%.4g,"
             "\"calls_per_message\":%.4g,\"full_per_call\":%.4g,\"deferred\":%.4g,\"kept\":%.4g,"
             "\"idle\":%.4g,\"busiest\":%.4g,\"pairs_with_rings\":%llu,\"rings_outgrown\":%llu",
             w->visits, w->alone_visits, w->sequential_visits, w->shared_visits,
             per(s->depth_sum, s->completions), per(s->calls, s->visits), per(s->bytes, s->visits),
             calls_a_message(c), per(c->full, s->calls), per(s->deferred, s->completions),
             per(s->kept, s->calls), idle(c), c->busiest, (unsigned long long)c->pairs,
             (unsigned long long)c->outgrown);
}

/* The workers' counters since the context was created, over all ranks. */
static void take_stats(mcts_way *w) {
    uint64_t sums[5] = {0};
    for (uint32_t i = 0; i < w->workers; i++) {
        const tern_stats *s = &w->threads[i].stats;
        const uint64_t mine[5] = {s->rings_opened, s->rings_outgrown, s->records_received,
                                  s->runs_received, s->credits_waited};
        for (size_t k = 0; k < 5; k++)
            sums[k] += mine[k];
    }
    uint64_t most = sums[2];
    tern_mpi_lock();
    bench_mpi(MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_UINT64_T, MPI_SUM, w->group.comm),
              "MPI_Allreduce");
    bench_mpi(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, w->group.comm),
              "MPI_Allreduce");
    tern_mpi_unlock();
    mcts_counters *c = &w->counters;
    c->busiest = per(most * (uint64_t)w->group.ranks, sums[2]);
    c->pairs = sums[0];
    c->outgrown = sums[1];
    c->records = sums[2];
    c->runs = sums[3];
    c->full = sums[4];
}

void mcts_account(mcts_way *w) {
    tern_search_statistics run, *sum = &w->counters.search;
    bench_ok(tern_search_get_statistics(w->group.worker, w->search, &run),
             "tern_search_get_statistics");
#define X(field, meaning) sum->field += run.field;
    TERN_SEARCH_STATISTICS_TABLE(X)
#undef X
    take_stats(w);
    w->visits = per(sum->visits, sum->completions);
    write_json(w);
}

const char *mcts_mode_name(const mcts_mode *mode, bool calls) {
    static const char *const names[] = {[TERN_PUBLISH_WRITE] = "write",
                                        [TERN_PUBLISH_BATCHED] = "batched",
                                        [TERN_PUBLISH_SPILL] = "spill"};
    return calls ? names[mode->publish] : "no calls";
}

void mcts_note(bench *b, const mcts_row *row) {
    const mcts_counters *c = &row->counters;
    const tern_search_statistics *s = &c->search;
    bench_note(b,
               "%.3f million visits/s; depth %.2f; of a visit %.3f calls, %.1f bytes; %.2f calls a "
               "message; of 1000 calls %.2f met a full ring; deferred %.3f of completions; idle "
               "%.3f of the time; the busiest process takes %.2f times the mean of records; rings "
               "that grew: %llu of %llu",
               row->visits * row->completions, per(s->depth_sum, s->completions),
               per(s->calls, s->visits), per(s->bytes, s->visits), calls_a_message(c),
               1e3 * per(c->full, s->calls), per(s->deferred, s->completions), idle(c), c->busiest,
               (unsigned long long)c->outgrown, (unsigned long long)c->pairs);
}

/* Completions per time are the share of the time in which workers had work, times what they
 * complete in that time. These are the two factors of the ratio. */
void mcts_explain(bench *b, const mcts_row *batched, const mcts_row *spill) {
    const mcts_counters *t = &batched->counters, *o = &spill->counters;
    const tern_search_statistics *ts = &t->search, *os = &o->search;
    double had_work = (1 - idle(t)) / (1 - idle(o)), worked = while_busy(t) / while_busy(o);
    bench_note(
        b,
        "batched / spill: completions %.2f = %.2f, the time with work (%.3f, %.3f), x %.2f, what "
        "is done in it;",
        had_work * worked, had_work, 1 - idle(t), 1 - idle(o), worked);
    bench_note(b,
               "  by %.2f and %.2f calls a message, %.3f and %.3f calls and %.1f and %.1f bytes a "
               "visit, %.2f and %.2f full rings in 1000 calls",
               calls_a_message(t), calls_a_message(o), per(ts->calls, ts->visits),
               per(os->calls, os->visits), per(ts->bytes, ts->visits), per(os->bytes, os->visits),
               1e3 * per(t->full, ts->calls), 1e3 * per(o->full, os->calls));
}

static void mode_text(char *text, size_t room, const mcts_row *row) {
    snprintf(text, room, "%s%s%s", mcts_mode_name(&row->mode, row->calls),
             row->mode.calls_only ? ", calls only" : "", row->mode.under_way > 0 ? ", many" : "");
}

/* The paper's figure 3 as a table. All times, and also `of one`, come from pairs of blocks. */
void mcts_summary(bench *b, const mcts_row *rows, size_t count) {
    uint64_t pairs = 0, outgrown = 0;
    if (count == 0)
        return;
    bench_note(b,
               "m x p x t: machines, processes of each, threads of each; ones in front left out");
    bench_note(b, "million/s; of one: completions over those of tern with one worker");
    bench_note(b, "%-7s %-18s %11s %8s %8s %7s %11s %11s %11s", "", "mode", "completions", "visits",
               "both", "of one", "sequential", "each alone", "shared tree");
    for (size_t i = 0; i < count; i++) {
        const mcts_row *r = &rows[i];
        char mode[32];
        double visits = r->visits * r->completions;
        mode_text(mode, sizeof mode, r);
        bench_note(b, "%-7s %-18s %11.3f %8.3f %8.3f %7.2f %11.3f %11.3f %11.3f%s", r->layout, mode,
                   r->completions, visits, r->completions + visits, r->of_one, r->sequential,
                   r->alone, r->shared, r->crowded ? "  (oversubscribed)" : "");
        pairs += r->counters.pairs;
        outgrown += r->counters.outgrown;
    }
    bench_note(b, "rings that ever grew: %llu of %llu pairs, %.3f %% (the paper's: 0.016 %%)",
               (unsigned long long)outgrown, (unsigned long long)pairs, 100 * per(outgrown, pairs));
}
