#include "table_file.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const char magic[8] = {'K', 'M', 'E', 'R', 'T', 'A', 'B', '1'};

typedef struct header {
    char magic[8];
    uint32_t k, canonical, key_bytes, count_bytes;
    uint64_t records, kmers;
    char unused[24];
} header;

_Static_assert(sizeof(header) == 64, "the layout above");

static unsigned bytes_for(uint64_t largest) {
    unsigned bytes = 1;
    while (bytes < 8 && largest >> 8 * bytes != 0)
        bytes++;
    return bytes;
}

/* Buffers records on their way into the file. */
typedef struct writer {
    kmer_outfile *file;
    kmer_error *error;
    uint64_t offset; /* position of the buffer in the file */
    unsigned key_bytes, count_bytes;
    size_t filled;
    char *buffer;
} writer;

enum { BUFFER = 1 << 20, RECORD_MAX = 16 };

static int empty(writer *w) {
    int result = kmer_outfile_write(w->file, w->buffer, w->filled, w->offset, w->error);
    w->offset += w->filled;
    w->filled = 0;
    return result;
}

static int add_record(const void *key, const void *value, void *argument) {
    writer *w = argument;
    uint64_t kmer, count;
    memcpy(&kmer, key, sizeof kmer);
    memcpy(&count, value, sizeof count);
    kmer = htole64(kmer);
    count = htole64(count);
    /* Each store writes eight bytes; the next number overwrites the excess. */
    char *at = w->buffer + w->filled;
    memcpy(at, &kmer, 8);
    memcpy(at + w->key_bytes, &count, 8);
    w->filled += w->key_bytes + w->count_bytes;
    return w->filled > BUFFER - RECORD_MAX ? empty(w) : 0;
}

static int write_header(kmer_outfile *file, const kmer_totals *totals, const kmer_options *options,
                        const writer *w, kmer_error *error) {
    header h = {
        .k = htole32(options->k),
        .canonical = htole32(options->canonical),
        .key_bytes = htole32(w->key_bytes),
        .count_bytes = htole32(w->count_bytes),
        .records = htole64(totals->distinct),
        .kmers = htole64(totals->kmers),
    };
    memcpy(h.magic, magic, sizeof magic);
    return kmer_outfile_write(file, &h, sizeof h, 0, error);
}

int kmer_table_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                     const kmer_options *options, MPI_Comm comm, kmer_error *error) {
    if (file->name == NULL)
        return 0;
    writer w = {
        .file = file,
        .error = error,
        .key_bytes = (2 * options->k + 7) / 8,
        .count_bytes = bytes_for(totals->largest),
        .buffer = malloc(BUFFER),
    };
    uint64_t before = 0;
    MPI_Exscan(&totals->local_distinct, &before, 1, MPI_UINT64_T, MPI_SUM, comm);
    w.offset = sizeof(header) + before * (w.key_bytes + w.count_bytes);

    int rank;
    MPI_Comm_rank(comm, &rank);
    if (w.buffer == NULL) {
        kmer_fail(error, "no memory to write %s", file->name);
    } else if (rank > 0 || write_header(file, totals, options, &w, error) == 0) {
        tern_status status =
            tern_hashtable_for_each(counter->worker, counter->table, add_record, &w);
        if (status != TERN_OK)
            kmer_fail_tern(error, status, "cannot read the table");
        else if (error->exit == KMER_OK)
            (void)empty(&w);
    }
    free(w.buffer);
    return error->exit == KMER_OK ? 0 : -1;
}

static uint64_t number(const unsigned char *at, unsigned bytes) {
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

static int print(FILE *in, const char *name, FILE *out, kmer_error *error) {
    header h;
    if (fread(&h, sizeof h, 1, in) != 1 || memcmp(h.magic, magic, sizeof magic) != 0)
        return kmer_fail(error, "%s: is not a file that --output wrote", name);
    unsigned k = le32toh(h.k), key = le32toh(h.key_bytes), count = le32toh(h.count_bytes);
    if (k < 1 || k > KMER_LONGEST || key != (2 * k + 7) / 8 || count < 1 || count > 8)
        return kmer_fail(error, "%s: is damaged", name);
    for (uint64_t left = le64toh(h.records); left > 0; left--) {
        unsigned char record[RECORD_MAX];
        char text[KMER_LONGEST];
        if (fread(record, key + count, 1, in) != 1)
            return kmer_fail(error, "%s: is cut short", name);
        kmer_write(number(record, key), k, text);
        if (fprintf(out, "%.*s %" PRIu64 "\n", (int)k, text, number(record + key, count)) < 0)
            return kmer_fail_system(error, "write", "standard output");
    }
    if (fgetc(in) != EOF)
        return kmer_fail(error, "%s: is damaged", name);
    return fflush(out) == 0 ? 0 : kmer_fail_system(error, "write", "standard output");
}

int kmer_table_print(const char *name, FILE *out, kmer_error *error) {
    FILE *in = fopen(name, "rbe");
    if (in == NULL)
        return kmer_fail_system(error, "read", name);
    int result = print(in, name, out, error);
    fclose(in);
    return result;
}
