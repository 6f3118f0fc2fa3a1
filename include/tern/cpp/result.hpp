#ifndef TERN_CPP_RESULT_HPP
#define TERN_CPP_RESULT_HPP

/*
 * What functions of tern's C++ interface return: a value or a status. The caller chooses at each
 * call whether it looks at the status or has it thrown.
 *
 *     auto table = tern::hash_map<int, double>::create(worker, 1000);
 *     if (!table.ok())
 *         return table.status();
 *
 *     auto table = tern::hash_map<int, double>::create(worker, 1000).value(); // may throw
 *
 * In programs that are compiled without exceptions, value() writes the text of the error to
 * standard error and aborts.
 */

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

#include "tern/config.h"
#include "tern/status.h"

namespace tern {

#if defined(__cpp_exceptions)
/* Thrown by result::value. what() is the meaning of the status, and the detail of this thread. */
class error : public std::runtime_error {
  public:
    error(tern_status status, const std::string &text)
        : std::runtime_error(text), status_(status) {}
    tern_status status() const noexcept { return status_; }

  private:
    tern_status status_;
};
#endif

namespace detail {

[[noreturn]] inline void raise(tern_status status) {
    const char *detail = tern_error_detail();
#if defined(__cpp_exceptions)
    std::string text = tern_strerror(status);
    throw error(status, *detail != '\0' ? text + ": " + detail : text);
#else
    std::fprintf(stderr, "tern: %s: %s\n", tern_strerror(status), detail);
    std::abort();
#endif
}

/* For destructors, which cannot return a status. */
inline void log_failure(const char *what, tern_status status) noexcept {
    if (status != TERN_OK && tern_log_get_level() >= TERN_LOG_ERROR)
        std::fprintf(stderr, "tern: %s failed: %s: %s\n", what, tern_strerror(status),
                     tern_error_detail());
}

/* A member of owners, whose destructors ask whether they run because of an exception. */
class birth {
  public:
    bool unwinding() const noexcept { return std::uncaught_exceptions() > exceptions_; }

  private:
    int exceptions_ = std::uncaught_exceptions();
};

} // namespace detail

/* A value, or the status that says why there is no value. The detail of an error is that of the
 * thread (tern_error_detail), so look at it, or call value(), before the thread's next call of
 * tern. */
template <class T> class [[nodiscard]] result {
  public:
    result(T value) : status_(TERN_OK), value_(std::move(value)) {}
    result(tern_status status) : status_(status) {}

    bool ok() const noexcept { return status_ == TERN_OK; }
    tern_status status() const noexcept { return status_; }

    /* Returns the value. Throws tern::error if there is no value. */
    T &value() & {
        require();
        return *value_;
    }
    const T &value() const & {
        require();
        return *value_;
    }
    T value() && {
        require();
        return std::move(*value_);
    }

  private:
    void require() const {
        if (!ok())
            detail::raise(status_);
    }

    tern_status status_;
    std::optional<T> value_;
};

/* A status alone. */
template <> class [[nodiscard]] result<void> {
  public:
    result(tern_status status) : status_(status) {}

    bool ok() const noexcept { return status_ == TERN_OK; }
    tern_status status() const noexcept { return status_; }

    /* Throws tern::error if the status is not TERN_OK. */
    void value() const {
        if (!ok())
            detail::raise(status_);
    }

  private:
    tern_status status_;
};

namespace detail {

/* Returns the value that a function of the C interface gives: call stores it and returns a
 * status. */
template <class T, class Call> result<T> value_of(Call call) {
    T value = T();
    const tern_status status = call(&value);
    if (status != TERN_OK)
        return status;
    return value;
}

} // namespace detail

} // namespace tern

#endif
