#include "job.h"

#include <inttypes.h>
#include <limits.h>

/* The runs of one method. */
typedef struct {
    const method *method;
    lists lists;
    spread search, components;
    outcome outcome;
    answer *answers; /* of this rank's vertices */
} run;

/* For numbers below 2^63: MPICH 4.0 compares MPI_UINT64_T with a sign. */
static uint64_t reduce(uint64_t number, MPI_Op op) {
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    return number;
}

/* Collective. The first rank with a reason prints it. */
static void report_edges(const job *j, const char *why) {
    uint64_t first = reduce(why != NULL ? j->rank : j->size, MPI_MIN);
    if (first == j->rank)
        fprintf(stderr, "graph: %s\n", why);
}

/* Draws or reads this rank's edges. Returns whether there is a graph. */
static bool get_edges(job *j) {
    const options *o = j->options;
    char why[1024];
    bool good = true;
    if (o->file != NULL)
        good = edges_read(&j->mine, o->file, j->rank, j->size, why, sizeof why);
    else {
        uint64_t all = o->edges << o->scale, share = all / j->size, rest = all % j->size;
        uint64_t first = share * j->rank + (j->rank < rest ? j->rank : rest);
        edges_draw(&j->mine, first, share + (j->rank < rest), o->scale, o->seed);
    }
    if (reduce(!good, MPI_MAX) > 0) {
        report_edges(j, good ? NULL : why);
        return false;
    }
    for (size_t i = 0; i < j->mine.count; i++) {
        const edge *e = &j->mine.at[i];
        uint64_t larger = e->from > e->to ? e->from : e->to;
        j->largest = larger > j->largest ? larger : j->largest;
    }
    j->largest = reduce(j->largest, MPI_MAX);
    j->all = reduce(j->mine.count, MPI_SUM);
    if (j->all == 0 && j->rank == 0)
        fprintf(stderr, "graph: %s has no edges\n", o->file);
    return j->all > 0;
}

/* Counts vertices and edges, and finds the source. Returns whether the graph has it. */
static bool look_at_graph(const job *j, run *r) {
    const lists *l = &r->lists;
    outcome *out = &r->outcome;
    uint64_t arcs = 0, most = 0, source = VERTEX_MOST;
    for (size_t slot = 0; slot < l->vertices; slot++) {
        arcs += lists_degree(l, slot);
        most = lists_degree(l, slot) > most ? lists_degree(l, slot) : most;
    }
    out->vertices = reduce(l->vertices, MPI_SUM);
    out->edges = reduce(arcs, MPI_SUM) / 2;
    out->most = reduce(most, MPI_MAX);
    for (size_t slot = 0; slot < l->vertices; slot++)
        if (lists_degree(l, slot) == out->most && l->vertex[slot] < source)
            source = l->vertex[slot];
    out->source = reduce(source, MPI_MIN);
    if (!j->options->source_given)
        return true;
    out->source = j->options->source;
    if (reduce(lists_slot(l, out->source) != NO_SLOT, MPI_MAX) > 0)
        return true;
    if (j->rank == 0)
        fprintf(stderr, "graph: no edge has vertex %" PRIu64 ": choose another --source\n",
                out->source);
    return false;
}

/* Returns the number of steps until nothing changes. */
static uint64_t spread_all(const method *m, spread *s) {
    uint64_t steps = 0;
    while (m->turn(s) > 0) {
        m->step(s);
        steps++;
    }
    return steps;
}

static void begin_search(const run *r, spread *s) {
    spread_open(s, &r->lists, spread_search_rule);
    if (lists_slot(&r->lists, r->outcome.source) != NO_SLOT)
        spread_begin_search(s, r->outcome.source);
}

