#!/bin/sh
# headers.sh INCLUDE_FOLDER [SYSTEM_FOLDER]...: each public header compiles alone and twice, as C11
# and as C++17. What a header forgets to include or to guard shows with any compiler, so one of each
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
    # shellcheck disable=SC2086 # system is a list
    {
        printf '#include <tern/%s>\n' "$@" "$@"
        echo 'extern int tern_alone;'
    } | "$compiler" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -Wfatal-errors \
        -fsyntax-only -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX -I"$include" $system - || {
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

headers=$(cd "$include/tern" && find . -name "*.h" | sed "s,^\./,," | sort)
compile_all c c11 gcc clang
compile_all c++ c++17 g++ clang++
exit $wrong
