/* Prints what the interfaces for other languages repeat of the headers: sizes and offsets of types,
 * and constants. Programs in these languages print the same, and a test compares. */

#include <stddef.h>
#include <stdio.h>

#include "tern/tern.h"

#define TYPE(type) printf(#type " %zu\n", sizeof(type))
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))
#define CONSTANT(name) printf(#name " %lld\n", (long long)(name))

int main(void) {
    TYPE(tern_worker_id);
    FIELD(tern_worker_id, rank);
    FIELD(tern_worker_id, index);
    TYPE(tern_ptr);
    FIELD(tern_ptr, rank);
    FIELD(tern_ptr, segment);
    FIELD(tern_ptr, domain);
    FIELD(tern_ptr, offset);
    TYPE(tern_event);
    FIELD(tern_event, kind);
    FIELD(tern_event, status);
    FIELD(tern_event, peer);
    FIELD(tern_event, local_cid);
    FIELD(tern_event, bytes);
    FIELD(tern_event, is_get);
    FIELD(tern_event, cid_bytes);
    FIELD(tern_event, cid);
    TYPE(tern_hashtable_options);
    FIELD(tern_hashtable_options, key_bytes);
    FIELD(tern_hashtable_options, value_bytes);
    FIELD(tern_hashtable_options, counter);
    FIELD(tern_hashtable_options, capacity);
    FIELD(tern_hashtable_options, call_only);
    FIELD(tern_hashtable_options, grow);
    FIELD(tern_hashtable_options, key_hash);
    FIELD(tern_hashtable_options, key_equal);
    FIELD(tern_hashtable_options, key_owner);
    FIELD(tern_hashtable_options, key_argument);
    TYPE(tern_queue_options);
    FIELD(tern_queue_options, host);
    FIELD(tern_queue_options, item_bytes);
    FIELD(tern_queue_options, capacity);
    FIELD(tern_queue_options, call_only);
    TYPE(tern_map_options);
    FIELD(tern_map_options, capacity);
    FIELD(tern_map_options, inline_bytes);
    FIELD(tern_map_options, call_only);
    FIELD(tern_map_options, grow);
    FIELD(tern_map_options, key_owner);
    FIELD(tern_map_options, key_digest);
    FIELD(tern_map_options, key_argument);
    TYPE(tern_map_item);
    FIELD(tern_map_item, key);
    FIELD(tern_map_item, value);
    FIELD(tern_map_item, key_bytes);
    FIELD(tern_map_item, value_bytes);
    TYPE(tern_map_slot);
    FIELD(tern_map_slot, key);
    FIELD(tern_map_slot, key_bytes);
    FIELD(tern_map_slot, value);
    FIELD(tern_map_slot, room);
    FIELD(tern_map_slot, value_bytes);
    FIELD(tern_map_slot, found);
    TYPE(tern_request);
    TYPE(tern_call_info);
    FIELD(tern_call_info, worker);
    FIELD(tern_call_info, origin);
    FIELD(tern_call_info, result);
    FIELD(tern_call_info, result_bytes);
    FIELD(tern_call_info, buffer);
    FIELD(tern_call_info, buffer_bytes);
    FIELD(tern_call_info, chunks);
    FIELD(tern_call_info, chunk_count);
    FIELD(tern_call_info, user);
    TYPE(tern_function);
    FIELD(tern_function, name);
    FIELD(tern_function, handler);
    FIELD(tern_function, user);
    FIELD(tern_function, id);

    CONSTANT(TERN_ERR_ARGUMENT);
    CONSTANT(TERN_ERR_CONFIG);
    CONSTANT(TERN_ERR_RANGE);
    CONSTANT(TERN_ERR_MEMORY);
    CONSTANT(TERN_ERR_FULL);
    CONSTANT(TERN_ERR_EMPTY);
    CONSTANT(TERN_ERR_NOT_FOUND);
    CONSTANT(TERN_ERR_EXISTS);
    CONSTANT(TERN_ERR_AGAIN);
    CONSTANT(TERN_ERR_TIMEOUT);
    CONSTANT(TERN_ERR_PEER);
    CONSTANT(TERN_ERR_STATE);
    CONSTANT(TERN_ERR_MISMATCH);
    CONSTANT(TERN_ERR_UNSUPPORTED);
    CONSTANT(TERN_ERR_MPI);
    CONSTANT(TERN_ERR_SYSTEM);
    CONSTANT(TERN_ERR_CORRUPT);
    CONSTANT(TERN_ERR_NETWORK);
    CONSTANT(TERN_ERR_DONE);
    CONSTANT(TERN_STATUS_COUNT);
    CONSTANT(TERN_DOMAIN_GLOBAL);
    CONSTANT(TERN_DOMAIN_NODE);
    CONSTANT(TERN_DOMAIN_OWNER);
    CONSTANT(TERN_EVENT_LOCAL);
    CONSTANT(TERN_EVENT_REMOTE);
    CONSTANT(TERN_REDUCE_SUM);
    CONSTANT(TERN_REDUCE_MIN);
    CONSTANT(TERN_REDUCE_MAX);
    CONSTANT(TERN_UINT64);
    CONSTANT(TERN_INT64);
    CONSTANT(TERN_DOUBLE);
    CONSTANT(TERN_READ_WRITE);
    CONSTANT(TERN_WRITE_ONLY);
    CONSTANT(TERN_READ_ONLY);
    CONSTANT(TERN_LOCAL);
    CONSTANT(TERN_AUTO);
    CONSTANT(TERN_BY_RMA);
    CONSTANT(TERN_BY_CALL);
    CONSTANT(TERN_NOTIFY_NO_LOCAL);
    CONSTANT(TERN_NOTIFY_NO_REMOTE);
    CONSTANT(TERN_PROBE_LOCAL);
    CONSTANT(TERN_PROBE_REMOTE);
    CONSTANT(TERN_PROBE_ANY);
    CONSTANT(TERN_NUMA_ANY);
    CONSTANT(TERN_RESULT_MAX);
    CONSTANT(TERN_MAP_KEY_MAX);
    return 0;
}
