#include "src/text.h"

#include <stdarg.h>
#include <stdio.h>

void tern_text_add(tern_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t room = text->room - text->length;
    const int more = vsnprintf(text->bytes + text->length, room, format, arguments);
    va_end(arguments);
    if (more > 0)
        text->length += (size_t)more < room ? (size_t)more : room - 1;
}
