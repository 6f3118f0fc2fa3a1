#ifndef SORT_OPTIONS_H
#define SORT_OPTIONS_H

#include <tern/tern.h>

#include "exchange.h"
#include "keys.h"

typedef struct {
    uint64_t keys; /* of each rank; if strong, of all together */
    bool strong;
    uint64_t seed;
    distribution draw;
    unsigned iterations;
    const exchange *exchange;
    tern_via via;
    size_t block;   /* keys in a block */
    uint64_t queue; /* blocks in a queue */
    bool json;
} options;

/* The exit status if there is nothing to sort, else -1; whoever speaks has then said why.
 * [out] o. */
int options_read(int argc, char **argv, bool speaks, options *o);

/* How the option is called that stands for it. */
const char *options_draw_name(const options *o);
const char *options_via_name(const options *o);

#endif
