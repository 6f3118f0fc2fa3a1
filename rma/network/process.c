#include "rma/network/process.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/state.h"
#include "src/log.h"

#define PIECE_MIN ((uint64_t)16 << 20)

const tern_network_ops *(*tern_network_hook)(const tern_network_ops *ops);

tern_status tern_native_probe(tern_context *context, tern_native *native,
                              tern_network_findings *findings) {
    tern_status status = tern_network_probe(context, native->network, findings);
    native->network->one_sided = status == TERN_OK && findings->one_sided;
    return status;
}

static uint64_t piece_bytes_of(uint64_t bytes) {
    uint64_t piece = PIECE_MIN;
    while (piece * TERN_PIECES_MAX < bytes)
        piece *= 2;
    return piece;
}

tern_status tern_native_open(tern_context *context, const tern_network_ops *ops,
                             tern_native **native) {
    const tern_rma *rma = tern_rma_of(context);
    tern_native *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a network");
    fresh->segment = rma->mine;
    fresh->bytes = rma->layout.bytes;
    fresh->piece_bytes = piece_bytes_of(fresh->bytes);
    if (tern_network_hook != NULL)
        ops = tern_network_hook(ops);
    tern_status status = ops->open(tern_peers_on_one_machine(&context->peers), &fresh->network);
    if (status == TERN_OK)
        *native = fresh;
    else
        free(fresh);
    return status;
}

void tern_native_close(tern_native *native) {
    if (native == NULL)
        return;
    const tern_network_ops *ops = native->network->ops;
    for (uint32_t i = 0; i < TERN_PIECES_MAX; i++)
        if (native->memory[i] != NULL)
            ops->remove_memory(native->network, native->memory[i]);
    ops->close(native->network);
    free(native);
}

tern_status tern_native_add(tern_native *native, void *base, size_t bytes,
                            tern_network_memory **memory, tern_network_key *key) {
    tern_network *network = native->network;
    pthread_mutex_lock(&network->lock);
    tern_status status = network->ops->add_memory(network, base, bytes, memory, key);
    pthread_mutex_unlock(&network->lock);
    return status;
}

void tern_native_remove(tern_native *native, tern_network_memory *memory) {
    pthread_mutex_lock(&native->network->lock);
    native->network->ops->remove_memory(native->network, memory);
    pthread_mutex_unlock(&native->network->lock);
}

/* The lock of the network is held: threads that serve messages and the listener may be here. */
static tern_status tell_locked(tern_native *native, uint64_t piece, tern_contact *contact) {
    const uint64_t at = piece * native->piece_bytes, left = native->bytes - at;
    tern_network *network = native->network;
    tern_status status = TERN_OK;
    if (native->memory[piece] == NULL)
        status = network->ops->add_memory(network, native->segment + at,
                                          left < native->piece_bytes ? left : native->piece_bytes,
                                          &native->memory[piece], &native->key[piece]);
    if (status == TERN_OK)
        status = network->ops->get_name(network, &contact->name);
    contact->key = native->key[piece];
    return status;
}

void tern_native_tell(tern_context *context, uint64_t piece, tern_contact *contact) {
    tern_native *native = tern_rma_of(context)->native;
    *contact = (tern_contact){.status = TERN_ERR_RANGE};
    if (native == NULL || piece >= TERN_PIECES_MAX || piece * native->piece_bytes >= native->bytes)
        return;
    pthread_mutex_lock(&native->network->lock);
    tern_status status = tell_locked(native, piece, contact);
    pthread_mutex_unlock(&native->network->lock);
    if (status != TERN_OK)
        tern_log(TERN_LOG_ERROR, "memory of this rank is not reached: %s", tern_error_detail());
    contact->status = status;
}
