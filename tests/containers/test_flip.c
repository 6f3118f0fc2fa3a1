// tern-test: ranks least=2 timeout=120
/*
 * One damaged bit. Rank 1 does every operation of tests/harness/flip_operations.h while one bit of
 * one word of tests/harness/flip_scene.h is flipped, in rank 0's segment or its own. Each operation
 * ends, in time, with a value that was there or with an error. Nobody crashes.
 *
 * The everyday test takes a few cases, which follow from the seed. The whole product is run by
 *
 *     tests/containers/flip build/mpich [FIRST [LAST]]
 *
 * which goes on behind a case that hangs, and lists those. Contexts that may be damaged are left as
 * they are.
 */

#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "flip_operations.h"
#include "src/progress/wait.h"

enum { CASE_SECONDS = 40, SERVER_SECONDS = 60, TAG = 7 };

/* What rank 1 tells rank 0 by messages, and gets back. */
enum { TELL_STOP, TELL_FLIP, TELL_DONE, TELL_NEW };

static char flip_where[256];
static MPI_Comm flip_comm = MPI_COMM_NULL;
static unsigned long long flip_opened; /* contexts */

static void flip_on_signal(int number) {
    const char *const text[] = {number == SIGALRM ? "\nflip: hangs: " : "\nflip: crashes: ",
                                flip_where};
    for (int i = 0; i < 2; i++)
        if (write(STDERR_FILENO, text[i], strlen(text[i])) < 0)
            _exit(2);
    _exit(3);
}

/* An operation that takes longer hangs. */
static unsigned flip_seconds(void) {
    const char *seconds = getenv("TERN_FLIP_SECONDS");
    return seconds != NULL ? (unsigned)atoi(seconds) : CASE_SECONDS;
}

typedef struct flip_case {
    const flip_word *word;
    int index; /* of its kind */
    int bit;
    const flip_operation *operation;
} flip_case;

static uint64_t flip_cases(void) { return (uint64_t)flip_word_count() * 64 * FLIP_OPERATIONS; }

/* False: the operation does not meet the word. */
static bool flip_case_of(uint64_t number, flip_case *c) {
    c->operation = &flip_operations[number % FLIP_OPERATIONS];
    c->bit = (int)(number / FLIP_OPERATIONS % 64);
    int index = (int)(number / FLIP_OPERATIONS / 64), kind = 0;
    while (index >= flip_words[kind].count)
        index -= flip_words[kind++].count;
    c->word = &flip_words[kind];
    c->index = index;
    return (c->word->groups & c->operation->group) != 0 &&
           !(c->word->channel && c->word->groups == FLIP_ALL && c->operation->path == TERN_BY_RMA);
}

/* A remote rank does not look along the other's rings, nor does it wait for the other's rounds of
 * progress (docs/damage.md). TERN_FLIP_ONLY: part of the names of the words, or of the operations,
 * that are wanted. */
static bool flip_is_left_out(const flip_scene *s, const flip_case *c) {
    const char *only = getenv("TERN_FLIP_ONLY");
    if ((c->word->groups & (FLIP_CALLS | FLIP_QUEUES)) != 0 && !fixture_all_direct(&s->f))
        return true;
    return only != NULL && strstr(c->word->what, only) == NULL &&
           strstr(c->operation->name, only) == NULL;
}

static void flip_note(uint64_t number, const flip_case *c, const char *step) {
    snprintf(flip_where, sizeof flip_where, "case %llu, rank %d: %s, word %d, bit %d: %s (%s)\n",
             (unsigned long long)number, tern_test_rank(), c->word->what, c->index, c->bit,
             c->operation->name, step);
}

/* ---- Messages, behind which tern makes no progress unless it says so ---- */

static void flip_tell(int what) {
    tern_mpi_lock();
    MPI_Send(&what, 1, MPI_INT, 1 - tern_test_rank(), TAG, flip_comm);
    tern_mpi_unlock();
}

