! Batches of tables and queues, values that functions change, files, and what all ranks make together:
! parts of tests/languages/fortran.f90.

module changes
    use, intrinsic :: iso_c_binding
    use tern
    use checks
    use called
    implicit none
    type(tern_hashtable_modifier), save :: multiply_modifier
    type(tern_map_modifier), save :: append_modifier
    type(tern_function), save :: ask_function
    private :: multiply_modifier, append_modifier, ask_function

contains

    subroutine register_changes()
        type(tern_hashtable_modifier) :: twin
        call check(tern_hashtable_modifier_register(multiply_modifier, 'multiply', multiply) == TERN_OK, &
                'modifier')
        call check(tern_hashtable_modifier_register(twin, 'mean', multiply) == TERN_ERR_EXISTS, 'name taken')
        call check(tern_map_modifier_register(append_modifier, 'append', append) == TERN_OK, &
                'map modifier')
        call check(tern_function_register(ask_function, 'ask', ask) == TERN_OK, 'register')
    end subroutine

    subroutine test_batches(worker, me)
        type(tern_worker), intent(in) :: worker
        integer(c_int32_t), intent(in) :: me
        integer, parameter :: many = 50
        type(tern_hashtable) :: table
        type(tern_hashtable_options) :: options
        type(tern_queue) :: queue
        type(tern_queue_options) :: queue_options
        integer(c_int32_t) :: keys(many + 1), i
        integer(c_int64_t), target :: total
        real(c_double) :: values(many), back(many + 1)
        integer(c_int8_t) :: found(many + 1)
        integer(c_size_t) :: done
        integer(c_int) :: status
        options%key_bytes = 4
        options%value_bytes = 8
        options%capacity = 100
        call tern_check(tern_hashtable_create(worker, options, table))
        keys = [(i, i=1, many + 1)]
        values = 2
        if (me == 0) then
            status = tern_hashtable_insert_many(worker, table, keys, values, 50_c_size_t, 0, done)
            call check(status == TERN_OK .and. done == many, 'insert_many')
        end if
        call tern_check(tern_barrier(worker))
        back = 7
        status = tern_hashtable_find_many(worker, table, keys, 51_c_size_t, 0, back, found, done)
        call check(status == TERN_OK .and. done == many, 'find_many')
        call check(all(nint(back(:many)) == 2) .and. nint(back(many + 1)) == 7, 'what is there')
        call check(all(found(:many) == 1) .and. found(many + 1) == 0, 'found')
        total = 0
        status = tern_hashtable_for_each_anywhere(worker, table, c_funloc(visit), c_loc(total))
        call check(status == TERN_OK .and. total == 2*many, 'for_each_anywhere')
        call tern_check(tern_hashtable_destroy(worker, table))

        queue_options%item_bytes = 4
        queue_options%capacity = 10
        call tern_check(tern_queue_create(worker, queue_options, queue))
        if (me == 1) then
            status = tern_queue_push_many(worker, queue, keys, 51_c_size_t, 0, done)
            call check(status == TERN_OK .and. done == 10, 'push_many')
            keys = 0
            status = tern_queue_pop_many(worker, queue, keys, 51_c_size_t, 0, done)
            call check(status == TERN_OK .and. done == 10 .and. sum(keys) == 55, 'pop_many')
        end if
        call tern_check(tern_queue_destroy(worker, queue))
    end subroutine

    subroutine test_changes(worker, me)
        type(tern_worker), intent(in) :: worker
        integer(c_int32_t), intent(in) :: me
        type(tern_hashtable) :: table
        type(tern_hashtable_options) :: options
        type(tern_map) :: map
        type(tern_map_options) :: map_options
        character(len=:), allocatable :: text
        character(len=6) :: name
        real(c_double) :: now
        integer(c_size_t) :: bytes
        integer(c_int32_t) :: key
        integer(c_int) :: status, existed
        options%key_bytes = 4
        options%value_bytes = 8
        options%capacity = 100
        call tern_check(tern_hashtable_create(worker, options, table))
        do key = me, 19, 2 ! of both owners
            call check(tern_hashtable_modify(worker, table, key, multiply_modifier, 4.0_c_double, &
                    8_c_size_t, TERN_ABSENT_FAIL, 0, capacity=0_c_size_t) == TERN_ERR_NOT_FOUND, &
                            'modify no key')
            status = tern_hashtable_modify(worker, table, key, multiply_modifier, 4.0_c_double, &
                    8_c_size_t, TERN_ABSENT_INSERT, 0, now, 8_c_size_t, bytes, existed)
            call check(status == TERN_OK .and. bytes == 8 .and. nint(now) == 4 .and. existed == 0, &
                    'modify a new key')
            status = tern_hashtable_modify(worker, table, key, multiply_modifier, 3.0_c_double, &
                    8_c_size_t, TERN_ABSENT_FAIL, 0, now, 8_c_size_t, existed=existed)
            call check(status == TERN_OK .and. nint(now) == 12 .and. existed == 1, 'modify')
            call check(tern_hashtable_modify(worker, table, key, multiply_modifier, 90.0_c_double, &
                    8_c_size_t, TERN_ABSENT_FAIL, 0, now, 8_c_size_t) == TERN_ERR_RANGE, 'refused')
            status = tern_hashtable_find(worker, table, key, 0, now)
            call check(status == TERN_OK .and. nint(now) == 12, 'unchanged')
        end do
        call tern_check(tern_hashtable_destroy(worker, table))

        map_options%capacity = 100
        call tern_check(tern_map_create(worker, map_options, map))
        write (name, '(a,i1)') 'rank ', me
        call check(tern_map_modify(worker, map, name, 6_c_size_t, append_modifier, 'te', &
                2_c_size_t, TERN_ABSENT_FAIL, 0, capacity=0_c_size_t) == TERN_ERR_NOT_FOUND, &
                        'map_modify no key')
        call check(tern_map_modify(worker, map, name, 6_c_size_t, append_modifier, 'te', &
                2_c_size_t, TERN_ABSENT_INSERT, TERN_BY_CALL, capacity=0_c_size_t) == TERN_OK, &
                        'map_modify a new key')
        call check(tern_map_modify(worker, map, name, 6_c_size_t, append_modifier, 'rn', &
                2_c_size_t, TERN_ABSENT_FAIL, TERN_BY_RMA, capacity=0_c_size_t, existed=existed) &
                        == TERN_OK, 'map_modify')
        status = tern_map_find_alloc(worker, map, name, 6_c_size_t, 0, text)
        call check(status == TERN_OK .and. text == 'tern' .and. existed == 1, 'what it became')
        call tern_check(tern_map_destroy(worker, map))
    end subroutine

    subroutine test_files(worker, me)
        type(tern_worker), intent(in) :: worker
        integer(c_int32_t), intent(in) :: me
        type(tern_hashtable) :: table
        type(tern_hashtable_options) :: options
        type(tern_hashtable_file) :: file
        type(tern_map) :: map
        type(tern_map_options) :: map_options
        type(tern_map_file) :: map_file
        character(len=:), allocatable :: text
        character(len=40) :: path
        integer(c_int64_t) :: pid(1), value
        integer(c_int) :: status
        interface
            function getpid() bind(C)
                import :: c_int
                integer(c_int) :: getpid
            end function
            function unlink(path) bind(C)
                import :: c_char, c_int
                character(kind=c_char), intent(in) :: path(*)
                integer(c_int) :: unlink
            end function
        end interface
        pid = getpid()
        call tern_check(tern_team_broadcast(worker, TERN_ALL_RANKS, 0, pid, 8_c_size_t))
        write (path, '(a,i0)') 'fortran.', pid(1)

        options%key_bytes = 4
        options%value_bytes = 8
        options%capacity = 10
        call tern_check(tern_hashtable_create(worker, options, table))
        value = 100 + me
        call tern_check(tern_hashtable_insert(worker, table, me, value, 0))
        call check(tern_hashtable_save(worker, table, trim(path), 'numbers') == TERN_OK, 'save')
        call tern_check(tern_hashtable_destroy(worker, table))
        status = tern_hashtable_file_read(trim(path), file)
        call check(status == TERN_OK .and. file%keys == 2 .and. file%value_bytes == 8, 'file_read')
        call check(tern_hashtable_load(worker, trim(path), file=file, table=table) == TERN_OK, &
                'load')
        call check(file%note_bytes == 7 .and. all(file%note(:8) == &
                ['n', 'u', 'm', 'b', 'e', 'r', 's', c_null_char]), 'note')
        status = tern_hashtable_find(worker, table, 1 - me, 0, value)
        call check(status == TERN_OK .and. value == 101 - me, 'what the file had')
        call tern_check(tern_hashtable_destroy(worker, table))
        call check(tern_map_load(worker, trim(path), map=map) == TERN_ERR_ARGUMENT, 'no map')

        map_options%capacity = 10
        call tern_check(tern_map_create(worker, map_options, map))
        if (me == 0) call tern_check(tern_map_insert(worker, map, 'name', 4_c_size_t, 'tern', &
                4_c_size_t, 0))
        call check(tern_map_save(worker, map, trim(path)) == TERN_OK, 'map_save')
        call tern_check(tern_map_destroy(worker, map))
        status = tern_map_file_read(trim(path), map_file)
        call check(status == TERN_OK .and. map_file%keys == 1 .and. map_file%key_bytes == 4, &
                'map_file_read')
        call check(tern_map_load(worker, trim(path), map_options, map_file, map) == TERN_OK, &
                'map_load')
        status = tern_map_find_alloc(worker, map, 'name', 4_c_size_t, 0, text)
        call check(status == TERN_OK .and. text == 'tern' .and. map_file%note_bytes == 0, &
                'what the map has')
        call tern_check(tern_map_destroy(worker, map))
        if (me == 0) call check(unlink(trim(path)//c_null_char) == 0, 'unlink')
        call tern_check(tern_barrier(worker))
        call check(tern_map_load(worker, trim(path), map=map) == TERN_ERR_NOT_FOUND, 'no file')
    end subroutine

    subroutine test_objects(context, worker, me)
        type(tern_context), intent(in) :: context
        type(tern_worker), intent(in) :: worker
        integer(c_int32_t), intent(in) :: me
        type(tern_ptr) :: mine
        type(tern_part) :: part
        type(tern_worker_id) :: other
        character(len=5), save, target :: kind = 'shop'//c_null_char
        integer(c_int32_t), target :: stock
        integer(c_int32_t), pointer :: here(:)
        integer(c_int64_t) :: id, answer
        integer(c_int) :: status
        other = tern_worker_id(1 - me, 0)
        call check(tern_alloc_all(worker, 16_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, mine) &
                == TERN_OK, 'alloc_all')
        call check(tern_put(worker, tern_ptr_on(mine, 1 - me), 40 + me, 4_c_size_t) == TERN_OK, &
                'put to a piece')
        call tern_check(tern_barrier(worker))
        call c_f_pointer(tern_local_address(context, mine), here, [4])
        call check(here(1) == 41 - me, 'what came')
        call check(tern_free_all(worker, mine) == TERN_OK, 'free_all')

        stock = 10 + me
        call check(tern_part_create(worker, c_loc(kind), c_loc(stock), part) == TERN_OK, 'part')
        call tern_check(tern_barrier(worker))
        id = tern_part_id(part)
        status = tern_call_return(worker, other, ask_function, id, 8_c_size_t, answer, 8_c_size_t)
        call check(status == TERN_OK .and. answer == 11 - me, 'the part of the other rank')
        call check(tern_call_return(worker, other, ask_function, id + 1, 8_c_size_t, answer, &
                8_c_size_t) == TERN_ERR_STATE, 'no such part')
        call tern_check(tern_barrier(worker))
        call tern_part_destroy(part)
    end subroutine
end module
