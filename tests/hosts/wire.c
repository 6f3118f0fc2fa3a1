/*
 * wire HOST HOST DELAY JITTER LOSS LATE SEED: a bad link between the network namespaces of two
 * hosts. Each gets a device eth0, and what one sends arrives at the other after DELAY microseconds,
 * give or take JITTER. LOSS frames of 1,000 never arrive. LATE frames of 1,000 take three times as
 * long and half a millisecond more, so others overtake them. Ends on SIGTERM and prints how many
 * frames it saw.
 */

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_BYTES = 2048, FRAMES = 16384 };

typedef struct frame {
    uint64_t due; /* ns */
    int to;
    ssize_t bytes;
    char data[FRAME_BYTES];
} frame;

static volatile sig_atomic_t ended;

static struct {
    int device[2];
    uint64_t delay, jitter; /* ns */
    unsigned loss, late;    /* of 1,000 */
    uint64_t random;
    frame *held[FRAMES]; /* a heap, the frame that is due first on top */
    frame *spare[FRAMES];
    size_t held_count, spare_count;
    unsigned long seen, lost, delayed;
} wire;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t draw(uint64_t below) {
    wire.random ^= wire.random << 13;
    wire.random ^= wire.random >> 7;
    wire.random ^= wire.random << 17;
    return below == 0 ? 0 : wire.random % below;
}

/* Makes eth0 of a host; frames are read from it and written to it. */
static int device_open(const char *host) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    char path[128];
    snprintf(path, sizeof path, "/var/run/netns/%s", host);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(path);
    close(space);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    memcpy(request.ifr_name, "eth0", sizeof "eth0");
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0)
        fail("/dev/net/tun");
    return device;
}

static void swap(size_t a, size_t b) {
    frame *held = wire.held[a];
    wire.held[a] = wire.held[b];
    wire.held[b] = held;
}

static void hold(frame *f) {
    size_t at = wire.held_count++;
    wire.held[at] = f;
    for (; at > 0 && wire.held[(at - 1) / 2]->due > wire.held[at]->due; at = (at - 1) / 2)
        swap(at, (at - 1) / 2);
}

static frame *take_first(void) {
    frame *first = wire.held[0];
    wire.held[0] = wire.held[--wire.held_count];
    for (size_t at = 0, child; (child = 2 * at + 1) < wire.held_count; at = child) {
        if (child + 1 < wire.held_count && wire.held[child + 1]->due < wire.held[child]->due)
            child++;
        if (wire.held[at]->due <= wire.held[child]->due)
            break;
        swap(at, child);
    }
    return first;
}

/* Reads a frame of a device. False: no frame has come. When too many are held the frame is lost. */
static bool receive(int from) {
    static frame none;
    frame *f = wire.spare_count > 0 ? wire.spare[--wire.spare_count] : &none;
    f->bytes = read(wire.device[from], f->data, sizeof f->data);
    const bool came = f->bytes > 0;
    wire.seen += came;
    const bool drops = came && (f == &none || draw(1000) < wire.loss);
    wire.lost += drops;
    if (!came || drops) {
        if (f != &none)
            wire.spare[wire.spare_count++] = f;
        return came;
    }
    f->to = 1 - from;
    f->due = now() + wire.delay - wire.jitter + draw(2 * wire.jitter + 1);
    if (draw(1000) < wire.late) {
        f->due += 2 * wire.delay + 500000u;
        wire.delayed++;
    }
    hold(f);
    return true;
}

static void deliver(void) {
    while (wire.held_count > 0 && wire.held[0]->due <= now()) {
        frame *f = take_first();
        if (write(wire.device[f->to], f->data, (size_t)f->bytes) < 0)
            wire.lost++;
        wire.spare[wire.spare_count++] = f;
    }
}

static void run(void) {
    enum { AT_ONCE = 64 };
    struct pollfd look[2] = {{.fd = wire.device[0], .events = POLLIN},
                             {.fd = wire.device[1], .events = POLLIN}};
    while (!ended) {
        deliver();
        const uint64_t at = now(), longest = 100000000u;
        uint64_t left = longest;
        if (wire.held_count > 0)
            left = wire.held[0]->due > at ? wire.held[0]->due - at : 0;
        const struct timespec pause = {0, (long)(left < longest ? left : longest - 1)};
        if (ppoll(look, 2, &pause, NULL) <= 0)
            continue;
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < AT_ONCE && receive(i); k++)
                ;
    }
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: wire HOST HOST DELAY_US JITTER_US LOSS LATE SEED\n");
        return 2;
    }
    for (int i = 0; i < 2; i++)
        wire.device[i] = device_open(argv[1 + i]);
    wire.delay = strtoull(argv[3], NULL, 10) * 1000u;
    wire.jitter = strtoull(argv[4], NULL, 10) * 1000u;
    wire.loss = (unsigned)strtoul(argv[5], NULL, 10);
    wire.late = (unsigned)strtoul(argv[6], NULL, 10);
    wire.random = strtoull(argv[7], NULL, 10) * 2 + 1;
    if (wire.jitter > wire.delay)
        wire.jitter = wire.delay;
    frame *frames = calloc(FRAMES, sizeof *frames);
    if (frames == NULL)
        fail("memory");
    for (; wire.spare_count < FRAMES; wire.spare_count++)
        wire.spare[wire.spare_count] = &frames[wire.spare_count];
    signal(SIGTERM, end);
    run();
    printf("wire: %lu frames, %lu lost, %lu late\n", wire.seen, wire.lost, wire.delayed);
    free(frames);
    return wire.seen > 0 ? 0 : 1;
}
