// tern-test: ranks least=2

/* Processes that are no rank of the job send to the sockets over which ranks pass their segments
 * (rma/memory/segment_share.c). Each message carries two open files. */

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "src/context.h"

enum { MESSAGES = 20, NOBODY = 65534, CONTEXTS = 3 };

typedef struct target {
    struct sockaddr_un name;
    socklen_t length;
    bool floods;
} target;

static struct {
    pid_t pid;
    int ask[2], answer[2];
    bool on, floods;
    uint32_t sent; /* messages that the kernel has taken from it */
} stranger;

static struct {
    bool no_filter;    /* the system refuses filters */
    bool surplus;      /* ranks send one file more than they should */
    uint32_t received; /* messages that have come to this rank */
} play;

static bool is_terns(const struct sockaddr *name) {
    const struct sockaddr_un *un = (const void *)name;
    return name->sa_family == AF_UNIX && memcmp(un->sun_path, "\0tern-", 6) == 0;
}

/* A stranger has sent to the socket before anybody else does. */
int bind(int fd, const struct sockaddr *name, socklen_t length) {
    const int bound = (int)syscall(SYS_bind, fd, name, length);
    if (bound != 0 || !stranger.on || !is_terns(name))
        return bound;
    target to = {.length = length, .floods = stranger.floods};
    uint32_t sent = 0;
    memcpy(&to.name, name, length);
    CU_ASSERT_EQUAL(write(stranger.ask[1], &to, sizeof to), (ssize_t)sizeof to);
    CU_ASSERT_EQUAL(read(stranger.answer[0], &sent, sizeof sent), (ssize_t)sizeof sent);
    stranger.sent += sent;
    return bound;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes) {
    if (play.no_filter && level == SOL_SOCKET && name == SO_ATTACH_FILTER) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, bytes);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    const ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
    play.received += got >= 0 && (flags & MSG_CMSG_CLOEXEC) != 0;
    return got;
}

typedef union two_files {
    char room[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
} two_files;

static void attach_two(struct msghdr *message, two_files *control, const int fds[2]) {
    memset(control, 0, sizeof *control);
    message->msg_control = control->room;
    message->msg_controllen = sizeof control->room;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), fds, 2 * sizeof(int));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    struct msghdr more = *message;
    two_files control;
    if (play.surplus && message->msg_name != NULL && is_terns(message->msg_name)) {
        int fds[2];
        memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof *fds);
        fds[1] = fds[0];
        attach_two(&more, &control, fds);
    }
    return syscall(SYS_sendmsg, fd, &more, flags);
}

/* As long as a greeting. */
static bool stranger_sends(int fd, target *to, const int fds[2]) {
    uint64_t data[2] = {0, 1};
    struct iovec iov = {data, sizeof data};
    two_files control;
    struct msghdr message = {
        .msg_name = &to->name, .msg_namelen = to->length, .msg_iov = &iov, .msg_iovlen = 1};
    attach_two(&message, &control, fds);
    return syscall(SYS_sendmsg, fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Until the socket is gone, or the next one is there. */
static void stranger_floods(int fd, target *to, const int fds[2]) {
    struct pollfd next = {.fd = stranger.ask[0], .events = POLLIN};
    while (poll(&next, 1, 0) == 0 && (stranger_sends(fd, to, fds) || errno == EAGAIN)) {
    }
}

static void stranger_lives(uid_t user) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (user != getuid() && (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(user) != 0))
        _exit(1);
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    const int fds[2] = {stranger.ask[0], stranger.answer[1]};
    target to;
    while (read(stranger.ask[0], &to, sizeof to) == (ssize_t)sizeof to) {
        uint32_t sent = 0;
        for (int i = 0; i < MESSAGES; i++)
            sent += stranger_sends(fd, &to, fds);
        if (write(stranger.answer[1], &sent, sizeof sent) != (ssize_t)sizeof sent)
            break;
        if (to.floods)
            stranger_floods(fd, &to, fds);
    }
    _exit(0);
}

static void stranger_comes(uid_t user) {
    stranger.sent = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(stranger.ask), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(stranger.answer), 0);
    stranger.pid = fork();
    CU_ASSERT_FATAL(stranger.pid >= 0);
    if (stranger.pid == 0) {
        close(stranger.ask[1]);
        close(stranger.answer[0]);
        stranger_lives(user);
    }
    close(stranger.ask[0]);
    close(stranger.answer[1]);
    stranger.on = true;
}

