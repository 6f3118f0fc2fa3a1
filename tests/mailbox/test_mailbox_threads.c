/*
 * Clients and servers as threads on one mailbox. The holder of a slot writes the packet and its
 * other data by plain stores, so ThreadSanitizer reports if two threads ever hold a slot at once.
 */

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tern/mailbox.h"

enum { CLIENTS_MAX = 4, SERVERS_MAX = 3 };

typedef struct packet {
    uint64_t client, number, answer;
    uint64_t inside; /* 1 while a server works on it */
} packet;

static struct {
    tern_mailbox box;
    uint32_t calls;               /* calls that each client makes */
    uint32_t left;                /* clients that still make calls */
    uint32_t kinds;               /* 1: synchronous calls only; 2: also asynchronous ones; 3: also
                                     split ones */
    bool own;                     /* each client owns a slot permanently */
    uint64_t served[CLIENTS_MAX]; /* number of calls that were worked on, by client */
    uint64_t cleaned;
    uint32_t wrong;
} play;

static int yield(void *argument, uint32_t calls) {
    (void)argument, (void)calls;
    sched_yield();
    return 0;
}

static const tern_mailbox_wait yielding = {yield, NULL};

static void wrong_if(bool wrong) {
    if (wrong)
        __atomic_fetch_add(&play.wrong, 1, __ATOMIC_RELAXED);
}

static uint64_t answer_to(const packet *p) { return 3 * p->number + 1000003 * p->client; }

static int work(void *memory, uint32_t slot, void *argument) {
    packet *p = memory;
    (void)slot, (void)argument;
    wrong_if(p->inside != 0 || p->answer != 0 || p->client >= CLIENTS_MAX);
    p->inside = 1;
    p->answer = answer_to(p);
    __atomic_fetch_add(&play.served[p->client % CLIENTS_MAX], 1, __ATOMIC_RELAXED);
    p->inside = 0;
    return 0;
}

static int clean(void *memory, uint32_t slot, void *argument) {
    (void)slot, (void)argument;
    memset(memory, 0, sizeof(packet));
    __atomic_fetch_add(&play.cleaned, 1, __ATOMIC_RELAXED);
    return 0;
}

static void *serve(void *argument) {
    tern_mailbox_server server = tern_mailbox_server_at(&play.box, *(uint32_t *)argument);
    uint32_t idle = 0;
    /* The last steps clean slots, so a server ends after two rounds without a step after the last
     * client. */
    while (tern_mailbox_load32(&play.left) > 0 || idle < 2)
        if (tern_mailbox_serve(&server, work, clean, NULL) > 0) {
            idle = 0;
        } else {
            idle += tern_mailbox_load32(&play.left) == 0;
            sched_yield();
        }
    return NULL;
}

static void fill(void *memory, uint32_t slot, void *argument) {
    packet *p = memory;
    const packet *mine = argument;
    (void)slot;
    wrong_if(p->client != 0 || p->number != 0 || p->answer != 0 || p->inside != 0);
    p->client = mine->client;
    p->number = mine->number;
}

static void use(void *memory, uint32_t slot, void *argument) {
    const packet *p = memory;
    packet *mine = argument;
    (void)slot;
    wrong_if(p->client != mine->client || p->number != mine->number || p->inside != 0);
    mine->answer = p->answer;
}

/* Posts a call, and later returns for the answer. */
static void split_call(tern_mailbox_client *client, packet *mine) {
    uint32_t slot;
    wrong_if(tern_mailbox_take_wait(client, &yielding, &slot) != 0);
    fill(tern_mailbox_packet(&client->box, slot), slot, mine);
    wrong_if(!tern_mailbox_post(client, slot));
    while (tern_mailbox_look(&client->box, slot) != TERN_MAILBOX_ANSWERED)
        sched_yield();
    use(tern_mailbox_packet(&client->box, slot), slot, mine);
    wrong_if(!tern_mailbox_finish(client, slot));
    tern_mailbox_client_give(client, slot);
}

