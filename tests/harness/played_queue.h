#ifndef TERN_PLAYED_QUEUE_H
#define TERN_PLAYED_QUEUE_H

/*
 * The queue pairs and the completion queue of a card that a test plays. A queue pair does its posts
 * in order. A post that succeeds makes a completion if it is signaled. After a failure each later
 * post of the pair fails and makes a completion, signaled or not. The test decides which pair goes
 * on and which post fails. More posts than the pair has room for, or more completions than the
 * queue has, fail the test.
 */

#include <CUnit/CUnit.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 40, PAIR_ROOM = 127, QUEUE_ROOM = 4096 };

typedef struct played_post {
    uint64_t id;
    bool signaled, empty;
} played_post;

/* first and last count the posts for ever. */
typedef struct played_pair {
    struct ibv_qp pair;
    played_post post[PAIR_ROOM];
    uint64_t first, last;
    bool failed;
} played_pair;

static struct ibv_context driver;
static played_pair pairs[PAIRS];
static struct ibv_cq queue_of_completions;
static struct ibv_wc completion[QUEUE_ROOM];
static uint64_t completions, completions_taken; /* for ever */
static uint64_t empty_writes, failures;
static bool refuses;    /* the card has no room for a post */
static int breaks = -1; /* the card takes so many posts of a call and says that the next is wrong */
static bool leaves_out; /* a card against the rules: a pair that failed completes signaled ones */
static int registered;
static uint64_t registrations, doorbells;
static void (*post_ends)(uint64_t id, bool good); /* tells the test, not tern */

static int play_post_send(struct ibv_qp *pair, struct ibv_send_wr *request,
                          struct ibv_send_wr **bad) {
    played_pair *p = (played_pair *)(void *)pair;
    uint32_t taken = 0;
    for (; request != NULL; request = request->next, taken++) {
        if (refuses || (int)taken == breaks) {
            *bad = request;
            doorbells += taken > 0;
            for (; !refuses && request != NULL; request = request->next)
                if (request->num_sge > 0)
                    post_ends(request->wr_id, false);
            return refuses ? ENOMEM : EINVAL;
        }
        CU_ASSERT_FATAL(taken < 16);
        CU_ASSERT_FATAL(p->last - p->first < PAIR_ROOM);
        const bool empty = request->num_sge == 0;
        p->post[p->last++ % PAIR_ROOM] =
            (played_post){.id = request->wr_id,
                          .signaled = (request->send_flags & IBV_SEND_SIGNALED) != 0,
                          .empty = empty};
        empty_writes += empty;
    }
    doorbells++;
    return 0;
}

static void add_completion(const played_post *post, enum ibv_wc_status status) {
    CU_ASSERT_FATAL(completions - completions_taken < QUEUE_ROOM);
    completion[completions++ % QUEUE_ROOM] = (struct ibv_wc){.wr_id = post->id, .status = status};
}

/* The pair does its next post. Returns whether it had one. */
static bool pair_goes_on(played_pair *p, bool fails) {
    if (p->first == p->last)
        return false;
    const played_post *post = &p->post[p->first++ % PAIR_ROOM];
    const bool good = !fails && !p->failed;
    if (!post->empty)
        post_ends(post->id, good);
    if (post->signaled || (!good && !(p->failed && leaves_out)))
        add_completion(post, good        ? IBV_WC_SUCCESS
                             : p->failed ? IBV_WC_WR_FLUSH_ERR
                                         : IBV_WC_RETRY_EXC_ERR);
    failures += !good && !p->failed;
    p->failed |= !good;
    return true;
}

static int play_poll_cq(struct ibv_cq *queue, int most, struct ibv_wc *to) {
    CU_ASSERT_PTR_EQUAL(queue, &queue_of_completions);
    int count = 0;
    for (; count < most && completions_taken < completions; count++)
        to[count] = completion[completions_taken++ % QUEUE_ROOM];
    return count;
}

static struct ibv_mr *play_reg_mr(struct ibv_pd *domain, void *base, size_t bytes, int access) {
    (void)domain, (void)base, (void)bytes, (void)access;
    registered++;
    registrations++;
    return calloc(1, sizeof(struct ibv_mr));
}

static int play_dereg_mr(struct ibv_mr *memory) {
    registered--;
    free(memory);
    return 0;
}

static const char *play_wc_status_str(enum ibv_wc_status status) {
    return status == IBV_WC_SUCCESS ? "success" : "failure";
}

static void play_pairs(void) {
    memset(pairs, 0, sizeof pairs);
    driver.ops.post_send = play_post_send;
    driver.ops.poll_cq = play_poll_cq;
    for (int i = 0; i < PAIRS; i++)
        pairs[i].pair.context = &driver;
    queue_of_completions.context = &driver;
    completions = completions_taken = empty_writes = failures = registrations = doorbells = 0;
    refuses = leaves_out = false;
    breaks = -1;
    registered = 0;
}

#endif
