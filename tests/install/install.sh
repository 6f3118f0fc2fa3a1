#!/bin/sh
# install.sh BUILD CMAKE PREFIX: installs BUILD into a folder and moves that to PREFIX, where the other
# tests use it: an installed tern may be moved.
set -eu
build=$1 cmake=$2 prefix=$3

rm -rf "$prefix" "$prefix.before"
"$cmake" --install "$build" --prefix "$prefix.before"
mv "$prefix.before" "$prefix"
