#ifndef TERN_QUEUE_PHASE_H
#define TERN_QUEUE_PHASE_H

#include "queue/queue.h"

/* After join, tern_barrier settles what this process left undone in a phase of the queue. */
void tern_queue_join_phases(tern_queue *q);
void tern_queue_leave_phases(tern_queue *q);

#endif
