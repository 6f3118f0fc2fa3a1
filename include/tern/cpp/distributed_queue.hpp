#ifndef TERN_CPP_DISTRIBUTED_QUEUE_HPP
#define TERN_CPP_DISTRIBUTED_QUEUE_HPP

/*
 * Queues that are spread over all ranks, with types (tern/distributed_queue.h). Each rank pushes
 * its first items, and then takes items until all work is done on all ranks:
 *
 *     auto work = tern::distributed_queue<task>::create(worker, 1000).value();
 *     work.try_push(first).value();
 *     while (auto item = work.pop().value())
 *         run(*item); // may push
 *
 * The end of the work is an outcome and no error: pop then returns an empty optional, and pop_timed
 * no items.
 */

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tern/cpp/queue.hpp"
#include "tern/distributed_queue.h"

namespace tern {

/* A distributed queue as one thread uses it. */
template <class T> class distributed_queue_view : public detail::handle<tern_distributed_queue> {
  public:
    using handle::handle;

    /* Appends an item to the own part, or to another if that is full. TERN_ERR_FULL: no part has
     * room. part(rank) has a push that waits for a free slot. */
    result<void> try_push(const T &item, tern_flags flags = 0) {
        return tern_distributed_queue_try_push(worker_, object_, &item, flags);
    }
    /* Appends as many of the items as fit, and returns how many those were. */
    result<std::size_t> push_many(const T *items, std::size_t count, tern_flags flags = 0) {
        std::size_t pushed = 0;
        tern_status status =
            tern_distributed_queue_push_many(worker_, object_, items, count, flags, &pushed);
        if (status != TERN_OK && status != TERN_ERR_FULL)
            return status;
        return pushed;
    }

    /* Takes an item; waits until there is one. Returns nothing if all work is done. */
    result<std::optional<T>> pop(tern_flags flags = 0) {
        T item;
        return detail::taken(tern_distributed_queue_pop(worker_, object_, &item, flags),
                             TERN_ERR_DONE, item);
    }
    /* Takes up to count items, 1 or more; waits until there is one. Returns how many those were; 0:
     * all work is done. TERN_ERR_TIMEOUT if the time is over. */
    result<std::size_t> pop_timed(T *items, std::size_t count, double seconds,
                                  tern_flags flags = 0) {
        std::size_t popped = 0;
        tern_status status = tern_distributed_queue_pop_timed(worker_, object_, items, count,
                                                              seconds, flags, &popped);
        if (status != TERN_OK && status != TERN_ERR_DONE)
            return status;
        return popped;
    }
    /* Takes one item in the same way, or returns nothing if all work is done. */
    result<std::optional<T>> pop_timed(double seconds, tern_flags flags = 0) {
        T item;
        std::size_t popped = 0;
        return detail::taken(
            tern_distributed_queue_pop_timed(worker_, object_, &item, 1, seconds, flags, &popped),
            TERN_ERR_DONE, item);
    }
    /* Takes an item, or returns nothing if each part was empty when the call looked at it. */
    result<std::optional<T>> try_pop(tern_flags flags = 0) {
        T item;
        return detail::taken(tern_distributed_queue_try_pop(worker_, object_, &item, flags),
                             TERN_ERR_EMPTY, item);
    }
    /* Takes up to count items and waits for none. Returns how many those were. */
    result<std::size_t> pop_many(T *items, std::size_t count, tern_flags flags = 0) {
        std::size_t popped = 0;
        tern_status status =
            tern_distributed_queue_pop_many(worker_, object_, items, count, flags, &popped);
        if (status != TERN_OK && status != TERN_ERR_EMPTY)
            return status;
        return popped;
    }

    /* Keeps the work from ending, until release has been called as often, on any rank. */
    result<void> hold() { return tern_distributed_queue_hold(worker_, object_); }
    result<void> release() { return tern_distributed_queue_release(worker_, object_); }

    /* Returns the part of a rank, which belongs to this queue. */
    result<queue_view<T>> part(std::uint32_t rank) {
        tern_queue *part = nullptr;
        tern_status status = tern_distributed_queue_part(object_, rank, &part);
        if (status != TERN_OK)
            return status;
        return queue_view<T>(worker_, part);
    }

    /* Returns the number of items in all parts now. */
    result<std::uint64_t> size() { return this->count(tern_distributed_queue_size); }
};

/* A distributed queue. create is collective. */
template <class T>
class distributed_queue : public detail::owner<distributed_queue_view<T>, tern_distributed_queue,
                                               tern_distributed_queue_destroy> {
  public:
    using detail::owner<distributed_queue_view<T>, tern_distributed_queue,
                        tern_distributed_queue_destroy>::owner;

    /* Creates the queue. Collective. capacity: items of each part. */
    static result<distributed_queue> create(tern_worker *worker, std::uint64_t capacity,
                                            tern_queue_options options = {}) {
        detail::require_plain<T>();
        options.capacity = capacity;
        options.item_bytes = sizeof(T);
        tern_distributed_queue *created = nullptr;
        tern_status status = tern_distributed_queue_create(worker, &options, &created);
        if (status != TERN_OK)
            return status;
        return distributed_queue(worker, created);
    }
};

} // namespace tern

#endif
