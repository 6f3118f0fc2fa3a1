#include "rma/network/capability_looks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/segment.h"
#include "rma/network/partner.h"
#include "src/collective/collective.h"

#define TRIPS 20u
#define NO_WORKER UINT64_MAX /* a worker's number that no worker has */
#define LIMIT_NS 5000000000u /* of a put: the first one may have to connect */

static tern_status put_word(tern_network *network, tern_network_end *end, tern_network_post *post,
                            tern_look_page *page) {
    bool posted = false;
    post->here = page->word;
    post->bytes = sizeof *page->word;
    post->context = page->context;
    post->act = TERN_NETWORK_WRITE;
    return tern_partner_act(network, end, post, &posted, LIMIT_NS);
}

/* Measures puts to an attentive target, and messages. status: of what prepared the puts. Returns
 * the status of the messages. */
static tern_status measure(tern_context *context, tern_network *network, tern_network_end *end,
                           tern_network_post *post, tern_look_page *page, tern_status status,
                           tern_network_findings *f) {
    if (status == TERN_OK)
        status = put_word(network, end, post, page);
    uint64_t begin = tern_now();
    for (uint32_t i = 0; i < TRIPS && status == TERN_OK; i++)
        status = put_word(network, end, post, page);
    f->works = status == TERN_OK;
    f->trip = (tern_now() - begin) / TRIPS;
    char byte = f->works;
    /* Ends the part with the attentive target. */
    tern_status sent = tern_partner_send(context, 0, &byte, 1);
    begin = tern_now();
    for (uint32_t i = 0; i < TRIPS && sent == TERN_OK; i++) {
        sent = tern_partner_send(context, 0, &byte, 1);
        if (sent == TERN_OK)
            sent = tern_partner_take(context, 0, &byte, 1);
    }
    f->message_trip = (tern_now() - begin) / TRIPS;
    return sent;
}

/* The origin's part: measures, then looks at completions. Returns the status of the messages; only
 * f shows whether the network failed. */
static tern_status capability_origin(tern_context *context, tern_network *network,
                                     tern_look_page *page, tern_network_findings *f) {
    tern_invitation target = {0};
    tern_network_name offer = {0};
    tern_network_end *end = NULL;
    tern_network_post post = {0};
    tern_status status = network->ops->open_end(network, &end);
    if (status == TERN_OK)
        status = network->ops->offer(end, &post.peer, &offer);
    tern_status sent = tern_partner_send(context, 0, &offer, sizeof offer);
    if (sent == TERN_OK)
        sent = tern_partner_take(context, 0, &target, sizeof target);
    if (sent == TERN_OK && status == TERN_OK)
        status =
            target.good ? network->ops->reach(end, &target.name, &post.peer) : TERN_ERR_NETWORK;
    post.there = target.rkey;
    if (sent == TERN_OK)
        sent = measure(context, network, end, &post, page, status, f);
    if (sent == TERN_OK && f->works)
        sent = tern_looks_origin(context, network, end, &post, page, f);
    if (end != NULL)
        network->ops->close_end(end);
    tern_error_clear();
    return sent;
}

/* The target's part. Returns the status of the messages. */
static tern_status capability_target(tern_context *context, tern_network *network, uint32_t origin,
                                     tern_look_page *page) {
    tern_invitation target = {.good = false};
    tern_network_name offer;
    tern_network_memory *memory = NULL;
    char byte = 0, works = 0;
    tern_status sent = tern_partner_take(context, origin, &offer, sizeof offer);
    if (sent != TERN_OK)
        return sent;
    pthread_mutex_lock(&network->lock);
    tern_status status =
        network->ops->add_memory(network, page->word, sizeof page->word, &memory, &target.rkey);
    if (status == TERN_OK && offer.bytes > 0)
        status = network->ops->welcome(network, NO_WORKER, &offer, &target.name);
    pthread_mutex_unlock(&network->lock);
    target.good = status == TERN_OK && offer.bytes > 0;
    sent = tern_partner_send(context, origin, &target, sizeof target);
    if (sent == TERN_OK)
        sent = tern_partner_hear(context, network, origin, &works);
    for (uint32_t i = 0; i < TRIPS && sent == TERN_OK; i++) {
        sent = tern_partner_take(context, origin, &byte, 1);
        if (sent == TERN_OK)
            sent = tern_partner_send(context, origin, &byte, 1);
    }
    if (sent == TERN_OK && works)
        sent = tern_looks_target(context, network, origin, page);
    tern_partner_remove(network, memory);
    return sent;
}

tern_status tern_network_capabilities(tern_context *context, tern_network *network,
                                      tern_network_findings *findings) {
    tern_network_findings found = {.works = false};
    const uint32_t origin = tern_partner_origin(context);
    const bool takes_part = context->rank == 0 || context->rank == origin;
    tern_look_page *page = takes_part ? aligned_alloc(TERN_LINE, sizeof *page) : NULL;
    tern_status status = !takes_part || page != NULL
                             ? TERN_OK
                             : tern_fail(TERN_ERR_MEMORY, "no memory to test the network");
    status = tern_collective_agree(context, NULL, status, "testing the network");
    if (status != TERN_OK) {
        free(page);
        return status;
    }
    if (takes_part)
        memset(page, 0, sizeof *page);
    if (context->rank == 0)
        status = capability_target(context, network, origin, page);
    else if (context->rank == origin)
        status = capability_origin(context, network, page, &found);
    free(page);
    uint64_t sums[] = {found.works,        found.one_sided, found.trip,
                       found.message_trip, found.looks,     found.early};
    status = tern_collective_agree(context, NULL, status, "testing the network");
    if (status == TERN_OK)
        status = tern_collective_sum(context, NULL, sums, sizeof sums / sizeof *sums);
    *findings = (tern_network_findings){
        sums[0] > 0, sums[0] > 0 && sums[1] > 0, sums[2], sums[3], sums[4], sums[5]};
    return status;
}
