#ifndef TERN_LOG_H
#define TERN_LOG_H

/*
 * Log: one line on standard error for what an operator should know. The level is one for the
 * process (TERN_LOG_LEVEL, default warn), since lines of several contexts end up in one place.
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
