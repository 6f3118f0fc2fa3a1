#ifndef TERN_CPP_CONTEXT_HPP
#define TERN_CPP_CONTEXT_HPP

/*
 * Contexts and workers with owners. Both can be moved and not copied, and both convert to the
 * pointers of the C interface, so that every function of tern takes them:
 *
 *     auto context = tern::context::create(MPI_COMM_WORLD).value();
 *     auto worker = context.adopt().value();
 *     tern_barrier(worker);
 *
 * Destructors. To destroy a context, a table, a map or a queue is collective: all ranks destroy the
 * same objects in the same order, and a rank waits for the others. Scopes do it by themselves if
 * each rank leaves them: declare the context first, then its worker, then tables, maps and queues,
 * and end their scope before MPI_Finalize. A destructor that fails writes a line to standard error,
 * unless TERN_LOG_LEVEL=none. destroy() returns the status instead.
 *
 * A rank that leaves the scope by an exception may be alone with it, so the destructors destroy
 * nothing then, and wait for nobody. Catch it outside to call MPI_Abort.
 */

#include <cstdint>
#include <utility>

#include "tern/context.h"
#include "tern/cpp/result.hpp"
#include "tern/message.h"
#include "tern/transfer.h"

namespace tern {

/* A worker that this thread has adopted. */
class worker {
  public:
    explicit worker(tern_worker *adopted) noexcept : worker_(adopted) {}
    worker(worker &&other) noexcept : worker_(std::exchange(other.worker_, nullptr)) {}
    worker &operator=(worker &&other) noexcept {
        std::swap(worker_, other.worker_);
        return *this;
    }
    ~worker() { detail::log_failure("tern_worker_release", release().status()); }

    operator tern_worker *() const noexcept { return worker_; }

    /* Gives the worker back, for any thread to adopt. */
    result<void> release() noexcept {
        tern_worker *adopted = std::exchange(worker_, nullptr);
        return adopted != nullptr ? tern_worker_release(adopted) : TERN_OK;
    }

  private:
    tern_worker *worker_;
};

/* A context, whose destructor is collective. */
class context {
  public:
    /* Creates a context. Collective over comm; see tern_context_create. */
    static result<context> create(MPI_Comm comm, const tern_config *config = nullptr) {
        tern_context *created = nullptr;
        tern_status status = tern_context_create(comm, config, &created);
        if (status != TERN_OK)
            return status;
        return context(created);
    }

    explicit context(tern_context *created) noexcept : context_(created) {}
    context(context &&other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
    context &operator=(context &&other) noexcept {
        std::swap(context_, other.context_);
        return *this;
    }
    ~context() {
        if (!birth_.unwinding())
            detail::log_failure("tern_context_destroy", destroy().status());
    }

    operator tern_context *() const noexcept { return context_; }

    std::uint32_t rank() const noexcept { return tern_context_rank(context_); }
    std::uint32_t size() const noexcept { return tern_context_size(context_); }

    /* Takes a worker of this process for the calling thread. */
    result<worker> adopt(std::uint32_t index = 0) {
        tern_worker *adopted = nullptr;
        tern_status status = tern_worker_adopt(context_, index, &adopted);
        if (status != TERN_OK)
            return status;
        return worker(adopted);
    }

    /* Destroys the context. Collective. After TERN_ERR_STATE and TERN_ERR_MISMATCH it is still
     * there. */
    result<void> destroy() noexcept {
        tern_status status = tern_context_destroy(context_);
        if (status != TERN_ERR_STATE && status != TERN_ERR_MISMATCH)
            context_ = nullptr;
        return status;
    }

  private:
    detail::birth birth_;
    tern_context *context_;
};

} // namespace tern

#endif
