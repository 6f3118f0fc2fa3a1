// tern-test: unit

/* Options: defaults, environment, program, bad names and values, the printed table. */

#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/context.h"
#include "tern/config.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

extern char **environ;

/* Every option, its field, a value that is not the default, and values that are refused. */
typedef struct {
    const char *name;
    size_t offset, width;
    uint64_t fallback;
    const char *text;
    uint64_t value;
    const char *bad[6];
} option;

#define FIELD(f) offsetof(tern_config, f), sizeof((tern_config *)0)->f

static const option options[] = {
    {"TERN_TRANSPORT",
     FIELD(transport),
     TERN_TRANSPORT_AUTO,
     "p2p",
     TERN_TRANSPORT_P2P,
     {"tcp", "RMA", "1", "p2p "}},
    {"TERN_RANKS_PER_NODE", FIELD(ranks_per_node), 0, "2", 2, {"-1", "two", "1.5", "1048577"}},
    {"TERN_WORKERS", FIELD(workers), 1, "1024", 1024, {"0", "1025", "-1", "2x", "0x2"}},
    {"TERN_SERVICE_THREADS", FIELD(service_threads), 0, "64", 64, {"65", "-1", "all"}},
    {"TERN_SEGMENT_SIZE",
     FIELD(segment_size),
     256 * MIB,
     "3M",
     3 * MIB,
     {"0", "M", "1KK", "1T", "-4M", "99999999999999999999"}},
    {"TERN_HUGE_PAGES",
     FIELD(huge_pages),
     TERN_HUGE_PAGES_AUTO,
     "2M",
     TERN_HUGE_PAGES_2M,
     {"4K", "2m", "2097152"}},
    {"TERN_PREFAULT", FIELD(prefault), 0, "1", 1, {"2", "yes", "-1"}},
    {"TERN_RING_SIZE",
     FIELD(ring_size),
     64 * KIB,
     "4K",
     4 * KIB,
     {"2K", "32M", "5000", "12K", "4K4"}},
    {"TERN_RING_GROWTH", FIELD(ring_growth), 8, "1", 1, {"0", "3", "2048", "x"}},
    {"TERN_RING_MEMORY", FIELD(ring_memory), 128 * MIB, "1G", GIB, {"0", "4095", "G"}},
    {"TERN_PUBLISH",
     FIELD(publish),
     TERN_PUBLISH_WRITE,
     "batched",
     TERN_PUBLISH_BATCHED,
     {"", "1", "OVFL"}},
    {"TERN_PUBLISH_BYTES", FIELD(publish_bytes), 4 * KIB, "8", 8, {"7", "2G", "4k4"}},
    {"TERN_BROADCAST_ARITY", FIELD(broadcast_arity), 2, "7", 7, {"0", "many"}},
    {"TERN_IDLE_POLLS", FIELD(idle_polls), 4096, "7", 7, {"0", "many"}},
    {"TERN_ACTIVE_RINGS", FIELD(active_rings), 4, "0", 0, {"-1", "1K"}},
    {"TERN_MPI_INTERVAL", FIELD(mpi_interval), 16, "1", 1, {"0", "1e3"}},
    {"TERN_CMA", FIELD(cma), TERN_CMA_AUTO, "off", TERN_CMA_OFF, {"on", "1"}},
    {"TERN_RMA_COMMIT",
     FIELD(rma_commit),
     TERN_RMA_COMMIT_CHECKSUM,
     "flush",
     TERN_RMA_COMMIT_FLUSH,
     {"none", "CHECKSUM"}},
    {"TERN_LISTENER", FIELD(listener), 1, "0", 0, {"2", "on"}},
    {"TERN_PACKED_MAX", FIELD(packed_max), 128, "1K", KIB, {"-1", "2M", "some"}},
    {"TERN_PACKED_MAX_REMOTE", FIELD(packed_max_remote), 4 * KIB, "0", 0, {"-1", "2M", "4k4"}},
    {"TERN_ORDER",
     FIELD(order),
     TERN_ORDER_STRICT,
     "relaxed",
     TERN_ORDER_RELAXED,
     {"loose", "1", "STRICT"}},
    {"TERN_NOTIFY_QUEUE", FIELD(notify_queue), 1024, "1", 1, {"0", "1K", "-2"}},
    {"TERN_NOTIFY_EVENTS", FIELD(notify_events), 65536, "1", 1, {"0", "1K", "-2"}},
    {"TERN_PMPI_HANDLERS", FIELD(pmpi_handlers), 1, "0", 0, {"2", "on"}},
    {"TERN_PEER_PATIENCE", FIELD(peer_patience), 1, "0", 0, {"-1", "1000001", "3s"}},
    {"TERN_HOST_TIMEOUT", FIELD(host_timeout), 30, "0", 0, {"-1", "1000001", "3s"}},
    {"TERN_STUCK_REPORT", FIELD(stuck_report), 10, "0", 0, {"-1", "1000001", "3s"}},
    {"TERN_STATS", FIELD(stats), 0, "1", 1, {"2", "on", "-1"}},
    {"TERN_TRACE_EVENTS", FIELD(trace_events), 100000, "1", 1, {"0", "1K", "-2"}},
    {"TERN_LOG_LEVEL", FIELD(log_level), TERN_LOG_WARN, "debug", TERN_LOG_DEBUG, {"loud", "5"}},
    {"TERN_VERBS_GID_INDEX", FIELD(verbs_gid_index), TERN_VERBS_GID_ANY, "3", 3, {"256", "-1"}},
    {"TERN_VERBS_SERVICE_LEVEL", FIELD(verbs_service_level), 0, "15", 15, {"16", "-1", "x"}},
    {"TERN_VERBS_TRAFFIC_CLASS", FIELD(verbs_traffic_class), 0, "104", 104, {"256", "-1", "af31"}},
    {"TERN_VERBS_PKEY", FIELD(verbs_pkey), 0, "32769", 32769, {"65536", "-1", "0x8001"}},
    {"TERN_VERBS_MTU", FIELD(verbs_mtu), 0, "4096", 4096, {"4097", "-1", "1K"}},
    {"TERN_OFI_PROGRESS",
     FIELD(ofi_progress),
     TERN_OFI_PROGRESS_AUTO,
     "automatic",
     TERN_OFI_PROGRESS_AUTOMATIC,
     {"1", "by hand", "AUTO"}},
    {"TERN_VERBS_QUEUE_PAIRS", FIELD(verbs_queue_pairs), 4096, "2", 2, {"0", "1", "2M"}},
};

