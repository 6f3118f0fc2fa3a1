#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A file's name may contain any byte; this keeps the message on one line. */
static void keep_to_one_line(char *text) {
    for (; *text != 0; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

static int fail(kmer_error *error, kmer_exit exit, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static int fail(kmer_error *error, kmer_exit exit, const char *format, va_list arguments) {
    if (error->exit != KMER_OK)
        return -1;
    error->exit = exit;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    keep_to_one_line(error->text);
    return -1;
}

int kmer_fail(kmer_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(error, KMER_FAILED, format, arguments);
    va_end(arguments);
    return -1;
}

int kmer_fail_usage(kmer_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(error, KMER_USAGE, format, arguments);
    va_end(arguments);
    return -1;
}

int kmer_fail_system(kmer_error *error, const char *verb, const char *name) {
    return kmer_fail(error, "cannot %s %s: %s", verb, name, strerror(errno));
}
