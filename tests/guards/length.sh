#!/bin/sh
# length.sh ROOT: no source file is longer than a reader can hold in mind.
set -eu
cd "$1"

find . \( -name .git -o -name 'build*' \) -prune -o \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' \) -exec wc -l {} + |
    awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, 600 are allowed"; wrong = 1 }
         END { exit wrong }'
