#include "encoding.h"

enum { NONE = 4 };

#define NONE4 NONE, NONE, NONE, NONE
#define NONE16 NONE4, NONE4, NONE4, NONE4
#define NONE64 NONE16, NONE16, NONE16, NONE16

/* For bytes 0x40 to 0x5f or 0x60 to 0x7f: A, C, G and T are at 1, 3, 7 and 20. */
#define LETTERS                                                                                    \
    NONE, 0, NONE, 1, NONE, NONE, NONE, 2, NONE4, NONE4, NONE4, 3, NONE, NONE, NONE, NONE4, NONE4

static const uint8_t base_of[256] = {NONE64, LETTERS, LETTERS, NONE64, NONE64};

void kmer_window_init(kmer_window *window, unsigned k, bool canonical) {
    *window = (kmer_window){
        .mask = UINT64_MAX >> (64 - 2 * k),
        .k = k,
        .canonical = canonical,
    };
}

const char *kmer_window_take(kmer_window *window, const char *text, const char *end, uint64_t *keys,
                             size_t *count) {
    const uint64_t mask = window->mask;
    const unsigned top = 2 * (window->k - 1);
    uint64_t forward = window->forward, reverse = window->reverse;
    unsigned missing = window->k - window->filled;
    uint64_t *key = keys + *count;

    for (; text < end; text++) {
        uint64_t base = base_of[(uint8_t)*text];
        if (base == NONE)
            break;
        forward = (forward << 2 | base) & mask;
        reverse = reverse >> 2 | (3 - base) << top;
        if (missing > 1) {
            missing--;
            continue;
        }
        missing = 0;
        *key++ = window->canonical && reverse < forward ? reverse : forward;
    }
    window->forward = forward;
    window->reverse = reverse;
    window->filled = window->k - missing;
    *count = (size_t)(key - keys);
    return text;
}

void kmer_write(uint64_t kmer, unsigned k, char *text) {
    while (k-- > 0) {
        text[k] = "ACGT"[kmer & 3];
        kmer >>= 2;
    }
}

uint64_t kmer_how_many(unsigned k, bool canonical) {
    if (!canonical)
        return k == 32 ? UINT64_MAX : UINT64_C(1) << 2 * k;
    /* For even k, 4^(k/2) k-mers are their own reverse complement. */
    uint64_t half = UINT64_C(1) << (2 * k - 1);
    return k % 2 == 0 ? half + (UINT64_C(1) << (k - 1)) : half;
}
