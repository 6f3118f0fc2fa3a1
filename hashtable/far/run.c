#include "hashtable/far/flight.h"

#include <stdlib.h>

#include "hashtable/growth/growth.h"
#include "rma/transport/transport.h"

/* Blocking operations: a flight that is waited for. */

/* Brings it to its end. */
static tern_status flight_wait(tern_flight *f) {
    tern_worker *worker = f->worker;
    while (f->stage != TERN_FLIGHT_DONE) {
        tern_ignore(tern_transfer_wait(worker, &f->transfer)); /* the next step tells */
        (void)tern_flight_advance(f);
        if (f->stage == TERN_FLIGHT_DONE || tern_flight_is_lost(f))
            continue;
        if ((worker->in_handler || worker->in_progress) && f->waits)
            return tern_probe_wait(worker, &f->wait, f->word);
        tern_status status = tern_puts_deliver(worker);
        if (status != TERN_OK)
            return status;
        if (!worker->in_handler && !worker->in_progress)
            (void)tern_progress_round(worker);
    }
    return f->outcome;
}

tern_status tern_flight_run(tern_key_search *probe, const tern_flight_plan *plan, uint64_t *result,
                            uint64_t *entry) {
    /* For all but large values and keys. */
    enum { SMALL = 4096 };

    _Alignas(tern_flight) char small[SMALL];
    const size_t bytes = tern_flight_bytes(probe->table);
    const tern_shape s = probe->table->shape;
    tern_flight *f = bytes <= SMALL ? (tern_flight *)(void *)small : malloc(bytes);
    if (f == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an entry of %zu bytes",
                         8 * tern_entry_words(s));
    tern_flight_resume(f, probe, plan);
    const tern_status status = flight_wait(f);
    tern_transfer_forget(&f->transfer);
    tern_flight_report(f);
    *probe = f->probe;
    if (result != NULL)
        *result = f->result;
    if (entry != NULL && f->bucket != NULL)
        memcpy(entry, f->bucket + s.entry_at / 8, 8 * tern_entry_words(s));
    if (bytes > SMALL && !tern_flight_is_lost(f))
        free(f);
    return status;
}

tern_status tern_flight_operate(tern_worker *worker, const tern_hashtable *table,
                                const uint64_t *key, uint64_t hash, const tern_flight_plan *plan,
                                uint64_t *result) {
    const bool inserts = plan->kind > TERN_FLIGHT_LOCATE && plan->kind != TERN_FLIGHT_ERASE;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    tern_status status;
    do {
        status = tern_flight_run(&p, plan, result, NULL);
        if (status == TERN_MOVED && tern_shape_counts(table->shape))
            status = tern_counter_follow(p);
    } while (tern_probe_again(&p, inserts, &status));
    tern_table_exit(worker, table);
    return status;
}
