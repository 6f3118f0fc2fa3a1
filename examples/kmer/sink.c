#include "sink.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* A fault maps pages around the one that it is about, which may have been given back: so the text
 * before is given back once more. Linux maps 64 KiB, aligned to their size. */
enum { AROUND = 1 << 16 };

void kmer_sink_release(const kmer_sink *sink, const char *text, size_t bytes) {
    if (sink->mapped == NULL)
        return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t from = (size_t)(text - sink->mapped), to = (from + bytes) / page * page;
    from = from > AROUND ? (from - AROUND) / page * page : 0;
    if (from < to)
        (void)madvise((void *)(uintptr_t)(sink->mapped + from), to - from, MADV_DONTNEED);
}
