#!/bin/sh
# components.sh BUILD CMAKE: the components of the installation, of which packages are made, hold each file
# once, and no other files than the whole installation, beside what only packages have.
set -eu
build=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

files() {
    (cd "$1" && find . ! -type d) | LC_ALL=C sort
}

"$cmake" --install "$build" --prefix "$work/whole" >/dev/null
for component in library dev tools doc; do
    "$cmake" --install "$build" --prefix "$work/$component" --component $component >/dev/null
    [ -d "$work/$component" ]
    files "$work/$component"
done >"$work/parts"
if LC_ALL=C sort "$work/parts" | uniq -d | grep .; then
    echo "these files belong to two components"
    exit 1
fi
# Changelogs, copyrights and overrides of packages are beside the installation.
grep -vE '^\./share/(doc/(lib)?tern[^/]*/(changelog|copyright)|lintian/)' "$work/parts" |
    LC_ALL=C sort >"$work/installed"
files "$work/whole" | diff - "$work/installed"
(cd "$work/library" && find . ! -type d ! -path './share/*') | (! grep -vE '/libtern[^/]*\.so\.[0-9.]+$')
