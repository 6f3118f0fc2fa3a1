#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sort [options]\n"
    "\n"
    "Sorts 32-bit numbers that the ranks of an MPI job draw: in the end each rank\n"
    "has those of its range in order. Verifies the result and prints the times.\n"
    "\n"
    "  --keys N         keys that each rank draws (default 1048576)\n"
    "  --strong         N is the number of keys of all ranks together\n"
    "  --seed N         another seed, other keys (default 1)\n"
    "  --draw HOW       uniform (the default), equal (all keys the same), narrow\n"
    "                   (all in the last rank's range)\n"
    "  --iterations N   number of runs, each with other keys; the figures are\n"
    "                   medians (default 5)\n"
    "  --exchange HOW   queue (tern's, the default), alltoallv (MPI's)\n"
    "  --via WAY        how a block gets into a queue: rma (the default), call\n"
    "  --block N        keys in a block, up to 16383 (default 4096)\n"
    "  --queue N        blocks in a rank's queue, up to 65536 (default 64)\n"
    "  --json           print one line for programs\n"
    "  --help\n"
    "\n"
    "Exit status: 0 sorted and verified, 1 failed, 2 bad usage.\n";

/* The largest item of a queue holds the count and so many keys. */
enum { BLOCK_MOST = 65536 / sizeof(uint32_t) - 1 };

static bool parse(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *value >= least && *value <= most;
}

static const char *const draws[] = {
    [KEYS_UNIFORM] = "uniform", [KEYS_EQUAL] = "equal", [KEYS_NARROW] = "narrow"};
static const char *const vias[] = {"rma", "call"};
static const exchange *const exchanges[] = {&exchange_queue, &exchange_alltoallv};

const char *options_draw_name(const options *o) { return draws[o->draw]; }
const char *options_via_name(const options *o) { return vias[o->via == TERN_BY_CALL]; }

/* Returns which of names text is; count if none. */
static unsigned find(const char *text, const char *const *names, unsigned count) {
    unsigned i = 0;
    while (i < count && strcmp(text, names[i]) != 0)
        i++;
    return i;
}

static bool take_name(int option, const char *value, options *o) {
    const char *names[] = {exchanges[0]->name, exchanges[1]->name};
    unsigned found = 0;
    switch (option) {
    case 'd':
        found = find(value, draws, 3);
        o->draw = (distribution)found;
        return found < 3;
    case 'v':
        found = find(value, vias, 2);
        o->via = found == 1 ? TERN_BY_CALL : TERN_BY_RMA;
        return found < 2;
    default:
        found = find(value, names, 2);
        o->exchange = found < 2 ? exchanges[found] : NULL;
        return found < 2;
    }
}

static bool take(int option, const char *value, options *o) {
    uint64_t number = 0;
    bool good = true;
    switch (option) {
    case 'k':
        return parse(value, 0, UINT64_C(1) << 40, &o->keys);
    case 's':
        return parse(value, 0, UINT64_MAX, &o->seed);
    case 'q':
        return parse(value, 1, 65536, &o->queue);
    case 'i':
        good = parse(value, 1, 1000, &number);
        o->iterations = (unsigned)number;
        return good;
    case 'b':
        good = parse(value, 1, BLOCK_MOST, &number);
        o->block = (size_t)number;
        return good;
    case 'g':
        o->strong = true;
        return true;
    case 'j':
        o->json = true;
        return true;
    default:
        return take_name(option, value, o);
    }
}

static const struct option table[] = {
    {"keys", required_argument, NULL, 'k'},
    {"strong", no_argument, NULL, 'g'},
    {"seed", required_argument, NULL, 's'},
    {"draw", required_argument, NULL, 'd'},
    {"iterations", required_argument, NULL, 'i'},
    {"exchange", required_argument, NULL, 'x'},
    {"via", required_argument, NULL, 'v'},
    {"block", required_argument, NULL, 'b'},
    {"queue", required_argument, NULL, 'q'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

int options_read(int argc, char **argv, bool speaks, options *o) {
    int option;
    *o = (options){.keys = 1 << 20,
                   .seed = 1,
                   .iterations = 5,
                   .exchange = &exchange_queue,
                   .via = TERN_BY_RMA,
                   .block = 4096,
                   .queue = 64};
    opterr = 0;
    for (;;) {
        const char *word = optind < argc ? argv[optind] : "";
        option = getopt_long(argc, argv, "", table, NULL);
        if (option == -1 && optind == argc)
            return -1;
        if (option == 'h') {
            if (speaks)
                fputs(help, stdout);
            return 0;
        }
        if (option == -1 || option == '?' || !take(option, optarg, o)) {
            if (speaks)
                fprintf(stderr, "sort: bad option or value: %s%s%s; --help says more\n", word,
                        optarg != NULL ? " " : "", optarg != NULL ? optarg : "");
            return 2;
        }
    }
}
