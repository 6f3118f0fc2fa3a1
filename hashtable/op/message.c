#include "hashtable/op/message.h"

tern_status tern_call_check_insert(const tern_hashtable *table) {
    size_t bytes = tern_piece_bytes(table, TERN_OP_INSERT, TERN_PIECE_ALONE, 1),
           room = tern_call_room(table->context);
    if (__builtin_expect(bytes <= room, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "an insert by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                     bytes, room, table->context->config.ring_size);
}

tern_status tern_call_check_find(const tern_hashtable *table) {
    if (__builtin_expect(table->value_bytes <= TERN_RESULT_MAX, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a call returns at most %u bytes and values have %zu; pass TERN_BY_RMA",
                     TERN_RESULT_MAX, table->value_bytes);
}
