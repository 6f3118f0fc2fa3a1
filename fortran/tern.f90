! tern for Fortran 2008 with TS 29113, which mpi_f08 needs as well. The functions are those of the C
! interface (the headers in include/tern are their reference) with their names, arguments and statuses:
!
!     status = tern_put(worker, place, values, c_sizeof(values))
!     call tern_check(tern_barrier(worker))      ! stops the program on an error
!
! Where C takes a pointer to data, pass the variable itself: a scalar or an array of any type. Arrays
! must be contiguous. Arguments that may be NULL in C are optional. Registered memory is left out.
! Ranks and worker indexes are from 0, as in MPI.
! tests/languages compares the types and constants here with those of the headers.

module tern
    use, intrinsic :: iso_c_binding
    use mpi_f08, only: MPI_Comm
    implicit none
    private :: MPI_Comm

    ! ---- types ----

    type, bind(C) :: tern_context
        type(c_ptr) :: c = c_null_ptr
    end type
    type, bind(C) :: tern_worker
        type(c_ptr) :: c = c_null_ptr
    end type
    type, bind(C) :: tern_hashtable
        type(c_ptr) :: c = c_null_ptr
    end type
    type, bind(C) :: tern_queue
        type(c_ptr) :: c = c_null_ptr
    end type

    type, bind(C) :: tern_distributed_queue
        type(c_ptr) :: c = c_null_ptr
    end type
    type, bind(C) :: tern_map
        type(c_ptr) :: c = c_null_ptr
    end type
    type, bind(C) :: tern_part
        type(c_ptr) :: c = c_null_ptr
    end type

    ! Some ranks in an order of their own (team.inc).
    type, bind(C) :: tern_team
        type(c_ptr) :: c = c_null_ptr
    end type

    type, bind(C) :: tern_worker_id
        integer(c_int32_t) :: rank = 0
        integer(c_int32_t) :: index = 0
    end type

    ! A place in the memory of a rank; plain data that may be sent to other ranks.
    type, bind(C) :: tern_ptr
        integer(c_int32_t) :: rank = 0
        integer(c_int16_t) :: segment = 0
        integer(c_int16_t) :: domain = 0
        integer(c_int64_t) :: offset = 0
    end type

    ! A box of elements: element (i, j, ...), from 0, lies i*stride(1) + j*stride(2) + ... bytes from
    ! the first one. Dimension 1 is the innermost. Strides may be negative.
    type, bind(C) :: tern_section
        integer(c_size_t) :: element_bytes = 0
        integer(c_int32_t) :: dimensions = 0
        integer(c_size_t) :: count(8) = 0
        integer(c_int64_t) :: remote_stride(8) = 0
        integer(c_int64_t) :: local_stride(8) = 0
    end type

    ! Bytes that lie side by side, there and here.
    type, bind(C) :: tern_extent
        type(tern_ptr) :: remote
        type(c_ptr) :: local = c_null_ptr
        integer(c_size_t) :: bytes = 0
    end type

    ! Words of memory and what is wanted of each (wait.inc). words, values, skip and peer are
    ! addresses of arrays, and of a rank; words are of width bytes, 4 or 8, or 0: 8.
    type, bind(C) :: tern_word_list
        type(c_ptr) :: words = c_null_ptr
        integer(c_size_t) :: count = 0
        integer(c_size_t) :: width = 0
        integer(c_int) :: comparison = 0
        integer(c_int64_t) :: value = 0
        type(c_ptr) :: values = c_null_ptr
        type(c_ptr) :: skip = c_null_ptr
        type(c_ptr) :: peer = c_null_ptr
    end type

    type, bind(C) :: tern_event
        integer(c_int) :: kind = 0
        integer(c_int) :: status = 0
        type(tern_worker_id) :: peer
        integer(c_int64_t) :: local_cid = 0
        integer(c_int64_t) :: bytes = 0
        integer(c_int32_t) :: is_get = 0
        integer(c_int32_t) :: cid_bytes = 0
        integer(c_int64_t) :: cid(32) = 0 ! so a cid of 8 bytes is cid(1)
    end type

    ! What options.inc passes on. Programs pass arguments in their place.
    type, bind(C) :: tern_notify_options
        integer(c_int64_t) :: local_cid = 0
        type(c_ptr) :: cid = c_null_ptr
        integer(c_size_t) :: cid_bytes = 0
        integer(c_int) :: flags = 0
    end type
    type, bind(C) :: tern_modify_options
        type(c_ptr) :: argument = c_null_ptr
        integer(c_size_t) :: argument_bytes = 0
        integer(c_int) :: absent = 0
        type(c_ptr) :: result = c_null_ptr
        integer(c_size_t) :: capacity = 0
        type(c_ptr) :: result_bytes = c_null_ptr
    end type

    type, bind(C) :: tern_hashtable_options
        integer(c_size_t) :: key_bytes = 0
        integer(c_size_t) :: value_bytes = 0
        integer(c_int) :: counter = 0
        integer(c_int64_t) :: capacity = 0
        integer(c_int) :: call_only = 0
        integer(c_int) :: grow = 0
        type(c_funptr) :: key_hash = c_null_funptr
        type(c_funptr) :: key_equal = c_null_funptr
        type(c_funptr) :: key_owner = c_null_funptr
        type(c_ptr) :: key_argument = c_null_ptr
    end type

    type, bind(C) :: tern_queue_options
        integer(c_int32_t) :: host = 0
        integer(c_size_t) :: item_bytes = 0
        integer(c_int64_t) :: capacity = 0
        integer(c_int) :: call_only = 0
    end type

    type, bind(C) :: tern_map_options
        integer(c_int64_t) :: capacity = 0
        integer(c_size_t) :: inline_bytes = 0
        integer(c_int) :: call_only = 0
        integer(c_int) :: grow = 0
        type(c_funptr) :: key_owner = c_null_funptr
        type(c_funptr) :: key_digest = c_null_funptr
        type(c_ptr) :: key_argument = c_null_ptr
    end type

    ! What a function that visits a map is given, and what a batch takes.
    type, bind(C) :: tern_map_item
        type(c_ptr) :: key = c_null_ptr
        type(c_ptr) :: value = c_null_ptr
        integer(c_size_t) :: key_bytes = 0
        integer(c_size_t) :: value_bytes = 0
    end type

    ! A key to look for, and room for its value.
    type, bind(C) :: tern_map_slot
        type(c_ptr) :: key = c_null_ptr
        integer(c_size_t) :: key_bytes = 0
        type(c_ptr) :: value = c_null_ptr
        integer(c_size_t) :: room = 0
        integer(c_size_t) :: value_bytes = 0
        integer(c_int) :: found = 0
    end type

    ! An operation that has started. It is complete at first. It must not be copied while its
    ! operation is under way.
    type, bind(C) :: tern_request
        private
        integer(c_int64_t) :: own(8) = 0
    end type

    ! What a handler may ask about its call.
    type, bind(C) :: tern_call_info
        type(tern_worker) :: worker
        type(tern_worker_id) :: origin
        type(c_ptr) :: result = c_null_ptr
        integer(c_size_t) :: result_bytes = 0
        type(c_ptr) :: buffer = c_null_ptr
        integer(c_size_t) :: buffer_bytes = 0
        type(c_ptr) :: chunks = c_null_ptr
        integer(c_size_t) :: chunk_count = 0
        type(c_ptr) :: user = c_null_ptr
    end type

    ! A function that other ranks call. Made by tern_function_register.
    type, bind(C) :: tern_function
        type(c_ptr) :: name = c_null_ptr
        type(c_funptr) :: handler = c_null_funptr
        type(c_ptr) :: user = c_null_ptr
        integer(c_int32_t) :: id = 0
    end type

    ! A call that is being built. It must not be copied.
    type, bind(C) :: tern_reservation
        type(c_ptr) :: arguments = c_null_ptr
        integer(c_size_t) :: bytes = 0
        type(c_ptr), private :: worker = c_null_ptr
        type(c_ptr), private :: lane = c_null_ptr
        integer(c_int64_t), private :: limit = 0, header = 0
        type(tern_worker_id), private :: target
        logical(c_bool), private :: in_progress = .false., in_handler = .false., in_ring = .false.
    end type

    ! What a function that changes a value of a table is given beside the value.
    type, bind(C) :: tern_hashtable_modify_info
        type(tern_worker) :: worker
        type(tern_worker_id) :: origin
        type(c_ptr) :: key = c_null_ptr
        type(c_ptr) :: argument = c_null_ptr
        integer(c_size_t) :: argument_bytes = 0
        integer(c_int) :: existed = 0
        type(c_ptr) :: result = c_null_ptr
        integer(c_size_t) :: result_bytes = 0
        type(c_ptr) :: user = c_null_ptr ! of this module
    end type

    ! What a function that changes a value of a map is given.
    type, bind(C) :: tern_map_modify_info
        type(tern_worker) :: worker
        type(tern_worker_id) :: origin
        type(c_ptr) :: key = c_null_ptr
        integer(c_size_t) :: key_bytes = 0
        type(c_ptr) :: value = c_null_ptr
        integer(c_size_t) :: value_bytes = 0
        type(c_ptr) :: argument = c_null_ptr
        integer(c_size_t) :: argument_bytes = 0
        integer(c_int) :: existed = 0
        type(c_ptr) :: result = c_null_ptr
        integer(c_size_t) :: result_bytes = 0
        type(c_ptr) :: user = c_null_ptr ! of this module
    end type

    ! Functions that change values. Made by tern_hashtable_modifier_register and tern_map_modifier_register.
    type, bind(C) :: tern_hashtable_modifier
        type(c_funptr) :: function = c_null_funptr
        type(c_ptr) :: call = c_null_ptr
        integer(c_int) :: any_thread = 0
    end type
    type, bind(C) :: tern_map_modifier
        type(c_funptr) :: function = c_null_funptr
        type(c_ptr) :: call = c_null_ptr
        integer(c_int) :: any_thread = 0
    end type

    ! What a file says about its table, or its map.
    type, bind(C) :: tern_hashtable_file
        integer(c_size_t) :: key_bytes = 0
        integer(c_size_t) :: value_bytes = 0
        integer(c_int) :: counter = 0
        integer(c_int64_t) :: keys = 0
        integer(c_size_t) :: note_bytes = 0
        character(kind=c_char) :: note(257) = c_null_char
    end type
    type, bind(C) :: tern_map_file
        integer(c_int64_t) :: keys = 0
        integer(c_int64_t) :: key_bytes = 0
        integer(c_int64_t) :: value_bytes = 0
        integer(c_size_t) :: note_bytes = 0
        character(kind=c_char) :: note(257) = c_null_char
    end type

    ! ---- constants ----

    enum, bind(C)
        enumerator :: TERN_OK = 0, TERN_ERR_ARGUMENT, TERN_ERR_CONFIG, TERN_ERR_RANGE, &
            TERN_ERR_MEMORY, TERN_ERR_FULL, TERN_ERR_EMPTY, TERN_ERR_NOT_FOUND, TERN_ERR_EXISTS, &
            TERN_ERR_AGAIN, TERN_ERR_TIMEOUT, TERN_ERR_PEER, TERN_ERR_STATE, TERN_ERR_MISMATCH, &
            TERN_ERR_UNSUPPORTED, TERN_ERR_MPI, TERN_ERR_SYSTEM, TERN_ERR_CORRUPT, &
            TERN_ERR_NETWORK, TERN_ERR_DONE, TERN_STATUS_COUNT
    end enum
    enum, bind(C)
        enumerator :: TERN_DOMAIN_GLOBAL = 0, TERN_DOMAIN_NODE, TERN_DOMAIN_OWNER
    end enum
    enum, bind(C)
        enumerator :: TERN_EVENT_LOCAL = 1, TERN_EVENT_REMOTE
    end enum
    enum, bind(C)
        enumerator :: TERN_REDUCE_SUM = 0, TERN_REDUCE_MIN, TERN_REDUCE_MAX, TERN_REDUCE_PRODUCT, &
            TERN_REDUCE_AND, TERN_REDUCE_OR, TERN_REDUCE_XOR, TERN_REDUCE_REPLACE
    end enum
    enum, bind(C)
        enumerator :: TERN_UINT64 = 0, TERN_INT64, TERN_DOUBLE, TERN_INT32, TERN_UINT32, TERN_FLOAT, &
            TERN_COMPLEX_FLOAT, TERN_COMPLEX_DOUBLE
    end enum
    enum, bind(C)
        enumerator :: TERN_EQUAL = 0, TERN_NOT_EQUAL, TERN_LESS, TERN_LESS_EQUAL, TERN_GREATER, &
            TERN_GREATER_EQUAL, TERN_LESS_SIGNED, TERN_LESS_EQUAL_SIGNED, TERN_GREATER_SIGNED, &
            TERN_GREATER_EQUAL_SIGNED
    end enum
    enum, bind(C)
        enumerator :: TERN_ABSENT_FAIL = 0, TERN_ABSENT_INSERT
    end enum
    ! Flags of operations, combined by ior.
    integer(c_int32_t), parameter :: TERN_READ_WRITE = 0, TERN_WRITE_ONLY = 1, &
        TERN_READ_ONLY = 2, TERN_LOCAL = 4, TERN_AUTO = 0, TERN_BY_RMA = 8, TERN_BY_CALL = 16
    integer(c_int), parameter :: TERN_NOTIFY_NO_LOCAL = 1, TERN_NOTIFY_NO_REMOTE = 2
    integer(c_int), parameter :: TERN_PROBE_LOCAL = 1, TERN_PROBE_REMOTE = 2, TERN_PROBE_ANY = 3
    integer(c_int), parameter :: TERN_NUMA_ANY = -1
    integer(c_int), parameter :: TERN_DIMENSIONS_MAX = 8
    integer(c_size_t), parameter :: TERN_NO_WORD = -1
    integer(c_int), parameter :: TERN_TEAM_UNDER_WAY = 64 ! collectives of a team
    integer(c_int32_t), parameter :: TERN_TEAM_ALONE = -1
    type(tern_team), parameter :: TERN_ALL_RANKS = tern_team(c_null_ptr)
    integer(c_int), parameter :: TERN_RESULT_MAX = 1024 ! bytes that call%result has room for
    integer(c_int), parameter :: TERN_MAP_KEY_MAX = 65536 ! bytes of the largest keys of maps
    integer(c_int), parameter :: TERN_HASHTABLE_MODIFY_RESULT_MAX = 1016 ! bytes that info%result has room for
    integer(c_int), parameter :: TERN_MAP_MODIFY_RESULT_MAX = 1000 ! the same of a map
    integer(c_int), parameter :: TERN_NOTE_MAX = 256 ! bytes of the longest note of a file

    ! A function that other ranks call. arguments is the address of bytes bytes; what it returns is
    ! the status of the call. It may not wait. Its result goes to where call%result points
    ! (c_f_pointer), and call%result_bytes says how long it is.
    abstract interface
        function tern_handler(call, arguments, bytes) bind(C)
            import :: c_int, c_ptr, c_size_t, tern_call_info
            type(tern_call_info), intent(inout) :: call
            type(c_ptr), value :: arguments
            integer(c_size_t), value :: bytes
            integer(c_int) :: tern_handler
        end function
        ! A function that changes the value of a table at this address. It returns TERN_OK, or an
        ! error, and then nothing is changed. It may neither wait nor use the table.
        function tern_hashtable_modify_function(info, value) bind(C)
            import :: c_int, c_ptr, tern_hashtable_modify_info
            type(tern_hashtable_modify_info), intent(inout) :: info
            type(c_ptr), value :: value
            integer(c_int) :: tern_hashtable_modify_function
        end function
        ! The same for a map: it changes what info%value points to, and its size by
        ! tern_map_resize. It may run again, and has no effect but on the value and the result.
        function tern_map_modify_function(info) bind(C)
            import :: c_int, tern_map_modify_info
            type(tern_map_modify_info), intent(inout) :: info
            integer(c_int) :: tern_map_modify_function
        end function
    end interface

    include 'transfer.inc'
    include 'strided.inc'
    include 'accumulate.inc'
    include 'wait.inc'
    include 'team.inc'
    include 'request.inc'
    include 'objects.inc'
    include 'queue.inc'
    include 'map.inc'
    include 'modify.inc'

    private :: tern_run_modifier, tern_run_map_modifier, modify_options

