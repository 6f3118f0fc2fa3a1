#!/bin/sh
# debian.sh ROOT CMAKE: builds the Debian packages of both MPIs, unpacks all of them into one folder, where no
# file comes from two packages, and there builds and runs a program with each tern, by pkg-config and by
# find_package.
set -eu
root=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mpi in mpich openmpi; do
    command -v mpicc.$mpi >/dev/null || {
        echo "skipped: no mpicc.$mpi on this machine"
        exit 77
    }
done

"$root/scripts/package" --into "$work/debs"
all=$work/all
mkdir "$all"
for package in "$work"/debs/*.deb; do
    dpkg-deb -c "$package" | awk '$1 !~ /^d/ { print $6 }'
    dpkg-deb -x "$package" "$all"
done | LC_ALL=C sort | uniq -d >"$work/twice"
if [ -s "$work/twice" ]; then
    cat "$work/twice"
    echo "these files are in two packages"
    exit 1
fi

libraries=$(cd "$all" && echo usr/lib/*-linux-gnu*)
export PKG_CONFIG_PATH="$all/$libraries/pkgconfig" LD_LIBRARY_PATH="$all/$libraries"
outside=$root/tests/install/outside
for mpi in mpich openmpi; do
    case $mpi in
    mpich) other=openmpi ;;
    *) other=mpich ;;
    esac
    # shellcheck disable=SC2046 # flags are a list
    cc -o "$work/$mpi" "$outside/program.c" $(pkg-config --cflags --libs tern-$mpi)
    readelf -d "$work/$mpi" >"$work/needed"
    grep -q "NEEDED.*libtern-$mpi[.]so" "$work/needed"
    (! grep -q "NEEDED.*$other" "$work/needed")
    "$cmake" -S "$outside" -B "$work/build-$mpi" -DCMAKE_PREFIX_PATH="$all/usr" -DTERN_MPI=$mpi >"$work/log" ||
        {
            cat "$work/log"
            exit 1
        }
    "$cmake" --build "$work/build-$mpi"
    for program in $mpi build-$mpi/with_shared build-$mpi/with_static; do
        echo "$program"
        "$all/usr/bin/mpirun-tern.$mpi" -n 2 "$work/$program"
    done
    "$all/usr/bin/tern-info.$mpi" | grep TERN_LOG_LEVEL
    PYTHONPATH=$all/$libraries/python-$mpi python3 -c 'import tern; print(tern.__file__)'
done
