#include "hashtable/file/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include "src/collective/collective.h"

static const char loading[] = "cannot load";

/* Collective: opens the file, which must be a regular one. */
static tern_status reader_open_file(tern_file_reader *r) {
    char *target = NULL;
    tern_status status = tern_file_target(r->path, loading, &target);
    free(target);
    status = tern_collective_agree(r->worker->context, r->worker, status, r->function);
    if (status != TERN_OK)
        return status;
    return tern_file_open(r->worker, r->path, O_RDONLY, loading, &r->file);
}

tern_status tern_file_reader_open(tern_file_reader *r, tern_worker *worker, const char *path,
                                  const char *function, bool map) {
    *r = (tern_file_reader){.worker = worker, .path = path, .function = function, .file = -1};
    tern_status status = reader_open_file(r);
    if (status != TERN_OK)
        return status;
    status = tern_file_read_header(r->file, path, loading, &r->header);
    if (status == TERN_OK)
        status = tern_file_header_expect(path, &r->header, map);
    if (status == TERN_OK) {
        r->section = malloc(tern_file_section(&r->header));
        if (r->section == NULL)
            status = tern_fail(TERN_ERR_MEMORY, "no memory for a section of a file");
    }
    status = tern_collective_agree(worker->context, worker, status, function);
    if (status != TERN_OK)
        tern_file_reader_close(r);
    return status;
}

tern_status tern_file_reader_take(tern_file_reader *r, uint64_t number, uint64_t *records) {
    const size_t bytes = tern_file_section(&r->header);
    size_t got;
    tern_status status = tern_file_read(r->file, tern_file_offset(&r->header, number), r->section,
                                        bytes, loading, r->path, &got);
    if (status == TERN_OK && got != bytes)
        status = tern_fail(TERN_ERR_ARGUMENT, "'%s' was cut while it was loaded", r->path);
    if (status == TERN_OK)
        status = tern_file_section_check(r->path, &r->header, number, r->section, records);
    return status;
}

tern_status tern_file_reader_count(const tern_file_reader *r, tern_hashtable *table) {
    uint64_t count = 0;
    tern_status status = tern_barrier(r->worker);
    if (status == TERN_OK)
        status = tern_hashtable_local_size(r->worker, table, &count);
    status = tern_collective_agree(r->worker->context, r->worker, status, r->function);
    if (status == TERN_OK)
        status = tern_collective_sum(r->worker->context, r->worker, &count, 1);
    if (status == TERN_OK && count != r->header.count)
        status = tern_fail(TERN_ERR_ARGUMENT, "'%s' is damaged: %llu keys in place of %llu",
                           r->path, (unsigned long long)count, (unsigned long long)r->header.count);
    return status;
}

void tern_file_reader_close(tern_file_reader *r) {
    close(r->file);
    free(r->section);
}
