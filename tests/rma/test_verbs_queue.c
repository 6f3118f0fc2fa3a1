// tern-test: unit
/* Which posts of verbs are signaled, and what a completion says of the posts before it: against a
 * card that is played (played_queue.h), which does the posts of a queue pair in order. */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "played_queue.h"
#include "rma/network/verbs_queue.h"

enum { OPERATIONS = 8192, TAKEN = 16 };

_Static_assert(PAIR_ROOM == TERN_VERBS_DEPTH && QUEUE_ROOM == TERN_VERBS_COMPLETIONS,
               "the card has as much room as verbs asks for");

/* What an operation is, to the card and to tern. */
typedef enum state { UNUSED, UNDER_WAY, SUCCEEDED, FAILED } state;

static char *contexts;
static state on_card[OPERATIONS], told[OPERATIONS];
static uint32_t posted, ended, ended_well;
static tern_verbs_card card;
static tern_verbs_posts posts;
static tern_stats stats;
static tern_verbs_queue queues[PAIRS];
static char data[4096];

static uint32_t number_of(const void *context) {
    return (uint32_t)((const char *)context - contexts) / TERN_NETWORK_CONTEXT;
}

static void operation_ends(uint64_t id, bool good) {
    const uint32_t number = number_of((const void *)(uintptr_t)id);
    CU_ASSERT_EQUAL(on_card[number], UNDER_WAY);
    on_card[number] = good ? SUCCEEDED : FAILED;
}

static void begin(void) {
    play_pairs();
    post_ends = operation_ends;
    contexts = calloc(OPERATIONS, TERN_NETWORK_CONTEXT);
    CU_ASSERT_FATAL(contexts != NULL);
    memset(on_card, 0, sizeof on_card);
    memset(told, 0, sizeof told);
    memset(queues, 0, sizeof queues);
    posted = ended = ended_well = 0;
    card.ibv.reg_mr = play_reg_mr;
    card.ibv.dereg_mr = play_dereg_mr;
    card.ibv.wc_status_str = play_wc_status_str;
    stats = (tern_stats){0};
    posts = (tern_verbs_posts){
        .card = &card, .completions = &queue_of_completions, .stats = &stats, .inline_max = 128};
    for (int i = 0; i < PAIRS; i++)
        queues[i].pair = &pairs[i].pair;
}

/* Nothing is under way, and nothing holds room. */
static void end(void) {
    CU_ASSERT_EQUAL(ended, posted);
    CU_ASSERT_EQUAL(posts.held, 0);
    CU_ASSERT_EQUAL(registered, 0);
    CU_ASSERT_EQUAL(stats.network_registrations, registrations);
    CU_ASSERT_EQUAL(stats.network_completions, completions);
    CU_ASSERT_EQUAL(stats.network_doorbells, doorbells);
    for (int i = 0; i < PAIRS; i++)
        CU_ASSERT_EQUAL(queues[i].posted, 0);
    free(contexts);
}

/* Data that a post does not carry is registered for a write alone; that of others has a key. */
static tern_status post_more(uint32_t queue, tern_network_act act, size_t bytes, bool late,
                             bool more) {
    static struct ibv_mr key;
    CU_ASSERT_FATAL(posted < OPERATIONS);
    const tern_network_post p = {
        .act = act,
        .peer = (uintptr_t)&queues[queue],
        .here = data,
        .local = act == TERN_NETWORK_WRITE ? NULL : (tern_network_memory *)(void *)&key,
        .bytes = bytes,
        .late = late,
        .more = more,
        .context = contexts + (size_t)posted * TERN_NETWORK_CONTEXT};
    on_card[posted] = UNDER_WAY;
    tern_status status = tern_verbs_post_send(&posts, &p);
    if (status == TERN_OK)
        told[posted++] = UNDER_WAY;
    return status;
}

static tern_status post(uint32_t queue, tern_network_act act, size_t bytes, bool late) {
    return post_more(queue, act, bytes, late, false);
}

static bool card_has(const void *context) {
    for (int i = 0; i < PAIRS; i++)
        for (uint64_t at = pairs[i].first; at < pairs[i].last; at++)
            if (pairs[i].post[at % PAIR_ROOM].id == (uintptr_t)context)
                return true;
    return false;
}

