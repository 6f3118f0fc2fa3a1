#include <stdlib.h>

#include "base/error.h"
#include "rma/team/team.h"

/* Makes, splits and frees teams, and opens and closes the layer. */

/* Names the team of all ranks. No hash of a list has this value. */
enum { EVERYBODY = 0 };

static uint64_t hash_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t list_hash(const uint32_t *ranks, size_t count) {
    uint64_t hash = hash_mix(0, count);
    for (size_t i = 0; i < count; i++)
        hash = hash_mix(hash, ranks[i]);
    return hash == EVERYBODY ? 1 : hash;
}

/* Returns the entry of a list, which is made at first use; NULL: no memory. */
static tern_team_list *list_entry(tern_teams *teams, uint64_t hash) {
    tern_team_list *list = teams->lists;
    while (list != NULL && list->hash != hash)
        list = list->next;
    if (list != NULL)
        return list;
    list = calloc(1, sizeof *list);
    if (list == NULL)
        return NULL;
    list->hash = hash;
    list->next = teams->lists;
    teams->lists = list;
    return list;
}

static void team_free(tern_team *team) {
    free(team->ranks);
    free(team->known);
    free(team->told);
    free(team);
}

/* ranks: of the team, which takes it; NULL: all. */
static tern_status team_make(tern_worker *worker, uint32_t *ranks, uint32_t size, uint32_t rank,
                             tern_team **result) {
    tern_teams *teams = tern_teams_of(worker);
    const uint64_t hash = ranks == NULL ? EVERYBODY : list_hash(ranks, size);
    tern_team *team = calloc(1, sizeof *team);
    tern_team_list *list = list_entry(teams, hash);
    if (team != NULL) {
        team->ranks = ranks;
        team->known = calloc(size, sizeof *team->known);
        team->told = calloc(size, sizeof *team->told);
    }
    if (team == NULL || list == NULL || team->known == NULL || team->told == NULL) {
        if (team != NULL)
            team_free(team);
        else
            free(ranks);
        return tern_fail(TERN_ERR_MEMORY, "no memory for a team of %u ranks", size);
    }
    team->worker = worker;
    team->rank = rank;
    team->size = size;
    team->dead = TERN_NOBODY;
    team->list = hash;
    team->ordinal = list->made++;
    team->next = teams->first;
    teams->first = team;
    tern_team_replay(team, &teams->strangers, true);
    *result = team;
    return TERN_OK;
}

tern_status tern_team_resolve(tern_worker *worker, tern_team *given, const char *function,
                              tern_team **team) {
    tern_teams *teams = tern_teams_of(worker);
    *team = given != NULL ? given : teams->everybody;
    if (*team == NULL) {
        const tern_context *context = worker->context;
        const tern_status status =
            team_make(worker, NULL, context->size, context->rank, &teams->everybody);
        *team = teams->everybody;
        return status;
    }
    if ((*team)->worker != worker)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: the team was made for worker %u and the call is for worker %u; each "
                         "worker makes teams of its own",
                         function, (*team)->worker->index, worker->index);
    return TERN_OK;
}

static int rank_compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Checks a list. [out] own: the caller's index. sorted: room for count ranks. */
static tern_status list_check(const tern_worker *worker, const char *function,
                              const uint32_t *ranks, size_t count, uint32_t *sorted,
                              uint32_t *own) {
    const tern_context *context = worker->context;
    *own = TERN_NOBODY;
    for (size_t i = 0; i < count; i++) {
        if (ranks[i] >= context->size)
            return tern_fail(TERN_ERR_ARGUMENT,
                             "%s: member %zu is rank %u, but there are only %u ranks", function, i,
                             ranks[i], context->size);
        if (ranks[i] == context->rank)
            *own = (uint32_t)i;
        sorted[i] = ranks[i];
    }
    qsort(sorted, count, sizeof *sorted, rank_compare);
    for (size_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            return tern_fail(TERN_ERR_ARGUMENT,
                             "%s: rank %u is in the list twice; each member is in it once",
                             function, sorted[i]);
    if (*own == TERN_NOBODY)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: rank %u is not in the list; only members make a team", function,
                         context->rank);
    return TERN_OK;
}

