#!/bin/sh
# readme.sh ROOT: the programs in README.md and docs/mcts.md are examples to the letter, which are
# compiled and run.
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

compare README.md examples/hello.c
compare docs/mcts.md examples/search.c
