// tern-test: transports

/*
 * Collective functions of a program's own: each rank learns how a step has ended on the others, and
 * errors name the program's function.
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call_tools.h"
#include "tern/agree.h"

static void outcomes_are_shared(void) {
    fixture f;
    char text[80];
    if (!fixture_open(&f, NULL))
        return;
    const uint32_t last = f.size - 1;
    EXPECT_OK(tern_agree(f.worker, TERN_OK, "a step"));
    tern_status own = f.rank == last ? tern_fail(TERN_ERR_FULL, "no room for %d", 7) : TERN_OK;
    EXPECT(TERN_ERR_FULL, tern_agree(f.worker, own, "a step"));
    snprintf(text, sizeof text, "a step failed on rank %u: no room for 7", last);
    EXPECT_DETAIL(f.rank == last ? "no room for 7" : text);
    CU_ASSERT_EQUAL(strncmp(tern_error_detail(), "a step", 6) == 0, f.rank != last);
    EXPECT(TERN_ERR_ARGUMENT, tern_agree(NULL, TERN_OK, "a step"));
    EXPECT(TERN_ERR_ARGUMENT, tern_agree(f.worker, TERN_OK, NULL));
    EXPECT_OK(tern_agree(f.worker, TERN_OK, "a step"));
    fixture_close(&f);
}

static void bytes_are_compared_and_numbers_added(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    char bytes[100] = "the same";
    EXPECT_OK(tern_same(f.worker, bytes, sizeof bytes, "the bytes"));
    bytes[99] = f.rank == f.size - 1;
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH, tern_same(f.worker, bytes, sizeof bytes, "the bytes"));
        EXPECT_DETAIL("the bytes differ between rank 0 and rank");
    }
    uint64_t values[40];
    for (uint64_t i = 0; i < 40; i++)
        values[i] = i * (f.rank + 1);
    EXPECT_OK(tern_sum(f.worker, values, 40));
    for (uint64_t i = 0; i < 40; i++)
        CU_ASSERT_EQUAL(values[i], i * f.size * (f.size + 1) / 2);
    EXPECT_OK(tern_sum(f.worker, values, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_same(f.worker, NULL, 1, "the bytes"));
    EXPECT(TERN_ERR_ARGUMENT, tern_sum(f.worker, NULL, 1));
    EXPECT(TERN_ERR_ARGUMENT, tern_sum(f.worker, values, SIZE_MAX));
    fixture_close(&f);
}

static tern_status shop_open(tern_worker *worker) {
    tern_status status = tern_collective_begin(worker, "shop_open");
    if (status != TERN_OK)
        return status;
    status = tern_agree(worker, TERN_OK, "the shop");
    tern_collective_end(worker);
    return status;
}

static tern_status street_open(tern_worker *worker) {
    tern_status status = tern_collective_begin(worker, "street_open");
    if (status != TERN_OK)
        return status;
    status = shop_open(worker);
    if (status == TERN_OK)
        status = tern_barrier(worker);
    tern_collective_end(worker);
    return status;
}

static void functions_have_names(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? street_open(f.worker) : shop_open(f.worker));
        EXPECT_DETAIL("rank 0 is in street_open");
        EXPECT_DETAIL("is in shop_open");
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_barrier(f.worker) : shop_open(f.worker));
        EXPECT_DETAIL("rank 0 is in tern_barrier");
        EXPECT_DETAIL("is in shop_open");
        EXPECT(TERN_ERR_MISMATCH, f.rank == 0 ? tern_agree(f.worker, TERN_OK, "a step")
                                              : tern_agree(f.worker, TERN_OK, "another"));
        EXPECT_DETAIL("rank 0 is in a step");
        EXPECT_DETAIL("is in another");
    }
    EXPECT_OK(street_open(f.worker));
    EXPECT(TERN_ERR_ARGUMENT, tern_collective_begin(NULL, "shop_open"));
    EXPECT_DETAIL("shop_open");
    EXPECT(TERN_ERR_ARGUMENT, tern_collective_begin(f.worker, NULL));
    tern_collective_end(NULL);
    tern_collective_end(f.worker); /* nothing has begun */
    EXPECT_OK(shop_open(f.worker));
    fixture_close(&f);
}

