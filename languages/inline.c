/*
 * Exported copies of the inline functions of libtern's headers, for languages that call functions
 * by their symbols. In a program in C or C++ these functions are static and inline. Here the same
 * text defines them with external linkage. base, mcts and mailbox have such a file too: a copy lies
 * in the library whose header defines the function. Guarded by tests/guards/inline.sh.
 */

#include "tern/status.h" /* its copies are in base/inline.c */

#undef TERN_INLINE
#define TERN_INLINE TERN_API

#include "tern/tern.h"
