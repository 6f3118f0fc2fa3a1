#!/bin/sh
# syntax.sh ROOT: clang finds nothing wrong with any CUDA file, nor with the mailbox's headers as CUDA, in
# each layout and as both sides see them. It needs no CUDA: what is used of it is declared in stub/.
set -eu
root=$1
if ! command -v clang++ >/dev/null; then
    echo "skipped: clang++ is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wrong=0
# parse FILE [OPTION]...
parse() {
    for side in host device; do
        clang++ -x cuda -std=c++17 -nocudainc -nocudalib --cuda-$side-only --cuda-gpu-arch=sm_70 \
            -fsyntax-only -Wno-unknown-cuda-version -Wall -Wextra -Wconversion -Werror \
            -isystem "$root/tests/cuda/stub" -include cuda_runtime.h \
            -I"$root" -I"$root/include" "$@" || {
            echo "clang does not take this as CUDA, for the $side: $*"
            wrong=1
        }
    done
}

for layout in TERN_MAILBOX_LINES TERN_MAILBOX_BITS TERN_MAILBOX_CAS; do
    for header in detail/mailbox_atomic.h detail/mailbox_flags.h mailbox.h mailbox_message.h mailbox_warp.h; do
        printf '#include <tern/%s>\n' "$header" >"$work/alone.cu"
        parse "$work/alone.cu" -Wno-unused-function -DTERN_MAILBOX_LAYOUT=$layout
    done
    find "$root/examples" "$root/tests" -name '*.cu' >"$work/files"
    while read -r file; do
        parse "$file" -DTERN_MAILBOX_LAYOUT=$layout
    done <"$work/files"
done
exit $wrong
