#ifndef TERN_CPP_POINTER_HPP
#define TERN_CPP_POINTER_HPP

/* Global pointers with a type, and the memory that they point to (tern/ptr.h, tern/memory.h). */

#include <cstddef>
#include <cstdint>

#include "tern/cpp/object.hpp"
#include "tern/memory.h"

namespace tern {

/* A global address in the segment of a rank, where elements of type T lie. Plain data, the same on
 * every rank. Arithmetic counts elements. */
template <class T> struct pointer {
    tern_ptr place = {0, 0, 0, 0};

    pointer() = default;
    explicit pointer(tern_ptr p) : place(p) {}

    std::uint32_t rank() const { return place.rank; }
    /* Returns the same offset in the segment of another rank; of alloc_all, that rank's piece. */
    pointer on(std::uint32_t rank) const { return pointer(tern_ptr_on(place, rank)); }
    explicit operator bool() const { return place.offset != 0; }

    pointer operator+(std::ptrdiff_t n) const {
        return pointer(tern_ptr_add(place, n * static_cast<std::int64_t>(sizeof(T))));
    }
    pointer operator-(std::ptrdiff_t n) const { return *this + -n; }
    pointer &operator+=(std::ptrdiff_t n) { return *this = *this + n; }
    friend bool operator==(pointer a, pointer b) { return tern_ptr_equal(a.place, b.place) != 0; }
    friend bool operator!=(pointer a, pointer b) { return !(a == b); }

    /* Returns the plain address if this process reaches it by load and store, else null. */
    T *local(const tern_context *context) const {
        return static_cast<T *>(tern_local(context, place));
    }
};

/* Allocates count elements in this rank's segment. Their content is undefined. */
template <class T>
result<pointer<T>> alloc(tern_worker *worker, std::size_t count,
                         tern_domain domain = TERN_DOMAIN_GLOBAL) {
    detail::require_plain<T>();
    pointer<T> p;
    tern_status status = tern_alloc(worker, count * sizeof(T), 0, domain, &p.place);
    if (status != TERN_OK)
        return status;
    return p;
}

/* Allocates in the segment of rank, and waits until that rank's progress has served this. */
template <class T>
result<pointer<T>> alloc_on(tern_worker *worker, std::uint32_t rank, std::size_t count,
                            tern_domain domain = TERN_DOMAIN_GLOBAL) {
    detail::require_plain<T>();
    pointer<T> p;
    tern_status status =
        tern_alloc_on(worker, rank, TERN_NUMA_ANY, count * sizeof(T), 0, domain, &p.place);
    if (status != TERN_OK)
        return status;
    return p;
}

/* Frees memory of any rank. */
template <class T> result<void> free(tern_worker *worker, pointer<T> p) {
    return tern_free(worker, p.place);
}

/* Collective: allocates count elements in the segment of each rank, at the same offset. Returns
 * this rank's piece. */
template <class T>
result<pointer<T>> alloc_all(tern_worker *worker, std::size_t count,
                             tern_domain domain = TERN_DOMAIN_GLOBAL) {
    detail::require_plain<T>();
    pointer<T> p;
    tern_status status = tern_alloc_all(worker, count * sizeof(T), 0, domain, &p.place);
    if (status != TERN_OK)
        return status;
    return p;
}

/* Collective: frees what alloc_all gave; p is any rank's piece. */
template <class T> result<void> free_all(tern_worker *worker, pointer<T> p) {
    return tern_free_all(worker, p.place);
}

} // namespace tern

#endif
