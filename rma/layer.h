#ifndef TERN_RMA_LAYER_H
#define TERN_RMA_LAYER_H

/* The layers that path/init.c passes to src: this one for memory and transfers, and those of
 * notifications (rma/notify/layer.c) and of teams (rma/team/team.c). */

#include "rma/notify/notify.h"
#include "rma/team/team.h"

extern const tern_layer tern_rma_layer;

#endif
