#ifndef TERN_SRC_MPI_MPI_H
#define TERN_SRC_MPI_MPI_H

/* The use of MPI: the process has one lock for it, and every return code is checked. */

#include <mpi.h>
#include <stdbool.h>

#include "base/error.h"
#include "tern/context.h"

/* Copies MPI's own text for a code. */
void tern_mpi_text(int code, char text[MPI_MAX_ERROR_STRING]) __attribute__((cold));

/* Sets this thread's detail to MPI's own text for a failed call, and returns TERN_ERR_MPI. */
tern_status tern_fail_mpi(int code, const char *call) __attribute__((cold));

/* Runs an MPI call under the lock. Its value is a tern_status; after an error the detail is set. */
#define TERN_MPI(call)                                                                             \
    __extension__({                                                                                \
        tern_mpi_lock();                                                                           \
        int tern_mpi_code = (call);                                                                \
        tern_mpi_unlock();                                                                         \
        tern_mpi_code == MPI_SUCCESS ? TERN_OK : tern_fail_mpi(tern_mpi_code, #call);              \
    })

/* Checks MPI. TERN_ERR_UNSUPPORTED: the program is linked with another MPI than tern was built for;
 * the text has both. TERN_ERR_STATE: MPI does not run, or its thread level does not allow so many
 * workers; the text says what to change. */
tern_status tern_mpi_check(size_t workers);

/* TERN_ERR_STATE, with the name of function: the thread level of MPI does not allow the calling
 * thread to use MPI. */
tern_status tern_mpi_check_thread(const char *function);

/* Whether this process may have threads of tern: below MPI_THREAD_FUNNELED it may not. */
bool tern_mpi_allows_threads(void);

/* Takes the MPI lock unless another thread has it. */
bool tern_mpi_trylock(void);

/* How often the calling thread has taken the lock, or would have if MPI allowed several threads.
 * Attempts by tern_mpi_trylock do not count. */
uint64_t tern_mpi_locks(void);

/* Whether the calling thread holds the MPI lock. */
bool tern_mpi_locked(void);

/* Makes sure that context->mpi_gone is set when MPI is finalized while the context lives. */
tern_status tern_mpi_watch_finalize(tern_context *context);
void tern_mpi_forget_finalize(tern_context *context);

#endif
