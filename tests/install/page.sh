#!/bin/sh
# page.sh SOURCE BUILD MPI CMAKE: runs the commands of docs/install.md one after the other in a shell with
# nothing set but HOME and PATH, for MPI (mpich or openmpi). What configures, builds and tests tern is left
# out: BUILD is installed.
set -eu
source=$1 build=$2 mpi=$3 cmake=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/home" "$work/tern"
ln -s "$build" "$work/tern/build"
{
    cat <<'END'
cmake() {
    case $PWD:$1 in
    */tern:-B | */tern:--build) ;;
    *) command cmake "$@" ;;
    esac
}
ctest() { :; }
set -x
END
    sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$source/docs/install.md" | sed "s/openmpi/$mpi/g"
} >"$work/script"
grep -q -e '--install' "$work/script"
(cd "$work/tern" && env -i HOME="$work/home" PATH="$(dirname "$cmake"):/usr/local/bin:/usr/bin:/bin" \
    sh -eu "$work/script") >"$work/said" 2>&1 || {
    grep -v -e '^-- ' "$work/said" | tail -n 40
    echo "FAILED: a command of docs/install.md"
    exit 1
}
# By pkg-config, and by CMake.
[ "$(grep -c '^hello from rank 2$' "$work/said")" -eq 2 ] || {
    tail -n 40 "$work/said"
    echo "FAILED: the programs of docs/install.md do not print what they should"
    exit 1
}
