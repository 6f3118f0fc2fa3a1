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

/* Whether a late post is signaled all the same: on an idle queue, so that a single post needs no
 * empty write; on a failed one; and at the end of a period. */
static bool is_due(const tern_verbs_queue *queue) {
    return queue->first == NULL || queue->failed || queue->unsignaled + 1 >= TERN_VERBS_PERIOD;
}

/* Posts. */

static int send(tern_verbs_posts *posts, tern_verbs_queue *queue, tern_verbs_post *post,
                struct ibv_send_wr *request, bool signaled) {
    struct ibv_send_wr *bad = NULL;
    request->wr_id = (uintptr_t)post;
    request->send_flags |= signaled ? IBV_SEND_SIGNALED : 0u;
    const int code = ibv_post_send(queue->pair, request, &bad);
    posts->stats->network_doorbells += code == 0;
    if (code != 0)
        return code;
    posts->held += cost_of(queue, signaled);
    post->next = NULL;
    *(queue->first == NULL ? &queue->first : &queue->last->next) = post;
    queue->last = post;
    queue->posted++;
    queue->unsignaled = signaled ? 0 : queue->unsignaled + 1;
    if (!signaled && !queue->is_late) {
        queue->is_late = true;
        queue->next_late = posts->late;
        posts->late = queue;
    }
    return 0;
}

static void set_remote(struct ibv_send_wr *request, const tern_network_post *post) {
    const tern_network_words *words = post->here;
    const uint64_t remote = post->there.base + post->offset;
    const uint32_t rkey = (uint32_t)post->there.rkey;
    if (post->act == TERN_NETWORK_ADD || post->act == TERN_NETWORK_CAS) {
        const bool adds = post->act == TERN_NETWORK_ADD;
        request->wr.atomic.compare_add = adds ? words->operand : words->expected;
        request->wr.atomic.swap = adds ? 0 : words->operand;
        request->wr.atomic.remote_addr = remote;
        request->wr.atomic.rkey = rkey;
    } else {
        request->wr.rdma.remote_addr = remote;
        request->wr.rdma.rkey = rkey;
    }
}

tern_status tern_verbs_post_send(tern_verbs_posts *posts, const tern_network_post *post) {
    static const enum ibv_wr_opcode codes[] = {[TERN_NETWORK_READ] = IBV_WR_RDMA_READ,
                                               [TERN_NETWORK_WRITE] = IBV_WR_RDMA_WRITE,
                                               [TERN_NETWORK_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                               [TERN_NETWORK_CAS] = IBV_WR_ATOMIC_CMP_AND_SWP};
    tern_verbs_queue *queue = (tern_verbs_queue *)(uintptr_t)post->peer;
    tern_verbs_post *mine = post->context;
    const bool carried = post->act == TERN_NETWORK_WRITE && post->bytes <= posts->inline_max;
    struct ibv_mr *local = (struct ibv_mr *)(void *)post->local;
    /* A post with a registration of its own is signaled, so that the memory is released at once. */
    const bool registers = local == NULL && !carried;
    const bool signaled =
        !post->late || post->act != TERN_NETWORK_WRITE || registers || is_due(queue);
    if (!has_room(posts, queue, signaled))
        return TERN_ERR_AGAIN;
    *mine = (tern_verbs_post){.queue = queue};
    if (registers) {
        tern_status status = tern_verbs_register(posts->card, posts->domain, post->here,
                                                 post->bytes, IBV_ACCESS_LOCAL_WRITE, &local);
        if (status != TERN_OK)
            return status;
        posts->stats->network_registrations++;
        mine->local = local;
    }
    struct ibv_sge piece = {.addr = (uintptr_t)post->here,
                            .length = (uint32_t)post->bytes,
                            .lkey = local != NULL ? local->lkey : 0};
    struct ibv_send_wr request = {.sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = codes[post->act],
                                  .send_flags = carried ? IBV_SEND_INLINE : 0u};
    set_remote(&request, post);
    const int code = send(posts, queue, mine, &request, signaled);
    if (code == 0) {
        queue->remote = post->there.base + post->offset;
        queue->rkey = (uint32_t)post->there.rkey;
        return TERN_OK;
    }
    if (mine->local != NULL)
        posts->card->ibv.dereg_mr(mine->local);
    return code == ENOMEM ? TERN_ERR_AGAIN
                          : tern_fail(TERN_ERR_NETWORK, "verbs: ibv_post_send: %s", strerror(code));
}

/* The empty write is signaled. One of a queue is under way at a time. If the card has no room for
 * it, a later call of tern_verbs_complete tries again. */
void tern_verbs_hasten(tern_verbs_posts *posts, tern_verbs_queue *queue) {
    if (queue->unsignaled == 0 || queue->empty_under_way)
        return;
    struct ibv_send_wr request = {
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = queue->remote, .rkey = queue->rkey},
    };
    queue->empty = (tern_verbs_post){.queue = queue};
    queue->empty_under_way = send(posts, queue, &queue->empty, &request, true) == 0;
}

/* Hastens the queues that have nothing but unsignaled posts under way. The others get an end for
 * their signaled posts first. */
static void hasten_late(tern_verbs_posts *posts) {
    tern_verbs_queue **link = &posts->late;
    while (*link != NULL) {
        tern_verbs_queue *queue = *link;
        if (queue->posted == queue->unsignaled)
            tern_verbs_hasten(posts, queue);
        if (queue->unsignaled > 0) {
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
    if (post->local != NULL)
        posts->card->ibv.dereg_mr(post->local);
    if (post == &queue->empty) {
        queue->empty_under_way = false;
        return;
    }
    post->status = status;
    post->next = NULL;
    *(posts->ended == NULL ? &posts->ended : &posts->ended_last->next) = post;
    posts->ended_last = post;
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

size_t tern_verbs_complete(tern_verbs_posts *posts, tern_network_done *done, size_t most) {
    size_t count = 0;
    if (posts->ended == NULL && tern_verbs_poll(posts, most) == 0)
        hasten_late(posts);
    for (; count < most && posts->ended != NULL; count++) {
        tern_verbs_post *post = posts->ended;
        posts->ended = post->next;
        done[count] = (tern_network_done){post, post->status};
    }
    return count;
}
