! The module tern on two ranks: transfers of scalars and arrays, atomics, notifications, calls,
! requests, tables, maps and queues. fortran_called.f90 has what it calls, fortran_changes.f90 the
! tests of values that functions change, of files, and of memory and parts of all ranks.

program test_fortran
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use tern
    use checks
    use called
    use changes
    implicit none
    type(tern_context) :: context
    type(tern_worker) :: worker
    type(tern_function), save :: note_function, mean_function, twin
    integer(c_int32_t) :: me, other
    integer(c_int) :: status

    call MPI_Init()
    call check(tern_function_register(note_function, 'note', note) == TERN_OK, 'register')
    call check(tern_function_register(mean_function, 'mean', mean) == TERN_OK, 'register')
    call register_changes()
    call check(tern_function_register(twin, 'mean', note) == TERN_ERR_EXISTS, 'register twice')
    call check(tern_context_create(MPI_COMM_WORLD, context, 'TERN_WORKERS=none') /= TERN_OK, &
            'options')
    call check(index(tern_error_detail(), 'TERN_WORKERS') > 0, 'detail')
    call check(tern_strerror(TERN_ERR_FULL) /= tern_strerror(TERN_ERR_EMPTY), 'strerror')
    call tern_check(tern_context_create(MPI_COMM_WORLD, context, 'TERN_SEGMENT_SIZE=16M'))
    call tern_check(tern_worker_adopt(context, 0, worker))
    me = tern_context_rank(context)
    other = 1 - me
    call check(tern_context_size(context) == 2, 'size')
    call transfers()
    call calls()
    call tables()
    call queues()
    call requests()
    call maps()
    call map_numbers()
    call map_requests()
    call work()
    call test_batches(worker, me)
    call test_changes(worker, me)
    call test_files(worker, me)
    call test_objects(context, worker, me)
    call check(tern_worker_release(worker) == TERN_OK, 'release')
    call tern_check(tern_context_destroy(context))
    call MPI_Finalize()
    if (failures > 0) error stop 1

