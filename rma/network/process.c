#include "rma/network/process.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

#define PIECE_MIN ((uint64_t)16 << 20)

const tern_network_ops *(*tern_network_hook)(const tern_network_ops *ops);

tern_status tern_native_capabilities(tern_context *context, tern_native *native) {
    tern_status status = tern_network_capabilities(context, native->network, &native->findings);
    native->network->one_sided = status == TERN_OK && native->findings.one_sided;
    return status;
}

tern_status tern_context_network(const tern_context *context, tern_network_info *info) {
    if (context == NULL || info == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_context_network: context or info is NULL");
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_context_network");
    const tern_native *native = tern_rma_of(context)->native;
    if (native == NULL)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "tern_context_network: the ranks use only shared memory or MPI");
    const tern_network *network = native->network;
    *info = (tern_network_info){.one_sided = native->findings.one_sided,
                                .put_ns = (double)native->findings.trip,
                                .message_ns = (double)native->findings.message_trip,
                                .largest = network->post_max,
                                .carried = network->inline_max,
                                .registered_only = network->local_memory,
                                .says_ordered = network->says_ordered,
                                .says_atomics = network->has_atomics,
                                .atomics = native->atomics};
    snprintf(info->name, sizeof info->name, "%s", network->name);
    snprintf(info->card, sizeof info->card, "%s", network->card);
    return TERN_OK;
}

static uint64_t piece_bytes_of(uint64_t bytes) {
    uint64_t piece = PIECE_MIN;
    while (piece * TERN_PIECES_MAX < bytes)
        piece *= 2;
    return piece;
}

tern_status tern_native_open(tern_context *context, const tern_network_ops *ops, bool helped,
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
    const tern_config *config = &context->config;
    const tern_network_options options = {.one_machine = tern_peers_on_one_machine(&context->peers),
                                          .threads = helped && tern_mpi_allows_threads(),
                                          .progress = config->ofi_progress,
                                          .device = config->verbs_device,
                                          .gid_index = config->verbs_gid_index,
                                          .service_level = config->verbs_service_level,
                                          .traffic_class = config->verbs_traffic_class,
                                          .partition_key = config->verbs_pkey,
                                          .mtu = config->verbs_mtu,
                                          .queue_pairs = config->verbs_queue_pairs};
    tern_status status = ops->open(&options, &fresh->network);
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
            tern_native_remove(native, native->memory[i]); /* the helper still runs */
    ops->close(native->network);
    free(native);
}

tern_status tern_native_works(const tern_native *native) {
    const tern_network *network = native->network;
    /* R4 */
    if (atomic_load_explicit(&network->trouble, memory_order_relaxed) != TERN_NETWORK_FAILED)
        return TERN_OK;
    return tern_fail(TERN_ERR_NETWORK,
                     "card %s of this rank has failed, so nothing goes over it any more; the log "
                     "says what the card reported",
                     network->card);
}

tern_status tern_native_add(tern_native *native, void *base, size_t bytes,
                            tern_network_memory **memory, tern_network_rkey *rkey) {
    tern_network *network = native->network;
    pthread_mutex_lock(&network->lock);
    tern_status status = network->ops->add_memory(network, base, bytes, memory, rkey);
    pthread_mutex_unlock(&network->lock);
    return status;
}

void tern_native_remove(tern_native *native, tern_network_memory *memory) {
    pthread_mutex_lock(&native->network->lock);
    native->network->ops->remove_memory(native->network, memory);
    pthread_mutex_unlock(&native->network->lock);
}

/* Registers a piece of the segment unless it is registered. The lock of the network is held. */
static tern_status add_piece(tern_native *native, uint64_t piece) {
    const uint64_t at = piece * native->piece_bytes, left = native->bytes - at;
    if (native->memory[piece] != NULL)
        return TERN_OK;
    return native->network->ops->add_memory(native->network, native->segment + at,
                                            left < native->piece_bytes ? left : native->piece_bytes,
                                            &native->memory[piece], &native->rkey[piece]);
}

tern_status tern_native_piece(tern_native *native, uint64_t piece, tern_network_memory **memory) {
    pthread_mutex_lock(&native->network->lock);
    tern_status status = add_piece(native, piece);
    *memory = native->memory[piece];
    pthread_mutex_unlock(&native->network->lock);
    return status;
}

/* Answers a question. The lock of the network is held, since threads that serve messages and the
 * listener may come here at the same time. */
static tern_status tell_locked(tern_native *native, uint64_t from,
                               const tern_contact_question *question, tern_contact *contact) {
    const uint64_t piece = question->piece;
    tern_network *network = native->network;
    tern_status status = add_piece(native, piece);
    if (status == TERN_OK && question->offer.bytes > 0) {
        status = network->ops->welcome(network, from, &question->offer, &contact->name);
        /* R4; an end that offers again counts twice */
        atomic_fetch_add_explicit(&network->welcomed, status == TERN_OK, memory_order_relaxed);
    }
    contact->rkey = native->rkey[piece];
    return status;
}

void tern_native_tell(tern_context *context, uint64_t from, const tern_contact_question *question,
                      tern_contact *contact) {
    tern_native *native = tern_rma_of(context)->native;
    const uint64_t piece = question->piece;
    *contact = (tern_contact){.status = TERN_ERR_RANGE};
    if (native == NULL || piece >= TERN_PIECES_MAX ||
        piece * native->piece_bytes >= native->bytes ||
        question->offer.bytes > TERN_NETWORK_NAME_MAX)
        return;
    tern_status status = TERN_OK;
    pthread_mutex_lock(&native->network->lock);
    if (question->leaves == 0)
        status = tell_locked(native, from, question, contact);
    else if (native->network->ops->dismiss != NULL)
        native->network->ops->dismiss(native->network, from, &question->offer);
    pthread_mutex_unlock(&native->network->lock);
    if (status != TERN_OK)
        tern_log(TERN_LOG_ERROR, "other ranks cannot reach memory of this rank: %s",
                 tern_error_detail());
    contact->status = status;
}
