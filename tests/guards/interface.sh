#!/bin/sh
# interface.sh ROOT: the interface of libtern stays one that can be learnt. It has at most 40 headers, none of them
# shorter than 60 lines but tern.h, which includes the others, and compat.h, which has the names of older versions.
# No function has more than eight parameters: further ones are a structure of options. No name in the reference ends
# in a word that marks the second version of a function. The headers of tern's other libraries are not counted.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

headers=$(find include/tern -maxdepth 1 -name '*.h' ! -name 'mailbox*' ! -name 'sandbox*' ! -name mcts.h ! -name game.h |
    LC_ALL=C sort)
wrong=0
count=$(echo "$headers" | wc -w)
[ "$count" -le 40 ] || {
    echo "libtern has $count headers, and 40 are allowed: put the new one into the header where a user would look"
    wrong=1
}
# shellcheck disable=SC2086 # no file name of the project has a space
wc -l $headers | awk '$2 != "total" && $2 !~ /\/(tern|compat)[.]h$/ && $1 < 60 {
    print $2 " has " $1 " lines, and 60 are the least: put them into the header where a user would look"
    wrong = 1
} END { exit wrong }' || wrong=1

! awk -f "$here/reference.awk" include/tern/*.h |
    grep -iE '^tern_inlined_|_(near|far|here|now|once|slowly|plainly|within)$' || {
    echo "these names mark a second version of a function, and stand in the reference"
    wrong=1
}

# Declarations begin at the first column with one of TERN_API and the like.
awk '
function check(text, at, depth, parameters, i, sign, name) {
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", text)
    if (!match(text, /tern_[a-z0-9_]+\(/)) return
    name = substr(text, RSTART, RLENGTH - 1)
    if (name ~ /^tern_internal_/) return
    parameters = 1
    for (i = RSTART + RLENGTH; i <= length(text); i++) {
        sign = substr(text, i, 1)
        if (sign == "(") depth++
        if (sign == ")" && depth-- == 0) break
        if (sign == "," && depth == 0) parameters++
    }
    if (parameters > 8) {
        print at ": " name " has " parameters " parameters, and 8 are allowed: make a structure of options"
        wrong = 1
    }
}
FNR == 1 { statement = "" }
/^TERN_[A-Z_]+ / { statement = ""; open = 1; at = FILENAME ":" FNR }
open { statement = statement " " $0 }
open && /[;{]/ { check(statement, at, 0); open = 0 }
END { exit wrong }
' include/tern/*.h || wrong=1
exit $wrong
