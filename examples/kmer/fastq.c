#include "fastq.h"

#include <inttypes.h>
#include <string.h>

void kmer_fastq_init(kmer_fastq *fastq, unsigned k, bool canonical, const char *name,
                     const char *before, const char *before_end) {
    *fastq = (kmer_fastq){
        .fresh = true,
        .name = name,
        .before = before,
        .before_end = before_end,
    };
    kmer_window_init(&fastq->window, k, canonical);
}

static uint64_t line_number(const kmer_fastq *fastq) {
    uint64_t number = fastq->lines + 1;
    for (const char *at = fastq->before; at < fastq->before_end; at++)
        number += *at == '\n';
    return number;
}

static int fail(const kmer_fastq *fastq, kmer_error *error, const char *what) {
    return kmer_fail(error, "%s: line %" PRIu64 ": %s", fastq->name, line_number(fastq), what);
}

static bool is_line_end(char byte) { return byte == '\n' || byte == '\r'; }

static int begin_line(kmer_fastq *fastq, char first, bool owned, kmer_error *error) {
    fastq->fresh = false;
    fastq->bytes = 0;
    fastq->after_cr = false;
    switch (fastq->line) {
    case 0:
        fastq->blank = is_line_end(first);
        if (fastq->blank)
            return 0;
        if (first != '@')
            return fail(fastq, error, "a FASTQ record must begin with '@'");
        fastq->counts = owned;
        kmer_window_break(&fastq->window);
        return 0;
    case 1:
        if (first == '@' || first == '+')
            return fail(fastq, error, "a FASTQ record without a sequence");
        return 0;
    case 2:
        if (first != '+')
            return fail(fastq, error,
                        "'+' expected (FASTQ records must have four lines, the sequence on one)");
        return 0;
    default:
        return 0;
    }
}

static int end_line(kmer_fastq *fastq, kmer_error *error) {
    uint64_t letters = fastq->bytes - fastq->after_cr;
    if (fastq->line == 0 && fastq->blank) {
        if (letters > 0)
            return fail(fastq, error, "a FASTQ record must begin with '@'");
    } else {
        if (fastq->line == 1)
            fastq->letters = letters;
        if (fastq->line == 3 && letters != fastq->letters)
            return fail(fastq, error, "a FASTQ record with more letters than qualities, or fewer");
        fastq->line = (fastq->line + 1) % 4;
    }
    fastq->lines++;
    fastq->fresh = true;
    return 0;
}

static int take_sequence(kmer_fastq *fastq, kmer_sink *sink, const char *text, const char *end) {
    while (text < end) {
        text = kmer_sink_take(sink, &fastq->window, text, end);
        if (text == NULL)
            return -1;
        if (text < end) {
            kmer_window_break(&fastq->window);
            text++;
        }
    }
    return 0;
}

int kmer_fastq_read(kmer_fastq *fastq, kmer_sink *sink, const char *text, const char *end,
                    bool owned, kmer_error *error) {
    while (text < end) {
        if (fastq->fresh && begin_line(fastq, *text, owned, error) != 0)
            return -1;
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *stop = line_end == NULL ? end : line_end;
        if (fastq->line == 1 && fastq->counts && take_sequence(fastq, sink, text, stop) != 0)
            return -1;
        if (stop > text)
            fastq->after_cr = stop[-1] == '\r';
        fastq->bytes += (uint64_t)(stop - text);
        if (line_end == NULL)
            break;
        if (end_line(fastq, error) != 0)
            return -1;
        text = line_end + 1;
    }
    return 0;
}

int kmer_fastq_finish(const kmer_fastq *fastq, kmer_error *error) {
    kmer_fastq last = *fastq;
    if (last.line == 0 && last.fresh)
        return 0;
    if (last.line == 3 && last.fresh)
        begin_line(&last, '\n', false, error);
    if (last.line == 3 || (last.line == 0 && last.blank))
        return end_line(&last, error);
    return fail(fastq, error, "the text ends in the middle of a FASTQ record");
}

/* Returns the start of the next line, or end. */
static const char *next_line(const char *text, const char *end) {
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    return line_end == NULL ? end : line_end + 1;
}

size_t kmer_fastq_find(const char *text, size_t size, size_t from) {
    const char *end = text + size;
    const char *line = text + from;
    if (from > 0 && line[-1] != '\n')
        line = next_line(line, end);
    for (; line < end; line = next_line(line, end)) {
        if (*line != '@')
            continue;
        const char *second = next_line(next_line(line, end), end);
        if (second < end && *second == '+')
            break;
    }
    return (size_t)(line - text);
}

/* Reads from text, past the end of an owned range, to the next start of a record. */
static const char *read_on(kmer_fastq *fastq, kmer_sink *sink, const char *text, const char *end,
                           kmer_error *error) {
    while (text < end) {
        if (fastq->line == 0 && fastq->fresh && !is_line_end(*text))
            break;
        const char *stop = next_line(text, end);
        if (kmer_fastq_read(fastq, sink, text, stop, false, error) != 0)
            return NULL;
        text = stop;
    }
    return text;
}

int kmer_fastq_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *name,
                         const char *text, size_t size, size_t from, size_t to, kmer_error *error) {
    /* Reads in pieces: after each, the sink's progress grows and its memory is given back. */
    enum { PIECE = 1 << 16 };

    const char *end = text + size;
    size_t at = from == 0 ? 0 : kmer_fastq_find(text, size, from);
    sink->bytes += (at < to ? at : to) - from;
    if (at >= to)
        return 0;

    kmer_fastq fastq;
    kmer_fastq_init(&fastq, k, canonical, name, text, text + at);
    while (at < to) {
        size_t bytes = to - at < PIECE ? to - at : PIECE;
        if (kmer_fastq_read(&fastq, sink, text + at, text + at + bytes, true, error) != 0)
            return -1;
        kmer_sink_release(sink, text + at, bytes);
        at += bytes;
        sink->bytes += bytes;
    }
    const char *next = read_on(&fastq, sink, text + to, end, error);
    if (next == NULL)
        return -1;
    if (next == end)
        return kmer_fastq_finish(&fastq, error);

    /* The next owner must start where this one stops. If not, the text is not valid, and reading on
     * finds out where. */
    if (kmer_fastq_find(text, size, to) == (size_t)(next - text))
        return 0;
    if (kmer_fastq_read(&fastq, sink, next, end, false, error) != 0 ||
        kmer_fastq_finish(&fastq, error) != 0)
        return -1;
    return fail(&fastq, error, "cannot tell where a FASTQ record starts");
}
