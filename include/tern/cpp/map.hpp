#ifndef TERN_CPP_MAP_HPP
#define TERN_CPP_MAP_HPP

/*
 * Maps whose keys and values are bytes of any size (tern/map.h):
 *
 *     auto map = tern::map::create(worker, 1000).value();
 *     map.insert("name", "tern").value();                       // texts,
 *     map.insert("samples", std::vector<double>{1, 2}).value(); // arrays of plain elements,
 *     map.insert(tern::bytes_of(7), tern::bytes_of(0.5)).value(); // and plain values
 *
 *     std::optional<std::string> name = map.find("name").value();
 *     auto samples = map.find<std::vector<double>>("samples").value();
 *     std::optional<double> half = map.find<double>(tern::bytes_of(7)).value();
 *
 * Values that are a std::uint64_t can be counted with:
 *
 *     map.add("words").value();
 *
 * tern/cpp/modify.hpp shows functions that change values. A map can be saved, and loaded by any
 * number of ranks:
 *
 *     map.save("names.tern").value();
 *     auto same = tern::map::load(worker, "names.tern").value();
 */

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tern/cpp/bytes.hpp"
#include "tern/cpp/future.hpp"
#include "tern/cpp/modify.hpp"
#include "tern/map.h"

namespace tern {

/* Makes an item of a key and its value, for batches. Their bytes must last as long as the item. */
inline tern_map_item map_item(bytes key, bytes value = bytes(nullptr, 0)) noexcept {
    return {key.data(), value.data(), key.size(), value.size()};
}

/* Makes a slot of a key to look for, and of room bytes at value for the key's value. */
inline tern_map_slot map_slot(bytes key, void *value, std::size_t room) noexcept {
    return {key.data(), key.size(), value, room, 0, 0};
}

/* A value in memory of its own, which tern has allocated. */
class map_value {
  public:
    map_value(void *allocated, std::size_t size) noexcept
        : data_(static_cast<unsigned char *>(allocated)), size_(size) {}

    unsigned char *data() const noexcept { return data_.get(); }
    std::size_t size() const noexcept { return size_; }
    std::string_view text() const noexcept { return bytes(data(), size_).text(); }

  private:
    struct deallocate {
        void operator()(void *memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<unsigned char, deallocate> data_;
    std::size_t size_;
};

/* A map as one thread uses it. */
class map_view : public detail::handle<tern_map> {
  public:
    using handle::handle;

    /* Stores value under key, whether the key is there or not. Returns whether the key is new. */
    result<bool> insert(bytes key, bytes value, tern_flags flags = 0) {
        return insert_by(tern_map_insert, key, value, flags);
    }
    /* Stores value under key only if the key is not there. Returns whether the key is new. */
    result<bool> insert_new(bytes key, bytes value, tern_flags flags = 0) {
        return insert_by(tern_map_insert_new, key, value, flags);
    }

    /* Removes key. Returns whether it was there. */
    result<bool> erase(bytes key, tern_flags flags = 0) {
        tern_status status = tern_map_erase(worker_, object_, key.data(), key.size(), flags);
        if (status != TERN_OK && status != TERN_ERR_NOT_FOUND)
            return status;
        return status == TERN_OK;
    }

    /* Returns the value as a std::string, a std::vector of plain elements, or one plain T; returns
     * nothing if there is no such key. TERN_ERR_RANGE: the value is no whole number of elements, or
     * has another size than T. */
    template <class T = std::string>
    result<std::optional<T>> find(bytes key, tern_flags flags = 0) {
        if constexpr (detail::is_array<T>::value)
            return find_array<T>(key, flags);
        else
            return find_plain<T>(key, flags);
    }
    /* Returns the value in the memory that tern_map_find_alloc has allocated; copies it no further.
     */
    result<std::optional<map_value>> find_alloc(bytes key, tern_flags flags = 0) {
        void *value = nullptr;
        std::size_t size = 0;
        tern_status status =
            tern_map_find_alloc(worker_, object_, key.data(), key.size(), flags, &value, &size);
        if (status == TERN_ERR_NOT_FOUND)
            return std::optional<map_value>();
        if (status != TERN_OK)
            return status;
        return std::optional<map_value>(map_value(value, size));
    }

    /* Adds delta to the number that is the value of key, a std::uint64_t. A key that is not there
     * is inserted. Returns the number before, which is 0 for a new key. */
    result<std::uint64_t> add(bytes key, std::uint64_t delta = 1, tern_flags flags = 0) {
        std::uint64_t before = 0;
        tern_status status =
            tern_map_add(worker_, object_, key.data(), key.size(), delta, flags, &before);
        if (status != TERN_OK)
            return status;
        return before;
    }
    /* Makes the number desired if it is expected. Returns the number before, or nothing if there is
     * no such key. */
    result<std::optional<std::uint64_t>> compare_swap(bytes key, std::uint64_t expected,
                                                      std::uint64_t desired, tern_flags flags = 0) {
        std::uint64_t before = 0;
        tern_status status = tern_map_compare_swap(worker_, object_, key.data(), key.size(),
                                                   expected, desired, flags, &before);
        if (status == TERN_ERR_NOT_FOUND)
            return std::optional<std::uint64_t>();
        if (status != TERN_OK)
            return status;
        return std::optional<std::uint64_t>(before);
    }

