#!/bin/sh
# agent.sh [OPTION]... HOST COMMAND...: stands in for ssh. HOST is a network namespace; with its own
# name, System V IPC and /dev/shm, MPI takes it for another machine. HOSTS_AHEAD: so many seconds are the
# clocks of hosts ahead whose names end with b.
while [ "${1#-}" != "$1" ]; do
    shift
done
host=$1
shift
ahead=
case $host in *b) ahead=${HOSTS_AHEAD:+--time --monotonic=$HOSTS_AHEAD --fork} ;; esac
# shellcheck disable=SC2086 # a list of options
exec ip netns exec "$host" unshare --uts --ipc --mount $ahead \
    sh -c "hostname $host; mount -t tmpfs tmpfs /dev/shm; $*"
