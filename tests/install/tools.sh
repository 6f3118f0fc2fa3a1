#!/bin/sh
# tools.sh PREFIX BIN_FOLDER DOC_FOLDER LIBRARY_FOLDER COMPILER: the installed tools run from where they
# lie, with no path set for libraries; an installed example is built and run; pages are there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 bin_folder=$2 doc_folder=$3 library_folder=$4 compiler=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PATH="$prefix/$bin_folder:$PATH"
cd "$work"

# says TEXT COMMAND...
says() {
    text=$1
    shift
    "$@" >output 2>&1 || {
        cat output
        echo "fails: $*"
        exit 1
    }
    grep -q "$text" output || {
        cat output
        echo "does not say '$text': $*"
        exit 1
    }
}

for tool in tern-info tern-bench tern-hex mpirun-tern; do
    [ "$(command -v $tool)" = "$prefix/$bin_folder/$tool" ] || {
        echo "$tool is not installed"
        exit 1
    }
    page=$(find "$prefix" -name $tool.1)
    [ -s "$page" ] || {
        echo "there is no man page of $tool"
        exit 1
    }
    # tern-info and the others print their options without a launcher.
    "$tool" --help >help
    for option in $(sed -n 's/\\-/-/g; s/^[.]BI* \(--*[a-z][a-z-]*\).*/\1/p' "$page"); do
        grep -q -e "$option\>" help || {
            echo "the man page of $tool has $option, which $tool --help has not"
            exit 1
        }
    done
done
"$here/../programs/arguments.sh" "$prefix/$bin_folder"/*
for name in tern_put_notify TERN_PROBE_ANY tern_notify.h; do
    [ -s "$(find "$prefix" -path "*/man3/$name.3")" ] || {
        echo "there is no man page of $name"
        exit 1
    }
done
says 'TERN_LOG_LEVEL' tern-info
# tern-info tells of a bad value behind the whole table.
if TERN_WORKERS=zero tern-info >output 2>error; then
    echo "tern-info accepts TERN_WORKERS=zero"
    exit 1
fi
grep -q '^TERN_WORKERS  *zero  *refused ' output
grep -q '^TERN_LOG_LEVEL ' output
grep -q 'TERN_WORKERS=zero' error
says 'put_flush' mpirun-tern -n 2 tern-bench transfer --quick --pairs 1 --block 0.1 --only put_flush
says '^= tern' sh -c 'echo name | mpirun-tern -n 1 tern-hex'

docs=$prefix/$doc_folder
for page in README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs/calls.md docs/decisions/README.md \
    examples/README.md examples/kmer/main.c; do
    [ -s "$docs/$page" ] || {
        echo "$docs/$page is missing"
        exit 1
    }
done
export PKG_CONFIG_PATH="$prefix/$library_folder/pkgconfig"
# shellcheck disable=SC2046 # flags are a list
"$compiler" -o hello "$docs/examples/hello.c" $(pkg-config --cflags --libs tern)
says 'hello from rank 1' \
    env LD_LIBRARY_PATH="$prefix/$library_folder" mpirun-tern -n 2 ./hello
