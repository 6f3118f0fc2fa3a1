#include "edges.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *name;
    const char *text, *end;
    char *why; /* of a failure */
    size_t room;
} edge_file;

static bool fail(const edge_file *f, const char *verb) {
    snprintf(f->why, f->room, "cannot %s %s: %s", verb, f->name, strerror(errno));
    return false;
}

static bool fail_line(const edge_file *f, const char *line, const char *end, const char *remedy) {
    uint64_t number = 1;
    for (const char *at = f->text; at < line; at++)
        number += *at == '\n';
    int shown = end - line < 60 ? (int)(end - line) : 60;
    snprintf(f->why, f->room, "%s, line %" PRIu64 ": '%.*s': %s", f->name, number, shown, line,
             remedy);
    return false;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

/* Reads a number. Returns its end; NULL: no number stands there, or it is too large. */
static const char *take_vertex(const char *at, const char *end, uint64_t *vertex) {
    const char *start = at;
    *vertex = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        *vertex = *vertex * 10 + (uint64_t)(*at - '0');
        if (*vertex > VERTEX_MOST)
            return NULL;
    }
    return at == start ? NULL : at;
}

static bool take_line(edges *list, const edge_file *f, const char *line, const char *end) {
    uint64_t from, to;
    const char *at = skip_blanks(line, end);
    if (at == end || *at == '#')
        return true;
    const char *after = take_vertex(at, end, &from);
    at = after != NULL ? skip_blanks(after, end) : NULL;
    at = at != NULL && at > after ? take_vertex(at, end, &to) : NULL;
    if (at == NULL)
        return fail_line(f, line, end,
                         "write two vertex numbers from 0 to 2^40 - 1, and '#' before a comment");
    if (skip_blanks(at, end) < end)
        return fail_line(f, line, end,
                         "remove what follows the two vertex numbers (cut, awk '{print $1, $2}')");
    edges_add(list, from, to);
    return true;
}

static const char *line_after(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline + 1 : end;
}

/* Reads the lines that begin in [from, to). */
static bool take_lines(edges *list, const edge_file *f, const char *from, const char *to) {
    const char *line = from == f->text ? from : line_after(from - 1, f->end);
    while (line < to) {
        const char *next = line_after(line, f->end);
        const char *end = next > line && next[-1] == '\n' ? next - 1 : next;
        if (!take_line(list, f, line, end))
            return false;
        line = next;
    }
    return true;
}

/* The place at which the share of a rank begins. */
static const char *share(const edge_file *f, unsigned rank, unsigned ranks) {
    size_t size = (size_t)(f->end - f->text);
    return f->text + size / ranks * rank + size % ranks * rank / ranks;
}

static bool take_file(edges *list, edge_file *f, int fd, unsigned rank, unsigned ranks) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail(f, "read");
    if (!S_ISREG(status.st_mode)) {
        snprintf(f->why, f->room, "%s is not a file: all ranks read a file, each its share",
                 f->name);
        return false;
    }
    size_t size = (size_t)status.st_size;
    if (size == 0)
        return true;
    char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return fail(f, "read");
    f->text = text;
    f->end = text + size;
    bool good = true;
    if (size >= 2 && memcmp(text, "\x1f\x8b", 2) == 0) {
        snprintf(f->why, f->room, "%s is compressed: unpack it with gunzip", f->name);
        good = false;
    } else
        good = take_lines(list, f, share(f, rank, ranks), share(f, rank + 1, ranks));
    munmap(text, size);
    return good;
}

bool edges_read(edges *list, const char *file, unsigned rank, unsigned ranks, char *why,
                size_t room) {
    edge_file f = {.name = file, .why = why, .room = room};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(&f, "open");
    bool good = take_file(list, &f, fd, rank, ranks);
    close(fd);
    return good;
}
