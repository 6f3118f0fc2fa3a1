#!/bin/sh
# contract.sh ROOT HEADER...: the tests of the containers' contract (tests/contract) see public headers and the
# harness alone, so that the containers may change inside, and call each function that the public headers
# tern/HEADER*.h declare. What the headers say is not for applications need not be called.
set -eu
cd "$1"
shift
wrong=0

# Also what the harness includes, except base/, which is below every library.
list=$(find tests/contract -name '*.[ch]' | sort)
seen=
while [ -n "$list" ]; do
    next=
    for file in $list; do
        case " $seen " in *" $file "*) continue ;; esac
        seen="$seen $file"
        for name in $(sed -n 's/^[ \t]*#[ \t]*include[ \t]*["<]\([^">]*\)[">].*/\1/p' "$file"); do
            found=
            for folder in contract harness .; do
                [ ! -f "tests/$folder/$name" ] || found=tests/$folder/$name
            done
            case $name in
            tern/* | base/*) continue ;;
            */../* | ../*) found=$name ;;
            esac
            if [ -n "$found" ] && [ "$found" != "$name" ]; then
                next="$next $found"
            elif [ -n "$found" ] || [ -f "$name" ]; then
                echo "$file: may not include $name"
                wrong=1
            fi
        done
    done
    list=$next
done

sources=$(find tests/contract -name '*.[ch]' | sort)
for header in "$@"; do
    for file in include/tern/"$header".h include/tern/"${header}"_*.h; do
        [ -f "$file" ] || continue
        # shellcheck disable=SC2086 # no file name of the project has a space
        for name in $(awk '
            /^\/\* Not for applications/ { hidden = 1 }
            /^$/ { hidden = api = 0 }
            match($0, /(^|[ *])tern_[a-z0-9_]+\(/) && (api || /TERN_API/) {
                text = substr($0, RSTART, RLENGTH - 1); sub(/^[ *]/, "", text)
                if (!hidden) print text
                hidden = api = 0
            }
            /TERN_API/ { api = !/\(/ }
            ' "$file"); do
            grep -qE "(^|[^a-z0-9_])$name\(" $sources || {
                echo "$file: no test of tests/contract calls $name"
                wrong=1
            }
        done
    done
done
exit $wrong
