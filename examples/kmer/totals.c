#include "totals.h"

#include <inttypes.h>
#include <string.h>

#include "job.h"

static int add_up(const void *key, const void *value, void *argument) {
    (void)key;
    kmer_totals *totals = argument;
    uint64_t count;
    memcpy(&count, value, sizeof count);
    if (count < totals->min_count) {
        totals->rare += count;
        totals->rare_distinct++;
        return 0;
    }
    totals->kmers += count;
    totals->distinct++;
    totals->unique += count == 1;
    if (count > totals->largest)
        totals->largest = count;
    totals->histogram[count <= KMER_HISTOGRAM_TOP ? count : KMER_HISTOGRAM_TOP + 1]++;
    return 0;
}

int kmer_totals_gather(kmer_totals *totals, uint64_t min_count, const kmer_counter *counter,
                       MPI_Comm comm, kmer_error *error) {
    memset(totals, 0, sizeof *totals);
    totals->min_count = min_count;
    tern_status status = tern_hashtable_for_each(counter->worker, counter->table, add_up, totals);
    if (status != TERN_OK)
        kmer_fail_tern(error, status,
                       "cannot read the table"); /* all ranks learn of it by the sums */
    totals->local_distinct = totals->distinct;
    uint64_t sums[] = {totals->kmers, totals->distinct,      totals->unique,
                       totals->rare,  totals->rare_distinct, counter->loaded + counter->counted};
    MPI_Allreduce(MPI_IN_PLACE, sums, 6, MPI_UINT64_T, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &totals->largest, 1, MPI_UINT64_T, MPI_MAX, comm);
    totals->kmers = sums[0];
    totals->distinct = sums[1];
    totals->unique = sums[2];
    totals->rare = sums[3];
    totals->rare_distinct = sums[4];

    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : totals->histogram, totals->histogram,
               KMER_HISTOGRAM_TOP + 2, MPI_UINT64_T, MPI_SUM, 0, comm);
    if (sums[0] + sums[3] != sums[5])
        return kmer_fail(error,
                         "the table holds %" PRIu64 " k-mers, but %" PRIu64
                         " were loaded and counted: please report this",
                         sums[0] + sums[3], sums[5]);
    return 0;
}

int kmer_totals_write_histogram(const kmer_totals *totals, FILE *out) {
    for (unsigned count = 1; count <= KMER_HISTOGRAM_TOP + 1; count++)
        if (totals->histogram[count] > 0 &&
            fprintf(out, "%u %" PRIu64 "\n", count, totals->histogram[count]) < 0)
            return -1;
    return fflush(out);
}

const char *kmer_commas(uint64_t number, char *text) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *at = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = 0;
    return text;
}

void kmer_totals_show_histogram(const kmer_totals *totals, FILE *out) {
    enum { WIDTH = 40 };
    static const char hashes[] = "########################################";

    fprintf(out, "\n         count   k-mers\n");
    for (unsigned low = 1; low <= KMER_HISTOGRAM_TOP; low *= 2) {
        /* Ranges 1, 2 to 3, 4 to 7, ...; the last line has all the rest. */
        bool last = 2 * low > KMER_HISTOGRAM_TOP;
        unsigned high = last ? KMER_HISTOGRAM_TOP + 1 : 2 * low - 1;
        uint64_t kmers = 0;
        for (unsigned count = low; count <= high; count++)
            kmers += totals->histogram[count];
        if (kmers == 0)
            continue;
        char range[32], number[32];
        if (last)
            snprintf(range, sizeof range, "from %u", low);
        else if (low == 1)
            snprintf(range, sizeof range, "1");
        else
            snprintf(range, sizeof range, "%u to %u", low, high);
        int bar = (int)((double)WIDTH * (double)kmers / (double)totals->distinct + 0.5);
        fprintf(out, "%14s   %-15s %.*s\n", range, kmer_commas(kmers, number), bar, hashes);
    }
}
