#!/bin/sh
# sandbox_example.sh SANDBOX GUEST: examples/sandbox does what its README says, and reads and writes
# nothing outside the directory.
set -eu
sandbox=$1 guest=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in"
printf 'water, water\nevery where\n' >"$work/in/sea"
printf 'secret\n' >"$work/sea"
ln -s "$work/sea" "$work/in/chart"

# expect STATUS [WORD]...: stdin has the expected output.
expect() {
    wanted=$1
    shift
    status=0
    "$sandbox" "$guest" "$work/in" "$@" >"$work/said" 2>&1 || status=$?
    if [ $status -eq 77 ]; then
        cat "$work/said"
        exit 77
    fi
    if [ $status -ne "$wanted" ] || ! diff - "$work/said"; then
        echo "sandbox $*: status $status instead of $wanted, or it says:"
        cat "$work/said"
        exit 1
    fi
}

expect 1 sea island chart ../sea "$work/sea" <<END
sea: 2 lines, 4 words, 25 bytes
island: it is not there (error 2)
chart: refused: that is not in my directory (error 18)
../sea: refused: that is not in my directory (error 18)
$work/sea: refused: that is not in my directory (error 18)
ended with status 1; 16 calls, 0 refused at once; $((252 + ${#work} + 4)) bytes written
END
printf 'WATER, WATER\nEVERY WHERE\n' | cmp - "$work/in/sea.capitals"
[ "$(ls "$work/in")" = "$(printf 'chart\nsea\nsea.capitals')" ]
[ "$(cat "$work/sea")" = secret ]

expect 0 sea <<END
sea: 2 lines, 4 words, 25 bytes
ended with status 0; 8 calls, 0 refused at once; 57 bytes written
END
expect 1 . "" <<END
.: refused: that is no file, or not for me (error 13)
: no (error 22)
ended with status 1; 4 calls, 1 refused at once; 70 bytes written
END
# 128 + SIGSYS
expect 159 --getpid <<END
was killed: it tried a system call; 0 calls, 0 refused at once; 0 bytes written
END

status=0
"$sandbox" "$work/sea" "$work/in" >"$work/said" 2>&1 || status=$?
if [ $status -ne 125 ] || ! grep -q "^sandbox: .*no 64-bit ELF file" "$work/said"; then
    echo "what is no program: status $status"
    cat "$work/said"
    exit 1
fi
