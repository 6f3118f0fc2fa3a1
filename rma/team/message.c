#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/team/team.h"

/* Messages of teams: sends, receives, keeps and replays them. */

tern_status tern_team_send(const tern_team *team, uint32_t member, tern_team_head *head,
                           const void *data, size_t bytes) {
    tern_worker *worker = team->worker;
    const uint32_t rank = tern_team_member(team, member);
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status =
        tern_ring_open(worker, rank * worker->context->workers + worker->index, &out);
    if (status == TERN_OK)
        status = tern_ring_try(worker, out, sizeof *head + bytes, &room);
    if (status != TERN_OK)
        return status;
    head->list = team->list;
    head->ordinal = team->ordinal;
    head->started = team->started;
    head->from = team->rank;
    memcpy(room, head, sizeof *head);
    if (bytes > 0)
        memcpy((char *)room + sizeof *head, data, bytes);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_TEAM, 0, sizeof *head + bytes));
    tern_ring_publish(worker, out);
    if (head->type != TERN_TEAM_HAIL) /* that of a team that is not made yet is dropped */
        team->told[member] = team->started;
    return TERN_OK;
}

/* What becomes of a message. */
typedef enum fate { FATE_OVER, FATE_KEEP, FATE_MALFORMED } fate;

static tern_team_operation *message_operation(const tern_team *team, uint64_t sequence) {
    tern_team_operation *o = team->operations;
    while (o != NULL && o->sequence != sequence)
        o = o->next;
    return o;
}

/* A message of a collective that is over here. If this rank remembers that it was another one, it
 * says so to the sender, which may wait for ever. */
static void message_answer(const tern_team *team, const tern_team_head *head) {
    const tern_team_head *past = &team->history[head->sequence % TERN_TEAM_HISTORY];
    if (team->started - head->sequence > TERN_TEAM_HISTORY || head->type == TERN_TEAM_FAILED ||
        (past->type != TERN_TEAM_FAILED && past->kind == head->kind && past->bytes == head->bytes))
        return;
    tern_team_kept *answer = malloc(sizeof *answer);
    if (answer == NULL)
        return; /* the sender hails again */
    tern_teams *teams = tern_teams_of(team->worker);
    answer->next = teams->answers;
    answer->head = *past;
    if (past->type != TERN_TEAM_FAILED) {
        answer->head.type = TERN_TEAM_FAILED;
        answer->head.tag = TERN_ERR_MISMATCH;
        answer->head.other = tern_team_member(team, head->from);
        answer->head.other_kind = head->kind;
        answer->head.offset = head->bytes;
    }
    answer->head.list = team->list;
    answer->head.ordinal = team->ordinal;
    answer->head.started = head->from; /* until it is sent: to which member */
    teams->answers = answer;
}

/* The message may have been kept since before the team was made. */
static fate message_take(tern_team *team, const tern_team_head *head, const void *data,
                         size_t bytes) {
    if (head->from >= team->size)
        return FATE_OVER;
    if (head->started > team->known[head->from])
        team->known[head->from] = head->started;
    if (head->sequence >= team->started)
        return head->type == TERN_TEAM_HAIL ? FATE_OVER : FATE_KEEP;
    tern_team_operation *o = message_operation(team, head->sequence);
    if (o == NULL) {
        message_answer(team, head);
        return FATE_OVER;
    }
    if (o->request == NULL)
        return FATE_OVER;
    if (head->type == TERN_TEAM_FAILED) {
        tern_team_learn(o, head);
        return FATE_OVER;
    }
    if (head->kind != o->kind || head->bytes != o->bytes) {
        tern_team_fail(o, TERN_ERR_MISMATCH, tern_team_member(team, head->from), head->kind,
                       head->bytes);
        return FATE_OVER;
    }
    if (head->type == TERN_TEAM_HAIL)
        return FATE_OVER;
    if (head->type == TERN_TEAM_READY) {
        if (o->rounds == 0 || o->round.to != head->from || o->round.out_tag != head->tag)
            return FATE_KEEP;
        o->ready = true;
        return FATE_OVER;
    }
    if (!tern_team_awaits(o, head))
        return head->offset == 0 && bytes <= tern_teams_of(team->worker)->small ? FATE_KEEP
                                                                                : FATE_MALFORMED;
    return tern_team_take(o, head, data, bytes) ? FATE_OVER : FATE_MALFORMED;
}

