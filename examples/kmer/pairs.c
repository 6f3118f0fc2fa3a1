#include "dump.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

void kmer_pairs_sort(kmer_pair *pairs, kmer_pair *scratch, size_t count, unsigned bits) {
    /* Least digit first. A digit has 11 bits, so that its counters stay in the innermost cache. */
    enum { DIGIT = 11, VALUES = 1 << DIGIT };

    kmer_pair *from = pairs, *to = scratch;
    for (unsigned shift = 0; shift < bits; shift += DIGIT) {
        size_t place[VALUES] = {0};
        for (size_t i = 0; i < count; i++)
            place[from[i].kmer >> shift & (VALUES - 1)]++;
        size_t next = 0;
        for (unsigned v = 0; v < VALUES; v++) {
            size_t here = place[v];
            place[v] = next;
            next += here;
        }
        for (size_t i = 0; i < count; i++)
            to[place[from[i].kmer >> shift & (VALUES - 1)]++] = from[i];
        kmer_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs && count > 0)
        memcpy(pairs, from, count * sizeof *pairs);
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Collective. [out] bounds: the first k-mer of each rank except the first. The table has k-mers in
 * the order of their hashes, so every n-th of them is a fair sample. */
static int choose_bounds(const kmer_pair *pairs, size_t count, uint64_t *bounds, int ranks,
                         MPI_Comm comm) {
    enum { SAMPLE = 512 };

    uint64_t own[SAMPLE];
    int samples = (int)(count < SAMPLE ? count : SAMPLE), all = 0;
    for (int i = 0; i < samples; i++)
        own[i] = pairs[count / (size_t)samples * (size_t)i].kmer;

    int *counts = malloc(2 * (size_t)ranks * sizeof *counts);
    uint64_t *pool = malloc((size_t)ranks * SAMPLE * sizeof *pool);
    int result = -1;
    if (kmer_any(comm, counts == NULL || pool == NULL))
        goto out;
    int *starts = counts + ranks;
    MPI_Allgather(&samples, 1, MPI_INT, counts, 1, MPI_INT, comm);
    for (int r = 0; r < ranks; r++) {
        starts[r] = all;
        all += counts[r];
    }
    MPI_Allgatherv(own, samples, MPI_UINT64_T, pool, counts, starts, MPI_UINT64_T, comm);
    qsort(pool, (size_t)all, sizeof *pool, by_value);
    for (int r = 1; r < ranks; r++)
        bounds[r - 1] = all > 0 ? pool[(size_t)all * (size_t)r / (size_t)ranks] : 0;
    result = 0;
out:
    free(counts);
    free(pool);
    return result;
}

static int owner(uint64_t kmer, const uint64_t *bounds, int ranks) {
    int low = 0, high = ranks - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (kmer < bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Numbers by rank. */
typedef struct plan {
    uint64_t *bounds; /* of all ranks except the first */
    int *sent, *sent_at, *got, *got_at;
    size_t *next;
} plan;

static int plan_make(plan *p, int ranks) {
    size_t n = (size_t)ranks;
    p->bounds = calloc(n, sizeof *p->bounds);
    p->next = calloc(n, sizeof *p->next);
    p->sent = calloc(4 * n, sizeof *p->sent);
    if (p->bounds == NULL || p->next == NULL || p->sent == NULL)
        return -1;
    p->sent_at = p->sent + n;
    p->got = p->sent_at + n;
    p->got_at = p->got + n;
    return 0;
}

static void plan_free(plan *p) {
    free(p->bounds);
    free(p->next);
    free(p->sent);
}

/* Arranges pairs in the order of the ranks to which they go. */
static void arrange(const plan *p, const kmer_pair *pairs, size_t count, kmer_pair *arranged,
                    int ranks) {
    for (int r = 0; r < ranks; r++)
        p->next[r] = (size_t)p->sent_at[r];
    for (size_t i = 0; i < count; i++)
        arranged[p->next[owner(pairs[i].kmer, p->bounds, ranks)]++] = pairs[i];
}

/* Collective. [out] total: number of pairs that this rank gets. */
static int count_ways(const plan *p, const kmer_pair *pairs, size_t count, size_t *total, int ranks,
                      MPI_Comm comm, kmer_error *error) {
    /* MPI counts in int. */
    if (count > INT_MAX)
        kmer_fail(error, "a rank has %zu k-mers, too many to sort: use more ranks", count);
    else
        for (size_t i = 0; i < count; i++)
            p->sent[owner(pairs[i].kmer, p->bounds, ranks)]++;
    MPI_Alltoall(p->sent, 1, MPI_INT, p->got, 1, MPI_INT, comm);
    size_t out = 0, in = 0;
    for (int r = 0; r < ranks; r++) {
        p->sent_at[r] = (int)out;
        p->got_at[r] = (int)in;
        out += (size_t)p->sent[r];
        in += (size_t)p->got[r];
        if (in > INT_MAX)
            return kmer_fail(error, "a rank would get %zu k-mers, too many to sort: use more ranks",
                             in);
    }
    *total = in;
    return error->exit == KMER_OK ? 0 : -1;
}

int kmer_pairs_exchange(kmer_pair **pairs, size_t *count, MPI_Comm comm, kmer_error *error) {
    int ranks;
    MPI_Comm_size(comm, &ranks);
    if (ranks == 1)
        return 0;
    int result = -1;
    kmer_pair *arranged = NULL, *got = NULL;
    size_t total = 0;
    plan p = {0};
    if (kmer_any(comm, plan_make(&p, ranks) != 0) ||
        choose_bounds(*pairs, *count, p.bounds, ranks, comm) != 0) {
        kmer_fail(error, "no memory to sort %zu k-mers", *count);
        goto out;
    }
    if (kmer_any(comm, count_ways(&p, *pairs, *count, &total, ranks, comm, error) != 0))
        goto out;
    arranged = malloc((*count + 1) * sizeof *arranged);
    got = malloc((total + 1) * sizeof *got);
    if (arranged == NULL || got == NULL)
        kmer_fail(error, "no memory to sort %zu k-mers", *count + total);
    if (kmer_any(comm, error->exit != KMER_OK))
        goto out;

    arrange(&p, *pairs, *count, arranged, ranks);
    free(*pairs);
    *pairs = NULL;
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(arranged, p.sent, p.sent_at, type, got, p.got, p.got_at, type, comm);
    MPI_Type_free(&type);
    *pairs = got;
    *count = total;
    got = NULL;
    result = 0;
out:
    free(arranged);
    free(got);
    plan_free(&p);
    return result;
}
