#include <stdlib.h>

#include "base/error.h"
#include "rma/team/team.h"
#include "src/progress/request.h"

/*
 * Steps of operations.
 *
 * Hot path: the start and the steps of a collective of short vectors over shm make no system call,
 * take no lock and allocate nothing, but for messages that come before they are waited for.
 */

/* A member hails the members it waits for when it has waited this many ns, and again each time. */
#define HAIL_NS 200000000u

enum {
    SPARES = 16,       /* operations kept for reuse */
    CLOCK_STEPS = 1024 /* vain steps for one look at the clock */
};

const char *const tern_team_names[TERN_TEAM_COLLECTIVES] = {
    "tern_team_barrier",   "tern_team_broadcast", "tern_team_reduce",
    "tern_team_allreduce", "tern_team_gather",    "tern_team_allgather",
    "tern_team_alltoall",  "tern_team_scan",      "tern_team_scan_before"};

tern_team_operation *tern_team_operation_new(tern_teams *teams) {
    tern_team_operation *o = teams->spare;
    if (o != NULL) {
        teams->spare = o->next;
        teams->spares--;
    } else {
        o = malloc(sizeof *o);
    }
    if (o != NULL)
        memset(o, 0, offsetof(tern_team_operation, short_values));
    return o;
}

void tern_team_operation_free(tern_teams *teams, tern_team_operation *o) {
    free(o->scratch);
    if (teams->spares < SPARES) {
        o->next = teams->spare;
        teams->spare = o;
        teams->spares++;
    } else {
        free(o);
    }
}

/* Ends the request, and remembers the collective for members that are behind. */
static void operation_conclude(tern_team_operation *o, tern_status status, uint32_t teller,
                               const tern_team_head *how) {
    const tern_worker *worker = o->team->worker;
    tern_request *request = o->request;
    o->team->history[o->sequence % TERN_TEAM_HISTORY] = *how;
    request->own[0] = how->kind | (uint64_t)how->other_kind << 32;
    request->own[1] = how->bytes;
    request->own[2] = how->offset;
    request->rank = status == TERN_ERR_PEER ? how->other : teller;
    request->room = how->other;
    (void)tern_request_end(request, status, 0);
    o->request = NULL;
    o->team->under_way--;
    if (o->has_event) {
        tern_notify *n = tern_notify_of(worker);
        n->done_reserved--;
        tern_done_push(n, worker->id, o->local_cid, o->bytes, false, status);
    }
}

static tern_team_head operation_head(const tern_team_operation *o, uint16_t type, uint32_t tag) {
    return (tern_team_head){.sequence = o->sequence,
                            .bytes = o->bytes,
                            .kind = o->kind,
                            .type = type,
                            .tag = (uint16_t)tag};
}

void tern_team_fail(tern_team_operation *o, tern_status status, uint32_t other, uint32_t other_kind,
                    uint64_t other_bytes) {
    o->failure = operation_head(o, TERN_TEAM_FAILED, (uint32_t)status);
    o->failure.other = other;
    o->failure.other_kind = other_kind;
    o->failure.offset = other_bytes;
    operation_conclude(o, status, o->team->worker->context->rank, &o->failure);
}

void tern_team_learn(tern_team_operation *o, const tern_team_head *head) {
    tern_team_head *past = &o->team->history[o->sequence % TERN_TEAM_HISTORY];
    const uint32_t teller = tern_team_member(o->team, head->from);
    o->told = o->team->size; /* the sender of the message tells all members */
    operation_conclude(o, (tern_status)head->tag, teller, head);
    if (head->kind != o->kind || head->bytes != o->bytes) {
        past->other = head->tag == TERN_ERR_PEER ? head->other : teller;
        past->other_kind = head->kind;
        past->offset = head->bytes;
    }
    past->kind = o->kind;
    past->bytes = o->bytes;
}

