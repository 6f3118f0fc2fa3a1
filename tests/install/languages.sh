#!/bin/sh
# languages.sh PREFIX LIBRARY_FOLDER MPIRUN CMAKE MPI_FORTRAN PYTHON: the installed module for Fortran, by
# pkg-config and by find_package, and the installed package for Python. Empty arguments leave one out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 library_folder=$2 mpirun=$3 cmake=$4 fortran=$5 python=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "$python" ]; then
    # No path is set for libraries: the package knows where its own lies.
    cat >"$work/program.py" <<END
import sys
import tern
with tern.Context() as context:
    context.barrier()
    sys.stdout.write(tern.__file__ + "\n")  # in one go, so that lines of ranks do not mix
END
    PYTHONPATH="$prefix/$library_folder/python" "$mpirun" -n 2 "$python" -B "$work/program.py" >"$work/output"
    [ "$(grep -c "^$prefix/" "$work/output")" -eq 2 ]
fi
[ "$fortran" ] || exit 0

export PKG_CONFIG_PATH="$prefix/$library_folder/pkgconfig"
export LD_LIBRARY_PATH="$prefix/$library_folder"
# shellcheck disable=SC2046 # flags are a list
"$fortran" -o "$work/with_pkg_config" "$here/fortran/program.f90" $(pkg-config --cflags --libs tern-fortran)
"$cmake" -S "$here/fortran" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$work/build"
for program in with_pkg_config build/fortran_shared; do
    echo "$program"
    "$mpirun" -n 2 "$work/$program"
done
