#include "examples/games/hex/main.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/games/hex/board.h"
#include "examples/games/hex/notation.h"

static const char help[] =
    "usage: tern-hex [options]\n"
    "\n"
    "Plays Hex by Monte-Carlo tree search on all workers of an MPI job. Reads commands\n"
    "of the Hex Text Protocol from rank 0's standard input and answers on its standard\n"
    "output (list_commands tells which), or plays with a person at the terminal.\n"
    "\n"
    "  --play WHO         you play black, who begins, or white, at the terminal\n"
    "  --size N           rows and columns of the board, 1 to 19 (default 11)\n"
    "  --no-swap          the second player may not take over the first stone\n"
    "  --seconds S        time for a move (default 5; 0: no limit but rollouts)\n"
    "  --rollouts N       rollouts for a move (default 0: no limit but time)\n"
    "  --seed N           other random numbers (default 1)\n"
    "  --exploration C    the constant of UCB (default 0.7)\n"
    "  --simulations N    random games from each leaf (default 16)\n"
    "  --memory BYTES     of the tree on each rank, with K, M, G (default 1G)\n"
    "  --publish POLICY   of calls: write (the default), batched, spill\n"
    "  --hash             one node for a position, whatever the moves that led to it\n"
    "  --calls-only       workers of a process call each other, too\n"
    "  --help\n"
    "\n"
    "TERN_WORKERS says how many threads each rank has.\n"
    "Exit status: 0 the game was ended or left, 1 failed, 2 bad usage.\n";

static bool whole(const char *text, double least, double most, uint64_t *value) {
    double real;
    if (!hex_number_parse(text, least, most, &real) || strspn(text, "0123456789") != strlen(text))
        return false;
    *value = (uint64_t)real;
    return true;
}

static bool memory(const char *text, size_t *bytes) {
    static const char units[] = "KMG";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end != 0 ? strchr(units, *end) : NULL;
    if (end == text || (*end != 0 && (unit == NULL || end[1] != 0)) ||
        !(value >= 1 && value <= 1e12))
        return false;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    *bytes = (size_t)value << shift;
    return *bytes >> shift == (size_t)value;
}

static bool policy(const char *text, tern_publish *publish) {
    static const struct {
        const char *name;
        tern_publish publish;
    } policies[] = {{"write", TERN_PUBLISH_WRITE},
                    {"batched", TERN_PUBLISH_BATCHED},
                    {"spill", TERN_PUBLISH_SPILL}};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(text, policies[i].name) == 0) {
            *publish = policies[i].publish;
            return true;
        }
    return false;
}

static bool take(int option, const char *value, options *o) {
    uint64_t n = 0;
    bool good = true;
    switch (option) {
    case 'p':
        o->person = hex_player_parse(value);
        return o->person >= 0;
    case 'n':
        good = whole(value, 1, HEX_SIZE_MAX, &n);
        o->size = (uint32_t)n;
        return good;
    case 's':
        return hex_number_parse(value, 0, 1e9, &o->limits.seconds);
    case 'r':
        return whole(value, 0, 1e15, &o->limits.rollouts);
    case 'd':
        return whole(value, 0, 1e15, &o->search.seed);
    case 'x':
        good = hex_number_parse(value, 0, 100, &o->search.exploration);
        if (good && o->search.exploration <= 0)
            o->search.exploration = -1; /* 0 would select the default of tern_search_options */
        return good;
    case 'g':
        good = whole(value, 1, 65535, &n);
        o->search.simulations = (uint32_t)n;
        return good;
    case 'm':
        return memory(value, &o->search.memory);
    default:
        return policy(value, &o->search.publish);
    }
}

int options_read(int argc, char **argv, bool speak, options *o) {
    static const struct option names[] = {
        {"play", 1, NULL, 'p'},        {"size", 1, NULL, 'n'},
        {"no-swap", 0, NULL, 'w'},     {"seconds", 1, NULL, 's'},
        {"rollouts", 1, NULL, 'r'},    {"seed", 1, NULL, 'd'},
        {"exploration", 1, NULL, 'x'}, {"simulations", 1, NULL, 'g'},
        {"memory", 1, NULL, 'm'},      {"publish", 1, NULL, 'u'},
        {"hash", 0, NULL, 'a'},        {"calls-only", 0, NULL, 'c'},
        {"help", 0, NULL, 'h'},        {NULL, 0, NULL, 0}};
    *o = (options){.size = 11, .swap = true, .person = -1};
    o->limits.seconds = 5;
    o->search.seed = 1;
    o->search.exploration = 0.7;
    opterr = 0;
    int option, at, place = 1;
    while ((option = getopt_long(argc, argv, "", names, &at)) >= 0) {
        if (option == 'h') {
            if (speak)
                fputs(help, stdout);
            return 0;
        }
        if (option == '?') {
            if (speak)
                fprintf(stderr, "tern-hex: bad option, or no value: %s; see --help\n", argv[place]);
            return 2;
        }
        place = optind;
        if (option == 'w')
            o->swap = false;
        else if (option == 'a')
            o->search.placement = TERN_PLACE_HASH;
        else if (option == 'c')
            o->search.calls_only = 1;
        else if (!take(option, optarg, o)) {
            if (speak)
                fprintf(stderr, "tern-hex: --%s cannot be %s; see --help\n", names[at].name,
                        optarg);
            return 2;
        }
    }
    if (optind < argc || (o->limits.seconds <= 0 && o->limits.rollouts == 0)) {
        if (speak)
            fprintf(stderr, "tern-hex: %s%s; see --help\n",
                    optind < argc ? "takes no arguments but options, not "
                                  : "a move needs a limit of seconds or of rollouts",
                    optind < argc ? argv[optind] : "");
        return 2;
    }
    return -1;
}
