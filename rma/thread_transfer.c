#include "rma/thread_transfer.h"

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/message/message.h"
#include "rma/region/region.h"

tern_status tern_thread_put(tern_context *context, tern_ptr gaddr, const void *from, size_t bytes) {
    tern_worker *nobody = tern_context_nobody(context);
    uint64_t offset = 0;
    tern_status status = tern_segment_check(context, gaddr, bytes, &offset);
    if (status != TERN_OK || bytes == 0)
        return status;
    char *direct = tern_internal_reach_address(nobody, gaddr, bytes);
    if (direct != NULL) {
        memcpy(direct, from, bytes);
        return TERN_OK;
    }
    if (tern_offset_in_region(offset))
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "a thread without a worker cannot put into registered memory of rank %u; "
                         "use memory of the segment, or call by a worker",
                         gaddr.rank);
    for (size_t at = 0; at < bytes && status == TERN_OK; at += TERN_MESSAGE_MAX) {
        const size_t piece = bytes - at < TERN_MESSAGE_MAX ? bytes - at : TERN_MESSAGE_MAX;
        const tern_message message = {
            .kind = TERN_MESSAGE_PUT, .origin = nobody->id, .offset = offset + at, .bytes = piece};
        status =
            tern_message_send_all(nobody, gaddr.rank, &message, (const char *)from + at, piece);
    }
    return status;
}

tern_status tern_thread_get(tern_context *context, void *to, tern_ptr from, size_t bytes) {
    tern_worker *nobody = tern_context_nobody(context);
    uint64_t offset = 0;
    tern_status status = tern_segment_check(context, from, bytes, &offset);
    if (status != TERN_OK || bytes == 0)
        return status;
    const char *direct = tern_internal_reach_address(nobody, from, bytes);
    if (direct != NULL) {
        memcpy(to, direct, bytes);
        return TERN_OK;
    }
    const tern_message message = {
        .kind = TERN_MESSAGE_GET, .origin = nobody->id, .offset = offset, .bytes = bytes};
    return tern_message_question(nobody, from.rank, &message, to, bytes);
}
