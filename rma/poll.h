#ifndef TERN_RMA_POLL_H
#define TERN_RMA_POLL_H

#include <stdbool.h>

/* Registers this process for expedited membarriers; false where the system refuses. */
bool tern_membarrier_register(void);

#endif
