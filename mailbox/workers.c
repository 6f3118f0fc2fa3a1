#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/error.h"
#include "mailbox/share.h"

/*
 * The workers that take part, with one word for each. One compare-and-swap writes a whole word, so
 * a worker cannot die with its entry half written. The generation counts how often the word has
 * been used. Generation and index together are the worker's name, so a word must be used a million
 * times before a name comes again.
 *
 *     bits      63 - 42    41 - 21   20       19 - 0
 *     content   process    started   server   generation
 *
 * A process is identified by its process id and its start time in ticks, of which the word has the
 * low 21 bits. So a process id that is used again is recognized.
 */

#define GENERATION_MASK ((UINT64_C(1) << 20) - 1)
#define SERVER_BIT (UINT64_C(1) << 20)
#define STARTED_SHIFT 21
#define STARTED_MASK ((UINT64_C(1) << 21) - 1)
#define PROCESS_SHIFT 42

/* Nanoseconds between two checks of the other workers by a wait. */
#define LOOK_NS 5000000u

/*
 * If there are more workers than cores, a waiting worker must leave the core to the other side.
 * sched_yield only lets threads of the same scheduling group run. With the kernel's autogroups
 * another session, such as MPICH opens for each rank, is another group, and so is another control
 * group. Sleeping lets any thread run. But the shortest sleep is so much longer than a call that a
 * worker with a core of its own should not sleep.
 */
static void give_way(int crowded, uint32_t calls) {
    static const struct timespec nap = {0, TERN_MAILBOX_NAP_NS};
    if (crowded && calls >= TERN_MAILBOX_YIELDS)
        nanosleep(&nap, NULL);
    else
        sched_yield();
}

static tern_internal_mailbox_ticket ticket_of(uint32_t index, uint64_t word) {
    return (tern_internal_mailbox_ticket){word, index,
                                          (uint32_t)((word & GENERATION_MASK) << 10 | index) + 1};
}

static uint64_t process_of(uint64_t word) { return word >> PROCESS_SHIFT; }

/* Returns the start time of a process as the word has it, or -1 if it cannot be read. */
static int64_t worker_started(uint64_t process) {
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    /* The second field is the program's name in parentheses, which may contain any character. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks = 0;
    if (at == NULL || sscanf(at, " %llu", &ticks) != 1)
        return -1;
    return (int64_t)(ticks & STARTED_MASK);
}

/* A zombie still has a process id and a start time; only its pidfd shows that it is dead. If the
 * start time cannot be read, because this process has no free descriptor, the start time is not
 * compared. */
static int worker_lives(uint64_t word) {
    int64_t start = worker_started(process_of(word));
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)process_of(word), 0);
    if (fd < 0)
        return errno != ESRCH && errno != EINVAL; /* no descriptor is left: the process is not known
                                                     to be dead */
    struct pollfd one = {fd, POLLIN, 0};
    int dead = poll(&one, 1, 0) > 0;
    close(fd);
    return !dead && (start < 0 || start == (int64_t)(word >> STARTED_SHIFT & STARTED_MASK));
}

/* Adds the cores of the calling thread, or none if they cannot be read. The number of cores is an
 * estimate: cores of workers that have left still count, idle workers count like busy ones, and CPU
 * quotas are not considered. */
static void add_cores(tern_mailbox_share_head *head) {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return;
    for (uint32_t core = 0; core < TERN_MAILBOX_CORES; core++)
        if (CPU_ISSET(core, &mine))
            /* R4 */
            atomic_fetch_or(&head->cores[core / 64], (uint64_t)1 << core % 64);
}

static uint32_t count_cores(tern_mailbox_share_head *head) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < TERN_MAILBOX_CORES / 64; i++)
        /* R4 */
        count += (uint32_t)__builtin_popcountll(atomic_load(&head->cores[i]));
    return count;
}

