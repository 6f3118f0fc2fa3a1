#!/bin/sh
# configure.sh SOURCE CMAKE COMPILER MPI_COMPILER: a tree without zlib is configured, without the one
# example that needs it. Warnings are no errors for users that only build tern.
set -eu
source=$1 cmake=$2 compiler=$3 mpi_compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$source" -B "$work" -DCMAKE_C_COMPILER="$compiler" -DMPI_C_COMPILER="$mpi_compiler" \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
grep -q 'examples/kmer is not built' "$work/log"
"$cmake" --build "$work" --target help >"$work/targets"
grep -q ' heat$' "$work/targets"
if grep 'kmer' "$work/targets"; then
    echo "these targets need zlib"
    exit 1
fi
grep -q '^TERN_WERROR:BOOL=OFF' "$work/CMakeCache.txt"
