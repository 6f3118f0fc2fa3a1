#include "rma/network/verbs_queue.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "src/log.h"

_Static_assert(sizeof(tern_verbs_post) <= TERN_NETWORK_CONTEXT, "it is a post's context");

tern_status tern_verbs_register(const tern_verbs_card *card, struct ibv_pd *domain, void *base,
                                size_t bytes, int access, struct ibv_mr **mr) {
    *mr = card->ibv.reg_mr(domain, base, bytes, access);
    return *mr != NULL
               ? TERN_OK
               : tern_fail(
                     TERN_ERR_MEMORY,
                     "verbs cannot register %zu bytes: %s; is RLIMIT_MEMLOCK (ulimit -l) too low?",
                     bytes, strerror(errno));
}

/* Room. A post holds room until it has ended, since a card that fails completes every post, the
 * unsignaled ones, too. */

/* The room that a queue holds: for its posts, and for an empty write behind unsignaled ones. */
static uint32_t held_by(const tern_verbs_queue *queue) {
    return queue->posted + (queue->unsignaled > 0);
}

/* What would be held beyond today's room by one more post. */
static uint32_t cost_of(const tern_verbs_queue *queue, bool signaled) {
    return signaled ? queue->unsignaled == 0 : 1 + (queue->unsignaled == 0);
}

static bool has_room(const tern_verbs_posts *posts, const tern_verbs_queue *queue, bool signaled) {
    const uint32_t cost = cost_of(queue, signaled);
    return held_by(queue) + cost <= TERN_VERBS_DEPTH &&
           posts->held + cost <= TERN_VERBS_COMPLETIONS;
}

/* Whether a late post is signaled all the same: on a failed queue, and at the end of a period. */
static bool is_due(const tern_verbs_queue *queue) {
    return queue->failed || queue->unsignaled + 1 >= TERN_VERBS_PERIOD;
}

/* Posts. */

/* Ends a post that is not on its queue any more. */
static void end_post(tern_verbs_posts *posts, tern_verbs_post *post, tern_status status) {
    if (post->local != NULL)
        posts->card->ibv.dereg_mr(post->local);
    if (post == &post->queue->empty) {
        post->queue->empty_under_way = false;
        return;
    }
    post->status = status;
    post->next = NULL;
    *(posts->ended == NULL ? &posts->ended : &posts->ended_last->next) = post;
    posts->ended_last = post;
}

/* Adds a post to those that wait. There is room for it. */
static void append(tern_verbs_posts *posts, tern_verbs_queue *queue, tern_verbs_post *post) {
    posts->held += cost_of(queue, post->signaled);
    post->next = NULL;
    *(queue->first == NULL ? &queue->first : &queue->last->next) = post;
    queue->last = post;
    queue->posted++;
    queue->unsignaled = post->signaled ? 0 : queue->unsignaled + 1;
    if (queue->waiting == NULL)
        queue->waiting = post;
    queue->waits++;
    posts->waits++;
    if (!queue->is_late) {
        queue->is_late = true;
        queue->next_late = posts->late;
        posts->late = queue;
    }
}

/* Signals the last of the posts that wait, so that no empty write has to follow them. */
static void signal_last(tern_verbs_posts *posts, tern_verbs_queue *queue) {
    posts->held -= queue->unsignaled > 0;
    queue->unsignaled = 0;
    queue->last->signaled = true;
}

static void set_remote(struct ibv_send_wr *request, const tern_verbs_post *post) {
    const tern_network_words *words = post->here;
    if (post->act == TERN_NETWORK_ADD || post->act == TERN_NETWORK_CAS) {
        const bool adds = post->act == TERN_NETWORK_ADD;
        request->wr.atomic.compare_add = adds ? words->operand : words->expected;
        request->wr.atomic.swap = adds ? 0 : words->operand;
        request->wr.atomic.remote_addr = post->remote;
        request->wr.atomic.rkey = post->rkey;
    } else {
        request->wr.rdma.remote_addr = post->remote;
        request->wr.rdma.rkey = post->rkey;
    }
}

