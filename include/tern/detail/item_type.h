#ifndef TERN_DETAIL_ITEM_TYPE_H
#define TERN_DETAIL_ITEM_TYPE_H

/*
 * What TERN_ITEM_TYPE of tern/archive.h is in C and in C++. Nothing in this header is for
 * applications.
 */

#include "tern/archive.h"

#ifdef __cplusplus

#include <type_traits>

/* TERN_ITEM_TYPE in C++: gives the same types as in C, below. */
template <typename T> constexpr tern_item_type tern_internal_item_type_of(const T *) {
    using number = typename std::conditional<std::is_enum<T>::value, std::underlying_type<T>,
                                             std::remove_volatile<T>>::type::type;
    return sizeof(T) > 8 || std::is_same<number, char>::value ? TERN_ITEM_BYTES
           : std::is_floating_point<number>::value            ? TERN_ITEM_FLOAT
           : !std::is_integral<number>::value                 ? TERN_ITEM_BYTES
           : std::is_signed<number>::value                    ? TERN_ITEM_SIGNED
                                                              : TERN_ITEM_UNSIGNED;
}

#define TERN_INTERNAL_ITEM_TYPE(pointer) tern_internal_item_type_of(pointer)

#else

/* clang-format off */
#define TERN_INTERNAL_ITEM_TYPE(pointer)                                                           \
    _Generic(*(pointer),                                                                           \
        signed char: TERN_ITEM_SIGNED, short: TERN_ITEM_SIGNED, int: TERN_ITEM_SIGNED,             \
        long: TERN_ITEM_SIGNED, long long: TERN_ITEM_SIGNED,                                       \
        _Bool: TERN_ITEM_UNSIGNED, unsigned char: TERN_ITEM_UNSIGNED,                              \
        unsigned short: TERN_ITEM_UNSIGNED, unsigned: TERN_ITEM_UNSIGNED,                          \
        unsigned long: TERN_ITEM_UNSIGNED, unsigned long long: TERN_ITEM_UNSIGNED,                 \
        float: TERN_ITEM_FLOAT, double: TERN_ITEM_FLOAT,                                           \
        default: TERN_ITEM_BYTES)
/* clang-format on */

#endif

#endif
