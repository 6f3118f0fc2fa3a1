#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "encoding.h"
#include "spectrum.h"

const char kmer_options_help[] =
    "usage: kmer [options] [FILE...]\n"
    "\n"
    "Counts the k-mers of FASTA and FASTQ files, plain or gzip, in a hash table that is\n"
    "distributed over the ranks of an MPI job: mpirun -n 4 kmer -C reads.fq.gz\n"
    "Without a file and --load it counts the genome of phage lambda, which is built in.\n"
    "\n"
    "  -k, --kmer N         bases of a k-mer, 1 to 32 (default 21)\n"
    "  -C, --canonical      count a k-mer and its reverse complement as one\n"
    "  -l, --load FILE      begin with the table that --output wrote to FILE, with its -k and\n"
    "                       --canonical, and add the k-mers of the other files to it\n"
    "      --capacity N     distinct k-mers that must fit, with K, M or G for thousands,\n"
    "                       millions or billions (default: enough, by an estimate for which\n"
    "                       the input is read once more)\n"
    "      --via rma|call   how to reach the table: one-sided, or by calls to the owner\n"
    "                       (default rma where all ranks share memory, else call)\n"
    "\n"
    "  -d, --dump FILE      write lines 'KMER COUNT', sorted\n"
    "  -o, --output FILE    write the table for --load, with checksums\n"
    "      --histogram FILE write lines 'COUNT K-MERS'; counts above 10,000 are one line,\n"
    "                       10001\n"
    "      --spectrum FILE  draw the histogram by gnuplot; FILE ends with .svg or .png\n"
    "      --min-count N    leave k-mers that were counted less often out of all results but\n"
    "                       --output: most of them come from errors of reading\n"
    "      --top N          list the N most frequent k-mers\n"
    "      --json           tell the results as one line of JSON\n"
    "      --progress       show progress even if standard error is no terminal\n"
    "      --help, --version\n"
    "\n"
    "Exit status: 0 done, 1 failed (bad input, full table, ...), 2 bad usage.\n"
    "The environment variables TERN_* that tern-info lists set up tern.\n";