    /* Runs Function on the value of key (tern_map_modify). Returns what Function returns.
     * TERN_ERR_NOT_FOUND: there is no such key; with TERN_ABSENT_INSERT it is inserted. */
    template <auto Function>
    auto modify(bytes key, bytes argument = bytes(nullptr, 0),
                tern_absent absent = TERN_ABSENT_FAIL, tern_flags flags = 0) {
        using modifier = detail::map_modifier<Function>;
        return detail::modified<modifier>([&](void *out, std::size_t room) {
            const tern_modify_options options = {
                argument.data(), argument.size(), absent, out, room, nullptr};
            return tern_map_modify(worker_, object_, key.data(), key.size(), &modifier::made,
                                   &options, flags, nullptr);
        });
    }

    /* Starts an insert. The future says whether the key is new. Key and value are copied. */
    result<future<bool>> insert_start(bytes key, bytes value, tern_flags flags = 0) {
        return insert_start_by(tern_map_insert_start, key, value, flags);
    }
    result<future<bool>> insert_new_start(bytes key, bytes value, tern_flags flags = 0) {
        return insert_start_by(tern_map_insert_new_start, key, value, flags);
    }
    /* Starts an add. The future has the number before. */
    result<future<std::uint64_t>> add_start(bytes key, std::uint64_t delta = 1,
                                            tern_flags flags = 0) {
        auto start = [&](tern_request *request, std::uint64_t *) {
            return tern_map_add_start(worker_, object_, key.data(), key.size(), delta, flags,
                                      request);
        };
        auto end = [](const tern_request *request, std::uint64_t *before) -> tern_status {
            *before = tern_request_result(request);
            return TERN_OK;
        };
        return future<std::uint64_t>::begin(worker_, 0, start, end);
    }
    /* Starts a find of one plain T. get() of the future is TERN_ERR_NOT_FOUND if the key is absent,
     * and TERN_ERR_RANGE if the value has another size. If the value is larger, find_start itself
     * may return TERN_ERR_RANGE. */
    template <class T, std::enable_if_t<!detail::is_array<T>::value, int> = 0>
    result<future<T>> find_start(bytes key, tern_flags flags = 0) {
        detail::require_plain<T>();
        auto start = [&](tern_request *request, T *value) {
            return tern_map_find_start(worker_, object_, key.data(), key.size(), flags, value,
                                       sizeof(T), request);
        };
        auto end = [](const tern_request *request, T *) {
            return tern_request_result(request) == sizeof(T) ? TERN_OK : TERN_ERR_RANGE;
        };
        return future<T>::begin(worker_, T(), start, end);
    }
    /* Starts a find of a std::string or a std::vector of at most room elements. The errors are as
     * above. */
    template <class T = std::string, std::enable_if_t<detail::is_array<T>::value, int> = 0>
    result<future<T>> find_start(bytes key, std::size_t room, tern_flags flags = 0) {
        using element = typename T::value_type;
        detail::require_plain<element>();
        auto start = [&](tern_request *request, T *value) {
            return tern_map_find_start(worker_, object_, key.data(), key.size(), flags,
                                       value->data(), room * sizeof(element), request);
        };
        auto end = [](const tern_request *request, T *value) {
            const std::uint64_t size = tern_request_result(request);
            if (size % sizeof(element) != 0)
                return TERN_ERR_RANGE;
            value->resize(size / sizeof(element));
            return TERN_OK;
        };
        return future<T>::begin(worker_, T(room, element()), start, end);
    }

    /* Stores the values of count items under their keys. */
    result<void> insert_many(const tern_map_item *items, std::size_t count, tern_flags flags = 0) {
        return tern_map_insert_many(worker_, object_, items, count, flags, nullptr);
    }
    /* Adds delta to the numbers of the keys of count items. */
    result<void> add_many(const tern_map_item *items, std::size_t count, std::uint64_t delta = 1,
                          tern_flags flags = 0) {
        return tern_map_add_many(worker_, object_, items, count, delta, flags, nullptr);
    }
    /* Looks for the keys of count slots. Returns how many are there. */
    result<std::size_t> find_many(tern_map_slot *slots, std::size_t count, tern_flags flags = 0) {
        std::size_t present = 0;
        tern_status status = tern_map_find_many(worker_, object_, slots, count, flags, &present);
        if (status != TERN_OK)
            return status;
        return present;
    }

