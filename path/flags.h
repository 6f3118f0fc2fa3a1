#ifndef TERN_PATH_FLAGS_H
#define TERN_PATH_FLAGS_H

/* The two answers that the flags of a container's operation hold. Inside the library a variable
 * `promise` is one of TERN_READ_WRITE, TERN_WRITE_ONLY, TERN_READ_ONLY and TERN_LOCAL, and a
 * variable `via` is one of TERN_AUTO, TERN_BY_RMA and TERN_BY_CALL. */

#include "tern/flags.h"
#include "tern/status.h"

static inline tern_flags tern_flags_promise(tern_flags flags) { return flags & TERN_PROMISES; }

static inline tern_flags tern_flags_way(tern_flags flags) { return flags & TERN_WAYS; }

/* Refuses, with TERN_ERR_ARGUMENT, flags that are unknown or contradict each other.
 *
 * @param flags of the public function `name`
 * @param excluded the promise that the operation itself breaks; TERN_READ_WRITE: none */
tern_status tern_flags_check(tern_flags flags, tern_flags excluded, const char *name);

#endif
