/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * tern-ceilings: runs the ceilings between two processes of its own, without tern and without MPI,
 * to show what they reach on a machine. tern-bench runs the same functions.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ceilings.h"

enum { AREA = 80 << 20, COPY = 1 << 20, BLOCKS = 41 };

/* Shared memory in which the two processes meet. */
typedef struct shared {
    _Alignas(
        128) volatile uint64_t go; /* number of the block that the parent has asked for; 0: end */
    _Alignas(128) volatile uint64_t done;
    _Alignas(128) uint64_t consumed;
    _Alignas(128) uint64_t there;
    _Alignas(128) uint64_t back;
    _Alignas(4096) char data[];
} shared;

typedef struct sink {
    uint64_t sum, count;
} sink;

static shared *area;
static char *private_copy;
static ceiling_ring ring;
static ceiling_flag flag;
static uint64_t ring_payload, ring_bytes, cursor;
static unsigned ring_pauses;
static uint64_t payload[32];
static sink sunk;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void handler(void *argument, const void *bytes, size_t count) {
    sink *s = argument;
    uint64_t sum = 0, word;
    for (size_t at = 0; at < count; at += 64) {
        memcpy(&word, (const char *)bytes + at, sizeof word);
        sum += word;
    }
    s->sum += sum;
    s->count++;
}

static const ceiling_handler handlers[] = {NULL, handler};

static void run_store(uint64_t n) { ceiling_store_fence((uint64_t *)(void *)area->data, n); }

static void run_add(uint64_t n) { (void)ceiling_fetch_add((uint64_t *)(void *)area->data, n); }

static void run_swap(uint64_t n) {
    (void)ceiling_compare_and_swap((uint64_t *)(void *)area->data, n);
}

static void run_chain(uint64_t n) { cursor = ceiling_load_chain(area->data, cursor, n); }

static void run_copy(uint64_t n) { ceiling_copy(area->data, private_copy, COPY, n); }

static void run_ask(uint64_t n) { ceiling_flag_ask(&flag, n); }

static void run_answer(uint64_t n) { ceiling_flag_answer(&flag, n); }

static void run_produce(uint64_t n) { ceiling_ring_produce(&ring, payload, ring_payload, 1, n); }

static void run_consume(uint64_t n) {
    ceiling_rings_consume(&ring, 1, handlers, &sunk, ring_pauses, n);
}

/* Pins the process to the index-th of the cores that the program may use, if there are two. */
static void pin(int index) {
    static cpu_set_t allowed;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (CPU_COUNT(&allowed) == 0)
        (void)sched_getaffinity(0, sizeof allowed, &allowed);
    if (CPU_COUNT(&allowed) < 2)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && index-- == 0)
            CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Prints the ns of one operation: the least and the median of blocks of n operations. target, if
 * not NULL, is the part of the second process. */
static void measure(const char *name, void (*origin)(uint64_t), void (*target)(uint64_t),
                    uint64_t n, double bytes) {
    double ns[BLOCKS];
    pid_t child = 0;
    fflush(stdout);
    area->go = area->done = 0;
    if (target != NULL && (child = fork()) == 0) {
        pin(1);
        for (uint64_t i = 1; i <= BLOCKS; i++) {
            while (area->go < i)
                sched_yield();
            target(n);
            __atomic_store_n(&area->done, i, __ATOMIC_RELEASE);
        }
        _exit(0);
    }
    if (child < 0) {
        fprintf(stderr, "tern-ceilings: fork: %s\n", strerror(errno));
        exit(1);
    }
    for (uint64_t i = 1; i <= BLOCKS; i++) {
        double start = now();
        area->go = i;
        origin(n);
        while (target != NULL && __atomic_load_n(&area->done, __ATOMIC_ACQUIRE) < i)
            ;
        ns[i - 1] = (now() - start) / (double)n;
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    qsort(ns, BLOCKS, sizeof *ns, ascending);
    printf("%-34s %9.2f %9.2f ns", name, ns[0], ns[BLOCKS / 2]);
    if (bytes > 0)
        printf("  %8.2f GB/s", bytes / ns[BLOCKS / 2]);
    else
        printf("  %8.1f M/s", 1e3 / ns[BLOCKS / 2]);
    printf("  (best %.1f)\n", bytes > 0 ? bytes / ns[0] : 1e3 / ns[0]);
}

static void chain(const char *name, size_t bytes, uint64_t n) {
    ceiling_chain_make((uint64_t *)(void *)area->data, bytes, 0);
    cursor = 0;
    measure(name, run_chain, NULL, n, 0);
}

static void rings(uint64_t bytes, uint64_t batch) {
    static const uint64_t sizes[] = {128 << 10, 256 << 10, 512 << 10, 1 << 20};
    static const unsigned pauses[] = {0, 8, 32, 128};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            char name[64];
            ring_payload = bytes;
            ring_bytes = sizes[i];
            ring_pauses = pauses[j];
            memset(area->data, 0, sizes[i]);
            area->consumed = 0;
            ceiling_ring_make(&ring, area->data, &area->consumed, ring_bytes, bytes, batch);
            snprintf(name, sizeof name, "ring %3u B%s, %4u KiB, %3u pauses", (unsigned)bytes,
                     batch > 0 ? " by 4K" : "", (unsigned)(sizes[i] >> 10), pauses[j]);
            measure(name, run_produce, run_consume, 24000000 / (64 + bytes), 0);
        }
}

static const char help[] =
    "usage: tern-ceilings\n"
    "\n"
    "Measures what shared memory reaches between two processes, without tern and without\n"
    "MPI: the least and the median time of an operation. It takes some minutes.\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 bad usage.\n";

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (argc > 1) {
        fprintf(stderr, "tern-ceilings: takes no argument %s; --help says more\n", argv[1]);
        return 2;
    }
    area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    private_copy = malloc(COPY);
    if (area == MAP_FAILED || private_copy == NULL) {
        fprintf(stderr, "tern-ceilings: no memory\n");
        return 1;
    }
    memset(private_copy, 1, COPY);
    pin(0);
    printf("%-34s %9s %9s\n", "ceiling", "least", "median");
    measure("store + fence", run_store, NULL, 200000, 0);
    measure("lock xadd", run_add, NULL, 500000, 0);
    measure("lock cmpxchg", run_swap, NULL, 500000, 0);
    chain("load in 4 KiB", 4096, 1000000);
    chain("load in 64 MiB", 64 << 20, 50000);
    measure("memcpy of 1 MiB", run_copy, NULL, 50, COPY);
    flag = (ceiling_flag){&area->there, &area->back, 0};
    measure("flag round trip", run_ask, run_answer, 20000, 0);
    for (uint64_t bytes = 8; bytes <= 256; bytes = bytes == 8 ? 64 : bytes * 4) {
        rings(bytes, 0);
        rings(bytes, 4096);
    }
    return 0;
}
