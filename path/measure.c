#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "path/selector.h"
#include "rma/transfer.h"
#include "src/progress/wait.h"
#include "tern/call.h"

/*
 * Measures the cost of each component, as the median of a few samples. A component is measured for
 * BUDGET_NS, or for one operation if that takes longer. To measure a call, the worker calls a
 * function that calls back. It waits for no result, so a target that makes no progress blocks
 * neither the worker nor one of its requests.
 */
enum {
    SAMPLES = 15,
    SAMPLES_LEAST = 3, /* of calls; the first call opens the rings */
    BUDGET_NS = 50000,
    BUDGET_CALL_NS = 250000,
    ROW = 64 /* operations in one sample, if one takes less time than a look at the clock */
};

typedef struct samples {
    double ns[SAMPLES];
    unsigned count;
    uint64_t began; /* start of the first */
} samples;

/* Whether to take one more sample, which starts now. */
static bool samples_wanted(samples *s, uint64_t now) {
    if (s->count == 0)
        s->began = now;
    return s->count == 0 || (s->count < SAMPLES && now - s->began < BUDGET_NS);
}

static void samples_add(samples *s, double ns) {
    unsigned at = s->count++;
    for (; at > 0 && s->ns[at - 1] > ns; at--)
        s->ns[at] = s->ns[at - 1];
    s->ns[at] = ns;
}

static double samples_median(const samples *s) { return s->ns[s->count / 2]; }

typedef tern_status component(tern_worker *worker, tern_ptr scratch);

static tern_status get_word(tern_worker *worker, tern_ptr scratch) {
    uint64_t word;
    return tern_get(worker, &word, scratch, sizeof word);
}

static tern_status put_word(tern_worker *worker, tern_ptr scratch) {
    const uint64_t word = 0;
    return tern_put(worker, scratch, &word, sizeof word);
}

static tern_status flush_word(tern_worker *worker, tern_ptr scratch) {
    const tern_status status = put_word(worker, scratch);
    return status == TERN_OK ? tern_puts_flush(worker, scratch.rank) : status;
}

static tern_status add_word(tern_worker *worker, tern_ptr scratch) {
    uint64_t before;
    return tern_atomic_fetch_add(worker, tern_ptr_add(scratch, sizeof before), 1, &before);
}

/* Measures a component. Where load and store reach the memory, one sample is ROW operations. */
static bool component_measure(tern_worker *worker, component *run, tern_ptr scratch, double *ns) {
    samples s = {.count = 0};
    const int row =
        tern_internal_reach_address(worker, scratch, sizeof(uint64_t)) != NULL ? ROW : 1;
    for (uint64_t now = tern_now(), end; samples_wanted(&s, now); now = end) {
        for (int i = 0; i < row; i++)
            if (run(worker, scratch) != TERN_OK) {
                tern_error_clear(); /* the old cost stays */
                return false;
            }
        end = tern_now();
        samples_add(&s, (double)(end - now) / row);
    }
    *ns = samples_median(&s);
    return true;
}

void tern_measure_rma(tern_worker *worker, const tern_path_target *target, tern_costs *costs) {
    double flushed, atomic;
    if (!component_measure(worker, get_word, target->scratch, &costs->get) ||
        !component_measure(worker, put_word, target->scratch, &costs->put) ||
        !component_measure(worker, flush_word, target->scratch, &flushed) ||
        !component_measure(worker, add_word, target->scratch, &atomic))
        return;
    costs->flush = flushed > costs->put ? flushed - costs->put : 0;
    costs->cas = costs->fetch = costs->hot = atomic;
    const bool remote = tern_internal_reach_address(worker, target->scratch, 8) == NULL;
    costs->store = remote && tern_owners_put(worker->context) ? atomic : 0;
}

/* An atomic on a word in the caller's cache stands for everything that an owner does to its own
 * part: all of that is cheap compared with a call. */
void tern_measure_own(tern_costs *costs) {
    _Atomic uint64_t word = 0;
    samples s = {.count = 0};
    for (uint64_t now = tern_now(), end; samples_wanted(&s, now); now = end) {
        for (int i = 0; i < ROW; i++)
            (void)atomic_fetch_add(&word, 1); /* R4; as an owner adds, and nobody reads it */
        end = tern_now();
        samples_add(&s, (double)(end - now) / ROW);
    }
    const double ns = samples_median(&s);
    *costs = (tern_costs){.get = ns, .put = ns, .cas = ns, .fetch = ns, .hot = ns};
}

/* The target runs tern_path_on_question and calls back; tern_path_on_answer notes the answer. A
 * call for which the ring has no room goes to the overflow queue, so neither function waits. */
static tern_status tern_path_on_answer(tern_call_info *call, const void *message, size_t bytes) {
    tern_selector *s = tern_selector_of(call->worker);
    if (bytes == sizeof s->answered)
        memcpy(&s->answered, message, bytes);
    return TERN_OK;
}
TERN_FUNCTION(tern_path_on_answer)

static tern_status tern_path_on_question(tern_call_info *call, const void *message, size_t bytes) {
    return tern_call_queue(call->worker, call->origin, &tern_path_on_answer_function, message,
                           bytes);
}
TERN_FUNCTION(tern_path_on_question)

bool tern_measure_call(tern_worker *worker, const tern_path_target *target, tern_costs *costs) {
    tern_selector *selector = tern_selector_of(worker);
    samples s = {.count = 0};
    const uint64_t began = tern_now(), end = began + BUDGET_CALL_NS;
    uint64_t asked = began, now = began;
    bool waits = false; /* true: waits for an answer; false: for room in the ring */
    while (s.count < SAMPLES && now < end) {
        if (!waits) {
            const uint64_t number = selector->asked + 1;
            const tern_status status = tern_call_try(
                worker, target->worker, &tern_path_on_question_function, &number, sizeof number);
            if (status != TERN_OK)
                tern_error_clear(); /* the loop asks again, or the question counts as unanswered */
            if (status != TERN_OK && status != TERN_ERR_AGAIN)
                break;
            waits = status == TERN_OK;
            selector->asked += waits;
        }
        (void)tern_progress_round(worker);
        now = tern_now();
        if (!waits || selector->answered != selector->asked)
            continue;
        samples_add(&s, (double)(now - asked));
        asked = now;
        waits = false;
    }
    const bool answered = s.count >= SAMPLES_LEAST;
    costs->call = answered ? samples_median(&s) : (double)(now - began);
    return answered;
}
