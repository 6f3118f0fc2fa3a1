#ifndef TERN_SRC_MPI_MPI_H
#define TERN_SRC_MPI_MPI_H

/* The use of MPI: one lock for the process, every return code checked. */

#include <mpi.h>
#include <stdbool.h>

#include "base/error.h"
#include "tern/context.h"

/* Sets this thread's detail to MPI's own text for a failed call, and returns TERN_ERR_MPI. */
tern_status tern_fail_mpi(int code, const char *call) __attribute__((cold));

/* Runs an MPI call under the lock; the value is a tern_status with the detail set. */
#define TERN_MPI(call)                                                                             \
    __extension__({                                                                                \
        tern_mpi_lock();                                                                           \
        int tern_mpi_code = (call);                                                                \
        tern_mpi_unlock();                                                                         \
        tern_mpi_code == MPI_SUCCESS ? TERN_OK : tern_fail_mpi(tern_mpi_code, #call);              \
    })

/* TERN_ERR_UNSUPPORTED, naming both, if another MPI is linked than tern was built for.
 * TERN_ERR_STATE, naming what to change, unless MPI runs with a thread level that suits so many
 * workers. */
tern_status tern_mpi_check(size_t workers);

/* TERN_ERR_STATE, naming function, unless the calling thread may use MPI with the level that it
 * runs with. */
tern_status tern_mpi_check_thread(const char *function);

/* Takes the MPI lock unless another thread has it. */
bool tern_mpi_trylock(void);

/* How often the calling thread has taken the lock, or would have with more threads; without tries.
 */
uint64_t tern_mpi_locks(void);

/* Whether the calling thread holds the MPI lock. */
bool tern_mpi_locked(void);

/* Has context->mpi_gone set when MPI is finalized while the context lives. */
tern_status tern_mpi_watch_finalize(tern_context *context);
void tern_mpi_forget_finalize(tern_context *context);

#endif
