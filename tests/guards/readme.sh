#!/bin/sh
# readme.sh ROOT: the program in README.md is examples/hello.c to the letter, which is compiled and run.
set -eu
root=$1
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$root/README.md" >"$shown"
diff "$shown" "$root/examples/hello.c" || {
    echo "README.md shows another program than examples/hello.c"
    exit 1
}