/* [out] piece, request: that of a post. An empty write has no piece. */
static void describe(const tern_verbs_post *post, struct ibv_sge *piece,
                     struct ibv_send_wr *request) {
    static const enum ibv_wr_opcode codes[] = {[TERN_NETWORK_READ] = IBV_WR_RDMA_READ,
                                               [TERN_NETWORK_WRITE] = IBV_WR_RDMA_WRITE,
                                               [TERN_NETWORK_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                               [TERN_NETWORK_CAS] = IBV_WR_ATOMIC_CMP_AND_SWP};
    *piece =
        (struct ibv_sge){.addr = (uintptr_t)post->here, .length = post->bytes, .lkey = post->lkey};
    *request = (struct ibv_send_wr){.wr_id = (uintptr_t)post,
                                    .sg_list = piece,
                                    .num_sge = post->here != NULL,
                                    .opcode = codes[post->act],
                                    .send_flags = (post->carried ? IBV_SEND_INLINE : 0u) |
                                                  (post->signaled ? IBV_SEND_SIGNALED : 0u)};
    set_remote(request, post);
}

/* Tells the card of up to TERN_VERBS_CHAIN posts that wait. Returns what ibv_post_send does. */
static int ring(tern_verbs_posts *posts, tern_verbs_queue *queue) {
    struct ibv_sge piece[TERN_VERBS_CHAIN];
    struct ibv_send_wr request[TERN_VERBS_CHAIN], *bad = request;
    uint32_t count = 0, taken = 0;
    for (tern_verbs_post *post = queue->waiting; post != NULL && count < TERN_VERBS_CHAIN;
         post = post->next) {
        describe(post, &piece[count], &request[count]);
        if (count > 0)
            request[count - 1].next = &request[count];
        count++;
    }
    const int code = ibv_post_send(queue->pair, request, &bad);
    taken = code == 0 ? count : (uint32_t)(bad - request);
    posts->stats->network_doorbells += taken > 0;
    queue->waits -= taken;
    posts->waits -= taken;
    for (; taken > 0; taken--)
        queue->waiting = queue->waiting->next;
    return code;
}

/* Takes the posts that wait off the queue, all but `mine` with the end that they have failed. */
static void drop_waiting(tern_verbs_posts *posts, tern_verbs_queue *queue,
                         const tern_verbs_post *mine) {
    tern_verbs_post *post = queue->first, *dropped = queue->waiting;
    posts->held -= held_by(queue);
    queue->posted -= queue->waits;
    posts->waits -= queue->waits;
    queue->waits = queue->unsignaled = 0;
    queue->waiting = queue->last = NULL;
    if (post == dropped)
        queue->first = NULL;
    for (; post != dropped; post = post->next) {
        queue->unsignaled = post->signaled || queue->failed ? 0 : queue->unsignaled + 1;
        queue->last = post;
    }
    if (queue->last != NULL)
        queue->last->next = NULL;
    posts->held += held_by(queue);
    while (dropped != NULL) {
        post = dropped;
        dropped = post->next;
        if (post != mine)
            end_post(posts, post, TERN_ERR_NETWORK);
    }
}

/* Tells the card of all posts of a queue that wait. On an idle queue the last of them is signaled,
 * so that a single post needs no empty write. If the card has no room, the rest waits on. mine: the
 * last post, which its caller takes back if the card refuses it, or NULL. Returns 0, or why the
 * card has refused posts: these are not under way any more. */
static int start_queue(tern_verbs_posts *posts, tern_verbs_queue *queue,
                       const tern_verbs_post *mine) {
    int code = 0;
    if (queue->waiting == NULL)
        return 0;
    if (queue->waiting == queue->first)
        signal_last(posts, queue);
    while (queue->waiting != NULL && code == 0)
        code = ring(posts, queue);
    if (code == 0 || code == ENOMEM)
        return 0;
    drop_waiting(posts, queue, mine);
    return code;
}

void tern_verbs_start(tern_verbs_posts *posts) {
    for (tern_verbs_queue *q = posts->late; q != NULL && posts->waits > 0; q = q->next_late)
        (void)start_queue(posts, q, NULL);
}

tern_status tern_verbs_post_send(tern_verbs_posts *posts, const tern_network_post *post) {
    tern_verbs_queue *queue = (tern_verbs_queue *)(uintptr_t)post->peer;
    tern_verbs_post *mine = post->context;
    const bool carried = post->act == TERN_NETWORK_WRITE && post->bytes <= posts->inline_max;
    struct ibv_mr *local = (struct ibv_mr *)(void *)post->local;
    /* A post with a registration of its own is signaled, so that the memory is released at once. */
    const bool registers = local == NULL && !carried;
    const bool signaled =
        !post->late || post->act != TERN_NETWORK_WRITE || registers || is_due(queue);
    if (!has_room(posts, queue, signaled)) {
        (void)start_queue(posts, queue, NULL);
        return TERN_ERR_AGAIN;
    }
    if (registers) {
        tern_status status = tern_verbs_register(posts->card, posts->domain, post->here,
                                                 post->bytes, IBV_ACCESS_LOCAL_WRITE, &local);
        if (status != TERN_OK)
            return status;
        posts->stats->network_registrations++;
    }
    *mine = (tern_verbs_post){.queue = queue,
                              .local = registers ? local : NULL,
                              .act = post->act,
                              .carried = carried,
                              .signaled = signaled,
                              .bytes = (uint32_t)post->bytes,
                              .lkey = local != NULL ? local->lkey : 0,
                              .rkey = (uint32_t)post->there.rkey,
                              .remote = post->there.base + post->offset,
                              .here = post->here};
    append(posts, queue, mine);
    queue->remote = mine->remote;
    queue->rkey = mine->rkey;
    if (post->more && queue->waits < TERN_VERBS_CHAIN)
        return TERN_OK;
    const int code = start_queue(posts, queue, mine);
    if (code == 0)
        return TERN_OK;
    if (mine->local != NULL)
        posts->card->ibv.dereg_mr(mine->local);
    return tern_fail(TERN_ERR_NETWORK, "verbs: ibv_post_send: %s", strerror(code));
}

/* The last of the posts that wait is signaled; if none does, an empty write follows, of which one
 * of a queue is under way at a time. */
void tern_verbs_hasten(tern_verbs_posts *posts, tern_verbs_queue *queue) {
    if (queue->unsignaled > 0 && queue->waiting != NULL) {
        signal_last(posts, queue);
    } else if (queue->unsignaled > 0 && !queue->empty_under_way) {
        queue->empty = (tern_verbs_post){.queue = queue,
                                         .act = TERN_NETWORK_WRITE,
                                         .signaled = true,
                                         .rkey = queue->rkey,
                                         .remote = queue->remote};
        queue->empty_under_way = true;
        append(posts, queue, &queue->empty);
    }
    (void)start_queue(posts, queue, NULL);
}

/* Hastens the queues that have nothing but unsignaled posts under way. The others get an end for
 * their signaled posts first. */
static void hasten_late(tern_verbs_posts *posts) {
    tern_verbs_queue **link = &posts->late;
    while (*link != NULL) {
        tern_verbs_queue *queue = *link;
        if (queue->posted == queue->unsignaled)
            tern_verbs_hasten(posts, queue);
        if (queue->unsignaled > 0 || queue->waiting != NULL) {
            link = &queue->next_late;
            continue;
        }
        *link = queue->next_late;
        queue->is_late = false;
    }
}

/* Completions. */

/* Ends the first post of a queue. */
static void end_first(tern_verbs_posts *posts, tern_verbs_queue *queue, tern_status status) {
    tern_verbs_post *post = queue->first;
    queue->first = post->next;
    queue->posted--;
    posts->held--;
    end_post(posts, post, status);
}

/* A completion ends all posts up to its own. Those before it had no completion, so they have
 * succeeded; but after a failure each post has a completion, and one without it has failed. */
static void take(tern_verbs_posts *posts, const struct ibv_wc *completion) {
    tern_verbs_post *post = (tern_verbs_post *)(uintptr_t)completion->wr_id;
    tern_verbs_queue *queue = post->queue;
    const bool good = completion->status == IBV_WC_SUCCESS;
    while (queue->first != post)
        end_first(posts, queue, queue->failed ? TERN_ERR_NETWORK : TERN_OK);
    end_first(posts, queue, good ? TERN_OK : TERN_ERR_NETWORK);
    if (good)
        return;
    if (completion->status != IBV_WC_WR_FLUSH_ERR) {
        posts->failures++;
        tern_log(TERN_LOG_INFO, "verbs: an operation failed: %s (card %s)",
                 posts->card->ibv.wc_status_str(completion->status), posts->card->name);
    }
    queue->failed = true;
    posts->held -= queue->unsignaled > 0; /* no empty write follows these */
    queue->unsignaled = 0;
}

size_t tern_verbs_poll(tern_verbs_posts *posts, size_t most) {
    struct ibv_wc completion[16];
    const size_t room = sizeof completion / sizeof *completion;
    const int count = ibv_poll_cq(posts->completions, (int)(most < room ? most : room), completion);
    if (count <= 0)
        return 0;
    posts->stats->network_completions += (uint64_t)count;
    for (int i = 0; i < count; i++)
        take(posts, &completion[i]);
    return (size_t)count;
}

void tern_verbs_give_up(const tern_verbs_posts *posts, const tern_verbs_queue *queue) {
    for (const tern_verbs_post *post = queue->first; post != NULL; post = post->next)
        if (post->local != NULL)
            posts->card->ibv.dereg_mr(post->local);
}

size_t tern_verbs_complete(tern_verbs_posts *posts, tern_network_done *done, size_t most) {
    size_t count = 0;
    tern_verbs_start(posts);
    if (posts->ended == NULL && tern_verbs_poll(posts, most) == 0)
        hasten_late(posts);
    for (; count < most && posts->ended != NULL; count++) {
        tern_verbs_post *post = posts->ended;
        posts->ended = post->next;
        done[count] = (tern_network_done){post, post->status};
    }
    return count;
}
