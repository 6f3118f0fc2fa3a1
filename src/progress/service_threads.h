#ifndef TERN_SRC_PROGRESS_SERVICE_THREADS_H
#define TERN_SRC_PROGRESS_SERVICE_THREADS_H

/*
 * Service threads (paper 000, 3.3): threads of tern's own that make progress where no
 * application thread does. Each has a worker behind the application's, so what reaches it comes by
 * rings like everything else; messages of other nodes are served by any worker. A service
 * thread that found some of these would go on as long as more come: on the core of a worker that
 * asks for them itself, that worker would stand still for a time slice. So workers tell when they
 * ask, and where.
 */

#include "src/context.h"

typedef struct tern_service_threads tern_service_threads;

/* The worker asks MPI for messages. Its own thread. */
void tern_worker_attend(tern_worker *worker);

/* Starts those that the configuration asks for, when the layers are open. */
tern_status tern_service_threads_start(tern_context *context);

/* Ends them and gives their workers back. NULL is fine. */
void tern_service_threads_stop(tern_context *context);

#endif
