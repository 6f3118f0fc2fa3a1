#ifndef TERN_CPP_TEAM_HPP
#define TERN_CPP_TEAM_HPP

/*
 * Teams of ranks and their collectives, on plain types (tern/team.h):
 *
 *     auto row = tern::team(worker).split(context.rank() / columns).value();
 *     double sum = part;
 *     row.allreduce(TERN_REDUCE_SUM, &sum).value();
 *
 *     auto started = row.allreduce_start(TERN_REDUCE_MAX, values, count).value();
 *     ...
 *     started.wait().value();
 *
 * All members call the same collectives of a team in the same order, with the same root, types,
 * operation and counts. The forms without _start wait and must not be called in handlers. Those
 * with _start return a future at once; until it is complete the data belongs to tern, and no other
 * part of the program may free or change it. If an exception leaves a scope with such a future, the
 * data in that scope must not go: catch the exception outside and call MPI_Abort. Numbers are of
 * the types of tern::number_of; other data is of any plain type. Statuses, costs and limits are
 * those of the functions of tern/team.h that have the same names.
 */

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "tern/cpp/future.hpp"
#include "tern/cpp/number.hpp"
#include "tern/team.h"

namespace tern {

namespace detail {

/* T, which the compiler does not deduce from an argument of this type. */
template <class T> using same = std::common_type_t<T>;

} // namespace detail

/* A team, as the thread of one worker uses it; declare it after its worker. The destructor frees
 * the team and sends nothing; each member does it when it needs the team no more. Unless it runs
 * because of an exception, all collectives of the team must be complete then. A team that was moved
 * from can only be destroyed and assigned to. */
class team {
  public:
    /* The team of all ranks. */
    explicit team(tern_worker *worker) noexcept : team(worker, nullptr) {}

    /* Takes over a team that functions of C have made. */
    team(tern_worker *worker, tern_team *made) noexcept : worker_(worker), team_(made) {}

    team(team &&other) noexcept
        : worker_(std::exchange(other.worker_, nullptr)),
          team_(std::exchange(other.team_, nullptr)) {}
    team &operator=(team &&other) noexcept {
        std::swap(worker_, other.worker_);
        std::swap(team_, other.team_);
        return *this;
    }
    ~team() {
        if (!birth_.unwinding())
            detail::log_failure("tern_team_destroy", destroy().status());
    }

    /* Makes a team of count ranks of the context. Every member passes the same list, in which each
     * rank occurs once. Does not block and sends nothing. */
    static result<team> create(tern_worker *worker, const std::uint32_t *ranks, std::size_t count) {
        tern_team *made = nullptr;
        tern_status status = tern_team_create(worker, ranks, count, &made);
        return finish(worker, status, made);
    }
    static result<team> create(tern_worker *worker, std::initializer_list<std::uint32_t> ranks) {
        return create(worker, ranks.begin(), ranks.size());
    }

    /* Makes a team of the ranks start, start + stride and so on. Otherwise as create. */
    static result<team> create_stride(tern_worker *worker, std::uint32_t start, std::int64_t stride,
                                      std::size_t count) {
        tern_team *made = nullptr;
        tern_status status = tern_team_stride(worker, start, stride, count, &made);
        return finish(worker, status, made);
    }

    /* Makes one team of the members with each color, in the order of their keys and then of their
     * ranks. TERN_TEAM_ALONE: a team of this member alone. A collective of this team; blocks. */
    result<team> split(std::uint32_t color, std::uint64_t key = 0) const {
        tern_team *made = nullptr;
        tern_status status = tern_team_split(worker_, team_, color, key, &made);
        return finish(worker_, status, made);
    }

    /* Frees the team before its destructor does. TERN_ERR_STATE: collectives are under way, or in a
     * handler; the team is still there. */
    result<void> destroy() noexcept {
        tern_status status = team_ != nullptr ? tern_team_destroy(worker_, team_) : TERN_OK;
        if (status == TERN_OK) {
            team_ = nullptr;
            worker_ = nullptr;
        }
        return status;
    }

    /* The team of the C interface; null for the team of all ranks. */
    tern_team *get() const noexcept { return team_; }

    /* Return the caller's rank in the team, and the number of members. */
    std::uint32_t rank() const noexcept { return tern_team_rank(worker_, team_); }
    std::uint32_t size() const noexcept { return tern_team_size(worker_, team_); }

    /* Returns the rank in the context of a member. TERN_ERR_ARGUMENT: no such member. */
    result<std::uint32_t> translate(std::uint32_t member) const {
        return detail::value_of<std::uint32_t>(
            [&](std::uint32_t *rank) { return tern_team_translate(worker_, team_, member, rank); });
    }

    /* Asks for a local event with this id when a collective that was started is complete. */
    result<void> event(future<void> &started, std::uint64_t local_id) const {
        return tern_team_event(worker_, started.request(), local_id);
    }

    /* Returns when all members have called it. Does not complete puts. */
    result<void> barrier() const { return tern_team_barrier(worker_, team_); }
    result<future<void>> barrier_start() const {
        return start([&](tern_request *r) { return tern_team_barrier_start(worker_, team_, r); });
    }

