#include "rma/port/posting.h"

#include <stdlib.h>

#include "base/error.h"
#include "src/log.h"

/*
 * Eviction: the network or its card limits the number of connections of an end. A port that needs
 * a further connection closes ("leaves") the one that its worker used least recently. The route of
 * that connection takes no new postings, and the port closes the connection once the postings under
 * way are complete.
 */

/* Whether the port closes the connection of a rather than that of b. Among connections that were
 * not used yet the oldest one stays, so that it is used at some time. */
static bool goes_before(const tern_route *a, const tern_route *b) {
    if (a->fresh || b->fresh)
        return a->fresh && b->fresh ? a->used > b->used : b->fresh;
    if ((a->under_way == 0) != (b->under_way == 0))
        return a->under_way == 0;
    return a->used < b->used;
}

tern_route *tern_route_to_evict(tern_route *routes, const tern_route *but) {
    tern_route *chosen = NULL;
    for (tern_route *r = routes; r != NULL; r = r->next)
        if (r->held && r != but && (chosen == NULL || goes_before(r, chosen)))
            chosen = r;
    return chosen;
}

/* Tells the rank that it can close its side of the connection, too. If that fails, the rank keeps
 * its side until this worker offers another connection or the rank's context ends. */
static void say_farewell(tern_worker *worker, tern_port *port, uint32_t rank,
                         const tern_network_name *offer) {
    const tern_message message = {.kind = TERN_MESSAGE_CONTACT, .origin = worker->id};
    const tern_contact_question question = {.leaves = 1, .offer = *offer};
    tern_farewell *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return;
    fresh->rank = rank;
    if (tern_question_start(worker, rank, &message, &question, sizeof question, &fresh->answer,
                            sizeof fresh->answer, &fresh->question) != TERN_OK) {
        tern_error_clear();
        free(fresh);
        return;
    }
    fresh->next = port->farewells;
    port->farewells = fresh;
}

void tern_farewells_poll(tern_worker *worker, tern_port *port) {
    tern_farewell **link = &port->farewells;
    while (*link != NULL) {
        tern_farewell *f = *link;
        const tern_status status = tern_question_test(worker, &f->question);
        if (status == TERN_ERR_AGAIN) {
            link = &f->next;
            continue;
        }
        if (status != TERN_OK)
            tern_error_clear();
        *link = f->next;
        if (tern_question_abandon(&f->question)) /* else MPI may still write there */
            free(f);
    }
}

void tern_farewells_close(tern_port *port) {
    while (port->farewells != NULL) {
        tern_farewell *f = port->farewells;
        port->farewells = f->next;
        if (tern_question_abandon(&f->question))
            free(f);
    }
}

tern_status tern_connection_leave(tern_worker *worker, tern_port *port) {
    tern_route *to = port->leaves;
    tern_network_name offer = {0};
    if (to->under_way > 0) {
        tern_port_hasten(worker, to->rank);
        return TERN_ERR_AGAIN;
    }
    if (to->greeting != NULL)
        tern_posting_abandon(worker, to->greeting, false);
    to->greeting = NULL;
    port->native->network->ops->leave(port->end, to->peer, &offer);
    to->held = to->fresh = to->reached = to->met = false;
    to->offered = false; /* an answer that is still on its way can only bring an rkey */
    port->leaves = NULL;
    port->connections--;
    if (worker->stats.connections_evicted++ == 0)
        tern_log(TERN_LOG_INFO,
                 "worker %u gets no further connection beside %zu (TERN_VERBS_QUEUE_PAIRS, or "
                 "the card): for each one it closes the one that it used least recently",
                 worker->id, port->connections + 1);
    say_farewell(worker, port, to->rank, &offer);
    return TERN_OK;
}

/* Begins or continues to close a connection, to make room for that of this route. */
static tern_status make_room(tern_worker *worker, tern_port *port, const tern_route *to) {
    if (port->leaves == NULL) {
        port->leaves = tern_route_to_evict(port->routes, to);
        port->room_for = to;
    }
    if (port->leaves == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a connection to rank %u", to->rank);
    const bool is_for_it = port->room_for == to;
    const tern_status status = tern_connection_leave(worker, port);
    return status == TERN_OK && !is_for_it ? TERN_ERR_AGAIN : status;
}

/* Whether the port has no room for a connection of this route. Room that it made for another
 * route is reserved. */
static bool is_full(const tern_port *port, const tern_route *to) {
    const size_t most = port->native->network->connections_max;
    const size_t reserved = port->room_for != NULL && port->room_for != to;
    return most > 0 && port->connections + reserved >= most;
}

tern_status tern_connection_offer(tern_worker *worker, tern_route *to, tern_network_name *offer) {
    tern_port *port = tern_rma_worker_of(worker)->port;
    const tern_network_ops *ops = port->native->network->ops;
    tern_status status = TERN_OK;
    if (!to->held && (port->leaves != NULL || is_full(port, to)))
        status = make_room(worker, port, to);
    if (status == TERN_OK)
        status = ops->offer(port->end, &to->peer, offer);
    if (status == TERN_ERR_MEMORY && tern_route_to_evict(port->routes, to) != NULL) {
        tern_error_clear();
        status = make_room(worker, port, to);
        return status == TERN_OK ? TERN_ERR_AGAIN : status; /* the caller tries the offer again */
    }
    if (status != TERN_OK || to->held)
        return status;
    to->held = to->fresh = true;
    to->used = ++port->uses;
    port->connections++;
    if (port->room_for == to)
        port->room_for = NULL;
    return TERN_OK;
}
