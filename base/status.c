#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"

_Thread_local tern_failures tern_thread_failures;

static tern_status status_remember(tern_status status, const char *plain) {
    tern_thread_failures.plain = plain;
    tern_thread_failures.count++;
    tern_thread_failures.last = status;
    return status;
}

static const char *const texts[TERN_STATUS_COUNT] = {
    [TERN_OK] = "success",
    [TERN_ERR_ARGUMENT] = "invalid argument",
    [TERN_ERR_CONFIG] = "bad configuration",
    [TERN_ERR_RANGE] = "out of range",
    [TERN_ERR_MEMORY] = "out of memory",
    [TERN_ERR_FULL] = "full",
    [TERN_ERR_EMPTY] = "empty",
    [TERN_ERR_NOT_FOUND] = "not found",
    [TERN_ERR_EXISTS] = "exists already",
    [TERN_ERR_AGAIN] = "not now, try again",
    [TERN_ERR_TIMEOUT] = "deadline passed",
    [TERN_ERR_PEER] = "a peer has died",
    [TERN_ERR_STATE] = "not allowed here",
    [TERN_ERR_MISMATCH] = "ranks disagree",
    [TERN_ERR_UNSUPPORTED] = "not supported",
    [TERN_ERR_MPI] = "MPI failed",
    [TERN_ERR_SYSTEM] = "the operating system failed",
    [TERN_ERR_CORRUPT] = "shared memory is damaged",
    [TERN_ERR_NETWORK] = "network error",
    [TERN_ERR_DONE] = "all work is done",
};

const char *tern_strerror(tern_status status) {
    if ((unsigned)status >= TERN_STATUS_COUNT)
        return "unknown status";
    return texts[status];
}

const char *tern_error_detail(void) {
    const tern_failures *here = &tern_thread_failures;
    return here->plain != NULL ? here->plain : here->detail;
}

void tern_error_clear(void) {
    tern_thread_failures.plain = NULL;
    tern_thread_failures.detail[0] = 0;
    tern_thread_failures.last = TERN_OK;
}

tern_status tern_fail_list(tern_status status, const char *format, va_list arguments) {
    vsnprintf(tern_thread_failures.detail, TERN_DETAIL_BYTES, format, arguments);
    return status_remember(status, NULL);
}

tern_status tern_fail(tern_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tern_fail_list(status, format, arguments);
    va_end(arguments);
    return status;
}

tern_status tern_fail_static_text(tern_status status, const char *text) {
    return status_remember(status, text);
}

tern_status tern_fail_system(const char *call) {
    int error = errno;
    tern_status status = error == ENOMEM ? TERN_ERR_MEMORY : TERN_ERR_SYSTEM;
    char advice[96];
    tern_limit_advice(error, advice, sizeof advice);
    return tern_fail(status, "%s: %s%s", call, strerror(error), advice);
}
