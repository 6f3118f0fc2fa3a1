// tern-test: transports

/*
 * Contexts: creation over any communicator, agreement of the ranks, what is left behind, workers.
 * The program stands between tern and MPI to count windows and communicators, and to make MPI say
 * that it runs at another thread level.
 */

#include "fixture.h"

#include <dirent.h>
#include <stdlib.h>

static int live_windows, live_comms;
static int pretended_level = -1;
static int pretended_initialized = 1;
static const char *pretended_library;

int PMPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                    MPI_Win *win) {
    int code = MPI_Win_create(base, size, unit, info, comm, win);
    live_windows += code == MPI_SUCCESS;
    return code;
}

int PMPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                      MPI_Win *win) {
    int code = MPI_Win_allocate(size, unit, info, comm, base, win);
    live_windows += code == MPI_SUCCESS;
    return code;
}

int PMPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                             MPI_Win *win) {
    int code = MPI_Win_allocate_shared(size, unit, info, comm, base, win);
    live_windows += code == MPI_SUCCESS;
    return code;
}

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    int code = MPI_Win_create_dynamic(info, comm, win);
    live_windows += code == MPI_SUCCESS;
    return code;
}

int PMPI_Win_free(MPI_Win *win) {
    int code = MPI_Win_free(win);
    live_windows -= code == MPI_SUCCESS;
    return code;
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *fresh, MPI_Request *request) {
    int code = MPI_Comm_idup(comm, fresh, request);
    live_comms += code == MPI_SUCCESS;
    return code;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *fresh) {
    int code = MPI_Comm_split(comm, color, key, fresh);
    live_comms += code == MPI_SUCCESS && *fresh != MPI_COMM_NULL;
    return code;
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *fresh) {
    int code = MPI_Comm_split_type(comm, type, key, info, fresh);
    live_comms += code == MPI_SUCCESS && *fresh != MPI_COMM_NULL;
    return code;
}

int PMPI_Comm_free(MPI_Comm *comm) {
    int code = MPI_Comm_free(comm);
    live_comms -= code == MPI_SUCCESS;
    return code;
}

int PMPI_Query_thread(int *level) {
    int code = MPI_Query_thread(level);
    if (pretended_level >= 0)
        *level = pretended_level;
    return code;
}

int PMPI_Initialized(int *flag) {
    int code = MPI_Initialized(flag);
    *flag = *flag && pretended_initialized;
    return code;
}

int PMPI_Get_library_version(char *version, int *length) {
    if (pretended_library == NULL)
        return MPI_Get_library_version(version, length);
    *length = sprintf(version, "%s", pretended_library);
    return MPI_SUCCESS;
}

static int count_fds(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* Mappings of memory that has a name or is shared: where segments lie. */
static int count_mappings(void) {
    int count = 0;
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char rights[8] = "";
        sscanf(line, "%*s %7s", rights);
        count += strstr(line, "memfd:") != NULL || rights[3] == 's';
    }
    if (maps != NULL)
        fclose(maps);
    return count;
}

static tern_config usual_config(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    return config;
}

static void knows_itself(void) {
    fixture f;
    tern_config config = usual_config();
    config.workers = 3;
    if (!fixture_open(&f, &config))
        return;
    CU_ASSERT_EQUAL(f.rank, (uint32_t)tern_test_rank());
    CU_ASSERT_EQUAL(f.size, (uint32_t)tern_test_size());
    CU_ASSERT_EQUAL(tern_context_workers(f.context), 3);
    CU_ASSERT_EQUAL(tern_context_config(f.context)->segment_size, config.segment_size);
    CU_ASSERT_EQUAL(tern_context_config(f.context)->transport, config.transport);
    CU_ASSERT_EQUAL(tern_context_config(f.context)->workers, 3);
    fixture_close(&f);
}