static void begin_components(const run *r, spread *s) {
    spread_open(s, &r->lists, spread_components_rule);
    spread_begin_components(s);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs it as often as the options say. Returns the median of the times of the slowest rank. [out]
 * s: the last one, which the caller closes. [out] steps. */
static double repeat(const job *j, const run *r, void (*begin)(const run *, spread *), spread *s,
                     uint64_t *steps) {
    unsigned iterations = j->options->iterations;
    double *seconds = need(NULL, iterations, sizeof *seconds);
    for (unsigned i = 0; i < iterations; i++) {
        if (i > 0)
            spread_close(s);
        begin(r, s);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        *steps = spread_all(r->method, s);
        seconds[i] = MPI_Wtime() - start;
    }
    MPI_Allreduce(MPI_IN_PLACE, seconds, (int)iterations, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(seconds, iterations, sizeof *seconds, compare);
    double median = seconds[iterations / 2];
    free(seconds);
    return median;
}

static void collect_answers(run *r) {
    const lists *l = &r->lists;
    uint64_t arcs = 0;
    r->answers = need(NULL, l->vertices, sizeof *r->answers);
    for (size_t slot = 0; slot < l->vertices; slot++) {
        r->answers[slot] =
            (answer){l->vertex[slot], r->search.value[slot], r->components.value[slot]};
        arcs += r->search.value[slot] != NO_VALUE ? lists_degree(l, slot) : 0;
    }
    digest *d = &r->outcome.digest;
    *d = answers_digest(r->answers, l->vertices);
    MPI_Allreduce(MPI_IN_PLACE, d, sizeof *d / sizeof(uint64_t), MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    r->outcome.searched = reduce(arcs, MPI_SUM) / 2;
}

/* Returns whether all went well. */
static bool run_method(const job *j, const method *m, run *r) {
    *r = (run){.method = m};
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    m->open(j, &r->lists);
    r->outcome.open = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &r->outcome.open, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bool good = look_at_graph(j, r);
    if (good) {
        uint64_t steps = 0;
        r->outcome.search = repeat(j, r, begin_search, &r->search, &steps);
        r->outcome.levels = steps;
        r->outcome.components = repeat(j, r, begin_components, &r->components, &steps);
        r->outcome.components_steps = steps;
        collect_answers(r);
        spread_close(&r->search);
        spread_close(&r->components);
    }
    m->close();
    return good;
}

/* Returns all answers on rank 0, and NULL on other ranks. */
static answer *gather_answers(const job *j, const run *r) {
    if (r->outcome.vertices > INT_MAX)
        give_up("--check takes graphs of 2^31 - 1 vertices at most");
    MPI_Datatype type;
    MPI_Type_contiguous(sizeof(answer) / sizeof(uint64_t), MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    int mine = (int)r->lists.vertices, *counts = need(NULL, (size_t)2 * j->size, sizeof *counts);
    int *at = counts + j->size;
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    at[0] = 0;
    for (uint32_t k = 1; j->rank == 0 && k < j->size; k++)
        at[k] = at[k - 1] + counts[k - 1];
    answer *all = j->rank == 0 ? need(NULL, (size_t)r->outcome.vertices, sizeof *all) : NULL;
    MPI_Gatherv(r->answers, mine, type, all, counts, at, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    free(counts);
    return all;
}

/* Rank 0 draws or reads the whole graph anew. Returns, on all ranks, whether the answers are right.
 */
static bool check_answers(const job *j, const run *r) {
    const options *o = j->options;
    answer *all = gather_answers(j, r);
    char why[1024];
    int good = 1;
    if (j->rank == 0) {
        edges whole = {0};
        if (o->file == NULL)
            edges_draw(&whole, 0, o->edges << o->scale, o->scale, o->seed);
        else
            good = edges_read(&whole, o->file, 0, 1, why, sizeof why);
        good = good && answers_check(all, (size_t)r->outcome.vertices, &whole, r->outcome.source,
                                     why, sizeof why);
        if (!good)
            fprintf(stderr, "graph: by %s: %s\n", r->method->name, why);
        edges_free(&whole);
    }
    free(all);
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return good;
}

static bool same(const job *j, const digest *tern, const digest *mpi) {
    if (tern->reached == mpi->reached && tern->levels == mpi->levels &&
        tern->components == mpi->components && tern->hashes == mpi->hashes)
        return true;
    if (j->rank == 0)
        fprintf(stderr, "graph: tern and MPI alone have different answers: --check says more\n");
    return false;
}

int job_run(const options *o) {
    job j = {.options = o};
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    j.rank = (uint32_t)rank;
    j.size = (uint32_t)size;
    run runs[2] = {{.method = &by_tern}, {.method = &by_mpi}};
    unsigned count = o->mpi ? 2 : 1;
    bool good = get_edges(&j);
    for (unsigned i = 0; good && i < count; i++)
        good =
            run_method(&j, runs[i].method, &runs[i]) && (!o->check || check_answers(&j, &runs[i]));
    if (good && o->mpi)
        good = same(&j, &runs[0].outcome.digest, &runs[1].outcome.digest);
    if (good && j.rank == 0)
        print_outcome(&j, &runs[0].outcome, o->mpi ? &runs[1].outcome : NULL);
    for (unsigned i = 0; i < count; i++) {
        free(runs[i].answers);
        lists_free(&runs[i].lists);
    }
    edges_free(&j.mine);
    return good ? 0 : 1;
}
