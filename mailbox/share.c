#include "mailbox/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"

#define MAGIC UINT64_C(0x746d61696c626f78)
#define WORKERS_MAX 1024u

_Static_assert(offsetof(tern_mailbox_share_head, workers) % TERN_MAILBOX_LINE == 0,
               "the table begins at a line's start");

static size_t share_table_bytes(const tern_internal_mailbox_shape *shape) {
    size_t bytes = sizeof(tern_mailbox_share_head) + shape->workers * sizeof(uint64_t);
    return (bytes + TERN_MAILBOX_LINE - 1) / TERN_MAILBOX_LINE * TERN_MAILBOX_LINE;
}

static tern_status share_check(const tern_internal_mailbox_shape *shape, const void *out) {
    if (out == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "mailbox: share is NULL");
    if (shape->bytes == 0 || shape->packet < 64)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "mailbox: slots is %u and packet is %u; allowed are 1 to %u slots of 64 to %u bytes",
            shape->slots, shape->packet, TERN_MAILBOX_SLOTS_MAX, TERN_MAILBOX_PACKET_MAX);
    if (shape->workers > WORKERS_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "mailbox: workers is %u; at most %u are allowed",
                         shape->workers, WORKERS_MAX);
    return TERN_OK;
}

/* Makes a memfd of this size and seals its size. Returns -1 and sets errno on failure. */
static int make_memory(size_t bytes) {
    int fd = memfd_create("tern-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || (tern_file_resize(fd, bytes) == 0 &&
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Maps the memory. The function owns the descriptor from then on, also on failure. */
static tern_status share_map(int fd, const tern_internal_mailbox_shape *shape, size_t bytes,
                             tern_mailbox_share **share) {
    tern_mailbox_share *fresh = malloc(sizeof *fresh);
    void *memory = MAP_FAILED;
    tern_status status = TERN_OK;
    if (fresh == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a mailbox");
    else if ((memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        status = tern_fail_system("mapping a mailbox");
    if (status != TERN_OK) {
        free(fresh);
        close(fd);
        return status;
    }
    *fresh = (tern_mailbox_share){memory, *shape, bytes, fd};
    *share = fresh;
    return TERN_OK;
}

tern_status tern_internal_mailbox_share_create(const tern_internal_mailbox_shape *shape,
                                               tern_mailbox_share **share) {
    tern_status status = share_check(shape, share);
    if (status != TERN_OK)
        return status;
    size_t bytes = share_table_bytes(shape) + shape->bytes;
    int fd = make_memory(bytes);
    if (fd < 0)
        return tern_fail_system("memory for a mailbox");
    status = share_map(fd, shape, bytes, share);
    if (status != TERN_OK)
        return status;
    (*share)->head->shape = *shape;
    (*share)->head->magic = MAGIC;
    return TERN_OK;
}

/* bytes is tern_mailbox_bytes as the program compiled it. */
tern_status tern_internal_mailbox_share_attach(int fd, uint32_t layout,
                                               size_t (*bytes)(uint32_t slots, uint32_t packet),
                                               tern_mailbox_share **share) {
    struct stat info;
    tern_mailbox_share_head head;
    if (share == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "mailbox: share is NULL");
    if (fstat(fd, &info) != 0)
        return tern_fail_system("the descriptor of a mailbox");
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != MAGIC)
        return tern_fail(TERN_ERR_ARGUMENT, "descriptor %d does not belong to a mailbox", fd);
    if (head.shape.layout != layout)
        return tern_fail(TERN_ERR_MISMATCH,
                         "the mailbox was made with TERN_MAILBOX_LAYOUT %u, this program with %u; "
                         "compile both with the same tern",
                         head.shape.layout, layout);
    tern_status status = share_check(&head.shape, share);
    if (status != TERN_OK)
        return status;
    if (bytes(head.shape.slots, head.shape.packet) != head.shape.bytes)
        return tern_fail(TERN_ERR_MISMATCH,
                         "the mailbox takes %llu bytes, as this program lays it out %zu: compile "
                         "both with the same TERN_MAILBOX_STRIDE",
                         (unsigned long long)head.shape.bytes,
                         bytes(head.shape.slots, head.shape.packet));
    size_t all = share_table_bytes(&head.shape) + head.shape.bytes;
    if ((size_t)info.st_size != all)
        return tern_fail(TERN_ERR_ARGUMENT, "descriptor %d has %lld bytes; its mailbox takes %zu",
                         fd, (long long)info.st_size, all);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return tern_fail_system("the descriptor of a mailbox");
    return share_map(own, &head.shape, all, share);
}

void *tern_internal_mailbox_share_memory(const tern_mailbox_share *share,
                                         tern_internal_mailbox_shape *shape) {
    *shape = share->shape;
    return (char *)share->head + share_table_bytes(&share->shape);
}

int tern_mailbox_fd(const tern_mailbox_share *share) { return share->fd; }

void tern_mailbox_destroy(tern_mailbox_share *share) {
    if (share == NULL)
        return;
    munmap(share->head, share->bytes);
    close(share->fd);
    free(share);
}