#define OPTIONS (sizeof options / sizeof options[0])

static uint64_t field(const tern_config *config, const option *k) {
    uint64_t wide = 0;
    memcpy(&wide, (const char *)config + k->offset, k->width);
    return wide;
}

static void set_field(tern_config *config, const option *k, uint64_t value) {
    memcpy((char *)config + k->offset, &value, k->width);
}

static void clear_environment(void) {
    char name[128];
    for (char **e = environ; *e != NULL;) {
        size_t length = strcspn(*e, "=");
        if (strncmp(*e, "TERN_", 5) == 0 && length < sizeof name) {
            memcpy(name, *e, length);
            name[length] = 0;
            unsetenv(name);
            e = environ;
        } else {
            e++;
        }
    }
}

static void every_field_is_a_option(void) {
    size_t bytes = sizeof((tern_config *)0)->verbs_device + sizeof((tern_config *)0)->trace;
    for (size_t i = 0; i < OPTIONS; i++)
        bytes += options[i].width;
    /* Padding is at most what a 4-byte field between 8-byte ones needs. */
    CU_ASSERT(bytes <= sizeof(tern_config) && bytes + 4 * OPTIONS >= sizeof(tern_config));
}

static void defaults(void) {
    clear_environment();
    tern_config config;
    memset(&config, 0xa5, sizeof config);
    EXPECT_OK(tern_config_init(&config));
    for (size_t i = 0; i < OPTIONS; i++)
        CU_ASSERT_EQUAL(field(&config, &options[i]), options[i].fallback);
    EXPECT_OK(tern_config_check(&config));
}

