#ifndef TERN_CPP_NUMBER_HPP
#define TERN_CPP_NUMBER_HPP

/* The number types of tern (tern/number.h) that C++ types stand for. */

#include <complex>
#include <type_traits>

#include "tern/number.h"

namespace tern {

/* The tern_number of a C++ type. The types are the integers of 4 and 8 bytes, float, double,
 * std::complex<float> and std::complex<double>; others, such as long double, do not compile. */
template <class T> constexpr tern_number number_of() {
    constexpr bool integer = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
    constexpr bool complex =
        std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
    constexpr bool floating = std::is_same_v<T, float> || std::is_same_v<T, double>;
    static_assert(integer || floating || complex,
                  "tern computes with integers of 4 or 8 bytes, float, double, "
                  "std::complex<float> and std::complex<double>");
    if constexpr (complex)
        return sizeof(T) == 8 ? TERN_COMPLEX_FLOAT : TERN_COMPLEX_DOUBLE;
    else if constexpr (floating)
        return sizeof(T) == 4 ? TERN_FLOAT : TERN_DOUBLE;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? TERN_INT32 : TERN_UINT32;
    else
        return std::is_signed_v<T> ? TERN_INT64 : TERN_UINT64;
}

} // namespace tern

#endif