/* shm inside a (virtual) node, one other transport between them; to oneself always shm. */
static void transports_follow_nodes(void) {
    fixture f;
    tern_config config = usual_config();
    if (!fixture_open(&f, &config))
        return;
    tern_transport between = TERN_SHM, transport;
    size_t piece = config.ranks_per_node;
    static const tern_transport forced_to[] = {[TERN_TRANSPORT_RMA] = TERN_RMA,
                                               [TERN_TRANSPORT_P2P] = TERN_P2P,
                                               [TERN_TRANSPORT_OFI] = TERN_OFI};
    bool forced = config.transport != TERN_TRANSPORT_AUTO && config.transport != TERN_TRANSPORT_SHM;
    if (piece == 0)
        piece = forced ? 1 : f.size;
    for (uint32_t r = 0; r < f.size; r++) {
        transport = TERN_SHM;
        EXPECT_OK(tern_context_transport(f.context, r, &transport));
        if (r / piece == f.rank / piece) {
            CU_ASSERT_EQUAL(transport, TERN_SHM);
            continue;
        }
        CU_ASSERT(transport != TERN_SHM);
        CU_ASSERT(between == TERN_SHM || transport == between);
        between = transport;
        if (forced)
            CU_ASSERT_EQUAL(transport, forced_to[config.transport]);
    }
    transport = TERN_RMA;
    EXPECT(TERN_ERR_ARGUMENT, tern_context_transport(f.context, f.size, &transport));
    EXPECT(TERN_ERR_ARGUMENT, tern_context_transport(f.context, UINT32_MAX, &transport));
    CU_ASSERT_EQUAL(transport, TERN_RMA);
    CU_ASSERT_STRING_EQUAL(tern_transport_name(TERN_SHM), "shm");
    CU_ASSERT_STRING_EQUAL(tern_transport_name(TERN_RMA), "rma");
    CU_ASSERT_STRING_EQUAL(tern_transport_name(TERN_P2P), "p2p");
    CU_ASSERT_STRING_EQUAL(tern_transport_name(TERN_OFI), "ofi");
    CU_ASSERT_PTR_NOT_NULL(tern_transport_name((tern_transport)77));
    fixture_close(&f);
}

static void auto_chooses_between_virtual_nodes(void) {
    fixture f;
    tern_config config = usual_config();
    config.transport = TERN_TRANSPORT_AUTO;
    config.ranks_per_node = 1;
    if (!fixture_open(&f, &config))
        return;
    uint32_t other = (f.rank + 1) % f.size;
    tern_transport transport = TERN_SHM;
    EXPECT_OK(tern_context_transport(f.context, other, &transport));
    if (other != f.rank)
        CU_ASSERT(transport != TERN_SHM);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT_EQUAL(live_windows > 0, transport == TERN_RMA);
    fixture_close(&f);
    CU_ASSERT_EQUAL(live_windows, 0);
}

/* Between nodes there is no shared memory to be had. */
static void shm_between_nodes_is_refused(void) {
    tern_config config = usual_config();
    config.transport = TERN_TRANSPORT_SHM;
    config.ranks_per_node = 1;
    tern_context *context = NULL;
    if (tern_test_size() == 1) {
        EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
        EXPECT_OK(tern_context_destroy(context));
        return;
    }
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("TERN_TRANSPORT");
    CU_ASSERT_PTR_NULL(context);
    config.ranks_per_node = 0;
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_OK(tern_context_destroy(context));
}

static void windows_only_for_rma(void) {
    fixture f;
    tern_config config = usual_config();
    int before = live_windows;
    if (!fixture_open(&f, &config))
        return;
    CU_ASSERT_EQUAL(live_windows > before, fixture_uses_rma(&f));
    fixture_close(&f);
    CU_ASSERT_EQUAL(live_windows, before);
}