static void environment_beats_default_and_program_beats_both(void) {
    clear_environment();
    for (size_t i = 0; i < OPTIONS; i++)
        setenv(options[i].name, options[i].text, 1);
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    for (size_t i = 0; i < OPTIONS; i++)
        CU_ASSERT_EQUAL(field(&config, &options[i]), options[i].value);
    EXPECT_OK(tern_config_check(&config));
    EXPECT_OK(tern_config_set(&config, "TERN_WORKERS", "3"));
    CU_ASSERT_EQUAL(config.workers, 3);
    clear_environment();
}

static void a_set_option_changes_nothing_else(void) {
    clear_environment();
    for (size_t i = 0; i < OPTIONS; i++) {
        tern_config config, before;
        EXPECT_OK(tern_config_init(&config));
        before = config;
        EXPECT_OK(tern_config_set(&config, options[i].name, options[i].text));
        CU_ASSERT_EQUAL(field(&config, &options[i]), options[i].value);
        set_field(&config, &options[i], field(&before, &options[i]));
        CU_ASSERT(memcmp(&config, &before, sizeof config) == 0);
    }
}

/* An option that is a text. Ranks must agree on the other one. */
static void a_card_is_named(void) {
    static const char longest[] = "0123456789012345678901234567890";
    char of_a[32], of_b[32];
    clear_environment();
    tern_config config, before;
    EXPECT_OK(tern_config_init(&config));
    CU_ASSERT_STRING_EQUAL(config.verbs_device, "");
    setenv("TERN_VERBS_DEVICE", "mlx5_0:1", 1);
    EXPECT_OK(tern_config_init(&config));
    CU_ASSERT_STRING_EQUAL(config.verbs_device, "mlx5_0:1");
    EXPECT_OK(tern_config_set(&config, "TERN_VERBS_DEVICE", longest));
    CU_ASSERT_STRING_EQUAL(config.verbs_device, longest);
    EXPECT_OK(tern_config_check(&config));
    before = config;
    EXPECT(TERN_ERR_CONFIG,
           tern_config_set(&config, "TERN_VERBS_DEVICE", "01234567890123456789012345678901"));
    EXPECT_DETAIL("up to 31 characters");
    CU_ASSERT(memcmp(&config, &before, sizeof config) == 0);
    EXPECT_OK(tern_config_set(&config, "TERN_VERBS_DEVICE", ""));
    CU_ASSERT_STRING_EQUAL(config.verbs_device, "");
    before = config;
    CU_ASSERT_PTR_NULL(tern_config_difference(&config, &before, of_a, of_b, 32));
    EXPECT_OK(tern_config_set(&config, "TERN_TRACE", "here.json"));
    CU_ASSERT_STRING_EQUAL(config.trace, "here.json");
    CU_ASSERT_STRING_EQUAL(tern_config_difference(&config, &before, of_a, of_b, 32), "TERN_TRACE");
    CU_ASSERT_STRING_EQUAL(of_a, "here.json");
    CU_ASSERT_STRING_EQUAL(of_b, "");
    memset(config.verbs_device, 'x', sizeof config.verbs_device);
    EXPECT(TERN_ERR_CONFIG, tern_config_check(&config));
    EXPECT_DETAIL("TERN_VERBS_DEVICE");
    clear_environment();
}

/* The detail names the option, the value and what is allowed. */
static void bad_values_are_refused(void) {
    clear_environment();
    for (size_t i = 0; i < OPTIONS; i++) {
        for (size_t b = 0; b < 6 && options[i].bad[b] != NULL; b++) {
            tern_config config, before;
            EXPECT_OK(tern_config_init(&config));
            before = config;
            EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, options[i].name, options[i].bad[b]));
            EXPECT_DETAIL(options[i].name);
            EXPECT_DETAIL(options[i].bad[b]);
            CU_ASSERT(memcmp(&config, &before, sizeof config) == 0);

            setenv(options[i].name, options[i].bad[b], 1);
            EXPECT(TERN_ERR_CONFIG, tern_config_init(&config));
            EXPECT_DETAIL(options[i].name);
            CU_ASSERT(memcmp(&config, &before, sizeof config) == 0);
            unsetenv(options[i].name);
        }
    }
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_TRANSPORT", "tcp"));
    EXPECT_DETAIL("auto");
    EXPECT_DETAIL("p2p");
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_RING_SIZE", "5000"));
    EXPECT_DETAIL("power of two");
}

