/*
 * The host's side of the example: threads that serve a kernel's calls, and calls of a kernel. It is
 * plain C and does not use CUDA.
 */

#ifndef TERN_EXAMPLES_CUDA_HOST_H
#define TERN_EXAMPLES_CUDA_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that kernel and host share: the mailbox, then the pool. */
typedef struct host_memory {
    void *mailbox; /* host_mailbox_bytes(slots) bytes, zeroed */
    uint8_t *pool;
    uint32_t slots, pool_bytes;
} host_memory;

typedef struct host host;

size_t host_mailbox_bytes(uint32_t slots);

/* Starts threads that serve the calls at these addresses of the host. Texts are printed to the
 * descriptor output; files are written below folder. Returns NULL with errno set if there is no
 * memory, no such folder, or no thread can be started. */
host *host_start(const host_memory *memory, uint32_t threads, int output, const char *folder);

/* Called after the kernel's end: waits until all calls are served, and ends the threads. Returns
 * how many files and pieces of the pool the kernel has not given back. */
uint32_t host_stop(host *self);

/* Calls a kernel that serves, once for each lane of a slot: the sums of 1 to n[lane] for the lanes
 * of mask. Non-zero: no answer came within timeout_ns. */
int host_call_sums(const host_memory *memory, uint32_t slot, uint32_t mask, const uint64_t *n,
                   uint64_t *sums, uint64_t timeout_ns);

/* Asks the warp of a slot to stop. Non-zero: there was no answer. */
int host_call_stop(const host_memory *memory, uint32_t slot, uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
