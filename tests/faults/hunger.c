/*
 * Makes any program of tests hungry: linked with a copy of the library whose calls go to hungry.c,
 * and with --wrap for some functions, it runs one of its tests, and on some rank calls for memory,
 * mappings, files and sockets fail in it. HUNGRY in the environment is the seed, from which the
 * test and the failing calls follow. Most calls of a test create contexts and containers
 * (shortage.c makes those fail one by one), so in most runs these do not fail.
 *
 * The test expects no failures. So its first assertion that does not hold ends the run, and memory
 * that nothing points to at this moment has been lost by the library.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "hungry.h"
#include "tern/distributed_queue.h"
#include "tern/hashtable.h"
#include "tern/map.h"

/* NOLINTBEGIN(bugprone-reserved-identifier) */

/* The sanitizer's, if there is one. */
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

CU_BOOL __real_CU_assertImplementation(CU_BOOL holds, unsigned line, const char *condition,
                                       const char *file, const char *function, CU_BOOL fatal);
CU_BOOL __wrap_CU_assertImplementation(CU_BOOL holds, unsigned line, const char *condition,
                                       const char *file, const char *function, CU_BOOL fatal);
int __real_tern_test_main(int argc, char **argv, const char *suite, const tern_test_case *tests,
                          size_t count);
int __wrap_tern_test_main(int argc, char **argv, const char *suite, const tern_test_case *tests,
                          size_t count);

static struct {
    uint64_t seed;
    tern_test_case test;
    bool survivors;
    bool creates; /* contexts and containers without a failure */
} hunger;

/* One of the numbers from 1 to 2^bits; small ones are as likely as large ones. */
static uint64_t draw(uint64_t *state, unsigned bits) {
    return 1 + tern_test_random(state) % ((uint64_t)1 << tern_test_random(state) % (bits + 1));
}

static void run_hungry(void) {
    static const unsigned kinds[] = {HUNGRY_MEMORY, HUNGRY_MEMORY,  HUNGRY_MEMORY, HUNGRY_MAPPINGS,
                                     HUNGRY_FILES,  HUNGRY_SOCKETS, HUNGRY_SENDS,  HUNGRY_ALL};
    uint64_t state = hunger.seed;
    unsigned kind = kinds[tern_test_random(&state) % 8];
    /* There are more calls for memory than others. */
    uint64_t first = draw(&state, kind == HUNGRY_MEMORY ? 9 : 5), every = draw(&state, 9);
    /* Deaths are found by looks that need memory, each time anew (src/peers/sibling.c). */
    if (hunger.survivors)
        every = UINT64_MAX;
    bool hungry =
        tern_test_random(&state) % (uint64_t)tern_test_size() == (uint64_t)tern_test_rank();
    hunger.creates = tern_test_random(&state) % 4 != 0;
    if (hungry) {
        fprintf(stderr, "hungry: rank %d, kinds %u, call %llu and each %llu. that follows\n",
                tern_test_rank(), kind, (unsigned long long)first, (unsigned long long)every);
        hungry_every(kind, first, every);
    }
    hunger.test.run();
    if (hungry)
        fprintf(stderr, "hungry: %llu calls have failed\n", (unsigned long long)hungry_end());
}

/* Puts a function that creates something out of reach of failures. */
#define SPARE(function, parameters, ...)                                                           \
    tern_status __real_##function parameters;                                                      \
    tern_status __wrap_##function parameters;                                                      \
    tern_status __wrap_##function parameters {                                                     \
        if (!hunger.creates)                                                                       \
            return __real_##function(__VA_ARGS__);                                                 \
        const uint64_t failing = hungry_pause();                                                   \
        const tern_status status = __real_##function(__VA_ARGS__);                                 \
        hungry_go_on(failing);                                                                     \
        return status;                                                                             \
    }

SPARE(tern_context_create, (MPI_Comm comm, const tern_config *config, tern_context **context), comm,
      config, context)
SPARE(tern_hashtable_create,
      (tern_worker * worker, const tern_hashtable_options *options, tern_hashtable **table), worker,
      options, table)
SPARE(tern_map_create, (tern_worker * worker, const tern_map_options *options, tern_map **map),
      worker, options, map)
SPARE(tern_queue_create,
      (tern_worker * worker, const tern_queue_options *options, tern_queue **queue), worker,
      options, queue)
SPARE(tern_distributed_queue_create,
      (tern_worker * worker, const tern_queue_options *options, tern_distributed_queue **queue),
      worker, options, queue)

int __wrap_tern_test_main(int argc, char **argv, const char *suite, const tern_test_case *tests,
                          size_t count) {
    const char *seed = getenv("HUNGRY");
    hunger.seed = seed != NULL ? strtoull(seed, NULL, 0) : 0;
    uint64_t state = ~hunger.seed;
    hunger.test = tests[tern_test_random(&state) % count];
    for (int i = 1; i < argc; i++)
        hunger.survivors |= strcmp(argv[i], "--survivors") == 0;
    tern_test_case only = {.name = hunger.test.name, .run = run_hungry};
    return __real_tern_test_main(argc, argv, suite, &only, 1);
}

CU_BOOL __wrap_CU_assertImplementation(CU_BOOL holds, unsigned line, const char *condition,
                                       const char *file, const char *function, CU_BOOL fatal) {
    if (holds)
        return __real_CU_assertImplementation(holds, line, condition, file, function, fatal);
    (void)hungry_end();
    fprintf(stderr, "\nFAILED %s on rank %d: %s:%u: %s\n", hunger.test.name, tern_test_rank(), file,
            line, condition);
    if (__lsan_do_recoverable_leak_check != NULL)
        __lsan_do_recoverable_leak_check();
    /* The launcher ends the other ranks, but not where ranks are to survive. */
    for (int rank = 0; hunger.survivors && rank < tern_test_size(); rank++)
        if (rank != tern_test_rank())
            tern_test_kill(rank);
    _exit(1);
}

/* NOLINTEND(bugprone-reserved-identifier) */
