#ifndef TERN_CPP_BYTES_HPP
#define TERN_CPP_BYTES_HPP

/* Views of bytes: the keys and values of maps, and the notes of files. */

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tern/cpp/object.hpp"

namespace tern {

namespace detail {

/* Types with data() and size() of plain elements: std::string, std::string_view, std::vector. */
template <class T, class = void> struct is_array : std::false_type {};
template <class T>
struct is_array<T, std::void_t<decltype(sizeof(*std::declval<const T &>().data())),
                               decltype(std::declval<const T &>().size())>> : std::true_type {};

} // namespace detail

/* A key or a value: a view of bytes that belong to somebody else. It is made of a text, or of any
 * type with data() and size() whose elements are plain. */
class bytes {
  public:
    constexpr bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    bytes(const char *text) noexcept : bytes(text, std::strlen(text)) {}
    template <class Array, std::enable_if_t<detail::is_array<Array>::value, int> = 0>
    bytes(const Array &array) noexcept : bytes(array.data(), array.size() * sizeof(*array.data())) {
        detail::require_plain<std::decay_t<decltype(*array.data())>>();
    }

    const void *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

    /* Returns the bytes as a text. */
    std::string_view text() const noexcept { return {static_cast<const char *>(data_), size_}; }

  private:
    const void *data_;
    std::size_t size_;
};

/* Returns the bytes of one plain value. Equal keys must have equal bytes, so a key must have no
 * padding. */
template <class T> bytes bytes_of(const T &value) noexcept {
    detail::require_plain<T>();
    return bytes(&value, sizeof(T));
}

} // namespace tern

#endif
