/*
 * Clocks of machines: histories of ranks on several machines are judged by the clock of rank 0. A
 * time of another machine is known as an interval of that clock, so an operation gets longer by
 * what is not known, and never shorter: what is wrong by these times is wrong. Two clocks may run
 * at different speeds, which stay the same during a history.
 */

#ifndef TERN_TESTS_CLOCKS_H
#define TERN_TESTS_CLOCKS_H

#include "fixture.h"

/* Collective. Compares the clocks of all ranks with rank 0's. Times between the last two calls can
 * be told. */
void history_clocks_compare(fixture *f);

/* The earliest and the latest that a time of this rank is by rank 0's clock. */
uint64_t history_clocks_earliest(uint64_t time);
uint64_t history_clocks_latest(uint64_t time);

#endif
