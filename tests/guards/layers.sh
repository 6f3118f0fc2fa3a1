#!/bin/sh
# layers.sh ROOT: every #include points down (src, rma and pmpi, rpc, mailbox and path, lock, queue and hashtable,
# map and mcts), and public headers include public and system headers only.
set -eu
cd "$1"

files=$(for folder in src rma pmpi rpc mailbox path lock queue hashtable map mcts include; do
    [ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
done)

# shellcheck disable=SC2086 # no file name of the project has a space
awk '
BEGIN {
    height["src"] = 0; height["rma"] = 1; height["pmpi"] = 1; height["rpc"] = 2
    height["mailbox"] = 3; height["path"] = 3
    height["lock"] = 4; height["queue"] = 4; height["hashtable"] = 4
    height["map"] = 5; height["mcts"] = 5
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    split(FILENAME, part, "/"); own = part[1]
    quoted = $0 ~ /include[ \t]*"/
    name = $0; sub(/^[^"<]*["<]/, "", name); sub(/[">].*/, "", name)
    split(name, part, "/"); other = part[1]

    if (other == "tern") next
    internal = other in height
    if (!internal && !quoted) next
    if (internal && own in height && (other == own || height[other] < height[own])) next
    printf "%s:%d: may not include %s\n", FILENAME, FNR, name
    wrong = 1
}
END { exit wrong }
' $files
