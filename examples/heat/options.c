#include "halo.h"

#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: heat [options]\n"
    "\n"
    "Simulates heat flowing through a plate, whose rows are divided among the\n"
    "ranks of an MPI job, and prints a checksum of the grid, which is the same\n"
    "on any number of ranks.\n"
    "\n"
    "  --rows N       rows of the grid, at least one per rank (default 512)\n"
    "  --columns N    columns of the grid (default 512)\n"
    "  --steps N      time steps (default 500)\n"
    "  --halo HOW     how neighbours get each other's rows: put (into their\n"
    "                 memory, the default), call (as arguments that are not\n"
    "                 copied), copy (as copied arguments)\n"
    "  --output FILE  write the rows of the grid, as doubles of this machine\n"
    "  --help\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 bad usage.\n";

/* Whether text is a number of least or more, small enough for a product of two such numbers. */
static bool parse(const char *text, size_t least, size_t *value) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return *end == 0 && *value >= least && *value <= 1 << 28;
}

static bool parse_halo(const char *name, const halo **found) {
    static const halo *const ways[] = {&halo_put, &halo_call, &halo_copy};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(name, ways[i]->name) == 0) {
            *found = ways[i];
            return true;
        }
    }
    return false;
}

static bool take(int option, const char *value, options *o) {
    switch (option) {
    case 'r':
        return parse(value, 1, &o->rows);
    case 'c':
        return parse(value, 1, &o->columns);
    case 's':
        return parse(value, 0, &o->steps);
    case 'l':
        return parse_halo(value, &o->halo);
    case 'o':
        o->output = value;
        return true;
    default:
        return false;
    }
}

int options_read(int argc, char **argv, bool speaks, options *o) {
    static const struct option table[] = {
        {"rows", required_argument, NULL, 'r'},
        {"columns", required_argument, NULL, 'c'},
        {"steps", required_argument, NULL, 's'},
        {"halo", required_argument, NULL, 'l'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, ranks, place = 1;
    *o = (options){.rows = 512, .columns = 512, .steps = 500, .halo = &halo_put};
    opterr = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'h') {
            if (speaks)
                fputs(help, stdout);
            return 0;
        }
        if (!take(option, optarg, o)) {
            if (speaks)
                fprintf(stderr, "heat: bad option or value: %s%s%s; --help says more\n",
                        argv[place], optarg != NULL ? " " : "", optarg != NULL ? optarg : "");
            return 2;
        }
        place = optind;
    }
    if (optind < argc) {
        if (speaks)
            fprintf(stderr, "heat: %s is no option; --help says more\n", argv[optind]);
        return 2;
    }
    if (o->rows < (size_t)ranks) {
        if (speaks)
            fprintf(stderr, "heat: %zu rows for %d ranks; each rank needs one\n", o->rows, ranks);
        return 2;
    }
    return -1;
}
