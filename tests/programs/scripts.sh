#!/bin/sh
# scripts.sh ROOT: each script prints its usage for --help, and refuses an option that it does not know with
# its usage and an exit status of 2.
set -eu
root=$1
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=0

# answers SCRIPT OPTION STATUS
answers() {
    status=0
    timeout 60 "$1" "$2" </dev/null >"$said" 2>&1 || status=$?
    if [ $status -ne "$3" ] || ! grep -q "^usage: $(basename "$1")" "$said"; then
        echo "FAILED: $1 $2: exit status $status"
        head "$said"
        failed=1
    fi
}

for script in "$root"/scripts/*; do
    [ -x "$script" ] || continue
    answers "$script" --help 0
    answers "$script" --no-such-option 2
done
exit $failed