contains

    subroutine transfers()
        type(tern_ptr) :: mine, theirs, both(0:1)
        type(tern_event) :: event
        real(c_double), asynchronous :: values(4) = [1, 2, 3, 4], back(4)
        real(c_double) :: one
        real(c_double), pointer :: here(:)
        integer(c_int64_t) :: old, sums(2)
        integer(c_int32_t) :: old32
        integer :: root
        call tern_check(tern_alloc(worker, 256_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, mine))
        call c_f_pointer(tern_local_address(context, mine), here, [32])
        here = 0
        both(me) = mine
        do root = 0, 1
            call tern_check(tern_team_broadcast(worker, TERN_ALL_RANKS, root, both(root:root), &
                    16_c_size_t))
        end do
        theirs = both(other)
        call check(theirs%rank == other, 'broadcast')

        call check(tern_put(worker, theirs, values, c_sizeof(values)) == TERN_OK, 'put')
        one = 5 + me
        call check(tern_put(worker, tern_ptr_add(theirs, 32_c_int64_t), one, 8_c_size_t) &
                == TERN_OK, 'put of one')
        call check(tern_flush(worker, other) == TERN_OK, 'flush')
        call check(tern_get(worker, back, theirs, c_sizeof(back)) == TERN_OK, 'get')
        call check(all(nint(back) == nint(values)), 'what was put')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(abs(here(5) - 5 - other) < 1e-9, 'what came')
        one = 0
        call check(tern_get(worker, one, tern_ptr_add(theirs, 32_c_int64_t), 8_c_size_t) &
                == TERN_OK, 'get of one')
        call check(abs(one - 5 - me) < 1e-9, 'one')
        call check(tern_put(worker, tern_ptr_add(theirs, 2_c_int64_t**40), one, 8_c_size_t) &
                == TERN_ERR_RANGE, 'out of range')

        theirs = tern_ptr_add(both(0), 64_c_int64_t)
        call check(tern_atomic_fetch_add(worker, theirs, 3_c_int64_t, old) == TERN_OK, 'add')
        call check(tern_atomic_fetch_add(worker, tern_ptr_add(theirs, 8_c_int64_t), &
                1_c_int32_t) == TERN_OK, 'add of 4 bytes')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_atomic_load(worker, theirs, old)
        call check(status == TERN_OK .and. old == 6, 'load')
        status = tern_atomic_load(worker, tern_ptr_add(theirs, 8_c_int64_t), old32)
        call check(status == TERN_OK .and. old32 == 2, 'load of 4 bytes')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        if (me == 0) then
            status = tern_atomic_cas(worker, theirs, 6_c_int64_t, 9_c_int64_t, old)
            call check(status == TERN_OK .and. old == 6, 'cas')
            status = tern_atomic_swap(worker, theirs, 12_c_int64_t, old)
            call check(status == TERN_OK .and. old == 9, 'swap')
            status = tern_atomic_fetch_and(worker, theirs, 5_c_int64_t, old)
            call check(status == TERN_OK .and. old == 12, 'and')
            status = tern_atomic_fetch_or(worker, theirs, 3_c_int64_t, old)
            call check(status == TERN_OK .and. old == 4, 'or')
            status = tern_atomic_fetch_xor(worker, theirs, 2_c_int64_t, old)
            call check(status == TERN_OK .and. old == 7, 'xor')
            call check(tern_atomic_store(worker, theirs, 1_c_int64_t) == TERN_OK, 'store')
            status = tern_atomic_load(worker, theirs, old)
            call check(status == TERN_OK .and. old == 1, 'stored')
        end if

        sums = [int(me, c_int64_t), 7_c_int64_t]
        status = tern_team_allreduce(worker, TERN_ALL_RANKS, TERN_INT64, TERN_REDUCE_SUM, sums, &
                2_c_size_t)
        call check(status == TERN_OK .and. all(sums == [1, 14]), 'allreduce')

        call check(tern_put_notify(worker, tern_worker_id(other, 0), tern_ptr_add(both(other), &
                128_c_int64_t), values(1), 32_c_size_t, 0_c_int64_t, 40_c_int64_t + me, &
                        8_c_size_t, TERN_NOTIFY_NO_LOCAL) == TERN_OK, 'put_notify')
        call check(tern_event_wait(worker, TERN_PROBE_ANY, event) == TERN_OK, 'event_wait')
        call check(event%kind == TERN_EVENT_REMOTE .and. event%cid(1) == 40 + other &
                .and. event%peer%rank == other .and. event%bytes == 32, 'event')
        call check(abs(here(20) - 4) < 1e-9, 'notified data')
        call check(tern_probe(worker, TERN_PROBE_ANY, event) == TERN_ERR_EMPTY, 'probe')
        call check(tern_get_notify(worker, tern_worker_id(other, 0), back(1), both(other), &
                32_c_size_t, 77_c_int64_t, 0_c_int64_t, 0_c_size_t, TERN_NOTIFY_NO_REMOTE) &
                        == TERN_OK, 'get_notify')
        status = tern_event_wait(worker, TERN_PROBE_LOCAL, event)
        call check(status == TERN_OK .and. event%local_cid == 77 .and. event%is_get == 1, &
                'event of a get')
        call check(all(nint(back) == nint(values)), 'what was got')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(tern_free(worker, mine) == TERN_OK, 'free')
    end subroutine

    subroutine calls()
        integer(c_int64_t) :: numbers(3) = [1, 2, 3]
        real(c_double) :: values(4) = [1, 2, 3, 6], answer
        integer(c_size_t) :: bytes
        type(tern_worker_id) :: target
        target = tern_worker_id(other, 0)
        call check(tern_call(worker, target, note_function, numbers(1), c_sizeof(numbers)) &
                == TERN_OK, 'call')
        call check(tern_quiesce(worker) == TERN_OK, 'quiesce')
        call check(noted == 6 + 1000*other, 'what was called')
        call check(tern_phase(worker) == TERN_OK, 'phase')
        call check(tern_call_return(worker, target, mean_function, values(1), c_sizeof(values), &
                answer, 8_c_size_t, bytes) == TERN_OK, 'call_return')
        call check(bytes == 8 .and. abs(answer - 3) < 1e-9, 'result')
        call check(tern_call_return(worker, target, mean_function, values(1), 0_c_size_t, &
                answer, 8_c_size_t) == TERN_ERR_ARGUMENT, 'error of a handler')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
    end subroutine

    subroutine tables()
        type(tern_hashtable) :: table
        type(tern_hashtable_options) :: options
        character(len=8) :: word
        real(c_double) :: value
        integer(c_int64_t) :: count
        integer(c_int64_t), target :: total
        integer(c_int) :: existed
        integer(c_int32_t) :: i
        options%key_bytes = 4
        options%value_bytes = 8
        options%capacity = 1000
        call tern_check(tern_hashtable_create(worker, options, table))
        do i = 1, 50
            value = 1
            status = tern_hashtable_insert(worker, table, 2*i + me, value, 0, existed)
            call check(status == TERN_OK .and. existed == 0, 'insert')
        end do
        value = 9
        status = tern_hashtable_insert_new(worker, table, 2 + me, value, 0, existed)
        call check(status == TERN_OK .and. existed == 1, 'insert_new')
        status = tern_hashtable_size(worker, table, count)
        call check(status == TERN_OK .and. count == 100, 'size')
        status = tern_hashtable_find(worker, table, 2 + other, 0, value)
        call check(status == TERN_OK .and. abs(value - 1) < 1e-9, 'find')
        call check(tern_hashtable_find(worker, table, 1000, 0, value) == TERN_ERR_NOT_FOUND, &
                'absent')
        call check(tern_hashtable_owner(table, 2) <= 1, 'owner')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        total = 0
        call check(tern_hashtable_for_each(worker, table, c_funloc(visit), c_loc(total)) &
                == TERN_OK, 'for_each')
        status = tern_hashtable_local_size(worker, table, count)
        call check(status == TERN_OK .and. count == total, 'visited')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(tern_hashtable_erase(worker, table, 2 + me, 0) == TERN_OK, 'erase')
        call check(tern_hashtable_clear(worker, table) == TERN_OK, 'clear')
        call tern_check(tern_hashtable_destroy(worker, table))

        options = tern_hashtable_options()
        options%key_bytes = len(word)
        options%counter = 1
        options%capacity = 100
        call tern_check(tern_hashtable_create(worker, options, table))
        word = 'tern'
        call check(tern_hashtable_add(worker, table, word, 2_c_int64_t, TERN_WRITE_ONLY) &
                == TERN_OK, 'add')
        call check(tern_hashtable_add_many(worker, table, ['tern    ', 'gull    '], 2_c_size_t, &
                1_c_int64_t, TERN_WRITE_ONLY) == TERN_OK, 'add_many')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_hashtable_find(worker, table, word, TERN_READ_ONLY, count)
        call check(status == TERN_OK .and. count == 6, 'counter')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        if (me == 0) then
            status = tern_hashtable_compare_swap(worker, table, word, 6_c_int64_t, 7_c_int64_t, &
                    0, count)
            call check(status == TERN_OK .and. count == 6, 'compare_swap')
        end if
        call tern_check(tern_hashtable_destroy(worker, table))
    end subroutine

    subroutine queues()
        type(tern_queue) :: queue
        type(tern_queue_options) :: options
        integer(c_int64_t) :: count
        real(c_double) :: item
        options%host = 1
        options%item_bytes = 8
        options%capacity = 4
        call tern_check(tern_queue_create(worker, options, queue))
        item = me
        call check(tern_queue_push(worker, queue, item, 0) == TERN_OK, 'push')
        call check(tern_queue_try_push(worker, queue, item, 0) == TERN_OK, 'try_push')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_queue_size(worker, queue, count)
        call check(status == TERN_OK .and. count == 4, 'queue_size')
        call check(tern_queue_push_timed(worker, queue, item, 0.0_c_double, 0) &
                == TERN_ERR_TIMEOUT, 'push_timed')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        item = -1
        status = tern_queue_pop(worker, queue, item, 0)
        call check(status == TERN_OK .and. item >= 0, 'pop')
        call check(tern_queue_try_pop(worker, queue, item, 0) == TERN_OK, 'try_pop')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(tern_queue_pop_timed(worker, queue, item, 0.0_c_double, 0) &
                == TERN_ERR_TIMEOUT, 'pop_timed')
        call tern_check(tern_queue_destroy(worker, queue))
    end subroutine

    subroutine requests()
        type(tern_request), asynchronous :: request(4)
        type(tern_ptr) :: both(0:1), theirs
        type(tern_hashtable) :: table
        type(tern_hashtable_options) :: options
        real(c_double), asynchronous :: values(4), back(4), one, answer
        integer(c_size_t) :: left
        integer(c_int) :: done
        integer :: i, root
        call tern_check(tern_alloc(worker, 256_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, both(me)))
        do root = 0, 1
            call tern_check(tern_team_broadcast(worker, TERN_ALL_RANKS, root, both(root:root), &
                    16_c_size_t))
        end do
        theirs = both(other)

        values = [1, 2, 3, 6]
        one = 9
        call check(tern_put_start(worker, theirs, values, c_sizeof(values), request(1)) &
                == TERN_OK, 'put_start')
        call check(tern_put_start(worker, tern_ptr_add(theirs, 32_c_int64_t), one, 8_c_size_t, &
                request(2)) == TERN_OK, 'put_start of one')
        call check(tern_call_start(worker, tern_worker_id(other, 0), mean_function, values(1), &
                c_sizeof(values), answer, 8_c_size_t, request(3)) == TERN_OK, 'call_start')
        call check(tern_wait_all(worker, request, 4_c_size_t) == TERN_OK, 'wait_all')
        call check(abs(answer - 3) < 1e-9 .and. tern_request_result(request(3)) == 8, 'answer')
        call check(tern_flush(worker, other) == TERN_OK, 'flush')

        back = 0
        one = 0
        call check(tern_get_start(worker, back, theirs, c_sizeof(back), request(1)) == TERN_OK, &
                'get_start')
        call check(tern_get_start(worker, one, tern_ptr_add(theirs, 32_c_int64_t), 8_c_size_t, &
                request(2)) == TERN_OK, 'get_start of one')
        do i = 1, 2
            status = tern_wait_any(worker, request, 4_c_size_t, left)
            call check(status == TERN_OK .and. left < 2, 'wait_any')
        end do
        status = tern_wait_any(worker, request, 4_c_size_t, left)
        call check(status == TERN_OK .and. left == 4, 'none is left')
        call check(all(nint(back) == nint(values)) .and. nint(one) == 9, 'what was got')
        call check(tern_get_start(worker, one, tern_ptr_add(theirs, 2_c_int64_t**40), &
                8_c_size_t, request(1)) == TERN_ERR_RANGE, 'get_start out of range')

        options%key_bytes = 4
        options%value_bytes = 8
        options%capacity = 100
        call tern_check(tern_hashtable_create(worker, options, table))
        one = 7 + me
        call check(tern_hashtable_insert_start(worker, table, me, one, 0, request(1)) == TERN_OK, &
                'insert_start')
        call check(tern_wait(worker, request(1)) == TERN_OK, 'wait')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(tern_hashtable_find_start(worker, table, other, 0, one, request(1)) &
                == TERN_OK, 'find_start')
        call check(tern_hashtable_find_start(worker, table, 99, 0, answer, request(2)) &
                == TERN_OK, 'find_start of no key')
        done = 0
        do while (done == 0)
            call tern_check(tern_test(worker, request(1), done))
        end do
        call check(nint(one) == 7 + other, 'what was found')
        call check(tern_wait_all(worker, request, 2_c_size_t) == TERN_ERR_NOT_FOUND, 'not found')
        call tern_check(tern_hashtable_destroy(worker, table))
        call check(tern_free(worker, both(me)) == TERN_OK, 'free')
    end subroutine

    subroutine maps()
        type(tern_map) :: map
        type(tern_map_options) :: options
        character(len=:), allocatable :: text
        character(len=6) :: name
        real(c_double) :: values(200), back(200), one
        integer(c_int64_t) :: count
        integer(c_int64_t), target :: total
        integer(c_size_t) :: bytes
        integer(c_int) :: existed
        options%capacity = 100
        call tern_check(tern_map_create(worker, options, map))
        write (name, '(a,i1)') 'rank ', me
        values = 1 + me
        status = tern_map_insert(worker, map, name, 6_c_size_t, values, c_sizeof(values), 0, &
                existed)
        call check(status == TERN_OK .and. existed == 0, 'map_insert')
        if (me == 0) then
            status = tern_map_insert(worker, map, 'name', 4_c_size_t, 'tern', 4_c_size_t, 0)
            call check(status == TERN_OK, 'map_insert of a text')
            status = tern_map_insert_new(worker, map, 'name', 4_c_size_t, 'gull', 4_c_size_t, 0, &
                    existed)
            call check(status == TERN_OK .and. existed == 1, 'map_insert_new')
            one = 0.5
            status = tern_map_insert_new(worker, map, 7_c_int32_t, 4_c_size_t, one, 8_c_size_t, 0)
            call check(status == TERN_OK, 'map_insert_new of a number')
        end if
        status = tern_map_size(worker, map, count)
        call check(status == TERN_OK .and. count == 4, 'map_size')

        write (name, '(a,i1)') 'rank ', other
        status = tern_map_find(worker, map, name, 6_c_size_t, 0, back, c_sizeof(back), bytes)
        call check(status == TERN_OK .and. bytes == 1600, 'map_find')
        call check(all(nint(back) == 1 + other), 'what the map has')
        status = tern_map_find(worker, map, 7_c_int32_t, 4_c_size_t, 0, one, 8_c_size_t)
        call check(status == TERN_OK .and. abs(one - 0.5) < 1e-9, 'map_find of a number')
        status = tern_map_find(worker, map, name, 6_c_size_t, 0, one, 8_c_size_t, bytes)
        call check(status == TERN_ERR_RANGE .and. bytes == 1600, 'map_find without room')
        status = tern_map_find_alloc(worker, map, 'nam', 3_c_size_t, 0, text)
        call check(status == TERN_ERR_NOT_FOUND .and. .not. allocated(text), 'map_find_alloc: none')
        status = tern_map_find_alloc(worker, map, 'name', 4_c_size_t, 0, text)
        call check(status == TERN_OK .and. text == 'tern', 'map_find_alloc')
        call check(tern_map_owner(map, 'name', 4_c_size_t) <= 1, 'map_owner')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')

        total = 0
        call check(tern_map_for_each_anywhere(worker, map, c_funloc(visit_map), c_loc(total)) &
                == TERN_OK, 'map_for_each_anywhere')
        call check(total == 3212, 'visited') ! bytes of values: 2 of 1,600, 4 and 8
        total = 0
        call check(tern_map_for_each(worker, map, c_funloc(visit_map), c_loc(total)) == TERN_OK, &
                'map_for_each')
        status = tern_map_local_size(worker, map, count)
        call check(status == TERN_OK .and. (count == 0 .eqv. total == 0), 'map_local_size')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        call check(tern_map_erase(worker, map, name, 6_c_size_t, 0) == TERN_OK, 'map_erase')
        call check(tern_map_erase(worker, map, name, 6_c_size_t, 0) == TERN_ERR_NOT_FOUND, &
                'map_erase again')
        call check(tern_map_clear(worker, map) == TERN_OK, 'map_clear')
        call tern_check(tern_map_destroy(worker, map))
    end subroutine

    ! Numbers of a map, one by one and in batches.
    subroutine map_numbers()
        integer, parameter :: many = 40 ! more than are under way at once
        type(tern_map) :: map
        type(tern_map_options) :: options
        type(tern_map_item) :: items(many)
        type(tern_map_slot) :: slots(many)
        integer(c_int32_t), target :: keys(many)
        integer(c_int64_t), target :: numbers(many), back(many)
        integer(c_int64_t) :: before
        integer(c_size_t) :: count, done
        integer :: i
        options%capacity = 100
        call tern_check(tern_map_create(worker, options, map))
        status = tern_map_add(worker, map, 'both', 4_c_size_t, 5_c_int64_t, 0)
        call check(status == TERN_OK, 'map_add')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_map_add(worker, map, 'both', 4_c_size_t, 0_c_int64_t, 0, before)
        call check(status == TERN_OK .and. before == 10, 'map_add before')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        if (me == 0) then
            status = tern_map_compare_swap(worker, map, 'both', 4_c_size_t, 10_c_int64_t, &
                    7_c_int64_t, 0, before)
            call check(status == TERN_OK .and. before == 10, 'map_compare_swap')
            status = tern_map_compare_swap(worker, map, 'both', 4_c_size_t, 10_c_int64_t, &
                    8_c_int64_t, 0, before)
            call check(status == TERN_OK .and. before == 7, 'map_compare_swap of another number')
            call check(tern_map_compare_swap(worker, map, 'none', 4_c_size_t, 0_c_int64_t, &
                    1_c_int64_t, 0) == TERN_ERR_NOT_FOUND, 'map_compare_swap of no key')
        end if

        do i = 1, many
            keys(i) = i
            numbers(i) = 100*i
            items(i) = tern_map_item(c_loc(keys(i)), c_loc(numbers(i)), 4, 8)
            slots(i) = tern_map_slot(c_loc(keys(i)), 4, c_loc(back(i)), 8)
        end do
        count = many - 1 ! one key is not there
        if (me == 0) then
            status = tern_map_insert_many(worker, map, items, count, 0, done)
            call check(status == TERN_OK .and. done == count, 'map_insert_many')
        end if
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_map_add_many(worker, map, items, count, 1_c_int64_t, 0, done)
        call check(status == TERN_OK .and. done == count, 'map_add_many')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        back = 0
        status = tern_map_find_many(worker, map, slots, count + 1, 0, done)
        call check(status == TERN_OK .and. done == count, 'map_find_many')
        call check(all(back(:many - 1) == numbers(:many - 1) + 2), 'what the map has')
        call check(all(slots(:many - 1)%found == 1) .and. slots(many)%found == 0, 'found')
        call tern_check(tern_map_destroy(worker, map))
    end subroutine

    subroutine map_requests()
        type(tern_map) :: map
        type(tern_map_options) :: options
        type(tern_request), asynchronous :: request(4)
        character(len=6) :: name
        real(c_double), asynchronous :: values(20), back(20), one
        options%capacity = 100
        call tern_check(tern_map_create(worker, options, map))
        write (name, '(a,i1)') 'rank ', me
        values = 1 + me
        one = 0.5
        call check(tern_map_insert_start(worker, map, name, 6_c_size_t, values, &
                c_sizeof(values), TERN_BY_CALL, request(1)) == TERN_OK, 'map_insert_start')
        call check(tern_map_insert_new_start(worker, map, me, 4_c_size_t, one, 8_c_size_t, &
                TERN_BY_CALL, request(2)) == TERN_OK, 'map_insert_new_start')
        call check(tern_map_add_start(worker, map, 'both', 4_c_size_t, 5_c_int64_t, &
                TERN_BY_CALL, request(3)) == TERN_OK, 'map_add_start')
        call check(tern_wait_all(worker, request, 4_c_size_t) == TERN_OK, 'wait_all')
        call check(tern_request_result(request(1)) == 0 .and. &
                tern_request_result(request(2)) == 0, 'new keys')
        call check(tern_request_result(request(3)) == 0 .or. &
                tern_request_result(request(3)) == 5, 'what was added to')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')

        write (name, '(a,i1)') 'rank ', other
        back = 0
        one = 0
        call check(tern_map_find_start(worker, map, name, 6_c_size_t, TERN_BY_CALL, back, &
                c_sizeof(back), request(1)) == TERN_OK, 'map_find_start')
        call check(tern_map_find_start(worker, map, other, 4_c_size_t, TERN_BY_CALL, one, &
                8_c_size_t, request(2)) == TERN_OK, 'map_find_start of a number')
        call check(tern_wait_all(worker, request, 2_c_size_t) == TERN_OK, 'wait_all')
        call check(tern_request_result(request(1)) == 160 .and. all(nint(back) == 1 + other) &
                .and. abs(one - 0.5) < 1e-9, 'what was found')
        call check(tern_map_find_start(worker, map, 'none', 4_c_size_t, 0, one, 8_c_size_t, &
                request(1)) == TERN_OK, 'map_find_start of no key')
        call check(tern_wait(worker, request(1)) == TERN_ERR_NOT_FOUND, 'not found')
        call tern_check(tern_map_destroy(worker, map))
    end subroutine

    subroutine work()
        type(tern_distributed_queue) :: queue
        type(tern_queue) :: part
        type(tern_queue_options) :: options
        integer(c_int32_t) :: items(8), item, i
        integer(c_int64_t) :: count, done(1)
        integer(c_size_t) :: moved
        options%item_bytes = 4
        options%capacity = 64
        call tern_check(tern_distributed_queue_create(worker, options, queue))
        if (me == 0) call check(tern_distributed_queue_try_push(worker, queue, 4, 0) == TERN_OK, &
                'try_push to a distributed queue')
        ! An item of n is the work to push two of n - 1: 2**5 - 1 items in all.
        done = 0
        do
            status = tern_distributed_queue_pop(worker, queue, item, 0)
            if (status /= TERN_OK) exit
            done = done + 1
            do i = 1, 2
                if (item > 0) call tern_check(tern_distributed_queue_try_push(worker, queue, &
                        item - 1, 0))
            end do
        end do
        call check(status == TERN_ERR_DONE, 'the end of the work')
        call tern_check(tern_team_allreduce(worker, TERN_ALL_RANKS, TERN_INT64, TERN_REDUCE_SUM, &
                done, 1_c_size_t))
        call check(done(1) == 31, 'all items')

        if (me == 0) call check(tern_distributed_queue_hold(worker, queue) == TERN_OK, 'hold')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        status = tern_distributed_queue_pop_timed(worker, queue, items, 8_c_size_t, &
                0.0_c_double, 0, moved)
        call check(status == TERN_ERR_TIMEOUT, 'pop_timed while it is held')
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        items = 1
        if (me == 0) then
            status = tern_distributed_queue_push_many(worker, queue, items, 8_c_size_t, 0, moved)
            call check(status == TERN_OK .and. moved == 8, 'push_many')
            status = tern_distributed_queue_size(worker, queue, count)
            call check(status == TERN_OK .and. count == 8, 'size of a distributed queue')
            status = tern_distributed_queue_pop_many(worker, queue, items, 4_c_size_t, &
                    TERN_LOCAL, moved)
            call check(status == TERN_OK .and. moved == 4, 'pop_many')
            call check(tern_distributed_queue_try_pop(worker, queue, item, 0) == TERN_OK, &
                    'try_pop of a distributed queue')
            call check(tern_distributed_queue_part(queue, 1, part) == TERN_OK, 'part')
            call check(tern_queue_push(worker, part, 5, 0) == TERN_OK, 'push to a part')
        end if
        call check(tern_barrier(worker) == TERN_OK, 'barrier')
        if (me == 0) call check(tern_distributed_queue_release(worker, queue) == TERN_OK, 'release')
        done = 0
        do
            status = tern_distributed_queue_pop_timed(worker, queue, items, 8_c_size_t, &
                    60.0_c_double, 0, moved)
            if (status /= TERN_OK) exit
            done = done + sum(items(1:moved))
        end do
        call check(status == TERN_ERR_DONE, 'the end again')
        call tern_check(tern_team_allreduce(worker, TERN_ALL_RANKS, TERN_INT64, TERN_REDUCE_SUM, &
                done, 1_c_size_t))
        call check(done(1) == 8, 'what was left') ! 3 items of 1, and 5
        call tern_check(tern_distributed_queue_destroy(worker, queue))
    end subroutine

end program test_fortran
