#ifndef TERN_HASHTABLE_LIMITS_H
#define TERN_HASHTABLE_LIMITS_H

#include <stdint.h>

/* The largest keys and values, in bytes. */
enum { TERN_KEY_MAX = 1024, TERN_VALUE_MAX = 65536 };

/* So many ns a process waits at least between two questions about one table (mend.c). A variable
 * for tests alone. */
extern uint64_t tern_doubt_ns;

#endif
