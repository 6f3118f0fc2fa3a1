#ifndef KMER_SINK_H
#define KMER_SINK_H

/*
 * The readers put k-mers into a sink: a batch that flush empties whenever it is full.
 */

#include "encoding.h"

typedef struct kmer_sink {
    uint64_t *keys;
    size_t count;
    size_t capacity; /* at least 1 */
    /* Sets count to 0. Non-zero ends the reading. */
    int (*flush)(struct kmer_sink *sink);
    void *argument;
    uint64_t bytes; /* number of bytes of input that the reader has done, for the progress bar */
    const char *mapped; /* start of the mapping of a file that the reader reads, or NULL */
} kmer_sink;

/* The reader has done with so much text, whose pages stop counting as memory of the program. Does
 * nothing if the text is not mapped. Text that is read again comes back from the file. */
void kmer_sink_release(const kmer_sink *sink, const char *text, size_t bytes);

/* kmer_window_take into the sink. NULL: flush ended the reading. */
static inline const char *kmer_sink_take(kmer_sink *sink, kmer_window *window, const char *text,
                                         const char *end) {
    for (;;) {
        size_t room = sink->capacity - sink->count;
        const char *stop = (size_t)(end - text) > room ? text + room : end;
        text = kmer_window_take(window, text, stop, sink->keys, &sink->count);
        if (text < stop || stop == end)
            return text;
        if (sink->count == sink->capacity && sink->flush(sink) != 0)
            return NULL;
    }
}

#endif
