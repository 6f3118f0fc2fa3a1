#ifndef TERN_LANGUAGES_H
#define TERN_LANGUAGES_H

/*
 * What languages other than C and C++ need: a context from a communicator that is a number. MPI's
 * bindings for Fortran and for Python give that number. All other functions of tern can be called
 * as they are. Each inline function of the headers has a copy in the library under its own name.
 * docs/languages.md shows the module for Fortran and the package for Python.
 */

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Creates a context as tern_context_create does.
 *
 * @param comm the communicator in Fortran's form: MPI_VAL of a type(MPI_Comm), or py2f() of mpi4py
 * @param options values for options, such as "TERN_WORKERS=2 TERN_SEGMENT_SIZE=1G", which take
 *     precedence over the environment; NULL or an empty text: none
 * @param[out] context the context; the caller destroys it with tern_context_destroy
 * @return the statuses of tern_context_create; TERN_ERR_CONFIG if options has an entry that is not
 *     NAME=VALUE, or a name or value that tern_config_set refuses
 *
 * Blocking: collective over the ranks of comm; may block. */
TERN_NODISCARD TERN_API tern_status tern_context_create_f(MPI_Fint comm, const char *options,
                                                          tern_context **context);

/** Returns MPI_COMM_WORLD in Fortran's form. MPI must have been started. Local, any thread. */
TERN_API MPI_Fint tern_comm_world_f(void);

#ifdef __cplusplus
}
#endif

#endif
