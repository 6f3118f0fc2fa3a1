// tern-test: ranks least=3

/* Whether the network or the owner applies atomics: the rule of TERN_RMA_ATOMICS=auto, row by row,
 * over networks that are faster or slower than messages, lose updates, or share words with the
 * processor.
 */

#include "fixture.h"
#include "flaky.h"
#include "rma/network/partner.h"
#include "rma/network/process.h"
#include "rma/memory/state.h"

#include <stdatomic.h>

enum { TIMES = 20 };

/* What a message, and a slow operation of the network, take besides, in ns. */
#define MESSAGE UINT64_C(200000000)
#define SLOW (10 * MESSAGE)
#define SECOND UINT64_C(1000000000)

/* How the network and MPI seem while a context is created. */
static struct {
    bool needs_progress, slow_puts;
    int slow_atomics; /* so many, from the first on */
} played;

static fixture f;
static tern_ptr memory[64];

/* The clock goes forward with each message of MPI, so that each network is fast beside them. */
static _Atomic uint64_t forward;

/* NOLINTBEGIN(bugprone-reserved-identifier) */
uint64_t __real_tern_now(void);
uint64_t __wrap_tern_now(void);
uint64_t __wrap_tern_now(void) { return __real_tern_now() + atomic_load(&forward); }

tern_status __real_tern_partner_take(tern_context *context, uint32_t from, void *data,
                                     size_t bytes);
tern_status __wrap_tern_partner_take(tern_context *context, uint32_t from, void *data,
                                     size_t bytes);
tern_status __wrap_tern_partner_take(tern_context *context, uint32_t from, void *data,
                                     size_t bytes) {
    atomic_fetch_add(&forward, MESSAGE);
    return __real_tern_partner_take(context, from, data, bytes);
}

tern_status __real_tern_partner_act(tern_network *network, tern_network_end *end,
                                    const tern_network_post *post, bool *posted, uint64_t limit);
tern_status __wrap_tern_partner_act(tern_network *network, tern_network_end *end,
                                    const tern_network_post *post, bool *posted, uint64_t limit);
tern_status __wrap_tern_partner_act(tern_network *network, tern_network_end *end,
                                    const tern_network_post *post, bool *posted, uint64_t limit) {
    const bool put = post->act == TERN_NETWORK_WRITE;
    if (put && played.needs_progress && limit < SECOND) /* without help */
        return TERN_ERR_TIMEOUT;
    if (put ? played.slow_puts : played.slow_atomics-- > 0)
        atomic_fetch_add(&forward, SLOW);
    return __real_tern_partner_act(network, end, post, posted, limit);
}
/* NOLINTEND(bugprone-reserved-identifier) */

typedef struct row {
    const char *name;
    tern_transport_choice transport;
    tern_rma_atomics option;
    size_t ranks_per_node;
    bool needs_progress, slow_puts, slow_atomics, loses, coherent, loses_to_processor, wide_only;
    bool network, processor_too; /* [out] what applies atomics */
} row;

static bool open_row(const row *r) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = r->transport;
    config.rma_atomics = r->option;
    config.ranks_per_node = r->ranks_per_node;
    config.segment_size = (size_t)4 << 20;
    played.needs_progress = r->needs_progress;
    played.slow_puts = r->slow_puts;
    played.slow_atomics = r->slow_atomics ? 30 : 0;
    flaky_network(tern_test_seed() + 1);
    flaky_network_lose_updates(r->loses);
    flaky_network_coherent(r->coherent);
    flaky_network_lose_to_processor(r->loses_to_processor);
    flaky_network_wide_only(r->wide_only);
    return fixture_open(&f, &config);
}

static void close_row(void) {
    fixture_close(&f);
    flaky_network_lose_updates(false);
    flaky_network_coherent(false);
    flaky_network_lose_to_processor(false);
    flaky_network_wide_only(false);
    flaky_network(0);
}

/* All ranks add to words of rank 0, as its own node does. */
static void add_to_words(const row *r) {
    uint64_t old = 0;
    uint32_t old4 = 0;
    fixture_alloc_all(&f, 64, TERN_DOMAIN_GLOBAL, memory);
    const void *direct = tern_internal_atomic_address(f.worker, memory[f.rank], 8);
    CU_ASSERT_EQUAL(direct != NULL, r->processor_too);
    const tern_ptr narrow = tern_ptr_add(memory[0], 8);
    for (int i = 0; i < TIMES; i++) {
        EXPECT_OK(tern_atomic_fetch_add(f.worker, memory[0], 1, &old));
        EXPECT_OK(tern_atomic_fetch_add32(f.worker, narrow, 1, &old4));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_atomic_load(f.worker, memory[0], &old));
    EXPECT_OK(tern_atomic_load32(f.worker, narrow, &old4));
    CU_ASSERT_EQUAL(old, TIMES * f.size);
    CU_ASSERT_EQUAL(old4, TIMES * f.size);
    fixture_free_all(&f, memory);
}

