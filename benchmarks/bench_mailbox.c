/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls through a mailbox, in each layout of its flags. The first rows have one pair with a slot of
 * its own. It stands beside the bare round trip of two flags on the same two lines, of which a call
 * needs two (the time depends on where in the machine these lines are kept), and beside the means
 * of the system. The next rows have many clients and servers, as threads of the two ranks on all
 * cores, beside one of each. The last rows have asynchronous calls.
 */

#include "bench.h"
#include "bench_mailbox.h"
#include "ceilings/ceilings.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { THREADS_MAX = 8, LINE = 128, CROWDED = 10 };

typedef struct way {
    const mailbox_way *layout;
    mailbox_run run;
    ceiling_flag flag;
    ceiling_futex futex;
    int to, from; /* file descriptors of a pipe or a socket */
} way;

typedef struct thread {
    way *way;
    uint32_t number;
    uint64_t n;
    pthread_t thread;
} thread;

static void *call_thread(void *argument) {
    thread *t = argument;
    t->way->layout->call(&t->way->run, t->number, t->n);
    return NULL;
}

static void *serve_thread(void *argument) {
    thread *t = argument;
    t->way->layout->serve(&t->way->run, t->number, t->n);
    return NULL;
}

/* Runs body in count threads of this rank, of which this is the first. */
static void together(way *w, uint32_t count, void *(*body)(void *), const uint64_t *n) {
    thread threads[THREADS_MAX] = {{.way = w, .n = n[0]}};
    for (uint32_t i = 1; i < count; i++) {
        threads[i] = (thread){.way = w, .number = i, .n = n[i]};
        if (pthread_create(&threads[i].thread, NULL, body, &threads[i]) != 0)
            bench_fail("a thread for the mailbox", TERN_ERR_SYSTEM);
    }
    body(&threads[0]);
    for (uint32_t i = 1; i < count; i++)
        pthread_join(threads[i].thread, NULL);
}

static void call_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    uint64_t shares[THREADS_MAX] = {0};
    (void)b;
    for (uint32_t i = 0; i < w->run.clients; i++)
        shares[i] = n / w->run.clients + (i < n % w->run.clients);
    together(w, w->run.clients, call_thread, shares);
    if (w->run.wrong > 0 && !w->run.send)
        bench_fail("a call by mailbox was answered wrongly", TERN_ERR_SYSTEM);
}

static void call_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    uint64_t steps[THREADS_MAX] = {0};
    (void)b;
    for (uint32_t i = 0; i < w->run.servers; i++)
        steps[i] = 2 * n;
    w->run.steps = 0;
    together(w, w->run.servers, serve_thread, steps);
}

static void flag_origin(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_ask(&((way *)state)->flag, n);
}

static void flag_target(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_answer(&((way *)state)->flag, n);
}

static void futex_origin(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_futex_ask(&((way *)state)->futex, n);
}

static void futex_target(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_futex_answer(&((way *)state)->futex, n);
}

static void bytes_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    if (!ceiling_bytes_ask(w->to, w->from, n))
        bench_fail("a pipe or socket", TERN_ERR_SYSTEM);
}

static void bytes_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    if (!ceiling_bytes_answer(w->to, w->from, n))
        bench_fail("a pipe or socket", TERN_ERR_SYSTEM);
}

/* Two pipes of the origin, which the target opens by their numbers there. */
static void open_pipes(bench *b, way *w) {
    int mine[5] = {0};
    if (b->rank == BENCH_ORIGIN) {
        mine[4] = (int)getpid();
        if (pipe(mine) != 0 || pipe(mine + 2) != 0)
            bench_fail("a pipe", TERN_ERR_SYSTEM);
        bench_send(b, mine, sizeof mine);
        w->to = mine[1];
        w->from = mine[2];
    } else {
        char path[2][64];
        bench_receive(b, mine, sizeof mine);
        snprintf(path[0], sizeof path[0], "/proc/%d/fd/%d", mine[4], mine[0]);
        snprintf(path[1], sizeof path[1], "/proc/%d/fd/%d", mine[4], mine[3]);
        w->from = open(path[0], O_RDONLY | O_CLOEXEC);
        w->to = open(path[1], O_WRONLY | O_CLOEXEC);
        if (w->from < 0 || w->to < 0)
            bench_fail("the other rank's pipe", TERN_ERR_SYSTEM);
    }
    bench_meet(b);
}

static void open_socket(bench *b, way *w) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), good = 0;
    if (b->rank == BENCH_ORIGIN) {
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tern-bench-%d", (int)getpid());
        good = bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 1) == 0;
        bench_send(b, &name, sizeof name);
        w->to = w->from = good ? accept(fd, NULL, NULL) : -1;
        good = w->to >= 0;
        close(fd);
    } else {
        bench_receive(b, &name, sizeof name);
        good = connect(fd, (struct sockaddr *)&name, sizeof name) == 0;
        w->to = w->from = fd;
    }
    if (!good)
        bench_fail("a Unix socket", TERN_ERR_SYSTEM);
    bench_meet(b);
}

