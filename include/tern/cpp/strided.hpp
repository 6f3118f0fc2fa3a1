#ifndef TERN_CPP_STRIDED_HPP
#define TERN_CPP_STRIDED_HPP

/*
 * Puts and gets of sections of arrays (tern/strided.h): elements that do not lie side by side.
 *
 *     The left column of a matrix of 100 x 200 doubles goes into the right column of a neighbour's:
 *
 *     const auto column = tern::section<double>().dimension(100, 200, 200);
 *     tern::put_strided(worker, theirs + 199, mine, column).value();
 *
 * Strides count elements, as the arithmetic of tern::pointer does; dimension_bytes takes strides in
 * bytes, for members of structs. Completion, order and statuses are those of the functions of
 * tern/strided.h that have the same names. tern_put_vector and its like, for lists of addresses,
 * are called as in C.
 */

#include <cstddef>
#include <cstdint>

#include "tern/cpp/future.hpp"
#include "tern/cpp/notify.hpp"
#include "tern/cpp/pointer.hpp"
#include "tern/strided.h"

namespace tern {

/* A box of elements of type T in up to TERN_DIMENSIONS_MAX dimensions. Plain data. A section
 * without dimensions is one element. */
template <class T> class section {
  public:
    /* Adds a dimension outside of those that are there already. count: elements in it. Strides: the
     * distance from one element to the next, there and here, in elements; may be negative. A
     * dimension too many makes the transfers return TERN_ERR_ARGUMENT. */
    section &dimension(std::size_t count, std::ptrdiff_t remote_stride,
                       std::ptrdiff_t local_stride) {
        return dimension_bytes(count, in_bytes(remote_stride), in_bytes(local_stride));
    }

    /* Adds a dimension with strides in bytes. */
    section &dimension_bytes(std::size_t count, std::int64_t remote_stride,
                             std::int64_t local_stride) {
        const std::uint32_t d = section_.dimensions;
        if (d <= TERN_DIMENSIONS_MAX)
            section_.dimensions++;
        if (d < TERN_DIMENSIONS_MAX) {
            section_.count[d] = count;
            section_.remote_stride[d] = remote_stride;
            section_.local_stride[d] = local_stride;
        }
        return *this;
    }

    /* The section of the C interface. */
    const tern_section *get() const noexcept { return &section_; }

  private:
    /* A stride that does not fit becomes one that leads beyond every segment. */
    static std::int64_t in_bytes(std::ptrdiff_t elements) {
        std::int64_t bytes = 0;
        if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(sizeof(T)), &bytes))
            return elements < 0 ? INT64_MIN + 1 : INT64_MAX;
        return bytes;
    }

    static tern_section empty() {
        tern_section s = {};
        s.element_bytes = sizeof(T);
        return s;
    }

    tern_section section_ = empty();
};

/* Puts the elements of a section. to, from: the first element there and here. On return the source
 * may be reused. */
template <class T>
result<void> put_strided(tern_worker *worker, pointer<T> to, const T *from,
                         const section<T> &elements) {
    detail::require_plain<T>();
    return tern_put_strided(worker, to.place, from, elements.get());
}

/* Gets the elements of a section, and blocks until they are there. */
template <class T>
result<void> get_strided(tern_worker *worker, pointer<T> from, T *to, const section<T> &elements) {
    detail::require_plain<T>();
    return tern_get_strided(worker, to, from.place, elements.get());
}

/* Starts put_strided. The source must not change until the future is complete. */
template <class T>
result<future<void>> put_strided_start(tern_worker *worker, pointer<T> to, const T *from,
                                       const section<T> &elements) {
    detail::require_plain<T>();
    return future<void>::begin(worker, [&](tern_request *request) {
        return tern_put_strided_start(worker, to.place, from, elements.get(), request);
    });
}

/* Starts get_strided. The program must not touch the local elements until the future is complete.
 */
template <class T>
result<future<void>> get_strided_start(tern_worker *worker, pointer<T> from, T *to,
                                       const section<T> &elements) {
    detail::require_plain<T>();
    return future<void>::begin(worker, [&](tern_request *request) {
        return tern_get_strided_start(worker, to, from.place, elements.get(), request);
    });
}

/* Puts the elements of a section and notifies worker target, as put_notify does: the event with id
 * comes when all elements are at their destination. */
template <class T, class Id>
result<void> put_strided_notify(tern_worker *worker, tern_worker_id target, pointer<T> to,
                                const T *from, const section<T> &elements, const Id &id,
                                std::uint64_t local_id = 0, unsigned flags = TERN_NOTIFY_NO_LOCAL) {
    detail::require_plain<T>();
    const auto options = detail::notify_options(local_id, id, flags);
    return tern_put_strided_notify(worker, target, to.place, from, elements.get(), &options);
}

/* Gets the elements of a section and notifies worker owner, as get_notify does: the local event
 * tells that they have arrived. */
template <class T, class Id>
result<void> get_strided_notify(tern_worker *worker, tern_worker_id owner, T *to, pointer<T> from,
                                const section<T> &elements, std::uint64_t local_id, const Id &id,
                                unsigned flags = 0) {
    detail::require_plain<T>();
    const auto options = detail::notify_options(local_id, id, flags);
    return tern_get_strided_notify(worker, owner, to, from.place, elements.get(), &options);
}

} // namespace tern

#endif
