#ifndef TERN_REMOTE_H
#define TERN_REMOTE_H

/*
 * Functions that run on another worker and are called like any C function (Seriema, paper 000). At
 * file scope, in one source file or in a header that several include, C or C++:
 *
 *     TERN_REMOTE(plot, (struct point, at), TERN_STRING(label), TERN_BUFFER(float, values))
 *     TERN_REMOTE_RETURN(double, mean, TERN_BUFFER(double, values))
 *
 * declare the functions that the program defines, once, and that run on the target in its
 * tern_progress,
 *
 *     tern_status plot_here(tern_call_info *call, struct point at, const char *label,
 *                           const float *values, size_t values_count);
 *     tern_status mean_here(tern_call_info *call, const double *values, size_t values_count,
 *                           double *result);
 *
 * and the functions that callers use (for calls by message, and in threads without a worker, see
 * tern/message.h):
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
 *     TERN_VECTOR(type, name)          a vector of such elements: the caller passes
 *                                      a const tern_vector *, the function gets a tern_vector *
 *     TERN_PART(type, name)            an object of the program's (tern/part.h): the caller passes
 *                                      its own part, a const tern_part *;
 *                                      the function gets the data of the target's part, a type *.
 *                                      The part's kind is the name of the type. So tables and
 *                                      queues travel too: as the data of a part of kind
 *                                      "tern_hashtable"
 *
 * A type is a name of one or more words; types with commas, function pointers and the like need a
 * typedef. The compiler refuses pointers, types that need more than 8-byte alignment, and in C++
 * types that are not trivially copyable. What a function gets by address lies in the ring, or in
 * the segment, and is valid only until the function returns.
 *
 * Vectors of TERN_ZERO_COPY_MIN bytes and more travel as chunks (tern/archive.h). The caller does
 * not copy them, and tern keeps their memory until it has been sent. So the caller may destroy a
 * vector or let it grow at once; but if it changes elements, the changed values may arrive. A
 * function may take over a vector that it gets (tern_vector_move); tern drops it otherwise when the
 * function returns. Buffers travel in the same way if the caller waits for the result.
 *
 * The parameters' types and sizes are part of the name that tern compares across ranks: if
 * functions of one name have different parameters tern_context_create fails, and the text has their
 * name. So fixed parameters can travel as one structure of which the target checks only the length;
 * with up to TERN_CALL_INLINED bytes the call is inlined. Strings and buffers travel in an archive.
 * If arguments do not fit the declaration the function does not run: TERN_ERR_MISMATCH,
 * TERN_ERR_RANGE, and TERN_ERR_STATE if the target has no such part.
 *
 * Errors at the caller, in addition to those of the calls named above: TERN_ERR_ARGUMENT: a string,
 * buffer or vector is NULL; TERN_ERR_MISMATCH: a vector has elements of another type;
 * TERN_ERR_RANGE: arguments of more than TERN_CHUNK_MAX; TERN_ERR_MEMORY: there is no heap memory,
 * in which strings and buffers of more than some hundred bytes are packed. Functions with vectors
 * also return the errors of tern_call_archive and tern_call_archive_start.
 */

#include "tern/detail/remote.h"

/* Parameters other than a plain (type, name). */
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
