#ifndef TERN_REMOTE_H
#define TERN_REMOTE_H

/*
 * Functions of other workers, called like any function (Seriema, paper 000). At file
 * scope, in one source file or in a header that several include, C or C++:
 *
 *     TERN_REMOTE(plot, (struct point, at), TERN_STRING(label), TERN_BUFFER(float, values))
 *     TERN_REMOTE_RETURN(double, mean, TERN_BUFFER(double, values))
 *
 * declares what the program defines, once, and what runs on the target, in its tern_progress,
 *
 *     tern_status plot_here(tern_call_info *call, struct point at, const char *label,
 *                           const float *values, size_t values_count);
 *     tern_status mean_here(tern_call_info *call, const double *values, size_t values_count,
 *                           double *result);
 *
 * and what callers use (tern/message.h: by message, and in threads without a worker):
 *
 *     tern_status plot(tern_worker *, tern_worker_id, struct point at, const char *label,
 *                      const float *values, size_t values_count);          as tern_call
 *     tern_status plot_start(..., tern_request *);                         as tern_call_start
 *     tern_status mean(tern_worker *, tern_worker_id, const double *values, size_t values_count,
 *                      double *result);                                    as tern_call_return
 *     tern_status mean_start(..., double *result, tern_request *);         as tern_call_start
 *
 * Up to 12 parameters, each of these:
 *
 *     (type, name)                     a number, enum, structure or tern_ptr, copied bit by bit
 *     TERN_ARRAY(type, name, count)    count values, a constant
 *     TERN_STRING(name)                text up to its final zero
 *     TERN_BUFFER(type, name)          name_count values at name
 *     TERN_SEGMENT(type, name)         name_count values in a segment or in registered memory: the
 *                                      caller passes a tern_ptr, the function gets their address,
 *                                      checked, where its process reaches them by load/store;
 *                                      nothing is copied
 *     TERN_VECTOR(type, name)          a vector of such elements (tern/vector.h): the caller passes
 *                                      a const tern_vector *, the function gets a tern_vector *
 *     TERN_PART(type, name)            an object of the program's (tern/part.h): the caller passes
 * its own part, a const tern_part *; the function gets the data of the target's part, which is a
 * type *. The part's kind is the name of the type. So tables and queues travel, too: as the data of
 * a part of kind "tern_hashtable"
 *
 * A type is a name of one or more words; types with commas, function pointers and the like want a
 * typedef. Pointers are refused, as are types that want more than 8-byte alignment and in C++ those
 * that are not trivially copyable. What a function gets by address lies in the ring, or in the
 * segment, and is gone, or free to change, when it returns.
 *
 * Vectors of TERN_ZERO_COPY_MIN bytes and more travel as chunks (tern/archive.h), not copied
 * at the caller's, and their memory is kept until it has been sent: so a vector may be destroyed or
 * grow at once, but what its elements are changed to may be what arrives. A function may take over
 * what it gets (tern_vector_move); what it leaves is let go of when it returns. Buffers travel in
 * the same way where the caller waits for the result.
 *
 * The parameters' types and sizes are part of the name that is compared across ranks: functions
 * named alike with different parameters make tern_context_create fail, with their name. So fixed
 * parameters travel as one structure whose length is all that is checked; with up to
 * TERN_CALL_INLINED bytes the call is inlined. Strings and buffers travel in an archive. What does
 * not fit its description is refused before the function runs: TERN_ERR_MISMATCH, TERN_ERR_RANGE,
 * and TERN_ERR_STATE where the target has no such part.
 *
 * Errors at the caller, beside those of the calls named above: TERN_ERR_ARGUMENT: a string, buffer
 * or vector is NULL; TERN_ERR_MISMATCH: a vector of other elements; TERN_ERR_RANGE: arguments of
 * more than TERN_CHUNK_MAX; TERN_ERR_MEMORY: strings and buffers of more than
 * some hundred bytes are packed in heap memory. With vectors as tern_call_archive and
 * tern_call_archive_start.
 */

#include "tern/detail/remote.h"

/* Parameters that are no plain (type, name). */
#define TERN_ARRAY(type, name, count) (TERN_REMOTE_ARRAY, type, name, count)
#define TERN_STRING(name) (TERN_REMOTE_STRING, char, name, 1)
#define TERN_BUFFER(type, name) (TERN_REMOTE_BUFFER, type, name, 1)
#define TERN_SEGMENT(type, name) (TERN_REMOTE_SEGMENT, type, name, 1)
#define TERN_VECTOR(type, name) (TERN_REMOTE_VECTOR, type, name, 1)
#define TERN_PART(type, name) (TERN_REMOTE_PART, type, name, 1)

/* A function without a result, and one with a result of type. */
#define TERN_REMOTE(...) TERN_REMOTE_(TERN_REMOTE_FIRST(__VA_ARGS__), __VA_ARGS__)
#define TERN_REMOTE_RETURN(type, ...)                                                              \
    TERN_REMOTE_RETURN_(type, TERN_REMOTE_FIRST(__VA_ARGS__), __VA_ARGS__)

#endif
