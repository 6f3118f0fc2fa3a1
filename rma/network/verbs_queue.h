#ifndef TERN_RMA_NETWORK_VERBS_QUEUE_H
#define TERN_RMA_NETWORK_VERBS_QUEUE_H

/*
 * Operations that verbs posts, and their ends. A signaled post makes a completion; a late one (see
 * tern_network_post) makes none if it succeeds, since the card completes the posts of a queue pair
 * in order and the completion of a later post tells of it. Record 151 has the argument.
 *
 * A queue pair always has room for one more signaled post while its last posts are unsignaled. So
 * an empty write can follow them, and each of them gets its end.
 *
 * Posts that say that others follow (tern_network_post.more) wait. The card is told of up to
 * TERN_VERBS_CHAIN of them at once, which rings its doorbell once: when so many wait, with the
 * first post that says nothing like that, and with the next look for completions. Record 154 says
 * why.
 */

#include "rma/network/verbs_card.h"

/* Posts under way on a queue pair. A driver rounds the memory of its send queue up to a power of
 * two, and some keep one place free. */
#define TERN_VERBS_DEPTH 127u
#define TERN_VERBS_COMPLETIONS 4096u /* entries of an end's completion queue */
#define TERN_VERBS_PERIOD 32u        /* of so many late posts in a row the last is signaled */
#define TERN_VERBS_INLINE 128u       /* bytes that a post carries itself, if the card supports it */
#define TERN_VERBS_CHAIN 16u         /* posts of which the card is told at once */

struct tern_verbs_queue;

/* The content of a post's context. */
typedef struct tern_verbs_post {
    struct tern_verbs_post *next; /* posted after it or, if it has ended, ended after it */
    struct tern_verbs_queue *queue;
    struct ibv_mr *local; /* registered for this post alone; or NULL */
    tern_status status;   /* valid if it has ended */
    /* What the card is told. */
    tern_network_act act;
    bool carried, signaled;
    uint32_t bytes, lkey, rkey;
    uint64_t remote;
    void *here;
} tern_verbs_post;

/* The sending side of a connection. */
typedef struct tern_verbs_queue {
    struct ibv_qp *pair;
    tern_verbs_post *first, *last; /* the posts under way, in their order */
    tern_verbs_post *waiting;      /* the first of these of which the card was not told; or NULL */
    uint32_t posted;               /* number of posts under way */
    uint32_t waits;                /* number of those that wait */
    uint32_t unsignaled;           /* posts after the last signaled one */
    bool failed;                   /* a post has failed: the card ends each later one by itself */
    bool empty_under_way;
    tern_verbs_post empty; /* the write of no bytes that tells of the posts before it */
    uint64_t remote;       /* what the last post named: the empty write names it, too */
    uint32_t rkey;
    struct tern_verbs_queue *next_late; /* in a list of the end */
    bool is_late;                       /* is in that list */
} tern_verbs_queue;

typedef struct tern_verbs_posts {
    tern_verbs_card *card;
    struct ibv_pd *domain;
    struct ibv_cq *completions;
    tern_stats *stats;
    uint64_t failures;   /* completions so far that say why a post has failed */
    uint32_t held;       /* entries of the completion queue that posts hold */
    uint32_t inline_max; /* bytes that a post carries itself */
    uint32_t waits;      /* posts that wait, of all queues */
    tern_verbs_queue
        *late; /* queues with posts that wait or whose last are unsignaled, and others */
    tern_verbs_post *ended, *ended_last; /* posts that have ended and that no call has returned */
} tern_verbs_posts;

/* Registers memory of this process; does not count it. TERN_ERR_MEMORY. */
tern_status tern_verbs_register(const tern_verbs_card *card, struct ibv_pd *domain, void *base,
                                size_t bytes, int access, struct ibv_mr **mr);

/* post->peer: a tern_verbs_queue. Returns as tern_network_ops.post. If the card refuses posts that
 * waited, each of them ends with TERN_ERR_NETWORK. */
tern_status tern_verbs_post_send(tern_verbs_posts *posts, const tern_network_post *post);
/* Tells the card of all posts that wait. */
void tern_verbs_start(tern_verbs_posts *posts);
/* Takes back the registrations of posts under way. The queue pair exists no more. */
void tern_verbs_give_up(const tern_verbs_posts *posts, const tern_verbs_queue *queue);
/* As tern_network_ops.hasten, for one queue. */
void tern_verbs_hasten(tern_verbs_posts *posts, tern_verbs_queue *queue);
/* Takes up to `most` completions from the card. Returns how many. */
size_t tern_verbs_poll(tern_verbs_posts *posts, size_t most);
size_t tern_verbs_complete(tern_verbs_posts *posts, tern_network_done *done, size_t most);

#endif
