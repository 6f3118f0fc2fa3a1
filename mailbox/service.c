#include <stdlib.h>

#include "base/error.h"
#include "mailbox/share.h"

/* Memory for services, and the statuses of message calls. */

static void *service_resize(void *memory, uint64_t bytes, void *argument) {
    (void)argument;
    if (bytes > 0)
        return realloc(memory, bytes);
    free(memory);
    return NULL;
}

tern_status tern_mailbox_service_open(tern_mailbox_service *service,
                                      const tern_mailbox_share *share, uint64_t request_max,
                                      void (*handle)(tern_mailbox_service *service, uint32_t slot,
                                                     const void *request, uint64_t bytes),
                                      void *argument) {
    if (service == NULL || share == NULL || handle == NULL)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_mailbox_service_open: service, share or handle is NULL");
    tern_mailbox_session *sessions = calloc(share->shape.slots, sizeof *sessions);
    if (sessions == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a service of %u slots",
                         share->shape.slots);
    uint32_t line = TERN_MAILBOX_LINE;
    *service = (tern_mailbox_service){.sessions = sessions,
                                      .slots = share->shape.slots,
                                      .packet = (share->shape.packet + line - 1) / line * line,
                                      .request_max = request_max,
                                      .resize = service_resize,
                                      .handle = handle,
                                      .argument = argument};
    return TERN_OK;
}

void tern_mailbox_service_close(tern_mailbox_service *service) {
    if (service == NULL || service->sessions == NULL)
        return;
    for (uint32_t slot = 0; slot < service->slots; slot++) {
        free(service->sessions[slot].request);
        free(service->sessions[slot].reply);
    }
    free(service->sessions);
    service->sessions = NULL;
}

tern_status tern_internal_mailbox_outcome(int outcome, uint64_t reply_bytes, uint64_t room) {
    switch (outcome) {
    case TERN_MAILBOX_OK:
        tern_error_clear();
        return TERN_OK;
    case TERN_MAILBOX_LOST:
        return tern_fail(TERN_ERR_PEER, "the server of a mailbox died or left during a call");
    case TERN_MAILBOX_TRUNCATED:
        return tern_fail(TERN_ERR_RANGE, "a reply of %llu bytes; there is room for %llu",
                         (unsigned long long)reply_bytes, (unsigned long long)room);
    case TERN_MAILBOX_REFUSED:
        return tern_fail(TERN_ERR_ARGUMENT, "the server of a mailbox refused a request: it is "
                                            "longer than the server takes, or it has no memory");
    default: /* the hook's status, which has set its own text */
        return (tern_status)outcome;
    }
}
