#ifndef TERN_CPP_COLLECTIVE_HPP
#define TERN_CPP_COLLECTIVE_HPP

/* Collectives on plain types (tern/collective.h). */

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tern/collective.h"
#include "tern/cpp/object.hpp"

namespace tern {

/* Copies the elements at data of rank root to data of every rank. */
template <class T>
result<void> broadcast(tern_worker *worker, std::uint32_t root, T *data, std::size_t count = 1) {
    detail::require_plain<T>();
    return tern_notify_broadcast(worker, root, data, count * sizeof(T));
}

/* Combines the values of all ranks, element by element and in place. */
template <class T>
result<void> allreduce(tern_worker *worker, tern_reduction op, T *values, std::size_t count = 1) {
    constexpr bool integer = std::is_integral_v<T> && sizeof(T) == 8;
    static_assert(integer || std::is_same_v<T, double>,
                  "an all-reduce works on integers of 8 bytes and on double");
    tern_number number = TERN_DOUBLE;
    if constexpr (integer)
        number = std::is_signed_v<T> ? TERN_INT64 : TERN_UINT64;
    return tern_notify_allreduce(worker, number, op, values, count);
}

} // namespace tern

#endif
