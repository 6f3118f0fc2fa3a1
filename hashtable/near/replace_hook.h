#ifndef TERN_HASHTABLE_NEAR_REPLACE_HOOK_H
#define TERN_HASHTABLE_NEAR_REPLACE_HOOK_H

/*
 * Witness: what an insert or an erase shows the value to that it is about to replace, for values
 * that name something else (map/), which has to be given back when they go. It sees the value while
 * the bucket is locked, so nobody changes it in between, and nobody else is shown the same one.
 */

#include "hashtable/near/probe.h"

typedef struct tern_witness tern_witness;

/* value: the table's padded words. Anything but TERN_OK leaves the value where it is, and is the
 * operation's status. May not wait. */
struct tern_witness {
    tern_status (*see)(tern_witness *witness, const uint64_t *value);
};

/* Shows the value of the bucket that p has locked; before: its state until then. An erased key has
 * none. On an error the bucket is unlocked again. */
tern_status tern_witness_ask(const tern_search *p, tern_witness *witness, uint64_t before);

#endif
