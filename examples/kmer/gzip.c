#include "gzip.h"

#include <limits.h>
#include <string.h>

bool kmer_gzip_is(const char *data, size_t size) {
    return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

int kmer_gzip_open(kmer_gzip *gzip, const char *name, const char *data, size_t size,
                   kmer_error *error) {
    enum { GZIP_ONLY = 16 };

    *gzip = (kmer_gzip){.name = name, .data = data, .size = size, .member_open = true};
    if (inflateInit2(&gzip->stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
        return kmer_fail(error, "%s: no memory to inflate it", name);
    return 0;
}

static unsigned at_most(size_t bytes) { return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX; }

/* After a member comes another one, or the end, which may have zeros before it (tapes leave
 * them). */
static int next_member(kmer_gzip *gzip, kmer_error *error) {
    gzip->member_open = false;
    if (kmer_gzip_is(gzip->data + gzip->at, gzip->size - gzip->at)) {
        gzip->member_open = true;
        inflateReset(&gzip->stream);
        return 0;
    }
    for (; gzip->at < gzip->size; gzip->at++)
        if (gzip->data[gzip->at] != 0)
            return kmer_fail(error, "%s: something that is no gzip data follows the gzip data",
                             gzip->name);
    return 0;
}

int kmer_gzip_read(kmer_gzip *gzip, char *buffer, size_t room, size_t *got, kmer_error *error) {
    z_stream *stream = &gzip->stream;
    size_t filled = 0;
    while (filled < room && gzip->member_open) {
        unsigned in = at_most(gzip->size - gzip->at), out = at_most(room - filled);
        stream->next_in = (z_const Bytef *)(gzip->data + gzip->at);
        stream->avail_in = in;
        stream->next_out = (Bytef *)buffer + filled;
        stream->avail_out = out;
        int result = inflate(stream, Z_NO_FLUSH);
        gzip->at += in - stream->avail_in;
        filled += out - stream->avail_out;
        if (result == Z_STREAM_END) {
            if (next_member(gzip, error) != 0)
                return -1;
        } else if (result == Z_BUF_ERROR ||
                   (result == Z_OK && gzip->at == gzip->size && stream->avail_out > 0)) {
            return kmer_fail(error, "%s: the gzip data is cut short", gzip->name);
        } else if (result != Z_OK) {
            return kmer_fail(error, "%s: the gzip data is corrupt: %s", gzip->name,
                             stream->msg != NULL ? stream->msg : zError(result));
        }
    }
    *got = filled;
    return 0;
}

void kmer_gzip_close(kmer_gzip *gzip) { inflateEnd(&gzip->stream); }
