/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The table for people, and the JSON: one object a line, first the machine, then one for each
 * case. */

#include "bench.h"
#include "cells.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#endif

/* Converts ns to the unit of the case: ns for times, million a second for rates, GB/s for
 * bandwidths. */
static double convert(const bench_case *c, double ns) {
    if (c->unit == BENCH_RATE)
        return 1e3 / ns;
    if (c->unit == BENCH_BANDWIDTH)
        return (double)c->bytes / ns;
    return ns;
}

static const char *unit_name(const bench_case *c) {
    return c->unit == BENCH_RATE ? "M/s" : c->unit == BENCH_BANDWIDTH ? "GB/s" : "ns";
}

typedef struct figure {
    double value, spread, mean;
} figure;

/* The median, the interquartile range and the mean over the pairs in which it was measured. */
static figure figure_of(const bench_case *c, const double *ns, size_t pairs) {
    double values[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++)
        if (ns[i] > 0)
            values[count++] = convert(c, ns[i]);
    figure f = {bench_median(values, count), bench_spread(values, count),
                bench_mean(values, count)};
    return f;
}

/* The median over the pairs of above / below. */
static figure ratio_of(const double *above, const double *below, size_t pairs) {
    double values[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++)
        if (above[i] > 0 && below[i] > 0)
            values[count++] = above[i] / below[i];
    figure f = {bench_median(values, count), bench_spread(values, count),
                bench_mean(values, count)};
    return f;
}

void bench_json_string(FILE *to, const char *text) {
    fputc('"', to);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(to, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(to, "\\u%04x", byte);
        else
            fputc(byte, to);
    }
    fputc('"', to);
}

static void json_figure(FILE *to, figure f, const char *unit) {
    fprintf(to, "\"value\":%.6g,\"unit\":\"%s\",\"spread\":%.4g,\"mean\":%.6g", f.value, unit,
            f.spread, f.mean);
}

static void json_param(FILE *to, const bench_param *p, bool first) {
    fprintf(to, "%s\"%s\":", first ? "" : ",", p->name);
    if (p->text != NULL)
        bench_json_string(to, p->text);
    else
        fprintf(to, "%llu", (unsigned long long)p->value);
}

/* "8 B", "64 KiB": with the largest power of two that divides the size. */
static void size_text(char *text, size_t room, uint64_t bytes) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    snprintf(text, room, "%llu %s", (unsigned long long)bytes, names[unit]);
}

static void case_text(char *text, size_t room, const bench_case *c) {
    bool named = c->algorithm != NULL && strcmp(c->algorithm, "improved") != 0;
    size_t at = (size_t)snprintf(text, room, "%s%s%s", c->name, named ? " " : "",
                                 named ? c->algorithm : "");
    for (size_t i = 0; i < BENCH_PARAMS && c->params[i].name != NULL && at < room; i++) {
        const bench_param *p = &c->params[i];
        char value[48];
        if (p->text != NULL)
            snprintf(value, sizeof value, "%s", p->text);
        else if (strcmp(p->name, "bytes") == 0)
            size_text(value, sizeof value, p->value);
        else if (strcmp(p->name, "within") == 0)
            size_text(value + snprintf(value, sizeof value, "in "), sizeof value - 3, p->value);
        else
            snprintf(value, sizeof value, "%s=%llu", p->name, (unsigned long long)p->value);
        at += (size_t)snprintf(text + at, room - at, " %s", value);
    }
}

/* Three significant digits and, for times, a suitable unit. */
static void value_text(char *text, size_t room, const bench_case *c, double value) {
    const char *unit = unit_name(c);
    if (c->unit == BENCH_TIME && value >= 1e9) {
        value /= 1e9;
        unit = "s";
    } else if (c->unit == BENCH_TIME && value >= 1e6) {
        value /= 1e6;
        unit = "ms";
    } else if (c->unit == BENCH_TIME && value >= 1e4) {
        value /= 1e3;
        unit = "us";
    } else if (c->unit == BENCH_BANDWIDTH && value < 0.1) {
        value *= 1e3;
        unit = "MB/s";
    }
    int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, room, "%.*f %s", digits, value, unit);
}

void bench_time_text(char *text, size_t room, double ns) {
    if (ns >= 1e6)
        snprintf(text, room, "%.3g ms", ns / 1e6);
    else if (ns >= 1e3)
        snprintf(text, room, "%.3g us", ns / 1e3);
    else
        snprintf(text, room, "%.3g ns", ns);
}

