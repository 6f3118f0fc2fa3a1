/*
 * tern-info: shows tern's settings on this machine. Prints the version, the MPI library, the
 * topology that placement uses, and every option with its value, the origin of the value and its
 * meaning. Needs no launcher. The exit status is 1, after the whole table, if a value in the
 * environment is refused.
 */

#include <getopt.h>
#include <hwloc.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tern/config.h"
#include "tern/version.h"

static void print_usage(FILE *out) {
    fputs("usage: tern-info [--help] [--version]\n"
          "Prints tern's version, the MPI library, this machine's NUMA nodes and every option.\n",
          out);
}

static void print_mpi(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS)
        return;
    version[strcspn(version, "\n")] = 0; /* MPICH adds its configuration on further lines */
    printf("MPI         %s\n", version);
}

static void print_machine(void) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0)
        printf("machine     %d processors, %d NUMA nodes\n",
               hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
               hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
    hwloc_topology_destroy(topology);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "hv", options, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 0;
        }
        if (option == 'v') {
            puts("tern-info " TERN_VERSION_STRING);
            return 0;
        }
        print_usage(stderr);
        return 2;
    }
    if (optind < argc) {
        fprintf(stderr, "tern-info: unexpected argument %s\n", argv[optind]);
        return 2;
    }
    puts("tern        " TERN_VERSION_STRING);
    print_mpi();
    print_machine();
    putchar('\n');
    tern_config config;
    tern_status status = tern_config_init(&config);
    if (status == TERN_OK)
        status = tern_config_check(&config);
    tern_config_print(NULL, stdout);
    if (status != TERN_OK)
        fprintf(stderr, "tern-info: %s\n", tern_error_detail());
    return status != TERN_OK;
}