    /* Copies count elements at data of the member root to data of every member. */
    template <class T>
    result<void> broadcast(std::uint32_t root, T *data, std::size_t count = 1) const {
        return tern_team_broadcast(worker_, team_, root, data, bytes<T>(count));
    }
    template <class T>
    result<future<void>> broadcast_start(std::uint32_t root, T *data, std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_broadcast_start(worker_, team_, root, data, bytes<T>(count), r);
        });
    }

    /* Combines the values of all members, element by element, into those of the member root. On
     * other members the values are undefined afterwards. */
    template <class T>
    result<void> reduce(std::uint32_t root, tern_reduction op, T *values,
                        std::size_t count = 1) const {
        return tern_team_reduce(worker_, team_, root, number_of<T>(), op, values, count);
    }
    template <class T>
    result<future<void>> reduce_start(std::uint32_t root, tern_reduction op, T *values,
                                      std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_reduce_start(worker_, team_, root, number_of<T>(), op, values, count,
                                          r);
        });
    }

    /* Combines the values of all members, element by element and in place, on every member. */
    template <class T>
    result<void> allreduce(tern_reduction op, T *values, std::size_t count = 1) const {
        return tern_team_allreduce(worker_, team_, number_of<T>(), op, values, count);
    }
    template <class T>
    result<future<void>> allreduce_start(tern_reduction op, T *values,
                                         std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_allreduce_start(worker_, team_, number_of<T>(), op, values, count, r);
        });
    }

    /* Gathers count elements at mine of every member at all of the member root, in the order of the
     * team. all: on root, room for size() times count elements; elsewhere ignored, may be null. */
    template <class T>
    result<void> gather(std::uint32_t root, const T *mine, detail::same<T> *all,
                        std::size_t count = 1) const {
        return tern_team_gather(worker_, team_, root, mine, all, bytes<T>(count));
    }
    template <class T>
    result<future<void>> gather_start(std::uint32_t root, const T *mine, detail::same<T> *all,
                                      std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_gather_start(worker_, team_, root, mine, all, bytes<T>(count), r);
        });
    }

    /* Gathers count elements of every member at all of every member. */
    template <class T> result<void> allgather(const T *mine, T *all, std::size_t count = 1) const {
        return tern_team_allgather(worker_, team_, mine, all, bytes<T>(count));
    }
    template <class T>
    result<future<void>> allgather_start(const T *mine, T *all, std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_allgather_start(worker_, team_, mine, all, bytes<T>(count), r);
        });
    }

    /* Sends block i of out to member i, which stores it as the block of this member in its in. out,
     * in: size() blocks of count elements; they do not overlap. */
    template <class T> result<void> alltoall(const T *out, T *in, std::size_t count = 1) const {
        return tern_team_alltoall(worker_, team_, out, in, bytes<T>(count));
    }
    template <class T>
    result<future<void>> alltoall_start(const T *out, T *in, std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_alltoall_start(worker_, team_, out, in, bytes<T>(count), r);
        });
    }

    /* Combines the values of the members up to this one, in place: an inclusive scan. */
    template <class T>
    result<void> scan(tern_reduction op, T *values, std::size_t count = 1) const {
        return tern_team_scan(worker_, team_, number_of<T>(), op, values, count);
    }
    template <class T>
    result<future<void>> scan_start(tern_reduction op, T *values, std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_scan_start(worker_, team_, number_of<T>(), op, values, count, r);
        });
    }

    /* Combines the values of the members before this one: an exclusive scan. The values of member 0
     * stay as they are. */
    template <class T>
    result<void> scan_before(tern_reduction op, T *values, std::size_t count = 1) const {
        return tern_team_scan_before(worker_, team_, number_of<T>(), op, values, count);
    }
    template <class T>
    result<future<void>> scan_before_start(tern_reduction op, T *values,
                                           std::size_t count = 1) const {
        return start([&](tern_request *r) {
            return tern_team_scan_before_start(worker_, team_, number_of<T>(), op, values, count,
                                               r);
        });
    }

  private:
    static result<team> finish(tern_worker *worker, tern_status status, tern_team *made) {
        if (status != TERN_OK)
            return status;
        return team(worker, made);
    }

    template <class T> static std::size_t bytes(std::size_t count) {
        detail::require_plain<T>();
        return count * sizeof(T);
    }

    template <class Start> result<future<void>> start(Start collective) const {
        return future<void>::begin(worker_, collective);
    }

    detail::birth birth_;
    tern_worker *worker_;
    tern_team *team_;
};

/* Copies the elements at data of rank root to data of every rank. */
template <class T>
result<void> broadcast(tern_worker *worker, std::uint32_t root, T *data, std::size_t count = 1) {
    detail::require_plain<T>();
    return tern_team_broadcast(worker, nullptr, root, data, count * sizeof(T));
}

/* Combines the values of all ranks, element by element and in place. */
template <class T>
result<void> allreduce(tern_worker *worker, tern_reduction op, T *values, std::size_t count = 1) {
    return tern_team_allreduce(worker, nullptr, number_of<T>(), op, values, count);
}

} // namespace tern

#endif
