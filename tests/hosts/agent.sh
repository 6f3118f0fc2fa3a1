#!/bin/sh
# agent.sh [OPTION]... HOST COMMAND...: stands in for ssh. HOST is a network namespace; with its own
# name, System V IPC and /dev/shm, MPI takes it for another machine.
while [ "${1#-}" != "$1" ]; do
    shift
done
host=$1
shift
exec ip netns exec "$host" unshare --uts --ipc --mount \
    sh -c "hostname $host; mount -t tmpfs tmpfs /dev/shm; $*"