static void *call(void *argument) {
    uint32_t me = *(uint32_t *)argument;
    uint64_t random = tern_test_seed() + me;
    tern_mailbox_client client = tern_mailbox_client_at(&play.box, me + 1);
    if (play.own)
        wrong_if(!tern_mailbox_client_own(&client, me));
    for (uint32_t i = 0; i < play.calls; i++) {
        packet mine = {me, i, 0, 0};
        uint64_t kind = tern_test_random(&random) % play.kinds;
        if (play.own)
            wrong_if(tern_mailbox_call_on(&client, me, fill, use, &mine, &yielding) != 0);
        else if (kind == 0)
            wrong_if(tern_mailbox_call(&client, fill, use, &mine, &yielding) != 0);
        else if (kind == 1)
            wrong_if(tern_mailbox_send(&client, fill, &mine, &yielding) != 0);
        else
            split_call(&client, &mine);
        if (kind != 1 || play.own)
            wrong_if(mine.answer != answer_to(&mine));
    }
    __atomic_fetch_sub(&play.left, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void run(uint32_t slots, uint32_t clients, uint32_t servers, uint32_t kinds, bool own) {
    size_t bytes = tern_mailbox_bytes(slots, sizeof(packet));
    void *memory = aligned_alloc(TERN_MAILBOX_LINE, bytes);
    pthread_t threads[CLIENTS_MAX + SERVERS_MAX];
    uint32_t names[CLIENTS_MAX + SERVERS_MAX];
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    memset(memory, 0, bytes);
    memset(&play, 0, sizeof play);
    play.box = tern_mailbox_at(memory, slots, sizeof(packet));
    play.calls = tern_test_full() ? 30000 : 1500;
    play.left = clients;
    play.kinds = kinds;
    play.own = own;
    for (uint32_t i = 0; i < clients + servers; i++) {
        names[i] = i < clients ? i : i + 1;
        pthread_create(&threads[i], NULL, i < clients ? call : serve, &names[i]);
    }
    for (uint32_t i = 0; i < clients + servers; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_EQUAL(play.wrong, 0);
    /* The last asynchronous calls may still be posted, or answered. */
    uint64_t served = 0, open = 0;
    for (uint32_t i = 0; i < clients; i++)
        served += play.served[i];
    for (uint32_t slot = 0; slot < slots; slot++) {
        open += tern_mailbox_look(&play.box, slot) != TERN_MAILBOX_QUIET;
        CU_ASSERT(own || play.box.client_locks[slot].holder == 0);
        CU_ASSERT_EQUAL(play.box.server_locks[slot].holder, 0);
    }
    CU_ASSERT_EQUAL(served, (uint64_t)clients * play.calls);
    CU_ASSERT_EQUAL(play.cleaned + open, served);
    free(memory);
}

static void a_pair(void) {
    run(1, 1, 1, 1, false);
    run(1, 1, 1, 1, true);
}

static void many_to_one(void) {
    run(1, 3, 1, 3, false);
    run(70, 4, 1, 3, false);
    run(4, 4, 1, 1, true);
}

static void many_to_many(void) {
    run(1, 2, 2, 3, false);
    run(3, 4, 3, 3, false);
    run(66, 3, 3, 3, false);
    run(4, 4, 3, 1, true);
}

/* At least twenty times as many asynchronous calls as slots. */
static void asynchronous(void) {
    run(2, 1, 1, 2, false);
    run(65, 2, 1, 2, false);
    run(8, 4, 2, 2, false);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_pair", a_pair},
                                           {"many_to_one", many_to_one},
                                           {"many_to_many", many_to_many},
                                           {"asynchronous", asynchronous}};
    return tern_test_main(argc, argv, "mailbox threads", tests, sizeof tests / sizeof tests[0]);
}