static void stranger_goes(void) {
    int status = 0;
    stranger.on = false;
    close(stranger.ask[1]);
    CU_ASSERT_EQUAL(waitpid(stranger.pid, &status, 0), stranger.pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(stranger.answer[0]);
}

static int open_files(void) {
    int count = 0;
    DIR *files = opendir("/proc/self/fd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(files);
    while (readdir(files) != NULL)
        count++;
    closedir(files);
    return count;
}

/* A context, and memory of another rank in it. [out] others: the other ranks of this node. */
static bool open_and_close(uint32_t *others) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return false;
    tern_ptr all[64];
    uint64_t mine = f.rank + 1, got = 0;
    *others = 0;
    for (uint32_t r = 0; r < f.size; r++)
        *others += r != f.rank && tern_same_node(f.context, r);
    fixture_alloc_all(&f, sizeof mine, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_put(f.worker, all[(f.rank + 1) % f.size], &mine, sizeof mine));
    EXPECT_OK(tern_flush_all(f.worker));
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_get(f.worker, &got, all[f.rank], sizeof got));
    CU_ASSERT_EQUAL(got, (f.rank + f.size - 1) % f.size + 1);
    fixture_close(&f);
    return true;
}

/* Contexts beside a stranger leave no file open. Returns how many messages were not of ranks. */
static uint32_t contexts_beside(uid_t user) {
    uint32_t others = 0;
    if (!open_and_close(&others)) /* MPI opens files when it is used for the first time */
        return 0;
    stranger_comes(user);
    const int before = open_files();
    play.received = 0;
    for (int i = 0; i < CONTEXTS; i++)
        (void)open_and_close(&others);
    CU_ASSERT_EQUAL(open_files(), before);
    stranger_goes();
    CU_ASSERT(stranger.sent > 0);
    CU_ASSERT(play.received >= CONTEXTS * others);
    return play.received - CONTEXTS * others;
}

static bool may_become_nobody(void) {
    if (geteuid() == 0)
        return true;
    tern_test_lack("only root can start a process of another user");
    return false;
}

/* The process belongs to the same user, but does not know the nonce. */
static void files_of_the_same_user(void) {
    play.no_filter = true;
    CU_ASSERT(contexts_beside(getuid()) > 0);
    play.no_filter = false;
}

static void files_of_another_user(void) {
    if (!may_become_nobody())
        return;
    play.no_filter = true;
    CU_ASSERT(contexts_beside(NOBODY) > 0);
    play.no_filter = false;
}

/* The kernel takes each message from the stranger, and gives none to a rank. */
static void a_flood_is_not_received(void) {
    if (!may_become_nobody())
        return;
    stranger.floods = true;
    CU_ASSERT_EQUAL(contexts_beside(NOBODY), 0);
    CU_ASSERT_EQUAL(stranger.sent, CONTEXTS * MESSAGES);
    stranger.floods = false;
}

/* Where there is no filter a rank takes some of the flood between its own steps. Ranks and the
 * stranger compete for room in queues of some 10 messages, which takes seconds. */
static void a_flood_without_a_filter(void) {
    if (!tern_test_full()) {
        tern_test_skip("in full runs");
        return;
    }
    if (!may_become_nobody())
        return;
    stranger.floods = play.no_filter = true;
    CU_ASSERT(contexts_beside(NOBODY) > 0);
    stranger.floods = play.no_filter = false;
}

/* A rank sends its segment twice in one message. */
static void surplus_of_a_rank(void) {
    uint32_t others = 0;
    if (!open_and_close(&others))
        return;
    const int before = open_files();
    play.surplus = true;
    (void)open_and_close(&others);
    play.surplus = false;
    CU_ASSERT_EQUAL(open_files(), before);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"files_of_the_same_user", files_of_the_same_user},
        {"files_of_another_user", files_of_another_user},
        {"a_flood_is_not_received", a_flood_is_not_received},
        {"a_flood_without_a_filter", a_flood_without_a_filter},
        {"surplus_of_a_rank", surplus_of_a_rank},
    };
    return tern_test_main(argc, argv, "segment_strangers", tests, sizeof tests / sizeof *tests);
}
