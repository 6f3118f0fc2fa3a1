// What the parts of the program cplusplus_transfers have in common.

#pragma once

#include "cplusplus.hpp"

#include <complex>

// What rank contributes as its number i in a round: known on every rank, small, so that floating
// point is exact.
inline int number(std::uint32_t rank, std::size_t i, int round) {
    return static_cast<int>((rank * 7 + i * 5 + static_cast<std::size_t>(round) * 3) % 17) - 5;
}
template <class T> T number_as(std::uint32_t rank, std::size_t i, int round) {
    return T(static_cast<decltype(std::real(T()))>(number(rank, i, round)));
}

void test_teams(const tern::context &context, const tern::worker &worker);
