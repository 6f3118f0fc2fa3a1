#ifndef TERN_SRC_SERVICE_THREADS_H
#define TERN_SRC_SERVICE_THREADS_H

/*
 * Service threads (paper 000, 3.3): threads of tern's own that make progress where no
 * application thread does. Each has a worker behind the application's, so what reaches it comes by
 * rings like everything else; messages of other nodes are served by whoever is there.
 */

#include "tern/status.h"

struct tern_context;
typedef struct tern_service_threads tern_service_threads;

/* Starts those that the configuration asks for, when the layers are open. */
tern_status tern_service_threads_start(struct tern_context *context);

/* Ends them and gives their workers back. NULL is fine. */
void tern_service_threads_stop(struct tern_context *context);

#endif
