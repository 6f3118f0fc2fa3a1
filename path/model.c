#include "tern/model.h"

#include "base/error.h"
#include "path/selector.h"

/*
 * How often each component occurs in an operation, from the tables of costs in tern/hashtable.h and
 * tern/queue.h. The suites of costs (test_queue_cost.c and others) count operations and so check
 * these numbers.
 */
typedef struct profile {
    double get, put, flush, cas, fetch, hot, store;
} profile;

typedef struct profiles {
    profile read_write, phase;
} profiles;

#define BOTH(...)                                                                                  \
    {                                                                                              \
        {__VA_ARGS__}, { __VA_ARGS__ }                                                             \
    }

static const profiles table[TERN_MODEL_OPERATIONS] = {
    [TERN_MODEL_INSERT] = {{.cas = 1, .put = 1, .flush = 1}, {.cas = 1, .put = 1}},
    [TERN_MODEL_UPDATE] = BOTH(.get = 1, .cas = 2, .put = 1),
    [TERN_MODEL_FIND] = BOTH(.get = 1),
    [TERN_MODEL_MISS] = {{.get = 1, .fetch = 1}, {.get = 1}},
    [TERN_MODEL_ADD] = BOTH(.get = 1, .fetch = 1),
    [TERN_MODEL_ADD_NEW] = {{.get = 1, .cas = 1, .fetch = 1, .put = 1, .flush = 1},
                            {.get = 1, .cas = 1, .fetch = 1, .put = 1}},
    [TERN_MODEL_PUSH] = BOTH(.hot = 1, .put = 1),
    [TERN_MODEL_POP] = {{.get = 1, .hot = 1, .put = 1}, {.get = 1, .hot = 1}},
};

/* The same where owners serve put-ifs, on hash tables in any phase (hashtable/op/remote.c). */
static const profile stored[] = {[TERN_MODEL_INSERT] = {.store = 1},
                                 [TERN_MODEL_UPDATE] = {.store = 2},
                                 [TERN_MODEL_FIND] = {.get = 1},
                                 [TERN_MODEL_MISS] = {.get = 1},
                                 [TERN_MODEL_ADD] = {.store = 1, .fetch = 1},
                                 [TERN_MODEL_ADD_NEW] = {.store = 1}};

static double model_sum(const profile *p, const tern_costs *c) {
    return p->store * c->store + p->get * c->get + p->put * c->put + p->flush * c->flush +
           p->cas * c->cas + p->fetch * c->fetch + p->hot * c->hot;
}

/* The cost of finding out that a bucket holds another key. An insert tries to take the bucket; all
 * other operations read it. */
static double model_pass(tern_model_operation operation, const tern_costs *c) {
    if (operation == TERN_MODEL_INSERT)
        return c->cas;
    return operation < TERN_MODEL_PUSH ? c->get : 0;
}

static double model_cost(tern_model_operation operation, const profile *p, const tern_costs *c) {
    if (c->store > 0 && operation < TERN_MODEL_PUSH)
        p = &stored[operation];
    return model_sum(p, c) + c->passed * model_pass(operation, c);
}

void tern_costs_guess(tern_transport transport, tern_costs *costs) {
    static const tern_costs shm = {
        .get = 60, .put = 20, .flush = 10, .cas = 50, .fetch = 50, .hot = 50, .call = 400};
    static const tern_costs rma = {.get = 1500,
                                   .put = 700,
                                   .flush = 1000,
                                   .cas = 2500,
                                   .fetch = 2500,
                                   .hot = 2500,
                                   .call = 4000};
    static const tern_costs p2p = {.get = 4000,
                                   .put = 500,
                                   .flush = 3500,
                                   .cas = 4000,
                                   .fetch = 4000,
                                   .hot = 4000,
                                   .call = 4500,
                                   .store = 4000};
    /* Atomics are applied by the owner of the memory. */
    static const tern_costs ofi = {.get = 2500,
                                   .put = 500,
                                   .flush = 2000,
                                   .cas = 4000,
                                   .fetch = 4000,
                                   .hot = 4000,
                                   .call = 4000,
                                   .store = 4000};
    static const tern_costs *const of[] = {[TERN_SHM] = &shm,
                                           [TERN_RMA] = &rma,
                                           [TERN_P2P] = &p2p,
                                           [TERN_OFI] = &ofi,
                                           [TERN_VERBS] = &ofi};
    if (costs != NULL)
        *costs = (unsigned)transport < sizeof of / sizeof *of ? *of[transport] : p2p;
}

