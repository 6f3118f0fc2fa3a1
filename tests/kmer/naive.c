#include "naive.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void kmer_list_append(kmer_list *list, uint64_t key) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        list->keys = realloc(list->keys, list->capacity * sizeof *list->keys);
        if (list->keys == NULL)
            abort();
    }
    list->keys[list->count++] = key;
}

void kmer_list_free(kmer_list *list) {
    free(list->keys);
    *list = (kmer_list){0};
}

static int by_value(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

bool kmer_list_same(kmer_list *a, kmer_list *b) {
    if (a->count != b->count)
        return false;
    if (a->count == 0)
        return true;
    qsort(a->keys, a->count, sizeof *a->keys, by_value);
    qsort(b->keys, b->count, sizeof *b->keys, by_value);
    return memcmp(a->keys, b->keys, a->count * sizeof *a->keys) == 0;
}

static char complement(char base) {
    switch (base) {
    case 'A':
        return 'T';
    case 'C':
        return 'G';
    case 'G':
        return 'C';
    default:
        return 'A';
    }
}

static uint64_t number(const char *bases, unsigned k) {
    uint64_t value = 0;
    for (unsigned i = 0; i < k; i++)
        value = 4 * value + (uint64_t)(strchr("ACGT", bases[i]) - "ACGT");
    return value;
}

void kmer_naive_sequence(kmer_list *list, const char *sequence, size_t size, unsigned k,
                         bool canonical) {
    for (size_t start = 0; start + k <= size; start++) {
        char forward[32], reverse[32];
        unsigned bases = 0;
        for (; bases < k; bases++) {
            char letter = (char)toupper((unsigned char)sequence[start + bases]);
            if (letter == 0 || strchr("ACGT", letter) == NULL)
                break;
            forward[bases] = letter;
            reverse[k - 1 - bases] = complement(letter);
        }
        if (bases < k)
            continue;
        bool swap = canonical && memcmp(reverse, forward, k) < 0;
        kmer_list_append(list, number(swap ? reverse : forward, k));
    }
}

typedef struct line {
    const char *text;
    size_t size;
} line;

/* The line at *at, without its LF or CR LF; moves *at past it. */
static line next(const char *text, size_t size, size_t *at) {
    line l = {text + *at, 0};
    while (*at < size && text[*at] != '\n') {
        l.size++;
        ++*at;
    }
    if (*at < size)
        ++*at;
    if (l.size > 0 && l.text[l.size - 1] == '\r')
        l.size--;
    return l;
}

void kmer_naive_fasta(kmer_list *list, const char *text, size_t size, unsigned k, bool canonical) {
    char *sequence = malloc(size + 1);
    if (sequence == NULL)
        abort();
    size_t length = 0;
    for (size_t at = 0; at < size;) {
        line l = next(text, size, &at);
        if (l.size > 0 && l.text[0] == '>') {
            kmer_naive_sequence(list, sequence, length, k, canonical);
            length = 0;
        } else {
            memcpy(sequence + length, l.text, l.size);
            length += l.size;
        }
    }
    kmer_naive_sequence(list, sequence, length, k, canonical);
    free(sequence);
}

void kmer_naive_fastq(kmer_list *list, const char *text, size_t size, unsigned k, bool canonical) {
    unsigned place = 0; /* line of the record */
    for (size_t at = 0; at < size;) {
        line l = next(text, size, &at);
        if (place == 0 && l.size == 0)
            continue;
        if (place == 1)
            kmer_naive_sequence(list, l.text, l.size, k, canonical);
        place = (place + 1) % 4;
    }
}
