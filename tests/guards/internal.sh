#!/bin/sh
# internal.sh ROOT [MAN]: what the headers for applications say is not for applications begins with tern_internal_ or
# TERN_INTERNAL_, and nothing else does. Exempt are TERN_API and TERN_INLINE, which stand in front of declarations.
# No page, no example and no man page in the folder MAN has such a name. Exempt are the pages for those who work on
# tern: docs/decisions, docs/coding.md, and the table of atomic accesses in docs/memory-order.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
man=${2-}
wrong=0

for name in $(awk -v internal=1 -f "$here/reference.awk" include/tern/*.h); do
    case $name in
    tern_internal_* | TERN_INTERNAL_* | TERN_API | TERN_INLINE) ;;
    *)
        echo "$name is not for applications: its name begins with tern_internal_ or TERN_INTERNAL_"
        wrong=1
        ;;
    esac
done
for name in $(awk -f "$here/reference.awk" include/tern/*.h); do
    case $name in
    tern_internal_* | TERN_INTERNAL_*)
        echo "$name has no comment that says 'Not for applications'"
        wrong=1
        ;;
    esac
done
for folder in README.md docs examples; do
    [ ! -e "$folder" ] || ! grep -rnE '(tern_internal|TERN_INTERNAL)_' "$folder" --exclude-dir=decisions \
        --exclude=memory-order.md --exclude=coding.md --exclude=Doxyfile || {
        echo "this is not for applications"
        wrong=1
    }
done
[ ! "$man" ] || ! find "$man" -name 'tern_internal_*' -o -name 'TERN_INTERNAL_*' | grep . || {
    echo "the man pages of these are for nobody"
    wrong=1
}
exit $wrong
