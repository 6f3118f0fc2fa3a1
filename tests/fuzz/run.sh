#!/bin/sh
# run.sh ROOT [SECONDS]: builds the fuzzers with clang and runs each for a while (3 s), beginning with
# inputs that it makes itself and with those in seeds/. An input that fails is left in the current folder, as
# libFuzzer does. TERN_FUZZ_KEEP=1 adds the inputs that a long run has found.
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

# Headers name communicators; what is fuzzed has none.
mkdir "$work/include"
echo 'typedef struct communicator *MPI_Comm; typedef struct request *MPI_Request; typedef int MPI_Status, MPI_Fint;' \
    >"$work/include/mpi.h"

# fuzz NAME SEEDS SOURCE...: the fuzzer of tests/fuzz/NAME.c. SEEDS: folder of inputs, or nothing.
fuzz() {
    name=$1 seeds=$2
    shift 2
    # shellcheck disable=SC2086
    (cd "$root" && clang $fuzzing -g -O1 -std=gnu11 -D_GNU_SOURCE -I. -Iinclude -I"$work/include" \
        -o "$work/$name" "tests/fuzz/$name.c" "$@")
    mkdir "$work/found.$name"
    TERN_FUZZ_SEEDS="$work/found.$name" "$work/$name"
    # shellcheck disable=SC2086 # one folder or none
    "$work/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -seed=1 \
        -print_final_stats=1 "$work/found.$name" $seeds >"$work/log" 2>&1 || {
        tail -40 "$work/log"
        exit 1
    }
    echo "$name"
    grep -E 'number_of_executed_units|cov:' "$work/log" | tail -2
}

fuzz hashtable_file '' hashtable/file/format.c
hex=examples/games/hex
fuzz htp '' $hex/htp.c $hex/notation.c $hex/picture.c $hex/record.c $hex/board.c $hex/think.c
fuzz archive "$root/tests/fuzz/seeds" rpc/archive/writer.c rpc/archive/reader.c rpc/archive/value.c rpc/archive/chunk.c rpc/archive/buffer.c
[ "${TERN_FUZZ_KEEP-}" = 1 ] || exit 0
"$work/archive" -merge=1 -max_len=512 "$root/tests/fuzz/seeds" "$work/found.archive" >"$work/log" 2>&1
