#include "tern/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "rma/region/region.h"
#include "rpc/archive/archive.h"
#include "rpc/call/await.h"
#include "rpc/state.h"

/* The functions that the declarations of remote.h use. */

/* Writes a type by its kind and size, not by its name: C and C++ spell bool differently. */
static void spell_type(FILE *text, const tern_remote_parameter *p) {
    static const char *const number[] = {
        [TERN_ITEM_SIGNED] = "int", [TERN_ITEM_UNSIGNED] = "uint", [TERN_ITEM_FLOAT] = "float"};
    if (p->type == TERN_ITEM_BYTES)
        fprintf(text, "%s:%zu", p->spelled, p->element);
    else
        fprintf(text, "%s%zu", number[p->type], 8 * p->element);
}

static void remote_spell(FILE *text, const tern_remote_parameter *p) {
    if (p->kind == TERN_REMOTE_STRING) {
        fputs("string", text);
        return;
    }
    if (p->kind == TERN_REMOTE_PART) {
        fprintf(text, "part of %s", p->spelled);
        return;
    }
    spell_type(text, p);
    if (p->kind == TERN_REMOTE_ARRAY)
        fprintf(text, "[%zu]", p->count);
    else if (p->kind == TERN_REMOTE_BUFFER)
        fputc('*', text);
    else if (p->kind == TERN_REMOTE_SEGMENT)
        fputs(" in a segment", text);
    else if (p->kind == TERN_REMOTE_VECTOR)
        fputs(" vector", text);
}

/* Returns the function's full name: name(parameters), or name(parameters):result if it has a
 * result. NULL: there is no memory. */
static char *full_name(const char *name, const tern_remote_parameter *list) {
    char *full = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&full, &bytes);
    if (text == NULL)
        return NULL;
    const tern_remote_parameter *result = list->kind == TERN_REMOTE_RESULT ? list++ : NULL;
    fprintf(text, "%s(", name);
    for (const tern_remote_parameter *p = list; p->kind != 0; p++) {
        fputs(p != list ? ", " : "", text);
        remote_spell(text, p);
    }
    fputs(result != NULL ? "):" : ")", text);
    if (result != NULL)
        spell_type(text, result);
    if (fclose(text) == 0)
        return full;
    free(full);
    return NULL;
}

/* The full name is kept as long as the process. If there is no memory for it the short name is
 * used, and then this rank's functions differ from those of the others. */
void tern_remote_register(tern_function *function, const tern_remote_parameter *list) {
    char *full = full_name(function->name, list);
    if (full != NULL)
        function->name = full;
    tern_internal_function_declare(function);
}

tern_status tern_remote_finish(tern_writer *writer, const tern_function *function,
                               const void **arguments, size_t *bytes) {
    tern_status status = tern_writer_finish(writer, arguments, bytes);
    if (status == TERN_OK)
        return TERN_OK;
    tern_writer_close(writer);
    if (status == TERN_ERR_MISMATCH)
        return status;
    if (status == TERN_ERR_RANGE)
        return tern_fail(status,
                         "%s: the arguments have more than TERN_CHUNK_MAX bytes, which is %u",
                         function->name, TERN_CHUNK_MAX);
    return tern_fail(status, "%s: %s", function->name,
                     status == TERN_ERR_ARGUMENT ? "a string, buffer or vector is NULL"
                                                 : "no memory for its arguments");
}

/* Returns whether content of so many bytes becomes a chunk, and if so makes the writer share.
 * Without a worker it does not, since the call will be refused. */
static bool remote_shares(tern_writer *writer, tern_worker *worker, size_t element, size_t count) {
    return worker != NULL && !tern_is_nobody(worker) && count <= TERN_ITEM_COUNT_MAX &&
           element * count >= tern_zero_copy_min(worker) &&
           tern_writer_share(writer, worker, 0) == TERN_OK;
}

tern_status tern_remote_write_buffer(tern_writer *writer, tern_worker *worker, tern_item_type type,
                                     size_t element, const void *items, size_t count) {
    bool shared = remote_shares(writer, worker, element, count);
    tern_status status = tern_write_items(writer, type, element, items, count);
    if (shared)
        writer->share_min = SIZE_MAX;
    return status;
}

static tern_status refuse_vector(tern_writer *writer, const tern_function *function,
                                 const char *name, const tern_vector *vector) {
    static const char *const types[] = {"nothing known", "no numbers", "signed numbers",
                                        "unsigned numbers", "floating point"};
    unsigned type = vector->type < sizeof types / sizeof types[0] ? vector->type : 0;
    return tern_writer_fail(writer, tern_fail(TERN_ERR_MISMATCH,
                                              "%s: vector %s has elements of %zu bytes, %s; pass "
                                              "one of the type that the function takes",
                                              function->name, name, vector->element, types[type]));
}

