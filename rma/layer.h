#ifndef TERN_RMA_LAYER_H
#define TERN_RMA_LAYER_H

#include "src/context.h"

extern const tern_layer tern_rma_layer;
extern const tern_layer tern_notify_layer;

#endif
