#include "path/selector.h"

#include <stdbool.h>

#include "base/error.h"

static bool is_one_or_none(tern_flags flags) { return (flags & (flags - 1)) == 0; }

static const char *promise_name(tern_flags promise) {
    return promise == TERN_WRITE_ONLY  ? "TERN_WRITE_ONLY"
           : promise == TERN_READ_ONLY ? "TERN_READ_ONLY"
                                       : "TERN_LOCAL";
}

tern_status tern_flags_check(tern_flags flags, tern_flags excluded, const char *name) {
    const tern_flags unknown = flags & ~(tern_flags)(TERN_PROMISES | TERN_PATHS);
    if (unknown != 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: flags %#x are unknown; see tern/container.h", name,
                         unknown);
    if (!is_one_or_none(tern_flags_promise(flags)))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: flags %#x hold two promises; pass one of TERN_WRITE_ONLY, "
                         "TERN_READ_ONLY and TERN_LOCAL, or none",
                         name, flags);
    if (!is_one_or_none(tern_flags_path(flags)))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: flags %#x hold both TERN_BY_RMA and TERN_BY_CALL; pass one or none",
                         name, flags);
    if (excluded != TERN_READ_WRITE && tern_flags_promise(flags) == excluded)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: this operation breaks the promise %s; pass another one or none", name,
                         promise_name(excluded));
    return TERN_OK;
}
