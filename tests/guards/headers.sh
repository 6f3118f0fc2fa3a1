#!/bin/sh
# headers.sh INCLUDE_FOLDER [SYSTEM_FOLDER]...: each public header compiles alone and twice, as C11
# and as C++17. Those for C++ alone (*.hpp) also compile without exceptions and run-time types. What a header forgets to include or to guard shows with any compiler, so one of each
# language compiles them alone; every compiler that is here compiles all of them together.
set -eu
include=$1
shift

system=
for folder in "$@"; do
    system="$system -isystem $folder"
done

wrong=0
# compile HEADER...: one after the other, and once more.
compile() {
    # A file must declare something to be C. MPI's own C++ is of no use here.
    # shellcheck disable=SC2086 # system and options are lists
    {
        printf '#include <tern/%s>\n' "$@" "$@"
        echo 'extern int tern_alone;'
    } | "$compiler" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -Wfatal-errors \
        -fsyntax-only $options -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX -I"$include" $system - || {
        echo "does not compile with $compiler -std=$standard: $*"
        wrong=1
    }
}

# compile_all LANGUAGE STANDARD COMPILER...
compile_all() {
    language=$1 standard=$2
    shift 2
    alone=yes
    for compiler in "$@"; do
        command -v "$compiler" >/dev/null || continue
        for header in $headers; do
            [ $alone = no ] || compile "$header"
        done
        alone=no
        # shellcheck disable=SC2086 # headers is a list
        compile $headers
    done
}

# named PATTERN: the headers with such names.
named() {
    (cd "$include/tern" && find . -name "$1" | sed "s,^\./,," | sort)
}

options=
headers=$(named '*.h')
compile_all c c11 gcc clang
compile_all c++ c++17 g++ clang++
headers=$(named '*.hpp')
if [ "$headers" ]; then
    compile_all c++ c++17 g++ clang++
    options='-fno-exceptions -fno-rtti'
    # shellcheck disable=SC2086 # headers is a list
    for compiler in g++ clang++; do
        ! command -v $compiler >/dev/null || compile $headers
    done
fi
exit $wrong
