#!/bin/sh
# heights.sh OBJECT...: an object of libtern needs only symbols of its own folder and of lower ones, so that
# base and src link without rma, these with rma without rpc, and so on. An object is DIRECTORY.dir/FOLDER/...,
# as CMake places it. Queues, tables and locks do not need each other.
set -eu

nm -A --extern-only "$@" | awk '
BEGIN {
    height["base"] = 0; height["src"] = 1; height["rma"] = 2; height["rpc"] = 3; height["path"] = 4
    height["lock"] = 5; height["queue"] = 5; height["hashtable"] = 5; height["map"] = 6
    height["languages"] = 7
}
{
    object = $1; sub(/:.*/, "", object)
    folder = object; sub(/.*\.dir\//, "", folder); sub(/\/.*/, "", folder)
    if (!(folder in height)) { print "of no layer: " object; wrong = 1; next }
    if ($(NF - 1) == "U") needs[object SUBSEP $NF] = folder
    else home[$NF] = folder
}
END {
    for (pair in needs) {
        split(pair, part, SUBSEP)
        own = needs[pair]
        if (!(part[2] in home)) continue
        other = home[part[2]]; count++
        if (other == own || height[other] < height[own]) continue
        print part[1] " needs " part[2] " of " other
        wrong = 1
    }
    exit wrong || !count
}
'
