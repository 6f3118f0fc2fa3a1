/*
 * What every test program is made of:
 *
 *     // tern-test: transports
 *     #include "harness.h"
 *
 *     static void wraps(void) { CU_ASSERT(...); }
 *
 *     int main(int argc, char **argv) {
 *         static const tern_test_case tests[] = {{"wraps", wraps}};
 *         return tern_test_main(argc, argv, "ring", tests, 1);
 *     }
 *
 * The first line tells tests/CMakeLists.txt how the program is run. Every rank runs all tests in
 * the same order, with a barrier after each. The exit status is 0, 1 (a test failed on some rank,
 * the same on all ranks; or all were skipped, though the machine lacks nothing) or 77 (every test
 * was skipped on every rank).
 *
 *   --only NAME             run one test
 *   --seed N                what tern_test_seed returns
 *   --seconds N             how long those tests last whose length can be chosen
 *   --quick | --full        what tern_test_full returns
 *   --thread-level LEVEL    single, serialized (the default) or multiple
 *   --deadline SECONDS      name the test that is running and exit
 *   --survivors             ranks may be killed: no MPI between and after the tests
 *
 * CUnit takes assertions from one thread at a time: a thread that a test has started hands its
 * findings to the thread that runs the test. MPI is up while tests run; tern is not.
 */

#ifndef TERN_TESTS_HARNESS_HARNESS_H
#define TERN_TESTS_HARNESS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <CUnit/CUnit.h>
#include <mpi.h>

typedef struct tern_test_case {
    const char *name;
    void (*run)(void);
} tern_test_case;

int tern_test_main(int argc, char **argv, const char *suite, const tern_test_case *tests,
                   size_t count);

int tern_test_rank(void);
int tern_test_size(void);

/* Whether there is time for the long form of a test. */
bool tern_test_full(void);

/* Returns how long a test lasts whose length can be chosen: usual seconds, or a hundred times as
 * many with --full, or what --seconds says. */
double tern_test_seconds(double usual);

/* Returns the seed, which is the same on every rank. Mix in the rank where ranks are to differ. */
uint64_t tern_test_seed(void);

/* Called before tern_test_main: makes the seed another one in each run that has no --seed.
 * tern_test_main prints it. */
void tern_test_draw_seed(void);

/* Registers a function that runs once after all tests, on every rank. It may fail as a test does.
 */
void tern_test_after(void (*end)(void));

/* Returns the next number of the splitmix64 sequence whose state is *state. */
uint64_t tern_test_random(uint64_t *state);

/* Kills a rank, be it another or the caller. With --survivors only: a tern-test line asks for it.
 */
void tern_test_kill(int rank);

/* Kills the caller at once, wherever its other threads are. It may still serve the others when they
 * learn of its death. */
void tern_test_die(void);

/* Whether a rank has been killed, or is about to be and serves nobody any more. */
bool tern_test_dead(int rank);

/* With --survivors: arrives at a meeting of the living without waiting, so that this rank can do
 * something else until tern_test_all_arrived returns true. */
void tern_test_arrive(void);
bool tern_test_all_arrived(void);

/* Counts the running test as skipped; the test then returns by itself. A program that skips all its
 * tests with some number of ranks, or over some transport, tests nothing there: it fails, so that
 * it is not registered like that. tern_test_lack says that the machine, or the MPI, lacks
 * something: then the program as a whole is skipped. */
void tern_test_skip(const char *why);
void tern_test_lack(const char *why);

/* In seconds: how long a loop of a test goes on without the event that it waits for. A test asserts
 * what the library guarantees, and never how fast something happened: on a loaded machine
 * everything may take long, and only a hang lasts as long as this. */
enum { TERN_TEST_PATIENCE = 40 };

#endif
