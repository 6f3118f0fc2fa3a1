! Teams and calls built in place: a part of tests/languages/fortran_transfers.f90, and its program.

module teams
    use, intrinsic :: iso_c_binding
    use tern
    use checks
    use transfers
    use called
    implicit none
    private :: value_of

contains

    ! The number i of a member.
    elemental function value_of(member, i) result(number)
        integer, intent(in) :: member, i
        integer(c_int64_t) :: number
        number = mod(int(member + 3, c_int64_t)*7919*(i + 11), 1009_c_int64_t) - 500
    end function

    ! The vectors of the members first to last of a team, combined.
    function folded(first, last, op, count) result(numbers)
        integer, intent(in) :: first, last, count
        integer(c_int), intent(in) :: op
        integer(c_int64_t) :: numbers(count)
        integer :: member, i
        numbers = value_of(first, [(i, i=1, count)])
        do member = first + 1, last
            select case (op)
            case (TERN_REDUCE_SUM); numbers = numbers + value_of(member, [(i, i=1, count)])
            case (TERN_REDUCE_MIN); numbers = min(numbers, value_of(member, [(i, i=1, count)]))
            case (TERN_REDUCE_MAX); numbers = max(numbers, value_of(member, [(i, i=1, count)]))
            case (TERN_REDUCE_PRODUCT); numbers = numbers*value_of(member, [(i, i=1, count)])
            case (TERN_REDUCE_AND); numbers = iand(numbers, value_of(member, [(i, i=1, count)]))
            case (TERN_REDUCE_OR); numbers = ior(numbers, value_of(member, [(i, i=1, count)]))
            case (TERN_REDUCE_XOR); numbers = ieor(numbers, value_of(member, [(i, i=1, count)]))
            end select
        end do
    end function

    ! All collectives of a team, on vectors of this many numbers.
    subroutine use_team(team, count)
        type(tern_team), intent(in) :: team
        integer, intent(in) :: count
        type(tern_request), asynchronous :: request(10)
        integer(c_int64_t), asynchronous :: numbers(count), a(count), b(count), c(count), d(count), e(count)
        integer(c_int64_t), asynchronous, allocatable :: all_of(:, :), gathered(:, :), out(:, :), in(:, :)
        integer(c_int64_t), allocatable :: expected(:, :)
        integer(c_int64_t), allocatable :: ones(:), twos(:)
        integer(c_int64_t) :: one
        integer(c_size_t) :: n, bytes
        integer(c_int32_t) :: rank, members, root
        integer :: op, i, member
        rank = tern_team_rank(worker, team)
        members = tern_team_size(worker, team)
        n = count
        bytes = 8*n
        allocate (all_of(count, 0:members - 1), gathered(count, 0:members - 1), out(count, 0:members - 1), &
                in(count, 0:members - 1), expected(count, 0:members - 1), ones(0:members - 1))
        numbers = value_of(rank, [(i, i=1, count)])
        do member = 0, members - 1
            expected(:, member) = value_of(member, [(i, i=1, count)])
        end do
        call check(tern_team_barrier(worker, team) == TERN_OK, 'team_barrier')
        do op = TERN_REDUCE_SUM, TERN_REDUCE_XOR
            a = numbers
            call check(tern_team_allreduce(worker, team, TERN_INT64, op, a, n) == TERN_OK, 'allreduce')
            call check(all(a == folded(0, members - 1, op, count)), 'reduced')
            a = numbers
            call check(tern_team_reduce(worker, team, members - 1, TERN_INT64, op, a, n) == TERN_OK, &
                    'reduce')
            if (rank == members - 1) call check(all(a == folded(0, members - 1, op, count)), &
                    'reduced at root')
            a = numbers
            call check(tern_team_scan(worker, team, TERN_INT64, op, a, n) == TERN_OK, 'scan')
            call check(all(a == folded(0, rank, op, count)), 'scanned')
            a = numbers
            call check(tern_team_scan_before(worker, team, TERN_INT64, op, a, n) == TERN_OK, &
                    'scan_before')
            call check(all(a == folded(0, max(rank - 1, 0), op, count)), 'scanned before')
        end do
        one = value_of(rank, 1)
        call check(tern_team_allreduce(worker, team, TERN_INT64, TERN_REDUCE_SUM, one, 1_c_size_t) &
                == TERN_OK, 'allreduce of one')
        call check(one == sum(expected(1, :)), 'one')
        do root = 0, members - 1
            a = 0
            if (rank == root) a = numbers
            call check(tern_team_broadcast(worker, team, root, a, bytes) == TERN_OK, 'broadcast')
            call check(all(a == expected(:, root)), 'what was broadcast')
            if (rank == root) then
                all_of = 0
                status = tern_team_gather(worker, team, root, numbers, all_of(1, 0), bytes)
                call check(all(all_of == expected), 'what was gathered')
            else
                status = tern_team_gather(worker, team, root, numbers, all_of(1, 0), bytes)
            end if
            call check(status == TERN_OK, 'gather')
        end do
        all_of = 0
        call check(tern_team_allgather(worker, team, numbers, all_of(1, 0), bytes) == TERN_OK, 'allgather')
        call check(all(all_of == expected), 'what all gathered')
        ones = 0
        call check(tern_team_allgather(worker, team, numbers(1), ones, 8_c_size_t) == TERN_OK, &
                'allgather of one')
        call check(all(ones == expected(1, :)), 'one of each')
        status = tern_team_gather(worker, team, 0, one, ones, 8_c_size_t)
        call check(status == TERN_OK .and. (rank > 0 .or. all(ones == one)), 'gather of one')
        twos = ones
        status = tern_team_alltoall(worker, team, twos, ones, 8_c_size_t)
        call check(status == TERN_OK .and. (rank > 0 .or. ones(0) == one), 'alltoall of one')
        out = spread(numbers, 2, members)
        do member = 0, members - 1
            out(:, member) = out(:, member) + 10000*member
        end do
        in = 0
        call check(tern_team_alltoall(worker, team, out(1, 0), in(1, 0), bytes) == TERN_OK, 'alltoall')
        call check(all(in == expected + 10000*rank), 'what was exchanged')

        ! The same, all under way, and waited for the other way round.
        a = numbers
        b = numbers
        c = numbers
        d = numbers
        e = 0
        if (rank == 0) e = numbers
        all_of = 0
        gathered = 0
        in = 0
        call tern_check(tern_team_barrier_start(worker, team, request(1)))
        call tern_check(tern_team_allreduce_start(worker, team, TERN_INT64, TERN_REDUCE_SUM, a, n, request(2)))
        call tern_check(tern_team_scan_start(worker, team, TERN_INT64, TERN_REDUCE_SUM, b, n, request(3)))
        call tern_check(tern_team_scan_before_start(worker, team, TERN_INT64, TERN_REDUCE_MAX, c, n, &
                request(4)))
        call tern_check(tern_team_reduce_start(worker, team, 0, TERN_INT64, TERN_REDUCE_MIN, d, n, request(5)))
        call tern_check(tern_team_broadcast_start(worker, team, 0, e, bytes, request(6)))
        call tern_check(tern_team_gather_start(worker, team, 0, numbers, gathered(1, 0), bytes, request(7)))
        call tern_check(tern_team_allgather_start(worker, team, numbers, all_of(1, 0), bytes, request(8)))
        call tern_check(tern_team_alltoall_start(worker, team, out(1, 0), in(1, 0), bytes, request(9)))
        do i = 9, 1, -1
            call check(tern_wait(worker, request(i)) == TERN_OK, 'wait for a collective')
        end do
        call check(all(a == folded(0, members - 1, TERN_REDUCE_SUM, count)), 'allreduce_start')
        call check(all(b == folded(0, rank, TERN_REDUCE_SUM, count)), 'scan_start')
        call check(all(c == folded(0, max(rank - 1, 0), TERN_REDUCE_MAX, count)), 'scan_before_start')
        if (rank == 0) call check(all(d == folded(0, members - 1, TERN_REDUCE_MIN, count)) .and. &
                all(gathered == expected), 'reduce_start and gather_start')
        call check(all(e == expected(:, 0)) .and. all(all_of == expected) .and. &
                all(in == expected + 10000*rank), 'broadcast_start, allgather_start, alltoall_start')
    end subroutine

    subroutine test_teams()
        type(tern_team) :: back, listed, half, alone, none
        type(tern_request), asynchronous :: request
        type(tern_event) :: event
        integer(c_int64_t), asynchronous :: numbers(1)
        integer(c_int32_t) :: rank
        integer :: i, op
        call tern_check(tern_team_stride(worker, ranks - 1, -1_c_int64_t, int(ranks, c_size_t), back))
        call check(tern_team_rank(worker, back) == ranks - 1 - me, 'rank in a team')
        status = tern_team_translate(worker, back, 0, rank)
        call check(status == TERN_OK .and. rank == ranks - 1, 'translate')
        call check(tern_team_translate(worker, back, ranks, rank) == TERN_ERR_ARGUMENT, 'no member')
        ! Odd ranks before even ones.
        call tern_check(tern_team_create(worker, [(i, i=1, ranks - 1, 2), (i, i=0, ranks - 1, 2)], &
                int(ranks, c_size_t), listed))
        call check(tern_team_create(worker, [me, me], 2_c_size_t, none) == TERN_ERR_ARGUMENT, 'twice')
        call tern_check(tern_team_split(worker, TERN_ALL_RANKS, mod(me, 2), int(ranks - me, c_int64_t), half))
        call check(tern_team_size(worker, half) == (ranks + 1 - mod(me, 2))/2, 'size of a half')
        call tern_check(tern_team_split(worker, half, TERN_TEAM_ALONE, 0_c_int64_t, alone))
        call check(tern_team_size(worker, alone) == 1, 'alone')
        do i = 1, 2
            call use_team(TERN_ALL_RANKS, merge(3, 3000, i == 1))
            call use_team(back, merge(3, 3000, i == 1))
            call use_team(listed, merge(3, 3000, i == 1))
            call use_team(half, merge(3, 3000, i == 1))
            call use_team(alone, merge(3, 3000, i == 1))
        end do

        numbers = 1
        call tern_check(tern_team_allreduce_start(worker, back, TERN_INT64, TERN_REDUCE_SUM, numbers, &
                1_c_size_t, request))
        call check(tern_team_event(worker, request, 99_c_int64_t) == TERN_OK, 'team_event')
        status = tern_event_wait(worker, TERN_PROBE_LOCAL, event)
        call check(status == TERN_OK .and. event%local_cid == 99 .and. numbers(1) == ranks, &
                'event of a collective')
        call check(tern_wait(worker, request) == TERN_OK, 'wait')
        op = merge(TERN_REDUCE_SUM, TERN_REDUCE_MAX, me == 0)
        status = tern_team_allreduce(worker, back, TERN_INT64, op, numbers, 1_c_size_t)
        call check(status == merge(TERN_OK, TERN_ERR_MISMATCH, ranks == 1), 'another operation')
        call tern_check(tern_team_barrier(worker, TERN_ALL_RANKS))
        call check(tern_team_destroy(worker, back) == TERN_OK, 'destroy')
        call check(tern_team_destroy(worker, alone) == TERN_OK, 'destroy')
    end subroutine

    subroutine test_reservations(note_function)
        type(tern_function), intent(in) :: note_function
        type(tern_reservation) :: reservation
        integer(c_int64_t), pointer :: arguments(:)
        noted = 0
        call tern_check(tern_barrier(worker))
        call check(tern_call_reserve(worker, tern_worker_id(after, 0), note_function, 80_c_size_t, &
                reservation) == TERN_OK, 'call_reserve')
        call c_f_pointer(reservation%arguments, arguments, [10])
        arguments(:3) = [1, 2, 4]
        call check(reservation%bytes >= 80 .and. tern_call_commit(reservation, 88_c_size_t) &
                == TERN_ERR_RANGE, 'too much')
        call check(tern_call_commit(reservation, 24_c_size_t) == TERN_OK, 'call_commit')
        call check(tern_call_reserve(worker, tern_worker_id(after, 0), note_function, 80_c_size_t, &
                reservation) == TERN_OK, 'call_reserve again')
        call tern_call_cancel(reservation)
        call tern_check(tern_quiesce(worker))
        call check(noted == 7 + 1000*before, 'what was called')
    end subroutine

end module

program test_fortran_transfers
    use mpi_f08
    use tern
    use checks
    use called
    use transfers
    use teams
    implicit none
    type(tern_function), save :: note_function

    call MPI_Init()
    call tern_check(tern_function_register(note_function, 'note', note))
    call tern_check(tern_context_create(MPI_COMM_WORLD, context, 'TERN_SEGMENT_SIZE=16M'))
    call tern_check(tern_worker_adopt(context, 0, worker))
    me = tern_context_rank(context)
    ranks = tern_context_size(context)
    after = mod(me + 1, ranks)
    before = mod(me + ranks - 1, ranks)
    call throw_dice()
    call test_sections()
    call test_vectors()
    call test_updates()
    call test_waits()
    call test_teams()
    call test_reservations(note_function)
    call check(tern_worker_release(worker) == TERN_OK, 'release')
    call tern_check(tern_context_destroy(context))
    call MPI_Finalize()
    if (failures > 0) error stop 1
end program
