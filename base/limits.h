#ifndef TERN_BASE_LIMITS_H
#define TERN_BASE_LIMITS_H

/* What this process may not exceed (getrlimit). */

#include <stddef.h>

/* ftruncate, but a size beyond RLIMIT_FSIZE is EFBIG, where the kernel would send SIGXFSZ, which
 * ends a process. Returns 0, or -1 and errno. */
int tern_file_resize(int fd, size_t bytes);

/* [out] text: what to do about a system call that failed with error, if that is a limit of this
 * process; else "". */
void tern_limit_advice(int error, char *text, size_t room);

#endif
