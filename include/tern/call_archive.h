#ifndef TERN_CALL_ARCHIVE_H
#define TERN_CALL_ARCHIVE_H

/*
 * Calls whose arguments are an archive (HPX, paper 004). What a writer that shares has
 * left where it is travels without a copy at the caller's: the archive goes with the call, the
 * target gets each chunk straight into memory that its function may keep, and the function runs
 * once all are there.
 *
 *     tern_writer_share(&writer, worker, 0);
 *     TERN_WRITE(&writer, &step, 1);
 *     tern_write_vector(&writer, &field);                       not copied here
 *     tern_call_archive(worker, target, &advance_function, &writer, NULL);
 *     tern_writer_close(&writer);  tern_vector_destroy(&field);  both may go at once
 *
 *     static tern_status advance(tern_call_info *call, const void *arguments, size_t bytes) {
 *         tern_reader reader;
 *         tern_call_reader(call, arguments, bytes, &reader);
 *         TERN_READ(&reader, &step, 1);
 *         TERN_READ_VECTOR(&reader, call->worker, double, &field);    takes the memory over
 *         return tern_reader_close(&reader);
 *     }
 *
 * How a chunk travels. One in a segment, or registered, is got by its global pointer. One in
 * private memory is read by a target of the same node straight from there, where the system allows
 * that; otherwise it is copied to this rank's segment first, which bytes_staged counts. bytes_got
 * counts what targets get.
 */

#include <stdbool.h>

#include "tern/call.h"
#include "tern/chunk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest chunk in bytes, and the most of them in a call; half a ring has to hold their list,
 * 32 bytes each. */
#define TERN_CHUNK_MAX TERN_BUFFER_MAX
#define TERN_CALL_CHUNKS_MAX 4096u

/* All zero does for most. Both synchronizers are raised now and have to be of this node. */
typedef struct tern_archive_options {
    tern_full full;
    const tern_synchronizer *reusable; /* lowered when the memory of the chunks may be reused */
    const tern_synchronizer *executed; /* lowered when the function has run */
    bool aside; /* later calls of the pair do not wait for this one's chunks */
} tern_archive_options;

/* Runs function on target with the archive that writer holds. The writer may be reset or closed,
 * and buffers that it keeps dropped, as soon as this returns; other memory of chunks stays as it is
 * until reusable says so. An archive too large for a ring goes as a chunk itself, by a copy. A
 * target keeps chunks of TERN_OVERFLOW_MEMORY bytes at most, or those of one call; they lie in its
 * segment, or in its heap memory when that is full.
 *
 * Where a chunk cannot be got the function does not run, which is logged and counted there and
 * logged here; both synchronizers are lowered all the same.
 *
 * The status of the writer, if it has failed. TERN_ERR_AGAIN as options->full says for a full ring,
 * and likewise for TERN_CALL_REQUESTS calls with chunks under way, which share their number with
 * results; in a handler never waits. TERN_ERR_RANGE: a chunk over TERN_CHUNK_MAX, or more than
 * TERN_CALL_CHUNKS_MAX. TERN_ERR_MEMORY: none to stage a chunk in. Else as tern_call_with. */
TERN_NODISCARD TERN_API tern_status tern_call_archive(tern_worker *worker, tern_worker_id target,
                                                      const tern_function *function,
                                                      const tern_writer *writer,
                                                      const tern_archive_options *options);

/* The same for a function whose result is wanted, with a request (tern/request.h). Chunks that are
 * no buffers stay as they are until it is complete. One with chunks takes two of
 * TERN_CALL_REQUESTS. Where a chunk cannot be got the outcome is that error. Waits for a full ring,
 * or for earlier calls whose chunks are under way; in a handler TERN_ERR_AGAIN. Else as
 * tern_call_archive and tern_call_start. */
TERN_NODISCARD TERN_API tern_status tern_call_archive_start(tern_worker *worker,
                                                            tern_worker_id target,
                                                            const tern_function *function,
                                                            const tern_writer *writer, void *result,
                                                            size_t capacity, tern_request *request);

/* Begins to read the arguments of a call, in its handler, chunks included. [out] reader: to be used
 * until the handler returns; buffers and vectors that were read stay. Errors as tern_reader_open.
 */
TERN_NODISCARD TERN_API tern_status tern_call_reader(const tern_call_info *call,
                                                     const void *arguments, size_t bytes,
                                                     tern_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
