// tern-test: ranks
/*
 * Limits of the process that are too low for a context: creation says so at once, on every rank,
 * and nothing is left behind.
 */

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fixture.h"

static tern_config small(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    config.ring_memory = (size_t)1 << 20;
    return config;
}

/* MPI opens what it needs for its own before a limit is set. */
static void connect_all(void) {
    tern_config config = small();
    fixture f;
    if (fixture_open(&f, &config))
        fixture_close(&f);
}

static int open_files(void) {
    int count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The limit with which this process can open so many files more. */
static rlim_t limit_for(int more) {
    int fd = 0;
    for (; more > 0 || fcntl(fd, F_GETFD) >= 0; fd++)
        more -= fcntl(fd, F_GETFD) < 0;
    return (rlim_t)fd;
}

/* Collective. Returns what creation gave, with at most so many files more on the limited ranks. */
static tern_status create_with(int files, bool limited) {
    struct rlimit usual, low;
    tern_config config = small();
    tern_context *context = NULL;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &usual), 0);
    low = usual;
    low.rlim_cur = limited ? limit_for(files) : usual.rlim_cur;
    MPI_Barrier(MPI_COMM_WORLD);
    int before = open_files();
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &low), 0);
    tern_status status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &usual), 0);
    if (status == TERN_OK) {
        EXPECT_OK(tern_context_destroy(context));
    } else {
        CU_ASSERT_EQUAL(status, TERN_ERR_SYSTEM);
        EXPECT_DETAIL("RLIMIT_NOFILE");
    }
    CU_ASSERT_EQUAL(open_files(), before);
    return status;
}

static void few_files(bool (*is_limited)(int rank)) {
    connect_all();
    int most = 3 * tern_test_size() + 8, failed = 0;
    for (int files = 0; files <= most; files++) {
        tern_status status = create_with(files, is_limited(tern_test_rank()));
        failed += status != TERN_OK;
        if (files == most)
            CU_ASSERT_EQUAL(status, TERN_OK);
    }
    CU_ASSERT(failed > 0 && failed < most);
}

static bool everybody(int rank) { return rank >= 0; }
static bool the_last(int rank) { return rank == tern_test_size() - 1; }

static void few_files_everywhere(void) { few_files(everybody); }
static void few_files_on_one_rank(void) { few_files(the_last); }

static void a_segment_beyond_the_limit_of_files(void) {
    struct rlimit usual, low;
    tern_config config = small();
    tern_context *context = NULL;
    connect_all();
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &usual), 0);
    low = usual;
    low.rlim_cur = (rlim_t)1 << 20;
    MPI_Barrier(MPI_COMM_WORLD);
    if (the_last(tern_test_rank()))
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &low), 0);
    tern_status status = tern_context_create(MPI_COMM_WORLD, &config, &context);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &usual), 0);
    CU_ASSERT_EQUAL(status, TERN_ERR_SYSTEM);
    EXPECT_DETAIL("RLIMIT_FSIZE is 1048576");
    EXPECT_DETAIL("TERN_SEGMENT_SIZE");
    if (status == TERN_OK)
        EXPECT_OK(tern_context_destroy(context));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"few_files_everywhere", few_files_everywhere},
        {"few_files_on_one_rank", few_files_on_one_rank},
        {"a_segment_beyond_the_limit_of_files", a_segment_beyond_the_limit_of_files},
    };
    return tern_test_main(argc, argv, "limits", tests, sizeof tests / sizeof *tests);
}
