#include "hashtable/far/flight.h"

#include <stdlib.h>

#include "rma/transport/transport.h"

/* Blocking operations: a flight that is waited for. */

/* Waits for what is under way, and serves others where nothing is or the flight waits for another
 * rank, which may wait for this one. A transfer need not make progress: MPI may do it at once. A
 * flight that waits outside lets a tour pass meanwhile. */
static tern_status flight_serve(tern_flight *f) {
    tern_worker *worker = f->worker;
    const bool outside = f->outside, flies = f->transfer.under_way, waits = f->waits || !flies;
    if (outside)
        tern_table_exit(worker, f->table);
    tern_status status = waits ? tern_puts_deliver(worker) : TERN_OK;
    if (status == TERN_OK && waits && !worker->in_handler && !worker->in_progress)
        (void)tern_progress_round(worker);
    if (flies) {
        tern_ignore(tern_transfer_wait(worker, &f->transfer)); /* the next step tells */
        status = TERN_OK;
    }
    if (outside)
        tern_table_enter(worker, f->table);
    return status;
}

/* Brings it to its end. */
static tern_status flight_wait(tern_flight *f) {
    tern_worker *worker = f->worker;
    tern_status status = TERN_OK;
    while (f->stage != TERN_FLIGHT_DONE && status == TERN_OK) {
        if (f->transfer.under_way)
            status = flight_serve(f);
        (void)tern_flight_advance(f);
        if (f->stage == TERN_FLIGHT_DONE || f->transfer.under_way)
            continue;
        if ((worker->in_handler || worker->in_progress) && f->waits)
            return tern_probe_wait(worker, &f->wait, f->word);
        status = flight_serve(f);
    }
    return status == TERN_OK ? f->outcome : status;
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
    tern_flight_plan follows = *plan;
    follows.follows = true;
    tern_table_enter(worker, table);
    tern_key_search p = tern_probe_start(worker, table, key, hash);
    const tern_status status = tern_flight_run(&p, &follows, result, NULL);
    tern_table_exit(worker, table);
    return status;
}
