#!/bin/sh
# compile.sh INCLUDE: the mailbox compiles freestanding, as C11, C++ and CUDA, in each layout, and asks
# nothing of any library; and messages, as C11 and C++, memcpy alone.
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/all.c" <<'END'
#include <tern/mailbox.h>

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
END
cat >"$work/message.c" <<'END'
#include <tern/mailbox_message.h>

int serve(tern_mailbox_server *server, tern_mailbox_service *service);
int serve(tern_mailbox_server *server, tern_mailbox_service *service) {
    (void)tern_mailbox_server_reclaim(server, 2, tern_mailbox_message_recover, 0);
    return tern_mailbox_reply(service, 0, 100) != 0 &&
           tern_mailbox_serve(server, tern_mailbox_message_work, tern_mailbox_message_clean,
                              service) > 0;
}

int call(tern_mailbox_client *client, void *memory, const tern_mailbox_wait *wait);
int call(tern_mailbox_client *client, void *memory, const tern_mailbox_wait *wait) {
    uint64_t bytes = 0;
    return tern_mailbox_message_call(client, memory, 1000, memory, 1000, &bytes, wait);
}
END
for source in all message; do
    cp "$work/$source.c" "$work/$source.cpp"
done
cp "$work/all.c" "$work/all.cu"

# What clang's CUDA knows without CUDA's own headers is the language; the names of the runtime that
# the mailbox uses are declared here.
cat >"$work/runtime.h" <<'END'
#define __CUDACC__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
__device__ void __threadfence_system();
__device__ void __nanosleep(unsigned);
__device__ int __ffsll(long long);
__device__ unsigned atomicCAS_system(unsigned *, unsigned, unsigned);
__device__ unsigned long long atomicCAS_system(unsigned long long *, unsigned long long,
                                               unsigned long long);
__device__ unsigned long long atomicOr_system(unsigned long long *, unsigned long long);
__device__ unsigned long long atomicAnd_system(unsigned long long *, unsigned long long);
END

wrong=0
report() {
    echo "the mailbox, layout $layout, does not compile: $*"
    wrong=1
}

# host COMPILER SOURCE SYMBOL OPTION...: the object may need that symbol.
host() {
    compiler=$1 source=$2 symbol=$3
    shift 3
    command -v "$compiler" >/dev/null || return 0
    "$compiler" "$@" -O2 -Wall -Wextra -Wconversion -Wpedantic -Werror -ffreestanding -nostdlib \
        -DDEVICE= -DGLOBAL= -DTERN_MAILBOX_LAYOUT="$layout" -I"$include" -c "$work/$source" \
        -o "$work/all.o" || report "$compiler $*"
    if nm -u "$work/all.o" | grep -v -w -e _GLOBAL_OFFSET_TABLE_ -e "$symbol"; then
        report "$compiler $*: it needs these symbols"
    fi
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || echo "no nvcc here: CUDA code is only parsed, if there is clang"

for layout in TERN_MAILBOX_LINES TERN_MAILBOX_BITS TERN_MAILBOX_CAS; do
    for compiler in gcc clang; do
        host $compiler all.c none -std=c11
        host $compiler message.c memcpy -std=c11
    done
    for compiler in g++ clang++; do
        for standard in c++11 c++17; do
            host $compiler all.cpp none -std=$standard
            host $compiler message.cpp memcpy -std=$standard
        done
    done
    if [ -x "$nvcc" ]; then
        "$nvcc" -Werror all-warnings "-DDEVICE=__host__ __device__" -DGLOBAL=__global__ \
            -DTERN_MAILBOX_LAYOUT="$layout" -I"$include" -c "$work/all.cu" -o "$work/all.o" ||
            report nvcc
    elif command -v clang++ >/dev/null; then
        clang++ -x cuda -nocudainc -nocudalib --cuda-device-only --cuda-gpu-arch=sm_70 \
            -fsyntax-only -Wno-unknown-cuda-version -Wall -Wextra -Werror -include "$work/runtime.h" \
            "-DDEVICE=__host__ __device__" -DGLOBAL=__global__ -DTERN_MAILBOX_LAYOUT="$layout" \
            -I"$include" "$work/all.cu" || report "clang++ -x cuda"
    fi
done
exit $wrong
