#ifndef TERN_DETAIL_REMOTE_H
#define TERN_DETAIL_REMOTE_H

/*
 * Not for applications: the parts of TERN_REMOTE and TERN_REMOTE_RETURN (tern/remote.h). Macros
 * only make names and convert; functions decide and copy.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tern/archive.h"
#include "tern/part.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tern_remote_kind {
    TERN_REMOTE_VALUE = 1,
    TERN_REMOTE_ARRAY,
    TERN_REMOTE_STRING,
    TERN_REMOTE_BUFFER,
    TERN_REMOTE_SEGMENT,
    TERN_REMOTE_VECTOR,
    TERN_REMOTE_PART,
    TERN_REMOTE_RESULT
} tern_remote_kind;

/* A parameter, or the result; a list of them ends with kind 0. */
typedef struct tern_remote_parameter {
    tern_remote_kind kind;
    tern_item_type type;
    size_t element;
    size_t count;
    const char *spelled;
} tern_remote_parameter;

/* A parameter of kind TERN_SEGMENT, as it is sent. */
typedef struct tern_remote_piece {
    tern_ptr place;
    uint64_t count;
} tern_remote_piece;

/* Registers function under its name and parameters; tern_context_create returns a failure. */
TERN_API void tern_remote_register(tern_function *function, const tern_remote_parameter *list);

/* Finishes an archive of arguments, so that it can be sent; after a failure the writer is closed.
 */
TERN_NODISCARD TERN_API tern_status tern_remote_finish(tern_writer *writer,
                                                       const tern_function *function,
                                                       const void **arguments, size_t *bytes);

/* Write a parameter. buffer: as a chunk, if it is large enough. */
TERN_API tern_status tern_remote_write_buffer(tern_writer *writer, tern_worker *worker,
                                              tern_item_type type, size_t element,
                                              const void *items, size_t count);
TERN_API tern_status tern_remote_write_vector(tern_writer *writer, tern_worker *worker,
                                              const tern_function *function, const char *name,
                                              tern_item_type type, size_t element,
                                              const tern_vector *vector);

/* tern_call_return, tern_call_start and their forms with chunks, for a result of exactly that size.
 */
TERN_NODISCARD TERN_API tern_status tern_remote_return(tern_worker *worker, tern_worker_id target,
                                                       const tern_function *function,
                                                       const void *arguments, size_t bytes,
                                                       void *result, size_t capacity);
TERN_NODISCARD TERN_API tern_status tern_remote_return_archive(tern_worker *worker,
                                                               tern_worker_id target,
                                                               const tern_function *function,
                                                               const tern_writer *writer,
                                                               void *result, size_t capacity);
TERN_NODISCARD TERN_API tern_status tern_remote_start(tern_worker *worker, tern_worker_id target,
                                                      const tern_function *function,
                                                      const void *arguments, size_t bytes,
                                                      void *result, size_t capacity,
                                                      tern_request *request);
TERN_NODISCARD TERN_API tern_status tern_remote_start_archive(
    tern_worker *worker, tern_worker_id target, const tern_function *function,
    const tern_writer *writer, void *result, size_t capacity, tern_request *request);

/* The error of a handler whose arguments do not fit the declaration. */
TERN_NODISCARD TERN_API tern_status tern_remote_refuse(const tern_function *function, size_t bytes,
                                                       size_t wanted);

/* Returns the data of this rank's part of the object with that id; NULL, with status set: this rank
 * has no such part. kind: the type's name. */
TERN_API void *tern_remote_part(const tern_call_info *call, const tern_function *function,
                                const char *kind, uint64_t id, tern_status *status);

/* Returns the address of a piece in registered memory of this process; NULL, with status set: it is
 * not there. */
TERN_API void *tern_remote_find(const tern_call_info *call, const tern_function *function,
                                const tern_remote_piece *piece, size_t element, size_t alignment,
                                tern_status *status);

/* Returns the address of a piece for a handler; does not change status if it succeeds. */
TERN_INLINE void *tern_remote_reach(const tern_call_info *call, const tern_function *function,
                                    const tern_remote_piece *piece, size_t element,
                                    size_t alignment, tern_status *status) {
    if (piece->count == 0)
        return NULL;
    char *at = piece->count <= SIZE_MAX / element
                   ? tern_internal_reach_address(call->worker, piece->place, piece->count * element)
                   : NULL;
    if (__builtin_expect(at != NULL && (uintptr_t)at % alignment == 0, 1))
        return at;
    return tern_remote_find(call, function, piece, element, alignment, status);
}

