#ifndef TERN_RMA_TEAM_TEAM_H
#define TERN_RMA_TEAM_TEAM_H

/*
 * The inside of teams (tern/team.h). A collective is an operation: a plan of rounds, in each of
 * which it sends at most one vector to one member and receives at most one. Progress takes the
 * steps of all operations of a worker. Only the worker's own thread touches this state.
 *
 *     team.c         teams: their numbers, the layer
 *     message.c      sends messages; keeps those that come early; gives the others to operations
 *     operation.c    steps, ends and failures of operations; their requests
 *     plan.c         the algorithms
 *     collectives.c  the public functions
 *
 * A message is a record of this head and data. A team is named by a hash of its list of ranks and
 * by how many teams of that list the worker had made before. Each member counts that for itself, so
 * no message is needed to agree on it.
 *
 * - DATA: a piece of a vector. A vector of up to `small` bytes is one message, and may be sent
 *   before the receiver is in that collective if the receiver is known to be at most
 *   TERN_TEAM_WINDOW collectives of the team behind. It is kept there. A longer vector is sent in
 *   fragments when the receiver is READY; no fragment is kept.
 * - READY: the sender waits for a vector of this tag. Sent for each long one, and for a short one
 *   if the other member was not told for half a window how far this one has come.
 * - FAILED: the collective has failed on the sender; sent to all members.
 * - HAIL: the sender has waited long for this member, which compares the collectives.
 *
 * Every message says how many collectives of the team its sender has started.
 *
 * Why nothing is unbounded: a member keeps short vectors of at most a window of collectives, and
 * READYs of collectives that are under way on the sender, which are at most TERN_TEAM_UNDER_WAY, as
 * a collective in which the sender waits for a vector of this member does not end before it has
 * come.
 *
 * Why no collective waits for ever: a READY or a window is all that a send waits for. A receiver
 * that begins a round sends the READY at once, before its own send of the round is done, if the
 * vector is long or the sender's window may be shut: the sender knows at least what it was told,
 * and at half a window it is told again. So plans may assume sends that are complete once the
 * receiver has begun that round, and sends and receives of one round go on together.
 */

#include "rma/memory/number.h"
#include "rma/notify/notify.h"
#include "rma/ring/ring.h"
#include "src/progress/wait.h"
#include "tern/team.h"

enum {
    TERN_TEAM_SMALL = 1024, /* bytes */
    TERN_TEAM_WINDOW = 32,
    TERN_TEAM_HISTORY = 64, /* kinds of ended collectives that a team remembers */
};

enum { TERN_TEAM_DATA, TERN_TEAM_READY, TERN_TEAM_FAILED, TERN_TEAM_HAIL, TERN_TEAM_MESSAGES };

typedef struct tern_team_head {
    uint64_t list;       /* the team: hash of its ranks */
    uint64_t sequence;   /* number of the collective in the team */
    uint64_t started;    /* collectives that the sender has started */
    uint64_t bytes;      /* of the collective on the sender */
    uint64_t offset;     /* DATA: in the vector. FAILED: bytes of the other collective */
    uint32_t ordinal;    /* the team: number among those of the list */
    uint32_t kind;       /* of the collective on the sender (tern_team_kind) */
    uint16_t type, tag;  /* FAILED: tag is the status */
    uint32_t from;       /* the sender's rank in the team */
    uint32_t other;      /* FAILED: the dead rank, or the rank of the other collective, */
    uint32_t other_kind; /* and its kind */
} tern_team_head;

/* A message that was kept. */
typedef struct tern_team_kept {
    struct tern_team_kept *next;
    tern_team_head head;
    size_t bytes;
    uint64_t data[];
} tern_team_kept;

/* Collectives, in the order of names in operation.c. */
enum {
    TERN_TEAM_BARRIER,
    TERN_TEAM_BROADCAST,
    TERN_TEAM_REDUCE,
    TERN_TEAM_ALLREDUCE,
    TERN_TEAM_GATHER,
    TERN_TEAM_ALLGATHER,
    TERN_TEAM_ALLTOALL,
    TERN_TEAM_SCAN,
    TERN_TEAM_SCAN_BEFORE,
    TERN_TEAM_COLLECTIVES
};

/* What all members have in common, in one word: rank numbers have 20 bits. */
static inline uint32_t tern_team_kind(uint32_t collective, uint32_t type, uint32_t op,
                                      uint32_t root) {
    return collective | type << 4 | op << 8 | root << 12;
}

/* The collective of a kind. */
static inline uint32_t tern_team_collective(uint32_t kind) { return kind & 15; }

/* One round of a plan. Members are ranks in the team, TERN_NOBODY if there is no such transfer. */
typedef struct tern_team_round {
    uint32_t to, from;
    uint32_t out_tag, in_tag;
    const char *out;
    char *in;
    size_t out_bytes, in_bytes;
    bool combines; /* the vector is reduced into `in`, not before the send is done if is_small */
    bool follows;  /* out is in: what has arrived may be sent on */
} tern_team_round;

typedef struct tern_team_operation tern_team_operation;

/* Fills in the next round of an operation; called once for each. False: no round is left, and the
 * results are in place. */
typedef bool (*tern_team_plan)(tern_team_operation *o, tern_team_round *round);

