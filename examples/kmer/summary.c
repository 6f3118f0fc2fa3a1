#include "summary.h"

#include <inttypes.h>

static double rate(const kmer_summary *s) {
    double seconds = s->times.read + s->times.count;
    return seconds > 0 ? 1e-6 * (double)s->totals->kmers / seconds : 0;
}

static const char *via(const kmer_summary *s) {
    return s->counter->via == TERN_BY_RMA ? "rma" : "call";
}

static void write_json(const kmer_summary *s, const char *transports, FILE *out) {
    const kmer_totals *t = s->totals;
    fprintf(out,
            "{\"k\":%u,\"canonical\":%s,\"via\":\"%s\",\"transport\":\"%s\",\"ranks\":%u,"
            "\"kmers\":%" PRIu64 ",\"distinct\":%" PRIu64 ",\"unique\":%" PRIu64
            ",\"largest\":%" PRIu64 ",\"capacity\":%" PRIu64,
            s->options->k, s->options->canonical ? "true" : "false", via(s), transports,
            tern_context_size(s->counter->context), t->kmers, t->distinct, t->unique, t->largest,
            s->counter->capacity);
    fprintf(out,
            ",\"seconds\":{\"start\":%.6f,\"read\":%.6f,\"count\":%.6f,\"write\":%.6f,"
            "\"total\":%.6f},\"million_kmers_per_second\":%.3f}\n",
            s->times.start, s->times.read, s->times.count, s->times.write, s->times.total, rate(s));
}

static void write_text(const kmer_summary *s, const char *transports, FILE *out) {
    const kmer_totals *t = s->totals;
    char number[32];
    unsigned ranks = tern_context_size(s->counter->context);
    if (s->inputs == 1)
        fprintf(out, "%s", s->first_input);
    else
        fprintf(out, "%d files", s->inputs);
    fprintf(out, ": k %u%s, %u rank%s, %s by %s\n\n", s->options->k,
            s->options->canonical ? " canonical" : "", ranks, ranks == 1 ? "" : "s", transports,
            via(s));
    fprintf(out, "k-mers         %s\n", kmer_commas(t->kmers, number));
    fprintf(out, "distinct       %s\n", kmer_commas(t->distinct, number));
    fprintf(out, "unique         %s\n", kmer_commas(t->unique, number));
    fprintf(out, "largest count  %s\n", kmer_commas(t->largest, number));
    if (t->distinct > 0)
        kmer_totals_show_histogram(t, out);
    fprintf(out,
            "\n%.1f M k-mers/s; %.3f s: start %.3f, reading %.3f, counting %.3f, writing %.3f\n",
            rate(s), s->times.total, s->times.start, s->times.read, s->times.count, s->times.write);
}

int kmer_summary_write(const kmer_summary *summary, FILE *out, kmer_error *error) {
    char transports[32];
    kmer_counter_transports(summary->counter, transports, sizeof transports);
    if (summary->options->json)
        write_json(summary, transports, out);
    else
        write_text(summary, transports, out);
    if (fflush(out) != 0 || ferror(out))
        return kmer_fail_system(error, "write", "standard output");
    return 0;
}
