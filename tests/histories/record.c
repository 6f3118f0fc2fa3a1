#include "histories/record.h"

#include "histories/clocks.h"

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
    char wanted[HISTORY_BYTES];
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
    history_clocks_compare(f);
    return actor->log != NULL;
}

void history_actor_close(history_actor *actor) { free(actor->log); }

static history_operation *add_to_log(history_actor *actor, const history_operation *o) {
    if (actor->count == actor->room) {
        history_operation *log = realloc(actor->log, 2 * actor->room * sizeof *log);
        if (log == NULL)
            abort();
        actor->log = log;
        actor->room *= 2;
    }
    actor->log[actor->count] = *o;
    return &actor->log[actor->count++];
}

static tern_status do_one(history_actor *actor, const history_part *part, history_operation o) {
    o.call = history_clock();
    o.status = part->kinds->kind[o.kind].run(actor->worker, part->target, &o);
    o.done = history_clock();
    return add_to_log(actor, &o)->status;
}

/* No two are equal, so each result has one operation that it can be from. */
static uint64_t next_argument(history_actor *actor) {
    return (uint64_t)(actor->number + 1) << 32 | ++actor->used;
}

/* Objects at random, so that some come twice; then the chain is what orders them. */
static void do_many(history_actor *actor, const history_part *part, history_operation first) {
    history_operation o[HISTORY_MANY + 1];
    size_t count = 1 + below(&actor->random, HISTORY_MANY);
    first.chain = ++actor->chains;
    for (size_t i = 0; i <= HISTORY_MANY; i++) {
        o[i] = first;
        o[i].place = (uint32_t)i;
        o[i].object = part->first_object + below(&actor->random, part->objects);
        o[i].argument[0] = next_argument(actor);
    }
    uint64_t call = history_clock();
    count = part->kinds->kind[first.kind].run_many(actor->worker, part->target, o, count);
    uint64_t done = history_clock();
    for (size_t i = 0; i < count; i++) {
        o[i].call = o[i].call == 0 ? call : o[i].call;
        o[i].done = o[i].done == 0 ? done : o[i].done;
        add_to_log(actor, &o[i]);
    }
}

/* Keys that nobody judges come and go, each once: a table that grows fills up with them again and
 * again, and moves its keys. */
static void churn(history_actor *actor, const history_target *target) {
    char value[TERN_RESULT_MAX] = {0};
    for (uint64_t i = 0; i < target->churn; i++) {
        uint64_t key = ~next_argument(actor), before;
        const tern_flags flags = fixture_path(below(&actor->random, 3));
        tern_status status =
            target->counts
                ? tern_hashtable_add(actor->worker, target->table, &key, 1, flags, &before)
                : tern_hashtable_insert(actor->worker, target->table, &key, value, flags, NULL);
        if (status == TERN_OK)
            status = tern_hashtable_erase(actor->worker, target->table, &key, flags);
        if (status != TERN_OK)
            abort();
    }
}

/* What the buffer was given is in the table now, or lost. */
static void flush(history_actor *actor) {
    if (actor->buffer == NULL)
        return;
    tern_status status = tern_hashtable_buffer_flush(actor->worker, actor->buffer, NULL);
    uint64_t now = history_clock();
    for (; actor->given < actor->count; actor->given++) {
        history_operation *o = &actor->log[actor->given];
        if (o->done == 0) {
            o->done = now;
            o->status = o->status == TERN_OK ? status : o->status;
        }
    }
}

static void give(history_actor *actor, const history_part *part, history_operation o) {
    if (actor->buffer == NULL) {
        actor->buffered = ++actor->chains;
        actor->given = actor->count;
        if (tern_hashtable_buffer_create(actor->worker, part->target->table,
                                         1 + below(&actor->random, 3), &actor->buffer) != TERN_OK)
            abort();
    }
    o.chain = actor->buffered;
    o.call = history_clock();
    o.status = part->kinds->kind[o.kind].give(actor->worker, actor->buffer, part->target, &o);
    add_to_log(actor, &o);
    if (below(&actor->random, 3) == 0)
        flush(actor);
}

static void give_no_more(history_actor *actor) {
    flush(actor);
    if (tern_hashtable_buffer_destroy(actor->worker, actor->buffer, NULL) != TERN_OK)
        abort();
    actor->buffer = NULL;
}

static bool fits(const history_kind *kind, history_phase phase) {
    return phase == PHASE_MIXED ? !kind->waits
                                : (phase == PHASE_WRITES ? kind->in_writes : kind->in_reads);
}

static uint8_t any_promise(history_actor *actor, history_phase phase, bool uniform) {
    if (phase == PHASE_MIXED || (!uniform && below(&actor->random, 4) == 0))
        return TERN_READ_WRITE;
    return phase == PHASE_WRITES ? TERN_WRITE_ONLY : TERN_READ_ONLY;
}

static history_operation any_operation(history_actor *actor, const history_part *part,
                                       size_t kind) {
    bool waits = part->kinds->kind[kind].waits;
    history_operation o = {.object = part->first_object + below(&actor->random, part->objects),
                           .kind = (uint16_t)kind,
                           .actor = actor->number,
                           .flags =
                               (uint8_t)(any_promise(actor, part->phase, part->uniform || waits) |
                                         fixture_path(below(&actor->random, 3)))};
    o.argument[0] = next_argument(actor);
    return o;
}

