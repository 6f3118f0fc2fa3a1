#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "hashtable/file/io.h"
#include "base/error.h"

tern_status tern_file_look(const char *function, const char *path, bool map, const void *told,
                           tern_file_header *header) {
    static const char what[] = "cannot read";
    if (path == NULL || path[0] == '\0' || told == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s", function,
                         told == NULL ? "file is NULL" : "path is NULL or empty; name a file");
    char *target = NULL;
    tern_status status = tern_file_target(path, what, &target);
    free(target);
    if (status != TERN_OK)
        return status;
    /* O_NONBLOCK: if a FIFO has taken the file's place, open must not wait for its other side. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tern_file_fail(what, path);
    status = tern_file_read_header(fd, path, what, header);
    close(fd);
    return status == TERN_OK ? tern_file_header_expect(path, header, map) : status;
}

tern_status tern_hashtable_file_read(const char *path, tern_hashtable_file *file) {
    tern_file_header header = {0};
    tern_status status = tern_file_look("tern_hashtable_file_read", path, false, file, &header);
    if (status == TERN_OK)
        *file = tern_file_header_tell(&header);
    return status;
}
