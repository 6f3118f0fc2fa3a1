! Prints what tests/languages/layout.c prints, from the module tern.

module addresses
    use, intrinsic :: iso_c_binding
    implicit none
contains
    ! The distance in bytes between two variables.
    function between(base, field) result(bytes)
        type(*), intent(in), target :: base, field
        integer(c_int64_t) :: bytes
        bytes = transfer(c_loc(field), bytes) - transfer(c_loc(base), bytes)
    end function
    subroutine show(name, value)
        character(len=*), intent(in) :: name
        integer(c_int64_t), intent(in) :: value
        write (*, '(2a,i0)') name, ' ', value
    end subroutine
end module

program layout
    use, intrinsic :: iso_c_binding
    use addresses
    use tern
    implicit none

    type(tern_worker_id), target :: id
    type(tern_ptr), target :: place
    type(tern_event), target :: event
    type(tern_hashtable_options), target :: table
    type(tern_queue_options), target :: queue
    type(tern_map_options), target :: map
    type(tern_map_item), target :: item
    type(tern_map_slot), target :: slot
    type(tern_request), target :: request
    type(tern_call_info), target :: info
    type(tern_function), target :: called
    type(tern_hashtable_modify_info), target :: change
    type(tern_map_modify_info), target :: map_change
    type(tern_hashtable_modifier), target :: modifier
    type(tern_map_modifier), target :: map_modifier
    type(tern_hashtable_file), target :: file
    type(tern_map_file), target :: map_file

    call show('tern_worker_id', int(c_sizeof(id), c_int64_t))
    call show('tern_worker_id.rank', between(id, id%rank))
    call show('tern_worker_id.index', between(id, id%index))
    call show('tern_ptr', int(c_sizeof(place), c_int64_t))
    call show('tern_ptr.rank', between(place, place%rank))
    call show('tern_ptr.segment', between(place, place%segment))
    call show('tern_ptr.domain', between(place, place%domain))
    call show('tern_ptr.offset', between(place, place%offset))
    call show('tern_event', int(c_sizeof(event), c_int64_t))
    call show('tern_event.kind', between(event, event%kind))
    call show('tern_event.status', between(event, event%status))
    call show('tern_event.peer', between(event, event%peer))
    call show('tern_event.local_cid', between(event, event%local_cid))
    call show('tern_event.bytes', between(event, event%bytes))
    call show('tern_event.is_get', between(event, event%is_get))
    call show('tern_event.cid_bytes', between(event, event%cid_bytes))
    call show('tern_event.cid', between(event, event%cid(1)))
    call show('tern_hashtable_options', int(c_sizeof(table), c_int64_t))
    call show('tern_hashtable_options.key_bytes', between(table, table%key_bytes))
    call show('tern_hashtable_options.value_bytes', between(table, table%value_bytes))
    call show('tern_hashtable_options.counter', between(table, table%counter))
    call show('tern_hashtable_options.capacity', between(table, table%capacity))
    call show('tern_hashtable_options.call_only', between(table, table%call_only))
    call show('tern_hashtable_options.grow', between(table, table%grow))
    call show('tern_hashtable_options.key_hash', between(table, table%key_hash))
    call show('tern_hashtable_options.key_equal', between(table, table%key_equal))
    call show('tern_hashtable_options.key_owner', between(table, table%key_owner))
    call show('tern_hashtable_options.key_argument', between(table, table%key_argument))
    call show('tern_queue_options', int(c_sizeof(queue), c_int64_t))
    call show('tern_queue_options.host', between(queue, queue%host))
    call show('tern_queue_options.item_bytes', between(queue, queue%item_bytes))
    call show('tern_queue_options.capacity', between(queue, queue%capacity))
    call show('tern_queue_options.call_only', between(queue, queue%call_only))
    call show('tern_map_options', int(c_sizeof(map), c_int64_t))
    call show('tern_map_options.capacity', between(map, map%capacity))
    call show('tern_map_options.inline_bytes', between(map, map%inline_bytes))
    call show('tern_map_options.call_only', between(map, map%call_only))
    call show('tern_map_options.grow', between(map, map%grow))
    call show('tern_map_options.key_owner', between(map, map%key_owner))
    call show('tern_map_options.key_digest', between(map, map%key_digest))
    call show('tern_map_options.key_argument', between(map, map%key_argument))
    call show('tern_map_item', int(c_sizeof(item), c_int64_t))
    call show('tern_map_item.key', between(item, item%key))
    call show('tern_map_item.value', between(item, item%value))
    call show('tern_map_item.key_bytes', between(item, item%key_bytes))
    call show('tern_map_item.value_bytes', between(item, item%value_bytes))
    call show('tern_map_slot', int(c_sizeof(slot), c_int64_t))
    call show('tern_map_slot.key', between(slot, slot%key))
    call show('tern_map_slot.key_bytes', between(slot, slot%key_bytes))
    call show('tern_map_slot.value', between(slot, slot%value))
    call show('tern_map_slot.room', between(slot, slot%room))
    call show('tern_map_slot.value_bytes', between(slot, slot%value_bytes))
    call show('tern_map_slot.found', between(slot, slot%found))
    call show('tern_request', int(c_sizeof(request), c_int64_t))
    call show('tern_call_info', int(c_sizeof(info), c_int64_t))
    call show('tern_call_info.worker', between(info, info%worker))
    call show('tern_call_info.origin', between(info, info%origin))
    call show('tern_call_info.result', between(info, info%result))
    call show('tern_call_info.result_bytes', between(info, info%result_bytes))
    call show('tern_call_info.buffer', between(info, info%buffer))
    call show('tern_call_info.buffer_bytes', between(info, info%buffer_bytes))
    call show('tern_call_info.chunks', between(info, info%chunks))
    call show('tern_call_info.chunk_count', between(info, info%chunk_count))
    call show('tern_call_info.user', between(info, info%user))
    call show('tern_function', int(c_sizeof(called), c_int64_t))
    call show('tern_function.name', between(called, called%name))
    call show('tern_function.handler', between(called, called%handler))
    call show('tern_function.user', between(called, called%user))
    call show('tern_function.id', between(called, called%id))
    call show('tern_hashtable_modify_info', int(c_sizeof(change), c_int64_t))
    call show('tern_hashtable_modify_info.worker', between(change, change%worker))
    call show('tern_hashtable_modify_info.origin', between(change, change%origin))
    call show('tern_hashtable_modify_info.key', between(change, change%key))
    call show('tern_hashtable_modify_info.argument', between(change, change%argument))
    call show('tern_hashtable_modify_info.argument_bytes', between(change, change%argument_bytes))
    call show('tern_hashtable_modify_info.existed', between(change, change%existed))
    call show('tern_hashtable_modify_info.result', between(change, change%result))
    call show('tern_hashtable_modify_info.result_bytes', between(change, change%result_bytes))
    call show('tern_hashtable_modify_info.user', between(change, change%user))
    call show('tern_map_modify_info', int(c_sizeof(map_change), c_int64_t))
    call show('tern_map_modify_info.worker', between(map_change, map_change%worker))
    call show('tern_map_modify_info.origin', between(map_change, map_change%origin))
    call show('tern_map_modify_info.key', between(map_change, map_change%key))
    call show('tern_map_modify_info.key_bytes', between(map_change, map_change%key_bytes))
    call show('tern_map_modify_info.value', between(map_change, map_change%value))
    call show('tern_map_modify_info.value_bytes', between(map_change, map_change%value_bytes))
    call show('tern_map_modify_info.argument', between(map_change, map_change%argument))
    call show('tern_map_modify_info.argument_bytes', between(map_change, map_change%argument_bytes))
    call show('tern_map_modify_info.existed', between(map_change, map_change%existed))
    call show('tern_map_modify_info.result', between(map_change, map_change%result))
    call show('tern_map_modify_info.result_bytes', between(map_change, map_change%result_bytes))
    call show('tern_map_modify_info.user', between(map_change, map_change%user))
    call show('tern_hashtable_modifier', int(c_sizeof(modifier), c_int64_t))
    call show('tern_hashtable_modifier.function', between(modifier, modifier%function))
    call show('tern_hashtable_modifier.call', between(modifier, modifier%call))
    call show('tern_hashtable_modifier.any_thread', between(modifier, modifier%any_thread))
    call show('tern_map_modifier', int(c_sizeof(map_modifier), c_int64_t))
    call show('tern_map_modifier.function', between(map_modifier, map_modifier%function))
    call show('tern_map_modifier.call', between(map_modifier, map_modifier%call))
    call show('tern_map_modifier.any_thread', between(map_modifier, map_modifier%any_thread))
    call show('tern_hashtable_file', int(c_sizeof(file), c_int64_t))
    call show('tern_hashtable_file.key_bytes', between(file, file%key_bytes))
    call show('tern_hashtable_file.value_bytes', between(file, file%value_bytes))
    call show('tern_hashtable_file.counter', between(file, file%counter))
    call show('tern_hashtable_file.keys', between(file, file%keys))
    call show('tern_hashtable_file.note_bytes', between(file, file%note_bytes))
    call show('tern_hashtable_file.note', between(file, file%note(1)))
    call show('tern_map_file', int(c_sizeof(map_file), c_int64_t))
    call show('tern_map_file.keys', between(map_file, map_file%keys))
    call show('tern_map_file.key_bytes', between(map_file, map_file%key_bytes))
    call show('tern_map_file.value_bytes', between(map_file, map_file%value_bytes))
    call show('tern_map_file.note_bytes', between(map_file, map_file%note_bytes))
    call show('tern_map_file.note', between(map_file, map_file%note(1)))
    call show('TERN_ERR_ARGUMENT', int(TERN_ERR_ARGUMENT, c_int64_t))
    call show('TERN_ERR_CONFIG', int(TERN_ERR_CONFIG, c_int64_t))
    call show('TERN_ERR_RANGE', int(TERN_ERR_RANGE, c_int64_t))
    call show('TERN_ERR_MEMORY', int(TERN_ERR_MEMORY, c_int64_t))
    call show('TERN_ERR_FULL', int(TERN_ERR_FULL, c_int64_t))
    call show('TERN_ERR_EMPTY', int(TERN_ERR_EMPTY, c_int64_t))
    call show('TERN_ERR_NOT_FOUND', int(TERN_ERR_NOT_FOUND, c_int64_t))
    call show('TERN_ERR_EXISTS', int(TERN_ERR_EXISTS, c_int64_t))
    call show('TERN_ERR_AGAIN', int(TERN_ERR_AGAIN, c_int64_t))
    call show('TERN_ERR_TIMEOUT', int(TERN_ERR_TIMEOUT, c_int64_t))
    call show('TERN_ERR_PEER', int(TERN_ERR_PEER, c_int64_t))
    call show('TERN_ERR_STATE', int(TERN_ERR_STATE, c_int64_t))
    call show('TERN_ERR_MISMATCH', int(TERN_ERR_MISMATCH, c_int64_t))
    call show('TERN_ERR_UNSUPPORTED', int(TERN_ERR_UNSUPPORTED, c_int64_t))
    call show('TERN_ERR_MPI', int(TERN_ERR_MPI, c_int64_t))
    call show('TERN_ERR_SYSTEM', int(TERN_ERR_SYSTEM, c_int64_t))
    call show('TERN_ERR_CORRUPT', int(TERN_ERR_CORRUPT, c_int64_t))
    call show('TERN_ERR_NETWORK', int(TERN_ERR_NETWORK, c_int64_t))
    call show('TERN_ERR_DONE', int(TERN_ERR_DONE, c_int64_t))
    call show('TERN_STATUS_COUNT', int(TERN_STATUS_COUNT, c_int64_t))
    call show('TERN_DOMAIN_GLOBAL', int(TERN_DOMAIN_GLOBAL, c_int64_t))
    call show('TERN_DOMAIN_NODE', int(TERN_DOMAIN_NODE, c_int64_t))
    call show('TERN_DOMAIN_OWNER', int(TERN_DOMAIN_OWNER, c_int64_t))
    call show('TERN_EVENT_LOCAL', int(TERN_EVENT_LOCAL, c_int64_t))
    call show('TERN_EVENT_REMOTE', int(TERN_EVENT_REMOTE, c_int64_t))
    call show('TERN_REDUCE_SUM', int(TERN_REDUCE_SUM, c_int64_t))
    call show('TERN_REDUCE_MIN', int(TERN_REDUCE_MIN, c_int64_t))
    call show('TERN_REDUCE_MAX', int(TERN_REDUCE_MAX, c_int64_t))
    call show('TERN_UINT64', int(TERN_UINT64, c_int64_t))
    call show('TERN_INT64', int(TERN_INT64, c_int64_t))
    call show('TERN_DOUBLE', int(TERN_DOUBLE, c_int64_t))
    call show('TERN_READ_WRITE', int(TERN_READ_WRITE, c_int64_t))
    call show('TERN_WRITE_ONLY', int(TERN_WRITE_ONLY, c_int64_t))
    call show('TERN_READ_ONLY', int(TERN_READ_ONLY, c_int64_t))
    call show('TERN_LOCAL', int(TERN_LOCAL, c_int64_t))
    call show('TERN_AUTO', int(TERN_AUTO, c_int64_t))
    call show('TERN_BY_RMA', int(TERN_BY_RMA, c_int64_t))
    call show('TERN_BY_CALL', int(TERN_BY_CALL, c_int64_t))
    call show('TERN_NOTIFY_NO_LOCAL', int(TERN_NOTIFY_NO_LOCAL, c_int64_t))
    call show('TERN_NOTIFY_NO_REMOTE', int(TERN_NOTIFY_NO_REMOTE, c_int64_t))
    call show('TERN_PROBE_LOCAL', int(TERN_PROBE_LOCAL, c_int64_t))
    call show('TERN_PROBE_REMOTE', int(TERN_PROBE_REMOTE, c_int64_t))
    call show('TERN_PROBE_ANY', int(TERN_PROBE_ANY, c_int64_t))
    call show('TERN_NUMA_ANY', int(TERN_NUMA_ANY, c_int64_t))
    call show('TERN_RESULT_MAX', int(TERN_RESULT_MAX, c_int64_t))
    call show('TERN_MAP_KEY_MAX', int(TERN_MAP_KEY_MAX, c_int64_t))
    call show('TERN_ABSENT_FAIL', int(TERN_ABSENT_FAIL, c_int64_t))
    call show('TERN_ABSENT_INSERT', int(TERN_ABSENT_INSERT, c_int64_t))
    call show('TERN_HASHTABLE_MODIFY_RESULT_MAX', int(TERN_HASHTABLE_MODIFY_RESULT_MAX, c_int64_t))
    call show('TERN_MAP_MODIFY_RESULT_MAX', int(TERN_MAP_MODIFY_RESULT_MAX, c_int64_t))
    call show('TERN_NOTE_MAX', int(TERN_NOTE_MAX, c_int64_t))
end program layout
