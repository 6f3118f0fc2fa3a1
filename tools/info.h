#ifndef TERN_TOOLS_INFO_H
#define TERN_TOOLS_INFO_H

/* The sections of tern-info. */

#include "tools/report.h"

/* Local, without MPI_Init. */
void info_build(report *r);
void info_machine(report *r);
void info_options(report *r);

/* Collective over MPI_COMM_WORLD. Every rank calls them; rank 0 has a report, the others NULL. A
 * failure is 1, on every rank. */
int info_mpi(report *r, int thread_level);
int info_networks(report *r);
int info_job(report *r);

#endif
