/*
 * Injector of failures. Programs that use it are linked with a copy of libtern.a in which the calls
 * that hungry.symbols lists go to functions of hungry.c (CMakeLists.txt): so the library's calls
 * can fail, and those of MPI, of other libraries and of the test cannot.
 */

#ifndef TERN_TESTS_FAULTS_HUNGRY_H
#define TERN_TESTS_FAULTS_HUNGRY_H

#include <stdint.h>

/* From now on calls number first to last, beginning with 1, fail on every thread of this process.
 */
void hungry_begin(uint64_t first, uint64_t last);

enum {
    HUNGRY_MEMORY = 1,
    HUNGRY_MAPPINGS = 2,
    HUNGRY_FILES = 4,
    HUNGRY_SOCKETS = 8,
    HUNGRY_SENDS = 16,
    HUNGRY_ALL = 31
};

/* The same for calls number first, first + every, first + 2 * every and so on of these kinds; no
 * other calls count. */
void hungry_every(unsigned kinds, uint64_t first, uint64_t every);

/* No call fails any more. Returns how many did. */
uint64_t hungry_end(void);

/* Between the two, calls neither fail nor count. What the first returns is for the second. */
uint64_t hungry_pause(void);
void hungry_go_on(uint64_t paused);

#endif
