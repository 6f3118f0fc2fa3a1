#!/bin/sh
# needs.sh LIBRARY: libtern_mailbox, shared or static, needs libc alone: neither MPI nor hwloc nor
# libtern. Programs without MPI use it.
set -eu

case $1 in
*.so*)
    readelf -d "$1" | awk '
    /\(NEEDED\)/ {
        gsub(/.*\[|\].*/, "")
        count++
        if ($0 !~ /^(libc|ld-linux[^.]*)\.so/) { print "needs " $0; wrong = 1 }
    }
    END { exit wrong || !count }
    '
    ;;
esac

# A static library takes from itself what one of its objects lacks.
nm --extern-only "$1" | awk '
NF == 3 { defined[$3] = 1 }
NF == 2 && $1 == "U" { needed[$2] = 1; count++ }
END {
    for (name in needed)
        if (!(name in defined) && name ~ /^(tern|P?MPI|hwloc|ompi|MPIR|XXH)_/) {
            print "needs " name
            wrong = 1
        }
    exit wrong || !count
}
'
