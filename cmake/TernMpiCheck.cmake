# Writes <build>/include/tern/mpi_check.h, which does not compile with another <mpi.h> than this build's.
# The library and a program that use different MPIs crash in the first call that takes a handle.

if(TERN_MPI STREQUAL openmpi)
    set(TERN_MPI_NAME "Open MPI")
    set(TERN_MPI_MAJOR "OMPI_MAJOR_VERSION")
    set(TERN_MPI_FAMILY "OPEN_MPI")
else()
    set(TERN_MPI_NAME "MPICH")
    set(TERN_MPI_MAJOR "MPICH_NUMVERSION / 10000000")
    set(TERN_MPI_FAMILY "MPICH_VERSION")
endif()

# The preprocessor finds the major version.
set(file ${PROJECT_BINARY_DIR}/mpi_major.c)
file(WRITE ${file} "#include <mpi.h>\ntern_mpi_major = ${TERN_MPI_MAJOR}\n")
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE folders)
execute_process(COMMAND ${CMAKE_C_COMPILER} ${folders} -E -P ${file} OUTPUT_VARIABLE text
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT text MATCHES "tern_mpi_major = ([0-9]+)( / [0-9]+)?")
    message(FATAL_ERROR "<mpi.h> of ${TERN_MPI_NAME} does not define ${TERN_MPI_MAJOR}")
endif()
math(EXPR TERN_MPI_VERSION "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
unset(file)
unset(folders)
unset(text)

set(TERN_BUILT_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mpi_check.h.in
               ${TERN_BUILT_INCLUDE_DIR}/tern/mpi_check.h @ONLY)
