#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "rma/port/port.h"
#include "rma/rows/rows.h"
#include "rma/transport/transport.h"
#include "src/mpi/mpi.h"

/* Rows that travel: each is a put or a get of the transport. */

void tern_rows_flight_begin(tern_rows_flight *flight, const tern_rows *rows) {
    flight->rows = *rows;
    flight->status = TERN_OK;
    flight->first = flight->under_way = 0;
}

tern_rows_flight *tern_rows_flight_create(const tern_rows *rows) {
    const size_t extents = rows->extents != NULL ? rows->left : 0;
    if (extents > (SIZE_MAX - sizeof(tern_rows_flight)) / sizeof(tern_extent))
        return NULL;
    tern_rows_flight *flight = malloc(sizeof *flight + extents * sizeof(tern_extent));
    if (flight == NULL)
        return NULL;
    tern_rows_flight_begin(flight, rows);
    if (extents > 0) {
        memcpy(flight->extents, rows->extents, extents * sizeof(tern_extent));
        flight->rows.extents = flight->extents;
    }
    return flight;
}

/* Starts the next row, if there is room for its transfer. TERN_ERR_AGAIN: not now. */
static tern_status flight_start_row(tern_worker *worker, tern_rows_flight *flight) {
    tern_rows *rows = &flight->rows;
    const tern_transport_ops *transport = tern_transport_to(worker->context, rows->rank);
    tern_transfer *transfer =
        &flight->transfer[(flight->first + flight->under_way) % TERN_ROWS_UNDER_WAY];
    *transfer = (tern_transfer){0};
    tern_status status = rows->is_get ? transport->get(worker, rows->rank, rows->offset,
                                                       rows->local, rows->row_bytes, transfer)
                                      : transport->put(worker, rows->rank, rows->offset,
                                                       rows->local, rows->row_bytes, transfer);
    if (status != TERN_OK)
        return status;
    if (rows->is_get)
        worker->stats.gets++;
    else
        worker->stats.puts++;
    tern_rows_take(rows, rows->row_bytes);
    flight->under_way += transfer->under_way;
    return TERN_OK;
}

/* Tests the oldest transfer. */
static bool flight_look(tern_worker *worker, tern_rows_flight *flight) {
    tern_transfer *transfer = &flight->transfer[flight->first];
    int done = 1;
    const tern_status status =
        tern_transport_to(worker->context, flight->rows.rank)->test(worker, transfer, &done);
    if (status != TERN_OK && flight->status == TERN_OK)
        flight->status = status;
    if (status == TERN_OK && !done)
        return false;
    flight->first = (flight->first + 1) % TERN_ROWS_UNDER_WAY;
    flight->under_way--;
    return true;
}

tern_status tern_rows_flight_advance(tern_worker *worker, tern_rows_flight *flight, bool *done) {
    bool moves = true;
    while (moves) {
        moves = false;
        while (flight->under_way > 0 && flight_look(worker, flight))
            moves = true;
        while (flight->status == TERN_OK && flight->rows.left > 0 &&
               flight->under_way < TERN_ROWS_UNDER_WAY) {
            const tern_status status = flight_start_row(worker, flight);
            if (status == TERN_ERR_AGAIN)
                break;
            flight->status = status;
            moves = true;
        }
    }
    *done = flight->under_way == 0 && (flight->rows.left == 0 || flight->status != TERN_OK);
    tern_error_clear_again();
    return *done ? flight->status : TERN_OK;
}

void tern_rows_flight_abandon(tern_worker *worker, tern_rows_flight *flight) {
    for (; flight->under_way > 0; flight->under_way--) {
        tern_transfer *transfer = &flight->transfer[flight->first];
        flight->first = (flight->first + 1) % TERN_ROWS_UNDER_WAY;
        if (transfer->flies) {
            tern_posting_abandon(worker, transfer->posting, false);
        } else if (transfer->asked) {
            tern_mpi_lock();
            tern_message_forget(&transfer->mpi);
            tern_mpi_unlock();
        }
    }
}