struct tern_team_operation {
    tern_team_operation *next;
    tern_team *team;
    tern_request *request; /* NULL: it has failed, and the members have yet to be told */
    tern_team_plan plan;
    uint64_t sequence;
    uint32_t kind, root;
    tern_number type;
    tern_reduction op;
    size_t width;       /* of a number, in bytes */
    size_t bytes;       /* the same on all members */
    char *data;         /* the caller's memory that is written, */
    const char *source; /* and that is only read */
    char *values;       /* numbers: data or short_values */
    char *scratch;      /* or NULL */
    /* The present round. */
    uint32_t rounds; /* that have begun */
    tern_team_round round;
    size_t sent, taken; /* bytes */
    bool sent_all, taken_all, ready, tells_ready;
    uint32_t vain;  /* steps in a row that did nothing */
    uint64_t since; /* ns: when a look first found it waiting, or when it last sent a hail; or 0 */
    bool has_event;
    uint64_t local_cid;
    tern_team_head failure; /* what members are told */
    uint32_t told;          /* how many were told, or passed over */
    uint64_t short_values[TERN_TEAM_SMALL / 8];
};

struct tern_team {
    tern_team *next;
    tern_worker *worker;
    uint32_t *ranks; /* NULL: rank r is member r */
    uint32_t rank, size;
    uint32_t deaths,
        dead; /* tern_peers_deaths at the last look, and a dead member or TERN_NOBODY */
    uint64_t list;
    uint32_t ordinal;
    bool destroyed;                  /* freed when its last operation is over */
    uint64_t started;                /* collectives */
    uint64_t *known;                 /* by member: collectives that it is known to have started */
    uint64_t *told;                  /* by member: collectives of this rank that it was told of */
    tern_team_operation *operations; /* in the order of their starts */
    uint32_t under_way;
    tern_team_kept *kept; /* for operations that do not want them yet, in the order of arrival */
    tern_team_head history[TERN_TEAM_HISTORY]; /* by sequence; type FAILED: it has failed */
};

/* How many teams a worker has made of a list. */
typedef struct tern_team_list {
    struct tern_team_list *next;
    uint64_t hash;
    uint32_t made;
} tern_team_list;

/* A worker's teams. */
typedef struct tern_teams {
    tern_team *first;
    tern_team *everybody; /* NULL: not used yet */
    tern_team_list *lists;
    tern_team_kept *strangers;  /* messages of teams that are not made yet */
    tern_team_kept *answers;    /* FAILED messages for the member `other`, to be sent */
    tern_team_operation *spare; /* operations that are over, for reuse */
    uint32_t spares;
    size_t fragment_max, small; /* bytes */
} tern_teams;

static inline tern_teams *tern_teams_of(const tern_worker *worker) {
    return worker->layer[TERN_LAYER_TEAM];
}

static inline uint32_t tern_team_member(const tern_team *team, uint32_t member) {
    return team->ranks != NULL ? team->ranks[member] : member;
}

/* team.c */
extern const tern_layer tern_team_layer;
/* The team that a public function was given: NULL stands for all ranks. TERN_ERR_ARGUMENT: of
 * another worker; TERN_ERR_MEMORY. */
tern_status tern_team_resolve(tern_worker *worker, tern_team *given, const char *function,
                              tern_team **team);
/* Frees a team that is destroyed and has no operations left. */
void tern_team_release(tern_team *team);

/* message.c */
size_t tern_team_consume(tern_worker *worker, tern_in *in);
/* Tries once to send a message of an operation. TERN_ERR_AGAIN. */
tern_status tern_team_send(const tern_team *team, uint32_t member, tern_team_head *head,
                           const void *data, size_t bytes);
/* Gives messages of a list to the team or its operations; those that are to be kept end up in
 * team->kept. */
void tern_team_replay(tern_team *team, tern_team_kept **list, bool strangers);
/* Sends the answers that are due. */
size_t tern_team_answer(tern_worker *worker);

/* operation.c */
extern const struct tern_request_kind tern_team_request;
extern const char *const tern_team_names[TERN_TEAM_COLLECTIVES];
/* Takes the steps of all operations of a team that need no wait. */
size_t tern_team_advance(tern_team *team);
/* Takes a piece of the vector of this round. False: it is malformed. */
bool tern_team_take(tern_team_operation *o, const tern_team_head *head, const void *data,
                    size_t bytes);
/* Whether the present round waits for that vector and may take it. */
bool tern_team_awaits(const tern_team_operation *o, const tern_team_head *head);
/* Ends the request with an error, and lets progress tell the other members. failure: status in tag,
 * and other, other_kind and offset. */
void tern_team_fail(tern_team_operation *o, tern_status status, uint32_t other, uint32_t other_kind,
                    uint64_t other_bytes);
/* Ends the request with what another member tells. */
void tern_team_learn(tern_team_operation *o, const tern_team_head *head);
/* Returns memory for an operation, or NULL. All but short_values is zero. */
tern_team_operation *tern_team_operation_new(tern_teams *teams);
void tern_team_operation_free(tern_teams *teams, tern_team_operation *o);
/* Begins an operation whose arguments are filled in. */
void tern_team_begin(tern_team_operation *o, tern_request *request);

/* plan.c */
extern const tern_team_plan tern_team_plans[TERN_TEAM_COLLECTIVES];

#endif
