#include <stdlib.h>

#include "base/error.h"
#include "path/selector.h"
#include "rma/layer.h"
#include "rpc/state.h"

/* Creation of a context: lists its layers, and defines the topmost one, the workers' selectors. */

static tern_status path_open(tern_context *context) {
    tern_selector *selectors = calloc(context->workers, sizeof *selectors);
    if (selectors == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for the selectors of %u workers",
                         context->workers);
    context->layer[TERN_LAYER_PATH] = selectors;
    for (uint32_t i = 0; i < context->workers; i++)
        tern_selector_begin(context->worker[i], &selectors[i]);
    return TERN_OK;
}

static void path_close(tern_context *context) {
    free(context->layer[TERN_LAYER_PATH]);
    context->layer[TERN_LAYER_PATH] = NULL;
}

static const tern_layer path_layer = {
    .name = "opening the selectors",
    .open = path_open,
    .close = path_close,
};

static const tern_layer *const layers[TERN_LAYER_SLOTS] = {
    [TERN_LAYER_RMA] = &tern_rma_layer,   [TERN_LAYER_NOTIFY] = &tern_notify_layer,
    [TERN_LAYER_TEAM] = &tern_team_layer, [TERN_LAYER_RPC] = &tern_rpc_layer,
    [TERN_LAYER_PATH] = &path_layer,
};

tern_status tern_context_create(MPI_Comm comm, const tern_config *config, tern_context **context) {
    return tern_context_open(comm, config, layers, context);
}
