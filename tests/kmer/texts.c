#include "naive.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "harness.h"

static unsigned below(uint64_t *random, unsigned limit) {
    return (unsigned)(tern_test_random(random) % limit);
}

static void put(kmer_text *text, char byte) {
    if (text->size < sizeof text->bytes)
        text->bytes[text->size++] = byte;
}

static void put_some(kmer_text *text, uint64_t *random, const char *letters, size_t count) {
    for (size_t i = 0; i < count; i++)
        put(text, letters[below(random, (unsigned)strlen(letters))]);
}

static void end_line(kmer_text *text, bool cr) {
    if (cr)
        put(text, '\r');
    put(text, '\n');
}

static const char bases[] = "ACGTACGTACGTacgt";
static const char broken[] = "ACGTacgtACGTNRY-*>@+\r";

void kmer_text_fasta(kmer_text *text, uint64_t *random) {
    text->size = 0;
    bool cr = below(random, 3) == 0;
    unsigned records = 1 + below(random, 4);
    for (unsigned r = 0; r < records; r++) {
        put(text, '>');
        put_some(text, random, "ACGT>@ x", below(random, 9));
        end_line(text, cr);
        unsigned lines = below(random, 7);
        unsigned width = 1 + below(random, 12);
        for (unsigned l = 0; l < lines; l++) {
            put_some(text, random, below(random, 4) == 0 ? broken : bases,
                     below(random, 6) == 0 ? 0 : width);
            end_line(text, cr);
        }
    }
    if (below(random, 2) == 0 && text->size > 2)
        text->size -= 1 + cr;
}

void kmer_text_fastq(kmer_text *text, uint64_t *random) {
    text->size = 0;
    bool cr = below(random, 3) == 0;
    unsigned records = 1 + below(random, 6), letters = 0;
    for (unsigned r = 0; r < records; r++) {
        letters = below(random, 14);
        put(text, '@');
        put_some(text, random, "ACGT@+ x", below(random, 6));
        end_line(text, cr);
        for (unsigned i = 0; i < letters; i++)
            put_some(text, random, i > 0 && below(random, 12) == 0 ? "N-@+" : bases, 1);
        end_line(text, cr);
        put(text, '+');
        put_some(text, random, "ACGT@+ x", below(random, 3) * 2);
        end_line(text, cr);
        put_some(text, random, "@+@+AI!~", letters);
        end_line(text, cr);
        for (unsigned blank = below(random, 6); blank > 4; blank--)
            end_line(text, cr);
    }
    switch (below(random, 3)) {
    case 0:
        if (letters > 0)
            text->size -= 1 + cr;
        break;
    case 1:
        end_line(text, cr);
        end_line(text, cr);
        break;
    }
}

/* In the least memory: by default a stream takes 256 KiB, whose pages took most of the time. */
static size_t deflate_member(const char *bytes, size_t size, char *gzip, size_t room) {
    enum { GZIP = 16, WINDOW_BITS = 9, MEMORY_LEVEL = 1 };
    z_stream stream = {0};
    if (deflateInit2(&stream, 6, Z_DEFLATED, GZIP + WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    stream.next_in = (z_const Bytef *)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = (Bytef *)gzip;
    stream.avail_out = (uInt)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return room - stream.avail_out;
}

size_t kmer_text_deflate(const kmer_text *text, uint64_t *random, char *gzip, size_t room) {
    size_t cut = below(random, 2) == 0 ? text->size : below(random, (unsigned)text->size + 1);
    size_t size = deflate_member(text->bytes, cut, gzip, room);
    if (cut < text->size)
        size += deflate_member(text->bytes + cut, text->size - cut, gzip + size, room - size);
    if (below(random, 4) == 0)
        for (unsigned i = below(random, 20); i > 0; i--)
            gzip[size++] = 0;
    return size;
}
