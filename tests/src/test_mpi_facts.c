// tern-test: ranks

/*
 * What tern takes for granted of MPI's one-sided and two-sided communication: a window
 * by MPI_Win_create over page-aligned memory of a multiple of 16 bytes, one lock_all epoch for
 * good, one family of atomics per word, progress by MPI_Iprobe and MPI_Test. No tern in here.
 */

#include "harness.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WINDOW_BYTES = 1 << 20, WORD_AT = 4096, FLAG_AT = 8192, DATA_AT = 65536 };

typedef struct {
    MPI_Comm comm;
    MPI_Win win;
    char *base;
} window;

/* Open MPI 4.1 has no window for one process (open-mpi/ompi#10726); tern makes none there. */
static bool window_open(window *w) {
    if (tern_test_size() == 1) {
        tern_test_skip("no window is made for one rank");
        return false;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
    MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);
    w->base = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(w->base != MAP_FAILED);
    CU_ASSERT(MPI_Win_create(w->base, WINDOW_BYTES, 1, MPI_INFO_NULL, w->comm, &w->win) ==
              MPI_SUCCESS);
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    CU_ASSERT(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win) == MPI_SUCCESS);
    MPI_Barrier(w->comm);
    return true;
}

static void window_close(window *w) {
    MPI_Win_flush_all(w->win);
    MPI_Barrier(w->comm);
    MPI_Win_unlock_all(w->win);
    MPI_Win_free(&w->win);
    MPI_Comm_free(&w->comm);
    munmap(w->base, WINDOW_BYTES);
}

/* Testing with a yield: MPI's own waits do not give the processor up, which costs milliseconds a
 * time when there are more ranks than cores. */
static void finish(MPI_Request *request) {
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        sched_yield();
}

static void wait_barrier(MPI_Comm comm) {
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    finish(&request);
}

/* One atomic of 4 or 8 bytes, by one of the three functions that can do it. */
static uint64_t apply(window *w, unsigned width, unsigned how, MPI_Op op, uint64_t operand,
                      int target) {
    MPI_Datatype type = width == 8 ? MPI_UINT64_T : MPI_UINT32_T;
    union {
        uint64_t wide;
        uint32_t narrow;
    } in = {.wide = 0}, out = {.wide = 0};
    if (width == 8)
        in.wide = operand;
    else
        in.narrow = (uint32_t)operand;
    MPI_Request request;
    switch (how) {
    case 0:
        MPI_Fetch_and_op(&in, &out, type, target, WORD_AT, op, w->win);
        MPI_Win_flush(target, w->win);
        break;
    case 1:
        MPI_Get_accumulate(&in, 1, type, &out, 1, type, target, WORD_AT, 1, type, op, w->win);
        MPI_Win_flush(target, w->win);
        break;
    default:
        MPI_Rget_accumulate(&in, 1, type, &out, 1, type, target, WORD_AT, 1, type, op, w->win,
                            &request);
        finish(&request);
    }
    return width == 8 ? out.wide : out.narrow;
}

static uint64_t swap_if(window *w, unsigned width, uint64_t expected, uint64_t desired,
                        int target) {
    if (width == 8) {
        uint64_t before = 0;
        MPI_Compare_and_swap(&desired, &expected, &before, MPI_UINT64_T, target, WORD_AT, w->win);
        /* Behind the swap on the same word: once this has come back, the flush waits for nothing.
         */
        apply(w, width, 2, MPI_NO_OP, 0, target);
        MPI_Win_flush(target, w->win);
        return before;
    }
    uint32_t compare = (uint32_t)expected, new = (uint32_t)desired, before = 0;
    MPI_Compare_and_swap(&new, &compare, &before, MPI_UINT32_T, target, WORD_AT, w->win);
    apply(w, width, 2, MPI_NO_OP, 0, target);
    MPI_Win_flush(target, w->win);
    return before;
}

/* Open MPI 4.1.4 crashes on a 64-bit MPI_Compare_and_swap to the own rank. */
static bool may_swap(unsigned width, int target) {
    return width == 4 || target != tern_test_rank();
}

/*
 * All ranks do all kinds of atomics on one word. Each rank owns a field of it, which only its own
 * operations change: every value that comes back and the last one must show the field as the rank
 * left it.
 */
