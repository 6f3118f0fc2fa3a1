/*
 * A kernel that calls its host while it runs, and a kernel that is called by its host. A block has
 * one warp. A call uses any free slot; a warp that serves uses the slot of its block's number.
 *
 * Requirements on the GPU: lanes that wait for an answer must not keep lanes of other warps from
 * running (they do not, since all warps of these grids are resident), nor lanes of their own warp
 * that have diverged (independent thread scheduling, compute capability 7.0). A kernel that waits
 * for a host that does not answer would run for ever, so each wait has a deadline. On a GPU that
 * also drives a display, the system's watchdog ends kernels after a few seconds.
 */

#ifndef TERN_EXAMPLES_CUDA_KERNELS_H
#define TERN_EXAMPLES_CUDA_KERNELS_H

#include "ask.h"

/* ---- Text ---- */

static __device__ uint32_t put_text(char *at, const char *text) {
    uint32_t bytes = 0;
    for (; text[bytes] != 0; bytes++)
        at[bytes] = text[bytes];
    return bytes;
}

static __device__ uint32_t put_number(char *at, uint64_t number) {
    uint32_t digits = 1;
    for (uint64_t rest = number; rest > 9; rest /= 10)
        digits++;
    for (uint32_t i = digits; i > 0; i--, number /= 10)
        at[i - 1] = (char)('0' + number % 10);
    return digits;
}

/* ---- A kernel that calls ---- */

enum { TABLE_LINE = 128 };

/* Writes a lane's line of the warp's table: a number and its cube. */
static __device__ uint32_t put_line(char *at, uint64_t number) {
    uint32_t bytes = put_number(at, number);
    bytes += put_text(at + bytes, " cubed is ");
    bytes += put_number(at + bytes, number * number * number);
    at[bytes++] = '\n';
    return bytes;
}

/* Two of three lanes greet, each with a text of another length. */
static __device__ int64_t greet(asker *self, uint32_t lanes) {
    char text[ASK_TEXT_MAX];
    uint32_t lane = threadIdx.x % 32, bytes = put_text(text, "lane ");
    bytes += put_number(text + bytes, lane);
    bytes += put_text(text + bytes, " of warp ");
    bytes += put_number(text + bytes, blockIdx.x);
    bytes += put_text(text + bytes, " says hello");
    for (uint32_t i = 0; i < lane; i++)
        bytes += put_text(text + bytes, " again");
    text[bytes++] = '\n';
    return ask_text(self, lanes, ASK_PRINT, text, bytes) == (int64_t)bytes ? 0 : -1;
}

/* The warp's file: its lowest lane opens and closes it, and each lane writes a line from memory
 * that it has allocated. The lines of one call are written in the order of lanes. */
static __device__ int64_t write_table(asker *self, const channel *to, uint32_t all) {
    uint32_t lanes = all, lane = threadIdx.x % 32, first = tern_mailbox_lowest(all);
    int file = 0;
    if (lane == first) {
        char name[32];
        uint32_t bytes = put_text(name, "warp-");
        bytes += put_number(name + bytes, blockIdx.x);
        bytes += put_text(name + bytes, ".txt");
        file = (int)ask_text(self, (uint32_t)1 << lane, ASK_OPEN, name, bytes);
    }
    file = __shfl_sync(lanes, file, (int)first);
    if (file < 0)
        return file;
    int64_t at = ask_number(self, lanes, ASK_ALLOCATE, TABLE_LINE, 0, 0), done = at;
    /* A lane that got no memory waits below for the others. */
    lanes = __ballot_sync(lanes, at >= 0);
    if (at >= 0) {
        uint32_t bytes = put_line((char *)to->pool + at, blockIdx.x * 32 + lane);
        done = ask_number(self, lanes, ASK_WRITE, (uint64_t)file, (uint64_t)at, bytes);
        done -= bytes;
        (void)ask_number(self, lanes, ASK_FREE, (uint64_t)at, 0, 0);
    }
    __syncwarp(all);
    if (lane == first && ask_number(self, (uint32_t)1 << lane, ASK_CLOSE, (uint64_t)file, 0, 0) < 0)
        done = -1;
    return done;
}

static __global__ void calls_host(channel to) {
    uint32_t lanes = ~(uint32_t)0, lane = threadIdx.x % 32;
    uint64_t end = clock_ns() + to.timeout_ns;
    tern_mailbox box = tern_mailbox_at(to.mailbox, to.slots, sizeof(tern_mailbox_warp));
    asker self;
    self.client = tern_mailbox_client_at(&box, blockIdx.x + 1);
    self.wait.idle = ask_late;
    self.wait.argument = &end;
    uint32_t greeting = __ballot_sync(lanes, lane % 3 != 0);
    int64_t greeted = 0;
    if (lane % 3 != 0)
        greeted = greet(&self, greeting);
    __syncwarp(lanes);
    int64_t wrote = write_table(&self, &to, lanes);
    to.failures[blockIdx.x * 32 + lane] = greeted < 0 || wrote < 0;
}

/* ---- A kernel that serves ---- */

static __device__ int serve_lane(tern_mailbox_lane *line, tern_mailbox_place place,
                                 void *argument) {
    uint64_t sum = 0;
    (void)place;
    if (line->word[0] == ASK_SUM)
        for (uint64_t i = 1; i <= line->word[1]; i++)
            sum += i;
    *(int *)argument |= line->word[0] == ASK_STOP;
    line->word[0] = sum;
    return 0;
}

/* Serves until a lane is asked to stop, or until there was no call for so long that the host must
 * have gone. The host may read the answer to the stop after the kernel's end. */
static __global__ void serves_host(channel to) {
    tern_mailbox box = tern_mailbox_at(to.mailbox, to.slots, sizeof(tern_mailbox_warp));
    tern_mailbox_server server = tern_mailbox_server_at(&box, blockIdx.x + 1);
    tern_mailbox_party party = tern_mailbox_party_lane(~(uint32_t)0, threadIdx.x % 32);
    uint64_t end = clock_ns() + to.timeout_ns;
    int stop = 0, late = 0;
    tern_mailbox_crew crew;
    crew.work = serve_lane;
    crew.argument = &stop;
    crew.worked = 0; /* each slot belongs to one warp */
    while (__ballot_sync(party.lanes, stop || late) == 0) {
        if (tern_mailbox_warp_serve_on(&server, blockIdx.x, party, &crew))
            end = clock_ns() + to.timeout_ns;
        else
            late = clock_ns() > end;
    }
    to.failures[blockIdx.x * 32 + threadIdx.x] = (uint32_t)late;
}

#endif
