#include "src/collective/collective.h"

void tern_phase_add(tern_context *context, tern_phase_hook *hook) {
    hook->next = context->phase_hooks;
    context->phase_hooks = hook;
}

void tern_phase_remove(tern_context *context, tern_phase_hook *hook) {
    for (tern_phase_hook **at = &context->phase_hooks; *at != NULL; at = &(*at)->next)
        if (*at == hook) {
            *at = hook->next;
            return;
        }
}

tern_status tern_phase_end(tern_worker *worker) {
    tern_status status = TERN_OK;
    for (tern_phase_hook *hook = worker->context->phase_hooks; hook != NULL; hook = hook->next) {
        tern_status ran = hook->run(worker, hook);
        status = status == TERN_OK ? ran : status;
    }
    return status;
}