/* Takes what has ended. Each operation ends once, as the card ended it, and not earlier. */
static size_t take_ends(size_t most) {
    tern_network_done done[TAKEN];
    const size_t count = tern_verbs_complete(&posts, done, most);
    CU_ASSERT_FATAL(count <= most);
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = number_of(done[i].context);
        CU_ASSERT_EQUAL(told[number], UNDER_WAY);
        told[number] = done[i].status == TERN_OK ? SUCCEEDED : FAILED;
        if (told[number] == FAILED && on_card[number] == UNDER_WAY && !card_has(done[i].context))
            on_card[number] = FAILED; /* behind a post that the card has refused */
        CU_ASSERT_EQUAL(told[number], on_card[number]);
        ended++;
        ended_well += done[i].status == TERN_OK;
    }
    return count;
}

static void all_go_on(void) {
    for (int i = 0; i < PAIRS; i++)
        while (pair_goes_on(&pairs[i], false))
            continue;
}

/* The card does all that is posted, until tern has been told of all. Each round ends something. */
static void finish(void) {
    for (uint32_t rounds = 0; ended < posted; rounds++) {
        CU_ASSERT_FATAL(rounds < 4 * OPERATIONS);
        all_go_on();
        (void)take_ends(TAKEN);
    }
    all_go_on();
    while (completions_taken < completions)
        (void)take_ends(TAKEN);
}

/* A thousand puts that are copied, or carried, and a flush: as a port makes them. */
static void a_thousand_puts_make_few_completions(void) {
    begin();
    for (int i = 0; i < 1000; i++)
        while (post(3, TERN_NETWORK_WRITE, 8, true) != TERN_OK) {
            (void)pair_goes_on(&pairs[3], false);
            (void)take_ends(TAKEN);
        }
    tern_verbs_hasten(&posts, &queues[3]);
    finish();
    CU_ASSERT_EQUAL(ended_well, 1000);
    CU_ASSERT(completions <= 40);
    end();
}

/* The end of a single post is its own; the second one's comes with an empty write. */
static void an_idle_queue_signals(void) {
    begin();
    EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    EXPECT_OK(post(1, TERN_NETWORK_WRITE, 8, true));
    EXPECT_OK(post(1, TERN_NETWORK_WRITE, 8, true));
    tern_verbs_hasten(&posts, &queues[0]);
    CU_ASSERT_EQUAL(empty_writes, 0);
    tern_verbs_hasten(&posts, &queues[1]);
    tern_verbs_hasten(&posts, &queues[1]);
    CU_ASSERT_EQUAL(empty_writes, 1);
    all_go_on();
    CU_ASSERT_EQUAL(completions, 3);
    CU_ASSERT_EQUAL(take_ends(TAKEN), 3);
    end();
}

/* What nobody hastens gets its end, too: from the second call that finds nothing. */
static void nothing_stays_behind(void) {
    begin();
    EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    CU_ASSERT_EQUAL(take_ends(TAKEN), 0);
    CU_ASSERT_EQUAL(empty_writes, 0); /* the first of the two will make a completion */
    all_go_on();
    CU_ASSERT_EQUAL(take_ends(TAKEN), 1);
    refuses = true;
    CU_ASSERT_EQUAL(take_ends(TAKEN), 0);
    refuses = false;
    CU_ASSERT_EQUAL(take_ends(TAKEN), 0);
    CU_ASSERT_EQUAL(empty_writes, 1);
    all_go_on();
    CU_ASSERT_EQUAL(take_ends(TAKEN), 1);
    end();
}

/* Posts of which others follow start 16 at a time, and the last ones together with the post that
 * none follows, with a wait, or when they are to start. */
