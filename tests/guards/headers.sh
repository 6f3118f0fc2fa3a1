#!/bin/sh
# headers.sh INCLUDE_FOLDER [SYSTEM_FOLDER]...: each public header compiles alone and twice, as C11
# and as C++17, with every compiler that is here.
set -eu
include=$1
shift

system=
for folder in "$@"; do
    system="$system -isystem $folder"
done

wrong=0
# compile COMPILER LANGUAGE STANDARD HEADER
compile() {
    command -v "$1" >/dev/null || return 0
    # shellcheck disable=SC2086 # system is a list
    # A file must declare something to be C.
    printf '#include <tern/%s>\n#include <tern/%s>\nextern int tern_alone;\n' "$4" "$4" |
        "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -Wfatal-errors -fsyntax-only \
            -I"$include" $system - || {
        echo "tern/$4 does not compile alone with $1 -std=$3"
        wrong=1
    }
}

for path in "$include"/tern/*.h; do
    header=${path##*/}
    for compiler in gcc clang; do
        compile $compiler c c11 "$header"
    done
    for compiler in g++ clang++; do
        compile $compiler c++ c++17 "$header"
    done
done
exit $wrong
