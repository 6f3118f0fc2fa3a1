#ifndef TERN_PLAYED_LIBRARY_H
#define TERN_PLAYED_LIBRARY_H

/* A library of which a test plays some functions. The test wraps tern_library_load
 * (tests/CMakeLists.txt). */

#include <CUnit/CUnit.h>
#include <dlfcn.h>
#include <string.h>

#include "rma/network/library.h"

typedef struct played_symbol {
    const char *name;
    void (*played)(void); /* NULL: the library's own is used */
    void *own;            /* [out] a pointer to a function: the library's own; or NULL */
} played_symbol;

/* Loads the library, and takes the functions of the list from the test. */
static tern_status played_load(const char *library, const tern_symbol *symbols, size_t count,
                               const played_symbol *list, size_t listed) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_FATAL(handle != NULL);
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        CU_ASSERT_FATAL(symbol != NULL);
        memcpy(symbols[i].at, &symbol, sizeof symbol);
        for (size_t j = 0; j < listed; j++) {
            if (strcmp(symbols[i].name, list[j].name) != 0)
                continue;
            if (list[j].own != NULL)
                memcpy(list[j].own, &symbol, sizeof symbol);
            if (list[j].played != NULL)
                memcpy(symbols[i].at, &list[j].played, sizeof list[j].played);
        }
    }
    return TERN_OK;
}

#endif
