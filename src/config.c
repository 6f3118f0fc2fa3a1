#include "src/context.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "src/log.h"

extern char **environ;

/* One table drives parsing, checking, printing and the comparison between ranks. The value of an
 * option of kind OPTION_TEXT is the address of its text, or 0. */
typedef enum option_kind { OPTION_CHOICE, OPTION_COUNT, OPTION_SIZE, OPTION_TEXT } option_kind;

typedef struct option {
    const char *name;
    option_kind kind;
    size_t offset;             /* in tern_config */
    size_t width;              /* of the field */
    const char *const *choice; /* OPTION_CHOICE: names by value, ends with NULL */
    uint64_t lowest, highest;  /* OPTION_COUNT and OPTION_SIZE */
    bool power_of_two;
    bool local; /* ranks may have different values */
    uint64_t fallback;
    const char *meaning;
} option;

static const char *const transports[] = {"auto", "shm", "rma", "p2p", "ofi", "verbs", NULL};
static const char *const pages[] = {"auto", "none", "2M", "1G", NULL};
static const char *const cma_choices[] = {"auto", "off", NULL};
static const char *const commits[] = {"checksum", "flush", NULL};
static const char *const appliers[] = {"auto", "mpi", "owner", "network", NULL};
static const char *const progresses[] = {"auto", "manual", "automatic", NULL};
static const char *const orders[] = {"strict", "relaxed", NULL};
static const char *const publications[] = {"write", "batched", "spill", NULL};
static const char *const levels[] = {"none", "error", "warn", "info", "debug", NULL};
static const char *const switches[] = {"0", "1", NULL};

#define FIELD(f) offsetof(tern_config, f), sizeof(((tern_config *)0)->f)
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