/* Tells the members of a failure. False: all have been told. */
static bool failure_tell(tern_team_operation *o) {
    const tern_team *team = o->team;
    for (; o->told < team->size; o->told++) {
        if (o->told == team->rank)
            continue;
        const uint32_t rank = tern_team_member(team, o->told);
        if (tern_peer_is_dead(&team->worker->context->peers, rank))
            continue;
        if (tern_team_send(team, o->told, &o->failure, NULL, 0) == TERN_ERR_AGAIN)
            return true;
    }
    return false;
}

bool tern_team_awaits(const tern_team_operation *o, const tern_team_head *head) {
    return o->rounds > 0 && !o->taken_all && o->round.from == head->from &&
           o->round.in_tag == head->tag &&
           (!o->round.combines || o->sent_all ||
            o->round.in_bytes > tern_teams_of(o->team->worker)->small);
}

bool tern_team_take(tern_team_operation *o, const tern_team_head *head, const void *data,
                    size_t bytes) {
    const tern_team_round *r = &o->round;
    if (head->offset != o->taken || bytes > r->in_bytes - o->taken ||
        (bytes == 0 && r->in_bytes > 0) || (r->combines && bytes % o->width != 0))
        return false;
    char *to = bytes > 0 ? r->in + o->taken : NULL;
    if (bytes > 0 && !r->combines)
        memcpy(to, data, bytes);
    else if (bytes > 0 && r->from < o->team->rank)
        tern_numbers_reduce(o->type, o->op, to, data, to, bytes / o->width);
    else if (bytes > 0)
        tern_numbers_reduce(o->type, o->op, to, to, data, bytes / o->width);
    o->taken += bytes;
    o->taken_all = o->taken == r->in_bytes;
    o->vain = 0;
    o->since = 0;
    return true;
}

/* False: the plan is at its end. */
static bool round_begin(tern_team_operation *o) {
    tern_team *team = o->team;
    const size_t small = tern_teams_of(team->worker)->small;
    o->round = (tern_team_round){.to = TERN_NOBODY, .from = TERN_NOBODY};
    if (!o->plan(o, &o->round))
        return false;
    o->rounds++;
    o->sent = o->taken = 0;
    o->sent_all = o->round.to == TERN_NOBODY;
    o->taken_all = o->round.from == TERN_NOBODY;
    o->ready = false;
    o->tells_ready =
        !o->taken_all && (o->round.in_bytes > small ||
                          team->started - team->told[o->round.from] >= TERN_TEAM_WINDOW / 2);
    if (team->kept != NULL)
        tern_team_replay(team, &team->kept, false);
    return true;
}

static bool round_may_send(const tern_team_operation *o, const tern_teams *teams) {
    const tern_team_round *r = &o->round;
    return o->ready ||
           (r->out_bytes <= teams->small && o->sequence < o->team->known[r->to] + TERN_TEAM_WINDOW);
}

/* Sends what can be sent now. */
static tern_status round_send(tern_team_operation *o, size_t *events) {
    const tern_teams *teams = tern_teams_of(o->team->worker);
    const tern_team_round *r = &o->round;
    while (!o->sent_all && round_may_send(o, teams)) {
        const size_t left = r->out_bytes - o->sent;
        const size_t bytes = left < teams->fragment_max ? left : teams->fragment_max;
        if (r->follows && !o->taken_all && (bytes == 0 || o->sent + bytes > o->taken))
            break;
        tern_team_head head = operation_head(o, TERN_TEAM_DATA, r->out_tag);
        head.offset = o->sent;
        tern_status status =
            tern_team_send(o->team, r->to, &head, bytes > 0 ? r->out + o->sent : NULL, bytes);
        if (status != TERN_OK)
            return status;
        o->sent += bytes;
        o->sent_all = o->sent == r->out_bytes;
        ++*events;
        if (o->sent_all && r->combines && !o->taken_all && o->team->kept != NULL)
            tern_team_replay(o->team, &o->team->kept, false);
    }
    return TERN_OK;
}

/* Tells the member that is to send that this one is ready. */
static tern_status round_tell_ready(tern_team_operation *o, size_t *events) {
    if (!o->tells_ready)
        return TERN_OK;
    tern_team_head head = operation_head(o, TERN_TEAM_READY, o->round.in_tag);
    tern_status status = tern_team_send(o->team, o->round.from, &head, NULL, 0);
    if (status == TERN_OK) {
        o->tells_ready = false;
        ++*events;
    }
    return status;
}