static const char *verdict(bench *b, bool met) {
    *b->missed += !met;
    return met ? "met" : "MISSED";
}

static double least_of(const double *ns, size_t pairs) {
    double least = 0;
    for (size_t i = 0; i < pairs; i++)
        if (ns[i] > 0 && (least == 0 || ns[i] < least))
            least = ns[i];
    return least;
}

/* The peer with the shortest block. */
static size_t fastest_of(const bench_case *c, const bench_times *t) {
    size_t best = 0;
    for (size_t i = 1; i < c->peer_count; i++)
        if (least_of(t->peer[i], t->pairs) < least_of(t->peer[best], t->pairs))
            best = i;
    return best;
}

static void table_fastest(bench *b, const bench_case *c, const bench_times *t) {
    const size_t best = fastest_of(c, t);
    const double ns = least_of(t->peer[best], t->pairs), own = least_of(t->measured, t->pairs);
    char value[32], name[80];
    value_text(value, sizeof value, c, convert(c, ns));
    snprintf(name, sizeof name, "%s: %s", c->fastest, c->peers[best].side.name);
    fprintf(b->table, "  %-34s %10s  %10s  %-36s %7.2f times tern's  best blocks", "", "", value,
            name, ns / own);
    if (c->fastest_at_least > 0)
        fprintf(b->table, "  >= %.2f %s", c->fastest_at_least,
                verdict(b, ns / own >= c->fastest_at_least));
    fputc('\n', b->table);
}

static bool headed; /* the subject's columns have their names */

static void table_case(bench *b, const bench_case *c, const bench_times *t) {
    char name[64], value[32], line[32] = "";
    if (!headed)
        fprintf(b->table, "  %-34s %10s  %10s  %-36s %7s  %s\n", "case", "tern", "ceiling", "",
                "ratio", "    target");
    headed = true;
    figure measured = figure_of(c, t->measured, t->pairs);
    case_text(name, sizeof name, c);
    value_text(value, sizeof value, c, measured.value);
    fprintf(b->table, "  %-34s %10s", name, value);
    if (c->ceiling.name != NULL) {
        figure ceiling = figure_of(c, t->ceiling, t->pairs);
        figure ratio = ratio_of(t->measured, t->ceiling, t->pairs);
        value_text(value, sizeof value, c, ceiling.value);
        fprintf(b->table, "  %10s  %-36s %7.2f +-%.2f", value, c->ceiling.name, ratio.value,
                ratio.spread / 2);
        if (c->ratio_target > 0) {
            snprintf(line, sizeof line, "<= %.2f", c->ratio_target);
            fprintf(b->table, "  %s %s", line, verdict(b, ratio.value <= c->ratio_target));
        }
    }
    if (c->time_target > 0) {
        bench_case time = {.unit = BENCH_TIME};
        value_text(line, sizeof line, &time, c->time_target);
        fprintf(b->table, "  <= %s %s", line,
                verdict(b, bench_median(t->measured, t->pairs) <= c->time_target));
    }
    if (bench_crowded(b))
        fprintf(b->table, "  (oversubscribed: %d threads, %d cores)", b->threads, b->cores);
    else if (t->disturbed > 0)
        fprintf(b->table, "  (%u of %zu blocks disturbed)", t->disturbed, 2 * t->pairs);
    else if (measured.spread > BENCH_UNSTEADY * measured.value)
        fprintf(b->table, "  (unsteady: +-%.0f %%)", 50 * measured.spread / measured.value);
    fputc('\n', b->table);
    for (size_t i = 0; i < c->peer_count; i++) {
        const bench_peer *peer = &c->peers[i];
        figure f = figure_of(c, t->peer[i], t->pairs);
        figure times = ratio_of(t->peer[i], t->measured, t->pairs);
        value_text(value, sizeof value, c, f.value);
        fprintf(b->table, "  %-34s %10s  %10s  %-36s %7.2f times tern's", "", "", value,
                peer->side.name, times.value);
        if (peer->at_least > 0)
            fprintf(b->table, "  >= %.2f %s", peer->at_least,
                    verdict(b, times.value >= peer->at_least));
        fputc('\n', b->table);
    }
    if (c->fastest != NULL && c->peer_count > 0)
        table_fastest(b, c, t);
    bench_tail_table(b, c, t);
    if (c->model != NULL)
        cells_table(b->table, b, c, t);
    bench_published_table(b, c, t);
    fflush(b->table);
}

