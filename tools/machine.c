/* The machine: processors, NUMA nodes, cards, pages. */

#include <dirent.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/info.h"

static const char *card_kind(hwloc_obj_osdev_type_t type) {
    switch (type) {
    case HWLOC_OBJ_OSDEV_NETWORK:
        return "network";
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
        return "RDMA";
    case HWLOC_OBJ_OSDEV_COPROC:
        return "accelerator";
    case HWLOC_OBJ_OSDEV_GPU:
        return "GPU";
    default:
        return NULL;
    }
}

static void info_cards(report *r, hwloc_topology_t topology) {
    hwloc_obj_t card = NULL;
    report_open_list(r, "cards");
    while ((card = hwloc_get_next_osdev(topology, card)) != NULL) {
        const char *kind = card_kind(card->attr->osdev.type);
        if (kind == NULL)
            continue;
        char nodes[64] = "";
        const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, card);
        if (near != NULL)
            hwloc_bitmap_list_snprintf(nodes, sizeof nodes, near->nodeset);
        report_open(r, NULL);
        report_text(r, "name", card->name);
        report_text(r, "kind", kind);
        report_text(r, "near NUMA node", nodes);
        report_close(r);
    }
    report_close_list(r);
}

/* The number in a file; 0 if it cannot be read. */
static double read_number(const char *path) {
    double number = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lf", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

/* The word in brackets of "always [madvise] never". */
static void read_choice(const char *path, char *choice, size_t room) {
    char line[128] = "";
    FILE *file = fopen(path, "r");
    snprintf(choice, room, "not there");
    if (file == NULL)
        return;
    const char *from = fgets(line, sizeof line, file) != NULL ? strchr(line, '[') : NULL;
    if (from != NULL)
        snprintf(choice, room, "%.*s", (int)strcspn(from + 1, "]"), from + 1);
    fclose(file);
}

static void info_pages(report *r) {
    static const char folder[] = "/sys/kernel/mm/hugepages";
    char text[64];
    report_open(r, "pages");
    report_number(r, "ordinary bytes", (double)sysconf(_SC_PAGESIZE));
    read_choice("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    report_text(r, "transparent huge pages", text);
    read_choice("/sys/kernel/mm/transparent_hugepage/shmem_enabled", text, sizeof text);
    report_text(r, "the same in shared memory", text);
    report_open_list(r, "huge");
    DIR *sizes = opendir(folder);
    for (struct dirent *entry; sizes != NULL && (entry = readdir(sizes)) != NULL;) {
        char path[384];
        const char *kilobytes = entry->d_name + strcspn(entry->d_name, "0123456789");
        if (entry->d_name[0] == '.')
            continue;
        report_open(r, NULL);
        report_number(r, "bytes", 1024 * atof(kilobytes));
        snprintf(path, sizeof path, "%s/%s/nr_hugepages", folder, entry->d_name);
        report_number(r, "reserved", read_number(path));
        snprintf(path, sizeof path, "%s/%s/free_hugepages", folder, entry->d_name);
        report_number(r, "free", read_number(path));
        report_close(r);
    }
    if (sizes != NULL)
        closedir(sizes);
    report_close_list(r);
    report_close(r);
}

void info_machine(report *r) {
    hwloc_topology_t topology;
    struct utsname system;
    report_open(r, "machine");
    if (uname(&system) == 0) {
        report_text(r, "host", system.nodename);
        report_text(r, "Linux", system.release);
        report_text(r, "processor", system.machine);
    }
    if (hwloc_topology_init(&topology) == 0) {
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
        if (hwloc_topology_load(topology) == 0) {
            report_number(r, "packages", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
            report_number(r, "cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
            report_number(r, "processors", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
            report_number(r, "NUMA nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
            info_cards(r, topology);
        }
        hwloc_topology_destroy(topology);
    }
    info_pages(r);
    report_close(r);
}
