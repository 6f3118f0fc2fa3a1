/* The exported copies of the inline functions of tern/status.h (languages/inline.c). */

#define TERN_INLINE TERN_API
#include "tern/status.h"
