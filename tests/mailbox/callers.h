/*
 * Shared by the suites on mailboxes between processes: clients and servers that are child
 * processes, and a page of shared memory in which they count.
 */

#ifndef TERN_TESTS_MAILBOX_CALLERS_H
#define TERN_TESTS_MAILBOX_CALLERS_H

#include <sched.h>
#include <sys/mman.h>

#include "children.h"
#include "echo.h"

#define SECOND UINT64_C(1000000000)

static struct {
    tern_mailbox_share *share;
    struct {
        uint32_t end;   /* 1: servers end */
        uint32_t calls; /* correct calls of all clients */
        uint32_t late;  /* calls that ended at their deadline */
    } * board;
    uint8_t *request, *reply;
} play;

static inline bool open_share(uint32_t slots, uint32_t packet) {
    tern_mailbox_options options = {.slots = slots, .packet_bytes = packet, .workers = 40};
    play.board = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    play.request = malloc(ECHO_MAX);
    play.reply = malloc(echo_length(ECHO_MAX));
    return EXPECT_OK(tern_mailbox_create(&options, &play.share));
}

static inline void close_share(void) {
    tern_mailbox_destroy(play.share);
    munmap(play.board, 4096);
    free(play.request);
    free(play.reply);
}

/* Serves until board->end is set. */
static inline int serve_with(void (*handle)(tern_mailbox_service *, uint32_t, const void *,
                                            uint64_t)) {
    tern_mailbox_worker worker;
    tern_mailbox_service service;
    if (tern_mailbox_join(play.share, TERN_MAILBOX_SERVER, &worker) != TERN_OK ||
        tern_mailbox_service_open(&service, play.share, ECHO_MAX, handle, NULL) != TERN_OK)
        return 1;
    while (!tern_mailbox_load32(&play.board->end))
        tern_ignore(tern_mailbox_attend(&worker, &service, SECOND / 100, NULL));
    tern_mailbox_leave(&worker);
    tern_mailbox_service_close(&service);
    return 0;
}

static inline int serve(void *argument) {
    (void)argument;
    return serve_with(echo_handle);
}

typedef struct caller {
    uint64_t seed;
    int calls;        /* -1: without end */
    uint64_t timeout; /* of each call, in ns */
    int may_lose;     /* calls may end with TERN_ERR_PEER */
    int may_wait;     /* calls may end at their deadline */
} caller;

/* Makes calls. Returns 0, or the status of the first call that is wrong. */
static inline int make_calls(void *argument) {
    caller *c = argument;
    tern_mailbox_worker worker;
    if (tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker) != TERN_OK)
        return 98;
    for (int i = 0; i != c->calls; i++) {
        int wrong = echo_call(&worker, &c->seed, play.request, play.reply, c->timeout);
        if (wrong == (int)TERN_ERR_PEER && c->may_lose)
            continue;
        if (wrong == (int)TERN_ERR_TIMEOUT && c->may_wait) {
            __atomic_fetch_add(&play.board->late, 1, __ATOMIC_RELAXED);
            continue;
        }
        if (wrong)
            return wrong;
        __atomic_fetch_add(&play.board->calls, 1, __ATOMIC_RELAXED);
    }
    tern_mailbox_leave(&worker);
    return 0;
}

static inline void end_servers(const pid_t *servers, int count) {
    tern_mailbox_store32(&play.board->end, 1);
    for (int i = 0; i < count; i++)
        CU_ASSERT_EQUAL(end_of_child(servers[i]), 0);
    tern_mailbox_store32(&play.board->end, 0);
}

/* Checks that all slots become free again, with a server in this process. */
static inline void expect_all_free(void) {
    tern_mailbox_worker worker;
    tern_mailbox_service service;
    EXPECT_OK(tern_mailbox_join(play.share, TERN_MAILBOX_SERVER, &worker));
    EXPECT_OK(tern_mailbox_service_open(&service, play.share, ECHO_MAX, echo_handle, NULL));
    (void)tern_mailbox_reclaim(&worker);
    for (int i = 0; i < 4; i++) {
        tern_ignore(tern_mailbox_attend(&worker, &service, 0, NULL));
        for (uint32_t slot = 0; slot < worker.client.box.slots; slot++)
            tern_mailbox_recycle(&worker.client, slot, 1);
    }
    for (uint32_t slot = 0; slot < worker.client.box.slots; slot++) {
        CU_ASSERT_EQUAL(tern_mailbox_look(&worker.client.box, slot), TERN_MAILBOX_QUIET);
        CU_ASSERT(tern_mailbox_take(&worker.client) != TERN_MAILBOX_NONE);
    }
    tern_mailbox_leave(&worker);
    tern_mailbox_service_close(&service);
}

/* Lets the children work until they have made that many more calls, or for that many seconds. */
static inline void let_work(uint32_t more, int seconds) {
    uint32_t until = tern_mailbox_load32(&play.board->calls) + more;
    for (int i = 0;
         i < 5000 * seconds && (int32_t)(tern_mailbox_load32(&play.board->calls) - until) < 0; i++)
        usleep(200);
}

#endif
