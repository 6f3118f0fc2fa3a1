#ifndef TERN_RMA_NETWORK_LIBRARY_H
#define TERN_RMA_NETWORK_LIBRARY_H

/* Libraries of networks are loaded at run time, so that a program starts where they are missing. */

#include <stddef.h>

#include "tern/status.h"

typedef struct tern_symbol {
    const char *name;
    void *at; /* the pointer to a function that is set */
} tern_symbol;

/* TERN_ERR_UNSUPPORTED: the library, for that transport, is not here or lacks one of the symbols.
 * It is never unloaded: its threads and exit handlers may outlive a context. */
tern_status tern_library_load(const char *transport, const char *library,
                              const tern_symbol *symbols, size_t count);

#endif
