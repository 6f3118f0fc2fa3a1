#!/bin/sh
# reference.sh ROOT MAN [TAGS]: each public macro, constant, type and function of the headers has a man page in the
# folder MAN, which is a page or leads to one, and stands in TAGS, the names that Doxygen's site has.
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
    fi
done <"$names"
if [ "$tags" ]; then
    sed -n 's/.*<name>\(.*\)<\/name>.*/\1/p' "$tags" | sort -u >"$names.site"
    sort "$names" | comm -23 - "$names.site" >"$names.missing"
    sed 's/$/ is not on the site: a comment goes in front of it in its header/' "$names.missing"
    [ ! -s "$names.missing" ] || wrong=1
fi
exit $wrong