    /* Calls visit(key, value), both tern::bytes, for each key of this rank's part. visit may return
     * a bool, of which false ends the walk, or a tern_status, of which an error ends it and is
     * returned. No rank may change the map meanwhile. */
    template <class Visit> result<void> for_each(Visit visit) {
        return walk(tern_map_for_each, visit);
    }
    /* Does what for_each does, for the keys of all ranks. */
    template <class Visit> result<void> for_each_anywhere(Visit visit) {
        return walk(tern_map_for_each_anywhere, visit);
    }

    /* Collective: counts the keys of the whole map. */
    result<std::uint64_t> size() { return this->count(tern_map_size); }
    result<std::uint64_t> local_size() { return this->count(tern_map_local_size); }
    /* Collective: takes all keys out. */
    result<void> clear() { return tern_map_clear(worker_, object_); }
    /* Collective: saves the map in a file, with a note of at most TERN_NOTE_MAX bytes. */
    result<void> save(const char *path, bytes note = bytes(nullptr, 0)) {
        return tern_map_save(worker_, object_, path, note.data(), note.size());
    }

    /* Returns the rank that owns key. */
    std::uint32_t owner_of(bytes key) const {
        return tern_map_owner(object_, key.data(), key.size());
    }

  private:
    template <class Insert>
    result<bool> insert_by(Insert insert, bytes key, bytes value, tern_flags flags) {
        int existed = 0;
        tern_status status = insert(worker_, object_, key.data(), key.size(), value.data(),
                                    value.size(), flags, &existed);
        if (status != TERN_OK)
            return status;
        return existed == 0;
    }

    template <class Start>
    result<future<bool>> insert_start_by(Start insert, bytes key, bytes value, tern_flags flags) {
        auto start = [&](tern_request *request, bool *) {
            return insert(worker_, object_, key.data(), key.size(), value.data(), value.size(),
                          flags, request);
        };
        auto end = [](const tern_request *request, bool *is_new) -> tern_status {
            *is_new = tern_request_result(request) == 0;
            return TERN_OK;
        };
        return future<bool>::begin(worker_, false, start, end);
    }

    template <class T> result<std::optional<T>> find_plain(bytes key, tern_flags flags) {
        detail::require_plain<T>();
        T value;
        std::size_t size = 0;
        tern_status status = tern_map_find(worker_, object_, key.data(), key.size(), flags, &value,
                                           sizeof(T), &size);
        if (status == TERN_ERR_NOT_FOUND)
            return std::optional<T>();
        if (status != TERN_OK)
            return status;
        if (size != sizeof(T))
            return TERN_ERR_RANGE;
        return std::optional<T>(value);
    }

    template <class Array> result<std::optional<Array>> find_array(bytes key, tern_flags flags) {
        using element = typename Array::value_type;
        detail::require_plain<element>();
        auto found = find_alloc(key, flags);
        if (!found.ok())
            return found.status();
        std::optional<map_value> value = std::move(found).value();
        if (!value.has_value())
            return std::optional<Array>();
        if (value->size() % sizeof(element) != 0)
            return TERN_ERR_RANGE;
        Array array(value->size() / sizeof(element), element());
        if (value->size() > 0)
            std::memcpy(array.data(), value->data(), value->size());
        return std::optional<Array>(std::move(array));
    }

    template <class Walk, class Visit> result<void> walk(Walk walk_map, Visit &visit) {
        detail::visitor<Visit> v(visit);
        auto step = [](const tern_map_item *item, void *argument) -> int {
            return static_cast<detail::visitor<Visit> *>(argument)->step(
                bytes(item->key, item->key_bytes), bytes(item->value, item->value_bytes));
        };
        return v.end(walk_map(worker_, object_, step, &v));
    }
};

/* A map. create and load are collective. */
class map : public detail::owner<map_view, tern_map, tern_map_destroy> {
  public:
    using owner::owner;

    /* Creates a map. Collective. capacity: keys of the whole map. options: what else tern/map.h
     * offers. */
    static result<map> create(tern_worker *worker, std::uint64_t capacity,
                              tern_map_options options = {}) {
        options.capacity = capacity;
        tern_map *created = nullptr;
        tern_status status = tern_map_create(worker, &options, &created);
        if (status != TERN_OK)
            return status;
        return map(worker, created);
    }

    /* Collective: creates a map from a file. file, if given: gets what the file says about it. */
    static result<map> load(tern_worker *worker, const char *path, tern_map_options options = {},
                            tern_map_file *file = nullptr) {
        tern_map *loaded = nullptr;
        tern_status status = tern_map_load(worker, path, &options, file, &loaded);
        if (status != TERN_OK)
            return status;
        return map(worker, loaded);
    }
};

} // namespace tern

#endif
