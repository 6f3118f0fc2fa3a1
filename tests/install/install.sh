#!/bin/sh
# install.sh BUILD COMPILER LIBRARY_FOLDER CMAKE: installs BUILD into a prefix of its own; builds the
# program in outside/ with pkg-config and with find_package; runs what came out on 1 and 2 ranks. Builds
# examples/sandbox by hand, as its README says, and runs that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 compiler=$2 library_folder=$3 cmake=$4
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

"$cmake" --install "$build" --prefix "$prefix" >"$prefix/log"
[ ! -e "$build/tern-info" ] || "$prefix/bin/tern-info" >"$prefix/log"

export PKG_CONFIG_PATH="$prefix/$library_folder/pkgconfig"
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$prefix/with_pkg_config" "$here/outside/program.c" $(pkg-config --cflags --libs tern)

"$cmake" -S "$here/outside" -B "$prefix/outside" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" >"$prefix/log"
"$cmake" --build "$prefix/outside" >"$prefix/log"

for program in with_pkg_config outside/with_shared outside/with_static; do
    for ranks in 1 2; do
        echo "$program on $ranks"
        LD_LIBRARY_PATH="$prefix/$library_folder" \
            "$build/mpirun-tern" -n $ranks "$prefix/$program"
    done
done

echo sandbox
example=$here/../../examples/sandbox
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o "$prefix/sandbox" "$example/main.c" $(pkg-config --cflags --libs tern)
# shellcheck disable=SC2046 # flags are a list
"$compiler" -O2 -ffreestanding -fPIE -fno-stack-protector -nostdlib -static-pie \
    -Wl,-e,tern_sandbox_main -Wl,--no-dynamic-linker $(pkg-config --cflags tern) "$example/guest.c" \
    -o "$prefix/guest"
status=0
LD_LIBRARY_PATH="$prefix/$library_folder" "$prefix/sandbox" "$prefix/guest" "$prefix" --getpid ||
    status=$?
# 77: no sandboxes on this system; else 128 + SIGSYS.
[ $status -eq 159 ] || [ $status -eq 77 ]