static tern_status team_create(tern_worker *worker, const char *function, uint32_t *ranks,
                               size_t count, tern_team **team) {
    uint32_t own = 0;
    uint32_t *sorted = malloc(count * sizeof *sorted);
    tern_status status = sorted == NULL
                             ? tern_fail(TERN_ERR_MEMORY, "no memory for %zu ranks", count)
                             : list_check(worker, function, ranks, count, sorted, &own);
    free(sorted);
    if (status == TERN_OK)
        return team_make(worker, ranks, (uint32_t)count, own, team);
    free(ranks);
    return status;
}

/* Checks what all ways to make a team have in common. */
static tern_status create_check(const tern_worker *worker, const char *function, size_t count,
                                tern_team *const *team) {
    tern_status status = tern_worker_may_wait(worker, function);
    if (status != TERN_OK)
        return status;
    if (team == NULL || count == 0 || count > worker->context->size)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: team is NULL, or count is %zu; allowed are 1 to %u", function, count,
                         worker->context->size);
    return TERN_OK;
}

tern_status tern_team_create(tern_worker *worker, const uint32_t *ranks, size_t count,
                             tern_team **team) {
    static const char name[] = "tern_team_create";
    tern_status status = create_check(worker, name, count, team);
    if (status == TERN_OK && ranks == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: ranks is NULL", name);
    if (status != TERN_OK)
        return status;
    uint32_t *copy = malloc(count * sizeof *copy);
    if (copy == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu ranks", count);
    memcpy(copy, ranks, count * sizeof *copy);
    return team_create(worker, name, copy, count, team);
}

tern_status tern_team_stride(tern_worker *worker, uint32_t start, int64_t stride, size_t count,
                             tern_team **team) {
    static const char name[] = "tern_team_stride";
    tern_status status = create_check(worker, name, count, team);
    if (status != TERN_OK)
        return status;
    const int64_t size = worker->context->size;
    int64_t last = 0;
    if (start >= size || (count > 1 && (stride == 0 || stride >= size || stride <= -size)) ||
        (last = start + (int64_t)(count - 1) * (count > 1 ? stride : 0)) < 0 || last >= size)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: start %u, stride %lld and count %zu are not within ranks 0 to %lld",
                         name, start, (long long)stride, count, (long long)size - 1);
    uint32_t *ranks = malloc(count * sizeof *ranks);
    if (ranks == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (uint32_t)(start + (int64_t)i * stride);
    return team_create(worker, name, ranks, count, team);
}

/* What a member of the parent says in a split. */
typedef struct split_member {
    uint64_t key;
    uint32_t color, rank;
} split_member;

typedef struct split_place {
    uint64_t key;
    uint32_t index, rank;
} split_place;

static int place_compare(const void *a, const void *b) {
    const split_place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Makes the team of those of all members that have this rank's color. */
static tern_status split_make(tern_worker *worker, const split_member *all, uint32_t size,
                              const split_member *mine, tern_team **team) {
    split_place *place = malloc(size * sizeof *place);
    uint32_t *ranks = malloc(size * sizeof *ranks);
    if (place == NULL || ranks == NULL) {
        free(place);
        free(ranks);
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", size);
    }
    size_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        if (mine->color == TERN_TEAM_ALONE ? all[i].rank == mine->rank
                                           : all[i].color == mine->color)
            place[count++] = (split_place){all[i].key, i, all[i].rank};
    qsort(place, count, sizeof *place, place_compare);
    for (size_t i = 0; i < count; i++)
        ranks[i] = place[i].rank;
    free(place);
    return team_create(worker, "tern_team_split", ranks, count, team);
}

tern_status tern_team_split(tern_worker *worker, tern_team *parent, uint32_t color, uint64_t key,
                            tern_team **team) {
    static const char name[] = "tern_team_split";
    tern_status status = create_check(worker, name, 1, team);
    if (status == TERN_OK)
        status = tern_team_resolve(worker, parent, name, &parent);
    if (status != TERN_OK)
        return status;
    split_member mine = {key, color, worker->context->rank};
    split_member *all = malloc(parent->size * sizeof *all);
    if (all == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", parent->size);
    status = tern_team_allgather(worker, parent, &mine, all, sizeof mine);
    if (status == TERN_OK)
        status = split_make(worker, all, parent->size, &mine, team);
    free(all);
    return status;
}

static void kept_free(tern_team_kept *kept) {
    while (kept != NULL) {
        tern_team_kept *next = kept->next;
        free(kept);
        kept = next;
    }
}

void tern_team_release(tern_team *team) {
    tern_team **link = &tern_teams_of(team->worker)->first;
    while (*link != team)
        link = &(*link)->next;
    *link = team->next;
    kept_free(team->kept);
    team_free(team);
}

tern_status tern_team_destroy(tern_worker *worker, tern_team *team) {
    static const char name[] = "tern_team_destroy";
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK || team == NULL)
        return status;
    status = tern_team_resolve(worker, team, name, &team);
    if (status == TERN_OK && team->under_way > 0)
        status =
            tern_fail(TERN_ERR_STATE, "%s: %u collectives of the team are under way; wait for them",
                      name, team->under_way);
    if (status != TERN_OK)
        return status;
    team->destroyed = true;
    if (team->operations == NULL)
        tern_team_release(team);
    return TERN_OK;
}

uint32_t tern_team_rank(const tern_worker *worker, const tern_team *team) {
    return team != NULL ? team->rank : worker->context->rank;
}

uint32_t tern_team_size(const tern_worker *worker, const tern_team *team) {
    return team != NULL ? team->size : worker->context->size;
}

tern_status tern_team_translate(const tern_worker *worker, const tern_team *team, uint32_t member,
                                uint32_t *rank) {
    if (worker == NULL || rank == NULL || member >= tern_team_size(worker, team))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_team_translate: worker or rank is NULL, or member %u is not in the "
                         "team",
                         member);
    *rank = team != NULL ? tern_team_member(team, member) : member;
    return TERN_OK;
}

static void teams_close(tern_teams *teams) {
    while (teams->first != NULL) {
        tern_team *team = teams->first;
        for (tern_team_operation *o; (o = team->operations) != NULL;) {
            team->operations = o->next;
            tern_team_operation_free(teams, o);
        }
        tern_team_release(team);
    }
    for (tern_team_operation *o; (o = teams->spare) != NULL; free(o))
        teams->spare = o->next;
    for (tern_team_list *list; (list = teams->lists) != NULL; free(list))
        teams->lists = list->next;
    kept_free(teams->strangers);
    kept_free(teams->answers);
    free(teams);
}

static void team_close_layer(tern_context *context) {
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *worker = context->worker[i];
        if (tern_teams_of(worker) != NULL)
            teams_close(tern_teams_of(worker));
        worker->layer[TERN_LAYER_TEAM] = NULL;
    }
}

static tern_status team_open_layer(tern_context *context) {
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_teams *teams = calloc(1, sizeof *teams);
        if (teams == NULL) {
            team_close_layer(context);
            return tern_fail(TERN_ERR_MEMORY, "no memory for the teams of a worker");
        }
        /* A ring holds several fragments, each of them whole numbers. */
        teams->fragment_max = (context->config.ring_size / 4 - 128) & ~(size_t)15;
        teams->small =
            teams->fragment_max < TERN_TEAM_SMALL ? teams->fragment_max : TERN_TEAM_SMALL;
        context->worker[i]->layer[TERN_LAYER_TEAM] = teams;
    }
    tern_record_handle(context, TERN_RECORD_TEAM, tern_team_consume);
    return TERN_OK;
}

static size_t team_progress(tern_worker *worker) {
    const tern_teams *teams = tern_teams_of(worker);
    size_t events = teams->answers != NULL ? tern_team_answer(worker) : 0;
    for (tern_team *team = teams->first, *next; team != NULL; team = next) {
        next = team->next;
        if (team->operations != NULL)
            events += tern_team_advance(team);
        if (team->destroyed && team->operations == NULL)
            tern_team_release(team);
    }
    return events;
}

const tern_layer tern_team_layer = {
    .name = "opening teams",
    .open = team_open_layer,
    .close = team_close_layer,
    .progress = team_progress,
};
