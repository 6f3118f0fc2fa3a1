#ifndef TERN_RMA_NETWORK_LIBRARY_H
#define TERN_RMA_NETWORK_LIBRARY_H

/* Libraries of networks are loaded at run time, so that a program also starts on machines without
 * them. */

#include <stddef.h>

#include "tern/status.h"

typedef struct tern_symbol {
    const char *name;
    void *at; /* where the address of the function is stored */
} tern_symbol;

/* Loads the library of a transport. TERN_ERR_UNSUPPORTED: the library is missing or lacks one of
 * the symbols. The library is never unloaded, since its threads and exit handlers may outlive a
 * context. */
tern_status tern_library_load(const char *transport, const char *library,
                              const tern_symbol *symbols, size_t count);

#endif
