#!/bin/sh
# reference.sh ROOT MAN [TAGS]: each public macro, constant, type and function of the headers has a man page in the
# folder MAN, and stands in TAGS, the names that Doxygen's site has. The page of a function is its own; others may lead
# to another page. The atomics, which one macro defines, have a page together.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
man=$2
tags=${3-}
names=$(mktemp)
trap 'rm -f "$names" "$names.site" "$names.missing"' EXIT

awk -f "$here/reference.awk" "$1"/include/tern/*.h >"$names"
[ -s "$names" ] || {
    echo "the headers of $1 have no names"
    exit 1
}
functions=" $(grep -ohE '\btern_[a-z0-9_]+\(' "$1"/include/tern/*.h | tr -d '(' | sort -u | tr '\n' ' ') "
wrong=0
while read -r name; do
    page=$man/$name.3
    [ ! -e "$page" ] || read -r first target <"$page"
    if [ ! -e "$page" ]; then
        echo "$name has no man page: a comment goes in front of it in its header"
        wrong=1
    elif [ "$first" = .so ] && ! grep -q '^[.]SH NAME' "$man/../$target"; then
        echo "the man page of $name leads to $target, which is not there"
        wrong=1
    elif [ "$first" = .so ]; then
        case $name in tern_atomic_*) continue ;; esac
        case $functions in
        *" $name "*)
            echo "$name shares a man page with others: an empty line and a comment go in front of it in its header"
            wrong=1
            ;;
        esac
    fi
done <"$names"
if [ "$tags" ]; then
    sed -n 's/.*<name>\(.*\)<\/name>.*/\1/p' "$tags" | sort -u >"$names.site"
    sort "$names" | comm -23 - "$names.site" >"$names.missing"
    sed 's/$/ is not on the site: a comment goes in front of it in its header/' "$names.missing"
    [ ! -s "$names.missing" ] || wrong=1
fi
exit $wrong
