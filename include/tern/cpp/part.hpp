#ifndef TERN_CPP_PART_HPP
#define TERN_CPP_PART_HPP

/*
 * Objects of the program's own that are spread over the ranks (tern/part.h). Each rank has a part,
 * and a function that is called finds the part of its rank by the object's id:
 *
 *     static int sell(tern_call_info &call, std::uint64_t id, int count) {
 *         shop *here = tern::find_part<shop>(call.worker, "shop", id);
 *         return here != nullptr ? here->sell(count) : -1;
 *     }
 *
 *     shop mine;
 *     auto part = tern::part::create(worker, "shop", &mine).value();
 *     tern::barrier(worker).value(); // each rank has its part
 *     tern::call_return<sell>(worker, target, part.id(), 3).value();
 *     tern::barrier(worker).value(); // no rank calls any more
 */

#include <cstdint>
#include <utility>

#include "tern/cpp/result.hpp"
#include "tern/part.h"

namespace tern {

/* This rank's part. Its destructor is local: put a barrier before it. */
class part {
  public:
    /* Creates a part. Collective. kind: a text that lives as long as the part; data: what find_part
     * returns. */
    static result<part> create(tern_worker *worker, const char *kind, void *data) {
        tern_part *created = nullptr;
        tern_status status = tern_part_create(worker, kind, data, &created);
        if (status != TERN_OK)
            return status;
        return part(created);
    }

    explicit part(tern_part *created) noexcept : part_(created) {}
    part(part &&other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
    part &operator=(part &&other) noexcept {
        std::swap(part_, other.part_);
        return *this;
    }
    ~part() { tern_part_destroy(part_); }

    /* The part of the C interface. */
    tern_part *get() const noexcept { return part_; }

    /* Returns the object's id, which is the same on every rank. */
    std::uint64_t id() const noexcept { return tern_part_id(part_); }

  private:
    tern_part *part_;
};

/* Returns the data of this rank's part, or null if no object of that kind has the id. */
template <class T> T *find_part(tern_worker *worker, const char *kind, std::uint64_t id) {
    return static_cast<T *>(tern_part_find(worker, kind, id));
}

} // namespace tern

#endif
