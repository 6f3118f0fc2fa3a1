#!/bin/sh
# layers.sh ROOT: every #include points down, by the order of layers.list, and public headers include public and system
# headers only. mailbox and mcts are libraries of their own: they include base, and no other folder includes them.
set -eu
list=$(cd "$(dirname "$0")" && pwd)/layers.list
cd "$1"

files=$(for folder in $(awk '$1 == "layer" { print $2 }' "$list") include; do
    [ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
done)

# shellcheck disable=SC2086 # no file name of the project has a space
awk '
# The folder inside the first one; . for a file that lies in that itself.
function inner(count, part) { return count > 2 ? part[2] : "." }

$1 == "layer" && FILENAME == ARGV[1] { height[$2] = $3 }
$1 == "alone" && FILENAME == ARGV[1] { alone[$2] = 1 }
$1 == "inside" && FILENAME == ARGV[1] { for (i = 3; i <= NF; i++) place[$2, $i] = i; ordered[$2] = 1 }
$1 == "front" && FILENAME == ARGV[1] { front[$2] = $2 "/" $3 }
FILENAME == ARGV[1] { next }

FNR == 1 {
    own_inner = inner(split(FILENAME, part, "/"), part); own = part[1]
    if (own in ordered && !((own, own_inner) in place)) {
        printf "%s: layers.list does not say where %s stands in %s\n", FILENAME, own_inner, own
        wrong = 1
    }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    quoted = $0 ~ /include[ \t]*"/
    name = $0; sub(/^[^"<]*["<]/, "", name); sub(/[">].*/, "", name)
    other_inner = inner(split(name, part, "/"), part); other = part[1]

    if (other == "tern") next
    folder = name; sub(/\/[^\/]*$/, "", folder)
    if (folder in front && name != front[folder] && FILENAME !~ "^" folder "/") {
        printf "%s:%d: includes %s, and not %s\n", FILENAME, FNR, name, front[folder]
        wrong = 1
    }
    internal = other in height
    if (!internal && !quoted) next
    if (other in alone && other != own) internal = 0
    if (internal && own in height && height[other] < height[own]) next
    if (internal && own == other && (!(own in ordered) || place[own, other_inner] <= place[own, own_inner])) next
    printf "%s:%d: may not include %s\n", FILENAME, FNR, name
    wrong = 1
}
END { exit wrong }
' "$list" $files