/* Returns a dead member, or TERN_NOBODY. Goes through the members once after each death. */
static uint32_t team_dead(tern_team *team) {
    const tern_peers *peers = &team->worker->context->peers;
    const uint32_t deaths = tern_peers_deaths(peers);
    for (uint32_t m = 0; deaths != team->deaths && m < team->size && team->dead == TERN_NOBODY; m++)
        if (tern_peer_is_dead(peers, tern_team_member(team, m)))
            team->dead = tern_team_member(team, m);
    team->deaths = deaths;
    return team->dead;
}

/* Hails the members for which the operation has waited long: they may be in another collective. */
static void operation_hail(tern_team_operation *o) {
    const uint64_t now = tern_now();
    if (o->since == 0)
        o->since = now;
    if (now - o->since < HAIL_NS)
        return;
    o->since = now;
    tern_team_head head = operation_head(o, TERN_TEAM_HAIL, 0);
    if (!o->taken_all)
        (void)tern_team_send(o->team, o->round.from, &head, NULL, 0);
    if (!o->sent_all)
        (void)tern_team_send(o->team, o->round.to, &head, NULL, 0);
}

/* A rank for which the operation waits. */
static uint32_t operation_awaited(const tern_team_operation *o) {
    const uint32_t member = !o->taken_all ? o->round.from : o->round.to;
    return member == TERN_NOBODY ? TERN_ANYBODY : tern_team_member(o->team, member);
}

/* Takes the steps that need no wait. False: the operation is over. */
static bool operation_step(tern_team_operation *o, size_t *events) {
    const size_t before = *events;
    tern_status status = TERN_OK;
    while (o->request != NULL && (status == TERN_OK || status == TERN_ERR_AGAIN)) {
        if (o->rounds == 0 || (o->sent_all && o->taken_all)) {
            if (!round_begin(o)) {
                const tern_team_head how = operation_head(o, TERN_TEAM_DATA, 0);
                operation_conclude(o, TERN_OK, o->team->worker->context->rank, &how);
                ++*events;
                return false;
            }
            ++*events;
            continue;
        }
        status = round_tell_ready(o, events);
        if (status == TERN_OK || status == TERN_ERR_AGAIN) {
            const tern_status sent = round_send(o, events);
            status = sent != TERN_OK ? sent : status;
        }
        if (!o->sent_all || !o->taken_all)
            break;
    }
    if (o->request == NULL)
        return failure_tell(o);
    const uint32_t dead = team_dead(o->team);
    if (dead != TERN_NOBODY)
        tern_team_fail(o, TERN_ERR_PEER, dead, 0, 0);
    else if (status != TERN_OK && status != TERN_ERR_AGAIN)
        tern_team_fail(o, status, operation_awaited(o), 0, 0);
    else if (*events == before && ++o->vain % CLOCK_STEPS == 0)
        operation_hail(o);
    return true;
}

size_t tern_team_advance(tern_team *team) {
    size_t events = 0;
    for (tern_team_operation **link = &team->operations, *o; (o = *link) != NULL;) {
        if (operation_step(o, &events)) {
            link = &o->next;
            continue;
        }
        *link = o->next;
        tern_team_operation_free(tern_teams_of(team->worker), o);
    }
    return events;
}

void tern_team_begin(tern_team_operation *o, tern_request *request) {
    tern_team *team = o->team;
    tern_team_operation **link = &team->operations;
    while (*link != NULL)
        link = &(*link)->next;
    *link = o;
    o->sequence = team->started++;
    o->request = request;
    team->under_way++;
    tern_request_begin(request, &tern_team_request, TERN_ANYBODY);
    request->own[0] = (uintptr_t)o;
    const uint32_t dead = team_dead(team);
    if (dead != TERN_NOBODY) /* a root could end before it looks */
        tern_team_fail(o, TERN_ERR_PEER, dead, 0, 0);
    (void)tern_team_advance(team);
    if (tern_thread_failures.last != TERN_OK)
        tern_error_clear(); /* the wait reports it */
}

