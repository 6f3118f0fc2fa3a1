#ifndef TERN_HASHTABLE_LIMITS_H
#define TERN_HASHTABLE_LIMITS_H

/* The largest keys and values, in bytes. */
enum { TERN_KEY_MAX = 1024, TERN_VALUE_MAX = 65536 };

#endif
