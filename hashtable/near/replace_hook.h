#ifndef TERN_HASHTABLE_NEAR_REPLACE_HOOK_H
#define TERN_HASHTABLE_NEAR_REPLACE_HOOK_H

/*
 * Witness: what an insert or an erase shows the value to that it is about to replace, for values
 * that name something else (map/), which has to be given back when they go. It sees the value while
 * the bucket is locked, so nobody changes it in between, and nobody else is shown the same one.
 */

#include "hashtable/near/probe.h"

typedef struct tern_replace_hook tern_replace_hook;

/* value: the table's padded words. Anything but TERN_OK leaves the value where it is, and is the
 * operation's status. May not wait. */
struct tern_replace_hook {
    tern_status (*see)(tern_replace_hook *hook, const uint64_t *value);
};

/* Shows the value of the bucket that p has locked; before: its state until then. An erased key has
 * none. On an error the bucket is unlocked again. */
tern_status tern_replace_hook_ask(const tern_key_search *p, tern_replace_hook *hook,
                                  uint64_t before);

#endif