static const option options[] = {
    {"TERN_TRANSPORT", OPTION_CHOICE, FIELD(transport), transports, 0, 0, false, false,
     TERN_TRANSPORT_AUTO,
     "between ranks that share no memory; all but shm make every rank a node if all share it"},
    {"TERN_VERBS_DEVICE", OPTION_TEXT, FIELD(verbs_device), NULL, 0, 0, false, true, 0,
     "verbs: card, or card:port; none: an active one, near to the process if there is one"},
    {"TERN_VERBS_GID_INDEX", OPTION_COUNT, FIELD(verbs_gid_index), NULL, 0, TERN_VERBS_GID_ANY,
     false, true, TERN_VERBS_GID_ANY,
     "verbs: of the port; 255: the best one, RoCE version 2 before 1, IPv4 before IPv6"},
    {"TERN_VERBS_SERVICE_LEVEL", OPTION_COUNT, FIELD(verbs_service_level), NULL, 0, 15, false, true,
     0, "verbs: of all packets"},
    {"TERN_VERBS_TRAFFIC_CLASS", OPTION_COUNT, FIELD(verbs_traffic_class), NULL, 0, 255, false,
     true, 0,
     "verbs: of all packets that are routed, as all of RoCE are; DSCP is its upper six bits"},
    {"TERN_VERBS_PKEY", OPTION_COUNT, FIELD(verbs_pkey), NULL, 0, 65535, false, true, 0,
     "verbs: key of the partition, in decimal; 0: the first of the port"},
    {"TERN_VERBS_MTU", OPTION_COUNT, FIELD(verbs_mtu), NULL, 0, 4096, false, true, 0,
     "verbs: largest packet in bytes; 0: the port's"},
    {"TERN_VERBS_QUEUE_PAIRS", OPTION_COUNT, FIELD(verbs_queue_pairs), NULL, 2, 1 << 20, false,
     true, 4096, "verbs: connections of a worker at a time; it closes old ones for new ones"},
    {"TERN_OFI_PROGRESS", OPTION_CHOICE, FIELD(ofi_progress), progresses, 0, 0, false, false,
     TERN_OFI_PROGRESS_AUTO,
     "ofi: manual: by tern's calls and a thread; automatic: by the provider itself; auto: the "
     "first "
     "that can be had"},
    {"TERN_RANKS_PER_NODE", OPTION_COUNT, FIELD(ranks_per_node), NULL, 0, 1 << 20, false, false, 0,
     "size of virtual nodes, for tests on one machine; 0: the real nodes"},
    {"TERN_WORKERS", OPTION_COUNT, FIELD(workers), NULL, 1, 1024, false, false, 1,
     "workers of each process"},
    {"TERN_SERVICE_THREADS", OPTION_COUNT, FIELD(service_threads), NULL, 0, 64, false, false, 0,
     "threads of each process that serve others while its own do not"},
    {"TERN_SEGMENT_SIZE", OPTION_SIZE, FIELD(segment_size), NULL, 64 * KIB, 16 * TIB, false, false,
     256 * MIB, "heap of each rank that others can reach; memory is taken when touched"},
    {"TERN_HUGE_PAGES", OPTION_CHOICE, FIELD(huge_pages), pages, 0, 0, false, false,
     TERN_HUGE_PAGES_AUTO, "pages of the heap; auto: the largest that can be had"},
    {"TERN_PREFAULT", OPTION_CHOICE, FIELD(prefault), switches, 0, 0, false, false, 0,
     "1: touch the whole heap at creation"},
    {"TERN_RING_SIZE", OPTION_SIZE, FIELD(ring_size), NULL, 4 * KIB, 16 * MIB, true, false,
     64 * KIB, "first size of a ring of records from a worker to another"},
    {"TERN_RING_GROWTH", OPTION_COUNT, FIELD(ring_growth), NULL, 1, 1024, true, false, 8,
     "how many times its first size a ring that is full grows to; 1: it never grows"},
    {"TERN_RING_MEMORY", OPTION_SIZE, FIELD(ring_memory), NULL, 4 * KIB, TIB, false, false,
     128 * MIB,
     "all rings into one rank together; memory is taken when touched. Further pairs send by "
     "messages"},
    {"TERN_OVERFLOW_MEMORY", OPTION_SIZE, FIELD(overflow_memory), NULL, 0, TIB, false, false,
     64 * MIB, "of a worker, for calls that wait for room without their caller"},
    {"TERN_PUBLISH", OPTION_CHOICE, FIELD(publish), publications, 0, 0, false, false,
     TERN_PUBLISH_WRITE,
     "calls are published at once (write), many together (batched), or at once and kept here while "
     "the "
     "ring is full (spill)"},
    {"TERN_PUBLISH_BYTES", OPTION_SIZE, FIELD(publish_bytes), NULL, 8, GIB, false, false, 4 * KIB,
     "batched: how much is published together"},
    {"TERN_BROADCAST_ARITY", OPTION_COUNT, FIELD(broadcast_arity), NULL, 1, 1 << 20, false, false,
     2, "ranks that each rank passes a broadcast on to"},
    {"TERN_IDLE_POLLS", OPTION_COUNT, FIELD(idle_polls), NULL, 1, 1 << 30, false, false, 4096,
     "empty polls after which a ring is left to its doorbell"},
    {"TERN_ACTIVE_RINGS", OPTION_COUNT, FIELD(active_rings), NULL, 0, 1 << 20, false, false, 4,
     "so many rings of a worker are polled always"},
    {"TERN_MPI_INTERVAL", OPTION_COUNT, FIELD(mpi_interval), NULL, 1, 1 << 20, false, false, 16,
     "polls of memory between two calls for MPI progress"},
    {"TERN_CMA", OPTION_CHOICE, FIELD(cma), cma_choices, 0, 0, false, false, TERN_CMA_AUTO,
     "registered memory of ranks of the node"},
    {"TERN_RMA_COMMIT", OPTION_CHOICE, FIELD(rma_commit), commits, 0, 0, false, false,
     TERN_RMA_COMMIT_CHECKSUM, "how a frame over rma becomes visible"},
    {"TERN_RMA_ATOMICS", OPTION_CHOICE, FIELD(rma_atomics), appliers, 0, 0, false, false,
     TERN_RMA_ATOMICS_AUTO, "what applies atomics on memory of other nodes"},
    {"TERN_LISTENER", OPTION_CHOICE, FIELD(listener), switches, 0, 0, false, false, 1,
     "1: over ofi, and between machines, a thread of each process answers ranks that meet or watch "
     "it; 0: its progress and its kernel do"},
    {"TERN_PACKED_MAX", OPTION_SIZE, FIELD(packed_max), NULL, 0, MIB, false, false, 128,
     "data up to this goes with its notification over shm; a quarter of a ring at most"},
    {"TERN_PACKED_MAX_REMOTE", OPTION_SIZE, FIELD(packed_max_remote), NULL, 0, MIB, false, false,
     4 * KIB, "the same over rma and p2p"},
    {"TERN_ZERO_COPY_MIN", OPTION_SIZE, FIELD(zero_copy_min), NULL, 1, TIB, false, false, 16 * KIB,
     "arguments from this size on are not copied into an archive that shares"},
    {"TERN_ORDER", OPTION_CHOICE, FIELD(order), orders, 0, 0, false, false, TERN_ORDER_STRICT,
     "relaxed: a notified operation may overtake those that wait for room"},
    {"TERN_NOTIFY_QUEUE", OPTION_COUNT, FIELD(notify_queue), NULL, 1, 1 << 20, false, false, 1024,
     "notified operations that may wait for each target"},
    {"TERN_NOTIFY_EVENTS", OPTION_COUNT, FIELD(notify_events), NULL, 1, 1 << 30, false, false,
     65536, "local events of a worker that may wait to be probed for"},
    {"TERN_PMPI_HANDLERS", OPTION_CHOICE, FIELD(pmpi_handlers), switches, 0, 0, false, false, 1,
     "1: with libtern_pmpi, calls of MPI that wait serve other ranks and run handlers; 0: they do "
     "not"},
    {"TERN_PEER_PATIENCE", OPTION_COUNT, FIELD(peer_patience), NULL, 0, 1000000, false, true, 1,
     "seconds after which a wait for a rank of another machine connects to that rank to see "
     "whether "
     "it has died, and one for a rank that is stuck in MPI, in a one-sided operation towards a "
     "rank "
     "that has died, is an error; 0: never"},
    {"TERN_HOST_TIMEOUT", OPTION_COUNT, FIELD(host_timeout), NULL, 0, 1000000, false, true, 30,
     "seconds of silence after which a machine, and each rank on it that is waited for, counts as "
     "dead; 0: never"},
    {"TERN_STUCK_REPORT", OPTION_COUNT, FIELD(stuck_report), NULL, 0, 1000000, false, true, 10,
     "seconds after which a wait writes a warning that names what it waits for; 0: never"},
    {"TERN_STATS", OPTION_CHOICE, FIELD(stats), switches, 0, 0, false, false, 0,
     "1: rank 0 writes a table of what the ranks did when the context is destroyed"},
    {"TERN_TRACE", OPTION_TEXT, FIELD(trace), NULL, 0, 0, false, false, 0,
     "file that rank 0 writes when the context is destroyed: a timeline of all ranks, for "
     "Perfetto"},
    {"TERN_TRACE_EVENTS", OPTION_COUNT, FIELD(trace_events), NULL, 1, 1 << 30, false, false, 100000,
     "events of a worker that the timeline has room for; later ones are dropped"},
    {"TERN_LOG_LEVEL", OPTION_CHOICE, FIELD(log_level), levels, 0, 0, false, true, TERN_LOG_WARN,
     "lines up to this level are written to standard error"},
};

