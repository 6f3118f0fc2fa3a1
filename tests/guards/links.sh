#!/bin/sh
# links.sh ROOT: every relative link of a page names a file or folder that is there.
set -eu
cd "$1"

wrong=0
# shellcheck disable=SC2044 # no name of the project has a space
for page in $(find . \( -name .git -o -name 'build*' \) -prune -o -name '*.md' -print); do
    for link in $(grep -o '](\([^)#: ]*\)[)#]' "$page" | sed 's/^](//; s/[)#]$//'); do
        [ -e "${page%/*}/$link" ] || {
            echo "$page links to $link, which is not there"
            wrong=1
        }
    done
done
exit $wrong
