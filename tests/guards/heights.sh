#!/bin/sh
# heights.sh OBJECT...: an object of libtern needs only symbols of its own folder and of lower ones, by the order of
# layers.list, so that base and src link without rma, these with rma without rpc, and so on. An object is
# DIRECTORY.dir/FOLDER/..., as CMake places it. Queues, tables and locks do not need each other.
set -eu
list=$(cd "$(dirname "$0")" && pwd)/layers.list

nm -A --extern-only "$@" | awk '
$1 == "layer" && FILENAME == ARGV[1] { height[$2] = $3 }
$1 == "alone" && FILENAME == ARGV[1] { delete height[$2] }
$1 == "inside" && FILENAME == ARGV[1] { for (i = 3; i <= NF; i++) place[$2, $i] = i; ordered[$2] = 1 }
FILENAME == ARGV[1] { next }

{
    object = $1; sub(/:.*/, "", object)
    path = object; sub(/.*\.dir\/(\.\/)?/, "", path)
    count = split(path, part, "/"); folder = part[1]
    if (!(folder in height)) { print "of no layer: " object; wrong = 1; next }
    where = ""
    if (folder in ordered) {
        where = folder SUBSEP (count > 2 ? part[2] : ".")
        if (!(where in place)) { print "of no folder in layers.list: " object; wrong = 1; next }
    }
    if ($(NF - 1) == "U") { needs[object SUBSEP $NF] = folder; stands[object] = where }
    else { home[$NF] = folder; lies[$NF] = where; of[$NF] = path }
}
END {
    for (pair in needs) {
        split(pair, part, SUBSEP)
        own = needs[pair]
        if (!(part[2] in home)) continue
        other = home[part[2]]; count++
        if (height[other] < height[own]) continue
        if (other == own && (!(own in ordered) || place[lies[part[2]]] <= place[stands[part[1]]])) continue
        print part[1] " needs " part[2] " of " of[part[2]]
        wrong = 1
    }
    exit wrong || !count
}
' "$list" -
