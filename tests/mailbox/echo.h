/*
 * A service for all suites on messages. Its reply is computed from the request, byte by byte, and
 * has another length.
 */

#ifndef TERN_TESTS_MAILBOX_ECHO_H
#define TERN_TESTS_MAILBOX_ECHO_H

#include "harness.h"
#include "tern/mailbox_host.h"

enum { ECHO_MAX = 300000 };

static inline uint64_t echo_length(uint64_t bytes) { return bytes * 5 / 4; }

/* Fills a request; at[i] depends on seed and i. */
static inline void echo_fill(uint8_t *at, uint64_t bytes, uint64_t seed) {
    for (uint64_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)((seed + i) * 0x9e3779b97f4a7c15u >> 56);
}

static inline bool echo_is_right(const uint8_t *request, uint64_t bytes, const uint8_t *reply,
                                 uint64_t reply_bytes) {
    if (reply_bytes != echo_length(bytes))
        return false;
    for (uint64_t i = 0; i < reply_bytes; i++)
        if (reply[i] != (uint8_t)(request[i % bytes] + 1))
            return false;
    return true;
}

static inline void echo_handle(tern_mailbox_service *service, uint32_t slot, const void *request,
                               uint64_t bytes) {
    const uint8_t *from = request;
    uint8_t *to = tern_mailbox_reply(service, slot, echo_length(bytes));
    for (uint64_t i = 0; to != NULL && i < echo_length(bytes); i++)
        to[i] = (uint8_t)(from[i % bytes] + 1);
}

/* Returns lengths close to the content of one or two packets, and now and then a long one. */
static inline uint64_t echo_bytes(uint64_t *random, uint32_t piece) {
    uint64_t edges[] = {0, 1, piece - 1, piece, piece + 1, 2 * piece, 2 * (uint64_t)piece + 1};
    uint64_t pick = tern_test_random(random) % 40;
    if (pick < sizeof edges / sizeof edges[0])
        return edges[pick];
    return pick == 39 ? tern_test_random(random) % (60 * (uint64_t)piece) : pick;
}

/* Makes one call with a random request. Returns 0 if all is right, else the status, or 99 for a
 * wrong reply. */
static inline int echo_call(tern_mailbox_worker *worker, uint64_t *random, uint8_t *request,
                            uint8_t *reply, uint64_t timeout_ns) {
    uint64_t bytes = echo_bytes(random, tern_mailbox_piece(worker->client.box.bytes)), got = 0;
    echo_fill(request, bytes, tern_test_random(random));
    tern_status status = tern_mailbox_request(worker, request, bytes, reply, echo_length(ECHO_MAX),
                                              &got, timeout_ns);
    if (status != TERN_OK)
        return (int)status;
    return echo_is_right(request, bytes, reply, got) ? 0 : 99;
}

#endif
