# Which MPI this build uses (TERN_MPI: mpich or openmpi), the mpirun that belongs to it (TERN_MPIRUN),
# and <build>/mpirun-tern, the one script that knows the options of that mpirun.

include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h TERN_MPI_IS_OPENMPI)
check_symbol_exists(MPICH_VERSION mpi.h TERN_MPI_IS_MPICH)
unset(CMAKE_REQUIRED_LIBRARIES)

if(TERN_MPI_IS_OPENMPI)
    set(TERN_MPI openmpi)
    set(banner "Open ?(MPI|RTE)")
elseif(TERN_MPI_IS_MPICH)
    set(TERN_MPI mpich)
    set(banner "HYDRA|MPICH")
else()
    message(FATAL_ERROR "This MPI is neither MPICH (or made from it) nor Open MPI")
endif()

# Debian installs both side by side, and plain mpirun belongs to one of them. So the full name is tried
# first, and the output of the mpirun that was found tells to which MPI it belongs.
get_filename_component(beside "${MPI_C_COMPILER}" DIRECTORY)
find_program(TERN_MPIRUN NAMES mpirun.${TERN_MPI} mpiexec.${TERN_MPI} mpirun mpiexec
             HINTS ${beside} DOC "the mpirun of the MPI in use")
if(NOT TERN_MPIRUN)
    message(FATAL_ERROR "No mpirun for ${TERN_MPI}: set TERN_MPIRUN")
endif()
execute_process(COMMAND ${TERN_MPIRUN} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
if(NOT version MATCHES "${banner}")
    message(FATAL_ERROR "${TERN_MPIRUN} does not belong to ${TERN_MPI}: set TERN_MPIRUN")
endif()
message(STATUS "MPI: ${TERN_MPI}, started by ${TERN_MPIRUN}")
unset(beside)
unset(banner)
unset(version)

# What distinguishes the installed names of two MPIs: libtern-mpich.so, include/tern-mpich/tern, and
# tern-info.mpich, as Debian names its mpirun.mpich.
set(TERN_SUFFIX "")
set(TERN_TOOL_SUFFIX "")
set(TERN_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
if(TERN_SIDE_BY_SIDE)
    set(TERN_SUFFIX -${TERN_MPI})
    set(TERN_TOOL_SUFFIX .${TERN_MPI})
    string(APPEND TERN_INSTALL_INCLUDEDIR /tern-${TERN_MPI})
endif()

list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " TERN_EMULATOR)
configure_file(${CMAKE_CURRENT_LIST_DIR}/mpirun-tern.in ${PROJECT_BINARY_DIR}/mpirun-tern @ONLY
               FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                WORLD_READ WORLD_EXECUTE)
