/*
 * What the ranks of one node know of each other when MPI cannot be asked, because one of them is
 * dead: a page of memory that they share. The harness uses it where ranks are killed on purpose.
 */

#ifndef TERN_TESTS_HARNESS_BOARD_H
#define TERN_TESTS_HARNESS_BOARD_H

#include <stdbool.h>

#include <mpi.h>

/* Makes the page. Collective, while every rank is alive. False, on all ranks: they cannot share
 * memory. */
bool tern_board_open(MPI_Comm comm);

/* Waits until every living rank has called this. [out] any: true where any of them has passed true.
 */
void tern_board_meet(bool mine[2], bool any[2]);

/* Arrives at a meeting without waiting for it, so that the rank can do something else meanwhile. */
void tern_board_arrive(void);
/* Whether every living rank has arrived as often as this one. */
bool tern_board_all_arrived(void);

/* Marks rank as dead, so that nobody waits for it, and kills its process. A rank that kills itself
 * is marked, does nothing for a while, and then dies. */
void tern_board_kill(int rank);

/* Kills the caller as tern_board_kill does, but at once. */
void tern_board_die(void);

bool tern_board_dead(int rank);

bool tern_board_all_alive(void);

/* The lowest rank alive. */
int tern_board_lowest(void);

#endif
