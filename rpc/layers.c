#include "rma/layer.h"
#include "rpc/layer.h"

/* The layers of the library, lowest first: what src/layer.h leaves to the top. */
const tern_layer *const tern_layers[TERN_LAYER_SLOTS] = {
    [TERN_LAYER_RMA] = &tern_rma_layer,
    [TERN_LAYER_NOTIFY] = &tern_notify_layer,
    [TERN_LAYER_RPC] = &tern_rpc_layer,
};
