/*
 * The lanes' side of calls of the host. All of it is C, except for the names that CUDA adds.
 */

#ifndef TERN_EXAMPLES_CUDA_ASK_H
#define TERN_EXAMPLES_CUDA_ASK_H

#include <tern/mailbox_warp.h>

#include "clock.h"
#include "functions.h"

/* The request of one lane. */
typedef struct ask {
    uint64_t word[4];
    const char *text; /* of ASK_PRINT and ASK_OPEN */
    int64_t result;
} ask;

/* A warp's end of the channel. Each lane has its own copy. */
typedef struct asker {
    tern_mailbox_client client;
    tern_mailbox_wait wait;
} asker;

/* ---- Time ---- */

/* The hook of waits. The argument is the time at which they end. */
static __device__ int ask_late(void *argument, uint32_t calls) {
    (void)calls;
    return clock_ns() > *(const uint64_t *)argument;
}

/* ---- Calls of the host ---- */

static __device__ void ask_fill(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    const ask *mine = (const ask *)argument;
    line->word[0] = mine->word[0];
    line->word[1] = mine->word[1];
    if (mine->text == 0) {
        line->word[2] = mine->word[2];
        line->word[3] = mine->word[3];
        return;
    }
    char *piece = (char *)&line->word[2];
    uint64_t from = (uint64_t)place.number * ASK_PIECE;
    for (uint64_t i = 0; i < ASK_PIECE && from + i < mine->word[1]; i++)
        piece[i] = mine->text[from + i];
}

/* Only the last answer counts; the others ask for the next piece. */
static __device__ void ask_use(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    (void)place;
    ((ask *)argument)->result = (int64_t)line->word[0];
}

/* A call by the lanes of the warp that arrive here together, each with a request of its own.
 * Returns the result; it is negative if the request failed or no answer came in time. */
static __device__ int64_t ask_host(asker *self, uint32_t lanes, ask request) {
    tern_mailbox_party party = tern_mailbox_party_lane(lanes, threadIdx.x % 32);
    int stop =
        tern_mailbox_warp_call(&self->client, party, ask_fill, ask_use, &request, &self->wait);
    return stop == 0 ? request.result : -1;
}

static __device__ int64_t ask_number(asker *self, uint32_t lanes, uint64_t function, uint64_t first,
                                     uint64_t second, uint64_t third) {
    ask request = {{function, first, second, third}, 0, 0};
    return ask_host(self, lanes, request);
}

static __device__ int64_t ask_text(asker *self, uint32_t lanes, uint64_t function, const char *text,
                                   uint32_t bytes) {
    ask request = {{function, bytes, 0, 0}, text, 0};
    return ask_host(self, lanes, request);
}

#endif
