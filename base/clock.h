#ifndef TERN_BASE_CLOCK_H
#define TERN_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that only grows. */
uint64_t tern_now(void);

#endif