static void kept_append(tern_team_kept **list, tern_team_kept *kept) {
    while (*list != NULL)
        list = &(*list)->next;
    kept->next = NULL;
    *list = kept;
}

/* False: no memory. */
static bool message_keep(tern_team_kept **list, const tern_team_head *head, const void *data,
                         size_t bytes) {
    tern_team_kept *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL)
        return false;
    kept->head = *head;
    kept->bytes = bytes;
    memcpy(kept->data, data, bytes);
    kept_append(list, kept);
    return true;
}

void tern_team_replay(tern_team *team, tern_team_kept **list, bool strangers) {
    for (tern_team_kept *kept; (kept = *list) != NULL;) {
        const bool meant =
            !strangers || (kept->head.list == team->list && kept->head.ordinal == team->ordinal);
        const fate fate =
            meant ? message_take(team, &kept->head, kept->data, kept->bytes) : FATE_KEEP;
        if (fate == FATE_KEEP && (!meant || !strangers)) {
            list = &kept->next;
            continue;
        }
        *list = kept->next;
        if (fate == FATE_KEEP)
            kept_append(&team->kept, kept);
        else
            free(kept);
    }
}

/* Returns the team of a message, NULL if it is not made yet or is gone. [out] gone. */
static tern_team *message_team(const tern_teams *teams, const tern_team_head *head, bool *gone) {
    tern_team *team = teams->first;
    while (team != NULL && (team->list != head->list || team->ordinal != head->ordinal))
        team = team->next;
    *gone = team != NULL && team->destroyed;
    for (const tern_team_list *l = teams->lists; team == NULL && l != NULL; l = l->next)
        if (l->hash == head->list && head->ordinal < l->made)
            *gone = true;
    return *gone ? NULL : team;
}

size_t tern_team_consume(tern_worker *worker, tern_in *in) {
    tern_teams *teams = tern_teams_of(worker);
    const uint64_t header = tern_ring_peek(worker, in);
    const size_t record = tern_record_bytes(header);
    tern_team_head head;
    if (!tern_ring_check(in, header) || record < sizeof head ||
        record > sizeof head + teams->fragment_max || in->origin_id.index != worker->index) {
        tern_ring_refuse(worker, in, header, "it is no valid message of a team");
        return 0;
    }
    const char *data = tern_ring_payload(in) + sizeof head;
    const size_t bytes = record - sizeof head;
    tern_read_once(&head, tern_ring_payload(in), sizeof head);
    bool gone = false;
    tern_team *team = message_team(teams, &head, &gone);
    fate fate = gone || (team == NULL && head.type == TERN_TEAM_HAIL) ? FATE_OVER : FATE_KEEP;
    if (head.type >= TERN_TEAM_MESSAGES || (head.type != TERN_TEAM_DATA && bytes > 0) ||
        tern_team_collective(head.kind) >= TERN_TEAM_COLLECTIVES ||
        tern_team_collective(head.other_kind) >= TERN_TEAM_COLLECTIVES ||
        (head.type == TERN_TEAM_FAILED && (head.tag == TERN_OK || head.tag >= TERN_STATUS_COUNT)) ||
        (team == NULL && bytes > teams->small) ||
        (team != NULL &&
         (head.from >= team->size || tern_team_member(team, head.from) != in->origin_id.rank)))
        fate = FATE_MALFORMED;
    else if (team != NULL)
        fate = message_take(team, &head, data, bytes);
    if (fate == FATE_MALFORMED) {
        tern_ring_refuse(worker, in, header, "it is no valid message of a team");
        return 0;
    }
    if (fate == FATE_KEEP &&
        !message_keep(team != NULL ? &team->kept : &teams->strangers, &head, data, bytes))
        return 0; /* stays in the ring until there is memory */
    tern_ring_advance(in, header);
    return 1;
}

size_t tern_team_answer(tern_worker *worker) {
    tern_teams *teams = tern_teams_of(worker);
    size_t sent = 0;
    for (tern_team_kept **link = &teams->answers, *answer; (answer = *link) != NULL;) {
        bool gone = false;
        const tern_team *team = message_team(teams, &answer->head, &gone);
        const uint32_t member = (uint32_t)answer->head.started;
        if (team != NULL &&
            tern_team_send(team, member, &answer->head, NULL, 0) == TERN_ERR_AGAIN) {
            link = &answer->next;
            continue;
        }
        *link = answer->next;
        free(answer);
        sent++;
    }
    return sent;
}
