#!/bin/sh
# tutorial.sh PAGE BUILD: runs the command that the page shows behind a $, in a tree that was built in the
# folder BUILD. Each line that the page shows below the command is printed, in any order.
set -eu
page=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command=$(sed -n 's/^    \$ //p' "$page")
sed -n '/^    \$ /,/^$/{/^    \$ /d;/^$/d;s/^    //;p}' "$page" | LC_ALL=C sort >"$work/shown"
[ -s "$work/shown" ] || {
    echo "$page shows no output"
    exit 1
}

status=0
# shellcheck disable=SC2046,SC2086 # a command and its arguments
(cd "$build" && exec $(echo "$command" | sed 's|build/|./|g')) >"$work/output" || status=$?
LC_ALL=C sort "$work/output" >"$work/printed"
LC_ALL=C comm -23 "$work/shown" "$work/printed" >"$work/missing"
[ ! -s "$work/missing" ] || {
    echo "$page: '$command' does not print:"
    cat "$work/missing"
    echo "but:"
    cat "$work/output"
    exit 1
}
case $command in
*--keep-going*) ;; # the status is that of the rank that was killed
*) exit $status ;;
esac