enum {
    OPTION_CAPACITY = 256,
    OPTION_VIA,
    OPTION_HISTOGRAM,
    OPTION_SPECTRUM,
    OPTION_MIN_COUNT,
    OPTION_TOP,
    OPTION_JSON,
    OPTION_PROGRESS,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option table[] = {
    {"kmer", required_argument, NULL, 'k'},
    {"canonical", no_argument, NULL, 'C'},
    {"capacity", required_argument, NULL, OPTION_CAPACITY},
    {"via", required_argument, NULL, OPTION_VIA},
    {"dump", required_argument, NULL, 'd'},
    {"output", required_argument, NULL, 'o'},
    {"histogram", required_argument, NULL, OPTION_HISTOGRAM},
    {"spectrum", required_argument, NULL, OPTION_SPECTRUM},
    {"load", required_argument, NULL, 'l'},
    {"min-count", required_argument, NULL, OPTION_MIN_COUNT},
    {"top", required_argument, NULL, OPTION_TOP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"progress", no_argument, NULL, OPTION_PROGRESS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

/* Reads digits with K, M or G. Returns 0 for any other text, for 0, and for too large a number. */
static uint64_t parse_count(const char *text) {
    if (*text < '0' || *text > '9')
        return 0;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    uint64_t unit = *end == 'K' || *end == 'k' ? 1000
                    : *end == 'M'              ? 1000000
                    : *end == 'G'              ? 1000000000
                                               : 1;
    if (unit != 1)
        end++;
    if (errno != 0 || *end != 0 || value > UINT64_MAX / unit)
        return 0;
    return value * unit;
}

static int parse_k(const char *text, kmer_options *options, kmer_error *error) {
    uint64_t k = parse_count(text);
    if (k < 1 || k > KMER_LONGEST)
        return kmer_fail_usage(error, "-k '%s': k must be 1 to %d", text, KMER_LONGEST);
    options->k = (unsigned)k;
    return 0;
}

static int parse_via(const char *text, kmer_options *options, kmer_error *error) {
    if (strcmp(text, "rma") == 0)
        options->via = TERN_BY_RMA;
    else if (strcmp(text, "call") == 0)
        options->via = TERN_BY_CALL;
    else
        return kmer_fail_usage(error, "--via '%s': rma or call are allowed", text);
    options->via_given = true;
    return 0;
}

static int parse_capacity(const char *text, kmer_options *options, kmer_error *error) {
    const uint64_t largest = UINT64_C(1) << 48;
    options->capacity = parse_count(text);
    if (options->capacity == 0 || options->capacity > largest)
        return kmer_fail_usage(
            error, "--capacity '%s': a number from 1, with K, M or G, is allowed", text);
    return 0;
}

static int parse_min_count(const char *text, kmer_options *options, kmer_error *error) {
    options->min_count = parse_count(text);
    if (options->min_count == 0)
        return kmer_fail_usage(error, "--min-count '%s': a number from 1 is allowed", text);
    return 0;
}

static int parse_top(const char *text, kmer_options *options, kmer_error *error) {
    options->top = parse_count(text);
    if (options->top == 0 || options->top > KMER_TOP_MOST)
        return kmer_fail_usage(error, "--top '%s': a number from 1 to %d is allowed", text,
                               KMER_TOP_MOST);
    return 0;
}

static int parse_spectrum(const char *text, kmer_options *options, kmer_error *error) {
    options->spectrum = text;
    if (!kmer_spectrum_takes(text))
        return kmer_fail_usage(
            error, "--spectrum '%s': a name that ends with .svg or .png is allowed", text);
    return 0;
}

/* Handles the option that getopt_long has found. */
static int take(int option, kmer_options *options, kmer_error *error) {
    switch (option) {
    case 'k':
        return parse_k(optarg, options, error);
    case 'C':
        options->canonical = true;
        return 0;
    case 'd':
        options->dump = optarg;
        return 0;
    case 'l':
        options->load = optarg;
        return 0;
    case 'o':
        options->output = optarg;
        return 0;
    case OPTION_CAPACITY:
        return parse_capacity(optarg, options, error);
    case OPTION_VIA:
        return parse_via(optarg, options, error);
    case OPTION_HISTOGRAM:
        options->histogram = optarg;
        return 0;
    case OPTION_SPECTRUM:
        return parse_spectrum(optarg, options, error);
    case OPTION_MIN_COUNT:
        return parse_min_count(optarg, options, error);
    case OPTION_TOP:
        return parse_top(optarg, options, error);
    case OPTION_JSON:
        options->json = true;
        return 0;
    case OPTION_PROGRESS:
        options->progress = true;
        return 0;
    case OPTION_HELP:
        options->action = KMER_HELP;
        return 0;
    default:
        options->action = KMER_VERSION;
        return 0;
    }
}

static bool same(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

int kmer_options_parse(int argc, char **argv, kmer_options *options, kmer_error *error) {
    kmer_options parsed = {0};
    opterr = 0;
    while (parsed.action != KMER_HELP && parsed.action != KMER_VERSION) {
        const char *word = optind < argc ? argv[optind] : "";
        int option = getopt_long(argc, argv, ":k:Cd:l:o:", table, NULL);
        if (option == -1)
            break;
        if (option == ':')
            return kmer_fail_usage(error, "option '%s' needs a value (see kmer --help)", word);
        if (option == '?')
            return kmer_fail_usage(error, "unknown option '%s' (see kmer --help)", word);
        if (take(option, &parsed, error) != 0)
            return -1;
    }
    const char *files[] = {parsed.dump, parsed.output, parsed.histogram, parsed.spectrum};
    for (int i = 0; i < 4; i++)
        for (int other = 0; other < i; other++)
            if (same(files[i], files[other]))
                return kmer_fail_usage(
                    error, "two of --dump, --output, --histogram and --spectrum name one file");
    if (parsed.k == 0 && parsed.load == NULL)
        parsed.k = 21;
    parsed.inputs = argv + optind;
    parsed.input_count = argc - optind;
    *options = parsed;
    return 0;
}
