#!/bin/sh
# agent.sh [OPTION]... HOST COMMAND...: stands in for ssh. HOST is a network namespace. With its own
# name, System V IPC and /dev/shm, MPI takes it for another machine. With its own PID namespace, tern
# does so, too: no rank has a pidfd of a rank of the other host. HOSTS_AHEAD: so many seconds are the
# clocks of hosts ahead whose names end with b.
while [ "${1#-}" != "$1" ]; do
    shift
done
host=$1
shift
ahead=
case $host in *b) ahead=${HOSTS_AHEAD:+--time --monotonic=$HOSTS_AHEAD} ;; esac
# shellcheck disable=SC2086 # a list of options
exec ip netns exec "$host" unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc $ahead \
    sh -c "hostname $host; mount -t tmpfs tmpfs /dev/shm; $*"
