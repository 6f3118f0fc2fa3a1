#!/bin/sh
# ptern.sh READELF FILE OBJECT...: writes to FILE the options by which the linker gives each function that the
# objects export a second name, with a p in front (docs/profiling.md).
set -eu
readelf=$1
file=$2
shift 2
"$readelf" -sW "$@" |
    awk '$4 == "FUNC" && $5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" && $8 ~ /^tern_/ {
        print "--defsym=p" $8 "=" $8
    }' | sort -u >"$file"
[ -s "$file" ]
