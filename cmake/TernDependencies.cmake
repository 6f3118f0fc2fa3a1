# The library's dependencies. For each missing one there is an error that names its Debian package.

function(tern_require found what package)
    if(NOT ${found})
        message(FATAL_ERROR "${what} is missing: apt install ${package} (or run scripts/setup)")
    endif()
endfunction()

find_package(PkgConfig QUIET)
tern_require(PKG_CONFIG_FOUND "pkg-config" pkg-config)

find_package(MPI 3.0 COMPONENTS C)
tern_require(MPI_C_FOUND "An MPI-3 for C" "libmpich-dev or libopenmpi-dev")
# Without these, <mpi.h> brings MPI's C++ bindings, which are no part of MPI-3, into every C++ program,
# which then needs another library.
set(TERN_SKIP_MPI_CPLUSPLUS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

pkg_check_modules(HWLOC IMPORTED_TARGET hwloc>=2.0)
tern_require(HWLOC_FOUND "hwloc 2" libhwloc-dev)

pkg_check_modules(XXHASH IMPORTED_TARGET libxxhash>=0.8)
tern_require(XXHASH_FOUND "xxHash 0.8" libxxhash-dev)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Optional: with it tern-bench compares files of JSON.
pkg_check_modules(JANSSON IMPORTED_TARGET jansson>=2.10)
set(TERN_HAVE_JANSSON ${JANSSON_FOUND})

# Optional: what native networks need. The build needs only the headers; tern loads the libraries when a
# program asks for them.
pkg_check_modules(LIBFABRIC libfabric>=1.15)
set(TERN_HAVE_OFI ${LIBFABRIC_FOUND})
pkg_check_modules(LIBIBVERBS libibverbs>=1.14)
set(TERN_HAVE_VERBS ${LIBIBVERBS_FOUND})
