#include "rma/network/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

tern_status tern_library_load(const char *transport, const char *library,
                              const tern_symbol *symbols, size_t count) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: %s cannot be loaded (%s); install it, or set "
                         "another TERN_TRANSPORT",
                         transport, library, dlerror());
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (symbol == NULL)
            return tern_fail(TERN_ERR_UNSUPPORTED,
                             "%s: %s lacks the function %s; install a newer version", transport,
                             library, symbols[i].name);
        memcpy(symbols[i].at, &symbol, sizeof symbol);
    }
    return TERN_OK;
}
