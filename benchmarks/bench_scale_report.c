/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Simulated figures as tables, and as JSON. */

#include "bench_scale.h"

#include <math.h>

static void bytes_text(char *text, size_t room, double bytes) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; unit < 4 && bytes >= 1024; unit++)
        bytes /= 1024;
    snprintf(text, room, "%.3g %s", bytes, names[unit]);
}

void scale_report_network(bench *b, const scale_network *network, const scale_job *job) {
    const scale_loggp *c = &job->costs;
    bench_note(b, "simulated, network %s (%s): o %g, g %g, G %g, L %g ns", network->name,
               network->what, c->o, c->g, c->G, c->L);
    bench_note(b,
               "messages: o %.3g, L %.3g; a processor takes %.3g ns to issue an operation, %.3g to "
               "serve a call, which it sees after %.3g, %.3g for one on its own rank",
               job->message.o, job->message.L, job->issue, job->serve, job->delay, job->local);
    bench_note(b, "all ranks are simulated; the network has no queues but at the ports, and each "
                  "rank has a port of its own");
}

void scale_report_memory_title(bench *b, uint32_t node_ranks) {
    fprintf(b->table,
            "\n  memory, computed; %u ranks a node; peers are active ones of other nodes\n"
            "  %8s %8s %12s %12s %12s %8s %8s %12s %12s %10s\n",
            node_ranks, "ranks", "peers", "a process", "a node", "addresses", "rings", "no ring",
            "one call", "rings full", "probe");
}

void scale_report_memory(bench *b, uint32_t ranks, uint32_t node_ranks, uint32_t active,
                         const scale_memory *m, const scale_job *job) {
    char process[24], node[24], reserved[24], idle[24], full[24], probe[24];
    bytes_text(process, sizeof process, (double)m->process);
    bytes_text(node, sizeof node, (double)m->node);
    bytes_text(reserved, sizeof reserved, (double)m->reserved);
    bytes_text(idle, sizeof idle, (double)m->idle);
    bytes_text(full, sizeof full, (double)m->full);
    bench_time_text(probe, sizeof probe, job->polls);
    fprintf(b->table, "  %8u %8u %12s %12s %12s %8llu %8llu %12s %12s %10s\n", ranks, active,
            process, node, reserved, (unsigned long long)m->rings, (unsigned long long)m->no_ring,
            idle, full, probe);
    (*b->reported)++;
    if (b->json != NULL)
        fprintf(
            b->json,
            "{\"bench\":\"scale\",\"case\":\"memory\",\"params\":{\"peers\":%u},\"ranks\":%u,"
            "\"ranks_per_node\":%u,\"value\":%zu,\"unit\":\"B\",\"each_rank\":%zu,\"fixed\":%zu,"
            "\"node\":%zu,\"reserved\":%zu,\"rings\":%llu,\"no_ring\":%llu,\"idle\":%zu,"
            "\"full\":%zu,\"probe_ns\":%.4g}\n",
            active, ranks, node_ranks, m->process, m->each_rank, m->fixed, m->node, m->reserved,
            (unsigned long long)m->rings, (unsigned long long)m->no_ring, m->idle, m->full,
            job->polls);
}

void scale_report_rate_title(bench *b, uint32_t ranks, uint32_t operations) {
    fprintf(b->table,
            "\n  %u ranks, %u operations each\n"
            "  %-28s %12s %12s %10s %10s %10s %10s %8s\n",
            ranks, operations, "program", "M/s a rank", "M/s all", "p50", "p99", "busiest",
            "messages", "bytes");
}

