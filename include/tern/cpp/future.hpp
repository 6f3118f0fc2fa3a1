#ifndef TERN_CPP_FUTURE_HPP
#define TERN_CPP_FUTURE_HPP

/*
 * Operations that are under way (tern/request.h), each with the value that it reads or writes:
 *
 *     auto sum = tern::call_start<add>(worker, target, 1, 2).value();
 *     ...
 *     int three = sum.get().value();
 *
 * A future can be moved, because request and value lie in memory of their own. One allocation for
 * each operation is its price; the functions of the C interface need none. The destructor waits for
 * an operation that is still under way, unless it runs because of an exception; then it leaves the
 * memory to the operation.
 */

#include <memory>
#include <utility>

#include "tern/cpp/object.hpp"
#include "tern/request.h"

namespace tern {

/* An operation that is under way. */
template <class T> class [[nodiscard]] future {
  public:
    future(future &&) noexcept = default;
    future &operator=(future &&other) noexcept {
        std::swap(worker_, other.worker_);
        std::swap(operation_, other.operation_);
        return *this;
    }
    ~future() {
        if (operation_ == nullptr || operation_->told)
            return;
        if (birth_.unwinding())
            (void)operation_.release();
        else
            detail::log_failure("an operation that nobody waited for", wait().status());
    }

    /* Returns whether the operation is complete. Makes progress; never waits. */
    result<bool> done() {
        int done = 0;
        tern_status status = tern_test(worker_, &operation_->request, &done);
        if (status != TERN_OK)
            return status;
        return done != 0;
    }

    /* Waits until the operation is complete. */
    result<void> wait() {
        operation_->told = true;
        return tern_wait(worker_, &operation_->request);
    }

    /* Waits, and returns what was read, or what was written. May be called again. */
    result<T> get() {
        tern_status status = wait().status();
        if (status == TERN_OK && operation_->end != nullptr)
            status = operation_->end(&operation_->request, &operation_->value);
        if (status != TERN_OK)
            return status;
        return operation_->value;
    }

    /* The request of the C interface, which stays the future's. */
    tern_request *request() noexcept { return &operation_->request; }

    /* A function that makes the value from what the complete request says. get() calls it each
     * time. */
    using end_function = tern_status (*)(const tern_request *request, T *value);

    /* For functions that start operations: start(request, value) starts one, which reads or writes
     * value. end, if there is one: what makes the value complete. */
    template <class Start>
    static result<future> begin(tern_worker *worker, T value, Start start,
                                end_function end = nullptr) {
        future f(worker, std::move(value));
        f.operation_->end = end;
        tern_status status = start(&f.operation_->request, &f.operation_->value);
        if (status != TERN_OK) {
            f.operation_.reset();
            return status;
        }
        return f;
    }

  private:
    struct operation {
        tern_request request = {};
        T value;
        end_function end = nullptr;
        bool told = false; /* a wait has returned what became of it */
        explicit operation(T initial) : value(std::move(initial)) {}
    };

    future(tern_worker *worker, T value)
        : worker_(worker), operation_(std::make_unique<operation>(std::move(value))) {}

    detail::birth birth_;
    tern_worker *worker_;
    std::unique_ptr<operation> operation_;
};

/* An operation that is under way on memory of the program, which has to live, and must not be used,
 * until the operation is complete. */
template <> class [[nodiscard]] future<void> {
  public:
    /* Returns whether the operation is complete. Makes progress; never waits. */
    result<bool> done() { return operation_.done(); }

    /* Both wait until the operation is complete. */
    result<void> wait() { return operation_.wait(); }
    result<void> get() { return operation_.wait(); }

    /* The request of the C interface, which stays the future's. */
    tern_request *request() noexcept { return operation_.request(); }

    /* For functions that start operations: start(request) starts one. */
    template <class Start> static result<future> begin(tern_worker *worker, Start start) {
        auto begun = future<char>::begin(
            worker, '\0', [&](tern_request *request, char *) { return start(request); });
        if (!begun.ok())
            return begun.status();
        return future(std::move(begun).value());
    }

  private:
    explicit future(future<char> operation) noexcept : operation_(std::move(operation)) {}

    future<char> operation_;
};

} // namespace tern

#endif
