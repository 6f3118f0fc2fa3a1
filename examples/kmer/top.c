#include "top.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* A rank's first k-mers so far, and room for as many others. When the room is full, the pairs are
 * sorted and the second half of them is dropped. */
typedef struct kmer_best {
    kmer_pair *pairs;
    size_t count, most;
} kmer_best;

static int compare_pairs(const void *a, const void *b) {
    const kmer_pair *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->kmer > y->kmer) - (x->kmer < y->kmer);
}

static void best_cut(kmer_best *best) {
    qsort(best->pairs, best->count, sizeof *best->pairs, compare_pairs);
    if (best->count > best->most)
        best->count = best->most;
}

static int best_take(const void *key, const void *value, void *argument) {
    kmer_best *best = argument;
    kmer_pair *pair = &best->pairs[best->count++];
    memcpy(&pair->kmer, key, sizeof pair->kmer);
    memcpy(&pair->count, value, sizeof pair->count);
    if (best->count == 2 * best->most)
        best_cut(best);
    return 0;
}

/* Collective. Gathers the pairs of all ranks on the first rank. counts: room for two numbers of
 * each rank. */
static int best_gather(kmer_best *best, int *counts, MPI_Comm comm, kmer_error *error) {
    int rank, ranks, mine = (int)best->count;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    size_t all = 0;
    for (int r = 0; rank == 0 && r < ranks; r++) {
        counts[ranks + r] = (int)all;
        all += (size_t)counts[r];
    }
    kmer_pair *pairs = malloc((all + 1) * sizeof *pairs);
    if (all > INT_MAX)
        kmer_fail(error, "--top: %zu k-mers of %d ranks are too many: use a smaller number", all,
                  ranks);
    if (pairs == NULL)
        kmer_fail(error, "no memory for the most frequent k-mers of all ranks");
    if (kmer_any(comm, error->exit != KMER_OK)) {
        free(pairs);
        return -1;
    }
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Gatherv(best->pairs, mine, type, pairs, counts, counts + ranks, type, 0, comm);
    MPI_Type_free(&type);
    free(best->pairs);
    best->pairs = pairs;
    best->count = all;
    return 0;
}

int kmer_top_gather(kmer_top *top, uint64_t most, uint64_t min_count, const kmer_counter *counter,
                    MPI_Comm comm, kmer_error *error) {
    if (most == 0)
        return 0;
    int ranks;
    MPI_Comm_size(comm, &ranks);
    kmer_best best = {.most = (size_t)most};
    best.pairs = malloc(2 * best.most * sizeof *best.pairs);
    int *counts = malloc(2 * (size_t)ranks * sizeof *counts);
    if (best.pairs == NULL || counts == NULL)
        kmer_fail(error, "no memory for the %zu most frequent k-mers", best.most);
    else {
        tern_status status =
            tern_hashtable_for_each(counter->worker, counter->table, best_take, &best);
        if (status != TERN_OK)
            kmer_fail_tern(error, status, "cannot read the table");
        best_cut(&best);
    }
    int result = -1;
    if (!kmer_any(comm, error->exit != KMER_OK) && best_gather(&best, counts, comm, error) == 0) {
        best_cut(&best);
        while (best.count > 0 && best.pairs[best.count - 1].count < min_count)
            best.count--;
        *top = (kmer_top){best.pairs, best.count};
        best.pairs = NULL;
        result = 0;
    }
    free(best.pairs);
    free(counts);
    return result;
}
