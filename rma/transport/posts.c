#include "rma/transport/posts.h"

#include "base/error.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

#define ALL UINT64_MAX

tern_status tern_posts_settle(tern_worker *worker, uint32_t rank) {
    tern_posts *posts = &tern_rma_worker_of(worker)->posts[rank];
    if (posts->open == 0)
        return TERN_OK;
    tern_status status = tern_glance(worker, rank);
    if (status == TERN_OK)
        status = tern_transport_to(worker->context, rank)->settle(worker, rank);
    if (status != TERN_ERR_PEER)
        return status;
    tern_posts_flushed(posts); /* puts to a dead rank do not matter any more */
    tern_error_clear();
    return TERN_OK;
}

/* Only one wanted rank is remembered. If there are more, which is rare, progress settles all. */
void tern_posts_want(tern_worker *worker, uint32_t rank) {
    uint64_t *wanted = &tern_rma_worker_of(worker)->settle_wanted;
    *wanted = *wanted == 0 || *wanted == rank + 1ull ? rank + 1ull : ALL;
}

size_t tern_posts_advance(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    uint64_t wanted = mine->settle_wanted;
    if (wanted == 0)
        return 0;
    mine->settle_wanted = 0;
    uint32_t first = wanted == ALL ? 0 : (uint32_t)(wanted - 1);
    uint32_t end = wanted == ALL ? worker->context->size : first + 1;
    for (uint32_t rank = first; rank < end; rank++)
        if (tern_posts_settle(worker, rank) != TERN_OK)
            tern_log(TERN_LOG_WARN, "posted puts to rank %u: %s", rank, tern_error_detail());
    return end - first;
}
