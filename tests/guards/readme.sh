#!/bin/sh
# readme.sh ROOT: the programs in README.md, docs/using.md and docs/mcts.md are examples to the letter,
# which are compiled and run. The README stays short enough to be read.
set -eu
root=$1
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT

compare() {
    sed -n '/^```c$/,/^```$/{/^```/d;p}' "$root/$1" >"$shown"
    diff "$shown" "$root/$2" || {
        echo "$1 shows another program than $2"
        exit 1
    }
}

lines=$(wc -l <"$root/README.md")
[ "$lines" -le 150 ] || {
    echo "README.md has $lines lines, 150 are allowed: move what a first reader can do without to docs/"
    exit 1
}

compare README.md examples/first.c
compare docs/using.md examples/hello.c
compare docs/mcts.md examples/search.c