void scale_report_rate(bench *b, const scale_network *network, const char *name,
                       const scale_job *job, const scale_outcome *o) {
    static const char *const towards[] = {"uniform", "zipf", "others", "first"};
    char p50[24], p99[24];
    const double all = 1e3 * (double)o->executed / o->ns;
    const double operations = (double)o->executed;
    bench_time_text(p50, sizeof p50, o->p50);
    bench_time_text(p99, sizeof p99, o->p99);
    fprintf(b->table, "  %-28s %12.3g %12.4g %10s %10s %8.0f %% %10.2f %8.0f\n", name,
            all / job->ranks, all, p50, p99, 100 * fmin(o->busiest, 1),
            (double)o->sent / operations, (double)o->bytes_sent / operations);
    fflush(b->table);
    (*b->reported)++;
    if (b->json != NULL)
        fprintf(b->json,
                "{\"bench\":\"scale\",\"case\":\"rate\",\"params\":{\"program\":\"%s\",\"towards\":"
                "\"%s\",\"bytes\":%u,\"under "
                "way\":%u,\"atomics\":\"%s\"},\"network\":\"%s\",\"o\":%.6g,"
                "\"g\":%.6g,\"G\":%.6g,\"L\":%.6g,\"ranks\":%u,\"operations\":%llu,\"value\":%.6g,"
                "\"unit\":\"M/s\",\"each\":%.6g,\"p50\":%.6g,\"p99\":%.6g,\"busiest\":%.4g,"
                "\"messages\":%.6g,\"message_bytes\":%.6g,\"by_message\":%.4g,\"woken\":%.4g,"
                "\"retries\":%.4g,\"events\":%llu}\n",
                scale_program_names[job->program], towards[job->towards], job->bytes,
                job->under_way, job->by_owner ? "owner" : "network", network->name, job->costs.o,
                job->costs.g, job->costs.G, job->costs.L, job->ranks,
                (unsigned long long)o->executed, all, all / job->ranks, o->p50, o->p99,
                fmin(o->busiest, 1), (double)o->sent / operations,
                (double)o->bytes_sent / operations, (double)o->by_message / operations,
                (double)o->wakes / operations, (double)o->retries / operations,
                (unsigned long long)o->events);
}

void scale_report_time(bench *b, const char *name, double real_ns, double simulated_ns) {
    char real[24], simulated[24];
    if (b->table == NULL)
        return;
    bench_time_text(real, sizeof real, real_ns);
    bench_time_text(simulated, sizeof simulated, simulated_ns);
    fprintf(b->table, "  %-28s %12s %12s %+11.0f %%\n", name, real, simulated,
            100 * (simulated_ns / real_ns - 1));
    (*b->reported)++;
    if (b->json != NULL)
        fprintf(
            b->json,
            "{\"bench\":\"scale\",\"case\":\"time\",\"params\":{\"program\":\"%s\"},"
            "\"transport\":\"%s\",\"ranks\":%d,\"value\":%.6g,\"unit\":\"ns\",\"simulated\":%.6g,"
            "\"error\":%.4g}\n",
            name, tern_transport_name(b->transport), b->ranks, real_ns, simulated_ns,
            simulated_ns / real_ns - 1);
}

void scale_report_count(bench *b, const char *program, const char *what, uint64_t operations,
                        uint64_t real, uint64_t simulated, double tolerance) {
    const double most = tolerance * (double)(simulated > operations ? simulated : operations);
    const bool met = fabs((double)real - (double)simulated) <= most;
    if (b->table == NULL || (real == 0 && simulated == 0))
        return;
    *b->missed += !met;
    (*b->reported)++;
    fprintf(b->table, "  %-16s %-12s %12llu %12llu  within %.0f %% %s\n", program, what,
            (unsigned long long)real, (unsigned long long)simulated, 100 * tolerance,
            met ? "met" : "MISSED");
    if (b->json != NULL)
        fprintf(
            b->json,
            "{\"bench\":\"scale\",\"case\":\"count\",\"params\":{\"program\":\"%s\",\"of\":\"%s\"},"
            "\"transport\":\"%s\",\"ranks\":%d,\"value\":%llu,\"unit\":\"\",\"simulated\":%llu,"
            "\"tolerance\":%.3g,\"met\":%s}\n",
            program, what, tern_transport_name(b->transport), b->ranks, (unsigned long long)real,
            (unsigned long long)simulated, tolerance, met ? "true" : "false");
}