static bool team_request_look(tern_worker *worker, tern_request *request) {
    tern_team_operation *o = (void *)(uintptr_t)request->own[0];
    const uint32_t rank = operation_awaited(o);
    if (rank != TERN_ANYBODY && tern_glance(worker, rank) == TERN_ERR_PEER)
        tern_team_fail(o, TERN_ERR_PEER, rank, 0, 0);
    return !tern_request_is_under_way(request);
}

static tern_status team_request_wait(tern_worker *worker, tern_request *request) {
    const tern_team_operation *o = (const void *)(uintptr_t)request->own[0];
    tern_wait_state wait = TERN_WAIT_START;
    while (tern_request_is_under_way(request))
        if (tern_wait_round(worker->context, &wait, tern_progress_process(worker),
                            tern_request_is_under_way(request) ? operation_awaited(o)
                                                               : TERN_NOBODY) != TERN_OK)
            tern_error_clear(); /* progress ends the operation of a dead member */
    return tern_request_tell(request);
}

static void kind_name(uint32_t kind, uint64_t bytes, char *text, size_t room) {
    char numbers[64];
    const uint32_t collective = tern_team_collective(kind);
    const bool reduces = collective == TERN_TEAM_REDUCE || collective == TERN_TEAM_ALLREDUCE ||
                         collective == TERN_TEAM_SCAN || collective == TERN_TEAM_SCAN_BEFORE;
    tern_number_describe((tern_number)(kind >> 4 & 15), (tern_reduction)(kind >> 8 & 15), numbers,
                         sizeof numbers);
    if (collective == TERN_TEAM_BARRIER)
        snprintf(text, room, "%s", tern_team_names[collective]);
    else if (reduces)
        snprintf(text, room, "%s (%s, root %u, %llu bytes)", tern_team_names[collective], numbers,
                 kind >> 12, (unsigned long long)bytes);
    else
        snprintf(text, room, "%s (root %u, %llu bytes)", tern_team_names[collective], kind >> 12,
                 (unsigned long long)bytes);
}

static tern_status team_request_explain(const tern_request *request) {
    enum { NAME_BYTES = 128 };
    const tern_status outcome = (tern_status)request->outcome;
    const uint32_t kind = (uint32_t)request->own[0], other_kind = (uint32_t)(request->own[0] >> 32);
    char mine[NAME_BYTES], other[NAME_BYTES];
    if (outcome == TERN_ERR_PEER)
        return tern_peer_fail(request->rank);
    kind_name(kind, request->own[1], mine, sizeof mine);
    if (outcome != TERN_ERR_MISMATCH)
        return tern_fail(outcome, "%s has failed on rank %u: %s", mine, request->rank,
                         tern_strerror(outcome));
    kind_name(other_kind, request->own[2], other, sizeof other);
    return tern_fail(outcome,
                     "rank %u is in %s and rank %u is in %s; all members of a team call the same "
                     "functions in the same order, with the same arguments",
                     request->rank, mine, (uint32_t)request->room, other);
}

const tern_request_kind tern_team_request = {team_request_look, team_request_wait,
                                             team_request_explain};

tern_status tern_team_event(tern_worker *worker, tern_request *request, uint64_t local_cid) {
    if (worker == NULL || request == NULL || request->kind != &tern_team_request)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_team_event: worker or request is NULL, or the "
                                            "request is not of a collective of a team");
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail("tern_team_event");
    const bool over = !tern_request_is_under_way(request);
    tern_team_operation *o = over ? NULL : (void *)(uintptr_t)request->own[0];
    if (o != NULL && o->has_event)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_team_event: the collective has a local event already");
    tern_status status = tern_done_make_room(worker);
    if (status != TERN_OK)
        return status;
    tern_notify *n = tern_notify_of(worker);
    if (over) {
        tern_done_push(n, worker->id, local_cid, request->own[1], false,
                       (tern_status)request->outcome);
        return TERN_OK;
    }
    n->done_reserved++;
    o->has_event = true;
    o->local_cid = local_cid;
    return TERN_OK;
}
