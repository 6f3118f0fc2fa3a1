#include "hashtable/near/lock.h"

#include "hashtable/near/scratch.h"

tern_status tern_replace_hook_ask(const tern_key_search *p, tern_replace_hook *hook,
                                  uint64_t before) {
    if ((before & TERN_ERASED) != 0)
        return TERN_OK;
    tern_shape s = p->table->shape;
    tern_scratch room;
    uint64_t *entry = tern_scratch_take(&room, 8 * tern_entry_words(s));
    tern_status status = entry != NULL ? tern_bucket_read(p, entry) : TERN_ERR_MEMORY;
    if (status == TERN_OK)
        status = hook->see(hook, entry + 1 + s.key_words);
    tern_scratch_free(&room);
    if (status == TERN_OK)
        return TERN_OK;
    tern_status unlocked = tern_bucket_unlock(p, before);
    return unlocked == TERN_OK ? status : unlocked;
}
