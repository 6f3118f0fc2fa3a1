/* Functions that are called and defined in C and in C++: one in each, each called in both. */

#ifndef TERN_TESTS_REMOTE_DECLARED_H
#define TERN_TESTS_REMOTE_DECLARED_H

#include <stdbool.h>

#include <tern/remote.h>

struct pair {
    double a;
    int32_t b;
};

enum level { LOW = -1, HIGH = 1 };

/* Defined in C. */
TERN_REMOTE(note, (bool, flag), (struct pair, both), TERN_STRING(text),
            TERN_BUFFER(uint16_t, numbers), TERN_ARRAY(float, three, 3), (enum level, how))
/* A vector of 16 KiB of 0.5, and one that is small. */
TERN_REMOTE(keep, TERN_VECTOR(double, large), TERN_VECTOR(struct pair, small))
/* Defined in C++. */
TERN_REMOTE_RETURN(double, total, TERN_VECTOR(double, large), TERN_VECTOR(struct pair, small))
TERN_REMOTE_RETURN(double, area, (struct pair, both), TERN_SEGMENT(const double, factors),
                   (char, letter))

#ifdef __cplusplus
extern "C" {
#endif

/* Calls both functions as often as C++ does. */
tern_status call_from_c(tern_worker *worker, tern_worker_id target, tern_ptr factors,
                        const tern_vector *large, const tern_vector *small);

/* Runs of note and keep, and how many of them were wrong. */
extern int notes, wrong_notes;

/* An archive of one value of each type, in memory of room bytes. */
tern_status archive_in_c(void *memory, size_t room, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
