#ifndef TERN_CPP_NOTIFY_HPP
#define TERN_CPP_NOTIFY_HPP

/* Puts and gets that tell both sides (tern/notify.h), with completion ids of any plain type. */

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "tern/cpp/pointer.hpp"
#include "tern/notify.h"

namespace tern {

namespace detail {

/* Returns options with the bytes of id, which must live as long as they. */
template <class Id>
tern_notify_options notify_options(std::uint64_t local_id, const Id &id, unsigned flags) {
    require_plain<Id>();
    static_assert(sizeof(Id) <= TERN_CID_MAX, "a completion id has at most TERN_CID_MAX bytes");
    return {local_id, &id, sizeof(Id), flags};
}

} // namespace detail

template <class T, class Id>
result<void> put_notify(tern_worker *worker, tern_worker_id target, pointer<T> to, const T *from,
                        std::size_t count, const Id &id, std::uint64_t local_id = 0,
                        unsigned flags = TERN_NOTIFY_NO_LOCAL) {
    const auto options = detail::notify_options(local_id, id, flags);
    return tern_put_notify(worker, target, to.place, from, count * sizeof(T), &options);
}

template <class T, class Id>
result<void> get_notify(tern_worker *worker, tern_worker_id owner, T *to, pointer<T> from,
                        std::size_t count, std::uint64_t local_id, const Id &id,
                        unsigned flags = 0) {
    const auto options = detail::notify_options(local_id, id, flags);
    return tern_get_notify(worker, owner, to, from.place, count * sizeof(T), &options);
}

/* Takes the next event, or returns nothing if there is no event. */
inline result<std::optional<tern_event>> probe(tern_worker *worker,
                                               unsigned which = TERN_PROBE_ANY) {
    tern_event event;
    tern_status status = tern_probe(worker, which, &event);
    if (status == TERN_ERR_EMPTY)
        return std::optional<tern_event>();
    if (status != TERN_OK)
        return status;
    return std::optional<tern_event>(event);
}

/* Waits for the next event and takes it. */
inline result<tern_event> event_wait(tern_worker *worker, unsigned which = TERN_PROBE_ANY) {
    tern_event event;
    tern_status status = tern_event_wait(worker, which, &event);
    if (status != TERN_OK)
        return status;
    return event;
}

/* Returns the completion id of a remote event. TERN_ERR_RANGE: it is not as long as an Id. */
template <class Id> result<Id> event_id(const tern_event &event) {
    detail::require_plain<Id>();
    if (event.cid_bytes != sizeof(Id))
        return TERN_ERR_RANGE;
    Id id;
    std::memcpy(&id, event.cid, sizeof(Id));
    return id;
}

} // namespace tern

#endif