void tern_costs_computing(const tern_costs *attentive, tern_transport transport, double compute_ns,
                          tern_costs *costs) {
    if (attentive == NULL || costs == NULL)
        return;
    const double wait = compute_ns / 2;
    *costs = *attentive;
    costs->call += wait;
    if (transport == TERN_P2P) {
        costs->get += wait;
        costs->flush += wait;
    } else if (transport != TERN_OFI && transport != TERN_VERBS) {
        return;
    }
    costs->cas += wait;
    costs->fetch += wait;
    costs->hot += wait;
    costs->store += costs->store > 0 ? wait : 0;
}

tern_status tern_model_predict(tern_model_operation operation, tern_flags flags,
                               const tern_costs *target, const tern_costs *own, double *ns) {
    static const char name[] = "tern_model_predict";
    if (target == NULL || own == NULL || ns == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: target, own or ns is NULL", name);
    if ((unsigned)operation >= TERN_MODEL_OPERATIONS)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: operation is %d; pass a TERN_MODEL_ constant below %d", name,
                         (int)operation, (int)TERN_MODEL_OPERATIONS);
    tern_status status = tern_flags_check(flags, TERN_READ_WRITE, name);
    if (status != TERN_OK)
        return status;
    if (tern_flags_path(flags) == TERN_AUTO)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: TERN_AUTO has no cost of its own; pass TERN_BY_RMA or TERN_BY_CALL",
                         name);
    if (tern_flags_promise(flags) == TERN_LOCAL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: the promise TERN_LOCAL is not modelled; leave it out", name);
    const profiles *row = &table[operation];
    const profile *p =
        tern_flags_promise(flags) == TERN_READ_WRITE ? &row->read_write : &row->phase;
    *ns = tern_flags_path(flags) == TERN_BY_RMA ? model_cost(operation, p, target)
                                                : target->call + model_cost(operation, p, own);
    return TERN_OK;
}

/* A rank that makes calls also serves calls of other ranks. The round trip of its own call does not
 * contain the time that its processor spends on serving one, so the model adds that. */
#define SERVING_NS 300.0

/* The average number of buckets of other keys that linear probing passes on its way to a key in a
 * table that is two thirds full, which is as full as a table is sized to get
 * (hashtable/create.c). */
#define PASSED 1.0

/* A batch by RMA has several keys under way at a time, and one message of a batch by call carries
 * many. The real numbers depend on the batch; these are small enough for a small batch. */
enum { KEYS_UNDER_WAY = 4, KEYS_A_MESSAGE = 64 };

tern_sums tern_path_sums(tern_path_kind kind, const tern_costs *target, const tern_costs *own) {
    static const tern_model_operation operation[TERN_PATH_KINDS] = {
        [TERN_PATH_FIND] = TERN_MODEL_FIND,
        [TERN_PATH_INSERT] = TERN_MODEL_INSERT,
        [TERN_PATH_ADD] = TERN_MODEL_ADD,
        [TERN_PATH_PUSH] = TERN_MODEL_PUSH,
        [TERN_PATH_POP] = TERN_MODEL_POP,
        [TERN_PATH_FIND_MANY] = TERN_MODEL_FIND,
        [TERN_PATH_INSERT_MANY] = TERN_MODEL_INSERT,
        [TERN_PATH_ADD_MANY] = TERN_MODEL_ADD};
    const profile *p = &table[operation[kind]].read_write;
    const bool many = kind >= TERN_PATH_FIND_MANY;
    tern_costs there = *target, mine = *own;
    there.passed = mine.passed = PASSED;
    const double rma = model_cost(operation[kind], p, &there),
                 here = model_cost(operation[kind], p, &mine), call = target->call + SERVING_NS;
    return many ? (tern_sums){rma / KEYS_UNDER_WAY, call / KEYS_A_MESSAGE + here}
                : (tern_sums){rma, call + here};
}
