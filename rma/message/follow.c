#include "rma/message/follow.h"

#include <stdlib.h>

#include "base/process.h"

enum { POLLS_PER_LOOK = 1024 };

bool tern_follow_open(tern_follow *follow, uint32_t size) {
    *follow = (tern_follow){.rank = calloc(size, sizeof *follow->rank), .size = size};
    return follow->rank != NULL;
}

void tern_follow_close(tern_follow *follow) {
    free(follow->rank);
    follow->rank = NULL;
}

bool tern_follow_due(tern_follow *follow) {
    if (++follow->polls % POLLS_PER_LOOK != 0 || follow->stopped)
        return false;
    const uint64_t now = tern_now();
    if (now - follow->at < TERN_FOLLOW_NS)
        return false;
    follow->at = now;
    return true;
}

uint32_t tern_follow_next(tern_follow *follow, uint32_t from) {
    for (; from < follow->size; from++) {
        tern_follow_rank *r = &follow->rank[from];
        const bool rests = r->sent == r->seen;
        r->seen = r->sent;
        if (rests && r->sent != r->followed)
            return from;
    }
    return follow->size;
}
