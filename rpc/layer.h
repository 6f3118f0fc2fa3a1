#ifndef TERN_RPC_LAYER_H
#define TERN_RPC_LAYER_H

#include "src/context.h"

extern const tern_layer tern_rpc_layer;

#endif
