#!/bin/sh
# trees.sh ROOT: scripts/test builds each tree and tests it, goes on after a tree that cannot be built, and fails
# then. cmake and ctest are played by scripts.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/scripts" "$work/bin"
cp "$1/scripts/test" "$work/scripts/test"
printf '#!/bin/sh\n' >"$work/scripts/setup"
printf '#!/bin/sh\nexit 77\n' >"$work/scripts/sysroot"
cat >"$work/scripts/messages" <<'END'
#!/bin/sh
[ "$*" = "--by build/mpich/messages --all mpich" ] && [ -d build/mpich/messages ] && [ ! -e text-is-missing ]
END
cat >"$work/bin/cmake" <<'END'
#!/bin/sh
case $* in
--build*) echo "$*" | sed 's/.*--preset \([a-z0-9]*\).*/build \1/' >>calls ;;
esac
case $* in
--build*asan*) echo "asan is broken" && exit 1 ;;
esac
END
cat >"$work/bin/ctest" <<'END'
#!/bin/sh
echo "$*" | sed 's/.*--preset \([a-z0-9]*\).*/test \1/' >>calls
printf '100%% tests passed, 0 tests failed out of 7\n\nTotal Test time (real) = 1.00 sec\n'
END
chmod +x "$work"/*/*
cd "$work"

# ran OPTIONS STATUS CALLS: what was built and tested, in order
ran() {
    status=0
    rm -f calls
    # shellcheck disable=SC2086 # a list of options
    PATH="$work/bin:$PATH" timeout 100 scripts/test $1 >said 2>&1 || status=$?
    calls=$([ ! -e calls ] || tr '\n' ',' <calls)
    if [ $status -ne "$2" ] || [ "$calls" != "$3" ]; then
        echo "test $1: exit status $status, and not $2; calls: $calls"
        cat said
        exit 1
    fi
}

ran "" 1 "build mpich,test mpich,build openmpi,test openmpi,build asan,build tsan,test tsan,"
grep -q "asan is broken" said
grep -q "^95% tests passed, 1 tests failed out of 22" said
ran "tsan" 0 "build tsan,test tsan,"
ran "--mpi mpich" 1 "build mpich,test mpich,build asan,build tsan,test tsan,"
ran "--build tsan mpich" 0 "build tsan,build mpich,"
ran "--build asan mpich" 1 "build asan,build mpich,"
ran "aarch64" 0 ""
ran "tsan aarch64 mpich" 0 "build tsan,test tsan,build mpich,test mpich,"

touch text-is-missing
ran "--full mpich" 1 "build mpich,test mpich,"
ran "mpich" 0 "build mpich,test mpich,"
ran "tsan" 0 "build tsan,test tsan,"
rm text-is-missing

# One run at a time.
flock build/lock sh -c '! scripts/test mpich >said 2>&1' && grep -q "another run" said
