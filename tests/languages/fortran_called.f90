! What tests/languages/fortran.f90 checks with, and what it has called.

module checks
    use tern
    implicit none
    integer :: failures = 0
contains
    subroutine check(holds, what)
        use, intrinsic :: iso_fortran_env, only: error_unit
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        failures = failures + 1
        write (error_unit, '(4a)') 'fortran: ', what, ': ', tern_error_detail()
    end subroutine
end module

module called
    use, intrinsic :: iso_c_binding
    use tern
    implicit none
    integer(c_int64_t) :: noted = 0
contains
    function note(call, arguments, bytes) bind(C) result(status)
        type(tern_call_info), intent(inout) :: call
        type(c_ptr), value :: arguments
        integer(c_size_t), value :: bytes
        integer(c_int) :: status
        integer(c_int64_t), pointer :: values(:)
        call c_f_pointer(arguments, values, [bytes/8])
        noted = noted + sum(values) + 1000*call%origin%rank
        status = TERN_OK
    end function

    function mean(call, arguments, bytes) bind(C) result(status)
        type(tern_call_info), intent(inout) :: call
        type(c_ptr), value :: arguments
        integer(c_size_t), value :: bytes
        integer(c_int) :: status
        real(c_double), pointer :: values(:), answer
        if (bytes == 0) then
            status = TERN_ERR_ARGUMENT
            return
        end if
        call c_f_pointer(arguments, values, [bytes/8])
        call c_f_pointer(call%result, answer)
        answer = sum(values)/size(values)
        call%result_bytes = 8
        status = TERN_OK
    end function

    function visit(key, value, argument) bind(C) result(stop)
        type(c_ptr), value :: key, value, argument
        integer(c_int) :: stop
        integer(c_int64_t), pointer :: total
        real(c_double), pointer :: found
        call c_f_pointer(argument, total)
        call c_f_pointer(value, found)
        if (c_associated(key)) total = total + nint(found)
        stop = 0
    end function

    function visit_map(item, argument) bind(C) result(stop)
        type(tern_map_item), intent(in) :: item
        type(c_ptr), value :: argument
        integer(c_int) :: stop
        integer(c_int64_t), pointer :: total
        call c_f_pointer(argument, total)
        if (c_associated(item%key)) total = total + item%value_bytes
        stop = merge(1, 0, item%key_bytes == 99) ! no key has this size
    end function

    ! Multiplies the value of a table by its argument, and tells the new one; of a new key 1.
    function multiply(info, value) bind(C) result(status)
        type(tern_hashtable_modify_info), intent(inout) :: info
        type(c_ptr), value :: value
        integer(c_int) :: status
        real(c_double), pointer :: number, by, answer
        call c_f_pointer(value, number)
        call c_f_pointer(info%argument, by)
        call c_f_pointer(info%result, answer)
        if (info%existed == 0) number = 1
        number = number*by
        answer = number
        info%result_bytes = 8
        status = merge(TERN_OK, TERN_ERR_RANGE, number < 100) ! then nothing has changed
    end function

    ! Puts its argument behind the value of a map.
    function append(info) bind(C) result(status)
        type(tern_map_modify_info), intent(inout) :: info
        integer(c_int) :: status
        character(kind=c_char), pointer :: text(:), more(:)
        integer(c_size_t) :: before
        before = info%value_bytes
        status = tern_map_resize(info, before + info%argument_bytes)
        if (status /= TERN_OK) return
        call c_f_pointer(info%value, text, [info%value_bytes])
        call c_f_pointer(info%argument, more, [info%argument_bytes])
        text(before + 1:) = more
    end function

    ! Tells what the part of this rank has: its argument is the id.
    function ask(call, arguments, bytes) bind(C) result(status)
        type(tern_call_info), intent(inout) :: call
        type(c_ptr), value :: arguments
        integer(c_size_t), value :: bytes
        integer(c_int) :: status
        integer(c_int64_t), pointer :: id, answer
        integer(c_int32_t), pointer :: stock
        type(c_ptr) :: found
        status = TERN_ERR_STATE
        if (bytes /= 8) return
        call c_f_pointer(arguments, id)
        found = tern_part_find(call%worker, 'shop'//c_null_char, id)
        if (.not. c_associated(found)) return
        call c_f_pointer(found, stock)
        call c_f_pointer(call%result, answer)
        answer = stock
        call%result_bytes = 8
        status = TERN_OK
    end function
end module
