#!/bin/sh
# count.sh LAUNCHER PROGRAM: the inserts and finds of PROGRAM take the short path of a table. None takes more
# instructions than its limit.
set -eu
launcher=$1
program=$2
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# count FUNCTION ARGUMENT: prints how many instructions the calls of FUNCTION take for each operation.
count() {
    "$launcher" -n 1 valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$1" \
        "$program" "$2" >"$said" 2>&1 || {
        cat "$said" >&2
        exit 1
    }
    awk '$2 == "Collected" { printf "%d\n", ($4 + 999) / 1000 }' "$said"
}

failed=0
# holds OPERATION INSTRUCTIONS LIMIT
holds() {
    echo "$1: $2 instructions (limit $3)"
    [ "$2" -gt 0 ] && [ "$2" -le "$3" ] || failed=1
}

new=$(count tern_hashtable_insert once)
both=$(count tern_hashtable_insert twice)
find=$(count tern_hashtable_find once)
holds "insert of a new key" "$new" 175
holds "insert of a key that is there" $((both - new)) 220
holds "find" "$find" 150
exit $failed