tern_status tern_remote_write_vector(tern_writer *writer, tern_worker *worker,
                                     const tern_function *function, const char *name,
                                     tern_item_type type, size_t element,
                                     const tern_vector *vector) {
    if (vector == NULL)
        return tern_writer_fail(writer, TERN_ERR_ARGUMENT);
    if (vector->type != type || vector->element != element)
        return refuse_vector(writer, function, name, vector);
    bool shared = remote_shares(writer, worker, element, vector->count);
    tern_status status = tern_write_vector(writer, vector);
    if (shared)
        writer->share_min = SIZE_MAX;
    return status;
}

tern_status tern_remote_return(tern_worker *worker, tern_worker_id target,
                               const tern_function *function, const void *arguments, size_t bytes,
                               void *result, size_t capacity) {
    size_t got = 0;
    tern_status status =
        tern_call_return(worker, target, function, arguments, bytes, result, capacity, &got);
    return tern_answer_check_size(status, got, capacity);
}

tern_status tern_remote_return_archive(tern_worker *worker, tern_worker_id target,
                                       const tern_function *function, const tern_writer *writer,
                                       void *result, size_t capacity) {
    if (worker == NULL || result == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker or result is NULL", function->name);
    tern_request request = {0};
    tern_status status = tern_call_may_wait(worker, function->name);
    if (status == TERN_OK)
        status =
            tern_remote_start_archive(worker, target, function, writer, result, capacity, &request);
    return status == TERN_OK ? tern_wait(worker, &request) : status;
}

static tern_status remote_started(tern_status status, tern_request *request) {
    if (status == TERN_OK)
        tern_answer_request_all(request);
    return status;
}

tern_status tern_remote_start(tern_worker *worker, tern_worker_id target,
                              const tern_function *function, const void *arguments, size_t bytes,
                              void *result, size_t capacity, tern_request *request) {
    return remote_started(
        tern_call_start(worker, target, function, arguments, bytes, result, capacity, request),
        request);
}

tern_status tern_remote_start_archive(tern_worker *worker, tern_worker_id target,
                                      const tern_function *function, const tern_writer *writer,
                                      void *result, size_t capacity, tern_request *request) {
    return remote_started(
        tern_call_archive_start(worker, target, function, writer, result, capacity, request),
        request);
}

tern_status tern_remote_refuse(const tern_function *function, size_t bytes, size_t wanted) {
    return tern_fail(TERN_ERR_MISMATCH, "%s was called with %zu bytes of arguments; it takes %zu",
                     function->name, bytes, wanted);
}

void *tern_remote_part(const tern_call_info *call, const tern_function *function, const char *kind,
                       uint64_t id, tern_status *status) {
    void *data = tern_part_find(call->worker, kind, id);
    if (data == NULL)
        *status = tern_fail(
            TERN_ERR_STATE, "%s: rank %u has no part of that %s (any more); see tern/part.h",
            function->name, tern_context_rank(tern_worker_context(call->worker)), kind);
    return data;
}

/* Returns the address of memory that this rank has registered, or NULL if p and bytes do not lie in
 * a region. As with tern_local, the memory may be deregistered while the handler runs. */
static char *remote_registered(const tern_context *context, tern_ptr p, uint64_t bytes) {
    uint64_t offset = 0;
    tern_hold hold = {NULL, NULL};
    if (p.segment != 0 && p.rank == context->rank && tern_region_offset(p, &offset) == TERN_OK &&
        tern_region_hold(context, p.rank, offset, bytes, &hold) == TERN_OK)
        tern_region_release(&hold);
    return hold.address;
}

void *tern_remote_find(const tern_call_info *call, const tern_function *function,
                       const tern_remote_piece *piece, size_t element, size_t alignment,
                       tern_status *status) {
    const tern_ptr *p = &piece->place;
    char *at =
        piece->count <= SIZE_MAX / element
            ? remote_registered(tern_worker_context(call->worker), *p, piece->count * element)
            : NULL;
    if (at != NULL && (uintptr_t)at % alignment == 0)
        return at;
    *status = tern_fail(TERN_ERR_RANGE,
                        "%s: %" PRIu64 " elements of %zu bytes at offset %" PRIu64 " of segment %u "
                        "of rank %u are not there, not aligned, or not reached by load/store",
                        function->name, piece->count, element, p->offset, p->segment, p->rank);
    return NULL;
}
