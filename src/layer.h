#ifndef TERN_SRC_LAYER_H
#define TERN_SRC_LAYER_H

/*
 * Layers: how higher folders take part in the life of a context without src/ knowing them.
 * path/init.c, which knows them all, hands the table of layers to tern_context_open.
 */

#include "tern/context.h"

/* Slots for the state that a layer hangs on contexts and workers. */
enum { TERN_LAYER_RMA, TERN_LAYER_NOTIFY, TERN_LAYER_RPC, TERN_LAYER_PATH, TERN_LAYER_SLOTS };

typedef struct tern_layer {
    const char *name;
    /* Collective; on an error undoes what it did. Every layer's open is followed by an agreement of
     * all ranks: if one failed, close runs on those that did not. */
    tern_status (*open)(tern_context *context);
    /* Collective: finishes what is under way. NULL: nothing to finish. */
    tern_status (*drain)(tern_context *context, tern_worker *worker);
    /* Local, unless MPI needs the others: then it may be collective if every peer is alive. */
    void (*close)(tern_context *context);
    /* How many events were handled. NULL: none ever. */
    size_t (*progress)(tern_worker *worker);
} tern_layer;

#endif
