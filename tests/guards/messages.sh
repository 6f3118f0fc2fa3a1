#!/bin/sh
# messages.sh ROOT [BUILD]: the texts of errors and of the log keep to docs/coding.md (scripts/messages). With the folder
# of a build, also those that a few quick suites provoke; these have texts that the script must find.
set -eu
script=$(cd "$(dirname "$0")" && pwd)/../../scripts/messages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -eq 1 ]; then
    exec "$script" --root "$1" --to /dev/null
fi
"$script" --root "$1" --to "$work/messages" --only '^(config|archive|archive_values|choose)$' "$2"

# expect PLACE TEXT: the text is the first one below a line with the place.
expect() {
    awk -v place="$1" -v text="$2" '
        index($0, place) == 1 { at = 1 }
        /^    / { found = found || (at && index($0, text) == 5); at = 0 }
        END { exit !found }' "$work/messages" || {
        echo "messages.sh: no '$2' of $1"
        exit 1
    }
}
expect src/config.c 'tern_config_init: config is NULL'
expect src/config.c 'TERN_SEGMENTSIZE in the environment is no option of tern; the nearest is TERN_SEGMENT_SIZE'
expect rpc/archive/writer.c 'tern_writer_open: writer is NULL'
expect rma/circular.c 'not provoked: tern_circular_create: unit_bytes is %zu; use at most %zu'
