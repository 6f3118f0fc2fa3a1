#ifndef TERN_RMA_NETWORK_CAPABILITY_LOOKS_H
#define TERN_RMA_NETWORK_CAPABILITY_LOOKS_H

/* Whether a network's completions are true, and whether it needs its target's help: a part of the
 * test in capability.c. */

#include "rma/memory/segment.h"
#include "rma/network/capability.h"

#define TERN_LOOK_BYTES ((size_t)1 << 20) /* the largest transfer of the test */
#define TERN_LOOK_BURST 256u              /* puts under way at once: as many as those of a port */

/* The memory that each side uses. */
typedef struct tern_look_page {
    _Alignas(TERN_LINE) char context[TERN_LOOK_BURST][TERN_NETWORK_CONTEXT];
    _Alignas(TERN_LINE) _Atomic uint64_t word[TERN_LOOK_BYTES / sizeof(uint64_t)];
} tern_look_page;

/* The origin's part. post: names the target and its page. Counts looks in findings, and clears
 * findings->works or findings->one_sided if a transfer says so. Returns the status of the
 * messages. */
tern_status tern_looks_origin(tern_context *context, tern_network *network, tern_network_end *end,
                              const tern_network_post *post, tern_look_page *page,
                              tern_network_findings *findings);

/* The target's part: does what the origin asks for until the origin has seen enough. Returns the
 * status of the messages. */
tern_status tern_looks_target(tern_context *context, tern_network *network, uint32_t origin,
                              const tern_look_page *page);

#endif
