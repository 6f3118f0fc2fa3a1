! The least that a Fortran program can do with tern.
program outside
    use mpi_f08
    use tern
    implicit none
    type(tern_context) :: context
    type(tern_worker) :: worker
    call MPI_Init()
    call tern_check(tern_context_create(MPI_COMM_WORLD, context))
    call tern_check(tern_worker_adopt(context, 0, worker))
    call tern_check(tern_barrier(worker))
    call tern_check(tern_context_destroy(context))
    call MPI_Finalize()
end program