static void json_case(bench *b, const bench_case *c, const bench_times *t) {
    const char *unit = unit_name(c);
    const uint64_t operations = t->operations * t->pairs;
    fprintf(b->json, "{\"bench\":\"%s\",\"case\":\"%s\",\"params\":{", b->subject, c->name);
    for (size_t i = 0; i < BENCH_PARAMS && c->params[i].name != NULL; i++)
        json_param(b->json, &c->params[i], i == 0);
    fputc('}', b->json);
    if (c->algorithm != NULL)
        fprintf(b->json, ",\"algorithm\":\"%s\"", c->algorithm);
    fprintf(b->json, ",\"transport\":\"%s%s\",\"mpi\":", b->mixed ? "shm+" : "",
            tern_transport_name(b->transport));
    bench_json_string(b->json, b->mpi);
    fprintf(b->json,
            ",\"ranks\":%d,\"threads\":%d,\"cores\":%d,\"oversubscribed\":%s,\"pairs\":%zu,"
            "\"disturbed\":%u,\"operations\":%llu,",
            b->ranks, b->threads, b->cores, bench_crowded(b) ? "true" : "false", t->pairs,
            t->disturbed, (unsigned long long)operations);
    if (c->messages > 0)
        fprintf(b->json, "\"messages\":%llu,\"runs\":%u,", (unsigned long long)c->messages,
                c->runs);
    json_figure(b->json, figure_of(c, t->measured, t->pairs), unit);
    if (c->ceiling.name != NULL) {
        figure ratio = ratio_of(t->measured, t->ceiling, t->pairs);
        fprintf(b->json, ",\"ceiling\":{\"name\":");
        bench_json_string(b->json, c->ceiling.name);
        fputc(',', b->json);
        json_figure(b->json, figure_of(c, t->ceiling, t->pairs), unit);
        fprintf(b->json, "},\"ratio\":%.5g,\"ratio_spread\":%.4g", ratio.value, ratio.spread);
        if (c->ratio_target > 0)
            fprintf(b->json, ",\"target\":%.5g", c->ratio_target);
    }
    if (c->time_target > 0)
        fprintf(b->json, ",\"target_ns\":%.5g", c->time_target);
    if (c->peer_count > 0) {
        fprintf(b->json, ",\"peers\":[");
        for (size_t i = 0; i < c->peer_count; i++) {
            figure times = ratio_of(t->peer[i], t->measured, t->pairs);
            fprintf(b->json, "%s{\"name\":", i == 0 ? "" : ",");
            bench_json_string(b->json, c->peers[i].side.name);
            fputc(',', b->json);
            json_figure(b->json, figure_of(c, t->peer[i], t->pairs), unit);
            fprintf(b->json, ",\"times\":%.5g", times.value);
            if (c->peers[i].at_least > 0)
                fprintf(b->json, ",\"target\":%.5g", c->peers[i].at_least);
            fputc('}', b->json);
        }
        fputc(']', b->json);
    }
    if (c->fastest != NULL && c->peer_count > 0) {
        const size_t best = fastest_of(c, t);
        const double ns = least_of(t->peer[best], t->pairs), own = least_of(t->measured, t->pairs);
        fprintf(b->json, ",\"fastest\":{\"of\":\"%s\",\"name\":", c->fastest);
        bench_json_string(b->json, c->peers[best].side.name);
        fprintf(b->json, ",\"value\":%.6g,\"unit\":\"%s\",\"own\":%.6g,\"times\":%.5g}",
                convert(c, ns), unit, convert(c, own), ns / own);
    }
    if (c->unit == BENCH_TIME && b->fetch_add_ns > 0 && b->missing_load_ns > 0) {
        const double ns = bench_median(t->measured, t->pairs);
        fprintf(b->json, ",\"units\":{\"fetch_add\":%.4g,\"missing_load\":%.4g}",
                ns / b->fetch_add_ns, ns / b->missing_load_ns);
    }
    bench_tail_json(b, c, t);
    if (c->model != NULL)
        cells_json(b->json, b, c, t);
    if (c->members != NULL)
        fprintf(b->json, "%s", c->members);
    if (c->also != NULL) {
        figure f = figure_of(c, t->measured, t->pairs);
        figure also = {f.value * *c->also_each, f.spread * *c->also_each, f.mean * *c->also_each};
        fprintf(b->json, ",\"%s\":{", c->also);
        json_figure(b->json, also, unit);
        fputc('}', b->json);
    }
    bench_published_json(b, c, t);
    fprintf(b->json, "}\n");
    fflush(b->json);
}

