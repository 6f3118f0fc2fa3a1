#!/bin/sh
# layers.sh ROOT: every #include points down (base, src, rma and pmpi, rpc, path, lock, queue and hashtable,
# map, languages), and public headers include public and system headers only. mailbox and mcts are libraries of their
# own: they include base, and no other folder includes them.
set -eu
cd "$1"

files=$(for folder in base src rma pmpi rpc mailbox path lock queue hashtable map languages mcts include; do
    [ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
done)

# shellcheck disable=SC2086 # no file name of the project has a space
awk '
BEGIN {
    height["base"] = 0; height["src"] = 1; height["mailbox"] = 1; height["mcts"] = 1
    height["rma"] = 2; height["pmpi"] = 2; height["rpc"] = 3; height["path"] = 4
    height["lock"] = 5; height["queue"] = 5; height["hashtable"] = 5
    height["map"] = 6; height["languages"] = 7
    alone["mailbox"] = 1; alone["mcts"] = 1
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    split(FILENAME, part, "/"); own = part[1]
    quoted = $0 ~ /include[ \t]*"/
    name = $0; sub(/^[^"<]*["<]/, "", name); sub(/[">].*/, "", name)
    split(name, part, "/"); other = part[1]

    if (other == "tern") next
    internal = other in height
    if (!internal && !quoted) next
    if (other in alone && other != own) internal = 0
    if (internal && own in height && (other == own || height[other] < height[own])) next
    printf "%s:%d: may not include %s\n", FILENAME, FNR, name
    wrong = 1
}
END { exit wrong }
' $files
