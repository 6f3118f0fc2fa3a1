#ifndef TERN_CPP_WAIT_HPP
#define TERN_CPP_WAIT_HPP

/*
 * Waiting until words of this process's memory compare with a value as the program wants it
 * (tern/wait.h).
 *
 *     std::int64_t *flag = mine.local(context);
 *     tern::wait_until(worker, flag, TERN_GREATER, std::int64_t(0)).value();
 *
 * Words are integers of 4 or 8 bytes. Comparisons of signed types are signed: TERN_LESS means
 * TERN_LESS_SIGNED for them, and so on. The waits make progress, block, and end when a rank dies
 * that they wait for; the tests do not wait. Statuses are those of tern/wait.h.
 */

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tern/cpp/transfer.hpp"
#include "tern/wait.h"

namespace tern {

namespace detail {

/* The comparison of the C interface for words of type T. */
template <class T> constexpr tern_comparison comparison_of(tern_comparison comparison) {
    if (!std::is_signed_v<T>)
        return comparison;
    switch (comparison) {
    case TERN_LESS:
        return TERN_LESS_SIGNED;
    case TERN_LESS_EQUAL:
        return TERN_LESS_EQUAL_SIGNED;
    case TERN_GREATER:
        return TERN_GREATER_SIGNED;
    case TERN_GREATER_EQUAL:
        return TERN_GREATER_EQUAL_SIGNED;
    default:
        return comparison;
    }
}

/* Returns what a test of the C interface finds. */
template <class Test> result<bool> holds(Test test) {
    return value_of<bool>([&](bool *value) {
        int found = 0;
        const tern_status status = test(&found);
        *value = found != 0;
        return status;
    });
}

} // namespace detail

/* Several words and what is wanted of each (tern_word_list). Everything that it points to belongs
 * to the program. */
template <class T> struct word_list {
    const T *words = nullptr;
    std::size_t count = 0;
    tern_comparison comparison = TERN_EQUAL;
    T value = T();                       /* for every word */
    const T *values = nullptr;           /* if set, one for each word in place of value */
    const int *skip = nullptr;           /* if set, leaves out the words for which it is not 0 */
    const std::uint32_t *peer = nullptr; /* if set, the rank whose death ends a wait */

    /* The list of the C interface. */
    tern_word_list c() const {
        detail::require_word<T>();
        tern_word_list list = {};
        list.words = words;
        list.count = count;
        list.width = sizeof(T);
        list.comparison = detail::comparison_of<T>(comparison);
        list.value = static_cast<detail::word<T>>(value);
        list.values = values;
        list.skip = skip;
        list.peer = peer;
        return list;
    }
};

/* Waits until a word satisfies the comparison with value. What its writer put or did before is
 * visible then. */
template <class T>
result<void> wait_until(tern_worker *worker, const T *word, tern_comparison comparison, T value) {
    detail::require_word<T>();
    const auto *at = reinterpret_cast<const detail::word<T> *>(word);
    const auto wanted = static_cast<detail::word<T>>(value);
    if constexpr (sizeof(T) == 8)
        return tern_wait_until(worker, at, detail::comparison_of<T>(comparison), wanted);
    else
        return tern_wait_until32(worker, at, detail::comparison_of<T>(comparison), wanted);
}

/* Returns whether a word satisfies the comparison with value. Never waits. */
template <class T>
result<bool> test_until(tern_worker *worker, const T *word, tern_comparison comparison, T value) {
    detail::require_word<T>();
    const auto *at = reinterpret_cast<const detail::word<T> *>(word);
    const auto wanted = static_cast<detail::word<T>>(value);
    const tern_comparison how = detail::comparison_of<T>(comparison);
    return detail::holds([&](int *holds) {
        if constexpr (sizeof(T) == 8)
            return tern_test_until(worker, at, how, wanted, holds);
        else
            return tern_test_until32(worker, at, how, wanted, holds);
    });
}

/* Waits until each word has satisfied its comparison once. */
template <class T> result<void> wait_until_all(tern_worker *worker, const word_list<T> &words) {
    const tern_word_list list = words.c();
    return tern_wait_until_all(worker, &list);
}

/* Waits until one word satisfies its comparison, and returns its index, or TERN_NO_WORD if no word
 * counts. start: where the search begins, modulo the count. */
template <class T>
result<std::size_t> wait_until_any(tern_worker *worker, const word_list<T> &words,
                                   std::size_t start = 0) {
    const tern_word_list list = words.c();
    return detail::value_of<std::size_t>(
        [&](std::size_t *index) { return tern_wait_until_any(worker, &list, start, index); });
}

/* Waits until at least one word satisfies its comparison, and returns how many do. indices: room
 * for count numbers; gets the indices of these words, ascending. */
template <class T>
result<std::size_t> wait_until_some(tern_worker *worker, const word_list<T> &words,
                                    std::size_t *indices) {
    const tern_word_list list = words.c();
    return detail::value_of<std::size_t>(
        [&](std::size_t *found) { return tern_wait_until_some(worker, &list, indices, found); });
}

/* Returns whether every word satisfies its comparison. Never waits. */
template <class T> result<bool> test_until_all(tern_worker *worker, const word_list<T> &words) {
    const tern_word_list list = words.c();
    return detail::holds([&](int *holds) { return tern_test_until_all(worker, &list, holds); });
}

/* Returns the index of a word that satisfies its comparison, or TERN_NO_WORD. Never waits. */
template <class T>
result<std::size_t> test_until_any(tern_worker *worker, const word_list<T> &words,
                                   std::size_t start = 0) {
    const tern_word_list list = words.c();
    return detail::value_of<std::size_t>(
        [&](std::size_t *index) { return tern_test_until_any(worker, &list, start, index); });
}

/* Returns how many words satisfy their comparisons. indices: as for wait_until_some. Never waits.
 */
template <class T>
result<std::size_t> test_until_some(tern_worker *worker, const word_list<T> &words,
                                    std::size_t *indices) {
    const tern_word_list list = words.c();
    return detail::value_of<std::size_t>(
        [&](std::size_t *found) { return tern_test_until_some(worker, &list, indices, found); });
}

} // namespace tern

#endif
