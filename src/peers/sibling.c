#include "src/peers/peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/context.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

/*
 * A launcher gives each process its number in a variable of the environment. A process with that
 * variable may also be a shell that the launcher started and that started the rank; the rank is the
 * outermost process that has MPI's library in its memory. Under PMIx one daemon starts several
 * jobs, whose processes differ in their namespace.
 *
 * A rank counts as dead only if two looks miss it, and only where a look is complete: the launcher
 * is visible, this process is found in the same way, and every child of the launcher could be read
 * and has a number. If two processes have one number the look says nothing about that rank. Looks
 * go on, because an incomplete look may have met a process that soon becomes a rank, or ends.
 */

/* How long a wait has lasted when the next look is due. The first look is due at a time at which a
 * normal creation is over. At the second look all ranks have left MPI_Init, as this one has. After
 * that each look is due at twice the time of the one before. */
static uint64_t time_of_look(uint32_t looks) {
    const uint32_t doublings = looks < 20 ? looks : 20;
    return looks == 0 ? 50000000u : (uint64_t)750000000u << doublings;
}

/* Stored in place of a process: one look has missed the rank; several processes have its number. */
#define MISSED (-1)
#define AMBIGUOUS (-2)

/* How many processes may stand between the launcher and a rank. */
enum { DEPTH = 6, PATH_ROOM = 80 };

typedef struct sibling_search {
    const char *variable; /* the variable that numbers the ranks */
    uint32_t *rank;       /* of the context, by rank of MPI_COMM_WORLD; or TERN_NOBODY */
    int64_t *pid;         /* the process that was found, by rank of MPI_COMM_WORLD; 0: none;
                             AMBIGUOUS */
    const char *job;      /* the PMIx namespace of this process; NULL: it has none */
    int world;            /* ranks */
    bool incomplete;      /* it is not known whether some process is a rank */
} sibling_search;

/* Reads a file of /proc, whose size is not known in advance. The caller frees the bytes, behind
 * which a zero follows. NULL, with errno: it cannot be read. */
static char *read_proc(int64_t pid, const char *name, size_t *bytes) {
    enum { STEP = 4096 };
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%lld/%.40s", (long long)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = NULL;
    ssize_t got = 1;
    for (*bytes = 0; got > 0; *bytes += got > 0 ? (size_t)got : 0) {
        char *larger = realloc(text, *bytes + STEP + 1);
        got = larger != NULL ? read(fd, larger + *bytes, STEP) : -1;
        text = larger != NULL ? larger : text;
    }
    const int error = errno;
    close(fd);
    if (got < 0) {
        free(text);
        errno = error;
        return NULL;
    }
    text[*bytes] = 0;
    return text;
}

static bool has_gone(int error) { return error == ENOENT || error == ESRCH; }

/* Returns the value of a variable, or NULL. */
static const char *value_in(const char *environment, size_t bytes, const char *variable) {
    const size_t length = strlen(variable);
    for (size_t at = 0; at < bytes; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, variable, length) == 0 && environment[at + length] == '=')
            return environment + at + length + 1;
    return NULL;
}

/* Returns the number in the environment with which a process of this job was started; -1: it has
 * none. [out] unknown (may be NULL): set if the process exists but its environment could not be
 * read. */
static int number_of(const sibling_search *s, int64_t pid, bool *unknown) {
    size_t bytes = 0;
    char *text = read_proc(pid, "environ", &bytes);
    if (unknown != NULL && (text == NULL ? !has_gone(errno) : bytes == 0))
        *unknown = true;
    if (text == NULL)
        return -1;
    const char *number = value_in(text, bytes, s->variable);
    const char *job = s->job != NULL ? value_in(text, bytes, "PMIX_NAMESPACE") : NULL;
    const bool of_job = s->job == NULL || (job != NULL && strcmp(job, s->job) == 0);
    const int found = number != NULL && of_job ? atoi(number) : -1;
    free(text);
    return found;
}

/* Whether a process has MPI's library in its memory. [out] unknown: set if the process exists but
 * this could not be read. */
static bool has_mpi(int64_t pid, bool *unknown) {
    size_t bytes = 0;
    char *maps = read_proc(pid, "maps", &bytes);
    bool has = maps != NULL && strstr(maps, "/libmpi") != NULL;
    *unknown = *unknown || (maps == NULL && !has_gone(errno));
    free(maps);
    return has;
}

/* Returns the parent of a process; 0: there is no such process. [out] ended: the process has no
 * environment any more, because it is ending, or is a zombie. */
static int64_t parent_of(int64_t pid, bool *ended) {
    enum { EXITING = 4 }; /* the kernel's PF_EXITING */
    size_t bytes = 0;
    char *text = read_proc(pid, "stat", &bytes), state = 'X';
    const char *name_end = text != NULL ? strrchr(text, ')') : NULL;
    long long parent = 0;
    unsigned flags = 0;
    if (name_end == NULL ||
        sscanf(name_end, ") %c %lld %*d %*d %*d %*d %u", &state, &parent, &flags) != 3)
        parent = 0;
    *ended = parent == 0 || state == 'Z' || state == 'X' || (flags & EXITING) != 0;
    free(text);
    return parent;
}

static bool has_ended(int64_t pid) {
    bool ended;
    (void)parent_of(pid, &ended);
    return ended;
}

static void search_below(sibling_search *s, int64_t pid, int depth);

