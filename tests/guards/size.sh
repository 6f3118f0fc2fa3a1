#!/bin/sh
# size.sh ROOT [LIBRARY]...: the library has grown above no limit of scripts/size.list, and that list names
# the functions and types of the containers that do one thing in several ways. The libraries, which were
# built with -g, say where the script overlooks a name with two definitions.
set -eu
root=$1
shift
for library; do
    set -- "$@" --debug "$library"
    shift
done
exec "$(dirname "$0")/../../scripts/size" --check "$@" "$root"
