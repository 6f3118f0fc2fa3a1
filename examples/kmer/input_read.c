#include "input.h"

#include <stdlib.h>

#include "fasta.h"
#include "fastq.h"
#include "gzip.h"

/* State of a rank while the inflated text passes, block after block. */
typedef struct passing {
    kmer_sink *sink;
    unsigned k;
    bool canonical;
    kmer_fasta fasta; /* of the last owned blocks */
    bool reading;     /* the k-mers of those are not complete yet */
    kmer_fasta_place place;
    kmer_fastq fastq;
} passing;

static int pass_fasta(passing *p, const char *block, const char *end, bool owned) {
    int ended = 0;
    if (owned) {
        if (!p->reading)
            kmer_fasta_init(&p->fasta, p->k, p->canonical, p->place);
        p->reading = true;
        ended = kmer_fasta_read(&p->fasta, p->sink, block, end);
    } else if (p->reading) {
        bool done;
        ended = kmer_fasta_read_on(&p->fasta, p->sink, block, end, &done);
        p->reading = !done;
    }
    p->place = kmer_fasta_place_after(p->place, block, end);
    return ended;
}

/* Whether the k-mers that start before block end in it or are broken in it. That is true unless
 * there are very many blank lines. */
static bool settles(const char *block, const char *end, unsigned k) {
    unsigned bytes = 0;
    for (; block < end && bytes < k; block++)
        bytes += *block != '\n' && *block != '\r';
    return bytes == k;
}

/* gzip cannot be read from the middle, so every rank inflates all of it, and the ranks own the
 * blocks of the text in turn. Measured: inflating takes 3 ns per base, counting about 100 ns. If
 * one rank inflated for all and sent out the blocks, it would inflate no faster. That could save
 * two ranks at most 3 %, and from some 30 ranks on both ways are as slow as inflating. (The file is
 * inflated twice, if the number of its k-mers is estimated first.) */
static int read_gzip(const kmer_input *input, unsigned part, unsigned parts, passing *p,
                     kmer_error *error) {
    kmer_gzip gzip;
    if (kmer_gzip_open(&gzip, input->name, input->data, input->size, error) != 0)
        return -1;
    int result = -1;
    const size_t room = input->block;
    char *block = malloc(room);
    if (block == NULL) {
        kmer_fail(error, "%s: no memory to inflate it", input->name);
        goto out;
    }
    uint64_t bytes_before = p->sink->bytes;
    size_t got = room;
    for (unsigned owner = parts - 1; got == room;) {
        const size_t before = gzip.at;
        if (kmer_gzip_read(&gzip, block, room, &got, error) != 0)
            goto out;
        kmer_sink_release(p->sink, input->data + before, gzip.at - before);
        const char *end = block + got;
        if (settles(block, end, p->k))
            owner = (owner + 1) % parts;
        int ended = input->fastq
                        ? kmer_fastq_read(&p->fastq, p->sink, block, end, owner == part, error)
                        : pass_fasta(p, block, end, owner == part);
        if (ended != 0)
            goto out;
        p->sink->bytes = bytes_before + gzip.at / parts;
    }
    result = input->fastq ? kmer_fastq_finish(&p->fastq, error) : 0;
out:
    free(block);
    kmer_gzip_close(&gzip);
    return result;
}

/* Returns where part begins; the sizes of parts differ by one byte at most. */
static size_t part_start(size_t size, unsigned part, unsigned parts) {
    size_t rest = size % parts;
    return size / parts * part + (part < rest ? part : rest);
}

int kmer_input_read(const kmer_input *input, unsigned k, bool canonical, unsigned part,
                    unsigned parts, kmer_sink *sink, kmer_error *error) {
    sink->mapped = input->mapped ? input->data : NULL;
    if (input->gzip) {
        passing p = {.sink = sink, .k = k, .canonical = canonical};
        p.place = KMER_FASTA_LINE_START;
        kmer_fastq_init(&p.fastq, k, canonical, input->name, NULL, NULL);
        return read_gzip(input, part, parts, &p, error);
    }
    size_t from = part_start(input->size, part, parts);
    size_t to = part_start(input->size, part + 1, parts);
    if (input->fastq)
        return kmer_fastq_read_part(sink, k, canonical, input->name, input->data, input->size, from,
                                    to, error);
    return kmer_fasta_read_part(sink, k, canonical, input->data, input->size, from, to);
}
