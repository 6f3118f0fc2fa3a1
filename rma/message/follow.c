#include "rma/message/follow.h"

#include <stdlib.h>

#include "base/process.h"

enum { POLLS_PER_LOOK = 1024 };

bool tern_follow_open(tern_follow *follow, uint32_t size) {
    *follow = (tern_follow){.rank = calloc(size, sizeof *follow->rank)};
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

void tern_follow_round(tern_follow *follow, tern_follow_send *send, void *argument) {
    uint32_t *link = &follow->first;
    while (*link != 0) {
        tern_follow_rank *r = &follow->rank[*link - 1];
        if (!r->fresh && send(argument, *link - 1)) {
            *link = r->next;
            r->listed = false;
        } else {
            link = &r->next;
        }
        r->fresh = false;
    }
}
