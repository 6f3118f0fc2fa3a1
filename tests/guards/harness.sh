#!/bin/sh
# harness.sh MPIRUN SAMPLE IDLE: the harness says of each test of the sample how it ended, on two
# ranks. A program that can only skip fails, unless the machine lacks what it needs.
set -eu
mpirun=$1 sample=$2 idle=$3
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# expect STATUS TEXT TEST [OPTION]...; STATUS is a pattern.
expect() {
    wanted=$1 text=$2
    shift 2
    status=0
    "$mpirun" -n 2 "$sample" --deadline 20 --only "$@" >"$output" 2>&1 || status=$?
    # shellcheck disable=SC2254 # a pattern is wanted
    case $status in
    $wanted) grep -q "$text" "$output" && return ;;
    esac
    echo "$1: status $status instead of $wanted, or no '$text':"
    cat "$output"
    exit 1
}

expect 0 'sample: 1 run, 0 failed, 0 skipped; ranks 2, seed 1, quick: passed' passes
expect 0 'seed 7, full: passed' passes --seed 7 --full
expect 1 'FAILED sample.fails on rank 1 of 2: .*sample.c:.*: !last()' fails
expect 77 'skipped: to see it skipped' skips
expect 0 '0 skipped' skips_on_one
# The first rank to leave may have the launcher kill the other.
expect '[1-9]*' 'rank 1: hangs in sample.hangs' hangs --deadline 2
expect 1 '0 run' no_such_test

# Of a rank that was killed the launchers say what they like.
"$mpirun" -n 2 --keep-going "$sample" --survivors --only dies >"$output" 2>&1 || true
grep -q 'sample: 1 run, 0 failed, 0 skipped; .*: passed' "$output" || {
    echo "the survivor does not say how the test ended:"
    cat "$output"
    exit 1
}

# ends STATUS TEXT: how the idle program does.
ends() {
    status=0
    "$mpirun" -n 1 "$idle" --deadline 20 >"$output" 2>&1 || status=$?
    [ "$status" -eq "$1" ] && grep -q "$2" "$output" && return
    echo "idle: status $status instead of $1, or no '$2':"
    cat "$output"
    exit 1
}

ends 1 'idle: nothing can be tested with 1 ranks'
IDLE_LACKS=yes ends 77 'skipped: something is missing'