static void mix_atomics(unsigned width, int targets, bool yielding) {
    window w;
    if (!window_open(&w))
        return;
    int rank = tern_test_rank(), size = tern_test_size();
    unsigned bits = width * 8 / 4, shift = (unsigned)rank * bits;
    uint64_t field = (UINT64_C(1) << bits) - 1;
    uint64_t random = tern_test_seed() + (uint64_t)rank * 7919;
    uint64_t model[4] = {0};
    unsigned lost = 0;
    int times = (size == 2 ? 4000 : yielding ? 2000 : 200) * (tern_test_full() ? 20 : 1);
    for (int i = 0; size <= 4 && i < times; i++) {
        int target = (int)(tern_test_random(&random) % (uint64_t)targets);
        unsigned how = yielding ? 2 : (unsigned)(tern_test_random(&random) % 3);
        uint64_t x = tern_test_random(&random) & field, m = model[target], old;
        switch (tern_test_random(&random) % 6) {
        case 0:
            x %= field - m + 1;
            old = apply(&w, width, how, MPI_SUM, x << shift, target);
            model[target] = m + x;
            break;
        case 1:
            old = apply(&w, width, how, MPI_BAND, ~((~x & field) << shift), target);
            model[target] = m & x;
            break;
        case 2:
            old = apply(&w, width, how, MPI_BOR, x << shift, target);
            model[target] = m | x;
            break;
        case 3:
            old = apply(&w, width, how, MPI_BXOR, x << shift, target);
            model[target] = m ^ x;
            break;
        case 4: {
            old = m << shift;
            for (uint64_t seen; may_swap(width, target); old = seen) {
                seen = swap_if(&w, width, old, (old & ~(field << shift)) | x << shift, target);
                if (seen == old || (seen >> shift & field) != m) {
                    old = seen;
                    model[target] = x;
                    break;
                }
            }
            break;
        }
        default:
            old = apply(&w, width, how, MPI_NO_OP, 0, target);
        }
        lost += (old >> shift & field) != m;
    }
    wait_barrier(w.comm);
    for (int t = 0; size <= 4 && t < targets; t++)
        lost += (apply(&w, width, 2, MPI_NO_OP, 0, t) >> shift & field) != model[t];
    CU_ASSERT_EQUAL(lost, 0);
    window_close(&w);
}

static void mixed_atomics_64_one_word(void) { mix_atomics(8, 1, true); }

static void mixed_atomics_64_all_ranks(void) { mix_atomics(8, tern_test_size(), true); }

static void mixed_atomics_32_one_word(void) { mix_atomics(4, 1, true); }

static void mixed_atomics_32_all_ranks(void) { mix_atomics(4, tern_test_size(), true); }

/* The three functions agree with each other, too. */
static void mixed_functions(void) {
    mix_atomics(8, 1, false);
    mix_atomics(4, 1, false);
}

/* Each number that is swapped in comes out exactly once. */
static void swap_conserves(void) {
    window w;
    if (!window_open(&w))
        return;
    uint64_t added = 0, taken = 0, random = tern_test_seed() + (uint64_t)tern_test_rank();
    for (int i = 0; i < (tern_test_size() == 2 ? 4000 : 1000); i++) {
        if (tern_test_random(&random) % 2 == 0) {
            apply(&w, 8, 2, MPI_SUM, 1, 0);
            added++;
        } else {
            taken += apply(&w, 8, 2, MPI_REPLACE, 0, 0);
        }
    }
    wait_barrier(w.comm);
    uint64_t mine[2] = {added, taken}, all[2], left = apply(&w, 8, 2, MPI_NO_OP, 0, 0);
    MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, w.comm);
    CU_ASSERT_EQUAL(all[0], all[1] + left);
    window_close(&w);
}

/* Memory changes in a target that does nothing but MPI_Iprobe: no time is looked at, a failure
 * hangs until the deadline. */
static void iprobe_makes_progress(void) {
    window w;
    if (!window_open(&w))
        return;
    int rank = tern_test_rank(), size = tern_test_size();
    volatile uint64_t *flag = (volatile uint64_t *)(void *)(w.base + FLAG_AT);
    for (uint64_t round = 1; round <= 50; round++) {
        /* A token goes around the ranks by puts. */
        if (rank == 0 || size == 1) {
            MPI_Put(&round, 8, MPI_BYTE, 1 % size, FLAG_AT, 8, MPI_BYTE, w.win);
            MPI_Win_flush(1 % size, w.win);
        }
        while (*flag != round) {
            int any;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w.comm, &any, MPI_STATUS_IGNORE);
            CU_ASSERT(!any);
            sched_yield();
        }
        if (rank != 0) {
            MPI_Put(&round, 8, MPI_BYTE, (rank + 1) % size, FLAG_AT, 8, MPI_BYTE, w.win);
            MPI_Win_flush((rank + 1) % size, w.win);
        }
    }
    window_close(&w);
}

/* Puts of any alignment and length arrive, to the last byte of the window, and come back by
 * MPI_Rget. */
