#ifndef TERN_LOG_H
#define TERN_LOG_H

/*
 * Log: tern writes one line to standard error for each thing that an operator should know. All
 * contexts of a process share one level (TERN_LOG_LEVEL, default warn), since their lines end up in
 * one place.
 */

#include "tern/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines above this level are not written. Any thread. */
TERN_API void tern_log_set_level(tern_log_level level);
TERN_API tern_log_level tern_log_get_level(void);

#ifdef __cplusplus
}
#endif

#endif
