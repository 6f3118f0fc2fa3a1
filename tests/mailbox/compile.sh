#!/bin/sh
# compile.sh INCLUDE [NVCC]: checks that the mailbox, with messages and warps, compiles freestanding
# in each layout, as C11, as C++ and, with a working nvcc, as CUDA. The objects must not need
# symbols of any library; messages may need memcpy. tests/cuda/syntax.sh compiles the headers as
# CUDA with clang.
set -eu
include=$1
nvcc=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/all.c" <<'END'
#include <tern/mailbox_warp.h>

DEVICE void step(void *packet, uint32_t slot, void *argument);
DEVICE int work(void *packet, uint32_t slot, void *argument);
DEVICE void step(void *packet, uint32_t slot, void *argument) {
    (void)slot;
    *(uint64_t *)packet = *(uint64_t *)argument;
}
DEVICE int work(void *packet, uint32_t slot, void *argument) {
    return *(uint64_t *)packet == slot && argument != 0;
}

GLOBAL void whole(void *memory);
GLOBAL void whole(void *memory) {
    uint64_t value = 0;
    tern_mailbox box = tern_mailbox_at(memory, 100, 64);
    tern_mailbox_client client = tern_mailbox_client_at(&box, 1);
    tern_mailbox_server server = tern_mailbox_server_at(&box, 1);
    if (tern_mailbox_bytes(100, 64) != 0 && tern_mailbox_client_own(&client, 7))
        (void)tern_mailbox_call_on(&client, 7, step, step, &value, 0);
    (void)tern_mailbox_send(&client, step, &value, 0);
    (void)tern_mailbox_call(&client, step, step, &value, 0);
    (void)tern_mailbox_client_reclaim(&client, 2);
    (void)tern_mailbox_server_own(&server, 7);
    (void)tern_mailbox_serve(&server, work, work, 0);
    (void)tern_mailbox_server_reclaim(&server, 2, work, 0);
}

DEVICE void line(tern_mailbox_lane *line, tern_mailbox_place place, void *argument);
DEVICE int answer(tern_mailbox_lane *line, tern_mailbox_place place, void *argument);
DEVICE void line(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    line->word[0] = place.lane + *(uint64_t *)argument;
}
DEVICE int answer(tern_mailbox_lane *line, tern_mailbox_place place, void *argument) {
    return line->word[0]++ == place.number && argument != 0;
}

GLOBAL void warps(void *memory, uint32_t lane);
GLOBAL void warps(void *memory, uint32_t lane) {
    uint64_t value = 0;
    tern_mailbox box = tern_mailbox_at(memory, 100, sizeof(tern_mailbox_warp));
    tern_mailbox_client client = tern_mailbox_client_at(&box, 1);
    tern_mailbox_server server = tern_mailbox_server_at(&box, 1);
    tern_mailbox_party party = tern_mailbox_party_lane(~(uint32_t)0, lane);
    tern_mailbox_crew crew = {answer, memory, 0};
    (void)tern_mailbox_warp_call(&client, party, line, line, &value, 0);
    (void)tern_mailbox_warp_send(&client, party, line, &value, 0);
    (void)tern_mailbox_warp_serve_on(&server, 7, party, &crew);
    (void)tern_mailbox_serve(&server, tern_mailbox_warp_work, tern_mailbox_warp_clean, &crew);
    (void)tern_mailbox_server_reclaim(&server, 2, tern_mailbox_message_recover, 0);
}
END
cat >"$work/message.c" <<'END'
#include <tern/mailbox_message.h>

DEVICE int serve(tern_mailbox_server *server, tern_mailbox_service *service);
DEVICE int serve(tern_mailbox_server *server, tern_mailbox_service *service) {
    (void)tern_mailbox_server_reclaim(server, 2, tern_mailbox_message_recover, 0);
    return tern_mailbox_reply(service, 0, 100) != 0 &&
           tern_mailbox_serve(server, tern_mailbox_message_work, tern_mailbox_message_clean,
                              service) > 0;
}

DEVICE int call(tern_mailbox_client *client, void *memory, const tern_mailbox_wait *wait);
DEVICE int call(tern_mailbox_client *client, void *memory, const tern_mailbox_wait *wait) {
    uint64_t bytes = 0;
    return tern_mailbox_message_call(client, memory, 1000, memory, 1000, &bytes, wait);
}
END
for source in all message; do
    cp "$work/$source.c" "$work/$source.cpp"
done
cat "$work/all.c" "$work/message.c" >"$work/all.cu"

wrong=0
report() {
    echo "the mailbox, layout $layout, does not compile: $*"
    wrong=1
}

# compile COMPILER SOURCE OPTION...
compile() {
    compiler=$1 source=$2
    shift 2
    "$compiler" "$@" -Wall -Wextra -Wconversion -Wpedantic -Werror -ffreestanding -nostdlib \
        -DDEVICE= -DGLOBAL= -DTERN_MAILBOX_LAYOUT="$layout" -I"$include" "$work/$source" ||
        report "$compiler $*"
}

# host COMPILER SOURCE SYMBOL STANDARD: compiles; the object may need only that symbol.
host() {
    command -v "$1" >/dev/null || return 0
    compile "$1" "$2" "-std=$4" -O2 -c -o "$work/all.o"
    if nm -u "$work/all.o" | grep -v -w -e _GLOBAL_OFFSET_TABLE_ -e "$3"; then
        report "$1 -std=$4: it needs these symbols"
    fi
}

# host_parse COMPILER SOURCE STANDARD: whether it compiles. The symbols are those under any standard.
host_parse() {
    command -v "$1" >/dev/null || return 0
    compile "$1" "$2" "-std=$3" -fsyntax-only
}

[ -n "$nvcc" ] || echo "no nvcc that works: nothing is compiled as CUDA"

for layout in TERN_MAILBOX_LINES TERN_MAILBOX_BITS TERN_MAILBOX_CAS; do
    for compiler in gcc clang; do
        host "$compiler" all.c none c11
        host "$compiler" message.c memcpy c11
    done
    for compiler in g++ clang++; do
        host "$compiler" all.cpp none c++17
        host "$compiler" message.cpp memcpy c++17
        host_parse "$compiler" all.cpp c++11
        host_parse "$compiler" message.cpp c++11
    done
    if [ -n "$nvcc" ]; then
        "$nvcc" -arch=sm_75 -Werror all-warnings "-DDEVICE=__host__ __device__" -DGLOBAL=__global__ \
            -DTERN_MAILBOX_LAYOUT="$layout" -I"$include" -c "$work/all.cu" -o "$work/all.o" ||
            report nvcc
    fi
done
exit $wrong
