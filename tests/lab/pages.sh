#!/bin/sh
# pages.sh BUILD: the tests of pages and memory in an emulated machine that has what few machines have:
# two NUMA nodes, each with free huge pages of 2 MiB and 1 GiB. Size and node of the pages are read back
# from its kernel by tests/rma/test_pages.c. Status 77 where no such machine can be made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM

status=0
"$here/boot" -n 2 -m 14336 \
    -k 'hugepagesz=1G hugepages=0:4,1:4 hugepagesz=2M hugepages=0:64,1:64' 1700 >"$log" <<END || status=$?
# UCX, which MPICH uses, finds no other networks there.
export UCX_TLS=tcp,self,sm OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$build" || exit
failed=0
# run RANKS SUITE
run() {
    ./mpirun-tern -n \$1 tests/test_\$2 --deadline 800 </dev/null || failed=1
}
grep . /sys/devices/system/node/node*/hugepages/*/free_hugepages
for ranks in 1 2 4; do
    run \$ranks pages
done
run 1 segment
run 2 memory
exit \$failed
END
cat "$log"
[ $status -eq 0 ] || exit $status

# shown TEST SIZE NODES: with 1, 2 and 4 ranks, that test had pages of so many KiB on so many nodes.
shown() {
    [ "$(grep -c "^pages\.$1 .*pages of $2 KiB, $3 of 2 NUMA nodes] ok" "$log")" = 3 ] || {
        echo "FAILED: '$1' did not have pages of $2 KiB on $3 of 2 NUMA nodes with each number of ranks"
        exit 1
    }
}
shown 'ordinary' 4 2
shown 'of 2 MiB' 2048 2
shown 'of 1 GiB' 1048576 1
shown 'two of 1 GiB' 1048576 2
echo "shown with 1, 2 and 4 ranks: segments of 4 KiB, 2 MiB and 1 GiB pages, bound to 2 NUMA nodes"
