/*
 * tern-info: shows tern's settings on this machine. Prints the version and the build, the MPI
 * library, the topology that placement uses, cards, pages, and every option with its value, the
 * origin of the value and its meaning. This part needs no launcher and no MPI_Init. The exit status
 * is 1, after the whole table, if a value in the environment is refused. With --mpi, --networks or
 * --job it is an MPI program that shows what it finds out between its ranks instead.
 */

#include <getopt.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tern/config.h"
#include "tools/info.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void print_usage(FILE *out) {
    fputs("usage: tern-info [--json] [--help] [--version]\n"
          "       mpirun -n N tern-info [--job] [--mpi] [--networks] [--json]\n"
          "Prints tern's version and build, the MPI library, this machine's processors, cards and\n"
          "pages, and every option with its value and origin.\n"
          "  --job       ranks by host, and the transport of each pair of ranks\n"
          "  --mpi       what this MPI really does, by trying it\n"
          "  --networks  what each native network can do, by trying it; needs two ranks\n"
          "  --json      the same for programs\n",
          out);
}

void info_build(report *r) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0, major = 0, minor = 0;
    report_open(r, "tern");
    report_text(r, "version", TERN_VERSION_STRING);
    report_text(r, "built for", TERN_BUILT_FOR);
    report_text(r, "build type", TERN_BUILD_TYPE);
    report_text(r, "compiler", COMPILER);
#ifdef TERN_HAVE_OFI
    report_yes(r, "built with libfabric", 1);
#else
    report_yes(r, "built with libfabric", 0);
#endif
#ifdef TERN_HAVE_VERBS
    report_yes(r, "built with libibverbs", 1);
#else
    report_yes(r, "built with libibverbs", 0);
#endif
    report_close(r);
    report_open(r, "MPI");
    if (MPI_Get_library_version(version, &length) == MPI_SUCCESS) {
        version[strcspn(version, "\n")] = 0; /* MPICH adds its configuration on further lines */
        for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;)
            *tab = ' ';
        report_text(r, "library", version);
    }
    if (MPI_Get_version(&major, &minor) == MPI_SUCCESS) {
        snprintf(version, sizeof version, "%d.%d", major, minor);
        report_text(r, "standard", version);
    }
    report_close(r);
}

/* Cuts the next word off text, with the spaces behind it. */
static char *next_word(char **text) {
    char *word = *text;
    *text += strcspn(*text, " ");
    if (**text != 0) {
        *(*text)++ = 0;
        *text += strspn(*text, " ");
    }
    return word;
}

/* A line of tern_config_print: name, value, origin, meaning. An empty value leaves more spaces. */
static void info_option(report *r, char *line) {
    line[strcspn(line, "\n")] = 0;
    const int empty = strlen(line) > 25 && line[25] == ' ';
    char *rest = line;
    report_open(r, NULL);
    report_text(r, "name", next_word(&rest));
    report_text(r, "value", empty ? "" : next_word(&rest));
    report_text(r, "origin", next_word(&rest));
    report_text(r, "meaning", rest);
    report_close(r);
}

void info_options(report *r) {
    if (!r->json) {
        fputc('\n', r->out);
        tern_config_print(NULL, r->out);
        return;
    }
    char *table = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&table, &bytes);
    if (out == NULL)
        return;
    tern_config_print(NULL, out);
    fclose(out);
    report_open_list(r, "options");
    char *rest = NULL;
    strtok_r(table, "\n", &rest); /* the heading */
    for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;)
        info_option(r, line);
    report_close_list(r);
    free(table);
}

static int print_machine(int json) {
    report r;
    report_begin(&r, stdout, json);
    info_build(&r);
    info_machine(&r);
    info_options(&r);
    report_end(&r);
    tern_config config;
    tern_status status = tern_config_init(&config);
    if (status == TERN_OK)
        status = tern_config_check(&config);
    if (status != TERN_OK)
        fprintf(stderr, "tern-info: %s\n", tern_error_detail());
    return status != TERN_OK;
}

/* The exit status. Rank 0 prints. */
static int print_ranks(int *argc, char ***argv, int job, int mpi, int networks, int json) {
    int provided, rank, failed = 0;
    report whole, *r = NULL;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        r = &whole;
        report_begin(r, stdout, json);
        info_build(r);
    }
    if (job)
        failed |= info_job(r);
    if (mpi)
        failed |= info_mpi(r, provided);
    if (networks && info_networks(r) != 0)
        failed = 2;
    if (r != NULL)
        report_end(r);
    MPI_Finalize();
    return failed;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"networks", no_argument, NULL, 'n'},
                                            {"mpi", no_argument, NULL, 'm'},
                                            {"job", no_argument, NULL, 'j'},
                                            {"json", no_argument, NULL, 'J'},
                                            {NULL, 0, NULL, 0}};
    int option, place = 1, job = 0, mpi = 0, networks = 0, json = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hv", options, NULL)) != -1) {
        switch (option) {
        case 'h':
            print_usage(stdout);
            return 0;
        case 'v':
            puts("tern-info " TERN_VERSION_STRING);
            return 0;
        case 'n':
            networks = 1;
            break;
        case 'm':
            mpi = 1;
            break;
        case 'j':
            job = 1;
            break;
        case 'J':
            json = 1;
            break;
        default:
            fprintf(stderr, "tern-info: there is no option %s; --help lists them\n", argv[place]);
            return 2;
        }
        place = optind;
    }
    if (optind < argc) {
        fprintf(stderr, "tern-info: unexpected argument %s; --help lists the options\n",
                argv[optind]);
        return 2;
    }
    if (job || mpi || networks)
        return print_ranks(&argc, &argv, job, mpi, networks, json);
    return print_machine(json);
}
