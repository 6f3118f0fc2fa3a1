#!/bin/sh
# run.sh ROOT [SECONDS]: builds the fuzzers with clang and runs each for a while (3 s), beginning with
# inputs that it makes itself. What fails is left in the current folder, as libFuzzer does.
set -eu
root=$1
seconds=${2-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fuzzing='-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all'

echo 'int LLVMFuzzerTestOneInput(const char *a, long b); int LLVMFuzzerTestOneInput(const char *a, long b) { return !a && b; }' \
    >"$work/probe.c"
# shellcheck disable=SC2086 # fuzzing is a list
clang $fuzzing -o "$work/probe" "$work/probe.c" >"$work/log" 2>&1 || {
    echo "skipped: clang has no libFuzzer here"
    exit 77
}

# shellcheck disable=SC2086
clang $fuzzing -g -O1 -std=gnu11 -D_GNU_SOURCE -I"$root" -I"$root/include" -o "$work/archive" \
    "$root/tests/fuzz/archive.c" "$root/rpc/archive.c"
mkdir "$work/seeds"
TERN_FUZZ_SEEDS="$work/seeds" "$work/archive"
"$work/archive" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -seed=1 \
    -print_final_stats=1 "$work/seeds" >"$work/log" 2>&1 || {
    tail -40 "$work/log"
    exit 1
}
grep -E 'number_of_executed_units|cov:' "$work/log" | tail -2
