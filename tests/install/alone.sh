#!/bin/sh
# alone.sh SOURCE CMAKE COMPILER MPI_COMPILER: with the examples, the benchmarks and the tests off, the build
# has the libraries, tern-info and nothing else. Tests without the examples are refused.
set -eu
source=$1 cmake=$2 compiler=$3 mpi_compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# configure OPTION...
configure() {
    "$cmake" -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$compiler" -DMPI_C_COMPILER="$mpi_compiler" \
        -DTERN_BUILD_EXAMPLES=OFF -DTERN_CUDA=OFF -DCMAKE_Fortran_COMPILER=NOTFOUND "$@" >"$work/log" 2>&1
}

if configure; then
    echo "accepts tests without the examples that they test"
    exit 1
fi
tr -s '\n ' ' ' <"$work/log" | grep -q 'add -DBUILD_TESTING=OFF'
configure -DTERN_BUILD_BENCHMARKS=OFF -DBUILD_TESTING=OFF || {
    cat "$work/log"
    exit 1
}
"$cmake" --build "$work/build" --target help >"$work/targets"
for target in tern tern_static tern_mcts tern_mailbox tern_pmpi tern-info; do
    grep -q "[ .] $target\$" "$work/targets" || {
        echo "there is no target $target"
        exit 1
    }
done
if grep -E ' (tern-bench|tern-ceilings|tern-hex|hex_game|first|kmer|heat|test_.*)$' "$work/targets"; then
    echo "these targets are more than the libraries"
    exit 1
fi
configure -DTERN_BUILD_BENCHMARKS=ON -DBUILD_TESTING=OFF
"$cmake" --build "$work/build" --target help | grep -q ' tern-bench$'