contains

    include 'register.inc'
    include 'options.inc'
    include 'file.inc'

    ! Collective over comm. options: such as "TERN_WORKERS=2 TERN_SEGMENT_SIZE=1G".
    function tern_context_create(comm, context, options) result(status)
        type(MPI_Comm), intent(in) :: comm
        type(tern_context), intent(out) :: context
        character(len=*), intent(in), optional :: options
        integer(c_int) :: status
        interface
            function create(comm, options, context) bind(C, name='tern_context_create_f')
                import :: c_char, c_int, tern_context
                integer(c_int), value :: comm
                character(kind=c_char), intent(in) :: options(*)
                type(tern_context), intent(out) :: context
                integer(c_int) :: create
            end function
        end interface
        if (present(options)) then
            status = create(int(comm%MPI_VAL, c_int), options//c_null_char, context)
        else
            status = create(int(comm%MPI_VAL, c_int), c_null_char, context)
        end if
    end function

    ! The meaning of a status in a few words.
    function tern_strerror(status) result(text)
        integer(c_int), intent(in) :: status
        character(len=:), allocatable :: text
        interface
            function strerror(status) bind(C, name='tern_strerror')
                import :: c_int, c_ptr
                integer(c_int), value :: status
                type(c_ptr) :: strerror
            end function
        end interface
        text = text_at(strerror(status))
    end function

    ! The text of the last failure of this thread.
    function tern_error_detail() result(text)
        character(len=:), allocatable :: text
        interface
            function error_detail() bind(C, name='tern_error_detail')
                import :: c_ptr
                type(c_ptr) :: error_detail
            end function
        end interface
        text = text_at(error_detail())
    end function

    ! Ends the program with the text of the error, unless status is TERN_OK.
    subroutine tern_check(status)
        use, intrinsic :: iso_fortran_env, only: error_unit
        integer(c_int), intent(in) :: status
        if (status == TERN_OK) return
        write (error_unit, '(4a)') 'tern: ', tern_strerror(status), ': ', tern_error_detail()
        error stop 1
    end subroutine

    ! The value of a key as a string of its size. value is as before if the status is not TERN_OK.
    ! The key is a string too: gfortran passes the length of a string as one argument more, which a
    ! dummy argument of any type would not take.
    function tern_map_find_alloc(worker, map, key, key_bytes, flags, value) result(status)
        type(tern_worker), intent(in) :: worker
        type(tern_map), intent(in) :: map
        character(len=*), intent(in) :: key
        integer(c_size_t), intent(in) :: key_bytes
        integer(c_int32_t), intent(in) :: flags
        character(len=:), allocatable, intent(inout) :: value
        integer(c_int) :: status
        type(c_ptr) :: found
        integer(c_size_t) :: value_bytes
        interface
            function find_alloc(worker, map, key, key_bytes, flags, value, value_bytes) &
                bind(C, name='tern_map_find_alloc')
                import :: c_int, c_int32_t, c_ptr, c_size_t, tern_map, tern_worker
                type(tern_worker), value :: worker
                type(tern_map), value :: map
                type(*), intent(in) :: key
                integer(c_size_t), value :: key_bytes
                integer(c_int32_t), value :: flags
                type(c_ptr), intent(out) :: value
                integer(c_size_t), intent(out) :: value_bytes
                integer(c_int) :: find_alloc
            end function
            subroutine free_memory(memory) bind(C, name='free')
                import :: c_ptr
                type(c_ptr), value :: memory
            end subroutine
        end interface
        status = find_alloc(worker, map, key, key_bytes, flags, found, value_bytes)
        if (status /= TERN_OK) return
        value = bytes_at(found, value_bytes)
        call free_memory(found)
    end function

    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(len=:), allocatable :: text
        interface
            function strlen(text) bind(C)
                import :: c_ptr, c_size_t
                type(c_ptr), value :: text
                integer(c_size_t) :: strlen
            end function
        end interface
        text = bytes_at(address, strlen(address))
    end function

    function bytes_at(address, bytes) result(text)
        type(c_ptr), intent(in) :: address
        integer(c_size_t), intent(in) :: bytes
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: c(:)
        integer(c_size_t) :: i
        call c_f_pointer(address, c, [bytes])
        allocate (character(len=bytes) :: text)
        do i = 1, bytes
            text(i:i) = c(i)
        end do
    end function

end module tern
