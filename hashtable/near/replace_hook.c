#include "hashtable/near/replace_hook.h"

#include "hashtable/near/lock.h"
#include "hashtable/near/scratch.h"

tern_status tern_witness_ask(const tern_search *p, tern_witness *witness, uint64_t before) {
    if ((before & TERN_ERASED) != 0)
        return TERN_OK;
    tern_shape s = p->table->shape;
    tern_room room;
    uint64_t *entry = tern_room_take(&room, 8 * tern_entry_words(s));
    tern_status status = entry != NULL ? tern_bucket_read(p, entry) : TERN_ERR_MEMORY;
    if (status == TERN_OK)
        status = witness->see(witness, entry + 1 + s.key_words);
    tern_room_free(&room);
    if (status == TERN_OK)
        return TERN_OK;
    tern_status unlocked = tern_bucket_unlock(p, before);
    return unlocked == TERN_OK ? status : unlocked;
}
