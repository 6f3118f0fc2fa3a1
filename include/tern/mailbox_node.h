#ifndef TERN_MAILBOX_NODE_H
#define TERN_MAILBOX_NODE_H

/*
 * A mailbox of the ranks of a node: what programs with a context (tern/context.h) have beside
 * tern/mailbox_host.h. Programs link libtern and libtern_mailbox.
 */

#include <unistd.h>

#include "tern/agree.h"
#include "tern/mailbox_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Creates one share for the ranks of each node. Collective over the context; blocks.
 *
 * @param worker one worker of each rank
 * @param options the sizes, the same on every rank, or NULL for the defaults
 * @param[out] share as for tern_mailbox_create; it does not need the context any more
 * @return the statuses of tern_mailbox_create, on every rank; TERN_ERR_MISMATCH if the options
 *     differ; TERN_ERR_STATE in a handler; TERN_ERR_PEER if a rank has died */
TERN_NODISCARD TERN_INLINE tern_status tern_mailbox_create_on_node(
    tern_worker *worker, const tern_mailbox_options *options, tern_mailbox_share **share) {
    const char *name = "tern_mailbox_create_on_node";
    tern_internal_mailbox_shape shape = tern_internal_mailbox_shape_of(options);
    tern_mailbox_share *own = NULL, *common = NULL;
    int fd = -1;
    tern_status status = tern_collective_begin(worker, name);
    if (status != TERN_OK)
        return status;
    status = tern_mailbox_create(options, share != NULL ? &own : NULL);
    status = tern_agree(worker, status, name);
    if (status == TERN_OK)
        status = tern_same(worker, &shape, sizeof shape, "the mailbox");
    if (status == TERN_OK)
        status = tern_pass_descriptor(worker, tern_mailbox_fd(own), &fd);
    if (status == TERN_OK) {
        status = tern_agree(worker, tern_mailbox_attach(fd, &common), name);
        (void)close(fd);
    }
    tern_mailbox_destroy(own);
    if (status == TERN_OK)
        *share = common;
    else
        tern_mailbox_destroy(common);
    tern_collective_end(worker);
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
