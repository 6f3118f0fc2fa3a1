# The functions that TERN_ATOMICS(type, suffix) of tern/transfer.h declares, for scripts/docs.awk and
# scripts/man.awk. [out] list: one declaration each. Returns how many there are.
function atomics_list(type, suffix, list,    name, count, i, of) {
    of = suffix "(tern_worker *worker, tern_ptr p, " type " "
    count = split("fetch_add fetch_and fetch_or fetch_xor swap", name, " ")
    for (i = 1; i <= count; i++)
        list[i] = "tern_status tern_atomic_" name[i] of "operand, " type " *old);"
    list[++count] = "tern_status tern_atomic_cas" of "expected, " type " desired, " type " *old);"
    list[++count] = "tern_status tern_atomic_load" of "*value);"
    list[++count] = "tern_status tern_atomic_store" of "value);"
    return count
}
