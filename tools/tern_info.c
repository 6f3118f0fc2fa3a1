/*
 * tern-info: shows tern's settings on this machine. Prints the version, the MPI library, the
 * topology that placement uses with the network cards, and every option with its value, the origin
 * of the value and its meaning. Needs no launcher. The exit status is 1, after the whole table, if
 * a value in the environment is refused. With --networks it is an MPI program that tries each
 * network between its ranks and shows what it found.
 */

#include <getopt.h>
#include <hwloc.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tern/config.h"
#include "tern/context.h"
#include "tern/version.h"

static void print_usage(FILE *out) {
    fputs(
        "usage: tern-info [--help] [--version]\n"
        "       mpirun -n 2 tern-info --networks\n"
        "Prints tern's version, the MPI library, this machine's NUMA nodes and network cards, and "
        "every\n"
        "option. With --networks, for two ranks or more: what each network can do between them.\n",
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

/* Network cards, with the NUMA nodes that they are near. */
static void print_cards(hwloc_topology_t topology) {
    hwloc_obj_t card = NULL;
    while ((card = hwloc_get_next_osdev(topology, card)) != NULL) {
        const hwloc_obj_osdev_type_t type = card->attr->osdev.type;
        if (type != HWLOC_OBJ_OSDEV_NETWORK && type != HWLOC_OBJ_OSDEV_OPENFABRICS)
            continue;
        char nodes[64] = "";
        const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, card);
        if (near != NULL)
            hwloc_bitmap_list_snprintf(nodes, sizeof nodes, near->nodeset);
        printf("card        %s%s, near NUMA node %s\n", card->name,
               type == HWLOC_OBJ_OSDEV_OPENFABRICS ? " (RDMA)" : "", nodes);
    }
}

static void print_machine(void) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology) == 0) {
        printf("machine     %d processors, %d NUMA nodes\n",
               hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
               hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
        print_cards(topology);
    }
    hwloc_topology_destroy(topology);
}

static const char *yes(int said) { return said ? "yes" : "no"; }

/* Collective. What one transport finds between two ranks; rank 0 prints it. */
static void print_network(const char *transport, int rank) {
    tern_config config;
    tern_context *context = NULL;
    tern_network_info info = {0};
    tern_status status = tern_config_init(&config);
    if (status == TERN_OK)
        status = tern_config_set(&config, "TERN_TRANSPORT", transport);
    if (status == TERN_OK)
        status = tern_config_set(&config, "TERN_SEGMENT_SIZE", "1M");
    if (status == TERN_OK)
        status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    if (status == TERN_OK)
        status = tern_context_network(context, &info);
    if (rank == 0 && status != TERN_OK)
        printf("%-6s  not here: %s\n", transport, tern_error_detail());
    if (rank == 0 && status == TERN_OK)
        printf("%-6s  %s, card %s\n"
               "        lands in a rank that sleeps: %s\n"
               "        a put and its completion: %.1f us; a message and its answer: %.1f us\n"
               "        carries %zu bytes in a post; moves registered memory only: %s\n"
               "        says that writes are ordered: %s, and that it has atomics: %s\n",
               transport, info.name, info.card, yes(info.one_sided), info.put_ns / 1e3,
               info.message_ns / 1e3, info.carried, yes(info.registered_only),
               yes(info.says_ordered), yes(info.says_atomics));
    if (context != NULL && tern_context_destroy(context) != TERN_OK)
        fprintf(stderr, "tern-info: %s\n", tern_error_detail());
}

/* The exit status. */
static int print_networks(int *argc, char ***argv) {
    int provided, rank, size;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 && rank == 0)
        fprintf(stderr, "tern-info: --networks needs two ranks or more: mpirun -n 2 tern-info "
                        "--networks\n");
    if (size >= 2) {
        print_network("verbs", rank);
        print_network("ofi", rank);
    }
    MPI_Finalize();
    return size < 2 ? 2 : 0;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {"networks", no_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
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
        if (option == 'n')
            return print_networks(&argc, &argv);
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