static void posts_that_follow_ring_once(void) {
    begin();
    for (int i = 0; i < 1000; i++) {
        while (post_more(3, TERN_NETWORK_WRITE, 8, true, i < 999) != TERN_OK) {
            all_go_on();
            (void)take_ends(TAKEN);
        }
        if (i == 14)
            CU_ASSERT_EQUAL(doorbells, 0);
    }
    CU_ASSERT_EQUAL(posts.waits, 0);
    tern_verbs_hasten(&posts, &queues[3]);
    finish();
    CU_ASSERT_EQUAL(ended_well, 1000);
    CU_ASSERT(doorbells <= 1000 / 16 + 20); /* a queue without room starts what waits */
    CU_ASSERT(completions <= 40);
    end();

    for (int way = 0; way < 3; way++) {
        begin();
        for (int i = 0; i < 5; i++)
            EXPECT_OK(post_more(0, TERN_NETWORK_WRITE, 8, true, true));
        EXPECT_OK(post_more(1, TERN_NETWORK_READ, 8, false, true));
        CU_ASSERT_EQUAL(doorbells, 0);
        if (way == 0) {
            tern_verbs_start(&posts);
        } else if (way == 1) {
            CU_ASSERT_EQUAL(take_ends(TAKEN), 0);
        } else {
            tern_verbs_hasten(&posts, &queues[0]);
            tern_verbs_hasten(&posts, &queues[1]);
        }
        CU_ASSERT_EQUAL(doorbells, 2);
        CU_ASSERT_EQUAL(posts.waits, 0);
        CU_ASSERT_EQUAL(empty_writes, 0); /* the last of the five makes a completion */
        finish();
        CU_ASSERT_EQUAL(completions, 2);
        CU_ASSERT_EQUAL(empty_writes, 0);
        end();
    }
}

/* The last of what waits is signaled by a wait, with no empty write, on a busy queue, too. */
static void a_wait_signals_what_waits(void) {
    begin();
    EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    for (int i = 0; i < 5; i++)
        EXPECT_OK(post_more(0, TERN_NETWORK_WRITE, 8, true, true));
    tern_verbs_hasten(&posts, &queues[0]);
    CU_ASSERT_EQUAL(doorbells, 2);
    CU_ASSERT_EQUAL(empty_writes, 0);
    all_go_on();
    CU_ASSERT_EQUAL(completions, 2);
    CU_ASSERT_EQUAL(take_ends(TAKEN), 6);
    end();
}

/* The card says that the third post of five is wrong: the first two are done, the next two fail,
 * and the last is that of the caller. */
static void a_chain_that_breaks(void) {
    for (int idle = 0; idle < 2; idle++) {
        begin();
        if (!idle)
            EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
        for (int i = 0; i < 4; i++)
            EXPECT_OK(post_more(0, TERN_NETWORK_WRITE, 8, true, true));
        breaks = 2;
        EXPECT(TERN_ERR_NETWORK, post(0, TERN_NETWORK_WRITE, 8, true));
        breaks = -1;
        CU_ASSERT_EQUAL(posts.waits, 0);
        CU_ASSERT_EQUAL(posts.held, posted - 2 + 1);
        CU_ASSERT_EQUAL(take_ends(TAKEN), 2);
        CU_ASSERT_EQUAL(ended_well, 0);
        EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
        tern_verbs_hasten(&posts, &queues[0]);
        finish();
        CU_ASSERT_EQUAL(ended_well, posted - 2);
        end();
    }
}

/* Gets, atomics, what the caller waits for, and what was registered for one post are signaled. */
static void others_are_signaled(void) {
    static const struct {
        tern_network_act act;
        size_t bytes;
        bool late;
    } tries[] = {{TERN_NETWORK_WRITE, 8, false},
                 {TERN_NETWORK_READ, 4096, true},
                 {TERN_NETWORK_ADD, 8, true},
                 {TERN_NETWORK_CAS, 8, true},
                 {TERN_NETWORK_WRITE, 4096, true}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        begin();
        EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
        EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
        EXPECT_OK(post(0, tries[i].act, tries[i].bytes, tries[i].late));
        all_go_on();
        CU_ASSERT_EQUAL(completions, 2);
        CU_ASSERT_EQUAL(take_ends(TAKEN), 3);
        CU_ASSERT_EQUAL(registered, 0);
        end();
    }
}

/* A completion that takes more than the caller has room for. */
static void ends_wait_for_their_caller(void) {
    begin();
    for (int i = 0; i < 20; i++)
        EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, false));
    all_go_on();
    CU_ASSERT_EQUAL(completions, 2);
    CU_ASSERT_EQUAL(take_ends(2), 2);
    CU_ASSERT_EQUAL(take_ends(2), 2);
    for (int i = 4; i < 20; i += 4)
        CU_ASSERT_EQUAL(take_ends(4), 4);
    CU_ASSERT_EQUAL(take_ends(4), 1);
    end();
}

/* No post to peers that do not answer overruns the queues, nor do the empty writes behind them.
 * When they fail, each of them makes a completion. */
