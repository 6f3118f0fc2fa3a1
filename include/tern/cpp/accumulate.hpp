#ifndef TERN_CPP_ACCUMULATE_HPP
#define TERN_CPP_ACCUMULATE_HPP

/*
 * Typed updates of arrays in global memory (tern/accumulate.h): each number there is combined with
 * one of the caller, atomically.
 *
 *     tern::accumulate(worker, theirs, TERN_REDUCE_SUM, forces, count).value();
 *     double before = tern::get_accumulate(worker, largest, TERN_REDUCE_MAX, 3.5).value();
 *
 * T is a type of tern::number_of. Atomicity, completion, order and statuses are those of
 * tern/accumulate.h; an operation that the type does not have is TERN_ERR_ARGUMENT.
 */

#include <cstddef>

#include "tern/accumulate.h"
#include "tern/cpp/future.hpp"
#include "tern/cpp/number.hpp"
#include "tern/cpp/pointer.hpp"

namespace tern {

/* Combines count numbers at to with those of values. Blocks if the array is of another node. */
template <class T>
result<void> accumulate(tern_worker *worker, pointer<T> to, tern_reduction op, const T *values,
                        std::size_t count) {
    return tern_accumulate(worker, to.place, values, count, number_of<T>(), op);
}

/* Combines one number with value. */
template <class T>
result<void> accumulate(tern_worker *worker, pointer<T> to, tern_reduction op, const T &value) {
    return tern_accumulate(worker, to.place, &value, 1, number_of<T>(), op);
}

/* Does the same for count numbers, and stores in old what they were before. old may be values. */
template <class T>
result<void> get_accumulate(tern_worker *worker, pointer<T> to, tern_reduction op, const T *values,
                            T *old, std::size_t count) {
    return tern_get_accumulate(worker, to.place, values, old, count, number_of<T>(), op);
}

/* Combines one number with value, and returns what it was before. */
template <class T>
result<T> get_accumulate(tern_worker *worker, pointer<T> to, tern_reduction op, const T &value) {
    T old = value;
    tern_status status = tern_get_accumulate(worker, to.place, &old, &old, 1, number_of<T>(), op);
    if (status != TERN_OK)
        return status;
    return old;
}

/* Starts accumulate. values must not change until the future is complete. */
template <class T>
result<future<void>> accumulate_start(tern_worker *worker, pointer<T> to, tern_reduction op,
                                      const T *values, std::size_t count) {
    return future<void>::begin(worker, [&](tern_request *request) {
        return tern_accumulate_start(worker, to.place, values, count, number_of<T>(), op, request);
    });
}

/* Starts get_accumulate. The program must not use values and old until the future is complete. */
template <class T>
result<future<void>> get_accumulate_start(tern_worker *worker, pointer<T> to, tern_reduction op,
                                          const T *values, T *old, std::size_t count) {
    return future<void>::begin(worker, [&](tern_request *request) {
        return tern_get_accumulate_start(worker, to.place, values, old, count, number_of<T>(), op,
                                         request);
    });
}

/* Starts get_accumulate of one number, and returns a future of what it was before. */
template <class T>
result<future<T>> get_accumulate_start(tern_worker *worker, pointer<T> to, tern_reduction op,
                                       const T &value) {
    return future<T>::begin(worker, value, [&](tern_request *request, T *kept) {
        return tern_get_accumulate_start(worker, to.place, kept, kept, 1, number_of<T>(), op,
                                         request);
    });
}

/* Adds operand to a number of floating point, and returns what it was before. Faster than
 * get_accumulate where load/store reaches the number. */
inline result<double> fetch_add(tern_worker *worker, pointer<double> p, double operand) {
    return detail::value_of<double>(
        [&](double *old) { return tern_atomic_fetch_add_double(worker, p.place, operand, old); });
}
inline result<float> fetch_add(tern_worker *worker, pointer<float> p, float operand) {
    return detail::value_of<float>(
        [&](float *old) { return tern_atomic_fetch_add_float(worker, p.place, operand, old); });
}

} // namespace tern

#endif
