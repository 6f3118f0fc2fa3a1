/*
 * The same by MPI alone: lists in arrays, a vertex belongs to the rank that a hash says, and one
 * MPI_Alltoallv for the edges and one for the offers of each step.
 */
#include <limits.h>

#include "job.h"

/* For each rank, and from all ranks: edges; or offers, with the vertex in from and the value in to.
 */
static edges *out;
static edge *in;
static size_t in_count;
static uint32_t rank, size;

static uint32_t owner(uint64_t vertex) { return (uint32_t)(mix(~vertex) % size); }

/* [out] at: where the items of each rank begin, of which there are counts. Returns their sum. */
static size_t positions(const int *counts, int *at) {
    size_t sum = 0;
    for (uint32_t r = 0; r < size; r++) {
        at[r] = (int)sum;
        sum += (size_t)counts[r];
        if (sum > INT_MAX)
            give_up("MPI_Alltoallv takes 2^31 - 1 items at most: take more ranks");
    }
    return sum;
}

/* Sends the pairs in out to their ranks, and empties out. The pairs of all ranks are in in. */
static void exchange(void) {
    int *counts = need(NULL, (size_t)4 * size, sizeof *counts);
    int *out_at = counts + size, *in_counts = out_at + size, *in_at = in_counts + size;
    for (uint32_t r = 0; r < size; r++) {
        if (out[r].count > INT_MAX)
            give_up("MPI_Alltoallv takes 2^31 - 1 items at most: take more ranks");
        counts[r] = (int)out[r].count;
    }
    MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, MPI_COMM_WORLD);
    edge *sent = need(NULL, positions(counts, out_at), sizeof *sent);
    for (uint32_t r = 0; r < size; r++) {
        for (size_t i = 0; i < out[r].count; i++)
            sent[(size_t)out_at[r] + i] = out[r].at[i];
        out[r].count = 0;
    }
    in_count = positions(in_counts, in_at);
    in = need(in, in_count, sizeof *in);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Alltoallv(sent, counts, out_at, pair, in, in_counts, in_at, pair, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    free(sent);
    free(counts);
}

static void open_mpi(const job *j, lists *l) {
    rank = j->rank;
    size = j->size;
    out = need(NULL, size, sizeof *out);
    for (uint32_t r = 0; r < size; r++)
        out[r] = (edges){0};
    for (size_t i = 0; i < j->mine.count; i++) {
        const edge *e = &j->mine.at[i];
        edges_add(&out[owner(e->from)], e->from, e->to);
        edges_add(&out[owner(e->to)], e->to, e->from);
    }
    exchange();
    const edges arcs = {in, in_count, in_count};
    lists_make(l, &arcs);
}

static uint64_t turn_mpi(spread *s) {
    spread_turn(s);
    uint64_t vertices = s->now_count;
    MPI_Allreduce(MPI_IN_PLACE, &vertices, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return vertices;
}

static void step_mpi(spread *s) {
    const lists *l = s->lists;
    for (size_t i = 0; i < s->now_count; i++) {
        size_t slot = s->now[i];
        uint64_t value = s->rule(l->vertex[slot], s->value[slot]);
        for (size_t n = l->start[slot]; n < l->start[slot + 1]; n++) {
            uint64_t vertex = l->neighbour[n];
            if (owner(vertex) == rank)
                spread_offer(s, vertex, value);
            else
                edges_add(&out[owner(vertex)], vertex, value);
        }
    }
    exchange();
    for (size_t i = 0; i < in_count; i++)
        spread_offer(s, in[i].from, in[i].to);
}

static void close_mpi(void) {
    for (uint32_t r = 0; r < size; r++)
        edges_free(&out[r]);
    free(out);
    free(in);
    in = NULL;
}

const method by_mpi = {"mpi", open_mpi, turn_mpi, step_mpi, close_mpi};
