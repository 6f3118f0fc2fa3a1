/*
 * Grids of kernels whose lanes are played by threads of a host (played.h).
 */

#ifndef TERN_TESTS_CUDA_GRID_H
#define TERN_TESTS_CUDA_GRID_H

#include <pthread.h>
#include <stdint.h>

typedef struct played_grid {
    void (*kernel)(void *argument);
    void *argument;
    uint32_t threads;
    pthread_t *ids;
} played_grid;

/* Runs the kernel in every thread of the grid. One grid at a time. Not 0: there is no memory, or
 * there are no threads; what has started then goes on. */
int played_launch(played_grid *grid, uint32_t blocks, uint32_t threads,
                  void (*kernel)(void *argument), void *argument);

/* Waits for its end. */
void played_join(played_grid *grid);

/* The kernels of kernels.h. The argument is a kernel_plan. */
void played_calls(void *argument);
void played_serves(void *argument);

/* The kernels of examples/cuda. The argument is a channel. */
void played_calls_host(void *argument);
void played_serves_host(void *argument);

#endif
