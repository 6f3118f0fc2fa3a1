/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The machine: a core of its own for each rank, and the names of the processor and of MPI. */

#include "bench.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* What each rank tells the others. Ranks with the same boot id run on the same kernel, and so on
 * the same cores, even if their host names differ. */
typedef struct place {
    char boot_id[40], host[72];
    cpu_set_t allowed;
} place;

static void read_line(const char *path, char *line, size_t room) {
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(line, (int)room, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

/* Returns the lowest hardware thread of the core that cpu belongs to; cpu itself if that is not
 * known. */
static int core_of(int cpu) {
    char path[96], line[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    read_line(path, line, sizeof line);
    return isdigit((unsigned char)line[0]) ? atoi(line) : cpu;
}

/* Returns the index-th cpu of allowed, counting each core once; -1 if there are not so many. */
static int nth_core(const cpu_set_t *allowed, int index) {
    int seen[CPU_SETSIZE], count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        int core = core_of(cpu), known = 0;
        for (int i = 0; i < count; i++)
            known |= seen[i] == core;
        if (known)
            continue;
        if (count == index)
            return cpu;
        seen[count++] = core;
    }
    return -1;
}

static void pin_to(const cpu_set_t *cpus, int core, int *pinned) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (core >= 0)
        CPU_SET((size_t)core, &one);
    *pinned = sched_setaffinity(0, sizeof one, core >= 0 ? &one : cpus) == 0 ? core : -1;
}

/* The cores that the ranks of this kernel together may use. */
static cpu_set_t all_cores;

/* The cores that this thread was allowed before the first pinning. */
static cpu_set_t allowed_at_first(void) {
    static cpu_set_t allowed;
    if (CPU_COUNT(&allowed) == 0)
        (void)sched_getaffinity(0, sizeof allowed, &allowed);
    return allowed;
}

static int count_cores(const cpu_set_t *allowed) {
    int count = 0;
    while (nth_core(allowed, count) >= 0)
        count++;
    return count;
}

static bool is_first_of_host(const place *places, int rank) {
    for (int i = 0; i < rank; i++)
        if (strcmp(places[i].host, places[rank].host) == 0)
            return false;
    return true;
}

/* A launcher may have bound the ranks already, to any cores: the ranks of one kernel together may
 * use all of those. If there are too few, every rank may run on all of them. */
void bench_pin(bench *b) {
    place *places = calloc((size_t)b->ranks, sizeof *places);
    int *cores = calloc((size_t)b->ranks, sizeof *cores), before = 0;
    if (places == NULL || cores == NULL)
        bench_fail("calloc", TERN_ERR_MEMORY);
    place *mine = &places[b->rank];
    read_line("/proc/sys/kernel/random/boot_id", mine->boot_id, sizeof mine->boot_id);
    (void)gethostname(mine->host, sizeof mine->host - 1);
    mine->allowed = allowed_at_first();
    bench_mpi(
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, places, (int)sizeof *places, MPI_BYTE, b->comm),
        "MPI_Allgather");
    cpu_set_t cpus = mine->allowed;
    b->same_kernel = b->same_host = true;
    b->threads = b->hosts = 0;
    for (int rank = 0; rank < b->ranks; rank++) {
        const place *other = &places[rank];
        b->same_host &= strcmp(other->host, mine->host) == 0;
        b->hosts += is_first_of_host(places, rank);
        if (mine->boot_id[0] == '\0' || strcmp(other->boot_id, mine->boot_id) != 0) {
            b->same_kernel &= rank == b->rank;
            continue;
        }
        CPU_OR(&cpus, &cpus, &other->allowed);
        b->threads++;
        before += rank < b->rank;
    }
    if (b->threads == 0)
        b->threads = 1;
    b->place = before;
    b->cores = count_cores(&cpus);
    all_cores = cpus;
    if (b->options.pin)
        pin_to(&cpus, b->threads <= b->cores ? nth_core(&cpus, before) : -1, &cores[b->rank]);
    else
        cores[b->rank] = -1;
    bench_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, cores, 1, MPI_INT, b->comm), "MPI_Allgather");
    b->core[0] = cores[0];
    b->core[1] = cores[b->ranks > 1];
    free(cores);
    free(places);
}

void bench_unpin(bench *b) {
    int ignored;
    if (!b->options.pin)
        return;
    pin_to(&all_cores, -1, &ignored);
    b->core[0] = b->core[1] = -1;
}

static cpu_set_t cores_at(const bench *b, uint32_t place) {
    cpu_set_t cores = all_cores;
    int core = bench_crowded(b) ? -1 : nth_core(&all_cores, (int)place);
    if (core >= 0) {
        CPU_ZERO(&cores);
        CPU_SET((size_t)core, &cores);
    }
    return cores;
}

/* Starts a thread on its core. A thread that began on its creator's core might not get to its own
 * soon. */
static pthread_t start(const bench *b, uint32_t place, void *(*body)(void *), void *part) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    cpu_set_t cores = cores_at(b, place);
    if (b->options.pin)
        pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    if (pthread_create(&thread, &attributes, body, part) != 0)
        bench_fail("a thread", TERN_ERR_SYSTEM);
    pthread_attr_destroy(&attributes);
    return thread;
}

void bench_together(const bench *b, uint32_t first, uint32_t count, void *(*body)(void *),
                    void *parts, size_t part_bytes) {
    pthread_t threads[BENCH_TOGETHER_MOST];
    cpu_set_t cores = cores_at(b, first);
    if (count > BENCH_TOGETHER_MOST)
        bench_fail("threads", TERN_ERR_RANGE);
    if (b->options.pin)
        (void)sched_setaffinity(0, sizeof cores, &cores);
    for (uint32_t i = 1; i < count; i++)
        threads[i] = start(b, first + i, body, (char *)parts + i * part_bytes);
    body(parts);
    for (uint32_t i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Takes "MPICH 4.0.2" out of "MPICH Version:\t4.0.2\n...", and "Open MPI 4.1.4" out of "Open MPI
 * v4.1.4, package: ..."; for any other MPI the first line. */
void bench_mpi_name(char *name, size_t room) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char version[32];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "MPICH Version: %31s", version) == 1)
        snprintf(name, room, "MPICH %s", version);
    else if (sscanf(text, "Open MPI v%31[^, ]", version) == 1)
        snprintf(name, room, "Open MPI %s", version);
    else
        snprintf(name, room, "%.*s", (int)room - 1, text);
}

void bench_cpu_name(char *name, size_t room) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "unknown");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, room, "%s", colon);
        break;
    }
    fclose(file);
}
