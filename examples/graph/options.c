#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "edges.h"

static const char help[] =
    "usage: graph [options] [FILE]\n"
    "\n"
    "Distributes a graph over the ranks of an MPI job, searches it breadth first and\n"
    "finds its connected components. Prints what was found and the times.\n"
    "\n"
    "FILE has an edge in each line, two vertex numbers; '#' begins a comment. Edges\n"
    "have no direction. Without FILE the ranks draw an R-MAT graph as Graph500 does.\n"
    "\n"
    "  --scale N        2^N vertices, 1 to 30 (default 14)\n"
    "  --edges N        edges for each vertex, 1 to 1024 (default 16)\n"
    "  --seed N         another seed, another graph (default 1)\n"
    "  --source VERTEX  where the search begins (default: the vertex with the most\n"
    "                   neighbours)\n"
    "  --iterations N   number of runs; the times are medians (default 3)\n"
    "  --mpi            run the same by MPI alone, too, and print both times\n"
    "  --check          compare the answers with a sequential run on rank 0\n"
    "  --json           print one line for programs\n"
    "  --help\n"
    "\n"
    "Exit status: 0 done, 1 failed, or the answers are wrong, 2 bad usage.\n";

static bool parse(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *value >= least && *value <= most;
}

static bool take_unsigned(const char *text, unsigned most, unsigned *value) {
    uint64_t number = 0;
    bool good = parse(text, 1, most, &number);
    *value = (unsigned)number;
    return good;
}

/* drawn: set if the option is about a graph that is drawn. */
static bool take(int option, const char *value, options *o, bool *drawn) {
    *drawn |= option == 'n' || option == 'e' || option == 's';
    switch (option) {
    case 'n':
        return take_unsigned(value, 30, &o->scale);
    case 'e':
        return parse(value, 1, 1024, &o->edges);
    case 's':
        return parse(value, 0, UINT64_MAX, &o->seed);
    case 'v':
        o->source_given = true;
        return parse(value, 0, VERTEX_MOST, &o->source);
    case 'i':
        return take_unsigned(value, 1000, &o->iterations);
    case 'm':
        return o->mpi = true;
    case 'c':
        return o->check = true;
    case 'j':
        return o->json = true;
    default:
        return false;
    }
}

static const struct option table[] = {
    {"scale", required_argument, NULL, 'n'},
    {"edges", required_argument, NULL, 'e'},
    {"seed", required_argument, NULL, 's'},
    {"source", required_argument, NULL, 'v'},
    {"iterations", required_argument, NULL, 'i'},
    {"mpi", no_argument, NULL, 'm'},
    {"check", no_argument, NULL, 'c'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

int options_read(int argc, char **argv, bool speaks, options *o) {
    bool drawn = false;
    int option, place = 1;
    *o = (options){.scale = 14, .edges = 16, .seed = 1, .iterations = 3};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'h') {
            if (speaks)
                fputs(help, stdout);
            return 0;
        }
        if (!take(option, optarg, o, &drawn)) {
            if (speaks)
                fprintf(stderr, "graph: bad option or value: %s%s%s; --help says more\n",
                        argv[place], optarg != NULL ? " " : "", optarg != NULL ? optarg : "");
            return 2;
        }
        place = optind;
    }
    if (optind < argc)
        o->file = argv[optind++];
    if (optind == argc && (o->file == NULL || !drawn))
        return -1;
    if (speaks && optind < argc)
        fprintf(stderr, "graph: one file has the graph; there is another one: %s\n", argv[optind]);
    else if (speaks)
        fprintf(stderr,
                "graph: --scale, --edges and --seed are for graphs without a file: leave "
                "them out, or %s\n",
                o->file);
    return 2;
}
