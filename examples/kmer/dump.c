#include "dump.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

typedef struct collection {
    kmer_pair *next;
    uint64_t min_count;
} collection;

static int collect(const void *key, const void *value, void *argument) {
    collection *c = argument;
    memcpy(&c->next->kmer, key, sizeof(uint64_t));
    memcpy(&c->next->count, value, sizeof(uint64_t));
    /* The next one takes the place of one that was counted too seldom. */
    if (c->next->count >= c->min_count)
        c->next++;
    return 0;
}

static unsigned digits(uint64_t number) {
    unsigned count = 1;
    for (; number > 9; number /= 10)
        count++;
    return count;
}

static uint64_t text_size(const kmer_pair *pairs, size_t count, unsigned k) {
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += k + 2 + digits(pairs[i].count);
    return size;
}

static size_t write_line(char *text, const kmer_pair *pair, unsigned k) {
    kmer_write(pair->kmer, k, text);
    text[k] = ' ';
    unsigned length = digits(pair->count);
    uint64_t number = pair->count;
    for (unsigned i = length; i-- > 0; number /= 10)
        text[k + 1 + i] = (char)('0' + number % 10);
    text[k + 1 + length] = '\n';
    return k + 2 + length;
}

static int write_text(kmer_outfile *file, uint64_t offset, const kmer_pair *pairs, size_t count,
                      unsigned k, kmer_error *error) {
    enum { BUFFER = 1 << 20, LINE_MAX_BYTES = KMER_LONGEST + 24 };

    char *buffer = malloc(BUFFER);
    if (buffer == NULL)
        return kmer_fail(error, "no memory to write %s", file->name);
    int result = 0;
    size_t filled = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        filled += write_line(buffer + filled, &pairs[i], k);
        if (filled > BUFFER - LINE_MAX_BYTES || i == count - 1) {
            result = kmer_outfile_write(file, buffer, filled, offset, error);
            offset += filled;
            filled = 0;
        }
    }
    free(buffer);
    return result;
}

static int take_pairs(const kmer_counter *counter, size_t count, uint64_t min_count,
                      kmer_pair **pairs, kmer_error *error) {
    *pairs = malloc((count + 1) * sizeof **pairs);
    if (*pairs == NULL)
        return kmer_fail(error, "no memory to sort %zu k-mers", count);
    collection c = {*pairs, min_count};
    tern_status status = tern_hashtable_for_each(counter->worker, counter->table, collect, &c);
    return status == TERN_OK ? 0 : kmer_fail_tern(error, status, "cannot read the table");
}

static int sort_and_write(kmer_outfile *file, kmer_pair *pairs, size_t count,
                          const kmer_options *options, MPI_Comm comm, kmer_error *error) {
    uint64_t size = text_size(pairs, count, options->k), offset = 0;
    MPI_Exscan(&size, &offset, 1, MPI_UINT64_T, MPI_SUM, comm);
    kmer_pair *scratch = malloc((count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return kmer_fail(error, "no memory to sort %zu k-mers", count);
    kmer_pairs_sort(pairs, scratch, count, 2 * options->k);
    free(scratch);
    return write_text(file, offset, pairs, count, options->k, error);
}

int kmer_dump_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                    const kmer_options *options, MPI_Comm comm, kmer_error *error) {
    if (file->name == NULL)
        return 0;
    kmer_pair *pairs = NULL;
    size_t count = (size_t)totals->local_distinct;
    int result = -1;
    (void)take_pairs(counter, count, totals->min_count, &pairs, error);
    if (kmer_any(comm, error->exit != KMER_OK) ||
        kmer_pairs_exchange(&pairs, &count, comm, error) != 0)
        goto out;
    result = sort_and_write(file, pairs, count, options, comm, error);
out:
    free(pairs);
    return result;
}
