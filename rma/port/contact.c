#include "rma/port/posting.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

/* First contact of a port with a rank. */

tern_route *tern_route_find(tern_port *port, uint32_t rank) {
    if (port->by_rank[rank] != NULL)
        return port->by_rank[rank];
    tern_route *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->next = port->routes;
    r->rank = rank;
    r->question = TERN_QUESTION_NONE;
    port->routes = port->by_rank[rank] = r;
    return r;
}

/* Asks the rank for the rkey of a piece, and offers it a connection unless the port has one. */
static tern_status ask(tern_worker *worker, tern_route *to, uint64_t piece) {
    const tern_message message = {.kind = TERN_MESSAGE_CONTACT, .origin = worker->id};
    tern_contact_question question = {.piece = piece};
    tern_status status = to->reached ? TERN_OK : tern_connection_offer(worker, to, &question.offer);
    if (status != TERN_OK)
        return status;
    to->asked = piece;
    to->offered = question.offer.bytes > 0;
    to->answer.status = TERN_ERR_RANGE; /* stays if the rank refuses without an answer */
    return tern_question_start(worker, to->rank, &message, &question, sizeof question, &to->answer,
                               sizeof to->answer, &to->question);
}

/* Takes the answer of a rank that was asked. TERN_ERR_AGAIN: no answer yet. */
static tern_status hear(tern_worker *worker, tern_route *to) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    const tern_contact *answer = &to->answer;
    tern_status status = tern_question_test(worker, &to->question);
    if (status != TERN_OK)
        return status;
    if (answer->status != TERN_OK || answer->name.bytes > TERN_NETWORK_NAME_MAX)
        return tern_fail(TERN_ERR_NETWORK,
                         "rank %u cannot register its memory with the network; its log says why",
                         to->rank);
    if (to->offered) {
        status = port->native->network->ops->reach(port->end, &answer->name, &to->peer);
        if (status != TERN_OK)
            return status;
        to->reached = true;
    }
    to->rkey[to->asked] = answer->rkey;
    to->known |= (uint64_t)1 << to->asked;
    return TERN_OK;
}

tern_status tern_route_reach(tern_worker *worker, tern_route *to) {
    if (tern_question_is_open(&to->question)) {
        tern_status status = hear(worker, to);
        if (status != TERN_OK)
            return status;
    }
    if (to->reached)
        return TERN_OK;
    tern_status status = ask(worker, to, 0);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

/* Reads the first words of the rank's segment. A network connects at the first operation, so later
 * operations are accepted at once; and the words prove that this is the right rank. TERN_ERR_AGAIN:
 * not complete yet. */
static tern_status greet(tern_worker *worker, tern_route *to) {
    if (to->greeting == NULL) {
        const tern_move move = {.kept = true,
                                .again = true,
                                .rank = to->rank,
                                .here = to->greeted,
                                .bytes = sizeof to->greeted};
        uint64_t moved = 0;
        tern_status status = tern_posting_start(worker, to, &move, &moved, &to->greeting);
        return status == TERN_OK ? TERN_ERR_AGAIN : status;
    }
    if (!tern_posting_landed(to->greeting))
        return TERN_ERR_AGAIN;
    tern_status status = tern_posting_end(worker, to->greeting);
    to->greeting = NULL;
    if (status == TERN_OK &&
        (to->greeted[0] != TERN_SEGMENT_MAGIC || to->greeted[1] != worker->context->nonce))
        status = tern_fail(TERN_ERR_NETWORK,
                           "the network reaches memory that is not that of rank %u", to->rank);
    to->met = status == TERN_OK;
    return status;
}

static tern_status meet(tern_worker *worker, tern_route *to, uint64_t piece) {
    tern_status status = tern_route_reach(worker, to);
    if (status == TERN_OK && !to->met)
        status = greet(worker, to);
    if (status != TERN_OK || (to->known >> piece & 1) != 0)
        return status;
    status = ask(worker, to, piece);
    return status == TERN_OK ? TERN_ERR_AGAIN : status;
}

tern_status tern_route_meet(tern_worker *worker, tern_route *to, uint64_t piece) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    tern_status status = port->leaves == to ? tern_connection_leave(worker, port) : TERN_OK;
    if (status != TERN_OK || (to->met && (to->known >> piece & 1) != 0))
        return status;
    status = meet(worker, to, piece);
    if (status != TERN_ERR_AGAIN)
        to->fresh = false; /* it is used now; or it failed and must not be kept for a first use */
    return status;
}

bool tern_port_meets_alone(const tern_worker *worker, uint32_t rank) {
    const tern_port *port = tern_rma_worker_of(worker)->port;
    const tern_route *to = port == NULL ? NULL : port->by_rank[rank];
    return to != NULL && port->native->network->one_sided &&
           !tern_question_goes_by_message(&to->question);
}

tern_status tern_port_settle(tern_worker *worker) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    tern_wait_state wait = TERN_WAIT_IN("the answer of a rank that was asked for its memory");
    tern_status status = TERN_OK;
    for (tern_route *to = port == NULL ? NULL : port->routes; to != NULL; to = to->next)
        while (status == TERN_OK && tern_question_is_open(&to->question)) {
            status = hear(worker, to);
            if (status == TERN_ERR_AGAIN)
                status =
                    tern_wait_round(worker->context, &wait, tern_progress_round(worker), to->rank);
        }
    while (status == TERN_OK && port != NULL && port->farewells != NULL) {
        const uint32_t rank = port->farewells->rank;
        tern_farewells_poll(worker, port);
        status = tern_wait_round(worker->context, &wait, tern_progress_round(worker), rank);
    }
    return status;
}
