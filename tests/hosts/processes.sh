#!/bin/sh
# processes.sh BUILD PROGRAM TRANSPORT: runs PROGRAM on 2 ranks, each in a PID namespace of its own.
# Status 77 where this user cannot make them.
set -eu
build=$1 program=$2
export TERN_TRANSPORT="$3"
# In its own namespace each process has the number 1, by which UCX names what processes share.
export UCX_TLS=tcp,self

if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
    echo "skipped: no PID namespaces for this user"
    exit 77
fi
exec timeout 60 "$build/mpirun-tern" -n 2 --keep-going unshare --pid --fork --mount-proc "$program"
