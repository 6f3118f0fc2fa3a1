#!/bin/sh
# nodiscard.sh INCLUDE_FOLDER: every public function that returns a status is TERN_NODISCARD. Exempt
# are the functions of an archive's items, whose failure the writer or reader keeps (tern/status.h).
set -eu

awk '
{ sub(/__attribute__\(\([a-z]*\)\) */, "") }
/^ *(TERN_API|TERN_INLINE|static inline) tern_status/ {
    name = $0
    sub(/^ *(TERN_API|TERN_INLINE|static inline) tern_status */, "", name)
    sub(/\(.*/, "", name)
    if (name ~ /^tern_(internal_|remote_)?(write|read)_/) next
    if (name ~ /^tern_(internal_)?(writer|reader)_(open|reset|share|chunks|fail|refuse_string)$/) next
    printf "%s:%d: %s lacks TERN_NODISCARD\n", FILENAME, FNR, name
    wrong = 1
}
/TERN_NODISCARD/ { count++ }
END { exit wrong || !count }
' "$1"/tern/*.h
