#include <stdlib.h>

#include "base/error.h"
#include "rma/team/team.h"
#include "src/collective/collective.h"
#include "src/progress/request.h"

/* The public functions of collectives of teams: check arguments and begin operations. */

/* The arguments of all collectives. */
typedef struct team_ask {
    uint32_t collective;
    uint32_t root;
    tern_number type;
    tern_reduction op;
    bool reduces;
    const void *source;        /* that is read, */
    void *data;                /* and that is written: */
    bool has_source, has_data; /* whether that memory is needed */
    size_t bytes;
} team_ask;

static tern_status ask_check(const team_ask *a, const tern_team *team) {
    const char *name = tern_team_names[a->collective];
    if (a->root >= team->size)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: root is %u, but the team has only %u members",
                         name, a->root, team->size);
    const tern_status status = a->reduces ? tern_number_check(name, a->type, a->op) : TERN_OK;
    if (status != TERN_OK)
        return status;
    if (a->bytes > PTRDIFF_MAX / team->size)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %zu bytes for each of %u members are too many",
                         name, a->bytes, team->size);
    if (a->bytes > 0 && ((a->has_source && a->source == NULL) || (a->has_data && a->data == NULL)))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: an address is NULL and the data has %zu bytes; pass memory of that "
                         "many bytes, or none",
                         name, a->bytes);
    return TERN_OK;
}

static tern_status team_start(tern_worker *worker, tern_team *given, const team_ask *a,
                              tern_request *request) {
    const char *name = tern_team_names[a->collective];
    tern_team *team = NULL;
    tern_status status = tern_worker_may_wait(worker, name);
    if (status == TERN_OK)
        status = tern_request_check(request, name);
    if (status == TERN_OK)
        status = tern_team_resolve(worker, given, name, &team);
    if (status == TERN_OK)
        status = ask_check(a, team);
    if (status != TERN_OK)
        return status;
    if (team->under_way >= TERN_TEAM_UNDER_WAY)
        return tern_fail(TERN_ERR_AGAIN,
                         "%s: %u collectives of the team are under way; wait for one", name,
                         team->under_way);
    tern_teams *teams = tern_teams_of(worker);
    tern_team_operation *o = tern_team_operation_new(teams);
    const bool has_scratch = a->collective == TERN_TEAM_SCAN_BEFORE && a->bytes > 0;
    if (o != NULL && has_scratch && (o->scratch = malloc(a->bytes)) == NULL) {
        tern_team_operation_free(teams, o);
        o = NULL;
    }
    if (o == NULL)
        return tern_fail(TERN_ERR_MEMORY, "%s: no memory for a collective of %zu bytes", name,
                         a->bytes);
    o->team = team;
    o->plan = tern_team_plans[a->collective];
    o->kind = tern_team_kind(a->collective, (uint32_t)a->type, (uint32_t)a->op, a->root);
    o->root = a->root;
    o->type = a->type;
    o->op = a->op;
    o->width = tern_number_bytes(a->type);
    o->bytes = a->bytes;
    o->data = a->data;
    o->source = a->source;
    o->values = a->data;
    /* An all-reduce changes short vectors only if it succeeds. */
    if (a->collective == TERN_TEAM_ALLREDUCE && a->bytes > 0 && a->bytes <= teams->small) {
        memcpy(o->short_values, a->data, a->bytes);
        o->values = (char *)o->short_values;
    }
    tern_team_begin(o, request);
    return TERN_OK;
}

static tern_status team_run(tern_worker *worker, tern_team *team, const team_ask *a) {
    TERN_COLLECTIVE(worker, tern_team_names[a->collective]);
    tern_request request = {0};
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    while ((status = team_start(worker, team, a, &request)) == TERN_ERR_AGAIN) {
        status =
            tern_wait_round(worker->context, &wait, tern_progress_process(worker), TERN_NOBODY);
        if (status != TERN_OK)
            break;
    }
    if (status != TERN_OK)
        return status;
    return tern_request_is_under_way(&request) ? request.kind->wait(worker, &request)
                                               : tern_request_tell(&request);
}

static team_ask ask_numbers(uint32_t collective, uint32_t root, tern_number type, tern_reduction op,
                            void *values, size_t count) {
    return (team_ask){.collective = collective,
                      .root = root,
                      .type = type,
                      .op = op,
                      .reduces = true,
                      .data = values,
                      .has_data = true,
                      .bytes =
                          count <= PTRDIFF_MAX / 16 ? count * tern_number_bytes(type) : SIZE_MAX};
}

static team_ask ask_barrier(void) { return (team_ask){.collective = TERN_TEAM_BARRIER}; }

static team_ask ask_broadcast(uint32_t root, void *data, size_t bytes) {
    return (team_ask){.collective = TERN_TEAM_BROADCAST,
                      .root = root,
                      .data = data,
                      .has_data = true,
                      .bytes = bytes};
}

/* A block from each member to each, to all, or to one. gets: this member gets blocks. */
static team_ask ask_blocks(uint32_t collective, uint32_t root, const void *source, void *data,
                           bool gets, size_t bytes) {
    return (team_ask){.collective = collective,
                      .root = root,
                      .source = source,
                      .has_source = true,
                      .data = data,
                      .has_data = gets,
                      .bytes = bytes};
}

