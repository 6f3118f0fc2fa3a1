#include "rma/network/capability.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/memory/segment.h"
#include "rma/network/partner.h"
#include "src/collective/collective.h"

#define TIMES 200u              /* operations of each kind, by each of two ranks */
#define TRIPS 20u               /* atomics whose time is measured */
#define ROW 64u                 /* additions of the processor between two looks for a message */
#define PATIENCE_NS 5000000000u /* limit for one operation */
#define SELF (UINT64_MAX - 1)   /* stands for a worker's number; no worker has it */
#define OTHER (UINT64_MAX - 2)

/* The words of the target: one that both ranks increase over the network, and one that the origin
 * increases over the network while the target's processor does. */
typedef struct target_words {
    _Alignas(TERN_LINE) _Atomic uint64_t network;
    _Alignas(TERN_LINE) _Atomic uint64_t both;
} target_words;

/* The state of a rank in the test: two ranks, each with an end of its own, increase one word by
 * fetch-and-add and by compare-and-swap. */
typedef struct side {
    tern_network *network;
    tern_network_end *end;
    uint64_t peer;
    tern_network_rkey rkey;
    tern_network_memory *local;
    struct {
        _Alignas(TERN_LINE) tern_network_words words;
        _Alignas(TERN_LINE) char context[TERN_NETWORK_CONTEXT];
    } * page;
} side;

static tern_status side_open(side *s) {
    const tern_network_ops *ops = s->network->ops;
    s->page = aligned_alloc(TERN_LINE, sizeof *s->page);
    if (s->page == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to test the network's atomics");
    memset(s->page, 0, sizeof *s->page);
    tern_status status = ops->open_end(s->network, &s->end);
    if (status == TERN_OK && s->network->local_memory)
        status = ops->add_local(s->end, s->page, sizeof *s->page, &s->local);
    return status;
}

static void side_close(side *s) {
    const tern_network_ops *ops = s->network->ops;
    if (s->local != NULL)
        ops->remove_memory(s->network, s->local);
    if (s->end != NULL)
        ops->close_end(s->end);
    free(s->page);
}

static tern_status side_act(side *s, tern_network_act act, uint64_t offset, uint64_t operand,
                            uint64_t expected) {
    const tern_network_post post = {.act = act,
                                    .peer = s->peer,
                                    .there = s->rkey,
                                    .offset = offset,
                                    .here = &s->page->words,
                                    .local = s->local,
                                    .bytes = sizeof s->page->words.old,
                                    .context = s->page->context};
    s->page->words = (tern_network_words){0, operand, expected};
    bool posted = false;
    return tern_partner_act(s->network, s->end, &post, &posted, PATIENCE_NS);
}

static tern_status side_run(side *s) {
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < TIMES && status == TERN_OK; i++) {
        status = side_act(s, TERN_NETWORK_ADD, 0, 1, 0);
        uint64_t before = s->page->words.old + 1;
        for (bool done = false; status == TERN_OK && !done;) {
            status = side_act(s, TERN_NETWORK_CAS, 0, before + 1, before);
            done = s->page->words.old == before;
            before = s->page->words.old;
        }
    }
    return status;
}

static tern_status side_add(side *s, uint64_t offset, uint64_t operand, uint32_t times) {
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < times && status == TERN_OK; i++)
        status = side_act(s, TERN_NETWORK_ADD, offset, operand, 0);
    return status;
}

static tern_status tell(tern_context *context, uint32_t rank, tern_status sent) {
    char byte = 0;
    return sent == TERN_OK ? tern_partner_send(context, rank, &byte, 1) : sent;
}

static tern_status await(tern_context *context, uint32_t rank, tern_status sent) {
    char byte = 0;
    return sent == TERN_OK ? tern_partner_take(context, rank, &byte, 1) : sent;
}

/* The origin's part. [out] status: that of the network's operations. [out] trip. Returns the status
 * of the messages. */
static tern_status atomics_origin(tern_context *context, side *s, tern_status *status,
                                  uint64_t *trip) {
    tern_invitation answer = {0};
    tern_network_name offer = {0};
    *status = side_open(s);
    if (*status == TERN_OK)
        *status = s->network->ops->offer(s->end, &s->peer, &offer);
    tern_status sent = tern_partner_send(context, 0, &offer, sizeof offer);
    if (sent == TERN_OK)
        sent = tern_partner_take(context, 0, &answer, sizeof answer);
    if (sent != TERN_OK)
        return sent;
    if (*status == TERN_OK)
        *status =
            answer.good ? s->network->ops->reach(s->end, &answer.name, &s->peer) : TERN_ERR_NETWORK;
    s->rkey = answer.rkey;
    if (*status == TERN_OK)
        *status = side_add(s, 0, 0, 1); /* the first may have to connect */
    const uint64_t begin = tern_now();
    if (*status == TERN_OK)
        *status = side_add(s, 0, 0, TRIPS);
    *trip = (tern_now() - begin) / TRIPS;
    sent = tell(context, 0, sent);
    if (*status == TERN_OK)
        *status = side_run(s);
    sent = await(context, 0, tell(context, 0, sent));
    if (*status == TERN_OK && s->network->coherent)
        *status = side_add(s, offsetof(target_words, both), 1, TIMES);
    return tell(context, 0, sent);
}

