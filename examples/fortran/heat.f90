! Heat along a rod. Each rank has a piece and puts the ends of it into its neighbours' memory, which
! tells them. Run: mpirun -n 4 heat_fortran
program heat
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use tern
    implicit none
    integer, parameter :: cells = 64, steps = 500
    integer, parameter :: left = 1, right = 2
    type(tern_context) :: context
    type(tern_worker) :: worker
    type(tern_ptr) :: place
    type(tern_ptr), allocatable :: places(:)
    type(tern_event) :: event
    real(c_double), pointer :: halo(:, :) ! what the neighbours put: by side and by step, in turn
    real(c_double), allocatable :: t(:)
    integer :: me, ranks, n, step, turn, arrived(2)

    call MPI_Init()
    call tern_check(tern_context_create(MPI_COMM_WORLD, context))
    call tern_check(tern_worker_adopt(context, 0, worker))
    me = tern_context_rank(context)
    ranks = tern_context_size(context)
    n = cells/ranks
    allocate (t(0:n + 1), places(0:ranks - 1))
    t = 0

    call tern_check(tern_alloc(worker, 32_c_size_t, 0_c_size_t, TERN_DOMAIN_GLOBAL, place))
    call c_f_pointer(tern_local_address(context, place), halo, [2, 2])
    halo(left, :) = 1 ! the left end of the rod is hot, the right end cold
    halo(right, :) = 0
    call MPI_Allgather(place, 16, MPI_BYTE, places, 16, MPI_BYTE, MPI_COMM_WORLD)

    arrived = 0
    if (me == 0) arrived(left) = steps ! nobody is there
    if (me == ranks - 1) arrived(right) = steps
    do step = 1, steps
        turn = 1 + mod(step, 2)
        if (me > 0) call send(me - 1, right, t(1))
        if (me < ranks - 1) call send(me + 1, left, t(n))
        do while (any(arrived < step))
            call tern_check(tern_event_wait(worker, TERN_PROBE_REMOTE, event))
            arrived(event%cid(1)) = arrived(event%cid(1)) + 1
        end do
        t(0) = halo(left, turn)
        t(n + 1) = halo(right, turn)
        t(1:n) = t(1:n) + 0.25*(t(0:n - 1) - 2*t(1:n) + t(2:n + 1))
    end do
    if (me == (cells/4 - 1)/n) write (*, '(a,f17.15)') 'a quarter along: ', t(cells/4 - me*n)

    call tern_check(tern_context_destroy(context))
    call MPI_Finalize()

contains

    ! Puts value to the halo of a neighbour, for the side at which this rank is.
    subroutine send(neighbour, side, value)
        integer, intent(in) :: neighbour, side
        real(c_double), intent(in) :: value
        integer(c_int64_t) :: offset
        offset = 8*(side - 1 + 2*(turn - 1))
        call tern_check(tern_put_notify(worker, tern_worker_id(neighbour, 0), &
                                        tern_ptr_add(places(neighbour), offset), value, &
                                        8_c_size_t, 0_c_int64_t, int(side, c_int64_t), &
                                        8_c_size_t, TERN_NOTIFY_NO_LOCAL))
    end subroutine

end program heat
