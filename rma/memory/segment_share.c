#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "rma/memory/segment.h"
#include "src/collective/collective.h"
#include "src/progress/wait.h"

/*
 * Ranks pass segments as file descriptors over datagram sockets in the abstract namespace, so no
 * file lies in a file system. Each rank binds a socket with a random name, sends its descriptor to
 * every rank of its node and receives one from each. Every process of the machine can read that
 * name in /proc/net/unix and send to it. So a datagram counts only if it carries the context's
 * nonce and comes from a process of the same user, and every descriptor that is not kept is closed.
 * A filter in the kernel drops datagrams without the nonce before they take room in the socket's
 * queue, which holds some 10 datagrams; the sending process pays the time for that.
 */

typedef struct address {
    struct sockaddr_un name;
    socklen_t length;
} address;

typedef struct greeting {
    uint64_t nonce;
    uint32_t rank;
    uint32_t gives; /* 1: the datagram carries a descriptor */
} greeting;

static address make_address(const uint64_t name[2]) {
    address a;
    memset(&a, 0, sizeof a);
    a.name.sun_family = AF_UNIX;
    int length = snprintf(a.name.sun_path + 1, sizeof a.name.sun_path - 1, "tern-%016llx%016llx",
                          (unsigned long long)name[0], (unsigned long long)name[1]);
    a.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return a;
}

/* Drops every datagram that is not a greeting with this nonce. A sandbox may refuse filters; then
 * only receive_fd checks the datagrams. */
