/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* std::unordered_map and absl::flat_hash_map, with keys and values of 8 bytes. They take the bytes
 * that their allocator has handed out. */

#include "large/maps.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#ifdef TERN_BENCH_ABSEIL
#include <absl/container/flat_hash_map.h>
#endif

namespace {

std::size_t taken;

template <class T> struct counting {
    using value_type = T;
    counting() = default;
    template <class U> counting(const counting<U> &) {}
    T *allocate(std::size_t n) {
        taken += n * sizeof(T);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T *p, std::size_t n) {
        taken -= n * sizeof(T);
        std::allocator<T>().deallocate(p, n);
    }
    template <class U> bool operator==(const counting<U> &) const { return true; }
    template <class U> bool operator!=(const counting<U> &) const { return false; }
};

double now() {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class Map> void fill(std::uint64_t keys, large_result *result) {
    const std::size_t before = taken;
    Map map;
    double start = now(), last = start;
    for (std::uint64_t i = 0; i < keys; i++) {
        map.emplace(mix(i), i);
        double at = now();
        large_wait_count(&result->waits, at - last);
        last = at;
    }
    result->insert_ns = (last - start) / double(keys);
    result->bytes = double(taken - before) / double(keys);
    start = now();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < keys; i++)
        sum += map.find(mix(i))->second;
    result->find_ns = (now() - start) / double(keys);
    if (sum != keys * (keys - 1) / 2)
        std::abort();
}

template <class V> using allocator = counting<std::pair<const std::uint64_t, V>>;

} // namespace

extern "C" void large_unordered(std::uint64_t keys, large_result *result) {
    fill<std::unordered_map<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>,
                            std::equal_to<std::uint64_t>, allocator<std::uint64_t>>>(keys, result);
}

#ifdef TERN_BENCH_ABSEIL
extern "C" void large_abseil(std::uint64_t keys, large_result *result) {
    fill<absl::flat_hash_map<
        std::uint64_t, std::uint64_t, absl::container_internal::hash_default_hash<std::uint64_t>,
        absl::container_internal::hash_default_eq<std::uint64_t>, allocator<std::uint64_t>>>(
        keys, result);
}
#endif
