#ifndef TERN_CONTAINER_H
#define TERN_CONTAINER_H

/*
 * What containers have in common. A container is a hash table (tern/hashtable.h), a map
 * (tern/map.h), a queue (tern/queue.h) or a distributed queue (tern/distributed_queue.h). All of
 * them take the flags below. Tables and maps have the same operations with the same names, order of
 * arguments and outputs, and give the guarantees of this comment about batches, buffers, requests,
 * modifiers and files. A name that begins with _ stands for two functions: that of tables and that
 * of maps.
 *
 * Flags say how an operation is done: the caller ors them together, or passes 0. They answer two
 * questions, each by at most one flag: what the caller promises about concurrent operations (BCL's
 * concurrency promises, paper 003 section II-C), and by which path the operation is done. An
 * operation that its own promise excludes, such as an insert in a phase of reads, returns
 * TERN_ERR_ARGUMENT, and so does one with two promises, two paths or an unknown flag.
 *
 * Phases. tern_barrier separates phases with different promises, and settles what the operations of
 * a phase may leave undone. Other barriers, such as MPI_Barrier, do not. With several workers in a
 * process a phase ends in these steps: each worker finishes its operations and calls
 * tern_flush_all, the threads meet, and then one worker of each rank calls tern_barrier.
 * tern_barrier flushes for the calling worker alone.
 *
 * Over rma, MPI may delay the puts of an operation until a flush. Inserts in a phase of writes,
 * pushes and pops always leave such puts behind. Operations of other ranks that need the same
 * bucket, item or slot wait until the put has arrived. A worker flushes its puts in tern_barrier
 * and tern_flush, and when it begins to wait in an operation of a container or for the result of a
 * call. Before it waits for other ranks by any other means, the program has to call tern_flush_all.
 *
 * Batches (_insert_many, _find_many, _add_many) do an operation for each of many keys. Each key is
 * an operation of its own, which takes effect between the beginning and the end of the batch; of
 * several values of one key the last one stays. Other ranks are served meanwhile. By call the keys
 * of one owner travel together, and tern merges equal keys of inserts and adds: if a quarter of the
 * batch's first 128 keys are repetitions, it sends a key only once within each 1,024 keys of a
 * table, or 512 of a map. So a few keys that make up most of a batch cost next to nothing. A batch
 * skips keys that find no room, does the others, and returns TERN_ERR_FULL. In handlers it returns
 * TERN_ERR_STATE.
 *
 * Buffers (_buffer_insert, _buffer_add) are for programs that get keys one by one and need them in
 * the container only later. A buffer gathers keys by owner and sends them as calls, each when it is
 * full; some are under way at once. Other operations may see a key as soon as it was given to the
 * buffer; when _buffer_flush returns, it is certain to be in the container. Inserts of one key
 * through one buffer take effect in their order. A buffer belongs to the worker that made it, with
 * the worker's thread rules, and must be destroyed before the container. A buffer may be used in a
 * phase of writes, and in a phase without a promise.
 *
 * Requests (_find_start and others, tern/request.h) are operations that start and return. Each does
 * what the blocking operation of the same name does, and takes effect at some moment between its
 * start and its end. Operations of one worker take effect in any order, also on one key, unless the
 * comment of their start says more. By call the request is that of the call. By RMA the progress of
 * the worker that started an operation continues it: in tern_progress and in every call of tern
 * that waits, whatever it waits for. A worker that makes no progress delays its own operations, but
 * nobody else waits for them. Requests of all ranks and workers have to be complete before _size,
 * _clear, _save and _destroy.
 *
 * Modifiers (_modify) are functions of the application that change the value of a key. This is
 * atomic: no other operation on the key, by RMA or by call, comes in between, and no find sees the
 * value half changed. A modifier may run more than once for one change, so it must have no effect
 * but on its value and its result. If it returns TERN_OK the value is stored, and a key that was
 * absent is inserted. If it returns anything else nothing is changed, and _modify returns that
 * status; by call, TERN_ERR_AGAIN makes it run again later. A modifier may neither wait nor use the
 * container. TERN_HASHTABLE_MODIFIER or TERN_MAP_MODIFIER registers it at file scope under its own
 * name, with the rules of TERN_FUNCTION, and declares name_modifier, whose address _modify takes.
 * The program may store a pointer in name_modifier.call->user before it creates the context. The
 * forms with _ANY_THREAD are for functions that any threads may run at the same time: where the
 * owner has service threads (TERN_SERVICE_THREADS) they run there, so also while its application
 * computes or waits in MPI.
 *
 * Files (_save, _load) can be loaded by another number of ranks than saved them. A file says what
 * it holds and carries checksums (XXH3). tern refuses a file that is damaged, cut short, of another
 * program, of another version of the format or of a machine with another byte order, and the detail
 * says what is wrong and where. Ranks must reach the file by the same path, which may hold colons.
 * Each rank opens and reads or writes it by calls of the system, not by MPI-IO. A note is what the
 * application says about the content: up to TERN_NOTE_MAX bytes, such as the version of its keys or
 * the options that they were made with. It lies in the file's header, under the header's checksum,
 * and tern does not look into it. Text is a good choice, since it has no padding and no byte order.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags, or 0. */
