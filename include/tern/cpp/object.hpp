#ifndef TERN_CPP_OBJECT_HPP
#define TERN_CPP_OBJECT_HPP

/* What the owners of objects that ranks create together have in common. Not for applications. */

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "tern/cpp/context.hpp"

namespace tern::detail {

/* An object and the worker by which this thread uses it. */
template <class Object> class handle {
  public:
    handle(tern_worker *worker, Object *object) noexcept : worker_(worker), object_(object) {}

    /* The object of the C interface. */
    Object *get() const noexcept { return object_; }

  protected:
    /* Returns a number that function reports about the object. */
    template <class Function> result<std::uint64_t> count(Function function) {
        std::uint64_t number = 0;
        tern_status status = function(worker_, object_, &number);
        if (status != TERN_OK)
            return status;
        return number;
    }

    tern_worker *worker_;
    Object *object_;
};

/* A program's function that a walk in C calls for each key. An exception must not fly through
 * functions in C, so it is kept until the walk has ended. */
template <class Visit> class visitor {
  public:
    explicit visitor(Visit &visit) noexcept : visit_(visit) {}

    /* 0: the walk goes on. visit returns nothing, a bool that is false to end it, or a status, of
     * which an error ends it and is the walk's. */
    template <class Key, class Value> int step(const Key &key, const Value &value) noexcept {
#if defined(__cpp_exceptions)
        try {
            return call(key, value);
        } catch (...) {
            thrown_ = std::current_exception();
            return 1;
        }
#else
        return call(key, value);
#endif
    }

    /* Throws what visit threw. status is that of the walk; an error of visit is returned first. */
    result<void> end(tern_status status) {
#if defined(__cpp_exceptions)
        if (thrown_ != nullptr)
            std::rethrow_exception(thrown_);
#endif
        return failed_ != TERN_OK ? failed_ : status;
    }

  private:
    template <class Key, class Value> int call(const Key &key, const Value &value) {
        using returned = std::decay_t<decltype(visit_(key, value))>;
        if constexpr (std::is_void_v<returned>) {
            visit_(key, value);
            return 0;
        } else if constexpr (std::is_same_v<returned, tern_status> ||
                             std::is_same_v<returned, result<void>>) {
            failed_ = result<void>(visit_(key, value)).status();
            return failed_ != TERN_OK;
        } else {
            return visit_(key, value) ? 0 : 1;
        }
    }

    Visit &visit_;
    tern_status failed_ = TERN_OK;
#if defined(__cpp_exceptions)
    std::exception_ptr thrown_;
#endif
};

/* Owns an object: its destructor destroys it. View has the operations, and derives from
 * handle<Object>. */
template <class View, class Object, tern_status (*Destroy)(tern_worker *, Object *)>
class owner : public View {
  public:
    owner(tern_worker *worker, Object *object) noexcept : View(worker, object) {}
    owner(owner &&other) noexcept : View(other.worker_, std::exchange(other.object_, nullptr)) {}
    owner &operator=(owner &&other) noexcept {
        std::swap(this->worker_, other.worker_);
        std::swap(this->object_, other.object_);
        return *this;
    }
    ~owner() {
        if (!birth_.unwinding())
            log_failure("to destroy a table, a map or a queue", destroy().status());
    }

    /* Returns the same object for the thread that has another worker. The copy must not outlive the
     * owner. */
    View on(tern_worker *worker) const noexcept { return View(worker, this->object_); }

    /* Destroys the object. Collective. After TERN_ERR_MISMATCH and TERN_ERR_STATE it is still
     * there. */
    result<void> destroy() noexcept {
        if (this->object_ == nullptr)
            return TERN_OK;
        tern_status status = Destroy(this->worker_, this->object_);
        if (status != TERN_ERR_STATE && status != TERN_ERR_MISMATCH)
            this->object_ = nullptr;
        return status;
    }

  private:
    birth birth_;
};

template <class T> constexpr void require_plain() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                  "tern copies this type byte by byte to other ranks: it must be trivially "
                  "copyable, without pointers, std::string or std::vector; an array in a struct, "
                  "std::array or an index will do");
    static_assert(std::is_default_constructible_v<T>,
                  "tern makes a value of this type before it knows its content: it must be "
                  "default constructible");
}

} // namespace tern::detail

#endif
