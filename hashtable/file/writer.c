#include "hashtable/file/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "src/collective/collective.h"
#include "src/log.h"

static const char saving[] = "cannot save to";

static void write_at(tern_file_writer *w, uint64_t offset, const void *from, size_t bytes) {
    if (w->status == TERN_OK)
        w->status = tern_file_write(w->file, offset, from, bytes, w->path);
}

static void write_section(tern_file_writer *w) {
    tern_file_section_seal(&w->header, w->number, w->section, w->records);
    write_at(w, tern_file_offset(&w->header, w->number), w->section, tern_file_section(&w->header));
    w->records = 0;
    w->number++;
}

void tern_file_writer_add(tern_file_writer *w, uint64_t records) {
    w->records += records;
    if (w->records == w->header.section_records)
        write_section(w);
}

/* What each rank tells all others before it writes. */
typedef struct writer_share {
    tern_file_part part;
    uint64_t random;
} writer_share;

static tern_status save_check_arguments(const tern_file_content *content, const void *note,
                                        size_t note_bytes) {
    if (content->object == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", content->function, content->thing);
    if (note_bytes > TERN_NOTE_MAX || (note == NULL && note_bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: note_bytes is %zu%s; allowed are 0 to %d of a note that is not NULL",
                         content->function, note_bytes, note == NULL ? " and note is NULL" : "",
                         TERN_NOTE_MAX);
    return TERN_OK;
}

/* Collective: puts the note into the header. It must be the same on all ranks. */
static tern_status take_note(tern_worker *worker, const void *note, size_t bytes,
                             tern_file_header *h, const char *name) {
    h->note_bytes = bytes;
    if (bytes > 0)
        memcpy(h->note, note, bytes);
    const tern_field fields[] = {{"note_bytes", bytes},
                                 {"the checksum of note", XXH3_64bits(h->note, sizeof h->note)}};
    return tern_collective_same_fields(worker->context, worker, fields, 2, name);
}

/* Collective: completes the header for all ranks' parts, and finds this rank's first section. */
static tern_status save_plan(tern_worker *worker, const tern_file_content *content,
                             writer_share *all, tern_file_writer *w) {
    tern_context *context = worker->context;
    tern_file_header *h = &w->header;
    writer_share mine = {0};
    tern_status status = all != NULL
                             ? content->measure(worker, content->object, h, &mine.part)
                             : tern_fail(TERN_ERR_MEMORY, "no memory to save a %s", content->thing);
    if (status == TERN_OK && getrandom(&mine.random, 8, 0) != 8)
        status = tern_fail_system("getrandom");
    status = tern_collective_agree(context, worker, status, content->function);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &mine, sizeof mine, all);
    if (status != TERN_OK)
        return status;
    uint64_t most = 0;
    for (uint32_t r = 0; r < context->size; r++) {
        h->count += all[r].part.keys;
        h->key_bytes += all[r].part.key_bytes;
        h->value_bytes += all[r].part.value_bytes;
        h->nonce ^= all[r].random;
        most = all[r].part.records > most ? all[r].part.records : most;
    }
    h->section_records = tern_file_section_records(tern_file_record(h), most);
    for (uint32_t r = 0; most > 0 && r < context->size; r++) {
        uint64_t sections = (all[r].part.records + h->section_records - 1) / h->section_records;
        w->number = r == context->rank ? h->sections : w->number;
        h->sections += sections;
    }
    tern_file_header_seal(h);
    w->section = malloc(tern_file_section(h));
    if (w->section == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a section of %zu bytes",
                           tern_file_section(h));
    return tern_collective_agree(context, worker, status, content->function);
}

/* Collective: [out] target: the path of the file that is replaced, the same on every rank. */
static tern_status save_find_target(tern_worker *worker, const tern_file_content *content,
                                    const char *path, char **target) {
    tern_status status = tern_file_target(path, saving, target);
    status = tern_collective_agree(worker->context, worker, status, content->function);
    if (status != TERN_OK)
        return status;
    return tern_collective_same_text(worker->context, worker, *target,
                                     "the file that the path leads to", "give every rank the same");
}

/* Collective: writes and syncs the new file. */
static tern_status write_all(tern_worker *worker, const tern_file_content *content,
                             tern_file_writer *w, const char *target) {
    tern_context *context = worker->context;
    tern_status status = context->rank == 0 ? tern_file_create(w->path, target) : TERN_OK;
    status = tern_collective_agree(context, worker, status, content->function);
    if (status == TERN_OK)
        status = tern_file_open(worker, w->path, O_WRONLY, saving, &w->file);
    if (status != TERN_OK)
        return status;
    status = content->write(worker, content->object, w);
    w->status = w->status == TERN_OK ? status : w->status;
    if (w->records > 0)
        write_section(w);
    if (context->rank == 0)
        write_at(w, 0, &w->header, sizeof w->header);
    if (fsync(w->file) != 0 && w->status == TERN_OK)
        w->status = tern_file_fail(saving, w->path);
    if (close(w->file) != 0 && w->status == TERN_OK)
        w->status = tern_file_fail(saving, w->path);
    return tern_collective_agree(context, worker, w->status, content->function);
}

/* Syncs the folder, so that the new name of the file survives a crash of the machine. A failure is
 * only logged: the file itself is complete. */
static void sync_folder(char *path) {
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        slash[slash == path] = '\0';
    const char *name = slash != NULL ? path : ".";
    int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || (fsync(folder) != 0 && errno != EINVAL))
        tern_log(TERN_LOG_WARN, "the folder '%s' of a saved file is not synced: %s", name,
                 strerror(errno));
    if (folder >= 0)
        close(folder);
}

/* Rank 0 gives the new file its name, or removes it. */
static tern_status save_finish(tern_status status, char *part, const char *path) {
    if (status == TERN_OK && rename(part, path) == 0) {
        sync_folder(part);
        return TERN_OK;
    }
    if (status == TERN_OK)
        status = tern_fail(TERN_ERR_SYSTEM, "%s '%s': rename: %s", saving, path, strerror(errno));
    (void)unlink(part);
    return status;
}

tern_status tern_file_save(tern_worker *worker, const tern_file_content *content, const char *path,
                           const void *note, size_t note_bytes) {
    tern_status status = save_check_arguments(content, note, note_bytes);
    status = tern_file_arguments(worker, status, path, content->function);
    /* After the barrier the puts of all ranks have arrived. */
    if (status == TERN_OK)
        status = tern_barrier(worker);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    tern_file_writer w = {.file = -1};
    writer_share *all = NULL;
    char *target = NULL, *part = NULL;
    status = take_note(worker, note, note_bytes, &w.header, content->function);
    if (status == TERN_OK)
        status = save_find_target(worker, content, path, &target);
    if (status != TERN_OK)
        goto out;
    all = calloc(context->size, sizeof *all);
    size_t room = strlen(target) + sizeof ".0123456789abcdef.part";
    part = malloc(room);
    status = save_plan(worker, content, part != NULL ? all : NULL, &w);
    if (status != TERN_OK)
        goto out;
    snprintf(part, room, "%s.%016llx.part", target, (unsigned long long)w.header.nonce);
    w.path = part;
    status = write_all(worker, content, &w, target);
    if (context->rank == 0)
        status = save_finish(status, part, target);
    status = tern_collective_agree(context, worker, status, content->function);
    if (tern_peer_is_dead(&context->peers, 0))
        (void)unlink(part); /* fails if rank 0 has renamed it before it died */
out:
    free(w.section);
    free(part);
    free(target);
    free(all);
    return status;
}