static void check_row(const row *r) {
    tern_network_info info;
    if (!open_row(r))
        return;
    EXPECT_OK(tern_context_network(f.context, &info));
    if ((info.atomics != 0) != r->network)
        printf("%s: atomics %d ... ", r->name, info.atomics);
    CU_ASSERT_EQUAL(info.atomics != 0, r->network);
    CU_ASSERT_EQUAL(tern_rma_of(f.context)->native->coherent, r->network && r->processor_too);
    if (!r->loses && !r->loses_to_processor)
        add_to_words(r);
    close_row();
}

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        check_row(&rows[i]);
}

#define OFI .transport = TERN_TRANSPORT_OFI
#define SIZE_OF(rows) sizeof(rows) / sizeof *(rows)

/* Ranks on nodes of their own. */
static void ranks_alone(void) {
    static const row rows[] = {
        {"fast", OFI, .ranks_per_node = 1, .network = true},
        {"auto", .transport = TERN_TRANSPORT_AUTO, .ranks_per_node = 1, .network = true},
        {"owner", OFI, .option = TERN_RMA_ATOMICS_OWNER, .ranks_per_node = 1,
         .processor_too = true},
        {"needs progress", OFI, .ranks_per_node = 1, .needs_progress = true, .processor_too = true},
        {"slow puts", OFI, .ranks_per_node = 1, .slow_puts = true, .processor_too = true},
        {"slow atomics", OFI, .ranks_per_node = 1, .slow_atomics = true, .processor_too = true},
        {"loses updates", OFI, .ranks_per_node = 1, .loses = true, .processor_too = true},
        {"coherent", OFI, .ranks_per_node = 1, .coherent = true, .network = true,
         .processor_too = true},
        {"not coherent", OFI, .ranks_per_node = 1, .coherent = true, .loses_to_processor = true,
         .network = true},
    };
    check_rows(rows, SIZE_OF(rows));
}

/* Ranks that share a node keep the processor's atomics, unless they need not. */
static void ranks_that_share(void) {
    static const row rows[] = {
        {"shared", OFI, .ranks_per_node = 2, .processor_too = true},
        {"shared, coherent", OFI, .ranks_per_node = 2, .coherent = true, .network = true,
         .processor_too = true},
        {"shared, not coherent", OFI, .ranks_per_node = 2, .coherent = true,
         .loses_to_processor = true, .processor_too = true},
        {"shared, demanded", OFI, .option = TERN_RMA_ATOMICS_NETWORK, .ranks_per_node = 2,
         .needs_progress = true, .slow_atomics = true, .network = true},
    };
    check_rows(rows, SIZE_OF(rows));
}

/* A network without atomics of 4 bytes leaves these to the owner's node. */
static void words_of_4_bytes(void) {
    static const row rows[] = {
        {"wide only", OFI, .option = TERN_RMA_ATOMICS_NETWORK, .ranks_per_node = 1,
         .wide_only = true, .network = true},
        {"wide only, shared", OFI, .option = TERN_RMA_ATOMICS_NETWORK, .ranks_per_node = 2,
         .wide_only = true, .network = true},
    };
    check_rows(rows, SIZE_OF(rows));
}

/* If only the network's atomics will do, a network with unsound atomics will not. */
static void auto_refuses_atomics_that_lose(void) {
    tern_config config;
    tern_context *context = NULL;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_AUTO;
    config.rma_atomics = TERN_RMA_ATOMICS_NETWORK;
    config.ranks_per_node = 1;
    played.needs_progress = played.slow_puts = false;
    played.slow_atomics = 0;
    flaky_network(tern_test_seed() + 1);
    flaky_network_lose_updates(true);
    EXPECT(TERN_ERR_UNSUPPORTED, tern_context_create(MPI_COMM_WORLD, &config, &context));
    EXPECT_DETAIL("TERN_RMA_ATOMICS=network");
    flaky_network_lose_updates(false);
    flaky_network(0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"ranks_alone", ranks_alone},
        {"auto_refuses_atomics_that_lose", auto_refuses_atomics_that_lose},
        {"ranks_that_share", ranks_that_share},
        {"words_of_4_bytes", words_of_4_bytes}};
    return tern_test_main(argc, argv, "ofi_atomics", tests, sizeof tests / sizeof *tests);
}
