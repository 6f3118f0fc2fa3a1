#!/bin/sh
# inline.sh INCLUDE_FOLDER LIBRARY... [-- SYSTEM_FOLDER...]: each inline function of the public headers has
# a copy that one of the libraries exports, for languages that call functions by their symbols. Exempt is
# tern_mailbox_create_on_node, since it needs libtern and libtern_mailbox, of which neither needs the other.
set -eu
include=$1
shift

exported=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    exported="$exported $(nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }')"
    shift
done
[ $# -eq 0 ] || shift
system=
for folder in "$@"; do
    system="$system -isystem $folder"
done

# What the callers of TERN_REMOTE become is the program's own.
if grep -rn --include='*.h' 'static inline' "$include" | grep -v -e '#define' -e '__attribute__((unused))'; then
    echo "write TERN_INLINE in place of static inline (tern/status.h)"
    exit 1
fi

# shellcheck disable=SC2086 # system is a list
(cd "$include" && for header in tern/*.h; do echo "#include <$header>"; done) |
    cc -x c -std=c11 -E -P -DTERN_INLINE=inline_here -DTERN_MAILBOX_INLINE=inline_here \
        -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX -I"$include" $system - |
    tr -s '\n' ' ' |
    awk -v exported="$exported" '
{
    n = split(exported, names, " ")
    for (i = 1; i <= n; i++) there[names[i]] = 1
    n = split($0, part, "inline_here")
    for (i = 2; i <= n; i++) {
        name = part[i]; gsub(/__attribute__ *\(\([^)]*\)\)/, "", name)
        sub(/ *\(.*/, "", name); sub(/.*[ *]/, "", name)
        count++
        if (name in there || name == "tern_mailbox_create_on_node") continue
        print name " is inline, and no library exports a copy (languages/inline.c)"
        wrong = 1
    }
}
END { exit wrong || !count }
'
