#ifndef TERN_CPP_HASH_MAP_HPP
#define TERN_CPP_HASH_MAP_HPP

/*
 * Hash tables with types (tern/hashtable.h): hash_map of keys and values, counter_map of keys and
 * counters. Keys are hashed and compared as bytes, unless the program gives its own hash and
 * equality, as function objects without state. Each operation takes the flags of tern/container.h.
 * The worker of an operation is the one that created the table; other threads use on(their worker).
 *
 *     auto squares = tern::hash_map<int, double>::create(worker, 1000).value();
 *     squares.insert(7, 49.0).value();
 *     std::optional<double> found = squares.find(7).value();
 *
 * tern/cpp/modify.hpp shows functions that change values. A table can be saved, and loaded by any
 * number of ranks:
 *
 *     squares.save("squares.tern").value();
 *     auto same = tern::hash_map<int, double>::load(worker, "squares.tern").value();
 */

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tern/cpp/bytes.hpp"
#include "tern/cpp/future.hpp"
#include "tern/cpp/modify.hpp"
#include "tern/hashtable.h"

namespace tern {

/* Hash and equality of the bytes of a key: the default. */
struct bytewise {};

namespace detail {

/* What every table has, whatever is stored under the keys: Value, or std::uint64_t as a counter. */
template <class Key, class Value> class table_view : public handle<tern_hashtable> {
  public:
    using handle::handle;

    /* Removes key. Returns whether it was there. */
    result<bool> erase(const Key &key, tern_flags flags = 0) {
        tern_status status = tern_hashtable_erase(worker_, object_, &key, flags);
        if (status != TERN_OK && status != TERN_ERR_NOT_FOUND)
            return status;
        return status == TERN_OK;
    }

    /* Returns the value of key, or nothing if there is no such key. */
    result<std::optional<Value>> find(const Key &key, tern_flags flags = 0) {
        Value value;
        tern_status status = tern_hashtable_find(worker_, object_, &key, flags, &value);
        if (status == TERN_ERR_NOT_FOUND)
            return std::optional<Value>();
        if (status != TERN_OK)
            return status;
        return std::optional<Value>(value);
    }

    /* Starts a find. get() of the future is TERN_ERR_NOT_FOUND if the key is absent. */
    result<future<Value>> find_start(const Key &key, tern_flags flags = 0) {
        return future<Value>::begin(worker_, Value(), [&](tern_request *request, Value *value) {
            return tern_hashtable_find_start(worker_, object_, &key, flags, value, request);
        });
    }

    /* Looks count keys up. values and found have room for count. Returns how many are there. */
    result<std::size_t> find_many(const Key *keys, std::size_t count, Value *values,
                                  unsigned char *found, tern_flags flags = 0) {
        std::size_t present = 0;
        tern_status status =
            tern_hashtable_find_many(worker_, object_, keys, count, flags, values, found, &present);
        if (status != TERN_OK)
            return status;
        return present;
    }

    /* Calls visit(key, value) for each key of this rank's part. visit may return a bool, of which
     * false ends the walk, or a tern_status, of which an error ends it and is returned. No rank may
     * change the table meanwhile. */
    template <class Visit> result<void> for_each(Visit visit) {
        return walk(tern_hashtable_for_each, visit);
    }
    /* Does what for_each does, for the keys of all ranks. */
    template <class Visit> result<void> for_each_anywhere(Visit visit) {
        return walk(tern_hashtable_for_each_anywhere, visit);
    }

    /* Collective: counts the keys of the whole table. */
    result<std::uint64_t> size() { return this->count(tern_hashtable_size); }
    result<std::uint64_t> local_size() { return this->count(tern_hashtable_local_size); }
    /* Collective: takes all keys out. */
    result<void> clear() { return tern_hashtable_clear(worker_, object_); }
    /* Collective: saves the table in a file, with a note of at most TERN_NOTE_MAX bytes. */
    result<void> save(const char *path, bytes note = bytes(nullptr, 0)) {
        return tern_hashtable_save(worker_, object_, path, note.data(), note.size());
    }

    /* Returns the rank that owns key. */
    std::uint32_t owner_of(const Key &key) const { return tern_hashtable_owner(object_, &key); }

  private:
    template <class Walk, class Visit> result<void> walk(Walk walk_table, Visit &visit) {
        visitor<Visit> v(visit);
        auto step = [](const void *key, const void *value, void *argument) -> int {
            return static_cast<visitor<Visit> *>(argument)->step(
                *static_cast<const Key *>(key), *static_cast<const Value *>(value));
        };
        return v.end(walk_table(worker_, object_, step, &v));
    }
};

template <class Key, class Hash, class Equal> void set_key(tern_hashtable_options &options) {
    require_plain<Key>();
    static_assert(alignof(Key) <= 8, "tern hands out keys that are aligned to 8 bytes");
    options.key_bytes = sizeof(Key);
    if constexpr (std::is_same_v<Hash, bytewise>) {
        static_assert(std::has_unique_object_representations_v<Key>,
                      "keys are compared as bytes, and equal keys of this type may have different "
                      "bytes (padding, or floating point): remove the padding, or give the table a "
                      "Hash and an Equal");
    } else {
        options.key_hash = [](const void *key, std::size_t, void *) -> std::uint64_t {
            return Hash()(*static_cast<const Key *>(key));
        };
    }
    if constexpr (!std::is_same_v<Equal, bytewise>) {
        options.key_equal = [](const void *a, const void *b, std::size_t, void *) -> int {
            return Equal()(*static_cast<const Key *>(a), *static_cast<const Key *>(b));
        };
    }
}

} // namespace detail

/* A table of values as one thread uses it. */
template <class Key, class Value> class hash_map_view : public detail::table_view<Key, Value> {
  public:
    using detail::table_view<Key, Value>::table_view;

    /* Stores value under key, whether the key is there or not. Returns whether the key is new. */
    result<bool> insert(const Key &key, const Value &value, tern_flags flags = 0) {
        int existed = 0;
        tern_status status =
            tern_hashtable_insert(this->worker_, this->object_, &key, &value, flags, &existed);
        if (status != TERN_OK)
            return status;
        return existed == 0;
    }

    /* Stores value under key only if the key is not there. Returns whether the key is new. */
    result<bool> insert_new(const Key &key, const Value &value, tern_flags flags = 0) {
        int existed = 0;
        tern_status status =
            tern_hashtable_insert_new(this->worker_, this->object_, &key, &value, flags, &existed);
        if (status != TERN_OK)
            return status;
        return existed == 0;
    }

    /* Runs Function on the value of key (tern_hashtable_modify). Returns what Function returns.
     * TERN_ERR_NOT_FOUND: there is no such key; with TERN_ABSENT_INSERT it is inserted, and
     * Function is given a value of zeros. */
    template <auto Function>
    auto modify(const Key &key,
                const typename detail::table_modifier<Function>::argument_type &argument,
                tern_absent absent = TERN_ABSENT_FAIL, tern_flags flags = 0) {
        using modifier = detail::table_modifier<Function>;
        static_assert(std::is_same_v<typename modifier::changed_type, Value>,
                      "the function changes values of another type than those of the table");
        return detail::modified<modifier>([&](void *out, std::size_t room) {
            const tern_modify_options options = {&argument, sizeof argument, absent, out,
                                                 room,      nullptr};
            return tern_hashtable_modify(this->worker_, this->object_, &key, &modifier::made,
                                         &options, flags, nullptr);
        });
    }

    /* Starts an insert. The value is copied, and the future has the copy. */
    result<future<Value>> insert_start(const Key &key, const Value &value, tern_flags flags = 0) {
        return future<Value>::begin(this->worker_, value, [&](tern_request *request, Value *kept) {
            return tern_hashtable_insert_start(this->worker_, this->object_, &key, kept, flags,
                                               request);
        });
    }

    /* Stores count values under count keys. */
    result<void> insert_many(const Key *keys, const Value *values, std::size_t count,
                             tern_flags flags = 0) {
        return tern_hashtable_insert_many(this->worker_, this->object_, keys, values, count, flags,
                                          nullptr);
    }
};

/* A table of values. create is collective. */
template <class Key, class Value, class Hash = bytewise, class Equal = bytewise>
class hash_map
    : public detail::owner<hash_map_view<Key, Value>, tern_hashtable, tern_hashtable_destroy> {
  public:
    using detail::owner<hash_map_view<Key, Value>, tern_hashtable, tern_hashtable_destroy>::owner;

    /* capacity: keys of the whole table. options: what else tern/hashtable.h offers; its sizes and
     * functions of keys are set here. */
    static result<hash_map> create(tern_worker *worker, std::uint64_t capacity,
                                   tern_hashtable_options options = {}) {
        set_types(options);
        options.capacity = capacity;
        tern_hashtable *table = nullptr;
        tern_status status = tern_hashtable_create(worker, &options, &table);
        if (status != TERN_OK)
            return status;
        return hash_map(worker, table);
    }

    /* Collective: creates a table from a file. file, if given: gets what the file says about it. */
    static result<hash_map> load(tern_worker *worker, const char *path,
                                 tern_hashtable_options options = {},
                                 tern_hashtable_file *file = nullptr) {
        set_types(options);
        tern_hashtable *table = nullptr;
        tern_status status = tern_hashtable_load(worker, path, &options, file, &table);
        if (status != TERN_OK)
            return status;
        return hash_map(worker, table);
    }

  private:
    static void set_types(tern_hashtable_options &options) {
        detail::require_plain<Value>();
        static_assert(alignof(Value) <= 8, "tern hands out values that are aligned to 8 bytes");
        detail::set_key<Key, Hash, Equal>(options);
        options.value_bytes = sizeof(Value);
    }
};

/* A table of counters as one thread uses it. */
template <class Key> class counter_map_view : public detail::table_view<Key, std::uint64_t> {
  public:
    using detail::table_view<Key, std::uint64_t>::table_view;

    /* Adds delta to the counter of key, which is 0 at first. Returns the counter before. */
    result<std::uint64_t> add(const Key &key, std::uint64_t delta = 1, tern_flags flags = 0) {
        std::uint64_t before = 0;
        tern_status status =
            tern_hashtable_add(this->worker_, this->object_, &key, delta, flags, &before);
        if (status != TERN_OK)
            return status;
        return before;
    }

    /* Makes the counter desired if it is expected. Returns the counter before, or nothing if there
     * is no such key. */
    result<std::optional<std::uint64_t>> compare_swap(const Key &key, std::uint64_t expected,
                                                      std::uint64_t desired, tern_flags flags = 0) {
        std::uint64_t before = 0;
        tern_status status = tern_hashtable_compare_swap(this->worker_, this->object_, &key,
                                                         expected, desired, flags, &before);
        if (status == TERN_ERR_NOT_FOUND)
            return std::optional<std::uint64_t>();
        if (status != TERN_OK)
            return status;
        return std::optional<std::uint64_t>(before);
    }

    /* Starts an add. The future has the counter before. */
    result<future<std::uint64_t>> add_start(const Key &key, std::uint64_t delta = 1,
                                            tern_flags flags = 0) {
        auto start = [&](tern_request *request, std::uint64_t *) {
            return tern_hashtable_add_start(this->worker_, this->object_, &key, delta, flags,
                                            request);
        };
        auto end = [](const tern_request *request, std::uint64_t *before) -> tern_status {
            *before = tern_request_result(request);
            return TERN_OK;
        };
        return future<std::uint64_t>::begin(this->worker_, 0, start, end);
    }

    /* Adds delta to the counters of count keys. */
    result<void> add_many(const Key *keys, std::size_t count, std::uint64_t delta = 1,
                          tern_flags flags = 0) {
        return tern_hashtable_add_many(this->worker_, this->object_, keys, count, delta, flags,
                                       nullptr);
    }
};

/* A table of counters. create is collective. */
template <class Key, class Hash = bytewise, class Equal = bytewise>
class counter_map
    : public detail::owner<counter_map_view<Key>, tern_hashtable, tern_hashtable_destroy> {
  public:
    using detail::owner<counter_map_view<Key>, tern_hashtable, tern_hashtable_destroy>::owner;

    static result<counter_map> create(tern_worker *worker, std::uint64_t capacity,
                                      tern_hashtable_options options = {}) {
        detail::set_key<Key, Hash, Equal>(options);
        options.counter = 1;
        options.capacity = capacity;
        tern_hashtable *table = nullptr;
        tern_status status = tern_hashtable_create(worker, &options, &table);
        if (status != TERN_OK)
            return status;
        return counter_map(worker, table);
    }

    static result<counter_map> load(tern_worker *worker, const char *path,
                                    tern_hashtable_options options = {},
                                    tern_hashtable_file *file = nullptr) {
        detail::set_key<Key, Hash, Equal>(options);
        options.counter = 1;
        tern_hashtable *table = nullptr;
        tern_status status = tern_hashtable_load(worker, path, &options, file, &table);
        if (status != TERN_OK)
            return status;
        return counter_map(worker, table);
    }
};

} // namespace tern

#endif
