#ifndef TERN_SRC_CONFIG_H
#define TERN_SRC_CONFIG_H

#include "tern/config.h"

/* The first option in which a and b differ although ranks must agree on it, or NULL. */
const char *tern_config_difference(const tern_config *a, const tern_config *b);

/* Logs a warning for each TERN_* variable of the environment that looks like an option and is none.
 */
void tern_config_warn(void);

#endif