#define OPTIONS (sizeof options / sizeof options[0])

/* More characters than the name of any option has. */
#define NAME_LETTERS 63

static uint64_t read_field(const tern_config *config, const option *k) {
    uint32_t narrow;
    uint64_t wide;
    const char *field = (const char *)config + k->offset;
    if (k->kind == OPTION_TEXT)
        return (uintptr_t)field;
    if (k->width == sizeof narrow) {
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, field, sizeof wide);
    return wide;
}

static void write_field(tern_config *config, const option *k, uint64_t value) {
    uint32_t narrow = (uint32_t)value;
    char *field = (char *)config + k->offset;
    if (k->kind == OPTION_TEXT)
        snprintf(field, k->width, "%s", value != 0 ? (const char *)(uintptr_t)value : "");
    else if (k->width == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &value, sizeof value);
}

static const option *find_option(const char *name) {
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

/* Writes a size in the short form: 65536 as 64K, and so on. */
static void format_size(uint64_t value, char *text, size_t room) {
    static const char suffix[] = {0, 'K', 'M', 'G'};
    int s = 0;
    while (s < 3 && value != 0 && value % 1024 == 0) {
        value /= 1024;
        s++;
    }
    snprintf(text, room, s == 0 ? "%llu" : "%llu%c", (unsigned long long)value, suffix[s]);
}

static void format_value(const option *k, uint64_t value, char *text, size_t room) {
    if (k->kind == OPTION_SIZE) {
        format_size(value, text, room);
    } else if (k->kind == OPTION_COUNT) {
        snprintf(text, room, "%llu", (unsigned long long)value);
    } else if (k->kind == OPTION_TEXT) {
        snprintf(text, room, "%s", (const char *)(uintptr_t)value);
    } else {
        uint64_t count = 0;
        while (k->choice[count] != NULL)
            count++;
        if (value < count)
            snprintf(text, room, "%s", k->choice[value]);
        else
            snprintf(text, room, "%llu", (unsigned long long)value);
    }
}

/* Writes which values the option allows, for messages. */
static void format_allowed(const option *k, char *text, size_t room) {
    if (k->kind == OPTION_CHOICE) {
        size_t used = 0;
        for (size_t i = 0; k->choice[i] != NULL && used < room; i++)
            used += (size_t)snprintf(text + used, room - used, "%s%s", i == 0 ? "" : ", ",
                                     k->choice[i]);
        return;
    }
    if (k->kind == OPTION_TEXT) {
        snprintf(text, room, "up to %zu characters", k->width - 1);
        return;
    }
    char low[32], high[32];
    format_value(k, k->lowest, low, sizeof low);
    format_value(k, k->highest, high, sizeof high);
    snprintf(text, room, "%s%s to %s", k->power_of_two ? "a power of two, " : "", low, high);
}

static tern_status refuse_value(const option *k, const char *value) {
    char allowed[128];
    format_allowed(k, allowed, sizeof allowed);
    return tern_fail(TERN_ERR_CONFIG, "%s=%s is not allowed; use %s", k->name, value, allowed);
}

static bool is_allowed(const option *k, uint64_t value) {
    if (k->kind == OPTION_TEXT)
        return strnlen((const char *)(uintptr_t)value, k->width) < k->width;
    if (k->kind == OPTION_CHOICE) {
        uint64_t count = 0;
        while (k->choice[count] != NULL)
            count++;
        return value < count;
    }
    return value >= k->lowest && value <= k->highest &&
           (!k->power_of_two || (value & (value - 1)) == 0);
}

static bool parse_number(const char *text, bool size, uint64_t *value) {
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    unsigned shift = 0;
    if (size && *end != 0) {
        switch (toupper((unsigned char)*end)) {
        case 'K':
            shift = 10;
            break;
        case 'M':
            shift = 20;
            break;
        case 'G':
            shift = 30;
            break;
        default:
            return false;
        }
        end++;
    }
    if (*end != 0 || number > UINT64_MAX >> shift)
        return false;
    *value = (uint64_t)number << shift;
    return true;
}

/* Reads the value of an option from text. [out] value. False: text is not an allowed value. */
static bool parse_value(const option *k, const char *text, uint64_t *value) {
    if (k->kind == OPTION_CHOICE) {
        for (uint64_t i = 0; k->choice[i] != NULL; i++) {
            if (strcmp(k->choice[i], text) == 0) {
                *value = i;
                return true;
            }
        }
        return false;
    }
    uint64_t number = (uintptr_t)text;
    if ((k->kind != OPTION_TEXT && !parse_number(text, k->kind == OPTION_SIZE, &number)) ||
        !is_allowed(k, number))
        return false;
    *value = number;
    return true;
}

static size_t config_smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Returns how many letters have to be inserted, deleted or changed to make b of a (Levenshtein's
 * distance). It looks only at the first NAME_LETTERS letters of a. */
static size_t config_distance(const char *a, const char *b) {
    size_t row[NAME_LETTERS + 1]; /* row[i]: the distance between the letters of b so far and the
                                     first i letters of a */
    size_t length = strnlen(a, NAME_LETTERS);
    for (size_t i = 0; i <= length; i++)
        row[i] = i;
    for (; *b != 0; b++) {
        size_t diagonal = row[0]++;
        for (size_t i = 1; i <= length; i++) {
            size_t changed = diagonal + (a[i - 1] != *b);
            diagonal = row[i];
            row[i] = config_smaller(changed, config_smaller(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

static const char *nearest_name(const char *name) {
    size_t best = 0;
    for (size_t i = 1; i < OPTIONS; i++)
        if (config_distance(name, options[i].name) < config_distance(name, options[best].name))
            best = i;
    return options[best].name;
}

static tern_status refuse_name(const char *name) {
    char all[800];
    size_t used = 0;
    for (size_t i = 0; i < OPTIONS && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, " %s", options[i].name);
    return tern_fail(TERN_ERR_CONFIG, "%.*s is no option of tern; the nearest is %s of:%s",
                     NAME_LETTERS, name, nearest_name(name), all);
}

/* Whether a variable says where software is installed, as TERN_ROOT of module files and
 * find_package does. It is then not an option. */
static bool is_path(const char *name) {
    static const char *const endings[] = {"_ROOT", "_DIR", "_HOME"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (length >= strlen(endings[i]) &&
            strcmp(name + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

/* Copies the name of the next variable, from *entry on, that looks like an option but is not one;
 * false: there are no more. A name that is cut was longer than any option's. */
static bool next_unknown(char ***entry, char name[NAME_LETTERS + 1]) {
    for (; *entry != NULL && **entry != NULL; ++*entry) {
        if (strncmp(**entry, "TERN_", 5) != 0)
            continue;
        snprintf(name, NAME_LETTERS + 1, "%.*s", (int)strcspn(**entry, "="), **entry);
        if (find_option(name) == NULL && !is_path(name)) {
            ++*entry;
            return true;
        }
    }
    return false;
}

void tern_config_warn(void) {
    char name[NAME_LETTERS + 1];
    for (char **entry = environ; next_unknown(&entry, name);)
        tern_log(TERN_LOG_WARN, "%s in the environment is no option of tern; the nearest is %s",
                 name, nearest_name(name));
}

tern_status tern_config_set(tern_config *config, const char *name, const char *value) {
    if (config == NULL || name == NULL || value == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_config_set: config, name or value is NULL");
    const option *k = find_option(name);
    if (k == NULL)
        return refuse_name(name);
    uint64_t number = 0;
    if (!parse_value(k, value, &number))
        return refuse_value(k, value);
    write_field(config, k, number);
    return TERN_OK;
}

/* Sets every option to its default, or to the value in the environment. Returns the first option
 * whose variable has a value that is not allowed, or NULL; that option keeps its default. */
static const option *read_environment(tern_config *config) {
    const option *refused = NULL;
    memset(config, 0, sizeof *config);
    for (const option *k = options; k < options + OPTIONS; k++) {
        const char *text = getenv(k->name);
        uint64_t value = k->fallback;
        if (text != NULL && !parse_value(k, text, &value) && refused == NULL)
            refused = k;
        write_field(config, k, value);
    }
    return refused;
}

tern_status tern_config_init(tern_config *config) {
    if (config == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_config_init: config is NULL");
    tern_config fresh;
    const option *refused = read_environment(&fresh);
    if (refused != NULL)
        return refuse_value(refused, getenv(refused->name));
    *config = fresh;
    return TERN_OK;
}

tern_status tern_config_check(const tern_config *config) {
    if (config == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_config_check: config is NULL");
    for (const option *k = options; k < options + OPTIONS; k++) {
        uint64_t value = read_field(config, k);
        if (!is_allowed(k, value)) {
            char text[32];
            format_value(k, value, text, sizeof text);
            return refuse_value(k, text);
        }
    }
    if (config->ring_memory < config->ring_size)
        return tern_fail(TERN_ERR_CONFIG,
                         "TERN_RING_MEMORY=%zu holds no ring of TERN_RING_SIZE=%zu; raise it",
                         config->ring_memory, config->ring_size);
    return TERN_OK;
}

static const char *config_origin(const option *k, uint64_t value) {
    const char *text = getenv(k->name);
    uint64_t number;
    if (k->kind == OPTION_TEXT) {
        const char *given = (const char *)(uintptr_t)value;
        if (given[0] == 0)
            return "default";
        return text != NULL && strcmp(text, given) == 0 ? "environment" : "program";
    }
    if (text != NULL && parse_value(k, text, &number) && number == value)
        return "environment";
    return value == k->fallback ? "default" : "program";
}

#define ROW "%-24s %-10s %-12s "

static void print_option(const option *k, uint64_t value, FILE *out) {
    char text[32], allowed[128];
    format_value(k, value, text, sizeof text);
    format_allowed(k, allowed, sizeof allowed);
    fprintf(out, ROW "%s (%s)\n", k->name, text, config_origin(k, value), k->meaning, allowed);
}

/* Prints a variable of the environment whose value was refused. */
static void print_refused(const option *k, FILE *out) {
    char allowed[128];
    format_allowed(k, allowed, sizeof allowed);
    fprintf(out, ROW "not allowed; use %s\n", k->name, getenv(k->name), "refused", allowed);
}

static void print_unknown(FILE *out) {
    char name[NAME_LETTERS + 1];
    for (char **entry = environ; next_unknown(&entry, name);) {
        const char *value = getenv(name);
        fprintf(out, ROW "no option of tern; the nearest is %s\n", name, value != NULL ? value : "",
                "ignored", nearest_name(name));
    }
}

void tern_config_print(const tern_config *config, FILE *out) {
    if (out == NULL)
        return;
    tern_config environment;
    const tern_config *shown = config;
    if (config == NULL) {
        (void)read_environment(&environment);
        shown = &environment;
    }
    fprintf(out, ROW "%s\n", "option", "value", "from", "meaning");
    for (const option *k = options; k < options + OPTIONS; k++) {
        const char *text = getenv(k->name);
        uint64_t number;
        if (config == NULL && text != NULL && !parse_value(k, text, &number))
            print_refused(k, out);
        else
            print_option(k, read_field(shown, k), out);
    }
    if (config == NULL)
        print_unknown(out);
}

static bool config_differs(const option *k, const tern_config *a, const tern_config *b) {
    const uint64_t x = read_field(a, k), y = read_field(b, k);
    return k->kind == OPTION_TEXT
               ? strcmp((const char *)(uintptr_t)x, (const char *)(uintptr_t)y) != 0
               : x != y;
}

const char *tern_config_difference(const tern_config *a, const tern_config *b, char *of_a,
                                   char *of_b, size_t room) {
    for (const option *k = options; k < options + OPTIONS; k++) {
        if (k->local || !config_differs(k, a, b))
            continue;
        format_value(k, read_field(a, k), of_a, room);
        format_value(k, read_field(b, k), of_b, room);
        return k->name;
    }
    return NULL;
}
