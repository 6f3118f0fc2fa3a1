#include "src/progress/progress.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool tern_membarrier_register(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void tern_membarrier(const tern_context *context) {
    if (!context->fences)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}
