#include "summary.h"

#include <inttypes.h>

static double rate(const kmer_summary *s) {
    double seconds = s->times.read + s->times.count;
    return seconds > 0 ? 1e-6 * (double)(s->totals->kmers + s->totals->rare) / seconds : 0;
}

static const char *via(const kmer_summary *s) {
    return s->counter->via == TERN_BY_RMA ? "rma" : "call";
}

static void write_json_top(const kmer_summary *s, FILE *out) {
    char text[KMER_LONGEST];
    fprintf(out, ",\"top\":[");
    for (size_t i = 0; i < s->top->count; i++) {
        kmer_write(s->top->pairs[i].kmer, s->options->k, text);
        fprintf(out, "%s[\"%.*s\",%" PRIu64 "]", i > 0 ? "," : "", (int)s->options->k, text,
                s->top->pairs[i].count);
    }
    fputc(']', out);
}

static void write_json(const kmer_summary *s, const char *transports, FILE *out) {
    const kmer_totals *t = s->totals;
    fprintf(out,
            "{\"k\":%u,\"canonical\":%s,\"via\":\"%s\",\"transport\":\"%s\",\"ranks\":%u,"
            "\"kmers\":%" PRIu64 ",\"distinct\":%" PRIu64 ",\"unique\":%" PRIu64
            ",\"largest\":%" PRIu64 ",\"capacity\":%" PRIu64 ",\"resident_bytes\":%.0f",
            s->options->k, s->options->canonical ? "true" : "false", via(s), transports,
            tern_context_size(s->counter->context), t->kmers, t->distinct, t->unique, t->largest,
            s->counter->capacity, s->times.resident_bytes);
    if (t->min_count > 0)
        fprintf(out, ",\"min_count\":%" PRIu64 ",\"rare\":%" PRIu64 ",\"rare_distinct\":%" PRIu64,
                t->min_count, t->rare, t->rare_distinct);
    if (s->options->top > 0)
        write_json_top(s, out);
    fprintf(out,
            ",\"seconds\":{\"start\":%.6f,\"read\":%.6f,\"count\":%.6f,\"write\":%.6f,"
            "\"total\":%.6f},\"million_kmers_per_second\":%.3f}\n",
            s->times.start, s->times.read, s->times.count, s->times.write, s->times.total, rate(s));
}

static void write_text_top(const kmer_summary *s, FILE *out) {
    char text[KMER_LONGEST], number[32];
    if (s->top->count > 0)
        fprintf(out, "\nmost frequent\n");
    for (size_t i = 0; i < s->top->count; i++) {
        kmer_write(s->top->pairs[i].kmer, s->options->k, text);
        fprintf(out, "%.*s  %s\n", (int)s->options->k, text,
                kmer_commas(s->top->pairs[i].count, number));
    }
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
    if (t->min_count > 0) {
        char other[32];
        fprintf(out, "left out       %s k-mers, %s distinct, counted less than %" PRIu64 " times\n",
                kmer_commas(t->rare, number), kmer_commas(t->rare_distinct, other), t->min_count);
    }
    if (t->distinct > 0)
        kmer_totals_show_histogram(t, out);
    write_text_top(s, out);
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