static void null_arguments(void) {
    tern_context *context = NULL;
    tern_config config = usual_config();
    tern_worker *worker = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_context_create(MPI_COMM_WORLD, &config, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_context_create(MPI_COMM_NULL, &config, &context));
    CU_ASSERT_PTR_NULL(context);
    EXPECT_OK(tern_context_destroy(NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_worker_adopt(NULL, 0, &worker));
    EXPECT(TERN_ERR_ARGUMENT, tern_worker_release(NULL));
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT(TERN_ERR_ARGUMENT, tern_worker_adopt(context, 0, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_context_transport(context, 0, NULL));
    EXPECT_OK(tern_context_destroy(context));
}

/* No configuration given means that of the environment. */
static void config_may_be_null(void) {
    tern_context *context = NULL;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    if (context != NULL)
        CU_ASSERT_EQUAL(tern_context_config(context)->segment_size, config.segment_size);
    EXPECT_OK(tern_context_destroy(context));
}

/* A put into the next rank's segment arrives: the context works. */
static void try_out(fixture *f, uint64_t value) {
    tern_ptr *all = calloc(f->size, sizeof *all);
    uint64_t back = 0;
    value += f->rank;
    fixture_alloc_all(f, 8, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_put(f->worker, all[(f->rank + 1) % f->size], &value, 8));
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_get(f->worker, &back, all[f->rank], 8));
    CU_ASSERT_EQUAL(back, value - f->rank + (f->rank + f->size - 1) % f->size);
    fixture_free_all(f, all);
    free(all);
}

static void on_itself_alone(void) {
    fixture f;
    tern_config config = usual_config();
    if (!fixture_open_on(&f, MPI_COMM_SELF, &config))
        return;
    CU_ASSERT_EQUAL(f.rank, 0);
    CU_ASSERT_EQUAL(f.size, 1);
    tern_transport transport = TERN_P2P;
    EXPECT_OK(tern_context_transport(f.context, 0, &transport));
    CU_ASSERT_EQUAL(transport, TERN_SHM);
    CU_ASSERT_EQUAL(live_windows, 0);
    try_out(&f, 100);
    fixture_close(&f);
}

/* Ranks in reverse order, odd and even ones apart. */
static void on_split_communicators(void) {
    fixture f;
    tern_config config = usual_config();
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, tern_test_rank() % 2, -tern_test_rank(), &half);
    int rank, size;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    if (fixture_open_on(&f, half, &config)) {
        CU_ASSERT_EQUAL(f.rank, (uint32_t)rank);
        CU_ASSERT_EQUAL(f.size, (uint32_t)size);
        try_out(&f, 200);
        fixture_close(&f);
    }
    MPI_Comm_free(&half);
}

static void several_at_once(void) {
    fixture f[4];
    tern_config config = usual_config();
    if (!fixture_open(&f[0], &config) || !fixture_open_on(&f[1], MPI_COMM_SELF, &config))
        return;
    config.segment_size *= 2;
    config.workers = 2;
    if (!fixture_open(&f[2], &config))
        return;
    try_out(&f[0], 1);
    if (!fixture_open(&f[3], &config))
        return;
    for (int i = 0; i < 4; i++)
        try_out(&f[i], 10 * (uint64_t)i);
    fixture_close(&f[2]);
    try_out(&f[3], 5);
    fixture_close(&f[0]);
    try_out(&f[1], 6);
    try_out(&f[3], 7);
    fixture_close(&f[3]);
    fixture_close(&f[1]);
}

static void nothing_is_left_behind(void) {
    tern_config config = usual_config();
    int fds = 0, mappings = 0, comms = 0, windows = 0;
    int rounds = tern_test_full() ? 21 : 7;
    for (int i = 0; i < rounds; i++) {
        fixture f;
        if (!fixture_open(&f, &config))
            return;
        try_out(&f, (uint64_t)i);
        fixture_close(&f);
        if (i > 0)
            continue;
        /* From now on: the first round may leave what MPI keeps for good. */
        fds = count_fds();
        mappings = count_mappings();
        comms = live_comms;
        windows = live_windows;
    }
    CU_ASSERT_EQUAL(count_fds(), fds);
    CU_ASSERT_EQUAL(count_mappings(), mappings);
    CU_ASSERT_EQUAL(live_comms, comms);
    CU_ASSERT_EQUAL(live_windows, windows);
}

/* Neither a context nor a failure to make one leaves anything either. */
static void failure_leaves_nothing_behind(void) {
    tern_config config = usual_config();
    tern_context *context = NULL;
    int fds = 0, mappings = 0, comms = live_comms;
    for (int i = 0; i < 6; i++) {
        config.workers = (size_t)tern_test_rank() + 1;
        config.ring_size = tern_test_size() == 1 ? 5000 : (size_t)64 << 10;
        CU_ASSERT(tern_context_create(MPI_COMM_WORLD, &config, &context) != TERN_OK);
        if (i == 0) {
            fds = count_fds();
            mappings = count_mappings();
        }
    }
    CU_ASSERT_PTR_NULL(context);
    CU_ASSERT_EQUAL(count_fds(), fds);
    CU_ASSERT_EQUAL(count_mappings(), mappings);
    CU_ASSERT_EQUAL(live_comms, comms);
    CU_ASSERT_EQUAL(live_windows, 0);
}

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
}

static void error_handler_stays(void) {
    MPI_Comm comm;
    MPI_Errhandler mine, after;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    fixture f;
    tern_config config = usual_config();
    if (fixture_open_on(&f, comm, &config)) {
        MPI_Comm_get_errhandler(comm, &after);
        CU_ASSERT(after == mine);
        MPI_Errhandler_free(&after);
        fixture_close(&f);
    }
    MPI_Comm_get_errhandler(comm, &after);
    CU_ASSERT(after == mine);
    MPI_Errhandler_free(&after);
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
}

