#!/bin/sh
# names.sh ROOT: functions, types, macros and options of tern that pages for users name are there.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only whole names: one that ends with _ is followed by a star or the like.
names() {
    grep -rohE '\b(tern|TERN)_[A-Za-z0-9_]*[A-Za-z0-9]\b[*]?' "$@" | grep -v '[*]$' | LC_ALL=C sort -u
}

pages=
for page in README.md docs/using.md docs/faq.md docs/coming-from.md docs/tutorial docs/howto; do
    [ ! -e "$page" ] || pages="$pages $page"
done
there=include
[ ! -e cmake ] || there="$there cmake src CMakeLists.txt"
# shellcheck disable=SC2086 # lists of paths without spaces
names $pages >"$work/named"
# shellcheck disable=SC2086
names $there >"$work/there"
LC_ALL=C comm -23 "$work/named" "$work/there" >"$work/gone"
[ ! -s "$work/gone" ] || {
    echo "pages name what is not there:"
    cat "$work/gone"
    exit 1
}