static int open_memory(void) { return memfd_create("tern-test", MFD_CLOEXEC); }

/* Only the lowest rank of each node has a file. Ranks of one node get the same file. */
static void nodes_share_a_file(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint32_t lowest = 0;
    tern_transport transport = TERN_P2P;
    while (lowest < f.rank && tern_context_transport(f.context, lowest, &transport) == TERN_OK &&
           transport != TERN_SHM)
        lowest++;
    const int mine = f.rank == lowest ? open_memory() : -1;
    int fd = -1;
    EXPECT_OK(tern_pass_descriptor(f.worker, mine, &fd));
    CU_ASSERT(fd >= 0 && fd != mine && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    struct stat info = {.st_ino = 0};
    CU_ASSERT_EQUAL(fstat(fd, &info), 0);
    uint64_t inode = info.st_ino, *all = calloc(f.size, sizeof *all);
    fixture_share(&f, &inode, sizeof inode, all);
    for (uint32_t r = 0; r < f.size; r++) {
        EXPECT_OK(tern_context_transport(f.context, r, &transport));
        CU_ASSERT_EQUAL(all[r] == inode, transport == TERN_SHM);
    }
    free(all);
    close(fd);
    if (mine >= 0)
        CU_ASSERT_EQUAL(close(mine), 0);
    fixture_close(&f);
}

/* A failure on one rank is an error of all, and nobody gets a descriptor. */
static void refused_on_every_rank(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    int fd = 99;
    const int mine = open_memory();
    EXPECT(TERN_ERR_ARGUMENT, tern_pass_descriptor(f.worker, f.rank == 0 ? -1 : mine, &fd));
    EXPECT_DETAIL("fd is -1, which is not open");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_pass_descriptor(f.worker, mine, f.rank == f.size - 1 ? NULL : &fd));
    EXPECT_DETAIL("out is NULL");
    EXPECT(TERN_ERR_ARGUMENT, tern_pass_descriptor(NULL, mine, &fd));
    CU_ASSERT_EQUAL(fd, 99);
    EXPECT_OK(tern_pass_descriptor(f.worker, mine, &fd));
    close(fd);
    close(mine);
    fixture_close(&f);
}

static int refused;

static tern_status try_all(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t value = 0;
    int fd = -1;
    (void)arguments;
    (void)bytes;
    refused = tern_collective_begin(call->worker, "shop_open") == TERN_ERR_STATE &&
              tern_agree(call->worker, TERN_OK, "a step") == TERN_ERR_STATE &&
              tern_same(call->worker, &value, sizeof value, "a value") == TERN_ERR_STATE &&
              tern_sum(call->worker, &value, 1) == TERN_ERR_STATE &&
              tern_pass_descriptor(call->worker, 0, &fd) == TERN_ERR_STATE;
    return TERN_OK;
}
TERN_FUNCTION(try_all)

static void refused_in_handlers(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    refused = 0;
    EXPECT_OK(tern_call_return(f.worker, to((f.rank + 1) % f.size), &try_all_function, NULL, 0,
                               NULL, 0, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(refused);
    EXPECT_OK(shop_open(f.worker));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"outcomes_are_shared", outcomes_are_shared},
        {"bytes_are_compared_and_numbers_added", bytes_are_compared_and_numbers_added},
        {"functions_have_names", functions_have_names},
        {"nodes_share_a_file", nodes_share_a_file},
        {"refused_on_every_rank", refused_on_every_rank},
        {"refused_in_handlers", refused_in_handlers},
    };
    return tern_test_main(argc, argv, "agree", tests, sizeof tests / sizeof *tests);
}
