#!/bin/sh
# hosts.sh BUILD TRANSPORT [PRELOAD [PROGRAM [ARGUMENT]...]]: runs programs of BUILD across two hosts
# made from network namespaces, TCP between them; or PROGRAM alone, one rank on each, showing what it
# writes (HOSTS_RANKS: of both together; HOSTS_LIMIT: seconds it may take; HOSTS_KEEP_GOING: ranks may
# die; HOSTS_AHEAD: seconds by which the second host's clock is ahead;
# HOSTS_WIRE: the link delays, loses and reorders frames, see wire.c for these numbers). Status 77 where this machine cannot make them. With HOSTS_TURN, 0 or 1, every other suite is
# left out: those that are run over the other transport, and under the other MPI over this.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 transport=$2 preload=${3-}
shift $(($# < 3 ? $# : 3))

# Unique, as several of these may run at once; the root namespace sees no interface of theirs.
a=tern$$a
b=tern$$b
log=$(mktemp)
board=$(mktemp)
wire_log=$(mktemp)
wire=
failed=0

skip() {
    echo "skipped: $1"
    exit 77
}

remove_host() {
    ip netns pids "$1" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$1" 2>/dev/null || true
    rm -rf "/etc/netns/$1"
}

end_wire() {
    [ "$wire" ] || return 0
    kill "$wire" 2>/dev/null && wait "$wire" || failed=1
    cat "$wire_log"
    wire=
}

clean_up() {
    [ -z "$wire" ] || kill "$wire" 2>/dev/null || true
    remove_host "$a"
    remove_host "$b"
    rm -f "$log" "$board" "$wire_log"
}

# One that ran out of time was killed and could not.
clean_up_after_others() {
    for host in $(ip netns list | sed -n 's/^\(tern[0-9]*[ab]\)\b.*/\1/p'); do
        pid=${host#tern}
        kill -0 "${pid%?}" 2>/dev/null || remove_host "$host"
    done
}

# `ip netns exec` shows the files of /etc/netns/HOST as those of /etc.
make_host() {
    ip netns add "$1" && ip -n "$1" link set lo up && mkdir -p "/etc/netns/$1" &&
        printf '127.0.0.1 localhost\n10.99.7.1 %s\n10.99.7.2 %s\n' "$a" "$b" >"/etc/netns/$1/hosts"
}

# A pair of devices, or a program that carries frames between two.
make_link() {
    if [ -z "${HOSTS_WIRE-}" ]; then
        ip link add eth0 netns "$a" type veth peer name eth0 netns "$b"
        return
    fi
    # shellcheck disable=SC2086 # numbers
    "$build/tests/hosts/tern_hosts_wire" "$a" "$b" $HOSTS_WIRE >"$wire_log" 2>&1 &
    wire=$!
    until ip -n "$b" link show eth0 >/dev/null 2>&1; do
        kill -0 $wire 2>/dev/null || return
        sleep 0.1
    done
}

make_hosts() {
    make_host "$a" && make_host "$b" && make_link &&
        ip -n "$a" addr add 10.99.7.1/24 dev eth0 && ip -n "$a" link set eth0 up &&
        ip -n "$b" addr add 10.99.7.2/24 dev eth0 && ip -n "$b" link set eth0 up || return
    # MPI leaves out an interface that is not up yet.
    for host in "$a" "$b"; do
        until ip -n "$host" link show eth0 | grep -q LOWER_UP; do
            sleep 0.1
        done
    done
}

# launch RANKS PROGRAM [ARGUMENT]...
launch() {
    ranks=$1 program=$2 peers=
    shift 2
    case $program in benchmarks/*) peers="-x TERN_PEER_HOST=$b -x TERN_PEER_ADDRESS=10.99.7.2" ;; esac
    truncate -s 0 "$board" && truncate -s 64K "$board"
    # shellcheck disable=SC2086 # a list of options
    timeout -k 5 "${HOSTS_LIMIT:-60}" "$here/agent.sh" "$a" "$build/mpirun-tern" ${HOSTS_KEEP_GOING:+--keep-going} --hosts "$a,$b" --agent "$here/agent.sh" \
        -x TERN_TRANSPORT="$transport" -x HOSTS_LINK=eth0 -x HOSTS_BOARD="$board" \
        $peers ${preload:+-x LD_PRELOAD="$preload"} \
        -n "$ranks" "$build/$program" "$@"
}

# across RANKS PROGRAM [ARGUMENT]...: one run, with the ranks spread over both hosts.
across() {
    ranks=$1 program=$2
    shift 2
    [ -x "$build/$program" ] || [ "$program" != examples/kmer ] || return 0
    printf '%s on %s ranks over %s: ' "${program##*/}" "$ranks" "$transport"
    begin=$(date +%s)
    status=0
    launch "$ranks" "$program" "$@" >"$log" 2>&1 || status=$?
    case $status in
    0) echo "ok ($(($(date +%s) - begin)) s)" ;;
    77) echo skipped ;;
    *)
        echo "FAILED with status $status"
        cat "$log"
        failed=1
        ;;
    esac
}

[ "$(id -u)" = 0 ] || skip "only root makes network namespaces"
command -v ip >/dev/null || skip "iproute2 is not installed"
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
clean_up_after_others
[ -z "${HOSTS_WIRE-}" ] || [ -c /dev/net/tun ] || skip "no /dev/net/tun here, from which the bad link is made"
make_hosts 2>"$log" || skip "no network namespaces here: $(cat "$log" "$wire_log" | head -n 1)"
"$here/agent.sh" "$a" true 2>"$log" || skip "no host of its own here: $(head -n 1 "$log")"

if [ $# -gt 0 ]; then
    launch "${HOSTS_RANKS:-2}" "$@"
    exit
fi

# Suites take turns in the number of ranks, the other way round over the other transport. auto is one
# of the others: enough to see that it works. With HOSTS_TURN one suite alone, and kmer, have four ranks
# over rma: four ranks that poll over TCP on two processors need four times as long as two, and the
# mixes of tests/CMakeLists.txt have them on one host.
case $transport in
rma) ranks=2 ;;
*) ranks=4 ;;
esac
suites='transfer atomic ring call hashtable_model queue notify team rendezvous registration remote
    call_policies call_with circular service_threads lock quiesce mcts mcts_threads'
[ "$transport" != auto ] || suites='transfer call'
[ -z "${HOSTS_WIRE-}" ] || suites='transfer notify call histories'
turn=${HOSTS_TURN-}
case $transport$turn in
ofi?) suites='transfer ring call hashtable_model notify lock' ;;
esac
[ "$transport" != p2p ] || turn=${turn:+$((1 - turn))}
place=0
deadline=$((${HOSTS_LIMIT:-60} - 5))
for suite in $suites; do
    place=$((place + 1))
    [ "$turn" ] && [ "$transport" != auto ] && [ $((place % 2)) -ne "$turn" ] && continue
    ranks=$((6 - ranks))
    [ "$turn" ] && [ "$transport" = rma ] && [ $place -gt 2 ] && ranks=2
    across $ranks tests/test_$suite --deadline "$deadline"
done
if [ "${HOSTS_WIRE-}" ]; then
    end_wire
    exit $failed
fi
# All operations of the containers, by all paths, in little time.
across 2 tests/test_histories --deadline "$deadline"
for ranks in 2 4; do
    across $ranks examples/kmer
done
exit $failed
