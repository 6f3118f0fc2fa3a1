#!/bin/sh
# numa.sh BUILD: where memory lies, in an emulated machine with two NUMA nodes of a processor each: of
# processes that may run on both, and of processes bound to either. The nodes of pages are read back
# from its kernel by tests/rma/test_numa.c. Status 77 where no such machine can be made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
[ -e "$build/tests/test_numa" ] || {
    echo "skipped: $build has no test_numa, which is built with libnuma (libnuma-dev)"
    exit 77
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM

status=0
"$here/boot" -n 2 -m 4096 1100 >"$log" <<END || status=$?
# UCX, which MPICH uses, finds no other networks there.
export UCX_TLS=tcp,self,sm OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI binds each process to a processor unless it is told not to.
export OMPI_MCA_hwloc_base_binding_policy=none
cd "$build" || exit
failed=0
# run PROCESSORS RANKS SUITE
run() {
    echo "processors \$1, \$2 ranks:"
    taskset -c \$1 ./mpirun-tern -n \$2 tests/test_\$3 --deadline 500 </dev/null || failed=1
}
for ranks in 1 2 4; do
    run 0,1 \$ranks numa
done
run 0 2 numa
run 1 2 numa
run 0,1 2 placement
run 0,1 2 memory
run 0,1 2 ring
exit \$failed
END
cat "$log"
[ $status -eq 0 ] || exit $status

# shown WORKER_0 WORKER_1 NODES TIMES: so many runs had their workers on these nodes.
shown() {
    [ "$(grep -c "worker 0 on NUMA node $1, worker 1 on $2, of $3\] ok" "$log")" = "$4" ] || {
        echo "FAILED: not $4 runs had worker 0 on NUMA node $1 and worker 1 on $2, of $3"
        exit 1
    }
}
# The test has each worker where it was not expected, which depends on where its rank was started.
both=$(grep -c "on NUMA node \(0, worker 1 on 1\|1, worker 1 on 0\), of 2\] ok" "$log") || true
[ "$both" = 3 ] || {
    echo "FAILED: $both of 3 runs had a worker on each of two NUMA nodes"
    exit 1
}
[ "$(grep -c "allocates on every node .*\[2 NUMA nodes\] ok" "$log")" = 3 ] || {
    echo "FAILED: not 3 runs had memory on two NUMA nodes"
    exit 1
}
shown 0 0 1 1
shown 1 1 1 1
echo "shown: worker pages, tables and rings lie on the NUMA nodes of their workers' threads, and allocations where they were asked for"