/* An empty value is not allowed; neither is white space. */
static void empty_values_are_refused(void) {
    clear_environment();
    static const char *const texts[] = {"", " ", " 1", "1 ", "\n", "1\n", "+1"};
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    for (size_t i = 0; i < OPTIONS; i++)
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, options[i].name, texts[t]));
}

static void sizes_take_suffixes(void) {
    clear_environment();
    static const struct {
        const char *text;
        size_t bytes;
    } sizes[] = {{"65536", 65536}, {"64K", 64 * KIB},   {"64k", 64 * KIB},
                 {"3M", 3 * MIB},  {"3m", 3 * MIB},     {"2G", 2 * GIB},
                 {"2g", 2 * GIB},  {"0064K", 64 * KIB}, {"16384G", 16384 * GIB}};
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        EXPECT_OK(tern_config_set(&config, "TERN_SEGMENT_SIZE", sizes[i].text));
        CU_ASSERT_EQUAL(config.segment_size, sizes[i].bytes);
    }
    /* Counts are no sizes, and products that do not fit 64 bits are no sizes either. */
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_WORKERS", "1K"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_SEGMENT_SIZE", "17179869185G"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_SEGMENT_SIZE", "16385G"));
}

static void limits_are_exact(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT_OK(tern_config_set(&config, "TERN_WORKERS", "1"));
    EXPECT_OK(tern_config_set(&config, "TERN_RING_SIZE", "4096"));
    EXPECT_OK(tern_config_set(&config, "TERN_RING_SIZE", "16M"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_RING_SIZE", "4095"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_RING_SIZE", "16777217"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_RING_SIZE", "33554432"));
}

static const char *const unknown[][2] = {
    {"TERN_SEGMENTSIZE", "TERN_SEGMENT_SIZE"},
    {"TERN_", "TERN_ORDER"},
    {"TERN_WORKER", "TERN_WORKERS"},
    {"TERN_WORKERS_", "TERN_WORKERS"},
    {"TERN_HUGE_PAGES_OF_THE_HEAP_OF_EACH_RANK_THAT_OTHERS_CAN_REACH_HERE", "TERN_"},
    {"TERN_LOGLEVEL", "TERN_LOG_LEVEL"},
    {"TERN_ROOTS", "TERN_"}};
#define UNKNOWN (sizeof unknown / sizeof unknown[0])

static void unknown_names_are_no_options(void) {
    clear_environment();
    tern_config config, before;
    EXPECT_OK(tern_config_init(&config));
    before = config;
    for (size_t i = 0; i < UNKNOWN; i++) {
        EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, unknown[i][0], "1"));
        EXPECT_DETAIL("the nearest is ");
        EXPECT_DETAIL(unknown[i][1]);
        EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        EXPECT_DETAIL("TERN_LOG_LEVEL");
        setenv(unknown[i][0], "1", 1);
    }
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "WORKERS", "1"));
    EXPECT(TERN_ERR_CONFIG, tern_config_set(&config, "TERN_ROOT", "1"));
    EXPECT_OK(tern_config_init(&config));
    CU_ASSERT(memcmp(&config, &before, sizeof config) == 0);
    clear_environment();
}

/* What a function writes to standard error, in a string that the caller frees. */
static char *errors_of(void (*function)(void)) {
    char *text = calloc(1, 8192);
    FILE *file = tmpfile();
    CU_ASSERT_FATAL(text != NULL && file != NULL);
    int terminal = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    function();
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    rewind(file);
    size_t bytes = fread(text, 1, 8191, file);
    CU_ASSERT(bytes < 8191);
    fclose(file);
    return text;
}