static void dead_peers_have_room(void) {
    begin();
    uint32_t refused = 0;
    for (int i = 0; i < PAIRS * PAIR_ROOM && refused < PAIRS; i++)
        refused =
            post((uint32_t)i % PAIRS, TERN_NETWORK_WRITE, 8, true) == TERN_OK ? 0 : refused + 1;
    CU_ASSERT_EQUAL(refused, PAIRS);
    CU_ASSERT(posted > QUEUE_ROOM - 2 * PAIRS);
    for (int i = 0; i < PAIRS; i++)
        tern_verbs_hasten(&posts, &queues[i]);
    CU_ASSERT_EQUAL(posts.held, posted + empty_writes);
    for (int i = 0; i < PAIRS; i++)
        while (pair_goes_on(&pairs[i], true))
            continue;
    CU_ASSERT_EQUAL(completions, posted + empty_writes);
    finish();
    CU_ASSERT_EQUAL(ended_well, 0);
    end();
}

/* A card that leaves out completions of a pair that failed says nothing of those posts, so they
 * are lost. */
static void what_was_left_out_is_lost(void) {
    begin();
    for (int i = 0; i < 4; i++)
        EXPECT_OK(post(0, TERN_NETWORK_WRITE, 8, true));
    EXPECT_OK(post(0, TERN_NETWORK_READ, 8, false));
    leaves_out = true;
    (void)pair_goes_on(&pairs[0], false);
    (void)pair_goes_on(&pairs[0], false);
    (void)pair_goes_on(&pairs[0], true);
    all_go_on();
    CU_ASSERT_EQUAL(completions, 3);
    CU_ASSERT_EQUAL(take_ends(TAKEN), 5);
    CU_ASSERT_EQUAL(ended_well, 2);
    end();
}

/* The connection is made again, as verbs does it, once all posts of the failed one have ended. */
static void make_again(uint32_t i) {
    if (!pairs[i].failed || queues[i].posted > 0)
        return;
    pairs[i].failed = false;
    queues[i].failed = false;
}

/* Posts, the card and tern in random order, with failures. take_ends compares each end with what
 * the card did. */
static void random_orders(void) {
    uint64_t state = tern_test_seed();
    uint64_t all_failures = 0;
    for (int round = 0; round < 200; round++) {
        begin();
        const uint32_t count = 1 + (uint32_t)(tern_test_random(&state) % PAIRS);
        const uint64_t one_in = 20 + tern_test_random(&state) % 2000;
        const uint64_t speed = 1 + tern_test_random(&state) % 12;
        for (int i = 0; i < 20000 && posted < OPERATIONS - 1; i++) {
            const uint32_t at = (uint32_t)(tern_test_random(&state) % count);
            const uint64_t what = tern_test_random(&state) % 24;
            refuses = tern_test_random(&state) % 50 == 0;
            breaks = tern_test_random(&state) % 200 ? -1 : (int)(tern_test_random(&state) % 4);
            if (what == 23)
                tern_verbs_hasten(&posts, &queues[at]);
            else if (what == 22)
                (void)take_ends(1 + tern_test_random(&state) % TAKEN);
            else if (what == 21)
                make_again(at);
            else if (what < speed)
                (void)pair_goes_on(&pairs[at], tern_test_random(&state) % one_in == 0);
            else
                (void)post_more(
                    at, tern_test_random(&state) % 16 ? TERN_NETWORK_WRITE : TERN_NETWORK_READ,
                    tern_test_random(&state) % 140, tern_test_random(&state) % 16 > 0,
                    tern_test_random(&state) % 3 > 0);
        }
        refuses = false;
        breaks = -1;
        finish();
        all_failures += failures;
        end();
    }
    CU_ASSERT(all_failures > 200);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_thousand_puts_make_few_completions", a_thousand_puts_make_few_completions},
        {"an_idle_queue_signals", an_idle_queue_signals},
        {"nothing_stays_behind", nothing_stays_behind},
        {"posts_that_follow_ring_once", posts_that_follow_ring_once},
        {"a_wait_signals_what_waits", a_wait_signals_what_waits},
        {"a_chain_that_breaks", a_chain_that_breaks},
        {"others_are_signaled", others_are_signaled},
        {"ends_wait_for_their_caller", ends_wait_for_their_caller},
        {"dead_peers_have_room", dead_peers_have_room},
        {"what_was_left_out_is_lost", what_was_left_out_is_lost},
        {"random_orders", random_orders},
    };
    return tern_test_main(argc, argv, "verbs_queue", tests, sizeof tests / sizeof *tests);
}