static int flip_hear(flip_scene *s, bool serves) {
    MPI_Request request;
    int what = -1, done = 0;
    tern_mpi_lock();
    MPI_Irecv(&what, 1, MPI_INT, 1 - tern_test_rank(), TAG, flip_comm, &request);
    tern_mpi_unlock();
    while (!done) {
        tern_event event;
        if (serves) {
            tern_progress(s->f.worker);
            while (tern_probe(s->f.worker, TERN_PROBE_ANY, &event) == TERN_OK)
                continue;
        }
        tern_mpi_lock();
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        tern_mpi_unlock();
        sched_yield();
    }
    tern_error_clear();
    return what;
}

/* ---- A case ---- */

typedef struct flip_bit {
    uint64_t *word;
    uint64_t flipped;
} flip_bit;

static flip_bit flip_do(flip_scene *s, const flip_case *c, bool mine) {
    flip_bit b = {NULL, 0};
    b.word = mine ? c->word->at(s, c->index) : NULL;
    if (b.word != NULL)
        b.flipped = __atomic_xor_fetch(b.word, UINT64_C(1) << c->bit, __ATOMIC_SEQ_CST);
    return b;
}

/* False: the word has changed meanwhile. */
static bool flip_undo(const flip_case *c, flip_bit b) {
    uint64_t expected = b.flipped;
    return b.word == NULL ||
           __atomic_compare_exchange_n(b.word, &expected, expected ^ UINT64_C(1) << c->bit, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static bool flip_is_usual(tern_status status) {
    return status == TERN_OK || status == TERN_ERR_NOT_FOUND || status == TERN_ERR_EMPTY ||
           status == TERN_ERR_FULL || status == TERN_ERR_TIMEOUT || status == TERN_ERR_EXISTS;
}

/* The text of an error about damage says whose segment it is in. */
static void flip_expect_status(tern_status status) {
    CU_ASSERT((unsigned)status < TERN_STATUS_COUNT);
    if (status != TERN_ERR_CORRUPT)
        return;
    if (strstr(tern_error_detail(), "rank ") == NULL)
        fprintf(stderr, "flip: %s: '%s'\n", flip_where, tern_error_detail());
    CU_ASSERT_PTR_NOT_NULL(strstr(tern_error_detail(), "rank "));
}

/* What a case leaves behind. */
typedef enum flip_end {
    FLIP_GOOD,      /* a context that others can use */
    FLIP_SPOILT,    /* one that may be damaged */
    FLIP_NOT_BEGUN, /* the same, by the case before */
} flip_end;

static flip_end flip_serve(flip_scene *s, uint64_t number, const flip_case *c) {
    flip_bit b = {NULL, 0};
    bool undone = true;
    alarm(SERVER_SECONDS);
    flip_note(number, c, "serves");
    for (bool serves = true;;) {
        const int what = flip_hear(s, serves);
        serves = what == TELL_FLIP;
        if (what == TELL_NEW)
            return FLIP_NOT_BEGUN;
        if (what == TELL_FLIP)
            b = flip_do(s, c, !c->word->origins);
        if (what == TELL_DONE)
            undone = flip_undo(c, b);
        flip_tell(undone ? what : TELL_NEW);
        if (what == TELL_DONE)
            return undone ? FLIP_GOOD : FLIP_SPOILT;
    }
}

static flip_end flip_operate(flip_scene *s, uint64_t number, const flip_case *c) {
    flip_run r = {.s = s, .path = c->operation->path, .checks = !c->word->unchecked};
    alarm(flip_seconds());
    flip_note(number, c, "before");
    if (flip_prepare(s) != TERN_OK) {
        flip_tell(TELL_NEW);
        return FLIP_NOT_BEGUN;
    }
    r.number = 7000;
    r.large[0] = 7000;
    /* Records that rank 0 reads before they are damaged show nothing. A remote rank, though, may
     * need rank 0 from the beginning. */
    if (fixture_all_direct(&s->f)) {
        flip_tell(TELL_STOP);
        (void)flip_hear(s, false);
    }
    tern_status status = c->operation->begin != NULL ? c->operation->begin(&r) : TERN_OK;
    flip_tell(TELL_FLIP);
    (void)flip_hear(s, false);
    const flip_bit b = flip_do(s, c, c->word->origins);
    flip_note(number, c, "while the bit is damaged");
    if (status == TERN_OK)
        status = c->operation->end(&r);
    flip_expect_status(status);
    if (getenv("TERN_FLIP_TELL") != NULL)
        fprintf(stderr, "flip: case %llu: %s, word %d, bit %d: %s: %s\n",
                (unsigned long long)number, c->word->what, c->index, c->bit, c->operation->name,
                tern_strerror(status));
    const bool undone = flip_undo(c, b);
    flip_tell(TELL_DONE);
    const int told = flip_hear(s, false);
    tern_error_clear();
    const bool good = undone && told == TELL_DONE && flip_is_usual(status) &&
                      (!c->word->channel || status == TERN_OK);
    return good ? FLIP_GOOD : FLIP_SPOILT;
}

/* A context that anything may be wrong in is left. */
static bool flip_reopen(flip_scene *s) {
    alarm(SERVER_SECONDS);
    snprintf(flip_where, sizeof flip_where, "rank %d: opens a context\n", tern_test_rank());
    flip_opened++;
    return flip_open(s, flip_comm);
}

/* Ends before the last case when memory, or the time, is up. Returns the next case. */
static uint64_t flip_range(uint64_t first, uint64_t step, uint64_t count, double seconds) {
    enum { CONTEXTS = 150 };

    flip_scene s;
    const uint64_t cases = flip_cases();
    const double start = MPI_Wtime();
    uint64_t i = 0;
    unsigned long long done = 0;
    flip_end end = FLIP_GOOD;
    if (!flip_reopen(&s))
        return first;
    for (; i < count; i += end != FLIP_NOT_BEGUN) {
        flip_case c;
        const uint64_t number = (first + i) * step % cases;
        if (!flip_case_of(number, &c) || flip_is_left_out(&s, &c)) {
            end = end == FLIP_NOT_BEGUN ? FLIP_SPOILT : end;
            continue;
        }
        int over = flip_opened >= CONTEXTS || MPI_Wtime() - start > seconds,
            fresh = end != FLIP_GOOD;
        MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, flip_comm);
        MPI_Allreduce(MPI_IN_PLACE, &fresh, 1, MPI_INT, MPI_MAX, flip_comm);
        if (over || (fresh && !flip_reopen(&s)))
            break;
        end =
            tern_test_rank() == 0 ? flip_serve(&s, first + i, &c) : flip_operate(&s, first + i, &c);
        CU_ASSERT(!fresh || end != FLIP_NOT_BEGUN);
        if (fresh && end == FLIP_NOT_BEGUN)
            break;
        done += end != FLIP_NOT_BEGUN;
    }
    alarm(0);
    const unsigned long long next = first + i;
    if (tern_test_rank() == 0)
        printf("\nflip: %llu cases, %llu contexts, next %llu of %llu\n", done, flip_opened, next,
               (unsigned long long)cases);
    return first + i;
}

#pragma weak __lsan_disable /* it is there under AddressSanitizer alone */

/* Of two ranks; the others have nothing to do. */
static void flip_some(uint64_t first, uint64_t count, double seconds) {
    /* A prime, so that a few cases in a row are of all kinds. */
    static const uint64_t step = 1000003;

    const int apart = tern_test_rank() < 2 ? 0 : MPI_UNDEFINED;
    MPI_Comm_split(MPI_COMM_WORLD, apart, tern_test_rank(), &flip_comm);
    if (flip_comm == MPI_COMM_NULL)
        return;
    if (__lsan_disable != NULL)
        __lsan_disable();
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)signal(signals[i], flip_on_signal);
    tern_liveness_query_ns = 1000000;
    (void)flip_range(first, step, count, seconds);
}

static void a_sample(void) { flip_some(tern_test_seed() % flip_cases(), 400, 3); }

/* From the case on that the seed says. */
static void all(void) {
    if (!tern_test_full()) {
        tern_test_skip("takes long");
        return;
    }
    flip_some(tern_test_seed(), UINT64_MAX / 2, tern_test_seconds(5));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_sample", a_sample}, {"all", all}};
    tern_test_draw_seed();
    return tern_test_main(argc, argv, "flip", tests, sizeof tests / sizeof tests[0]);
}
