#!/bin/sh
# repeat.sh RUNS LAUNCHER PROGRAM: runs a program in which a rank is killed at a moment that its seed
# decides, with 2 and 3 ranks over the transports of TERN_FAULTS_TRANSPORTS (shm, p2p) in turns, each rank on
# a node of its own but over shm. It stops at the first run that fails.
set -eu
runs=$1 launcher=$2 program=$3
seed=${TERN_FAULTS_SEED:-$(date +%s)}
transports=${TERN_FAULTS_TRANSPORTS:-shm p2p}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
run=0
while [ "$run" -lt "$runs" ]; do
    ranks=$((2 + run % 2))
    # shellcheck disable=SC2086 # a list of names
    set -- $transports
    shift $((run / 2 % $#))
    transport=$1 node=1
    [ "$transport" != shm ] || node=$ranks
    TERN_TRANSPORT=$transport TERN_RANKS_PER_NODE=$node "$launcher" -n "$ranks" --keep-going "$program" \
        --survivors --deadline 30 --seed $((seed + run)) >"$output" 2>&1 || true
    if ! grep -q 'quick: passed' "$output" || grep -q FAILED "$output"; then
        cat "$output"
        echo "repeat: run $run failed: $ranks ranks over $transport, --seed $((seed + run))"
        exit 1
    fi
    run=$((run + 1))
done
echo "repeat: all $runs runs passed (seed $seed)"
