#include "played.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "grid.h"

/* Where the lanes of a party meet: one brings a value, each of them a bit. */
typedef struct meeting {
    pthread_cond_t met;
    uint32_t lanes; /* of the party; 0: there is no meeting here */
    uint32_t here, gone, bits;
    int value;
} meeting;

/* A lane is in one meeting at a time, so there is a place for each party. */
typedef struct warp {
    pthread_mutex_t mutex;
    meeting meetings[32];
} warp;

_Thread_local played_dim threadIdx, blockIdx;
played_dim blockDim, gridDim;

static warp *warps;
static _Thread_local warp *mine;

/* The meeting that these lanes are coming to, not one that they are still leaving. */
static meeting *place_of(uint32_t lanes, uint32_t count) {
    meeting *empty = NULL;
    for (uint32_t i = 0; i < 32; i++) {
        meeting *at = &mine->meetings[i];
        if (at->lanes == lanes && at->here < count)
            return at;
        if (at->lanes == 0)
            empty = at;
    }
    if (empty == NULL)
        abort();
    empty->lanes = lanes;
    return empty;
}

/* [out] bits: of all lanes. The value that lane from brought. */
static int meet(uint32_t lanes, uint32_t from, int value, int bit, uint32_t *bits) {
    uint32_t count = (uint32_t)__builtin_popcount(lanes), lane = threadIdx.x % 32;
    pthread_mutex_lock(&mine->mutex);
    meeting *here = place_of(lanes, count);
    if (lane == from)
        here->value = value;
    here->bits |= (uint32_t)(bit != 0) << lane;
    if (++here->here == count)
        pthread_cond_broadcast(&here->met);
    while (here->here < count)
        pthread_cond_wait(&here->met, &mine->mutex);
    value = here->value;
    *bits = here->bits;
    if (++here->gone == count)
        here->lanes = here->here = here->gone = here->bits = 0;
    pthread_mutex_unlock(&mine->mutex);
    return value;
}

/* Shuffles and ballots order no memory on a GPU, so ThreadSanitizer shall not learn from the mutex.
 */
#ifdef __SANITIZE_THREAD__ /* gcc; clang says it so: */
#define SEES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEES_THREADS 1
#endif
#endif

#ifdef SEES_THREADS
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

static void hide(void) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static void show(void) {
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static void hide(void) {}
static void show(void) {}
#endif

void __syncwarp(uint32_t lanes) {
    uint32_t bits;
    (void)meet(lanes, 32, 0, 0, &bits);
}

int __shfl_sync(uint32_t lanes, int value, int from) {
    uint32_t bits;
    hide();
    value = meet(lanes, (uint32_t)from, value, 0, &bits);
    show();
    return value;
}

uint32_t __ballot_sync(uint32_t lanes, int bit) {
    uint32_t bits;
    hide();
    (void)meet(lanes, 32, 0, bit, &bits);
    show();
    return bits;
}

uint64_t played_clock(void) {
    struct timespec t;
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- Grids ---- */

typedef struct start {
    const played_grid *grid;
    uint32_t thread;
} start;

static void *run(void *argument) {
    start begin = *(start *)argument;
    free(argument);
    threadIdx.x = begin.thread % blockDim.x;
    blockIdx.x = begin.thread / blockDim.x;
    mine = &warps[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32];
    begin.grid->kernel(begin.grid->argument);
    return NULL;
}

static int start_thread(played_grid *grid, uint32_t thread) {
    start *begin = malloc(sizeof *begin);
    if (begin == NULL)
        return 1;
    begin->grid = grid;
    begin->thread = thread;
    int failed = pthread_create(&grid->ids[thread], NULL, run, begin);
    if (failed)
        free(begin);
    return failed;
}

int played_launch(played_grid *grid, uint32_t blocks, uint32_t threads,
                  void (*kernel)(void *argument), void *argument) {
    uint32_t count = blocks * ((threads + 31) / 32);
    gridDim.x = blocks;
    blockDim.x = threads;
    grid->kernel = kernel;
    grid->argument = argument;
    grid->threads = blocks * threads;
    grid->ids = calloc(grid->threads, sizeof *grid->ids);
    warps = calloc(count, sizeof *warps);
    if (grid->ids == NULL || warps == NULL)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_init(&warps[i].mutex, NULL);
        for (uint32_t j = 0; j < 32; j++)
            pthread_cond_init(&warps[i].meetings[j].met, NULL);
    }
    for (uint32_t i = 0; i < grid->threads; i++)
        if (start_thread(grid, i) != 0)
            return 1;
    return 0;
}

void played_join(played_grid *grid) {
    for (uint32_t i = 0; i < grid->threads; i++)
        pthread_join(grid->ids[i], NULL);
    free(grid->ids);
    free(warps);
}
