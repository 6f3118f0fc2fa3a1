/*
 * Threads of one process that join one share as its workers: calls of every length. The holder of a
 * slot writes its data by plain stores, so ThreadSanitizer reports if two threads ever hold a slot
 * at once.
 */

#include <pthread.h>
#include <stdlib.h>

#include "echo.h"
#include "fixture.h"

#define SECOND UINT64_C(1000000000)

enum { CLIENTS = 3, SERVERS = 2 };

static struct {
    tern_mailbox_share *share;
    uint32_t end, wrong;
    uint64_t calls; /* calls that each client makes */
} play;

static void *serve(void *argument) {
    tern_mailbox_worker worker;
    tern_mailbox_service service;
    (void)argument;
    bool good =
        tern_mailbox_join(play.share, TERN_MAILBOX_SERVER, &worker) == TERN_OK &&
        tern_mailbox_service_open(&service, play.share, ECHO_MAX, echo_handle, NULL) == TERN_OK;
    if (!good) {
        __atomic_fetch_add(&play.wrong, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    while (!tern_mailbox_load32(&play.end))
        tern_ignore(tern_mailbox_attend(&worker, &service, SECOND / 100, NULL));
    tern_mailbox_leave(&worker);
    tern_mailbox_service_close(&service);
    return NULL;
}

static void *call(void *argument) {
    tern_mailbox_worker worker;
    uint64_t random = *(const uint64_t *)argument;
    uint8_t *request = malloc(ECHO_MAX), *reply = malloc(echo_length(ECHO_MAX));
    int wrong = (int)tern_mailbox_join(play.share, TERN_MAILBOX_CLIENT, &worker);
    for (uint64_t i = 0; wrong == 0 && i < play.calls; i++)
        wrong = echo_call(&worker, &random, request, reply, 40 * SECOND);
    __atomic_fetch_add(&play.wrong, wrong != 0, __ATOMIC_RELAXED);
    tern_mailbox_leave(&worker);
    free(request);
    free(reply);
    return NULL;
}

static void calls_of_threads(void) {
    const tern_mailbox_options options = {.slots = 4, .packet_bytes = 256, .workers = 8};
    pthread_t servers[SERVERS], clients[CLIENTS];
    uint64_t seeds[CLIENTS];
    play.end = play.wrong = 0;
    play.calls = tern_test_full() ? 3000 : 200;
    if (!EXPECT_OK(tern_mailbox_create(&options, &play.share)))
        return;
    for (int i = 0; i < SERVERS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&servers[i], NULL, serve, NULL), 0);
    for (int i = 0; i < CLIENTS; i++) {
        seeds[i] = tern_test_seed() * 31 + (uint64_t)i;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&clients[i], NULL, call, &seeds[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    tern_mailbox_store32(&play.end, 1);
    for (int i = 0; i < SERVERS; i++)
        pthread_join(servers[i], NULL);
    CU_ASSERT_EQUAL(play.wrong, 0);
    tern_mailbox_destroy(play.share);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"calls_of_threads", calls_of_threads}};
    return tern_test_main(argc, argv, "mailbox share_threads", tests, 1);
}
