/*
 * Collects the texts that the library gives for errors and writes to its log, for scripts/messages.
 *
 * Test programs are linked with --wrap, so that the library's calls of the functions below come
 * here (tests/CMakeLists.txt). If MESSAGES_FOLDER names a folder, each process writes a file there
 * with one line for each format that it used:
 *
 *     fail|system|log TAB status or level TAB format TAB the first text that was made of it
 *
 * Backslashes, tabs and ends of lines inside a field have a backslash in front. A line is written
 * at once and in one piece, since a test may kill the process at any time.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "src/log.h"

enum { FORMATS_MAX = 1024, TEXT_BYTES = 1024, LINE_BYTES = 4 * TEXT_BYTES };

/* The linker gives these names (tests/CMakeLists.txt). */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
tern_status __wrap_tern_fail(tern_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
tern_status __wrap_tern_fail_list(tern_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
tern_status __wrap_tern_fail_static_text(tern_status status, const char *text);
tern_status __wrap_tern_fail_system(const char *call);
void __wrap_tern_log(tern_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

tern_status __real_tern_fail_list(tern_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
tern_status __real_tern_fail_static_text(tern_status status, const char *text);
tern_status __real_tern_fail_system(const char *call);
static struct {
    pthread_once_t once;
    const char *folder; /* NULL: nothing is collected */
    pthread_mutex_t lock;
    uint64_t seen[FORMATS_MAX]; /* hashes */
    size_t count;
} messages = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void messages_open(void) { messages.folder = getenv("MESSAGES_FOLDER"); }

static bool messages_wanted(void) {
    pthread_once(&messages.once, messages_open);
    return messages.folder != NULL;
}

/* FNV-1a. By its text, since the text of a system call may lie on the caller's stack. */
static uint64_t format_hash(const char *format) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *format != 0; format++)
        hash = (hash ^ (unsigned char)*format) * UINT64_C(0x100000001b3);
    return hash;
}

static bool messages_is_new(const char *format) {
    uint64_t hash = format_hash(format);
    bool is_new = messages.count < FORMATS_MAX;
    for (size_t i = 0; i < messages.count; i++)
        is_new = is_new && messages.seen[i] != hash;
    if (is_new)
        messages.seen[messages.count++] = hash;
    return is_new;
}

/* Appends field and end to line, which has used bytes; returns how many it has then. */
static size_t line_add(char *line, size_t used, const char *field, char end) {
    for (; *field != 0 && used < LINE_BYTES - 3; field++) {
        if (*field == '\\' || *field == '\t' || *field == '\n')
            line[used++] = '\\';
        line[used++] = *field == '\n' ? 'n' : *field == '\t' ? 't' : *field;
    }
    line[used++] = end;
    return used;
}

static void messages_write(const char *kind, int number, const char *format, const char *text) {
    char path[4096], line[LINE_BYTES], digits[16];
    snprintf(path, sizeof path, "%s/%ld", messages.folder, (long)getpid());
    snprintf(digits, sizeof digits, "%d", number);
    size_t used = line_add(line, 0, kind, '\t');
    used = line_add(line, used, digits, '\t');
    used = line_add(line, used, format, '\t');
    used = line_add(line, used, text, '\n');
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    ssize_t written = write(file, line, used);
    (void)written;
    close(file);
}

static void messages_note(const char *kind, int number, const char *format, const char *text) {
    int error = errno;
    pthread_mutex_lock(&messages.lock);
    if (messages_is_new(format))
        messages_write(kind, number, format, text);
    pthread_mutex_unlock(&messages.lock);
    errno = error;
}

tern_status __wrap_tern_fail_list(tern_status status, const char *format, va_list arguments) {
    __real_tern_fail_list(status, format, arguments);
    if (messages_wanted())
        messages_note("fail", (int)status, format, tern_error_detail());
    return status;
}

tern_status __wrap_tern_fail(tern_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    __wrap_tern_fail_list(status, format, arguments);
    va_end(arguments);
    return status;
}

tern_status __wrap_tern_fail_static_text(tern_status status, const char *text) {
    if (messages_wanted())
        messages_note("fail", (int)status, text, text);
    return __real_tern_fail_static_text(status, text);
}

tern_status __wrap_tern_fail_system(const char *call) {
    tern_status status = __real_tern_fail_system(call);
    if (messages_wanted())
        messages_note("system", (int)status, call, tern_error_detail());
    return status;
}

void __wrap_tern_log(tern_log_level level, const char *format, ...) {
    va_list arguments;
    if (messages_wanted()) {
        char text[TEXT_BYTES];
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        messages_note("log", (int)level, format, text);
    }
    va_start(arguments, format);
    tern_log_list(level, format, arguments);
    va_end(arguments);
}
/* NOLINTEND(bugprone-reserved-identifier) */
