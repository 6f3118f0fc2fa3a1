#ifndef TERN_CHUNK_H
#define TERN_CHUNK_H

/*
 * Chunks: content of an archive that is not copied into it (HPX, paper 004, 3.1 and 3.4).
 *
 * A writer that shares leaves content at and over a threshold where it is, and keeps a list of such
 * chunks beside the archive, which is then an index of small items: *pointer chunks* in private
 * memory, which can be fetched only with its owner's help, and *RMA chunks* in the rank's segment
 * or in registered memory, which have a global pointer that any rank can get from. The reader is
 * given the archive and, for each chunk in turn, the memory where its content lies by then: that of
 * the writer, in the same process; else a copy. gather puts archive and chunks together again.
 *
 * Threads as archives.
 */

#include "tern/archive.h"
#include "tern/ptr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tern_buffer;
struct tern_worker;

/* The content of one item. */
typedef struct tern_chunk {
    const void *memory; /* in this process */
    size_t bytes;
    tern_ptr place;             /* of an RMA chunk; TERN_NULL: a pointer chunk */
    struct tern_buffer *buffer; /* that memory is part of (tern/buffer.h), or NULL */
} tern_chunk;

/* From now on content of min bytes or more (0: TERN_ZERO_COPY_MIN of the worker's context, for
 * which worker is needed) goes to chunks; the writer's limit does not count it. It must stay,
 * unchanged, until the archive has been read or sent, or the writer reset or closed. worker NULL:
 * all are pointer chunks; else the memory is looked up among what the rank has allocated and
 * registered. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; the writer fails. Stays in force over
 * tern_writer_reset. */
TERN_API tern_status tern_writer_share(tern_writer *writer, struct tern_worker *worker, size_t min);

/* The chunks so far, in the order of their items; valid until the next item. [out] count. NULL if
 * there are none. */
TERN_API const tern_chunk *tern_writer_chunks(const tern_writer *writer, size_t *count);

/* Copies archive and chunks to memory of room bytes, 8-byte aligned, as one archive without chunks,
 * as if nothing had been shared. memory NULL: counts only. [out] bytes: how many it is.
 * TERN_ERR_RANGE: room is too small; bytes says what is needed. Else as tern_writer_finish. */
TERN_NODISCARD TERN_API tern_status tern_writer_gather(const tern_writer *writer, void *memory,
                                                       size_t room, size_t *bytes);

/* Where the content of chunks lies, in order, after tern_reader_open; the list and the memory stay
 * while the reader is used. Each is checked against its item when that is read. TERN_ERR_ARGUMENT:
 * NULL, or a chunk with no memory. */
TERN_API tern_status tern_reader_chunks(tern_reader *reader, const tern_chunk *chunks,
                                        size_t count);

#ifdef __cplusplus
}
#endif

#endif
