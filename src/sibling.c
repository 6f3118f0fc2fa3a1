#include "src/sibling.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/context.h"
#include "src/log.h"
#include "src/mpi.h"

/*
 * A launcher tells each process its number by a variable of the environment. A process with that
 * variable may also be a shell that the launcher started and that started the rank; the rank is the
 * outermost process that has MPI's library in its memory. Nothing is concluded on a machine where
 * this process does not find itself in that way.
 */

/* The first look: creations that go well are over by then. The last: all ranks have come out of
 * MPI_Init, since this one has. */
#define FIRST_LOOK_NS 50000000u
#define LAST_LOOK_NS 2000000000u

/* How many processes may stand between the launcher and a rank. */
enum { DEPTH = 6, PATH_ROOM = 80 };

typedef struct search {
    const char *variable; /* that numbers the ranks */
    uint32_t *rank;       /* of the context, by rank of MPI_COMM_WORLD; or TERN_NOBODY */
    int64_t *pid;         /* that was found, by rank of MPI_COMM_WORLD; or 0 */
    int world;            /* ranks */
} search;

/* Reads a file of /proc, which says nothing of its size; NULL if there is none. The caller's; a
 * zero follows the bytes. */
static char *read_proc(int64_t pid, const char *name, size_t *bytes) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%lld/%.40s", (long long)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    ssize_t got = fd >= 0 ? 1 : 0;
    for (*bytes = 0; got > 0; *bytes += (size_t)got) {
        enum { STEP = 4096 };
        char *larger = realloc(text, *bytes + STEP + 1);
        if (larger == NULL)
            break;
        text = larger;
        got = read(fd, text + *bytes, STEP);
        text[*bytes + (size_t)(got > 0 ? got : 0)] = 0;
        if (got < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* The value of the variable in the environment that a process was started with; -1: none. */
static int number_of(int64_t pid, const char *variable) {
    size_t bytes = 0, length = strlen(variable);
    char *text = read_proc(pid, "environ", &bytes);
    int number = -1;
    if (text == NULL)
        return number;
    for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
        if (strncmp(text + at, variable, length) == 0 && text[at + length] == '=')
            number = atoi(text + at + length + 1);
    free(text);
    return number;
}

static bool has_mpi(int64_t pid) {
    size_t bytes = 0;
    char *maps = read_proc(pid, "maps", &bytes);
    bool has = maps != NULL && strstr(maps, "/libmpi") != NULL;
    free(maps);
    return has;
}

static int64_t parent_of(int64_t pid) {
    size_t bytes = 0;
    char *text = read_proc(pid, "stat", &bytes);
    const char *name_end = text != NULL ? strrchr(text, ')') : NULL;
    long long parent = 0;
    if (name_end == NULL || sscanf(name_end, ") %*c %lld", &parent) != 1)
        parent = 0;
    free(text);
    return parent;
}

static void search_below(search *s, int64_t pid, int depth);

static void search_process(search *s, int64_t pid, int depth) {
    const int number = number_of(pid, s->variable);
    if (number < 0 || number >= s->world)
        return;
    if (has_mpi(pid))
        s->pid[number] = pid;
    else if (depth < DEPTH)
        search_below(s, pid, depth + 1);
}

/* The children of each of its threads. */
static void search_below(search *s, int64_t pid, int depth) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char name[PATH_ROOM];
        size_t bytes = 0;
        snprintf(name, sizeof name, "task/%.10s/children", task->d_name);
        char *children = task->d_name[0] != '.' ? read_proc(pid, name, &bytes) : NULL;
        char *at = children, *end = NULL;
        for (long child; at != NULL && (child = strtol(at, &end, 10)) > 0; at = end)
            search_process(s, child, depth);
        free(children);
    }
    if (tasks != NULL)
        closedir(tasks);
}

/* Begins at the launcher: the first ancestor that has another number, or none. */
static void search_all(search *s, int own) {
    int64_t launcher = getpid();
    while (launcher > 1 && number_of(launcher, s->variable) == own)
        launcher = parent_of(launcher);
    if (launcher > 0)
        search_below(s, launcher, 0);
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

/* Whether the launcher says that it has started so many ranks on this machine. */
static bool are_all_here(int world) {
    static const char *const variables[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && atoi(value) == world)
            return true;
    }
    return false;
}

/* Local to this process. */
static bool translate(const tern_context *context, search *s) {
    MPI_Group all = MPI_GROUP_NULL, mine = MPI_GROUP_NULL;
    int *from = calloc((size_t)s->world * 2, sizeof *from), *to = from + s->world;
    bool done = from != NULL && PMPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
                PMPI_Comm_group(context->origin, &mine) == MPI_SUCCESS;
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

static void watch_found(tern_context *context, const search *s, bool last) {
    tern_peers *peers = &context->peers;
    for (int i = 0; i < s->world; i++) {
        const uint32_t rank = s->rank[i];
        if (rank == TERN_NOBODY || rank == context->rank || tern_peer_is_dead(peers, rank))
            continue;
        if (s->pid[i] != 0 && peers->watch[rank].fd < 0)
            (void)tern_peer_watch(peers, rank, s->pid[i]); /* tern_peers_open fails */
        else if (s->pid[i] == 0 && last && are_all_here(s->world))
            tern_peer_mark_dead(peers, rank);
    }
}

void tern_siblings_look(tern_context *context, uint64_t waited) {
    const uint32_t looks = context->peers.looks;
    if (looks > 1 || waited < (looks == 0 ? FIRST_LOOK_NS : LAST_LOOK_NS))
        return;
    context->peers.looks++;
    search s = {0};
    int own = 0;
    tern_mpi_lock();
    if (PMPI_Comm_size(MPI_COMM_WORLD, &s.world) == MPI_SUCCESS &&
        PMPI_Comm_rank(MPI_COMM_WORLD, &own) == MPI_SUCCESS)
        s.variable = variable_for(own);
    s.rank = calloc((size_t)s.world, sizeof *s.rank);
    s.pid = calloc((size_t)s.world, sizeof *s.pid);
    const bool good =
        s.variable != NULL && s.rank != NULL && s.pid != NULL && translate(context, &s);
    tern_mpi_unlock();
    if (good)
        search_all(&s, own);
    if (good && s.pid[own] == getpid() &&
        tern_peers_make(&context->peers, context->size) == TERN_OK)
        watch_found(context, &s, looks > 0);
    else
        tern_log(TERN_LOG_INFO, "the other ranks are not found among the launcher's processes: a "
                                "death is not noticed before they have all come to create a "
                                "context");
    free(s.pid);
    free(s.rank);
}
