// tern-test: ranks least=2

/* The helper of ofi (rma/network/helper.h): which networks have one, and what it does for a target
 * that is outside of tern. */

#include <stdlib.h>
#include <unistd.h>

#include "native.h"
#include "rma/memory/state.h"
#include "rma/network/ofi.h"
#include "rma/network/process.h"
#include "src/mpi/mpi.h"

enum { TIMES = 20 };

static fixture f;
static tern_ptr memory[64];

static bool open_with(size_t bytes, tern_ofi_progress progress) {
    tern_config config;
    native_config(&config, bytes);
    config.transport = TERN_TRANSPORT_OFI; /* verbs has no helper */
    config.ofi_progress = progress;
    return native_open(&f, &config, bytes, memory);
}

static bool open_ofi(size_t bytes) { return open_with(bytes, TERN_OFI_PROGRESS_AUTO); }

static void close_ofi(void) { native_close(&f, memory); }

static const tern_network *network(void) { return tern_rma_of(f.context)->native->network; }

/* TCP has one, if MPI allows the process to have threads. */
static void where_it_is(void) {
    if (!open_ofi(4096))
        return;
    if (strcmp(network()->name, "tcp;ofi_rxm") != 0)
        tern_test_skip("the provider is another one");
    else
        CU_ASSERT_EQUAL(network()->helped, tern_mpi_allows_threads());
    close_ofi();
}

/* Each rank puts random words to the next one, which then looks. */
static void exchange(void) {
    enum { WORDS = 512 };
    uint64_t words[WORDS], back[WORDS];
    const uint32_t next = (f.rank + 1) % f.size, before = (f.rank + f.size - 1) % f.size;
    for (uint64_t turn = 0; turn < TIMES; turn++) {
        uint64_t mine = turn * 1000 + f.rank, other = turn * 1000 + before, wrong = 0;
        for (size_t i = 0; i < WORDS; i++)
            words[i] = tern_test_random(&mine);
        EXPECT_OK(tern_put(f.worker, memory[next], words, sizeof words));
        EXPECT_OK(tern_flush(f.worker, next));
        EXPECT_OK(tern_get(f.worker, back, memory[next], sizeof back));
        CU_ASSERT_EQUAL(memcmp(words, back, sizeof back), 0);
        EXPECT_OK(tern_barrier(f.worker));
        const uint64_t *here = tern_local(f.context, memory[f.rank]);
        for (size_t i = 0; i < WORDS; i++)
            wrong += here[i] != tern_test_random(&other);
        CU_ASSERT_EQUAL(wrong, 0);
        EXPECT_OK(tern_barrier(f.worker));
    }
}

/* The user chooses whose calls make progress. */
static void progress_of_choice(void) {
    for (tern_ofi_progress p = TERN_OFI_PROGRESS_AUTO; p <= TERN_OFI_PROGRESS_AUTOMATIC; p++) {
        tern_context *none = NULL;
        tern_config config;
        if (p != TERN_OFI_PROGRESS_MANUAL || tern_mpi_allows_threads()) {
            if (!open_with(4096, p))
                return;
            if (strcmp(network()->name, "tcp;ofi_rxm") == 0)
                CU_ASSERT_EQUAL(network()->helped,
                                p != TERN_OFI_PROGRESS_AUTOMATIC && tern_mpi_allows_threads());
            exchange();
            close_ofi();
            continue;
        }
        native_config(&config, 4096);
        config.transport = TERN_TRANSPORT_OFI;
        config.ofi_progress = p;
        EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &none));
        EXPECT_DETAIL("TERN_OFI_PROGRESS=manual");
    }
}