static team_ask ask_gather(const tern_worker *worker, const tern_team *team, uint32_t root,
                           const void *mine, void *all, size_t bytes) {
    const bool gets = worker != NULL && tern_team_rank(worker, team) == root;
    return ask_blocks(TERN_TEAM_GATHER, root, mine, all, gets, bytes);
}

tern_status tern_team_barrier(tern_worker *worker, tern_team *team) {
    const team_ask a = ask_barrier();
    return team_run(worker, team, &a);
}

tern_status tern_team_barrier_start(tern_worker *worker, tern_team *team, tern_request *request) {
    const team_ask a = ask_barrier();
    return team_start(worker, team, &a, request);
}

tern_status tern_team_broadcast(tern_worker *worker, tern_team *team, uint32_t root, void *data,
                                size_t bytes) {
    const team_ask a = ask_broadcast(root, data, bytes);
    return team_run(worker, team, &a);
}

tern_status tern_team_broadcast_start(tern_worker *worker, tern_team *team, uint32_t root,
                                      void *data, size_t bytes, tern_request *request) {
    const team_ask a = ask_broadcast(root, data, bytes);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_reduce(tern_worker *worker, tern_team *team, uint32_t root, tern_number type,
                             tern_reduction op, void *values, size_t count) {
    const team_ask a = ask_numbers(TERN_TEAM_REDUCE, root, type, op, values, count);
    return team_run(worker, team, &a);
}

tern_status tern_team_reduce_start(tern_worker *worker, tern_team *team, uint32_t root,
                                   tern_number type, tern_reduction op, void *values, size_t count,
                                   tern_request *request) {
    const team_ask a = ask_numbers(TERN_TEAM_REDUCE, root, type, op, values, count);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_allreduce(tern_worker *worker, tern_team *team, tern_number type,
                                tern_reduction op, void *values, size_t count) {
    const team_ask a = ask_numbers(TERN_TEAM_ALLREDUCE, 0, type, op, values, count);
    return team_run(worker, team, &a);
}

tern_status tern_team_allreduce_start(tern_worker *worker, tern_team *team, tern_number type,
                                      tern_reduction op, void *values, size_t count,
                                      tern_request *request) {
    const team_ask a = ask_numbers(TERN_TEAM_ALLREDUCE, 0, type, op, values, count);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_gather(tern_worker *worker, tern_team *team, uint32_t root, const void *mine,
                             void *all, size_t bytes) {
    const team_ask a = ask_gather(worker, team, root, mine, all, bytes);
    return team_run(worker, team, &a);
}

tern_status tern_team_gather_start(tern_worker *worker, tern_team *team, uint32_t root,
                                   const void *mine, void *all, size_t bytes,
                                   tern_request *request) {
    const team_ask a = ask_gather(worker, team, root, mine, all, bytes);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_allgather(tern_worker *worker, tern_team *team, const void *mine, void *all,
                                size_t bytes) {
    const team_ask a = ask_blocks(TERN_TEAM_ALLGATHER, 0, mine, all, true, bytes);
    return team_run(worker, team, &a);
}

tern_status tern_team_allgather_start(tern_worker *worker, tern_team *team, const void *mine,
                                      void *all, size_t bytes, tern_request *request) {
    const team_ask a = ask_blocks(TERN_TEAM_ALLGATHER, 0, mine, all, true, bytes);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_alltoall(tern_worker *worker, tern_team *team, const void *out, void *in,
                               size_t bytes) {
    const team_ask a = ask_blocks(TERN_TEAM_ALLTOALL, 0, out, in, true, bytes);
    return team_run(worker, team, &a);
}

tern_status tern_team_alltoall_start(tern_worker *worker, tern_team *team, const void *out,
                                     void *in, size_t bytes, tern_request *request) {
    const team_ask a = ask_blocks(TERN_TEAM_ALLTOALL, 0, out, in, true, bytes);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_scan(tern_worker *worker, tern_team *team, tern_number type,
                           tern_reduction op, void *values, size_t count) {
    const team_ask a = ask_numbers(TERN_TEAM_SCAN, 0, type, op, values, count);
    return team_run(worker, team, &a);
}

tern_status tern_team_scan_start(tern_worker *worker, tern_team *team, tern_number type,
                                 tern_reduction op, void *values, size_t count,
                                 tern_request *request) {
    const team_ask a = ask_numbers(TERN_TEAM_SCAN, 0, type, op, values, count);
    return team_start(worker, team, &a, request);
}

tern_status tern_team_scan_before(tern_worker *worker, tern_team *team, tern_number type,
                                  tern_reduction op, void *values, size_t count) {
    const team_ask a = ask_numbers(TERN_TEAM_SCAN_BEFORE, 0, type, op, values, count);
    return team_run(worker, team, &a);
}

tern_status tern_team_scan_before_start(tern_worker *worker, tern_team *team, tern_number type,
                                        tern_reduction op, void *values, size_t count,
                                        tern_request *request) {
    const team_ask a = ask_numbers(TERN_TEAM_SCAN_BEFORE, 0, type, op, values, count);
    return team_start(worker, team, &a, request);
}