static void unknown_names_are_warned_of(void) {
    clear_environment();
    char *text = errors_of(tern_config_warn);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
    /* Not tern's: of other software, and where tern is installed. */
    static const char *const others[] = {"TERNARY",       "tern_workers",   "TERN_ROOT",
                                         "TERN_DIR",      "TERN_HOME",      "TERN_MPICH_ROOT",
                                         "TERN_DATA_DIR", "TERN_BUILD_HOME"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        setenv(others[i], "/opt/tern", 1);
    setenv("TERN_WORKERS", "2", 1);
    text = errors_of(tern_config_warn);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
    for (size_t i = 0; i < UNKNOWN; i++)
        setenv(unknown[i][0], "1", 1);
    text = errors_of(tern_config_warn);
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, "tern: warning: TERN_")) != NULL; at++)
        lines++;
    CU_ASSERT_EQUAL(lines, UNKNOWN);
    CU_ASSERT_PTR_NOT_NULL(strstr(text,
                                  "TERN_SEGMENTSIZE in the environment is no option of tern; the "
                                  "nearest is TERN_SEGMENT_SIZE"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text,
                                  "TERN_LOGLEVEL in the environment is no option of tern; the "
                                  "nearest is TERN_LOG_LEVEL"));
    free(text);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        unsetenv(others[i]);
    clear_environment();
}

static void create_two_contexts(void) {
    tern_context *context = NULL;
    for (int turn = 0; turn < 2; turn++) {
        EXPECT_OK(tern_context_create(MPI_COMM_SELF, NULL, &context));
        EXPECT_OK(tern_context_destroy(context));
    }
}

static void the_first_context_warns(void) {
    clear_environment();
    setenv("TERN_SEGMENTSIZE", "1M", 1);
    char *text = errors_of(create_two_contexts);
    const char *first = strstr(text, "TERN_SEGMENTSIZE");
    CU_ASSERT_FATAL(first != NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(first, "the nearest is TERN_SEGMENT_SIZE"));
    CU_ASSERT_PTR_NULL(strstr(first + 1, "TERN_SEGMENTSIZE"));
    free(text);
    clear_environment();
}

static void check_finds_each_bad_field(void) {
    clear_environment();
    for (size_t i = 0; i < OPTIONS; i++) {
        tern_config config;
        EXPECT_OK(tern_config_init(&config));
        set_field(&config, &options[i], UINT64_MAX);
        EXPECT(TERN_ERR_CONFIG, tern_config_check(&config));
        EXPECT_DETAIL(options[i].name);
        set_field(&config, &options[i], options[i].value);
        EXPECT_OK(tern_config_check(&config));
    }
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.workers = 0;
    config.ring_size = 5000;
    EXPECT(TERN_ERR_CONFIG, tern_config_check(&config));
    EXPECT_DETAIL("TERN_WORKERS");
    config.workers = 1;
    EXPECT(TERN_ERR_CONFIG, tern_config_check(&config));
    EXPECT_DETAIL("TERN_RING_SIZE");
    EXPECT_DETAIL("5000");
}