/* Actors come out of a barrier one after the other, and a history takes microseconds: they start at
 * the same round time of the clock. */
static void start_together(void) {
    enum { GRID = 1 << 13 };
    for (uint64_t start = history_clock() / GRID; history_clock() / GRID == start;)
        continue;
}

static void do_any(history_actor *actor, const history_part *part, size_t number) {
    const history_kind *kind = &part->kinds->kind[number];
    history_operation o = any_operation(actor, part, number);
    if (kind->run_many != NULL)
        do_many(actor, part, o);
    else if (kind->give != NULL)
        give(actor, part, o);
    else
        (void)do_one(actor, part, o);
}

/* A rank that has pushed an item pops one, so there is one for each pop, and a full queue has
 * somebody that is about to pop. */
static void do_pair(history_actor *actor, const history_part *part) {
    const history_kinds *kinds = part->kinds;
    tern_status status = TERN_ERR_FULL;
    for (bool pushed = false; !pushed || status != TERN_OK;) {
        size_t number = below(&actor->random, kinds->count);
        const history_kind *kind = &kinds->kind[number];
        if (kind->run == NULL || (pushed ? kind->in_writes : kind->in_reads))
            continue;
        status = do_one(actor, part, any_operation(actor, part, number));
        if (!pushed && status != TERN_OK)
            break;
        if (!pushed)
            status = TERN_ERR_EMPTY;
        pushed = true;
    }
}

void history_act(history_actor *actor, const history_part *part) {
    start_together();
    for (int i = 0; i < part->operations;) {
        if (part->pairs) {
            do_pair(actor, part);
            i += 2;
        } else {
            size_t kind = below(&actor->random, part->kinds->count);
            if (!fits(&part->kinds->kind[kind], part->phase))
                continue;
            do_any(actor, part, kind);
            churn(actor, part->target);
            i++;
        }
        if (below(&actor->random, 16) == 0)
            sched_yield();
    }
    if (actor->buffer != NULL)
        give_no_more(actor);
}

static int by_object(const void *a, const void *b) {
    const history_operation *x = a, *y = b;
    return (x->object > y->object) - (x->object < y->object);
}

static const char *promise_name(tern_flags flags) {
    return flags & TERN_WRITE_ONLY  ? "write only"
           : flags & TERN_READ_ONLY ? "read only"
                                    : "read/write";
}

static const char *path_name(tern_flags flags) {
    return flags & TERN_BY_RMA ? "by RMA" : flags & TERN_BY_CALL ? "by call" : "by choice";
}

static void print_history(const history_operation *o, size_t count, const history_kinds *kinds,
                          size_t most) {
    printf("\nno order of these %zu operations explains them; %zu of them have one:\n", count,
           most);
    for (size_t i = 0; i < count; i++)
        printf("  actor %u %8llu..%-8llu object %llu %s(%llx, %llx) %s, %s: '%s' %llx\n",
               o[i].actor, (unsigned long long)(o[i].call - o[0].call),
               (unsigned long long)(o[i].done - o[0].call), (unsigned long long)o[i].object,
               kinds->kind[o[i].kind].name, (unsigned long long)o[i].argument[0],
               (unsigned long long)o[i].argument[1], promise_name(o[i].flags),
               path_name(o[i].flags), tern_strerror(o[i].status), (unsigned long long)o[i].result);
}

static history_outcome judge_all(history_operation *all, size_t count, const history_kinds *kinds,
                                 const history_state *start, bool quiet) {
    history_step *step[64];
    history_outcome outcome = {0};
    for (size_t k = 0; k < kinds->count && k < 64; k++)
        step[k] = kinds->kind[k].step; /* cppcheck-suppress legacyUninitvar */
    qsort(all, count, sizeof *all, by_object);
    for (size_t i = 0, end; i < count; i = end, outcome.judged++) {
        size_t most;
        for (end = i; end < count && all[end].object == all[i].object; end++)
            continue;
        history_verdict verdict = history_judge(all + i, end - i, step, start, &most);
        outcome.undecided += verdict == HISTORY_UNDECIDED;
        if (verdict == HISTORY_VIOLATES && outcome.wrong++ == 0 && !quiet)
            print_history(all + i, end - i, kinds, most);
    }
    outcome.clock = history_clock();
    return outcome;
}

history_outcome history_verdicts(fixture *f, history_actor *actors, size_t count,
                                 const history_kinds *kinds, const history_state *start,
                                 bool quiet) {
    int bytes = 0, sizes[64], places[64], total = 0;
    history_outcome outcome = {0};
    for (size_t a = 0; a < count; a++)
        bytes += (int)(actors[a].count * sizeof *actors[a].log);
    char *mine = malloc((size_t)bytes + 1);
    history_clocks_compare(f);
    for (size_t a = 0, at = 0; a < count; a++) {
        for (size_t i = 0; i < actors[a].count; i++) {
            history_operation *o = &actors[a].log[i];
            o->call = history_clocks_earliest(o->call);
            o->done = history_clocks_latest(o->done);
        }
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
        outcome = judge_all(all, (size_t)total / sizeof *all, kinds, start, quiet);
    MPI_Bcast(&outcome, sizeof outcome, MPI_BYTE, 0, f->comm);
    tern_mpi_unlock();
    free(all);
    free(mine);
    return outcome;
}
