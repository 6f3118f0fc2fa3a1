#ifndef TERN_CPP_TRANSFER_HPP
#define TERN_CPP_TRANSFER_HPP

/*
 * Puts, gets and atomics on typed global pointers. Order, completion and statuses are those of
 * tern/transfer.h.
 */

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tern/cpp/future.hpp"
#include "tern/cpp/pointer.hpp"
#include "tern/transfer.h"

namespace tern {

template <class T> result<void> put(tern_worker *worker, pointer<T> to, const T &value) {
    return tern_put(worker, to.place, &value, sizeof(T));
}

template <class T>
result<void> put(tern_worker *worker, pointer<T> to, const T *from, std::size_t count) {
    return tern_put(worker, to.place, from, count * sizeof(T));
}

template <class T> result<T> get(tern_worker *worker, pointer<T> from) {
    T value;
    tern_status status = tern_get(worker, &value, from.place, sizeof(T));
    if (status != TERN_OK)
        return status;
    return value;
}

template <class T>
result<void> get(tern_worker *worker, pointer<T> from, T *to, std::size_t count) {
    return tern_get(worker, to, from.place, count * sizeof(T));
}

/* These start a put or a get of one element, and return a future. */
template <class T> result<future<T>> put_start(tern_worker *worker, pointer<T> to, const T &value) {
    return future<T>::begin(worker, value, [&](tern_request *request, T *kept) {
        return tern_put_start(worker, to.place, kept, sizeof(T), request);
    });
}

template <class T> result<future<T>> get_start(tern_worker *worker, pointer<T> from) {
    return future<T>::begin(worker, T(), [&](tern_request *request, T *kept) {
        return tern_get_start(worker, kept, from.place, sizeof(T), request);
    });
}

/* Completion and order: tern_flush, tern_flush_all, tern_fence, and the collective tern_barrier. */
inline result<void> flush(tern_worker *worker, std::uint32_t rank) {
    return tern_flush(worker, rank);
}
inline result<void> flush_all(tern_worker *worker) { return tern_flush_all(worker); }
inline result<void> fence(tern_worker *worker, std::uint32_t rank) {
    return tern_fence(worker, rank);
}
inline result<void> barrier(tern_worker *worker) { return tern_barrier(worker); }

namespace detail {

/* The word of the C interface that is as wide as T. */
template <class T> constexpr void require_word() {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "atomics work on integers of 4 or 8 bytes");
}
template <class T> using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/* Runs operation(word *old), which does an atomic and stores the word before it in old. */
template <class T, class Operation> result<T> atomic(Operation operation) {
    require_word<T>();
    word<T> old = 0;
    tern_status status = operation(&old);
    if (status != TERN_OK)
        return status;
    return static_cast<T>(old);
}

} // namespace detail

/* Atomics return the value before. */
#define TERN_CPP_ATOMIC(name)                                                                      \
    template <class T> result<T> name(tern_worker *worker, pointer<T> p, T operand) {              \
        return detail::atomic<T>([&](detail::word<T> *old) {                                       \
            if constexpr (sizeof(T) == 8)                                                          \
                return tern_atomic_##name(worker, p.place, static_cast<std::uint64_t>(operand),    \
                                          old);                                                    \
            else                                                                                   \
                return tern_atomic_##name##32(worker, p.place,                                     \
                                              static_cast<std::uint32_t>(operand), old);           \
        });                                                                                        \
    }
TERN_CPP_ATOMIC(fetch_add)
TERN_CPP_ATOMIC(fetch_and)
TERN_CPP_ATOMIC(fetch_or)
TERN_CPP_ATOMIC(fetch_xor)
TERN_CPP_ATOMIC(swap)
#undef TERN_CPP_ATOMIC

/* Stores desired if the word is expected. It was stored if the value before equals expected. */
template <class T>
result<T> compare_swap(tern_worker *worker, pointer<T> p, T expected, T desired) {
    return detail::atomic<T>([&](detail::word<T> *old) {
        auto from = static_cast<detail::word<T>>(expected);
        auto to = static_cast<detail::word<T>>(desired);
        if constexpr (sizeof(T) == 8)
            return tern_atomic_cas(worker, p.place, from, to, old);
        else
            return tern_atomic_cas32(worker, p.place, from, to, old);
    });
}

template <class T> result<T> load(tern_worker *worker, pointer<T> p) {
    return detail::atomic<T>([&](detail::word<T> *old) {
        if constexpr (sizeof(T) == 8)
            return tern_atomic_load(worker, p.place, old);
        else
            return tern_atomic_load32(worker, p.place, old);
    });
}

template <class T> result<void> store(tern_worker *worker, pointer<T> p, T value) {
    detail::require_word<T>();
    auto word = static_cast<detail::word<T>>(value);
    if constexpr (sizeof(T) == 8)
        return tern_atomic_store(worker, p.place, word);
    else
        return tern_atomic_store32(worker, p.place, word);
}

} // namespace tern

#endif
