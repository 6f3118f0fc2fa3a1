#!/bin/sh
# two_mpis.sh PREFIX LIBRARY_FOLDER MPI COMPILER CMAKE: a program cannot be built with another MPI than
# MPI (mpich or openmpi), for which the tern in PREFIX was built, and is told why. Without a second MPI
# on this machine it is a <mpi.h> of the test's.
#
# Nor does a program run as so many jobs of one rank if the mpirun of another MPI starts it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 library_folder=$2 mpi=$3 compiler=$4 cmake=$5
case $mpi in
mpich) other=openmpi built_for='MPICH [0-9]' announced=OMPI_COMM_WORLD_SIZE ;;
*) other=mpich built_for='Open MPI [0-9]' announced=PMI_SIZE ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PKG_CONFIG_PATH="$prefix/$library_folder/pkgconfig"

# refused TEXT COMMAND...: the command fails and says TEXT.
refused() {
    text=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        echo "passes: $*"
        exit 1
    fi
    tr -s '\n ' ' ' <"$work/output" | grep -q "$text" || {
        echo "does not say '$text': $*"
        cat "$work/output"
        exit 1
    }
}

# compile_with TEXT: with the <mpi.h> of the test's.
compile_with() {
    echo "$1" >"$work/mpi.h"
    # shellcheck disable=SC2046 # flags are a list
    "$compiler" -I"$work" $(pkg-config --cflags tern) -E "$here/outside/program.c" -o "$work/out.i"
}

for text in '#define OMPI_MAJOR_VERSION 1
#define OPEN_MPI 1' '#define MPICH_NUMVERSION 20000300
#define MPICH_VERSION "2.0"' '#define SOME_OTHER_MPI 1'; do
    refused "which this tern was built" compile_with "$text"
done

# What the mpirun of the other MPI leaves in the environment.
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/program" "$here/outside/program.c" $(pkg-config --cflags --libs tern) \
    -Wl,-rpath,"$prefix/$library_folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$work/program"
refused "mpirun belongs to another MPI" env "$announced=2" "$work/program"

command -v mpicc.$mpi >/dev/null && command -v mpicc.$other >/dev/null || {
    echo "no mpicc.$other on this machine: only a <mpi.h> of the test's was tried"
    exit 0
}
refused "$built_for.*, for which this tern was built" \
    mpicc.$other -I"$prefix/include" -E "$here/outside/program.c" -o "$work/out.i"

# With the flags of pkg-config the other mpicc still sees its own <mpi.h>.
# shellcheck disable=SC2046 # flags are a list
refused "$built_for.*, for which this tern was built" \
    mpicc.$other -o "$work/mixed" "$here/outside/program.c" $(pkg-config --cflags --libs tern)
# shellcheck disable=SC2046 # flags are a list
mpicc.$mpi -o "$work/own" "$here/outside/program.c" $(pkg-config --cflags --libs tern)
! command -v mpirun.$other >/dev/null ||
    refused "mpirun belongs to another MPI" mpirun.$other -n 2 "$work/program"

# configure MPI
configure() {
    rm -rf "$work/build"
    "$cmake" -S "$here/mpi_first" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$compiler" -DMPI_C_COMPILER=mpicc."$1"
}
refused "this tern was built for $built_for" configure $other
configure $mpi
