#include "histories/record.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

void history_fill(void *bytes, size_t size, uint64_t object, uint64_t number) {
    char *to = bytes;
    uint64_t word = number, state = object * 31 + number;
    for (size_t i = 0; i < size; i += 8) {
        memcpy(to + i, &word, size - i < 8 ? size - i : 8);
        word = tern_test_random(&state);
    }
}

uint64_t history_number(const void *bytes, size_t size, uint64_t object) {
    char wanted[TERN_RESULT_MAX];
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    history_fill(wanted, size, object, number);
    return memcmp(bytes, wanted, size) == 0 ? number : UINT64_MAX;
}

uint64_t history_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool history_actor_open(history_actor *actor, fixture *f, tern_worker *worker, uint16_t number) {
    *actor = (history_actor){.worker = worker, .random = fixture_seed(f, number), .number = number};
    actor->room = 1024;
    actor->log = malloc(actor->room * sizeof *actor->log);
    CU_ASSERT_PTR_NOT_NULL(actor->log);
    return actor->log != NULL;
}

void history_actor_close(history_actor *actor) { free(actor->log); }

tern_status history_do(history_actor *actor, const history_target *target,
                       const history_kind *kinds, history_operation o) {
    o.actor = actor->number;
    o.call = history_clock();
    o.status = kinds[o.kind].run(actor->worker, target, &o);
    o.done = history_clock();
    if (actor->count == actor->room) {
        history_operation *log = realloc(actor->log, 2 * actor->room * sizeof *log);
        if (log == NULL)
            abort();
        actor->log = log;
        actor->room *= 2;
    }
    actor->log[actor->count++] = o;
    return o.status;
}

static bool fits(const history_kind *kind, history_phase phase) {
    return phase == PHASE_MIXED || (phase == PHASE_WRITES ? kind->in_writes : kind->in_reads);
}

static uint8_t any_promise(history_actor *actor, history_phase phase, bool uniform) {
    if (phase == PHASE_MIXED || (!uniform && below(&actor->random, 4) == 0))
        return TERN_PROMISE_READ_WRITE;
    return phase == PHASE_WRITES ? TERN_PROMISE_WRITE_ONLY : TERN_PROMISE_READ_ONLY;
}

/* Actors come out of a barrier one after the other, and a history takes microseconds: they start at
 * the same round time of the clock. */
static void start_together(void) {
    enum { GRID = 1 << 13 };
    for (uint64_t start = history_clock() / GRID; history_clock() / GRID == start;)
        continue;
}

void history_act(history_actor *actor, const history_part *part) {
    start_together();
    for (int i = 0; i < part->operations;) {
        size_t kind = below(&actor->random, part->kinds_count);
        if (!fits(&part->kinds[kind], part->phase))
            continue;
        history_operation o = {.object = part->first_object + below(&actor->random, part->objects),
                               .kind = (uint16_t)kind,
                               .promise = any_promise(actor, part->phase, part->uniform),
                               .via = (uint8_t)below(&actor->random, TERN_VIA_AUTO + 1)};
        /* No two arguments are equal, so each result has one operation that it can be from. */
        o.argument[0] = (uint64_t)(actor->number + 1) << 32 | ++actor->used;
        (void)history_do(actor, part->target, part->kinds, o);
        i++;
        if (below(&actor->random, 16) == 0)
            sched_yield();
    }
}

static int by_object(const void *a, const void *b) {
    const history_operation *x = a, *y = b;
    return (x->object > y->object) - (x->object < y->object);
}

static void print_history(const history_operation *o, size_t count, const history_kind *kinds,
                          size_t most) {
    static const char *const promises[] = {"read/write", "write only", "read only"};
    static const char *const vias[] = {"by RMA", "by call", "by choice"};
    printf("\nno order of these %zu operations explains them; %zu of them have one:\n", count,
           most);
    for (size_t i = 0; i < count; i++)
        printf("  actor %u %8llu..%-8llu object %llu %s(%llx, %llx) %s, %s: '%s' %llx\n",
               o[i].actor, (unsigned long long)(o[i].call - o[0].call),
               (unsigned long long)(o[i].done - o[0].call), (unsigned long long)o[i].object,
               kinds[o[i].kind].name, (unsigned long long)o[i].argument[0],
               (unsigned long long)o[i].argument[1], promises[o[i].promise], vias[o[i].via],
               tern_strerror(o[i].status), (unsigned long long)o[i].result);
}

static history_outcome judge_all(history_operation *all, size_t count, const history_kind *kinds,
                                 size_t kinds_count, const history_state *start, bool quiet) {
    static history_step *step[HISTORY_KINDS];
    history_outcome outcome = {0};
    for (size_t k = 0; k < kinds_count; k++)
        step[k] = kinds[k].step;
    qsort(all, count, sizeof *all, by_object);
    for (size_t i = 0, end; i < count; i = end, outcome.judged++) {
        size_t most;
        for (end = i; end < count && all[end].object == all[i].object; end++)
            continue;
        if (history_judge(all + i, end - i, step, start, &most) == HISTORY_LINEARIZES)
            continue;
        if (outcome.wrong++ == 0 && !quiet)
            print_history(all + i, end - i, kinds, most);
    }
    outcome.clock = history_clock();
    return outcome;
}

history_outcome history_verdicts(fixture *f, history_actor *actors, size_t count,
                                 const history_kind *kinds, size_t kinds_count,
                                 const history_state *start, bool quiet) {
    int bytes = 0, sizes[64], places[64], total = 0;
    history_outcome outcome = {0};
    for (size_t a = 0; a < count; a++)
        bytes += (int)(actors[a].count * sizeof *actors[a].log);
    char *mine = malloc((size_t)bytes + 1);
    for (size_t a = 0, at = 0; a < count; a++) {
        memcpy(mine + at, actors[a].log, actors[a].count * sizeof *actors[a].log);
        at += actors[a].count * sizeof *actors[a].log;
        actors[a].count = 0;
    }
    fixture_share(f, &bytes, sizeof bytes, sizes);
    for (uint32_t r = 0; r < f->size; total += sizes[r++])
        places[r] = total;
    history_operation *all = malloc((size_t)total + 1);
    tern_mpi_lock();
    MPI_Gatherv(mine, bytes, MPI_BYTE, all, sizes, places, MPI_BYTE, 0, f->comm);
    if (f->rank == 0)
        outcome = judge_all(all, (size_t)total / sizeof *all, kinds, kinds_count, start, quiet);
    MPI_Bcast(&outcome, sizeof outcome, MPI_BYTE, 0, f->comm);
    tern_mpi_unlock();
    free(all);
    free(mine);
    return outcome;
}
