! The integral of a function that changes fast in some places: a piece whose integral is not exact
! enough is cut in two, and ranks without work take pieces from the others.
! Run: mpirun -n 4 integral_fortran
program integral
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use tern
    implicit none
    type, bind(C) :: piece
        real(c_double) :: left, right
    end type
    real(c_double), parameter :: tolerance = 1e-12
    type(tern_context) :: context
    type(tern_worker) :: worker
    type(tern_distributed_queue) :: queue
    type(tern_queue_options) :: options
    type(piece) :: p
    real(c_double) :: middle, whole, halves, total(1)
    integer :: status

    call MPI_Init()
    call tern_check(tern_context_create(MPI_COMM_WORLD, context))
    call tern_check(tern_worker_adopt(context, 0, worker))
    options%item_bytes = c_sizeof(p)
    options%capacity = 1024
    call tern_check(tern_distributed_queue_create(worker, options, queue))

    if (tern_context_rank(context) == 0) call push(0.0_c_double, 1.0_c_double)
    total = 0
    do
        status = tern_distributed_queue_pop(worker, queue, p, 0)
        if (status == TERN_ERR_DONE) exit ! all work is done, on all ranks
        call tern_check(status)
        middle = (p%left + p%right)/2
        whole = simpson(p%left, p%right)
        halves = simpson(p%left, middle) + simpson(middle, p%right)
        if (abs(halves - whole) > tolerance) then
            call push(p%left, middle)
            call push(middle, p%right)
        else
            total = total + halves
        end if
    end do
    call tern_check(tern_team_allreduce(worker, TERN_ALL_RANKS, TERN_DOUBLE, TERN_REDUCE_SUM, total, &
                                        1_c_size_t))
    if (tern_context_rank(context) == 0) write (*, '(a,f11.9)') 'the integral is ', total

    call tern_check(tern_distributed_queue_destroy(worker, queue))
    call tern_check(tern_context_destroy(context))
    call MPI_Finalize()

contains

    subroutine push(left, right)
        real(c_double), intent(in) :: left, right
        call tern_check(tern_distributed_queue_try_push(worker, queue, piece(left, right), 0))
    end subroutine

    function f(x)
        real(c_double), intent(in) :: x
        real(c_double) :: f
        f = 1/(1 + 1e4*(x - 0.3)**2) ! a narrow peak
    end function

    function simpson(left, right)
        real(c_double), intent(in) :: left, right
        real(c_double) :: simpson
        simpson = (right - left)/6*(f(left) + 4*f((left + right)/2) + f(right))
    end function

end program integral