static void null_arguments(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT(TERN_ERR_ARGUMENT, tern_config_init(NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_config_set(NULL, "TERN_WORKERS", "1"));
    EXPECT(TERN_ERR_ARGUMENT, tern_config_set(&config, NULL, "1"));
    EXPECT(TERN_ERR_ARGUMENT, tern_config_set(&config, "TERN_WORKERS", NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_config_check(NULL));
}

/* Copies the line of text that starts with name and a character that is in no name. */
static bool line_of(const char *text, const char *name, char *line, size_t room) {
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        char next = at[strlen(name)];
        if ((at != text && at[-1] != '\n') || next == '_' || next == 0)
            continue;
        snprintf(line, room, "%.*s", (int)strcspn(at, "\n"), at);
        return true;
    }
    return false;
}

static void print_shows_every_option_and_its_origin(void) {
    clear_environment();
    setenv("TERN_RANKS_PER_NODE", "3", 1);
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = 5 * MIB;
    char *text = NULL, line[512];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    tern_config_print(&config, out);
    fclose(out);
    for (size_t i = 0; i < OPTIONS; i++) {
        CU_ASSERT_FATAL(line_of(text, options[i].name, line, sizeof line));
        const char *origin = strcmp(options[i].name, "TERN_RANKS_PER_NODE") == 0 ? "environment"
                             : strcmp(options[i].name, "TERN_SEGMENT_SIZE") == 0 ? "program"
                                                                                 : "default";
        CU_ASSERT_PTR_NOT_NULL(strstr(line, origin));
    }
    CU_ASSERT(line_of(text, "TERN_RANKS_PER_NODE", line, sizeof line) && strstr(line, " 3 "));
    CU_ASSERT(line_of(text, "TERN_SEGMENT_SIZE", line, sizeof line) && strstr(line, "5M"));
    CU_ASSERT(line_of(text, "TERN_HUGE_PAGES", line, sizeof line) && strstr(line, "auto"));
    free(text);
    clear_environment();
}

static void print_shows_what_is_refused_and_ignored(void) {
    clear_environment();
    setenv("TERN_WORKERS", "zero", 1);
    setenv("TERN_RING_SIZE", "128K", 1);
    setenv("TERN_LOGLEVEL", "debug", 1);
    setenv("TERN_ROOT", "/opt/tern", 1);
    tern_config config;
    EXPECT(TERN_ERR_CONFIG, tern_config_init(&config));
    EXPECT_DETAIL("zero");
    char *text = NULL, line[512];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    tern_config_print(NULL, out);
    fclose(out);
    EXPECT_DETAIL("zero");
    for (size_t i = 0; i < OPTIONS; i++)
        CU_ASSERT(line_of(text, options[i].name, line, sizeof line));
    CU_ASSERT(line_of(text, "TERN_WORKERS", line, sizeof line) && strstr(line, " zero ") &&
              strstr(line, " refused ") && strstr(line, "1 to 1024"));
    CU_ASSERT(line_of(text, "TERN_RING_SIZE", line, sizeof line) && strstr(line, " 128K ") &&
              strstr(line, " environment "));
    CU_ASSERT(line_of(text, "TERN_LOGLEVEL", line, sizeof line) && strstr(line, " ignored ") &&
              strstr(line, "TERN_LOG_LEVEL"));
    CU_ASSERT_FALSE(line_of(text, "TERN_ROOT", line, sizeof line));
    free(text);
    clear_environment();
}

static void log_level(void) {
    tern_log_level before = tern_log_get_level();
    for (int level = TERN_LOG_NONE; level <= TERN_LOG_DEBUG; level++) {
        tern_log_set_level((tern_log_level)level);
        CU_ASSERT_EQUAL(tern_log_get_level(), (tern_log_level)level);
    }
    tern_log_set_level(before);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"every_field_is_a_option", every_field_is_a_option},
        {"defaults", defaults},
        {"environment_beats_default_and_program_beats_both",
         environment_beats_default_and_program_beats_both},
        {"a_set_option_changes_nothing_else", a_set_option_changes_nothing_else},
        {"a_card_is_named", a_card_is_named},
        {"bad_values_are_refused", bad_values_are_refused},
        {"empty_values_are_refused", empty_values_are_refused},
        {"sizes_take_suffixes", sizes_take_suffixes},
        {"limits_are_exact", limits_are_exact},
        {"unknown_names_are_no_options", unknown_names_are_no_options},
        {"unknown_names_are_warned_of", unknown_names_are_warned_of},
        {"the_first_context_warns", the_first_context_warns},
        {"check_finds_each_bad_field", check_finds_each_bad_field},
        {"null_arguments", null_arguments},
        {"print_shows_every_option_and_its_origin", print_shows_every_option_and_its_origin},
        {"print_shows_what_is_refused_and_ignored", print_shows_what_is_refused_and_ignored},
        {"log_level", log_level},
    };
    return tern_test_main(argc, argv, "config", tests, sizeof tests / sizeof tests[0]);
}