static tern_status welcome(side *s, uint64_t from, const tern_network_name *offer,
                           tern_network_name *name) {
    pthread_mutex_lock(&s->network->lock);
    tern_status status = offer->bytes == 0
                             ? TERN_ERR_NETWORK
                             : s->network->ops->welcome(s->network, from, offer, name);
    pthread_mutex_unlock(&s->network->lock);
    return status;
}

typedef struct adder {
    tern_network *network;
    _Atomic uint64_t *word;
    uint64_t added;
} adder;

static void add_and_progress(void *argument) {
    adder *a = argument;
    for (uint32_t i = 0; i < ROW; i++, a->added++)
        atomic_fetch_add(a->word, 1); /* R4; nobody reads what is with it */
    tern_network_progress(a->network);
}

/* Adds by the processor until a message of one byte comes. [out] sound: no update was lost. */
static tern_status add_meanwhile(tern_context *context, uint32_t origin, tern_network *network,
                                 _Atomic uint64_t *word, bool *sound) {
    adder a = {network, word, 0};
    context->meanwhile = (tern_meanwhile){add_and_progress, &a};
    const tern_status sent = await(context, origin, TERN_OK);
    context->meanwhile = (tern_meanwhile){NULL, NULL};
    /* R1: side_act; by the network, and what is complete is there */
    *sound = atomic_load(word) == a.added + TIMES;
    return sent;
}

/* Registers the words, and lets the ends of both ranks reach them. */
static tern_status target_open(side *s, target_words *words, tern_network_memory **memory,
                               const tern_network_name *other, tern_invitation *answer) {
    const tern_network_ops *ops = s->network->ops;
    tern_network_name offer, name;
    tern_status status = side_open(s);
    pthread_mutex_lock(&s->network->lock);
    if (status == TERN_OK)
        status = ops->add_memory(s->network, words, sizeof *words, memory, &s->rkey);
    pthread_mutex_unlock(&s->network->lock);
    if (status == TERN_OK)
        status = ops->offer(s->end, &s->peer, &offer);
    if (status == TERN_OK)
        status = welcome(s, SELF, &offer, &name);
    if (status == TERN_OK)
        status = ops->reach(s->end, &name, &s->peer);
    if (status == TERN_OK)
        status = welcome(s, OTHER, other, &answer->name);
    answer->rkey = s->rkey;
    answer->good = status == TERN_OK;
    return status;
}

/* The target's part: it owns the words, and increases one over the network, too. */
static tern_status atomics_target(tern_context *context, uint32_t origin, side *s,
                                  tern_status *status, tern_network_atomics *found) {
    target_words words = {0, 0};
    tern_network_memory *memory = NULL;
    tern_network_name other;
    tern_invitation answer = {0};
    char byte = 0;
    bool coherent = false;
    tern_status sent = tern_partner_take(context, origin, &other, sizeof other);
    if (sent != TERN_OK)
        return sent;
    *status = target_open(s, &words, &memory, &other, &answer);
    sent = tern_partner_send(context, origin, &answer, sizeof answer);
    if (sent == TERN_OK) /* while the origin measures */
        sent = tern_partner_hear(context, s->network, origin, &byte);
    if (*status == TERN_OK)
        *status = side_run(s);
    if (sent == TERN_OK)
        sent = tern_partner_hear(context, s->network, origin, &byte);
    sent = tell(context, origin, sent);
    if (sent == TERN_OK)
        sent = add_meanwhile(context, origin, s->network, &words.both, &coherent);
    /* R1: side_act; by the network, and what is complete is there */
    found->sound = *status == TERN_OK && atomic_load(&words.network) == 4 * TIMES;
    found->coherent = found->sound && coherent && s->network->coherent;
    tern_partner_remove(s->network, memory);
    return sent;
}

tern_status tern_network_test_atomics(tern_context *context, tern_network *network,
                                      bool needs_coherence, tern_network_atomics *found) {
    side s = {.network = network};
    tern_status sent = TERN_OK, status = TERN_OK;
    const uint32_t origin = tern_partner_origin(context);
    uint64_t without[] = {!network->has_atomics, !network->coherent, !network->has_narrow};
    *found = (tern_network_atomics){false, false, 0};
    sent = tern_collective_sum(context, NULL, without, 3);
    network->has_narrow &= without[2] == 0; /* all ranks do the same on a word */
    if (sent != TERN_OK || without[0] > 0 || (needs_coherence && without[1] > 0))
        return sent;
    if (context->rank == 0)
        sent = atomics_target(context, origin, &s, &status, found);
    else if (context->rank == origin)
        sent = atomics_origin(context, &s, &status, &found->trip);
    side_close(&s);
    tern_error_clear();
    sent = tern_collective_agree(context, NULL, sent, "testing the network's atomics");
    uint64_t votes[] = {found->sound, found->coherent, found->trip, status != TERN_OK};
    if (sent == TERN_OK)
        sent = tern_collective_sum(context, NULL, votes, 4);
    const bool good = votes[3] == 0;
    *found = (tern_network_atomics){good && votes[0] > 0, good && votes[1] > 0 && without[1] == 0,
                                    votes[2]};
    return sent;
}