static void filter_socket(int fd, uint64_t nonce) {
    uint32_t half[2];
    memcpy(half, &nonce, sizeof half);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sizeof(greeting), 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(greeting, nonce)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[0]), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(greeting, nonce) + sizeof half[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(half[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static int open_socket(const uint64_t name[2], uint64_t nonce) {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    address a = make_address(name);
    int on = 1;
    filter_socket(fd, nonce);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&a.name, a.length) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Puts the descriptor into the message. */
static void attach_fd(struct msghdr *message, void *room, size_t bytes, int fd) {
    message->msg_control = room;
    message->msg_controllen = bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

/* Sends the greeting, with fd unless fd is -1. Returns 1: sent; 0: the receiver's queue is full;
 * -1: failed. */
static int send_fd(int socket_fd, const uint64_t to[2], const greeting *hello, int fd) {
    address a = make_address(to);
    greeting copy = *hello;
    struct iovec data = {&copy, sizeof copy};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {
        .msg_name = &a.name, .msg_namelen = a.length, .msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0)
        attach_fd(&message, control.room, sizeof control.room, fd);
    if (sendmsg(socket_fd, &message, MSG_NOSIGNAL) >= 0)
        return 1;
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

/* The descriptors that a rank has received so far. */
typedef struct inflow {
    int *fds;
    uint32_t missing; /* ranks that have sent nothing yet */
    uint32_t lost;    /* descriptors lost because this process has no free number */
} inflow;

/* What a datagram carries besides its data. */
typedef struct luggage {
    int fd; /* -1: none */
    struct ucred sender;
} luggage;

/* Keeps the first descriptor of a message and closes the others. A message may carry several, and
 * all of them are open in this process by now. */
static void keep_first(luggage *l, const struct cmsghdr *header) {
    const size_t bytes = header->cmsg_len - CMSG_LEN(0);
    for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
        if (l->fd < 0)
            l->fd = fd;
        else
            close(fd);
    }
}

static luggage unpack(struct msghdr *message) {
    luggage l = {-1, {0, (uid_t)-1, (gid_t)-1}};
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h != NULL; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET)
            continue;
        if (h->cmsg_type == SCM_RIGHTS)
            keep_first(&l, h);
        else if (h->cmsg_type == SCM_CREDENTIALS)
            memcpy(&l.sender, CMSG_DATA(h), sizeof l.sender);
    }
    return l;
}

/* Takes one datagram. False: no datagram was there. If a datagram does not count, its descriptors
 * are closed. */
static bool receive_fd(tern_context *context, int socket_fd, inflow *in) {
    greeting hello;
    memset(&hello, 0, sizeof hello);
    struct iovec data = {&hello, sizeof hello};
    union {
        char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EINTR;
    const luggage l = unpack(&message);
    const bool whole = got == (ssize_t)sizeof hello && (message.msg_flags & MSG_TRUNC) == 0;
    const bool cut = l.fd < 0 && (message.msg_flags & MSG_CTRUNC) != 0;
    const bool counts = (l.fd >= 0 || cut) == (hello.gives != 0) && whole &&
                        hello.nonce == context->nonce && l.sender.uid == geteuid() &&
                        hello.rank < context->size && hello.rank != context->rank &&
                        tern_same_node(context, hello.rank) && in->fds[hello.rank] < 0;
    if (counts) {
        in->fds[hello.rank] = l.fd;
        in->missing--;
        in->lost += cut;
    } else if (l.fd >= 0) {
        close(l.fd);
    }
    return true;
}

/* Fails for lost descriptors: the kernel drops a descriptor if the receiver has no free number for
 * it. */
static tern_status lost_fail(uint32_t lost) {
    char what[128];
    snprintf(what, sizeof what,
             "receiving the segments of this node's ranks, which needs %u more open files for a "
             "moment",
             lost);
    errno = EMFILE;
    return tern_fail_system(what);
}

/* Sends to every rank of the node. While a receiver's queue is full, this rank takes datagrams from
 * its own queue, since other ranks may wait for room there. */
static tern_status send_all(tern_context *context, int socket_fd, const uint64_t (*names)[2],
                            int fd, inflow *in) {
    const greeting hello = {context->nonce, context->rank, fd >= 0};
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    for (uint32_t r = 0; r < context->size && status == TERN_OK;) {
        const bool wanted = r != context->rank && tern_same_node(context, r);
        const int sent = wanted ? send_fd(socket_fd, names[r], &hello, fd) : 1;
        if (sent < 0)
            return tern_fail_system("sending the segment to a rank of this node");
        if (sent > 0)
            r++;
        else
            status =
                tern_wait_round(context, &wait, receive_fd(context, socket_fd, in), TERN_ANYBODY);
    }
    return status;
}

/* The argument of take. */
typedef struct taking {
    tern_context *context;
    int socket_fd;
    inflow *in;
} taking;

/* Takes datagrams while the rank waits in a collective. Each call takes at most PER_ROUND, so that
 * a process which sends faster than this rank takes cannot keep it here. */
static void take(void *argument) {
    enum { PER_ROUND = 64 };
    const taking *t = argument;
    for (int i = 0; i < PER_ROUND && receive_fd(t->context, t->socket_fd, t->in); i++) {
    }
}

/* Sends to and receives from all ranks of the node. After the agreement all ranks have sent, so
 * every datagram is in this rank's queue. If a rank could not send, all learn why. */
static tern_status segment_exchange(tern_context *context, int socket_fd,
                                    const uint64_t (*names)[2], int fd, int *fds) {
    inflow in = {fds, 0, 0};
    for (uint32_t r = 0; r < context->size; r++)
        in.missing += r != context->rank && tern_same_node(context, r);
    tern_status status = send_all(context, socket_fd, names, fd, &in);
    taking t = {context, socket_fd, &in};
    context->meanwhile = (tern_meanwhile){take, &t};
    status = tern_collective_agree(context, NULL, status, "sharing segments");
    context->meanwhile = (tern_meanwhile){NULL, NULL};
    while (status == TERN_OK && in.missing > 0)
        if (!receive_fd(context, socket_fd, &in))
            status = tern_fail(TERN_ERR_SYSTEM,
                               "the segments of %u ranks of this node did not arrive", in.missing);
    return status == TERN_OK && in.lost > 0 ? lost_fail(in.lost) : status;
}

tern_status tern_segment_share(tern_context *context, int fd, int *fds) {
    uint64_t name[2];
    uint64_t(*names)[2] = calloc(context->size, sizeof *names);
    int socket_fd = -1;
    tern_status status = TERN_OK;
    if (names == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for %u ranks", context->size);
    else if (getrandom(name, sizeof name, 0) != (ssize_t)sizeof name)
        status = tern_fail_system("getrandom");
    else if ((socket_fd = open_socket(name, context->nonce)) < 0)
        status = tern_fail_system("a socket to pass segments over");
    status = tern_collective_agree(context, NULL, status, "sharing segments");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, NULL, name, sizeof name, names);
    if (status == TERN_OK)
        status = segment_exchange(context, socket_fd, (const uint64_t(*)[2])names, fd, fds);
    /* Either all ranks have all descriptors, or all fail. */
    status = tern_collective_agree(context, NULL, status, "sharing segments");
    if (socket_fd >= 0)
        close(socket_fd);
    free(names);
    return status;
}