void bench_report(bench *b, const bench_case *c, const bench_times *times) {
    (*b->reported)++;
    if (b->table != NULL && b->options.osu)
        bench_osu_case(b, c, times);
    else if (b->table != NULL)
        table_case(b, c, times);
    if (b->json != NULL)
        json_case(b, c, times);
}

void bench_title(bench *b, const char *subject) {
    b->subject = subject;
    if (b->table == NULL || b->options.osu)
        return;
    fprintf(b->table, "\n%s over %s\n", subject, tern_transport_name(b->transport));
    fflush(b->table);
    headed = false;
}

void bench_progress(bench *b, const bench_case *c) {
    char name[64];
    case_text(name, sizeof name, c);
    fprintf(stderr, "tern-bench: %4.0f s  %s %s\n", (bench_now() - b->started) / 1e9, b->subject,
            name);
}

void bench_note(bench *b, const char *format, ...) {
    if (b->table == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(b->table, b->options.osu ? "# " : "  ");
    vfprintf(b->table, format, arguments);
    fputc('\n', b->table);
    va_end(arguments);
    fflush(b->table);
}

static void pinned_text(const bench *b, char *text, size_t room) {
    if (b->core[0] >= 0 && b->core[1] >= 0)
        snprintf(text, room, "pinned to core %d and %d%s", b->core[0], b->core[1],
                 b->same_kernel ? "" : " of two machines");
    else
        snprintf(text, room, "not pinned%s",
                 b->options.pin ? ": no core for each, figures mean little" : "");
}

/* Describes the machine: above the table, and in the first line of JSON. */
void bench_describe(bench *b) {
    char cpu[128], pinned[96], date[32];
    struct utsname system;
    double load[1] = {-1};
    time_t now = time(NULL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int size;
    if (b->table == NULL)
        return;
    const char *line = b->options.osu ? "# " : "";
    MPI_Comm_size(b->world, &size);
    bench_cpu_name(cpu, sizeof cpu);
    pinned_text(b, pinned, sizeof pinned);
    uname(&system);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    (void)getloadavg(load, 1);
    fprintf(b->table,
            "%stern %d.%d.%d, %s, %s\n%s%s, %ld cores, %s %s, load %.1f at the start, %s\n"
            "%s%d ranks, %s; blocks of %.0f ms, %u pairs\n",
            line, TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH, b->mpi, COMPILER,
            line, cpu, cores, system.sysname, system.release, load[0], date, line, size, pinned,
            b->options.block_ns / 1e6, b->options.pairs);
    if (b->json == NULL)
        return;
    fprintf(b->json, "{\"machine\":{\"cpu\":");
    bench_json_string(b->json, cpu);
    fprintf(b->json, ",\"cores\":%ld,\"kernel\":", cores);
    bench_json_string(b->json, system.release);
    fprintf(b->json, ",\"architecture\":");
    bench_json_string(b->json, system.machine);
    fprintf(b->json, ",\"mpi\":");
    bench_json_string(b->json, b->mpi);
    fprintf(b->json, ",\"compiler\":");
    bench_json_string(b->json, COMPILER);
    fprintf(b->json,
            ",\"tern\":\"%d.%d.%d\",\"date\":\"%s\",\"load\":%.2f,\"pinned\":[%d,%d],"
            "\"same_kernel\":%s,\"same_host\":%s,\"block_ms\":%.3g,\"pairs\":%u}}\n",
            TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH, date, load[0], b->core[0],
            b->core[1], b->same_kernel ? "true" : "false", b->same_host ? "true" : "false",
            b->options.block_ns / 1e6, b->options.pairs);
    fflush(b->json);
}

void bench_close_output(bench *b) {
    if (b->json != NULL && b->json != stdout && fclose(b->json) != 0)
        perror("tern-bench: the JSON file");
    b->json = NULL;
}