/* The rank at fault gets its own error, the others one that names it. */
static void one_bad_rank_fails_all(void) {
    int bad = tern_test_size() - 1;
    char name[32];
    snprintf(name, sizeof name, "rank %d", bad);
    tern_config config = usual_config();
    if (tern_test_rank() == bad)
        config.workers = 0;
    tern_context *context = NULL;
    EXPECT(TERN_ERR_CONFIG, tern_context_create(MPI_COMM_WORLD, &config, &context));
    CU_ASSERT_PTR_NULL(context);
    EXPECT_DETAIL(tern_test_rank() == bad ? "TERN_WORKERS" : name);
}

static void bad_environment_of_one_rank_fails_all(void) {
    int bad = tern_test_size() - 1;
    char name[32];
    snprintf(name, sizeof name, "rank %d", bad);
    if (tern_test_rank() == bad)
        setenv("TERN_SEGMENT_SIZE", "1Q", 1);
    tern_context *context = NULL;
    EXPECT(TERN_ERR_CONFIG, tern_context_create(MPI_COMM_WORLD, NULL, &context));
    CU_ASSERT_PTR_NULL(context);
    EXPECT_DETAIL(tern_test_rank() == bad ? "TERN_SEGMENT_SIZE=1Q" : name);
    unsetenv("TERN_SEGMENT_SIZE");
}

static void ranks_must_agree(void) {
    static const char *const different[][2] = {
        {"TERN_TRANSPORT", "p2p"},   {"TERN_RANKS_PER_NODE", "7"}, {"TERN_WORKERS", "2"},
        {"TERN_SEGMENT_SIZE", "2M"}, {"TERN_HUGE_PAGES", "none"},  {"TERN_PREFAULT", "1"},
        {"TERN_RING_SIZE", "128K"},  {"TERN_RING_MEMORY", "32M"},  {"TERN_IDLE_POLLS", "99"},
        {"TERN_ACTIVE_RINGS", "9"},  {"TERN_MPI_INTERVAL", "77"},  {"TERN_RMA_COMMIT", "flush"},
    };
    if (tern_test_size() == 1) {
        tern_test_skip("one rank always agrees");
        return;
    }
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        tern_config config = usual_config();
        config.transport = TERN_TRANSPORT_AUTO;
        if (tern_test_rank() == tern_test_size() - 1)
            EXPECT_OK(tern_config_set(&config, different[i][0], different[i][1]));
        tern_context *context = NULL;
        EXPECT(TERN_ERR_MISMATCH, tern_context_create(MPI_COMM_WORLD, &config, &context));
        EXPECT_DETAIL(different[i][0]);
        CU_ASSERT_PTR_NULL(context);
    }
    tern_config config = usual_config();
    if (tern_test_rank() == 0)
        config.log_level = TERN_LOG_ERROR;
    tern_context *context = NULL;
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_OK(tern_context_destroy(context));
}

