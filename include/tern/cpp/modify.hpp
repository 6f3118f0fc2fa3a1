#ifndef TERN_CPP_MODIFY_HPP
#define TERN_CPP_MODIFY_HPP

/*
 * C++ functions that change values of tables and maps (tern/hashtable.h, tern/map.h).
 * A function for a table is given the value and one plain argument:
 *
 *     static double scale(tern_hashtable_modify_info &, double &value, double by) {
 *         return value *= by;
 *     }
 *
 *     table.modify<scale>(key, 2.0).value();                          // the key must be there
 *     double now = table.modify<scale>(key, 2.0, TERN_ABSENT_INSERT).value();
 *
 * One for a map is given bytes, and changes the value by tern_map_modify_info:
 *
 *     static tern_status append(tern_map_modify_info &info, tern::bytes more) {
 *         const std::size_t before = info.value_bytes;
 *         tern_status status = tern_map_resize(&info, before + more.size());
 *         if (status == TERN_OK && more.size() > 0)
 *             std::memcpy(static_cast<char *>(info.value) + before, more.data(), more.size());
 *         return status;
 *     }
 *
 *     map.modify<append>("name", "s", TERN_ABSENT_INSERT).value();
 *
 * It returns void, a plain type of at most 1,000 bytes, a tern_status or a result<>, and modify
 * returns the same; a status is that of modify and not a value. If it throws or returns an error,
 * nothing is changed, and modify returns the error. The rules of tern_call (tern/cpp/call.hpp) hold
 * for its name, and it may be a lambda in the same way. It must not wait.
 */

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tern/cpp/bytes.hpp"
#include "tern/cpp/call.hpp"
#include "tern/hashtable.h"
#include "tern/map.h"

namespace tern {

namespace detail {

/* The type of a pointer to a function, without noexcept. */
template <class Returned, class... Parameters>
auto plain_function(Returned (*)(Parameters...)) -> Returned (*)(Parameters...);

/* Stores what a modifier has returned as its result. */
template <class Info, class T> tern_status modifier_return(Info &info, const T &value) {
    require_plain<T>();
    static_assert(sizeof(T) <= TERN_MAP_MODIFY_RESULT_MAX, "the result of a modifier is small");
    std::memcpy(info.result, &value, sizeof(T));
    info.result_bytes = sizeof(T);
    return TERN_OK;
}
template <class Info, class T> tern_status modifier_return(Info &info, const result<T> &value) {
    if constexpr (!std::is_void_v<T>) {
        if (value.ok())
            return modifier_return(info, value.value());
    }
    return value.status();
}
template <class Info> tern_status modifier_return(Info &, tern_status status) { return status; }

template <class Info, class Run> tern_status modifier_run(Info &info, Run run) {
    return catching(nullptr, [&]() -> tern_status {
        if constexpr (std::is_void_v<decltype(run())>) {
            run();
            return TERN_OK;
        } else {
            return modifier_return(info, run());
        }
    });
}

template <class Signature, auto Function> struct table_modifier_base {
    static_assert(
        !std::is_same_v<Signature, Signature>,
        "a function that changes values of a table has the parameters tern_hashtable_modify_info "
        "&, Value & and one argument");
};
template <class Returned, class Value, class Argument, auto Function>
struct table_modifier_base<Returned (*)(tern_hashtable_modify_info &, Value &, Argument),
                           Function> {
    using value_type = typename unwrapped<Returned>::type;
    using changed_type = Value;
    using argument_type = std::decay_t<Argument>;

    static tern_status change(tern_hashtable_modify_info *info, void *value) {
        require_plain<argument_type>();
        if (info->argument_bytes != sizeof(argument_type))
            return tern_call_fail(nullptr, TERN_ERR_MISMATCH,
                                  "%zu bytes came for the argument, not %zu", info->argument_bytes,
                                  sizeof(argument_type));
        auto at = static_cast<const unsigned char *>(info->argument);
        const auto argument = load_argument<argument_type>(at);
        return modifier_run(
            *info, [&] { return Function(*info, *static_cast<Value *>(value), argument); });
    }
    static tern_status by_call(tern_call_info *call, const void *message, std::size_t size) {
        return tern_internal_hashtable_run_modifier(call, message, size, change);
    }
};

template <class Signature, auto Function> struct map_modifier_base {
    static_assert(!std::is_same_v<Signature, Signature>,
                  "a function that changes values of a map has the parameters "
                  "tern_map_modify_info & and tern::bytes");
};
template <class Returned, auto Function>
struct map_modifier_base<Returned (*)(tern_map_modify_info &, bytes), Function> {
    using value_type = typename unwrapped<Returned>::type;

    static tern_status change(tern_map_modify_info *info) {
        return modifier_run(
            *info, [&] { return Function(*info, bytes(info->argument, info->argument_bytes)); });
    }
    static tern_status by_call(tern_call_info *call, const void *message, std::size_t size) {
        return tern_internal_map_run_modifier(call, message, size, change);
    }
};

template <auto Function>
struct table_modifier : table_modifier_base<decltype(plain_function(Function)), Function> {
    static inline registration registered{pretty<Function>(), table_modifier::by_call};
    static inline const tern_hashtable_modifier made{table_modifier::change, &registered.function,
                                                     0};
};
template <auto Function>
struct map_modifier : map_modifier_base<decltype(plain_function(Function)), Function> {
    static inline registration registered{pretty<Function>(), map_modifier::by_call};
    static inline const tern_map_modifier made{map_modifier::change, &registered.function, 0};
};

/* modify(result, room) runs the modifier. */
template <class Modifier, class Modify>
result<typename Modifier::value_type> modified(Modify modify) {
    using value_type = typename Modifier::value_type;
    if constexpr (std::is_void_v<value_type>) {
        return modify(nullptr, 0);
    } else {
        value_type value;
        tern_status status = modify(&value, sizeof value);
        if (status != TERN_OK)
            return status;
        return value;
    }
}

} // namespace detail

} // namespace tern

#endif
