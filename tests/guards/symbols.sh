#!/bin/sh
# symbols.sh LIBRARY [REGEX]: every symbol that a shared library exports, or that is global in a static
# one, matches the expression, ^tern_ if none is given, and the library calls MPI by its PMPI_ names only.
# MPI_ names would reach a profiler's wrappers, libtern_pmpi's among them, which wait by calling tern.
set -eu

dynamic=
case $1 in
*.so*) dynamic=-D ;;
esac

# An unprefixed name would clash with one of the program's; a library without symbols is no library.
nm $dynamic --defined-only --extern-only "$1" | awk -v wanted="${2:-^tern_}" '
NF == 3 { count++; if ($3 !~ wanted) { print "not prefixed: " $3; wrong = 1 } }
END { exit wrong || !count }
'
nm $dynamic --undefined-only "$1" | awk '
$NF ~ /^MPI_/ { print "not called by its PMPI_ name: " $NF; wrong = 1 }
END { exit wrong }
'
