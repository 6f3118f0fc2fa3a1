#include "hashtable/file_io.h"

#include <limits.h>

#include "src/collective.h"
#include "src/mpi.h"

tern_status tern_file_arguments(tern_worker *worker, bool ready, const char *path,
                                const char *function) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", function);
    tern_status status = tern_worker_may_wait(worker, function);
    if (status != TERN_OK)
        return status;
    if (!ready || path == NULL || path[0] == '\0')
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: NULL argument, or no path", function);
    status = tern_collective_agree(worker->context, worker, status, function);
    if (status != TERN_OK)
        return status;
    uint64_t hash = XXH3_64bits(path, strlen(path));
    return tern_collective_same(worker->context, worker, &hash, sizeof hash, "the path of a table");
}

size_t tern_file_got(int code, const MPI_Status *status) {
    int got = 0;
    if (code != MPI_SUCCESS || PMPI_Get_count(status, MPI_BYTE, &got) != MPI_SUCCESS || got < 0)
        return 0;
    return (size_t)got;
}

tern_status tern_file_outcome(int code, const char *what, const char *path, size_t got,
                              size_t wanted) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, class = MPI_SUCCESS;
    if (code == MPI_SUCCESS && got == wanted)
        return TERN_OK;
    if (code == MPI_SUCCESS)
        return tern_fail(TERN_ERR_MPI, "%s '%s': only %zu of %zu bytes; is the disk full?", what,
                         path, got, wanted);
    if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    PMPI_Error_class(code, &class);
    return tern_fail(class == MPI_ERR_NO_SUCH_FILE ? TERN_ERR_NOT_FOUND : TERN_ERR_MPI,
                     "%s '%s': %s", what, path, text);
}

/* ROMIO, which is MPICH's MPI-IO, takes what stands before a colon for a file system and refuses
 * names that it does not know. It takes "ufs:" off again, which stands for any file system with
 * POSIX calls. Open MPI takes a path as it is. */
static int open_path(const char *path, int mode, MPI_File *file) {
#ifdef ROMIO_VERSION
    char named[PATH_MAX + 8]; /* a longer path is as invalid when it is cut */
    if (strchr(path, ':') != NULL) {
        snprintf(named, sizeof named, "ufs:%s", path);
        path = named;
    }
#endif
    return PMPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, file);
}

tern_status tern_file_open(tern_worker *worker, const char *path, int mode, const char *what,
                           MPI_File *file) {
    MPI_File opened = MPI_FILE_NULL;
    tern_mpi_lock();
    int code = open_path(path, mode, &opened);
    if (code == MPI_SUCCESS)
        PMPI_File_set_errhandler(opened, MPI_ERRORS_RETURN);
    tern_status status = tern_file_outcome(code, what, path, 0, 0);
    tern_mpi_unlock();
    status = tern_collective_agree(worker->context, worker, status, what);
    if (status == TERN_OK)
        *file = opened;
    else if (code == MPI_SUCCESS)
        (void)TERN_MPI(PMPI_File_close(&opened));
    return status;
}
