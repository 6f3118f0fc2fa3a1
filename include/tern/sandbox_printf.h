#ifndef TERN_SANDBOX_PRINTF_H
#define TERN_SANDBOX_PRINTF_H

/*
 * printf for programs in a sandbox (tern/sandbox_child.h): %d, %i, %u and %x with l, ll or z, and
 * %c, %s, %p and %%, without widths and precisions. A call of printf makes one print call to the
 * server for each 512 bytes of its text.
 */

#include <stdarg.h>

#include "tern/sandbox_child.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not for applications: text that is collected for the next print call. */
typedef struct tern_internal_sandbox_text {
    tern_sandbox_box *box;
    int64_t printed; /* bytes printed, or -errno, after which nothing more is printed */
    uint32_t bytes;
    char text[512];
} tern_internal_sandbox_text;

/* Not for applications: prints what has been gathered. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_text_flush(tern_internal_sandbox_text *out) {
    int64_t done = out->printed < 0 ? 0 : tern_sandbox_print(out->box, out->text, out->bytes);
    out->printed = done < 0 ? done : out->printed + done;
    out->bytes = 0;
}

/* Not for applications: adds a character. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_text_put(tern_internal_sandbox_text *out, char one) {
    if (out->bytes == sizeof out->text)
        tern_internal_sandbox_text_flush(out);
    out->text[out->bytes++] = one;
}

/* Not for applications: adds a number. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_text_number(tern_internal_sandbox_text *out,
                                                           uint64_t value, unsigned base) {
    char digits[20];
    int count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count > 0)
        tern_internal_sandbox_text_put(out, digits[--count]);
}

/* Not for applications: adds a number with its sign. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_text_signed(tern_internal_sandbox_text *out,
                                                           int64_t value) {
    if (value < 0)
        tern_internal_sandbox_text_put(out, '-');
    tern_internal_sandbox_text_number(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

/* Not for applications: adds a text. */
TERN_MAILBOX_INLINE void tern_internal_sandbox_text_string(tern_internal_sandbox_text *out,
                                                           const char *from) {
    for (from = from == 0 ? "(null)" : from; *from != 0; from++)
        tern_internal_sandbox_text_put(out, *from);
}

/** Works like vprintf. Returns the number of bytes printed, or -errno of the first print call that
 * failed. A conversion other than those above is printed unchanged. */
__attribute__((format(printf, 2, 0))) TERN_MAILBOX_INLINE int64_t
tern_sandbox_vprintf(tern_sandbox_box *box, const char *format, va_list list) {
    tern_internal_sandbox_text out;
    out.box = box;
    out.printed = 0;
    out.bytes = 0;
    for (; *format != 0; format++) {
        if (*format != '%') {
            tern_internal_sandbox_text_put(&out, *format);
            continue;
        }
        const char *at = format + 1;
        while (*at == 'l' || *at == 'z')
            at++;
        int wide = at > format + 1; /* long, long long and size_t have 64 bits */
        switch (*at) {
        case 'd':
        case 'i':
            tern_internal_sandbox_text_signed(&out, wide ? va_arg(list, long) : va_arg(list, int));
            break;
        case 'u':
        case 'x':
            tern_internal_sandbox_text_number(
                &out, wide ? va_arg(list, unsigned long) : va_arg(list, unsigned),
                *at == 'x' ? 16 : 10);
            break;
        case 'c':
            tern_internal_sandbox_text_put(&out, (char)va_arg(list, int));
            break;
        case 's':
            tern_internal_sandbox_text_string(&out, va_arg(list, const char *));
            break;
        case 'p':
            tern_internal_sandbox_text_string(&out, "0x");
            tern_internal_sandbox_text_number(&out, (uintptr_t)va_arg(list, void *), 16);
            break;
        case '%':
            tern_internal_sandbox_text_put(&out, '%');
            break;
        default:
            tern_internal_sandbox_text_put(&out, '%');
            continue;
        }
        format = at;
    }
    tern_internal_sandbox_text_flush(&out);
    return out.printed;
}

/** Works like tern_sandbox_vprintf, with arguments instead of a list. */
__attribute__((format(printf, 2, 3))) TERN_MAILBOX_INLINE int64_t
tern_sandbox_printf(tern_sandbox_box *box, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int64_t printed = tern_sandbox_vprintf(box, format, list);
    va_end(list);
    return printed;
}

#ifdef __cplusplus
}
#endif

#endif