/* Finds the rank that a child of the launcher is, or has started. */
static void search_process(sibling_search *s, int64_t pid, int depth) {
    bool unknown = false;
    const int number = number_of(s, pid, &unknown);
    const bool numbered = number >= 0 && number < s->world;
    if (numbered && has_mpi(pid, &unknown)) {
        s->pid[number] = s->pid[number] == 0 ? pid : AMBIGUOUS;
        return;
    }
    const bool untold = unknown || depth == (numbered ? DEPTH : 0);
    s->incomplete = s->incomplete || (untold && !has_ended(pid));
    if (numbered && depth < DEPTH)
        search_below(s, pid, depth + 1);
}

/* Searches the children of each thread of a process. */
static void search_below(sibling_search *s, int64_t pid, int depth) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    s->incomplete = s->incomplete || (tasks == NULL && !has_gone(errno));
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char name[PATH_ROOM];
        size_t bytes = 0;
        snprintf(name, sizeof name, "task/%.10s/children", task->d_name);
        char *children = task->d_name[0] != '.' ? read_proc(pid, name, &bytes) : NULL;
        if (task->d_name[0] != '.' && children == NULL && !has_gone(errno))
            s->incomplete = true;
        char *at = children, *end = NULL;
        for (long child; at != NULL && (child = strtol(at, &end, 10)) > 0; at = end)
            search_process(s, child, depth);
        free(children);
    }
    if (tasks != NULL)
        closedir(tasks);
}

/* Searches from the launcher on, which is the first ancestor with another number or without one.
 * False: the launcher is not visible here. */
static bool search_all(sibling_search *s, int own) {
    int64_t launcher = getpid();
    bool ended;
    while (launcher > 1 && number_of(s, launcher, NULL) == own)
        launcher = parent_of(launcher, &ended);
    if (launcher < 1 || number_of(s, launcher, NULL) == own)
        return false;
    search_below(s, launcher, 0);
    return s->pid[own] == getpid();
}

static const char *variable_for(int own) {
    static const char *const variables[] = {"PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && atoi(value) == own)
            return variables[i];
    }
    return NULL;
}

/* Whether the launcher says that it has started all of world ranks on this machine. */
static bool are_all_on_machine(int world) {
    static const char *const variables[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && atoi(value) == world)
            return true;
    }
    return false;
}

/* Local. Finds the rank in the context of each rank of MPI_COMM_WORLD. */
static bool siblings_translate(const tern_context *context, sibling_search *s) {
    MPI_Group all = MPI_GROUP_NULL, mine = MPI_GROUP_NULL;
    int *from = calloc((size_t)s->world * 2, sizeof *from), *to = from + s->world;
    bool done = from != NULL && PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
                PMPI_Comm_group(context->comm, &mine) == MPI_SUCCESS;
    for (int i = 0; done && i < s->world; i++)
        from[i] = i;
    done = done && PMPI_Group_translate_ranks(all, s->world, from, mine, to) == MPI_SUCCESS;
    for (int i = 0; done && i < s->world; i++)
        s->rank[i] = to[i] == MPI_UNDEFINED ? TERN_NOBODY : (uint32_t)to[i];
    if (mine != MPI_GROUP_NULL)
        PMPI_Group_free(&mine);
    if (all != MPI_GROUP_NULL)
        PMPI_Group_free(&all);
    free(from);
    return done;
}

static void watch_found(tern_context *context, const sibling_search *s, bool first_look) {
    tern_peers *peers = &context->peers;
    const bool tells = !first_look && !s->incomplete && are_all_on_machine(s->world);
    for (int i = 0; i < s->world; i++) {
        const uint32_t rank = s->rank[i];
        if (rank == TERN_NOBODY || rank == context->rank || tern_peer_is_dead(peers, rank))
            continue;
        tern_sibling *sibling = tern_peer_find(peers, rank);
        if (sibling != NULL && sibling->fd >= 0)
            continue;
        if (s->pid[i] > 0)
            (void)tern_peer_watch(peers, rank, s->pid[i]); /* if it fails, tern_peers_open fails */
        else if (s->pid[i] == 0 && tells && sibling != NULL && sibling->pid == MISSED)
            tern_peer_mark_dead(peers, rank);
        else if (s->pid[i] == 0 && tells && (sibling = tern_peer_sibling(peers, rank)) != NULL)
            sibling->pid = MISSED;
    }
}

void tern_siblings_look(tern_context *context, uint64_t waited) {
    if (waited < time_of_look(context->peers.looks))
        return;
    const bool first_look = context->peers.looks++ == 0;
    sibling_search s = {0};
    int own = 0;
    tern_mpi_lock();
    if (PMPI_Comm_size(MPI_COMM_WORLD, &s.world) == MPI_SUCCESS &&
        PMPI_Comm_rank(MPI_COMM_WORLD, &own) == MPI_SUCCESS)
        s.variable = variable_for(own);
    s.job = getenv("PMIX_NAMESPACE");
    s.rank = calloc((size_t)s.world, sizeof *s.rank);
    s.pid = calloc((size_t)s.world, sizeof *s.pid);
    const bool good =
        s.variable != NULL && s.rank != NULL && s.pid != NULL && siblings_translate(context, &s);
    tern_mpi_unlock();
    if (good && search_all(&s, own) && tern_peers_make(&context->peers, context->size) == TERN_OK)
        watch_found(context, &s, first_look);
    else
        tern_log(TERN_LOG_INFO, "the other ranks are not found among the launcher's processes: a "
                                "death is not noticed before they have all come to create a "
                                "context");
    free(s.pid);
    free(s.rank);
}
