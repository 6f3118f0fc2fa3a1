#ifndef TERN_COMPAT_H
#define TERN_COMPAT_H

/*
 * Names of tern 0.2 that have other names now, for programs that were written for it. Include this
 * header behind or before the others, or give the compiler -include tern/compat.h. The next minor
 * version will remove this header. docs/upgrading.md lists what has changed, and the headers of 0.2
 * that other headers have taken in.
 */

#include "tern/hashtable.h"

/* The old names of modifiers of tables, and of what belongs to them. */
#define tern_modify_info tern_hashtable_modify_info
#define tern_modify_function tern_hashtable_modify_function
#define tern_modifier tern_hashtable_modifier
#define TERN_MODIFIER(name) TERN_HASHTABLE_MODIFIER(name)
#define TERN_MODIFIER_ANY_THREAD(name) TERN_HASHTABLE_MODIFIER_ANY_THREAD(name)
#define TERN_MODIFY_RESULT_MAX TERN_HASHTABLE_MODIFY_RESULT_MAX

/* The old name of the most keys that a buffer gathers for one owner. */
#define TERN_BUFFER_KEYS TERN_HASHTABLE_BUFFER_KEYS

#endif