typedef uint32_t tern_flags;

/* The promises. */
enum {
    TERN_READ_WRITE = 0,      /* no promise: any operation may run at the same time */
    TERN_WRITE_ONLY = 1 << 0, /* a phase of writes: only operations that change or push */
    TERN_READ_ONLY = 1 << 1,  /* a phase of reads: only operations that find or pop */
    TERN_LOCAL = 1 << 2,      /* only one worker of the rank whose memory it is uses a queue, or the
                                 rank's own part of a table or map; on a key of another rank an
                                 operation with it is TERN_ERR_ARGUMENT */
    TERN_PROMISES = TERN_WRITE_ONLY | TERN_READ_ONLY | TERN_LOCAL, /* the flags of promises */
};

/* The paths. TERN_AUTO takes the one that the cost model (tern/model.h) predicts to be cheaper for
 * the kind of operation, with the measured costs of gets, puts, atomics and calls. Each worker
 * measures another node's ranks only once, in a fraction of a millisecond, at its first operation
 * on one of them. The worker times its calls. If they take twice as long as the model predicts,
 * because owners compute, the worker decides again with that cost, and measures anew after a pause.
 * The pause is 10 ms at first and doubles up to 1.3 s while owners do not attend.
 * tern_hashtable_explain, tern_map_explain and tern_queue_explain tell what was measured and
 * decided.
 *
 * Over shm AUTO goes by RMA, which needs no progress of other ranks, unless service threads or
 * libtern_pmpi (docs/mpi.md) serve calls while workers are outside tern. Between nodes an operation
 * by call waits until the owner makes progress, and a rank that blocks in MPI itself makes none.
 * Where one path is not permitted (call_only, too large for a call, in a handler, no request left),
 * AUTO takes the other.
 *
 * AUTO decides for each kind of operation: for tables these are finds, inserts and erasures, and
 * additions; for queues pushes and pops, batches included. Batches of keys of a table are kinds of
 * their own. A batch by AUTO that goes by call sends to other nodes by call, and reaches the parts
 * of the own node by load and store. */
enum {
    TERN_AUTO = 0,                           /* the cheaper of the two */
    TERN_BY_RMA = 1 << 3,                    /* the caller does it by one-sided operations */
    TERN_BY_CALL = 1 << 4,                   /* the owner does it, in its progress */
    TERN_PATHS = TERN_BY_RMA | TERN_BY_CALL, /* the flags of paths */
};

/* What _modify does if the key is absent. */
typedef enum tern_absent {
    TERN_ABSENT_FAIL,  /* TERN_ERR_NOT_FOUND */
    TERN_ABSENT_INSERT /* it is inserted, with what the modifier makes of zeros, or of 0 bytes in a
                          map */
} tern_absent;

/* What a modifier is given, and where its result goes (_modify). All zero: no argument, the result
 * is dropped, and a key that is not there is TERN_ERR_NOT_FOUND. */
typedef struct tern_modify_options {
    const void *argument; /* for the modifier; may be NULL if argument_bytes is 0 */
    size_t argument_bytes;
    tern_absent absent;
    void *result;         /* [out] room for the modifier's result; may be NULL if capacity is 0 */
    size_t capacity;      /* bytes of that room */
    size_t *result_bytes; /* [out] size of the result; may be NULL */
} tern_modify_options;

/* The most bytes of the note of a file. */
#define TERN_NOTE_MAX 256

#ifdef __cplusplus
}
#endif

#endif
