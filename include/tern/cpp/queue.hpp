#ifndef TERN_CPP_QUEUE_HPP
#define TERN_CPP_QUEUE_HPP

/* Bounded queues at one rank with types (tern/queue.h). */

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tern/cpp/object.hpp"
#include "tern/queue.h"

namespace tern {

namespace detail {

/* Returns the outcome of a pop. nothing: the status for which that is an empty optional. */
template <class T>
result<std::optional<T>> taken(tern_status status, tern_status nothing, const T &item) {
    if (status == nothing)
        return std::optional<T>();
    if (status != TERN_OK)
        return status;
    return std::optional<T>(item);
}

} // namespace detail

/* A queue as one thread uses it. */
template <class T> class queue_view : public detail::handle<tern_queue> {
  public:
    using handle::handle;

    /* Appends an item; waits for a free slot. */
    result<void> push(const T &item, tern_flags flags = 0) {
        return tern_queue_push(worker_, object_, &item, flags);
    }
    /* Appends an item, or returns TERN_ERR_FULL if there is no free slot now. */
    result<void> try_push(const T &item, tern_flags flags = 0) {
        return tern_queue_try_push(worker_, object_, &item, flags);
    }
    result<void> push_timed(const T &item, double seconds, tern_flags flags = 0) {
        return tern_queue_push_timed(worker_, object_, &item, seconds, flags);
    }
    /* Appends as many of the items as fit, and returns how many those were. */
    result<std::size_t> push_many(const T *items, std::size_t count, tern_flags flags = 0) {
        std::size_t pushed = 0;
        tern_status status = tern_queue_push_many(worker_, object_, items, count, flags, &pushed);
        if (status != TERN_OK && status != TERN_ERR_FULL)
            return status;
        return pushed;
    }

    /* Takes the oldest item; waits until there is one. In a phase of pops it returns nothing if the
     * queue is empty. */
    result<std::optional<T>> pop(tern_flags flags = 0) {
        T item;
        return detail::taken(tern_queue_pop(worker_, object_, &item, flags), TERN_ERR_EMPTY, item);
    }
    /* Takes the oldest item, or returns nothing if the queue is empty now. */
    result<std::optional<T>> try_pop(tern_flags flags = 0) {
        T item;
        return detail::taken(tern_queue_try_pop(worker_, object_, &item, flags), TERN_ERR_EMPTY,
                             item);
    }
    /* Takes the oldest item; waits for one, and returns TERN_ERR_TIMEOUT if the time is over. */
    result<std::optional<T>> pop_timed(double seconds, tern_flags flags = 0) {
        T item;
        return detail::taken(tern_queue_pop_timed(worker_, object_, &item, seconds, flags),
                             TERN_ERR_EMPTY, item);
    }
    /* Takes up to count items. Returns how many those were. */
    result<std::size_t> pop_many(T *items, std::size_t count, tern_flags flags = 0) {
        std::size_t popped = 0;
        tern_status status = tern_queue_pop_many(worker_, object_, items, count, flags, &popped);
        if (status != TERN_OK && status != TERN_ERR_EMPTY)
            return status;
        return popped;
    }

    /* Returns the number of items now. */
    result<std::uint64_t> size() { return this->count(tern_queue_size); }
};

/* A queue. create is collective. */
template <class T>
class queue : public detail::owner<queue_view<T>, tern_queue, tern_queue_destroy> {
  public:
    using detail::owner<queue_view<T>, tern_queue, tern_queue_destroy>::owner;

    /* Creates a queue. Collective. host: the rank in whose segment the queue lies. capacity: items.
     */
    static result<queue> create(tern_worker *worker, std::uint32_t host, std::uint64_t capacity,
                                tern_queue_options options = {}) {
        detail::require_plain<T>();
        options.host = host;
        options.capacity = capacity;
        options.item_bytes = sizeof(T);
        tern_queue *created = nullptr;
        tern_status status = tern_queue_create(worker, &options, &created);
        if (status != TERN_OK)
            return status;
        return queue(worker, created);
    }
};

} // namespace tern

#endif