static void puts_arrive(void) {
    window w;
    if (!window_open(&w))
        return;
    int rank = tern_test_rank(), size = tern_test_size();
    uint64_t random = tern_test_seed() + (uint64_t)rank * 31;
    size_t slice = (size_t)(WINDOW_BYTES - DATA_AT) / (size_t)size;
    size_t mine = DATA_AT + (size_t)rank * slice;
    char *model = calloc(1, slice), *back = malloc(slice);
    int to = (rank + 1) % size;
    for (int i = 0; i < 300; i++) {
        size_t at = tern_test_random(&random) % slice;
        size_t bytes = 1 + tern_test_random(&random) % (i % 10 == 0 ? slice - at : 1);
        if (i == 0)
            at = slice - 1, bytes = 1;
        for (size_t b = 0; b < bytes; b++)
            model[at + b] = (char)tern_test_random(&random);
        MPI_Put(model + at, (int)bytes, MPI_BYTE, to, (MPI_Aint)(mine + at), (int)bytes, MPI_BYTE,
                w.win);
        MPI_Win_flush(to, w.win);
    }
    MPI_Request request;
    MPI_Rget(back, (int)slice, MPI_BYTE, to, (MPI_Aint)mine, (int)slice, MPI_BYTE, w.win, &request);
    finish(&request);
    CU_ASSERT(memcmp(back, model, slice) == 0);

    /* And the owner sees what the origin says that it wrote. */
    int from = (rank + size - 1) % size;
    wait_barrier(w.comm);
    MPI_Sendrecv(model, (int)slice, MPI_BYTE, to, 1, back, (int)slice, MPI_BYTE, from, 1, w.comm,
                 MPI_STATUS_IGNORE);
    CU_ASSERT(memcmp(back, w.base + DATA_AT + (size_t)from * slice, slice) == 0);
    free(model);
    free(back);
    window_close(&w);
}

/* Errors come back instead of ending the job. */
static void errors_return(void) {
    window w;
    if (!window_open(&w))
        return;
    char byte = 0;
    CU_ASSERT(MPI_Put(&byte, 1, MPI_BYTE, tern_test_size(), 0, 1, MPI_BYTE, w.win) != MPI_SUCCESS);
    CU_ASSERT(MPI_Send(&byte, 1, MPI_BYTE, tern_test_size(), 0, w.comm) != MPI_SUCCESS);
    window_close(&w);
}

/* Matched probes take messages in the order in which they were sent, small and large, while a
 * collective is under way on the same communicator, and never see the collective's own. */
static void probes_beside_collectives(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int size = tern_test_size();
    enum { MESSAGES = 40, LARGEST = 200000 };
    char *out = calloc(1, LARGEST), *in = malloc(LARGEST);
    int received[64] = {0}, total = 0, sum = 0, one = 1, done = 0;
    MPI_Request sent[64][MESSAGES], collective;
    CU_ASSERT_FATAL(size <= 64);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &collective);
    for (int to = 0; to < size; to++)
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(out, i % 8 == 7 ? LARGEST : i, MPI_BYTE, to, i, comm, &sent[to][i]);
    while (total < size * MESSAGES) {
        int there = 0, bytes;
        MPI_Message message;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &message, &status);
        if (!there) {
            sched_yield();
            continue;
        }
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        int i = received[status.MPI_SOURCE]++;
        CU_ASSERT_EQUAL(status.MPI_TAG, i);
        CU_ASSERT_EQUAL(bytes, i % 8 == 7 ? LARGEST : i);
        MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        total++;
    }
    for (int to = 0; to < size; to++)
        for (int i = 0; i < MESSAGES; i++)
            finish(&sent[to][i]);
    while (!done) {
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, MPI_STATUS_IGNORE);
        CU_ASSERT(!there);
        MPI_Test(&collective, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
    CU_ASSERT_EQUAL(sum, size);
    MPI_Comm_free(&comm);
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"mixed_atomics_64_one_word", mixed_atomics_64_one_word},
        {"mixed_atomics_64_all_ranks", mixed_atomics_64_all_ranks},
        {"mixed_atomics_32_one_word", mixed_atomics_32_one_word},
        {"mixed_atomics_32_all_ranks", mixed_atomics_32_all_ranks},
        {"mixed_functions", mixed_functions},
        {"swap_conserves", swap_conserves},
        {"iprobe_makes_progress", iprobe_makes_progress},
        {"puts_arrive", puts_arrive},
        {"errors_return", errors_return},
        {"probes_beside_collectives", probes_beside_collectives},
    };
    return tern_test_main(argc, argv, "mpi_facts", tests, sizeof tests / sizeof tests[0]);
}
