#ifndef TERN_CPP_CALL_IN_PLACE_HPP
#define TERN_CPP_CALL_IN_PLACE_HPP

/*
 * Calls whose arguments are built in place (tern/call_in_place.h). The function takes its arguments
 * as bytes:
 *
 *     static void insert(tern_call_info &, tern::bytes arguments) { ... }
 *
 *     auto call = tern::reserve<insert>(worker, target, most).value();
 *     std::size_t size = encode(call.data(), item);
 *     call.commit(size).value();
 *
 * A reservation that is dropped before its commit is cancelled. The program registers the function
 * as tern::call does (tern/cpp/call.hpp); what it returns is dropped, except an error. While a
 * reservation is open, its worker may not wait, and calls nobody at the same target.
 */

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tern/call_in_place.h"
#include "tern/cpp/bytes.hpp"
#include "tern/cpp/call.hpp"

namespace tern {

/* A call that is being built. Used by the thread of its worker. The destructor cancels it, never
 * blocks, and sends nothing. */
class [[nodiscard]] reservation {
  public:
    /* Reserves memory of most bytes, for the arguments of a call of a function that was declared
     * with TERN_FUNCTION. Never waits for room. Returns the errors of tern_call_reserve. */
    static result<reservation> create(tern_worker *worker, tern_worker_id target,
                                      const tern_function *function, std::size_t most) {
        reservation r;
        tern_status status = tern_call_reserve(worker, target, function, most, &r.call_);
        if (status != TERN_OK)
            return status;
        return r;
    }

    reservation(reservation &&other) noexcept : call_(std::exchange(other.call_, {})) {}
    reservation &operator=(reservation &&other) noexcept {
        std::swap(call_, other.call_);
        return *this;
    }
    ~reservation() { cancel(); }

    /* Returns the memory for the arguments, 8-byte aligned, and its size. Its content is undefined.
     * Not valid after the commit or the cancel. */
    void *data() const noexcept { return call_.arguments; }
    std::size_t size() const noexcept { return call_.bytes; }

    /* Returns the memory as an array of T, for size() / sizeof(T) elements. */
    template <class T> T *as() const noexcept {
        detail::require_plain<T>();
        static_assert(alignof(T) <= 8, "arguments that are built in place are 8-byte aligned");
        return static_cast<T *>(call_.arguments);
    }

    /* Makes the call with the first bytes of the memory as its arguments, which ends the
     * reservation. It may wait for room outside handlers. After an error the reservation is still
     * open. */
    result<void> commit(std::size_t bytes) { return tern_call_commit(&call_, bytes); }

    /* Ends the reservation without a call. Does nothing if it has ended. */
    void cancel() noexcept {
        if (call_.worker != nullptr)
            tern_call_cancel(&call_);
    }

  private:
    reservation() = default;

    tern_reservation call_ = {};
};

namespace detail {

template <class Signature, auto Function> struct remote_bytes_signature {
    static_assert(!std::is_same_v<Signature, Signature>,
                  "a function whose arguments are built in place has the parameters "
                  "tern_call_info & and tern::bytes");
};
template <class Returned, auto Function>
struct remote_bytes_signature<Returned (*)(tern_call_info &, bytes), Function> {
    static tern_status handler(tern_call_info *call, const void *arguments, std::size_t size) {
        return catching(call, [&] {
            return return_from<Returned>(call,
                                         [&] { return Function(*call, bytes(arguments, size)); });
        });
    }
};
template <class Returned, auto Function>
struct remote_bytes_signature<Returned (*)(tern_call_info &, bytes) noexcept, Function>
    : remote_bytes_signature<Returned (*)(tern_call_info &, bytes), Function> {};

template <auto Function>
struct remote_bytes : remote_bytes_signature<std::decay_t<decltype(Function)>, Function> {
    static inline registration registered{pretty<Function>(), remote_bytes::handler};
};

} // namespace detail

/* Reserves memory of most bytes, for the arguments of a call of Function to target. */
template <auto Function>
result<reservation> reserve(tern_worker *worker, tern_worker_id target, std::size_t most) {
    return reservation::create(worker, target, &detail::remote_bytes<Function>::registered.function,
                               most);
}

} // namespace tern

#endif
