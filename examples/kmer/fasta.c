#include "fasta.h"

#include <string.h>

void kmer_fasta_init(kmer_fasta *fasta, unsigned k, bool canonical, kmer_fasta_place place) {
    kmer_window_init(&fasta->window, k, canonical);
    fasta->place = place;
    fasta->wanted = k - 1;
}

/* Handles the byte at which the bases of a sequence line stopped. */
static void stop_at(kmer_fasta *fasta, char byte) {
    if (byte == '\n')
        fasta->place = KMER_FASTA_LINE_START;
    else if (byte == '\r')
        fasta->place = KMER_FASTA_AFTER_CR;
    else
        kmer_window_break(&fasta->window);
}

/* Skips a byte that is no base, or a header. */
static const char *pass(kmer_fasta *fasta, const char *text, const char *end) {
    switch (fasta->place) {
    case KMER_FASTA_LINE_START:
        if (*text != '>') {
            fasta->place = KMER_FASTA_SEQUENCE;
            return text;
        }
        kmer_window_break(&fasta->window);
        fasta->place = KMER_FASTA_HEADER;
        return text + 1;
    case KMER_FASTA_HEADER:
        text = memchr(text, '\n', (size_t)(end - text));
        if (text == NULL)
            return end;
        fasta->place = KMER_FASTA_LINE_START;
        return text + 1;
    case KMER_FASTA_AFTER_CR:
        if (*text == '\n') {
            fasta->place = KMER_FASTA_LINE_START;
            return text + 1;
        }
        kmer_window_break(&fasta->window);
        fasta->place = KMER_FASTA_SEQUENCE;
        return text;
    case KMER_FASTA_SEQUENCE:
        break;
    }
    stop_at(fasta, *text);
    return text + 1;
}

int kmer_fasta_read(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end) {
    while (text < end) {
        if (fasta->place == KMER_FASTA_SEQUENCE) {
            text = kmer_sink_take(sink, &fasta->window, text, end);
            if (text == NULL)
                return -1;
            if (text == end)
                break;
        }
        text = pass(fasta, text, end);
    }
    return 0;
}

int kmer_fasta_read_on(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end,
                       bool *done) {
    /* When the window breaks, it holds no base of the range any more. */
    while (fasta->wanted > 0 && fasta->window.filled > 0 && text < end) {
        if (fasta->place == KMER_FASTA_SEQUENCE) {
            size_t left = (size_t)(end - text);
            const char *stop = text + (left < fasta->wanted ? left : fasta->wanted);
            const char *at = kmer_sink_take(sink, &fasta->window, text, stop);
            if (at == NULL)
                return -1;
            fasta->wanted -= (size_t)(at - text);
            text = at;
            if (text == stop)
                continue;
        }
        text = pass(fasta, text, end);
    }
    *done = fasta->wanted == 0 || fasta->window.filled == 0;
    return 0;
}

kmer_fasta_place kmer_fasta_place_after(kmer_fasta_place place, const char *text, const char *end) {
    const char *line_end = memrchr(text, '\n', (size_t)(end - text));
    if (line_end != NULL) {
        place = KMER_FASTA_LINE_START;
        text = line_end + 1;
    }
    if (place != KMER_FASTA_LINE_START || text == end)
        return place;
    return *text == '>' ? KMER_FASTA_HEADER : KMER_FASTA_SEQUENCE;
}

int kmer_fasta_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *text, size_t size,
                         size_t from, size_t to) {
    /* Reads in pieces: after each, the sink's progress grows and its memory is given back. */
    enum { PIECE = 1 << 16 };

    const char *line_end = memrchr(text, '\n', from);
    const char *line = line_end == NULL ? text : line_end + 1;
    kmer_fasta fasta;
    kmer_fasta_init(&fasta, k, canonical,
                    kmer_fasta_place_after(KMER_FASTA_LINE_START, line, text + from));
    while (from < to) {
        size_t bytes = to - from < PIECE ? to - from : PIECE;
        if (kmer_fasta_read(&fasta, sink, text + from, text + from + bytes) != 0)
            return -1;
        kmer_sink_release(sink, text + from, bytes);
        from += bytes;
        sink->bytes += bytes;
    }
    bool done;
    return kmer_fasta_read_on(&fasta, sink, text + to, text + size, &done);
}
