#!/bin/sh
# repeat.sh RUNS LAUNCHER PROGRAM: runs a program in which a rank is killed at a moment that its seed
# decides, with 2 and 3 ranks over shm and p2p in turns. It stops at the first run that fails.
set -eu
runs=$1 launcher=$2 program=$3
seed=${TERN_FAULTS_SEED:-$(date +%s)}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
run=0
while [ "$run" -lt "$runs" ]; do
    ranks=$((2 + run % 2)) transport=shm
    [ $((run / 2 % 2)) -eq 0 ] || transport=p2p
    TERN_TRANSPORT=$transport "$launcher" -n "$ranks" --keep-going "$program" --survivors \
        --deadline 30 --seed $((seed + run)) >"$output" 2>&1 || true
    if ! grep -q 'quick: passed' "$output" || grep -q FAILED "$output"; then
        cat "$output"
        echo "repeat: run $run failed: $ranks ranks over $transport, --seed $((seed + run))"
        exit 1
    fi
    run=$((run + 1))
done
echo "repeat: all $runs runs passed (seed $seed)"