/* What MPI was started with decides, and a failure says what is missing. */
static void thread_level_is_checked(void) {
    tern_config config = usual_config();
    tern_context *context = NULL;
    config.workers = 2;
    for (int level = 0; level < 2; level++) {
        pretended_level = level == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
        EXPECT(TERN_ERR_STATE, tern_context_create(MPI_COMM_WORLD, &config, &context));
        EXPECT_DETAIL("MPI_THREAD_SERIALIZED");
        EXPECT_DETAIL(level == 0 ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
        EXPECT_DETAIL("TERN_WORKERS");
        CU_ASSERT_PTR_NULL(context);
    }
    config.workers = 1;
    pretended_level = MPI_THREAD_SINGLE;
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_OK(tern_context_destroy(context));
    pretended_level = -1;
}

static void mpi_must_run(void) {
    tern_config config = usual_config();
    tern_context *context = NULL;
    pretended_initialized = 0;
    EXPECT(TERN_ERR_STATE, tern_context_create(MPI_COMM_WORLD, &config, &context));
    pretended_initialized = 1;
    EXPECT_DETAIL("MPI");
    CU_ASSERT_PTR_NULL(context);
}

/* The message names the MPI that tern was built for and the one that the program runs with. */
static void another_mpi_is_refused(void) {
#ifdef OPEN_MPI
    const char *built = "Open MPI ", *other = "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ofi\n";
    const char *named = "MPICH Version:\t4.0.2;", *another_version = "Open MPI v5.0.1, package: x";
#else
    const char *built = "MPICH ", *other = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
    const char *named = "Open MPI v4.1.4;", *another_version = "MVAPICH2 Version      :\t2.3.7\n";
#endif
    tern_config config = usual_config();
    tern_context *context = NULL;
    pretended_library = other;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL(built);
    EXPECT_DETAIL(named);
    CU_ASSERT_PTR_NULL(context);
    pretended_library = another_version;
    EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_OK(tern_context_destroy(context));
    pretended_library = NULL;
}

static void workers_have_one_owner(void) {
    tern_config config = usual_config();
    config.workers = 2;
    tern_context *context = NULL;
    if (!EXPECT_OK(tern_context_create(MPI_COMM_WORLD, &config, &context)))
        return;
    tern_worker *first = NULL, *second = NULL, *none = NULL;
    EXPECT_OK(tern_worker_adopt(context, 0, &first));
    EXPECT(TERN_ERR_STATE, tern_worker_adopt(context, 0, &none));
    CU_ASSERT_PTR_NULL(none);
    EXPECT(TERN_ERR_ARGUMENT, tern_worker_adopt(context, 2, &none));
    EXPECT_DETAIL("2");
    EXPECT(TERN_ERR_ARGUMENT, tern_worker_adopt(context, UINT32_MAX, &none));
    CU_ASSERT_PTR_NULL(none);
    EXPECT_OK(tern_worker_adopt(context, 1, &second));
    CU_ASSERT(first != second);
    for (uint32_t i = 0; i < 2; i++) {
        tern_worker *worker = i == 0 ? first : second;
        CU_ASSERT(tern_worker_context(worker) == context);
        CU_ASSERT_EQUAL(tern_worker_self(worker).rank, (uint32_t)tern_test_rank());
        CU_ASSERT_EQUAL(tern_worker_self(worker).index, i);
    }
    EXPECT_OK(tern_worker_release(first));
    EXPECT(TERN_ERR_STATE, tern_worker_release(first));
    EXPECT_OK(tern_worker_adopt(context, 0, &none));
    CU_ASSERT(none == first);
    EXPECT_OK(tern_worker_release(first));
    EXPECT_OK(tern_worker_release(second));
    EXPECT_OK(tern_context_destroy(context));
}

/* Segments that are touched at creation are as good as others. */
static void prefault_and_pages(void) {
    for (int pages = TERN_HUGE_PAGES_AUTO; pages <= TERN_HUGE_PAGES_NONE; pages++) {
        fixture f;
        tern_config config = usual_config();
        config.prefault = 1;
        config.huge_pages = (tern_huge_pages)pages;
        config.segment_size = (size_t)4 << 20;
        if (!fixture_open(&f, &config))
            return;
        tern_segment_info info;
        tern_segment_get_info(f.context, &info);
        CU_ASSERT(info.bytes >= config.segment_size);
        CU_ASSERT(info.page_size >= 4096 && (info.page_size & (info.page_size - 1)) == 0);
        CU_ASSERT(info.parts >= 1);
        try_out(&f, 3);
        fixture_close(&f);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"knows_itself", knows_itself},
        {"transports_follow_nodes", transports_follow_nodes},
        {"auto_chooses_between_virtual_nodes", auto_chooses_between_virtual_nodes},
        {"shm_between_nodes_is_refused", shm_between_nodes_is_refused},
        {"windows_only_for_rma", windows_only_for_rma},
        {"null_arguments", null_arguments},
        {"config_may_be_null", config_may_be_null},
        {"on_itself_alone", on_itself_alone},
        {"on_split_communicators", on_split_communicators},
        {"several_at_once", several_at_once},
        {"nothing_is_left_behind", nothing_is_left_behind},
        {"failure_leaves_nothing_behind", failure_leaves_nothing_behind},
        {"error_handler_stays", error_handler_stays},
        {"one_bad_rank_fails_all", one_bad_rank_fails_all},
        {"bad_environment_of_one_rank_fails_all", bad_environment_of_one_rank_fails_all},
        {"ranks_must_agree", ranks_must_agree},
        {"thread_level_is_checked", thread_level_is_checked},
        {"mpi_must_run", mpi_must_run},
        {"another_mpi_is_refused", another_mpi_is_refused},
        {"workers_have_one_owner", workers_have_one_owner},
        {"prefault_and_pages", prefault_and_pages},
    };
    return tern_test_main(argc, argv, "context", tests, sizeof tests / sizeof tests[0]);
}
