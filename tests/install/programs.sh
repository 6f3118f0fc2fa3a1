#!/bin/sh
# programs.sh PREFIX LIBRARY_FOLDER COMPILER MPIRUN CMAKE: builds the programs in outside/ with
# pkg-config and with find_package, and runs them on 1 and 2 ranks. Does the same with the program in
# mailbox/, without MPI. Builds examples/sandbox by hand, as its README says, and runs that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 library_folder=$2 compiler=$3 mpirun=$4 cmake=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PKG_CONFIG_PATH="$prefix/$library_folder/pkgconfig"
export LD_LIBRARY_PATH="$prefix/$library_folder"
programs='with_pkg_config search_with_pkg_config node_with_pkg_config outside/with_shared
    outside/with_static outside/search_shared outside/search_static outside/node_shared
    outside/node_static'

# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/with_pkg_config" "$here/outside/program.c" $(pkg-config --cflags --libs tern)
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/search_with_pkg_config" "$here/outside/search.c" \
    $(pkg-config --cflags --libs tern-mcts)
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/node_with_pkg_config" "$here/outside/node.c" \
    $(pkg-config --cflags --libs tern-mailbox tern)
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2046 # flags are a list
    g++ -std=c++17 -o "$work/cplusplus" "$here/outside/program.cpp" $(pkg-config --cflags --libs tern)
    programs="$programs cplusplus outside/cplusplus_shared"
fi

"$cmake" -S "$here/outside" -B "$work/outside" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler"
"$cmake" --build "$work/outside"

for program in $programs; do
    for ranks in 1 2; do
        echo "$program on $ranks"
        "$mpirun" -n $ranks "$work/$program"
    done
done

echo "with libtern_pmpi"
"$mpirun" -n 2 env LD_PRELOAD="$LD_LIBRARY_PATH/libtern_pmpi.so" "$work/with_pkg_config"

echo "mailboxes without MPI"
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/mailbox_alone" "$here/mailbox/program.c" \
    $(pkg-config --cflags --libs tern-mailbox)
"$cmake" -S "$here/mailbox" -B "$work/mailbox" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler"
"$cmake" --build "$work/mailbox"
for program in mailbox_alone mailbox/with_shared mailbox/with_static; do
    "$work/$program"
done

echo sandbox
example=$here/../../examples/sandbox
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$work/sandbox" "$example/main.c" $(pkg-config --cflags --libs tern-mailbox)
# shellcheck disable=SC2046 # flags are a list
"$compiler" -O2 -ffreestanding -fPIE -fno-stack-protector -nostdlib -static-pie \
    -Wl,-e,tern_sandbox_main -Wl,--no-dynamic-linker $(pkg-config --cflags tern-mailbox) "$example/guest.c" \
    -o "$work/guest"
status=0
"$work/sandbox" "$work/guest" "$work" --getpid || status=$?
# 77: no sandboxes on this system; else 128 + SIGSYS.
[ $status -eq 159 ] || [ $status -eq 77 ]
