/*
 * What the ranks of one node know of each other when MPI cannot be asked, because one of them is
 * dead: a page of memory that they share. The harness uses it where ranks are killed on purpose.
 */

#ifndef TERN_TESTS_HARNESS_BOARD_H
#define TERN_TESTS_HARNESS_BOARD_H

#include <stdbool.h>

#include <mpi.h>

/* Collective, while every rank is alive. False on all ranks where memory cannot be shared. */
bool tern_board_open(MPI_Comm comm);

/* Waits until every living rank came as far; true where any of them passed true. */
void tern_board_meet(bool mine[2], bool any[2]);

/* For a meeting in which the ranks do something else meanwhile. */
void tern_board_arrive(void);
/* Whether every living rank has arrived as often as this one. */
bool tern_board_all_arrived(void);

/* Marks rank as dead, so that nobody waits for it, and kills its process. A rank that kills itself
 * is marked a while before it dies, in which it does nothing. */
void tern_board_kill(int rank);

/* The caller dies at once, as above but without that while. */
void tern_board_die(void);

bool tern_board_dead(int rank);

bool tern_board_all_alive(void);

/* The lowest rank alive. */
int tern_board_lowest(void);

#endif
