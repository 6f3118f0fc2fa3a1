! Sections, updates, waits, teams and calls built in place of the module tern, on any number of ranks,
! each against a model.

module transfers
    use, intrinsic :: iso_c_binding
    use tern
    use checks
    implicit none
    type(tern_context) :: context
    type(tern_worker) :: worker
    integer(c_int32_t) :: me, ranks, after, before
    integer(c_int) :: status

contains

    ! The numbers that dice gives are the same in each run, and others on each rank.
    subroutine throw_dice()
        integer :: size, i
        call random_seed(size=size)
        call random_seed(put=[(7919*(me + 1) + i, i=1, size)])
    end subroutine

    ! A number from low to high.
    function dice(low, high)
        integer, intent(in) :: low, high
        integer :: dice
        real :: x
        call random_number(x)
        dice = min(low + int(x*(high - low + 1)), high)
    end function

    ! A first index, a step of either sign and a count of elements of 1 to extent.
    subroutine some_slice(extent, first, step, count)
        integer, intent(in) :: extent
        integer, intent(out) :: first, step, count
        step = dice(1, 3)
        if (dice(0, 1) == 1) step = -step
        count = dice(0, (extent - 1)/abs(step) + 1)
        first = 1
        if (count > 0) first = dice(1, extent - (count - 1)*abs(step))
        if (step < 0 .and. count > 0) first = first + (count - 1)*abs(step)
    end subroutine

    subroutine test_sections()
        integer, parameter :: n(3) = [4, 5, 6]
        type(tern_ptr) :: mine, theirs, to
        type(tern_section) :: section
        type(tern_request), asynchronous :: request
        type(tern_event) :: event
        integer(c_int32_t), asynchronous :: here(n(1), n(2), n(3))
        integer(c_int32_t) :: model(n(1), n(2), n(3)), whole(n(1), n(2), n(3)), filled(n(1), n(2), n(3))
        integer(c_int64_t) :: nothing = 0
        integer :: turn, d, f(3), s(3), g(3), t(3), c(3), other, i, j, k
        call tern_check(tern_alloc_all(worker, c_sizeof(here), 0_c_size_t, TERN_DOMAIN_GLOBAL, mine))
        theirs = tern_ptr_on(mine, after)
        model = 0
        call check(tern_put(worker, theirs, model(1, 1, 1), c_sizeof(model)) == TERN_OK, 'put')
        section%element_bytes = 4
        section%dimensions = 3
        do turn = 1, 120
            do d = 1, 3 ! slices of the same counts, here and there
                call some_slice(n(d), f(d), s(d), c(d))
                call some_slice(n(d), g(d), t(d), other)
                if (other < c(d)) c(d) = other
            end do
            section%count(:3) = c
            section%local_stride(:3) = 4*s*[1, n(1), n(1)*n(2)]
            section%remote_stride(:3) = 4*t*[1, n(1), n(1)*n(2)]
            to = tern_ptr_add(theirs, int(4*sum((g - 1)*[1, n(1), n(1)*n(2)]), c_int64_t))
            here = reshape([(dice(0, 999), i=1, product(n))], n)
            select case (mod(turn, 3))
            case (0)
                call check(tern_put_strided(worker, to, here(f(1), f(2), f(3)), section) == TERN_OK, &
                        'put_strided')
            case (1)
                call check(tern_put_strided_start(worker, to, here(f(1), f(2), f(3)), section, &
                        request) == TERN_OK, 'put_strided_start')
                call check(tern_wait(worker, request) == TERN_OK, 'wait')
            case (2)
                call check(tern_put_strided_notify(worker, tern_worker_id(after, 0), to, &
                        here(f(1), f(2), f(3)), section, 5_c_int64_t, int(turn, c_int64_t), &
                        8_c_size_t, 0) == TERN_OK, 'put_strided_notify')
                status = tern_event_wait(worker, TERN_PROBE_LOCAL, event)
                call check(status == TERN_OK .and. event%local_cid == 5, 'local event')
                status = tern_event_wait(worker, TERN_PROBE_REMOTE, event)
                call check(status == TERN_OK .and. event%cid(1) == turn, 'remote event')
                call tern_check(tern_barrier(worker)) ! and so has the target
            end select
            do i = 0, c(1) - 1
                do j = 0, c(2) - 1
                    do k = 0, c(3) - 1
                        model(g(1) + i*t(1), g(2) + j*t(2), g(3) + k*t(3)) = &
                            here(f(1) + i*s(1), f(2) + j*s(2), f(3) + k*s(3))
                    end do
                end do
            end do
            call check(tern_flush(worker, after) == TERN_OK, 'flush')
            call check(tern_get(worker, whole(1, 1, 1), theirs, c_sizeof(whole)) == TERN_OK, 'get')
            call check(all(whole == model), 'what was put')

            filled = -1
            do i = 0, c(1) - 1
                do j = 0, c(2) - 1
                    do k = 0, c(3) - 1
                        filled(f(1) + i*s(1), f(2) + j*s(2), f(3) + k*s(3)) = &
                            model(g(1) + i*t(1), g(2) + j*t(2), g(3) + k*t(3))
                    end do
                end do
            end do
            here = -1
            select case (mod(turn, 3))
            case (0)
                call check(tern_get_strided(worker, here(f(1), f(2), f(3)), to, section) == TERN_OK, &
                        'get_strided')
            case (1)
                call check(tern_get_strided_start(worker, here(f(1), f(2), f(3)), to, section, &
                        request) == TERN_OK, 'get_strided_start')
                call check(tern_wait(worker, request) == TERN_OK, 'wait')
            case (2)
                call check(tern_get_strided_notify(worker, tern_worker_id(after, 0), &
                        here(f(1), f(2), f(3)), to, section, 6_c_int64_t, nothing, 0_c_size_t, &
                        TERN_NOTIFY_NO_REMOTE) == TERN_OK, 'get_strided_notify')
                status = tern_event_wait(worker, TERN_PROBE_LOCAL, event)
                call check(status == TERN_OK .and. event%local_cid == 6, 'event of a get')
            end select
            call check(all(here == filled), 'what was got')
        end do
        section = tern_section(element_bytes=8, dimensions=1)
        section%count(1) = 2
        section%remote_stride(1) = 4
        section%local_stride(1) = 8
        call check(tern_put_strided(worker, theirs, here(:, 1, 1), section) == TERN_ERR_ARGUMENT, &
                'overlap')
        section%remote_stride(1) = 2_c_int64_t**40
        call check(tern_put_strided(worker, theirs, here(:, 1, 1), section) == TERN_ERR_RANGE, &
                'range')
        call tern_check(tern_barrier(worker))
        call tern_check(tern_free_all(worker, mine))
    end subroutine

    subroutine test_vectors()
        integer, parameter :: most = 7, room = 60
        type(tern_ptr) :: mine, theirs
        type(tern_extent) :: extents(most)
        type(tern_request), asynchronous :: request
        type(tern_event) :: event
        integer(c_int8_t), asynchronous, target :: here(room)
        integer(c_int8_t) :: model(room), whole(room)
        integer :: turn, i, at, from, bytes
        call tern_check(tern_alloc_all(worker, c_sizeof(here), 0_c_size_t, TERN_DOMAIN_GLOBAL, mine))
        theirs = tern_ptr_on(mine, after)
        model = 0
        call check(tern_put(worker, theirs, model, c_sizeof(model)) == TERN_OK, 'put')
        do turn = 1, 30
            here = int([(dice(0, 99), i=1, room)], c_int8_t)
            do i = 1, most ! each extent in its part of the memory there
                bytes = dice(0, 5)
                at = 8*(i - 1) + dice(1, 3)
                from = dice(1, room - bytes)
                extents(i) = tern_extent(tern_ptr_add(theirs, int(at - 1, c_int64_t)), &
                        c_loc(here(from)), int(bytes, c_size_t))
                model(at:at + bytes - 1) = here(from:from + bytes - 1)
            end do
            select case (mod(turn, 3))
            case (0)
                status = tern_put_vector(worker, after, extents, 7_c_size_t)
            case (1)
                status = tern_put_vector_start(worker, after, extents, 7_c_size_t, request)
                call check(tern_wait(worker, request) == TERN_OK, 'wait')
            case (2)
                status = tern_put_vector_notify(worker, tern_worker_id(after, 0), extents, &
                        7_c_size_t, 5_c_int64_t, 0_c_int64_t, 0_c_size_t, TERN_NOTIFY_NO_REMOTE)
                call check(tern_event_wait(worker, TERN_PROBE_LOCAL, event) == TERN_OK, 'event')
            end select
            call check(status == TERN_OK, 'put_vector')
            call check(tern_flush(worker, after) == TERN_OK, 'flush')
            call check(tern_get(worker, whole, theirs, c_sizeof(whole)) == TERN_OK, 'get')
            call check(all(whole == model), 'what extents have put')

            do i = 1, most
                extents(i)%local = c_loc(here(8*i - 7))
            end do
            here = -1
            select case (mod(turn, 3))
            case (0)
                status = tern_get_vector(worker, after, extents, 7_c_size_t)
            case (1)
                status = tern_get_vector_start(worker, after, extents, 7_c_size_t, request)
                call check(tern_wait(worker, request) == TERN_OK, 'wait')
            case (2)
                status = tern_get_vector_notify(worker, tern_worker_id(after, 0), extents, &
                        7_c_size_t, 5_c_int64_t, 0_c_int64_t, 0_c_size_t, TERN_NOTIFY_NO_REMOTE)
                call check(tern_event_wait(worker, TERN_PROBE_LOCAL, event) == TERN_OK, 'event')
            end select
            call check(status == TERN_OK, 'get_vector')
            do i = 1, most
                bytes = int(extents(i)%bytes)
                at = int(extents(i)%remote%offset - theirs%offset) + 1
                call check(all(here(8*i - 7:8*i - 8 + bytes) == model(at:at + bytes - 1)) .and. &
                        all(here(8*i - 7 + bytes:min(8*i, room)) == -1), 'what extents have got')
            end do
        end do
        call tern_check(tern_barrier(worker))
        call tern_check(tern_free_all(worker, mine))
    end subroutine

    subroutine test_updates()
        type(tern_ptr) :: mine, theirs
        type(tern_request), asynchronous :: request
        integer(c_int64_t), asynchronous :: numbers(9), old(9)
        integer(c_int64_t) :: known(9)
        integer(c_int32_t) :: small, small_old
        real(c_double) :: one, one_old, reals(9), reals_known(9)
        real(c_float) :: single
        complex(c_double) :: complexes(9), complexes_known(9)
        integer :: op, turn, i
        call tern_check(tern_alloc_all(worker, 144_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, mine))
        theirs = tern_ptr_on(mine, after)
        known = [(dice(-999, 999), i=1, 9)]
        call check(tern_put(worker, theirs, known, 72_c_size_t) == TERN_OK, 'put')
        call check(tern_flush(worker, after) == TERN_OK, 'flush')
        do turn = 1, 3
            do op = TERN_REDUCE_SUM, TERN_REDUCE_REPLACE
                numbers = [(dice(-999, 999), i=1, 9)]
                old = known
                if (turn == 1) then
                    status = tern_accumulate(worker, theirs, numbers, 9_c_size_t, TERN_INT64, op)
                else if (turn == 2) then
                    status = tern_get_accumulate(worker, theirs, numbers, old, 9_c_size_t, &
                            TERN_INT64, op)
                else
                    status = tern_get_accumulate_start(worker, theirs, numbers, old, 9_c_size_t, &
                            TERN_INT64, op, request)
                    call check(tern_wait(worker, request) == TERN_OK, 'wait')
                end if
                call check(status == TERN_OK .and. all(old == known), 'accumulate')
                select case (op)
                case (TERN_REDUCE_SUM); known = known + numbers
                case (TERN_REDUCE_MIN); known = min(known, numbers)
                case (TERN_REDUCE_MAX); known = max(known, numbers)
                case (TERN_REDUCE_PRODUCT); known = known*numbers
                case (TERN_REDUCE_AND); known = iand(known, numbers)
                case (TERN_REDUCE_OR); known = ior(known, numbers)
                case (TERN_REDUCE_XOR); known = ieor(known, numbers)
                case (TERN_REDUCE_REPLACE); known = numbers
                end select
                call check(tern_get(worker, old, theirs, 72_c_size_t) == TERN_OK, 'get')
                call check(all(old == known), 'what was updated')
            end do
        end do

        reals_known = [(dice(-99, 99)/2.0_c_double, i=1, 9)]
        reals = [(dice(-99, 99)/2.0_c_double, i=1, 9)]
        call check(tern_put(worker, theirs, reals_known, 72_c_size_t) == TERN_OK, 'put')
        call check(tern_flush(worker, after) == TERN_OK, 'flush')
        call check(tern_accumulate(worker, theirs, reals, 9_c_size_t, TERN_DOUBLE, TERN_REDUCE_MAX) &
                == TERN_OK, 'accumulate of reals')
        status = tern_atomic_fetch_add_double(worker, theirs, 1.5_c_double, one_old)
        call check(status == TERN_OK .and. same(one_old, max(reals(1), reals_known(1))), 'fetch_add')
        call check(tern_atomic_fetch_add_double(worker, theirs, 1.0_c_double) == TERN_OK, 'fetch_add')
        one = -1000
        status = tern_get_accumulate(worker, theirs, one, one, 1_c_size_t, TERN_DOUBLE, TERN_REDUCE_MIN)
        call check(status == TERN_OK .and. same(one, one_old + 2.5_c_double), 'in place')
        call check(tern_get(worker, reals_known, theirs, 72_c_size_t) == TERN_OK, 'get')
        call check(same(reals_known(1), -1000.0_c_double), 'minimum')

        single = 0.25
        call check(tern_put(worker, theirs, single, 4_c_size_t) == TERN_OK, 'put')
        call check(tern_flush(worker, after) == TERN_OK, 'flush')
        status = tern_atomic_fetch_add_float(worker, theirs, 1.0_c_float, single)
        call check(status == TERN_OK .and. abs(single - 0.25) < 1e-6, 'fetch_add of a float')
        small = 40
        call check(tern_accumulate(worker, theirs, small, 1_c_size_t, TERN_INT32, TERN_REDUCE_REPLACE) &
                == TERN_OK, 'replace')
        small = 2
        status = tern_get_accumulate(worker, theirs, small, small_old, 1_c_size_t, TERN_INT32, &
                TERN_REDUCE_SUM)
        call check(status == TERN_OK .and. small_old == 40, 'a number of 4 bytes')

        complexes_known = [(cmplx(dice(-9, 9), dice(-9, 9), c_double), i=1, 9)]
        complexes = [(cmplx(dice(-9, 9), dice(-9, 9), c_double), i=1, 9)]
        call check(tern_put(worker, theirs, complexes_known, 144_c_size_t) == TERN_OK, 'put')
        call check(tern_flush(worker, after) == TERN_OK, 'flush')
        call check(tern_accumulate(worker, theirs, complexes, 9_c_size_t, TERN_COMPLEX_DOUBLE, &
                TERN_REDUCE_PRODUCT) == TERN_OK, 'product')
        complexes_known = complexes_known*complexes
        call check(tern_get(worker, complexes, theirs, 144_c_size_t) == TERN_OK, 'get')
        call check(all(abs(complexes - complexes_known) < 1e-9), 'complex numbers')
        call check(tern_accumulate(worker, theirs, one, 1_c_size_t, TERN_DOUBLE, TERN_REDUCE_XOR) &
                == TERN_ERR_ARGUMENT, 'no such operation')
        call check(tern_number_bytes(TERN_COMPLEX_DOUBLE) == 16 .and. tern_number_bytes(99) == 0 .and. &
                tern_number_has(TERN_FLOAT, TERN_REDUCE_MIN) == 1 .and. &
                tern_number_has(TERN_FLOAT, TERN_REDUCE_AND) == 0, 'numbers')
        call tern_check(tern_barrier(worker))
        call tern_check(tern_free_all(worker, mine))
    end subroutine

    function same(a, b)
        real(c_double), intent(in) :: a, b
        logical :: same
        same = abs(a - b) < 1e-9
    end function

    subroutine test_waits()
        type(tern_ptr) :: mine, theirs
        type(tern_word_list) :: list
        integer(c_int64_t), pointer, asynchronous :: words(:)
        integer(c_int32_t), pointer, asynchronous :: halves(:)
        integer(c_int64_t), target :: values(4)
        integer(c_int), target :: skip(4)
        integer(c_int32_t), target :: peer
        integer(c_size_t) :: index, indices(4), found
        integer(c_int) :: holds
        integer(c_int64_t) :: turn
        integer :: i
        call tern_check(tern_alloc_all(worker, 64_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, mine))
        theirs = tern_ptr_on(mine, after)
        call c_f_pointer(tern_local_address(context, mine), words, [8])
        call c_f_pointer(tern_local_address(context, mine), halves, [16])
        words = 0
        call tern_check(tern_barrier(worker))
        do turn = 1, 10 ! the word goes round the ranks
            if (me == 0) call tern_check(tern_atomic_store(worker, theirs, turn))
            call check(tern_wait_until(worker, words(1), TERN_EQUAL, turn) == TERN_OK, 'wait_until')
            if (me > 0) call tern_check(tern_atomic_store(worker, theirs, turn))
            status = tern_test_until(worker, words(1), TERN_LESS, turn, holds)
            call check(status == TERN_OK .and. holds == 0, 'test_until')
        end do
        call tern_check(tern_atomic_store(worker, tern_ptr_add(theirs, 12_c_int64_t), -5_c_int32_t))
        call check(tern_wait_until(worker, halves(4), TERN_LESS_SIGNED, -4_c_int32_t) == TERN_OK, &
                'wait_until of 4 bytes')
        status = tern_test_until(worker, halves(4), TERN_LESS, 5_c_int32_t, holds)
        call check(status == TERN_OK .and. holds == 0, 'without a sign')

        list%words = c_loc(words(5))
        list%count = 4
        list%comparison = TERN_GREATER_SIGNED
        list%skip = c_loc(skip)
        list%peer = c_loc(peer)
        peer = before
        skip = 0
        do i = 1, 4
            call tern_check(tern_atomic_store(worker, tern_ptr_add(theirs, &
                    int(8*(3 + mod(i*3, 5)), c_int64_t)), int(mod(i*3, 5), c_int64_t)))
            status = tern_wait_until_any(worker, list, 0_c_size_t, index)
            call check(status == TERN_OK .and. index < 4, 'wait_until_any')
            status = tern_test_until_some(worker, list, indices, found)
            call check(status == TERN_OK .and. any(indices(:found) == index), 'test_until_some')
            skip(index + 1) = 1
        end do
        call check(all(skip == 1), 'each word once')
        status = tern_test_until_any(worker, list, 0_c_size_t, index)
        call check(status == TERN_OK .and. index == TERN_NO_WORD, 'no word')
        list%skip = c_null_ptr
        list%comparison = TERN_EQUAL
        values = [1, 2, 3, 4]
        list%values = c_loc(values)
        call check(tern_wait_until_all(worker, list) == TERN_OK, 'wait_until_all')
        values(3) = 9
        status = tern_test_until_all(worker, list, holds)
        call check(status == TERN_OK .and. holds == 0, 'test_until_all')
        status = tern_wait_until_some(worker, list, indices, found)
        call check(status == TERN_OK .and. found == 3 .and. all(indices(:3) == [0, 1, 3]), &
                'wait_until_some')
        list%width = 2
        call check(tern_wait_until_all(worker, list) == TERN_ERR_ARGUMENT, 'no such width')
        call tern_check(tern_barrier(worker))
        call tern_check(tern_free_all(worker, mine))
    end subroutine

end module
