/* The exported copies of the inline functions of libtern_mailbox's headers (languages/inline.c),
 * for the layout TERN_MAILBOX_LINES. */

#include "tern/status.h" /* its copies are in base/inline.c */

#undef TERN_INLINE
#define TERN_INLINE TERN_API
#define TERN_MAILBOX_INLINE TERN_API

#include "tern/mailbox_host.h"
#include "tern/mailbox_warp.h"
#include "tern/sandbox.h"
#include "tern/sandbox_printf.h"
