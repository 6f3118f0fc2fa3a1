/* The exported copies of the inline functions of libtern_mcts's headers (languages/inline.c). */

#include "tern/tern.h" /* its copies are in libtern */

#undef TERN_INLINE
#define TERN_INLINE TERN_API

#include "tern/mcts.h"
