// tern-test: ranks survivors least=2

/* The looks for ranks among the launcher's processes (src/peers/sibling.c). A look that meets a
 * process that may be a rank and cannot be told says nothing of deaths; the looks behind it do. */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "src/context.h"
#include "src/peers/peers.h"
#include "survivors.h"

/* Longer than a rank waits for any look, in nanoseconds. */
static const uint64_t long_ns = UINT64_MAX;

/* Shells between the launcher and a process: more than a look goes through, and fewer. */
enum { MANY = 8, FEW = 1 };

/* Shells, one below the other, and below them a process that stays. Each shell has something left
 * to do, so that it does not become what it starts. */
static char shells[] = "[ $1 -gt 0 ] || { echo; exec sleep 60; }\n"
                       "sh -c \"$0\" \"$0\" $(($1 - 1))\n"
                       "true\n";

static int watch_process(int64_t pid) { return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); }

/* Closes what watch_process has given once the process is gone. */
static void await_end(int watch) {
    struct pollfd end = {watch, POLLIN, 0};
    CU_ASSERT_FATAL(watch >= 0);
    while (poll(&end, 1, -1) != 1)
        ;
    close(watch);
}

/* Starts such a process with the number of rank, as a sibling of this process. The lowest one has
 * come when this returns. */
static int64_t stranger_start(int rank, int depth) {
    int come[2];
    char byte, levels[12], numbers[2][40], job[300] = "JOB=";
    CU_ASSERT_FATAL(pipe(come) == 0);
    snprintf(levels, sizeof levels, "%d", depth);
    snprintf(numbers[0], sizeof numbers[0], "PMI_RANK=%d", rank);
    snprintf(numbers[1], sizeof numbers[1], "PMIX_RANK=%d", rank);
    if (getenv("PMIX_NAMESPACE") != NULL)
        snprintf(job, sizeof job, "PMIX_NAMESPACE=%s", getenv("PMIX_NAMESPACE"));
    char *const arguments[] = {"sh", "-c", shells, shells, levels, NULL};
    char *const environment[] = {"PATH=/usr/bin:/bin", numbers[0], numbers[1], job, NULL};
    /* The parent is this process's own, which waits here until the shell runs. */
    const long pid = syscall(SYS_clone, CLONE_PARENT | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0);
    if (pid == 0) {
        setpgid(0, 0);
        dup2(come[1], STDOUT_FILENO);
        execve("/bin/sh", arguments, environment);
        _exit(1);
    }
    CU_ASSERT_FATAL(pid > 0);
    close(come[1]);
    CU_ASSERT_EQUAL(read(come[0], &byte, 1), 1);
    close(come[0]);
    return pid;
}

static void stranger_end(int64_t pid) {
    const int watch = watch_process(pid);
    CU_ASSERT_EQUAL(kill((pid_t)-pid, SIGKILL), 0);
    await_end(watch);
}

/* What the looks know: of a context that is being created and whose ranks have not told each other
 * who they are. */
static tern_context *context_begin(void) {
    tern_context *context = calloc(1, sizeof *context);
    CU_ASSERT_FATAL(context != NULL);
    context->comm = MPI_COMM_WORLD;
    context->rank = (uint32_t)tern_test_rank();
    context->size = (uint32_t)tern_test_size();
    atomic_init(&context->peers.first, TERN_NOBODY);
    return context;
}

static void context_end(tern_context *context) {
    tern_peers_close(&context->peers);
    free(context);
}

/* So many looks find no death. */
static void look_in_vain(tern_context *context, int looks) {
    for (int i = 0; i < looks; i++)
        tern_siblings_look(context, long_ns);
    tern_peers_look(&context->peers);
    CU_ASSERT_EQUAL(tern_peers_dead(&context->peers), TERN_NOBODY);
}

/* The next look finds that death, and no other; or one behind it, as a look may meet a process of
 * the launcher that is about to run a program. */
static void look_and_find(tern_context *context, uint32_t victim) {
    do {
        tern_siblings_look(context, long_ns);
        tern_peers_look(&context->peers);
    } while (tern_peers_dead(&context->peers) == TERN_NOBODY);
    for (uint32_t r = 0; r < context->size; r++)
        CU_ASSERT_EQUAL(tern_peer_is_dead(&context->peers, r), r == victim);
}

/* The first look comes early, and two have to miss the rank. */
static void third_look_finds_a_death(int victim) {
    tern_context *context = context_begin();
    look_in_vain(context, 2);
    look_and_find(context, (uint32_t)victim);
    context_end(context);
}

static void shell_of_the_dead_is_not_the_rank(int victim) {
    const int64_t shell = stranger_start(victim, FEW);
    third_look_finds_a_death(victim);
    stranger_end(shell);
}

static void looks_go_on_until_all_can_be_told(int victim) {
    tern_context *context = context_begin();
    const int64_t shell = stranger_start(victim, MANY);
    look_in_vain(context, 5);
    stranger_end(shell);
    look_in_vain(context, 1);
    look_and_find(context, (uint32_t)victim);
    context_end(context);
}

static void a_rank_is_dead(void) {
    const int victim = tern_test_size() - 1;
    bool mine[2] = {false, false}, any[2];
    int64_t pid = getpid();
    MPI_Bcast(&pid, 1, MPI_INT64_T, victim, MPI_COMM_WORLD);
    const int watch = tern_test_rank() != victim ? watch_process(pid) : -1;
    tern_board_meet(mine, any);
    if (tern_test_rank() == victim)
        die_outside_mpi();
    await_end(watch);
    if (tern_test_rank() != 0)
        return;
    third_look_finds_a_death(victim);
    shell_of_the_dead_is_not_the_rank(victim);
    looks_go_on_until_all_can_be_told(victim);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a rank is dead", a_rank_is_dead}};
    return tern_test_main(argc, argv, "siblings", tests, 1);
}
