#include "hashtable/arrays/arrays.h"

enum { SAMPLE = 1024 };

tern_status tern_fill_look(tern_worker *worker, const tern_hashtable *table, tern_fill *fill) {
    const tern_table_part *part = tern_table_part_of(table, table->rank);
    tern_shape s = table->shape;
    *fill = (tern_fill){.looked = part->count < SAMPLE ? part->count : SAMPLE};
    for (uint64_t i = 0; i < fill->looked; i++) {
        tern_key_search p = {
            worker, table, part, NULL, 0, tern_multiply_high(i << 54, part->count), part->count};
        uint64_t state, counter = 0;
        if (fill->looked < SAMPLE)
            p.index = i;
        tern_status status = tern_state_load(&p, s, part->direct != NULL, &state);
        if (status == TERN_OK && state != TERN_FREE && tern_shape_counts(s))
            status = tern_atomic_load(worker, tern_bucket_remote(&p, s, 8), &counter);
        if (status != TERN_OK)
            return status;
        fill->used += state != TERN_FREE;
        fill->live +=
            state != TERN_FREE && (state & TERN_ERASED) == 0 && !tern_counter_erased(counter);
    }
    return TERN_OK;
}

bool tern_fill_is_worth(const tern_hashtable *table, const tern_fill *fill, unsigned char urgency) {
    const uint64_t gone = fill->used - fill->live, looked = fill->looked;
    return table->grows || (gone > 0 && (urgency == TERN_GROW_SOON ? 8 : 64) * gone >= looked);
}

bool tern_fill_is_hopeless(tern_worker *worker, const tern_hashtable *table) {
    tern_fill fill;
    if (table->grows)
        return true; /* there was no memory */
    return tern_fill_look(worker, table, &fill) == TERN_OK &&
           !tern_fill_is_worth(table, &fill, TERN_GROW_NOW);
}
