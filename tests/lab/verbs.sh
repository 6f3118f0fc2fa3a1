#!/bin/sh
# The core suites, or those given, over verbs: on two emulated machines with a software RDMA card each.
# Then the RDMA connection is cut in the middle of a stream of calls, with TCP left alone, and made
# again. Prints a line for each run. Status 77 where there are no such machines.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

usage() {
    cat <<END
usage: verbs.sh [OPTION]... BUILD [SUITE]...
  -n RANKS       of each suite (default 2)
  -1             all of them on one of the machines
  -v RANKS       of a virtual node
  -t TRANSPORT   another one than verbs
  -x NAME=VALUE  environment of each rank
  -d SECONDS     that a suite may take (default 580)
  -o TEST        of each suite only this test
  -l             shows what the suites write while they run
END
    exit "$1"
}

ranks=2 hosts=host1,host2 transport=verbs environment='' deadline=580 only='' live=
while getopts n:1v:t:x:d:o:lh option; do
    case $option in
    n) ranks=$OPTARG ;;
    1) hosts=host1 ;;
    v) environment="$environment -x TERN_RANKS_PER_NODE=$OPTARG" ;;
    t) transport=$OPTARG ;;
    x) environment="$environment -x $OPTARG" ;;
    d) deadline=$OPTARG ;;
    o) only="--only $OPTARG" ;;
    l) live=yes ;;
    h) usage 0 ;;
    *) usage 2 >&2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage 2 >&2
build=$(cd "$1" && pwd)
shift
suites='transfer notify call registration hashtable_model queue map lock atomic ofi ofi_listener
    ofi_connections ofi_owner_away call_order ring_cache many_pairs team histories
    costs'
cut=yes
[ $# -eq 0 ] || {
    suites=$*
    cut=
}

# MPICH's MPI_Finalize hangs over TCP (tests/hosts/finalize.c).
preload=
finalize=$build/tests/hosts/libtern_hosts_finalize.so
[ ! -e "$finalize" ] || preload="-x LD_PRELOAD=$finalize"

# Open MPI and the UCX of MPICH find the card otherwise, and cannot use it. UCX would close connections
# to a machine that stands still for 16 s because others use the processors.
environment="$environment -x UCX_TCP_KEEPIDLE=3600s -x UCX_KEEPALIVE_INTERVAL=inf"
"$here/boot" -p -m 3072 "${LAB_LIMIT:-3000}" <<END
export UCX_TLS=tcp,self,sm OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self,vader
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$build" || exit
failed=0

# over RANKS PROGRAM [OPTION]...
over() {
    ranks=\$1 name=\$2 begin=\$(date +%s) status=0
    shift 2
    : >/tmp/log
    [ ! "$live" ] || tail -f /tmp/log &
    show=\$!
    ./mpirun-tern --hosts $hosts --agent "$here/agent.sh" -x TERN_TRANSPORT=$transport \\
        -x UCX_TLS="\$UCX_TLS" -x TERN_LOG_LEVEL=info $environment $preload -n \$ranks \\
        tests/\$name --quick --deadline $deadline $only \$* >/tmp/log </dev/null 2>&1 || status=\$?
    [ ! "$live" ] || kill \$show
    case \$status in
    0) echo "\$name\${*:+ \$*} on \$ranks ranks: ok (\$((\$(date +%s) - begin)) s)" ;;
    77) echo "\$name on \$ranks ranks: skipped" ;;
    *)
        echo "\$name on \$ranks ranks: FAILED with status \$status"
        tail -n 60 /tmp/log
        failed=1
        ;;
    esac
}

# Drops the packets of RoCE for four seconds.
cat >/tmp/cut <<'CUT'
tc qdisc add dev eth0 clsact
tc filter add dev eth0 egress protocol ip flower ip_proto udp dst_port 4791 action drop
sleep 4
tc qdisc del dev eth0 clsact
CUT

rdma link show
for suite in $(echo $suites); do
    case \$suite in
    ofi) over 3 test_ofi ;; # one of them is stopped
    ofi_connections) over 4 test_ofi_connections ;;
    ofi_listener)      # its other tests are for one machine
        over 2 test_ofi_listener --only first_put
        over 2 test_ofi_listener --only first_calls
        ;;
    costs) over 2 lab/test_costs ;;
    *) over $ranks test_\$suite ;;
    esac
done
if [ "$cut" ]; then
    export LAB_CUT='sh /tmp/cut >/dev/null 2>&1 &'
    over 2 lab/test_stream
    if grep -q 'verbs: an operation failed' /tmp/log; then
        echo "a connection was lost in the middle of calls, and made again"
    else
        echo "FAILED: no connection was lost"
        failed=1
    fi
fi
exit \$failed
END
