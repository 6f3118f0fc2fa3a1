#include "job.h"

#include <stdio.h>
#include <time.h>

double kmer_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void kmer_progress_start(kmer_progress *progress, const char *what, bool wanted, uint64_t total) {
    *progress =
        (kmer_progress){.wanted = wanted, .what = what, .started = kmer_now(), .total = total};
    progress->drawn = progress->started + 0.9; /* the first second shows no bar */
}

void kmer_progress_update(kmer_progress *progress, uint64_t bytes, uint64_t kmers) {
    enum { WIDTH = 40 };
    static const char hashes[] = "########################################";

    double now = progress->wanted ? kmer_now() : 0;
    if (!progress->wanted || now - progress->drawn < 0.1 || progress->total == 0)
        return;
    double share = (double)bytes / (double)progress->total;
    if (share > 1)
        share = 1;
    int filled = (int)(share * WIDTH);
    fprintf(stderr, "\rkmer: %s[%.*s%*s] %3.0f %%  %.1f M k-mers/s ", progress->what, filled,
            hashes, WIDTH - filled, "", 100 * share,
            1e-6 * (double)kmers / (now - progress->started));
    fflush(stderr);
    progress->drawn = now;
    progress->shown = true;
}

void kmer_progress_end(kmer_progress *progress) {
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}