#ifdef __cplusplus
}
#define TERN_REMOTE_LINKAGE extern "C"
#define TERN_REMOTE_ASSERT(condition, text) static_assert(condition, text)
#define TERN_REMOTE_IS_PLAIN(type) (!std::is_pointer<type>::value && __is_trivially_copyable(type))
/* The compiler counts the elements. */
#define TERN_REMOTE_ARRAY_OF(type, name, count) const type(&name)[count]
#else
#define TERN_REMOTE_LINKAGE extern
#define TERN_REMOTE_ASSERT(condition, text) _Static_assert(condition, text)
/* 5: the class of pointers. */
#define TERN_REMOTE_IS_PLAIN(type) (__builtin_classify_type(*(type *)0) != 5)
#define TERN_REMOTE_ARRAY_OF(type, name, count) const type name[static count]
#endif

/* An archive of strings and buffers of up to this size needs no heap memory. */
#define TERN_REMOTE_SHORT 512

/* TERN_REMOTE_MAP(_part, name, p...) gives TERN_REMOTE_<kind of p>_part(type, name, count) for each
 * parameter p. */
#define TERN_REMOTE_STRIP(...) __VA_ARGS__
#define TERN_REMOTE_FIRST(...) TERN_REMOTE_FIRST_(__VA_ARGS__, 0)
#define TERN_REMOTE_FIRST_(first, ...) first
#define TERN_REMOTE_COUNT(...)                                                                     \
    TERN_REMOTE_14TH(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TERN_REMOTE_14TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define TERN_REMOTE_EACH(part, p) TERN_REMOTE_EACH_N(TERN_REMOTE_COUNT p, part, TERN_REMOTE_STRIP p)
#define TERN_REMOTE_EACH_N(n, ...) TERN_REMOTE_EACH_N_(n, __VA_ARGS__)
#define TERN_REMOTE_EACH_N_(n, ...) TERN_REMOTE_EACH_##n(__VA_ARGS__)
#define TERN_REMOTE_EACH_2(part, type, name) TERN_REMOTE_VALUE##part(type, name, 1)
#define TERN_REMOTE_EACH_4(part, kind, type, name, count) kind##part(type, name, count)
#define TERN_REMOTE_MAP(part, ...)                                                                 \
    TERN_REMOTE_MAP_N(TERN_REMOTE_COUNT(__VA_ARGS__), part, __VA_ARGS__)
#define TERN_REMOTE_MAP_N(n, ...) TERN_REMOTE_MAP_N_(n, __VA_ARGS__)
#define TERN_REMOTE_MAP_N_(n, ...) TERN_REMOTE_MAP_##n(__VA_ARGS__)
#define TERN_REMOTE_MAP_1(part, name)
#define TERN_REMOTE_MAP_2(part, name, a) TERN_REMOTE_MAP_1(part, name) TERN_REMOTE_EACH(part, a)
#define TERN_REMOTE_MAP_3(part, name, a, b)                                                        \
    TERN_REMOTE_MAP_2(part, name, a) TERN_REMOTE_EACH(part, b)
#define TERN_REMOTE_MAP_4(part, name, a, b, c)                                                     \
    TERN_REMOTE_MAP_3(part, name, a, b) TERN_REMOTE_EACH(part, c)
#define TERN_REMOTE_MAP_5(part, name, a, b, c, d)                                                  \
    TERN_REMOTE_MAP_4(part, name, a, b, c) TERN_REMOTE_EACH(part, d)
#define TERN_REMOTE_MAP_6(part, name, a, b, c, d, e)                                               \
    TERN_REMOTE_MAP_5(part, name, a, b, c, d) TERN_REMOTE_EACH(part, e)
#define TERN_REMOTE_MAP_7(part, name, a, b, c, d, e, f)                                            \
    TERN_REMOTE_MAP_6(part, name, a, b, c, d, e) TERN_REMOTE_EACH(part, f)
#define TERN_REMOTE_MAP_8(part, name, a, b, c, d, e, f, g)                                         \
    TERN_REMOTE_MAP_7(part, name, a, b, c, d, e, f) TERN_REMOTE_EACH(part, g)
#define TERN_REMOTE_MAP_9(part, name, a, b, c, d, e, f, g, h)                                      \
    TERN_REMOTE_MAP_8(part, name, a, b, c, d, e, f, g) TERN_REMOTE_EACH(part, h)
#define TERN_REMOTE_MAP_10(part, name, a, b, c, d, e, f, g, h, i)                                  \
    TERN_REMOTE_MAP_9(part, name, a, b, c, d, e, f, g, h) TERN_REMOTE_EACH(part, i)
#define TERN_REMOTE_MAP_11(part, name, a, b, c, d, e, f, g, h, i, j)                               \
    TERN_REMOTE_MAP_10(part, name, a, b, c, d, e, f, g, h, i) TERN_REMOTE_EACH(part, j)
#define TERN_REMOTE_MAP_12(part, name, a, b, c, d, e, f, g, h, i, j, k)                            \
    TERN_REMOTE_MAP_11(part, name, a, b, c, d, e, f, g, h, i, j) TERN_REMOTE_EACH(part, k)
#define TERN_REMOTE_MAP_13(part, name, a, b, c, d, e, f, g, h, i, j, k, l)                         \
    TERN_REMOTE_MAP_12(part, name, a, b, c, d, e, f, g, h, i, j, k) TERN_REMOTE_EACH(part, l)

/* For each kind of parameter the macros give: an entry of the list; a condition on its type; a
 * parameter of the caller's function and of the program's; a member of the structure that is sent,
 * and how it is filled; whether an archive is needed, what is written to it, and how it is read;
 * how its address is found; the argument of the program's function; what is dropped at the end. */
#define TERN_REMOTE_IN_ARCHIVE 1
#define TERN_REMOTE_MAY_SHARE 2 /* if the caller waits */
#define TERN_REMOTE_SHARES 4
#define TERN_REMOTE_ENTRY(kind, type, count)                                                       \
    {kind, TERN_ITEM_TYPE((type *)0), sizeof(type), count, #type},
#define TERN_REMOTE_CHECK(type)                                                                    \
    TERN_REMOTE_ASSERT(__alignof__(type) <= 8, #type " wants more than 8-byte alignment");         \
    TERN_REMOTE_ASSERT(TERN_REMOTE_IS_PLAIN(type), #type " means nothing on another rank");

#define TERN_REMOTE_VALUE_entry(type, name, count) TERN_REMOTE_ENTRY(TERN_REMOTE_VALUE, type, 1)
#define TERN_REMOTE_VALUE_check(type, name, count) TERN_REMOTE_CHECK(type)
#define TERN_REMOTE_VALUE_caller(type, name, count) , type name
#define TERN_REMOTE_VALUE_here(type, name, count) , type name
#define TERN_REMOTE_VALUE_member(type, name, count) type name;
#define TERN_REMOTE_VALUE_fill(type, name, count) record_.name = name;
#define TERN_REMOTE_VALUE_carries(type, name, count)
#define TERN_REMOTE_VALUE_write(type, name, count)
#define TERN_REMOTE_VALUE_local(type, name, count)
#define TERN_REMOTE_VALUE_read(type, name, count)
#define TERN_REMOTE_VALUE_reach(type, name, count)
#define TERN_REMOTE_VALUE_pass(type, name, count) , record_->name
#define TERN_REMOTE_VALUE_drop(type, name, count)

#define TERN_REMOTE_ARRAY_entry(type, name, count) TERN_REMOTE_ENTRY(TERN_REMOTE_ARRAY, type, count)
#define TERN_REMOTE_ARRAY_check(type, name, count) TERN_REMOTE_CHECK(type)
#define TERN_REMOTE_ARRAY_caller(type, name, count) , TERN_REMOTE_ARRAY_OF(type, name, count)
#define TERN_REMOTE_ARRAY_here(type, name, count) , const type *name
#define TERN_REMOTE_ARRAY_member(type, name, count) type name[count];
#define TERN_REMOTE_ARRAY_fill(type, name, count) memcpy(record_.name, name, sizeof record_.name);
#define TERN_REMOTE_ARRAY_carries(type, name, count)
#define TERN_REMOTE_ARRAY_write(type, name, count)
#define TERN_REMOTE_ARRAY_local(type, name, count)
#define TERN_REMOTE_ARRAY_read(type, name, count)
#define TERN_REMOTE_ARRAY_reach(type, name, count)
#define TERN_REMOTE_ARRAY_pass(type, name, count) , record_->name
#define TERN_REMOTE_ARRAY_drop(type, name, count)

#define TERN_REMOTE_STRING_entry(type, name, count) TERN_REMOTE_ENTRY(TERN_REMOTE_STRING, char, 1)
#define TERN_REMOTE_STRING_check(type, name, count)
#define TERN_REMOTE_STRING_caller(type, name, count) , const char *name
#define TERN_REMOTE_STRING_here(type, name, count) , const char *name
#define TERN_REMOTE_STRING_member(type, name, count)
#define TERN_REMOTE_STRING_fill(type, name, count)
#define TERN_REMOTE_STRING_carries(type, name, count) | TERN_REMOTE_IN_ARCHIVE
#define TERN_REMOTE_STRING_write(type, name, count) (void)tern_write_string(&writer_, name);
#define TERN_REMOTE_STRING_local(type, name, count) const char *name = NULL;
#define TERN_REMOTE_STRING_read(type, name, count) (void)tern_read_string(&reader_, &name, NULL);
#define TERN_REMOTE_STRING_reach(type, name, count)
#define TERN_REMOTE_STRING_pass(type, name, count) , name
#define TERN_REMOTE_STRING_drop(type, name, count)

#define TERN_REMOTE_BUFFER_entry(type, name, count) TERN_REMOTE_ENTRY(TERN_REMOTE_BUFFER, type, 1)
#define TERN_REMOTE_BUFFER_check(type, name, count)                                                \
    TERN_REMOTE_CHECK(type)                                                                        \
    TERN_REMOTE_ASSERT(sizeof(type) <= TERN_ITEM_ELEMENT_MAX, #type " is too large an element");
#define TERN_REMOTE_BUFFER_caller(type, name, count) , const type *name, size_t name##_count
#define TERN_REMOTE_BUFFER_here(type, name, count) , const type *name, size_t name##_count
#define TERN_REMOTE_BUFFER_member(type, name, count)
#define TERN_REMOTE_BUFFER_fill(type, name, count)
#define TERN_REMOTE_BUFFER_carries(type, name, count)                                              \
    | TERN_REMOTE_IN_ARCHIVE | TERN_REMOTE_MAY_SHARE
#define TERN_REMOTE_BUFFER_write(type, name, count)                                                \
    if (waits_ && name##_count > TERN_REMOTE_SHORT / sizeof(type))                                 \
        (void)tern_remote_write_buffer(&writer_, worker_, TERN_ITEM_TYPE((__typeof__(name))0),     \
                                       sizeof(type), name, name##_count);                          \
    else                                                                                           \
        (void)tern_write_items(&writer_, TERN_ITEM_TYPE((__typeof__(name))0), sizeof(type), name,  \
                               name##_count);
#define TERN_REMOTE_BUFFER_local(type, name, count)                                                \
    const type *name = NULL;                                                                       \
    size_t name##_count = 0;
#define TERN_REMOTE_BUFFER_read(type, name, count)                                                 \
    (void)TERN_READ_ARRAY(&reader_, &name, &name##_count);
#define TERN_REMOTE_BUFFER_reach(type, name, count)
#define TERN_REMOTE_BUFFER_pass(type, name, count) , name, name##_count
#define TERN_REMOTE_BUFFER_drop(type, name, count)

#define TERN_REMOTE_SEGMENT_entry(type, name, n) TERN_REMOTE_ENTRY(TERN_REMOTE_SEGMENT, type, 1)
#define TERN_REMOTE_SEGMENT_check(type, name, n)
#define TERN_REMOTE_SEGMENT_caller(type, name, n) , tern_ptr name, size_t name##_count
#define TERN_REMOTE_SEGMENT_here(type, name, n) , type *name, size_t name##_count
#define TERN_REMOTE_SEGMENT_member(type, name, n) tern_remote_piece name;
#define TERN_REMOTE_SEGMENT_fill(type, name, n)                                                    \
    record_.name.place = name;                                                                     \
    record_.name.count = name##_count;
#define TERN_REMOTE_SEGMENT_carries(type, name, n)
#define TERN_REMOTE_SEGMENT_write(type, name, n)
#define TERN_REMOTE_SEGMENT_local(type, name, n)
#define TERN_REMOTE_SEGMENT_read(type, name, n)
/* The piece is copied first, so that the values which are used are the values that were checked. */
#define TERN_REMOTE_SEGMENT_reach(type, name, n)                                                   \
    const tern_remote_piece name##_piece_ = record_->name;                                         \
    type *name = (type *)tern_remote_reach(call_, function_, &name##_piece_, sizeof(type),         \
                                           __alignof__(type), &status_);
#define TERN_REMOTE_SEGMENT_pass(type, name, n) , name, (size_t)name##_piece_.count
#define TERN_REMOTE_SEGMENT_drop(type, name, n)

#define TERN_REMOTE_PART_entry(type, name, n) {TERN_REMOTE_PART, TERN_ITEM_BYTES, 0, 1, #type},
#define TERN_REMOTE_PART_check(type, name, n)
#define TERN_REMOTE_PART_caller(type, name, n) , const tern_part *name
#define TERN_REMOTE_PART_here(type, name, n) , type *name
#define TERN_REMOTE_PART_member(type, name, n) uint64_t name;
#define TERN_REMOTE_PART_fill(type, name, n) record_.name = name != NULL ? tern_part_id(name) : 0;
#define TERN_REMOTE_PART_carries(type, name, n)
#define TERN_REMOTE_PART_write(type, name, n)
#define TERN_REMOTE_PART_local(type, name, n)
#define TERN_REMOTE_PART_read(type, name, n)
#define TERN_REMOTE_PART_reach(type, name, n)                                                      \
    type *name = (type *)tern_remote_part(call_, function_, #type, record_->name, &status_);
#define TERN_REMOTE_PART_pass(type, name, n) , name
#define TERN_REMOTE_PART_drop(type, name, n)

#define TERN_REMOTE_VECTOR_entry(type, name, n) TERN_REMOTE_ENTRY(TERN_REMOTE_VECTOR, type, 1)
#define TERN_REMOTE_VECTOR_check(type, name, n) TERN_REMOTE_BUFFER_check(type, name, n)
#define TERN_REMOTE_VECTOR_caller(type, name, n) , const tern_vector *name
#define TERN_REMOTE_VECTOR_here(type, name, n) , tern_vector *name
#define TERN_REMOTE_VECTOR_member(type, name, n)
#define TERN_REMOTE_VECTOR_fill(type, name, n)
#define TERN_REMOTE_VECTOR_carries(type, name, n) | TERN_REMOTE_IN_ARCHIVE | TERN_REMOTE_SHARES
#define TERN_REMOTE_VECTOR_write(type, name, n)                                                    \
    (void)tern_remote_write_vector(&writer_, worker_, function_, #name, TERN_ITEM_TYPE_OF(type),   \
                                   sizeof(type), name);
#define TERN_REMOTE_VECTOR_local(type, name, n)                                                    \
    tern_vector name;                                                                              \
    memset(&name, 0, sizeof name);
#define TERN_REMOTE_VECTOR_read(type, name, n)                                                     \
    (void)TERN_READ_VECTOR(&reader_, call_->worker, type, &name);
#define TERN_REMOTE_VECTOR_reach(type, name, n)
#define TERN_REMOTE_VECTOR_pass(type, name, n) , &name
#define TERN_REMOTE_VECTOR_drop(type, name, n) tern_vector_destroy(&name);

/* What both kinds of function need: the structure, without padding at its end, and the list.
 * sharing: which flags of parameters mean that the arguments may have chunks. */
#define TERN_REMOTE_RECORD(name, result, sharing, ...)                                             \
    TERN_REMOTE_MAP(_check, __VA_ARGS__)                                                           \
    struct name##_record {                                                                         \
        TERN_REMOTE_MAP(_member, __VA_ARGS__)                                                      \
        char end_;                                                                                 \
    };                                                                                             \
    enum {                                                                                         \
        name##_bytes = offsetof(struct name##_record, end_),                                       \
        name##_carries = 0 TERN_REMOTE_MAP(_carries, __VA_ARGS__),                                 \
        name##_shares = (name##_carries & (sharing)) != 0                                          \
    };                                                                                             \
    static const tern_remote_parameter name##_list[] = {result TERN_REMOTE_MAP(                    \
        _entry, __VA_ARGS__){(tern_remote_kind)0, TERN_ITEM_BYTES, 0, 0, ""}};

/* The handler. All files that declare it share one definition, so it is registered as one function.
 */
#define TERN_REMOTE_HANDLER(name, run, ...)                                                        \
    TERN_REMOTE_LINKAGE tern_status name##_handler(tern_call_info *, const void *, size_t);        \
    static tern_function name##_function = {#name, name##_handler, NULL, 0};                       \
    __attribute__((constructor)) static void name##_register(void) {                               \
        tern_remote_register(&name##_function, name##_list);                                       \
    }                                                                                              \
    __attribute__((weak))                                                                          \
    tern_status name##_handler(tern_call_info *call_, const void *arguments_, size_t bytes_) {     \
        const tern_function *function_ = &name##_function;                                         \
        const struct name##_record *record_ = (const struct name##_record *)arguments_;            \
        tern_status status_ = TERN_OK;                                                             \
        TERN_REMOTE_MAP(_local, __VA_ARGS__)                                                       \
        if (name##_carries != 0) {                                                                 \
            tern_reader reader_;                                                                   \
            size_t count_ = 0;                                                                     \
            tern_ignore(name##_shares ? tern_call_reader(call_, arguments_, bytes_, &reader_)      \
                                      : tern_reader_open(&reader_, arguments_, bytes_));           \
            record_ = (const struct name##_record *)tern_internal_reader_next(                     \
                &reader_, TERN_ITEM_BYTES, 1, name##_bytes, &count_);                              \
            TERN_REMOTE_MAP(_read, __VA_ARGS__)                                                    \
            status_ = tern_reader_close(&reader_);                                                 \
        } else if (bytes_ != name##_bytes) {                                                       \
            status_ = tern_remote_refuse(function_, bytes_, name##_bytes);                         \
        }                                                                                          \
        if (status_ == TERN_OK) {                                                                  \
            TERN_REMOTE_MAP(_reach, __VA_ARGS__)                                                   \
            if (status_ == TERN_OK)                                                                \
                run;                                                                               \
        }                                                                                          \
        TERN_REMOTE_MAP(_drop, __VA_ARGS__)                                                        \
        (void)function_;                                                                           \
        (void)record_;                                                                             \
        return status_;                                                                            \
    }

/* A function for callers: its name, its parameters, how arguments are sent, and whether it returns
 * only once they may be reused. */
#define TERN_REMOTE_TO(...)                                                                        \
    tern_worker *worker_, tern_worker_id target_ TERN_REMOTE_MAP(_caller, __VA_ARGS__)
#define TERN_REMOTE_CALLER(name, caller, parameters, send, waits, ...)                             \
    TERN_NODISCARD static inline __attribute__((unused)) tern_status caller parameters {           \
        const tern_function *function_ = &name##_function;                                         \
        const bool waits_ = waits;                                                                 \
        struct name##_record record_;                                                              \
        uint64_t memory_[TERN_REMOTE_SHORT / 8];                                                   \
        tern_writer writer_;                                                                       \
        const void *arguments_ = &record_;                                                         \
        size_t bytes_ = name##_bytes;                                                              \
        tern_status status_;                                                                       \
        (void)waits_;                                                                              \
        record_.end_ = 0;                                                                          \
        TERN_REMOTE_MAP(_fill, __VA_ARGS__)                                                        \
        if (name##_carries != 0) {                                                                 \
            (void)tern_writer_open(&writer_, memory_, sizeof memory_, TERN_CHUNK_MAX);             \
            (void)tern_write_items(&writer_, TERN_ITEM_BYTES, 1, &record_, name##_bytes);          \
            TERN_REMOTE_MAP(_write, __VA_ARGS__)                                                   \
            status_ = tern_remote_finish(&writer_, function_, &arguments_, &bytes_);               \
            if (status_ != TERN_OK)                                                                \
                return status_;                                                                    \
        }                                                                                          \
        status_ = send;                                                                            \
        if (name##_carries != 0)                                                                   \
            tern_writer_close(&writer_);                                                           \
        return status_;                                                                            \
    }

/* parameters: all of the function, in parentheses; result: where it goes; bytes: how many. */
#define TERN_REMOTE_START(name, parameters, result, bytes, ...)                                    \
    TERN_REMOTE_CALLER(name, name##_start, parameters,                                             \
                       (name##_carries & TERN_REMOTE_SHARES) != 0                                  \
                           ? tern_remote_start_archive(worker_, target_, function_, &writer_,      \
                                                       result, bytes, request_)                    \
                           : tern_remote_start(worker_, target_, function_, arguments_, bytes_,    \
                                               result, bytes, request_),                           \
                       false, __VA_ARGS__)

#define TERN_REMOTE_(name, ...) TERN_REMOTE__(name, __VA_ARGS__)
#define TERN_REMOTE__(name, ...)                                                                   \
    TERN_REMOTE_LINKAGE tern_status name##_here(                                                   \
        tern_call_info *call_ TERN_REMOTE_MAP(_here, __VA_ARGS__));                                \
    TERN_REMOTE_RECORD(name, , TERN_REMOTE_SHARES, __VA_ARGS__)                                    \
    TERN_REMOTE_HANDLER(name, status_ = name##_here(call_ TERN_REMOTE_MAP(_pass, __VA_ARGS__)),    \
                        __VA_ARGS__)                                                               \
    TERN_REMOTE_CALLER(name, name, (TERN_REMOTE_TO(__VA_ARGS__)),                                  \
                       name##_shares                                                               \
                           ? tern_call_archive(worker_, target_, function_, &writer_, NULL)        \
                           : tern_call(worker_, target_, function_, arguments_, bytes_),           \
                       false, __VA_ARGS__)                                                         \
    TERN_REMOTE_START(name, (TERN_REMOTE_TO(__VA_ARGS__), tern_request * request_), NULL, 0,       \
                      __VA_ARGS__)

/* The function writes its result straight to the memory from which the reply is sent. */
#define TERN_REMOTE_RETURN_(type, name, ...) TERN_REMOTE_RETURN__(type, name, __VA_ARGS__)
#define TERN_REMOTE_RETURN__(type, name, ...)                                                      \
    TERN_REMOTE_CHECK(type)                                                                        \
    TERN_REMOTE_LINKAGE tern_status name##_here(                                                   \
        tern_call_info *call_ TERN_REMOTE_MAP(_here, __VA_ARGS__), type *result_);                 \
    TERN_REMOTE_RECORD(name, TERN_REMOTE_ENTRY(TERN_REMOTE_RESULT, type, 1),                       \
                       TERN_REMOTE_SHARES | TERN_REMOTE_MAY_SHARE, __VA_ARGS__)                    \
    TERN_REMOTE_HANDLER(name,                                                                      \
                        if ((sizeof(type) <= TERN_RESULT_MAX ||                                    \
                             (status_ = tern_call_result(call_, sizeof(type))) == TERN_OK) &&      \
                            (status_ = name##_here(call_ TERN_REMOTE_MAP(_pass, __VA_ARGS__),      \
                                                   (type *)call_->result)) == TERN_OK)             \
                            call_->result_bytes = sizeof(type),                                    \
                        __VA_ARGS__)                                                               \
    TERN_REMOTE_CALLER(name, name, (TERN_REMOTE_TO(__VA_ARGS__), type * result_),                  \
                       name##_shares ? tern_remote_return_archive(worker_, target_, function_,     \
                                                                  &writer_, result_, sizeof(type)) \
                                     : tern_remote_return(worker_, target_, function_, arguments_, \
                                                          bytes_, result_, sizeof(type)),          \
                       true, __VA_ARGS__)                                                          \
    TERN_REMOTE_START(name,                                                                        \
                      (TERN_REMOTE_TO(__VA_ARGS__), type * result_, tern_request * request_),      \
                      result_, sizeof(type), __VA_ARGS__)

#endif
