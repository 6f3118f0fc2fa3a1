/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * tern beyond the machine at hand: a simulation of up to a million ranks (scale/simulation.h), and
 * what it says of few ranks beside what these really do.
 *
 *   bench_scale.c          the jobs that are simulated, and their order
 *   bench_scale_real.c     the same programs by real ranks: times of two, counts of any number
 *   bench_scale_report.c   tables and JSON
 */

#ifndef TERN_BENCHMARKS_BENCH_SCALE_H
#define TERN_BENCHMARKS_BENCH_SCALE_H

#include "bench.h"
#include "scale/memory.h"
#include "scale/simulation.h"

/* Names of programs in tables and JSON. */
extern const char *const scale_program_names[SCALE_PROGRAMS];

/* What jobs have in common, before one has a program. */
scale_job scale_job_of(const scale_loggp *costs, uint32_t ranks);
/* As scale_simulate. Ends the program where there is no memory. */
void scale_run(const scale_job *job, scale_outcome *outcome);

/* Measures components between two ranks. [out] job: with the costs that follow from them. */
void scale_measure_costs(bench *b, scale_job *job);
/* Real times of two ranks beside simulated ones. All ranks call it. */
void scale_compare_times(bench *b, const scale_job *costs);
/* Real counters of all ranks beside simulated ones, in a context in which nobody has met. */
void scale_compare_counts(bench *b);

/* The origin only. */
void scale_report_network(bench *b, const scale_network *network, const scale_job *job);
void scale_report_memory_title(bench *b, uint32_t node_ranks);
void scale_report_memory(bench *b, uint32_t ranks, uint32_t node_ranks, uint32_t active,
                         const scale_memory *memory, const scale_job *job);
void scale_report_rate_title(bench *b, uint32_t ranks, uint32_t operations);
void scale_report_rate(bench *b, const scale_network *network, const char *name,
                       const scale_job *job, const scale_outcome *outcome);
/* The median of the real times. */
void scale_report_time(bench *b, const char *name, double real_ns, double simulated_ns);
/* Met if they differ by no more than tolerance of what is simulated or, if more, of operations. */
void scale_report_count(bench *b, const char *program, const char *what, uint64_t operations,
                        uint64_t real, uint64_t simulated, double tolerance);

#endif