/* All of a long put lands while its target computes. */
static void a_computing_target(void) {
    const size_t bytes = (size_t)4 << 20;
    if (!open_ofi(bytes))
        return;
    char *block = malloc(bytes);
    CU_ASSERT_FATAL(block != NULL);
    if (f.rank == 0) {
        EXPECT_OK(tern_put(f.worker, memory[1], "first contact", 8));
        EXPECT_OK(tern_flush(f.worker, 1));
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (!network()->one_sided) {
        tern_test_skip("the network needs progress of its targets");
    } else if (f.rank == 0) {
        for (int i = 1; i <= TIMES; i++) {
            memset(block, i, bytes);
            EXPECT_OK(tern_put(f.worker, memory[1], block, bytes));
            EXPECT_OK(tern_flush(f.worker, 1));
        }
        memset(block, 0, bytes);
        EXPECT_OK(tern_get(f.worker, block, memory[1], bytes));
        CU_ASSERT(block[0] == TIMES && block[bytes - 1] == TIMES);
        memset(block, TIMES + 1, bytes);
        EXPECT_OK(tern_put(f.worker, memory[1], block, bytes));
        EXPECT_OK(tern_flush(f.worker, 1));
    } else if (f.rank == 1) {
        const volatile char *mine = tern_local(f.context, memory[1]);
        while (mine[bytes - 1] != TIMES + 1)
            ;
    }
    EXPECT_OK(tern_barrier(f.worker));
    free(block);
    close_ofi();
}

/* In an idle process, whose ranks have met, it uses at most 1 % of a core. */
static void an_idle_process(void) {
    const long idle_us = 600000;
    if (!open_ofi(4096))
        return;
    if (!network()->helped) {
        tern_test_skip("there is no helper");
    } else {
        const tern_helper *helper = ((const tern_ofi *)(const void *)network())->helper;
        for (uint32_t rank = 0; rank < f.size; rank++) {
            EXPECT_OK(tern_put(f.worker, memory[rank], "met", 4));
            EXPECT_OK(tern_flush(f.worker, rank));
        }
        EXPECT_OK(tern_barrier(f.worker));
        usleep(idle_us / 3); /* it settles */
        const uint64_t used = tern_helper_processor_ns(helper), turns = tern_helper_turns(helper);
        usleep(idle_us);
        CU_ASSERT(tern_helper_processor_ns(helper) - used <= (uint64_t)idle_us * 1000 / 100);
        CU_ASSERT(tern_helper_turns(helper) - turns <= 60);
    }
    EXPECT_OK(tern_barrier(f.worker));
    close_ofi();
}

/* A network whose helper ends at once. */
static const tern_network_ops *real;
static tern_network_ops lame;
static int helped, unhelped; /* how often a network was opened so */

static tern_status lame_open(const tern_network_options *options, tern_network **n) {
    *(options->threads ? &helped : &unhelped) += 1;
    tern_status status = real->open(options, n);
    if (status == TERN_OK) {
        tern_ofi *ofi = (tern_ofi *)(void *)*n;
        tern_helper_stop(ofi->helper);
        ofi->helper = NULL;
    }
    return status;
}

static const tern_network_ops *make_lame(const tern_network_ops *ops) {
    real = ops;
    lame = *ops;
    lame.open = lame_open;
    return &lame;
}

/* Where no put lands by the helper, the provider makes progress by itself. */
static void a_helper_that_does_not_help(void) {
    helped = unhelped = 0;
    tern_network_hook = make_lame;
    if (open_ofi(4096)) {
        if (strcmp(network()->name, "tcp;ofi_rxm") != 0 || !tern_mpi_allows_threads()) {
            tern_test_skip("there is no helper");
        } else {
            CU_ASSERT(helped == 1 && unhelped == 1);
            CU_ASSERT(!network()->helped && network()->one_sided);
        }
        close_ofi();
    }
    tern_network_hook = NULL;
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"where_it_is", where_it_is},
        {"progress_of_choice", progress_of_choice},
        {"a_computing_target", a_computing_target},
        {"an_idle_process", an_idle_process},
        {"a_helper_that_does_not_help", a_helper_that_does_not_help},
    };
    return tern_test_main(argc, argv, "ofi_helper", tests, sizeof tests / sizeof *tests);
}