tern_status tern_internal_mailbox_enter(tern_mailbox_share *share, tern_mailbox_role role,
                                        tern_internal_mailbox_ticket *ticket) {
    int64_t start = worker_started((uint64_t)getpid());
    if (start < 0)
        return tern_fail_system("reading /proc/PID/stat of this process");
    uint64_t mine = (uint64_t)getpid() << PROCESS_SHIFT | (uint64_t)start << STARTED_SHIFT |
                    (role == TERN_MAILBOX_SERVER ? SERVER_BIT : 0);
    for (uint32_t i = 0; i < share->shape.workers; i++) {
        /* R7 */
        uint64_t word = atomic_load(&share->head->workers[i]);
        uint64_t wanted = mine | (word & GENERATION_MASK);
        if (process_of(word) != 0 ||
            !atomic_compare_exchange_strong(&share->head->workers[i], &word, wanted))
            continue;
        if (role == TERN_MAILBOX_SERVER)
            /* R7: worker_look */
            atomic_store(&share->head->served, 1);
        add_cores(share->head);
        *ticket = ticket_of(i, wanted);
        return TERN_OK;
    }
    return tern_fail(
        TERN_ERR_FULL,
        "%u workers take part in this mailbox, as many as it was made for; make it for more",
        share->shape.workers);
}

void tern_internal_mailbox_exit(tern_mailbox_share *share,
                                const tern_internal_mailbox_ticket *ticket) {
    uint64_t word = ticket->word;
    /* The flag is set here too, for a server that died before it could set the flag itself. */
    if (word & SERVER_BIT)
        /* R7: worker_look */
        atomic_store(&share->head->served, 1);
    (void)atomic_compare_exchange_strong(&share->head->workers[ticket->index], &word,
                                         (word + 1) & GENERATION_MASK);
}

int tern_internal_mailbox_next_dead(tern_mailbox_share *share, uint32_t at,
                                    tern_internal_mailbox_ticket *ticket) {
    for (uint32_t i = at; i < share->shape.workers; i++) {
        /* R7 */
        uint64_t word = atomic_load(&share->head->workers[i]);
        if (process_of(word) == 0 || worker_lives(word))
            continue;
        *ticket = ticket_of(i, word);
        return 1;
    }
    return 0;
}

/* Checks the other workers for a wait: whether one has died, whether another server lives, and
 * whether there are more workers than cores.
 *
 * It loads served before the words. In the other order, a server that joins in between could be
 * seen in served but not in the words, and the wait would report that no server lives. */
static tern_status worker_look(tern_mailbox_worker *worker, int calls) {
    tern_mailbox_share *share = worker->share;
    /* R7: tern_internal_mailbox_enter, tern_internal_mailbox_exit; served is loaded before the
     * workers */
    uint32_t served = atomic_load(&share->head->served);
    uint32_t servers = 0, all = 0;
    for (uint32_t i = 0; i < share->shape.workers; i++) {
        /* R7: tern_internal_mailbox_enter, tern_internal_mailbox_exit */
        uint64_t word = atomic_load(&share->head->workers[i]);
        if (process_of(word) == 0)
            continue;
        if (!worker_lives(word))
            return TERN_ERR_AGAIN;
        all++;
        servers += (word & SERVER_BIT) != 0 && i != worker->ticket.index;
    }
    uint32_t cores = count_cores(share->head);
    worker->crowded = cores != 0 && all > cores;
    if (calls && servers == 0 && served)
        return tern_fail(TERN_ERR_PEER, "no server of this mailbox lives any more");
    return TERN_OK;
}

tern_status tern_internal_mailbox_patience_step(tern_mailbox_patience *patience, uint32_t calls) {
    give_way(patience->worker->crowded, calls);
    uint64_t now = tern_now();
    if (patience->began == 0)
        patience->began = now;
    /* The time is kept per worker, not per wait, so that many short waits also find dead
     * workers. */
    if (now - patience->worker->looked >= LOOK_NS) {
        patience->worker->looked = now;
        tern_status status = worker_look(patience->worker, patience->calls);
        if (status != TERN_OK)
            return status;
    }
    /* For a server, having nothing to do until the timeout is no failure, so no detail text is
     * set. */
    if (now - patience->began < patience->timeout_ns)
        return TERN_OK;
    return patience->calls ? tern_fail(TERN_ERR_TIMEOUT, "no answer in the mailbox in %llu ns",
                                       (unsigned long long)patience->timeout_ns)
                           : TERN_ERR_TIMEOUT;
}
