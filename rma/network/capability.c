#include "rma/network/capability.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/segment.h"
#include "rma/network/partner.h"
#include "src/collective/collective.h"

#define TRIPS 20u
#define NO_WORKER UINT64_MAX      /* a worker's number that no worker has */
#define CONNECT_NS 5000000000u    /* limit of the first put, which may have to connect */
#define SLEEP_NS 40000000u        /* how long the target sleeps */
#define HEAD_START_NS 2000000u    /* time that the origin gives the target to fall asleep */
#define SIGN UINT64_C(0x7465726e) /* the word that is put to the sleeping target */

/* The memory that each side uses. */
typedef struct test_page {
    _Alignas(TERN_LINE) _Atomic uint64_t word[8];
    uint64_t from;
    _Alignas(TERN_LINE) char context[TERN_NETWORK_CONTEXT];
} test_page;

static void nap(long nanoseconds) {
    const struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
}

static tern_status put_word(tern_network *network, tern_network_end *end, tern_network_post *post,
                            test_page *page, uint64_t value, uint64_t limit) {
    page->from = value;
    post->here = &page->from;
    post->bytes = sizeof page->from;
    post->context = page->context;
    post->act = TERN_NETWORK_WRITE;
    return tern_partner_act(network, end, post, limit);
}

/* The origin's part: measures puts to an attentive target and messages, then puts to the sleeping
 * target. Returns the status of the messages; only f shows whether the network failed. */
static tern_status capability_origin(tern_context *context, tern_network *network, test_page *page,
                                     tern_network_findings *f) {
    tern_invitation target = {0};
    tern_network_name offer = {0};
    tern_network_end *end = NULL;
    tern_network_post post = {0};
    char byte = 0;
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
    if (status == TERN_OK)
        status = put_word(network, end, &post, page, 1, CONNECT_NS);
    f->works = status == TERN_OK;
    uint64_t begin = tern_now();
    for (uint32_t i = 0; i < TRIPS && status == TERN_OK; i++)
        status = put_word(network, end, &post, page, i + 2, CONNECT_NS);
    f->trip = (tern_now() - begin) / TRIPS;
    sent = tern_partner_send(context, 0, &byte, 1); /* ends the part with the attentive target */
    begin = tern_now();
    for (uint32_t i = 0; i < TRIPS && sent == TERN_OK; i++) {
        sent = tern_partner_send(context, 0, &byte, 1);
        if (sent == TERN_OK)
            sent = tern_partner_take(context, 0, &byte, 1);
    }
    f->message_trip = (tern_now() - begin) / TRIPS;
    nap(HEAD_START_NS);
    if (status == TERN_OK)
        status = put_word(network, end, &post, page, SIGN, SLEEP_NS);
    if (end != NULL)
        network->ops->close_end(end);
    tern_error_clear();
    return sent;
}

/* The target's part. [out] landed: the last put arrived while this rank slept. Returns the status
 * of the messages. */
static tern_status capability_target(tern_context *context, tern_network *network, uint32_t origin,
                                     test_page *page, bool *landed) {
    tern_invitation target = {.good = false};
    tern_network_name offer;
    tern_network_memory *memory = NULL;
    char byte = 0;
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
        sent = tern_partner_serve(context, network, origin);
    for (uint32_t i = 0; i < TRIPS && sent == TERN_OK; i++) {
        sent = tern_partner_take(context, origin, &byte, 1);
        if (sent == TERN_OK)
            sent = tern_partner_send(context, origin, &byte, 1);
    }
    const uint64_t end = tern_now() + SLEEP_NS;
    /* R1: put_word; by the network */
    while (tern_now() < end && atomic_load(&page->word[0]) != SIGN)
        nap(100000);
    *landed = atomic_load(&page->word[0]) == SIGN;
    tern_partner_remove(network, memory);
    return sent;
}

tern_status tern_network_capabilities(tern_context *context, tern_network *network,
                                      tern_network_findings *findings) {
    tern_network_findings found = {false, false, 0, 0};
    const uint32_t origin = tern_partner_origin(context);
    test_page *page = aligned_alloc(TERN_LINE, sizeof *page);
    tern_status status =
        page != NULL ? TERN_OK : tern_fail(TERN_ERR_MEMORY, "no memory to test the network");
    status = tern_collective_agree(context, NULL, status, "testing the network");
    if (status != TERN_OK) {
        free(page);
        return status;
    }
    memset(page, 0, sizeof *page);
    if (context->rank == 0)
        status = capability_target(context, network, origin, page, &found.one_sided);
    else if (context->rank == origin)
        status = capability_origin(context, network, page, &found);
    free(page);
    uint64_t sums[] = {found.works, found.one_sided, found.trip, found.message_trip};
    status = tern_collective_agree(context, NULL, status, "testing the network");
    if (status == TERN_OK)
        status = tern_collective_sum(context, NULL, sums, sizeof sums / sizeof *sums);
    *findings = (tern_network_findings){sums[0] > 0, sums[0] > 0 && sums[1] > 0, sums[2], sums[3]};
    return status;
}
