#ifndef TERN_CPP_CALL_HPP
#define TERN_CPP_CALL_HPP

/*
 * C++ functions as remote calls (tern/call.h). A function whose first parameter is tern_call_info &
 * runs on another worker, with copies of plain arguments:
 *
 *     static int add(tern_call_info &, int a, int b) { return a + b; }
 *
 *     tern::call<add>(worker, target, 1, 2).value();                  // its result is dropped
 *     int three = tern::call_return<add>(worker, target, 1, 2).value();
 *     auto sum = tern::call_start<add>(worker, target, 1, 2).value(); // a future
 *
 * It may be a lambda without captures that a constexpr variable of static storage holds as a
 * pointer to a function. It returns void, a plain type, a tern_status or a result<>; a status is
 * that of the call and not a value. An exception becomes TERN_ERR_STATE with its what(). The rules
 * of handlers hold: it must not wait.
 *
 * The program registers each function that it calls before main(), under the compiler's name of the
 * function. So every rank runs the same program, and two functions that are called must not have
 * one name (static ones in different files): tern_context_create is TERN_ERR_EXISTS then.
 */

#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tern/call.h"
#include "tern/cpp/future.hpp"

#if defined(__cpp_exceptions)
#include <exception>
#endif

namespace tern {

namespace detail {

template <class Returned> struct unwrapped { using type = Returned; };
template <class Returned> struct unwrapped<result<Returned>> { using type = Returned; };
template <> struct unwrapped<tern_status> { using type = void; };

template <class T> T load_argument(const unsigned char *&at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
}

/* Stores what a function returned as the result of the call. */
template <class T> tern_status return_value(tern_call_info *call, const T &value) {
    require_plain<T>();
    tern_status status = sizeof(T) <= TERN_RESULT_MAX ? TERN_OK : tern_call_result(call, sizeof(T));
    if (status != TERN_OK)
        return status;
    std::memcpy(call->result, &value, sizeof(T));
    call->result_bytes = sizeof(T);
    return TERN_OK;
}
template <class T> tern_status return_value(tern_call_info *call, const result<T> &value) {
    if constexpr (!std::is_void_v<T>) {
        if (value.ok())
            return return_value(call, value.value());
    }
    return value.status();
}
inline tern_status return_value(tern_call_info *, tern_status status) { return status; }

/* Runs function, which returns a status. What it throws becomes the error of the call. */
template <class Run> tern_status catching(const tern_call_info *call, Run function) {
#if defined(__cpp_exceptions)
    try {
        return function();
    } catch (const error &e) {
        return tern_call_fail(call, e.status(), "%s", e.what());
    } catch (const std::exception &e) {
        return tern_call_fail(call, TERN_ERR_STATE, "%s", e.what());
    } catch (...) {
        return tern_call_fail(call, TERN_ERR_STATE, "the function threw an exception");
    }
#else
    (void)call;
    return function();
#endif
}

/* Runs invoke and makes what it returns the result of the call. */
template <class Returned, class Invoke>
tern_status return_from(tern_call_info *call, Invoke invoke) {
    if constexpr (std::is_void_v<Returned>) {
        invoke();
        return TERN_OK;
    } else {
        return return_value(call, invoke());
    }
}

/* The compiler's text about a function that has the name of Function in it. */
template <auto Function> const char *pretty() { return __PRETTY_FUNCTION__; }

/* The compiler's name of a function, out of what pretty gives for it. tern compares names only up
 * to a parenthesis, so the name must not have one. */
inline std::string remote_name(const char *text) {
    std::string name = text;
    const std::string mark = "Function = ";
    name.erase(0, name.find(mark) + mark.size());
    for (char &c : name)
        c = c == '(' ? '{' : c == ')' ? '}' : c;
    return name.substr(0, name.rfind(']'));
}

/* Registers a handler under the name of a function before main(). */
struct registration {
    std::string name;
    tern_function function;
    registration(const char *text, tern_handler handler)
        : name(remote_name(text)), function{name.c_str(), handler, nullptr, 0} {
        tern_internal_function_declare(&function);
    }
    registration(const registration &) = delete;
};

template <auto Function, class Returned, class... Arguments> struct remote_base {
    using value_type = typename unwrapped<Returned>::type;

    static constexpr std::size_t bytes = (std::size_t(0) + ... + sizeof(Arguments));

    /* The arguments, one behind the other. */
    struct packed {
        unsigned char data[bytes > 0 ? bytes : 1];

        explicit packed(const Arguments &...arguments) {
            (require_plain<Arguments>(), ...);
            unsigned char *at = data;
            ((std::memcpy(at, &arguments, sizeof(Arguments)), at += sizeof(Arguments)), ...);
            (void)at;
        }
    };

    static tern_status handler(tern_call_info *call, const void *arguments, std::size_t size) {
        if (size != bytes)
            return tern_call_fail(call, TERN_ERR_MISMATCH, "%zu bytes of arguments came, not %zu",
                                  size, bytes);
        return catching(call,
                        [&] { return run(call, static_cast<const unsigned char *>(arguments)); });
    }

  private:
    static tern_status run(tern_call_info *call, const unsigned char *at) {
        (void)at;
        std::tuple<Arguments...> arguments{load_argument<Arguments>(at)...};
        auto function = [call](const Arguments &...a) { return Function(*call, a...); };
        return return_from<Returned>(call, [&] { return std::apply(function, arguments); });
    }
};

template <class Signature, auto Function> struct remote_signature {
    static_assert(!std::is_same_v<Signature, Signature>,
                  "a function that is called on other ranks has tern_call_info & as its first "
                  "parameter");
};
template <class Returned, class... Parameters, auto Function>
struct remote_signature<Returned (*)(tern_call_info &, Parameters...), Function>
    : remote_base<Function, Returned, std::decay_t<Parameters>...> {};
template <class Returned, class... Parameters, auto Function>
struct remote_signature<Returned (*)(tern_call_info &, Parameters...) noexcept, Function>
    : remote_base<Function, Returned, std::decay_t<Parameters>...> {};

template <auto Function>
struct remote : remote_signature<std::decay_t<decltype(Function)>, Function> {
    static inline registration registered{pretty<Function>(), remote::handler};
};

} // namespace detail

/* Collective: returns when all calls have run (tern_quiesce). */
inline result<void> quiesce(tern_worker *worker) { return tern_quiesce(worker); }

/* Collective: does what quiesce does, and runs no call of the next phase here before it returns
 * (tern_phase). */
inline result<void> phase(tern_worker *worker) { return tern_phase(worker); }

/* Runs Function on target, once, and returns at once. */
template <auto Function, class... Arguments>
result<void> call(tern_worker *worker, tern_worker_id target, Arguments &&...arguments) {
    using remote = detail::remote<Function>;
    const typename remote::packed packed(arguments...);
    return tern_call(worker, target, &remote::registered.function, packed.data, remote::bytes);
}

/* Runs Function on target and waits for what it returns. */
template <auto Function, class... Arguments>
auto call_return(tern_worker *worker, tern_worker_id target, Arguments &&...arguments)
    -> result<typename detail::remote<Function>::value_type> {
    using remote = detail::remote<Function>;
    using value_type = typename remote::value_type;
    const typename remote::packed packed(arguments...);
    if constexpr (std::is_void_v<value_type>) {
        return tern_call_return(worker, target, &remote::registered.function, packed.data,
                                remote::bytes, nullptr, 0, nullptr);
    } else {
        value_type value;
        tern_status status =
            tern_call_return(worker, target, &remote::registered.function, packed.data,
                             remote::bytes, &value, sizeof value, nullptr);
        if (status != TERN_OK)
            return status;
        return value;
    }
}

/* Starts a call of Function, which returns a value, and returns a future of that value. */
template <auto Function, class... Arguments>
auto call_start(tern_worker *worker, tern_worker_id target, Arguments &&...arguments) {
    using remote = detail::remote<Function>;
    using value_type = typename remote::value_type;
    static_assert(!std::is_void_v<value_type>,
                  "a function that tern::call_start runs returns a value or a result<> with one; "
                  "tern::call_return runs one that returns a tern_status or nothing");
    if constexpr (!std::is_void_v<value_type>) {
        const typename remote::packed packed(arguments...);
        return future<value_type>::begin(
            worker, value_type(), [&](tern_request *request, value_type *value) {
                return tern_call_start(worker, target, &remote::registered.function, packed.data,
                                       remote::bytes, value, sizeof *value, request);
            });
    }
}

} // namespace tern

#endif
