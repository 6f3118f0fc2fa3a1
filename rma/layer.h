#ifndef TERN_RMA_LAYER_H
#define TERN_RMA_LAYER_H

/* What path/init.c hands to src: memory and transfers, and notifications (rma/notify/layer.c). */

#include "rma/notify/notify.h"

extern const tern_layer tern_rma_layer;

#endif