/* Calls on a slot of the pair's own. The means of the system stand beside the first row only, since
 * they are the same for all. */
static void measure_pair(bench *b, way *w, int payload, double target, const way *system) {
    bench_case c = {.name = "pair",
                    .params = {{"layout", 0, w->layout->layout}, {"bytes", payload ? 8 : 0, NULL}},
                    .ratio_target = bench_crowded(b) ? 0 : target};
    w->run.own = 1;
    w->run.clients = w->run.servers = 1;
    w->run.payload = payload;
    c.measured = bench_way("mailbox", call_origin, call_target, w);
    c.ceiling = bench_way("flag round trip", flag_origin, flag_target, w);
    if (system != NULL) {
        c.peers[0].side = bench_way("futex", futex_origin, futex_target, w);
        c.peers[1].side = bench_way("pipes", bytes_origin, bytes_target, (void *)&system[0]);
        c.peers[2].side = bench_way("Unix socket", bytes_origin, bytes_target, (void *)&system[1]);
        c.peer_count = 3;
    }
    bench_measure(b, &c);
}

/* So many clients and servers, beside one of each. Four clients may lose half the rate. With more
 * threads than cores blocks are longer: for some milliseconds after their start the system keeps
 * the threads on few cores. */
static void measure_many(bench *b, way *w, uint32_t clients, uint32_t servers, int send) {
    static way one;
    bench_case c = {.name = send ? "asynchronous" : "many",
                    .params = {{"layout", 0, w->layout->layout},
                               {"clients", clients, NULL},
                               {"servers", servers, NULL}},
                    .unit = BENCH_RATE};
    w->run.own = 0;
    w->run.payload = 1;
    w->run.send = 0;
    w->run.clients = w->run.servers = 1;
    one = *w;
    w->run.clients = clients;
    w->run.servers = servers;
    w->run.send = send;
    const int threads = b->threads;
    const double block_ns = b->options.block_ns;
    b->threads = (int)(clients + servers);
    w->run.crowded = bench_crowded(b);
    if (w->run.crowded)
        b->options.block_ns *= CROWDED;
    c.ratio_target = clients == 4 && servers == 1 && !send ? 2 : 0;
    c.measured = bench_way("mailbox", call_origin, call_target, w);
    c.ceiling = bench_way("one client, one server, waiting", call_origin, call_target, &one);
    bench_measure(b, &c);
    b->threads = threads;
    b->options.block_ns = block_ns;
    w->run.crowded = 0;
}

static void measure_layout(bench *b, const mailbox_way *layout, const way *system) {
    static const uint32_t clients[] = {1, 2, 4, 8}, servers[] = {1, 2, 4};
    void *memory = NULL;
    tern_ptr place = bench_place(b, BENCH_ORIGIN, layout->bytes() + 2 * (size_t)LINE, &memory);
    char *words = (char *)memory + layout->bytes();
    if (b->rank == BENCH_ORIGIN)
        memset(memory, 0, layout->bytes() + 2 * (size_t)LINE);
    bench_meet(b);
    way w = {.layout = layout, .run = {.memory = memory}};
    w.flag = (ceiling_flag){layout->beside_flag(memory, 0), layout->beside_flag(memory, 1), 0};
    w.futex = (ceiling_futex){(uint32_t *)(void *)words, (uint32_t *)(void *)(words + LINE), 0};
    double target = layout == &mailbox_lines ? 2.2 : 3;
    measure_pair(b, &w, 0, target, system);
    measure_pair(b, &w, 1, 0, NULL);
    bench_unpin(b);
    for (size_t c = 0; c < sizeof clients / sizeof clients[0]; c++)
        for (size_t s = 0; s < sizeof servers / sizeof servers[0]; s++)
            measure_many(b, &w, clients[c], servers[s], 0);
    for (size_t c = 0; c < sizeof clients / sizeof clients[0]; c++)
        measure_many(b, &w, clients[c], 1, 1);
    bench_pin(b);
    bench_unplace(b, BENCH_ORIGIN, place);
}

void bench_mailbox(bench *b) {
    static way system[2];
    if (!b->shared) {
        bench_note(b, "mailboxes are for ranks that share memory");
        return;
    }
    open_pipes(b, &system[0]);
    open_socket(b, &system[1]);
    measure_layout(b, &mailbox_lines, system);
    measure_layout(b, &mailbox_bits, NULL);
    measure_layout(b, &mailbox_cas, NULL);
    for (int i = 0; i < 2; i++) {
        close(system[i].to);
        close(system[i].from);
    }
}
