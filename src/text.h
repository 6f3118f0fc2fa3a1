#ifndef TERN_SRC_TEXT_H
#define TERN_SRC_TEXT_H

/* A text that is built from parts; the end that does not fit is cut off. */

#include <stddef.h>

typedef struct tern_text {
    char *bytes;
    size_t room, length;
} tern_text;

void tern_text_add(tern_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

#endif
