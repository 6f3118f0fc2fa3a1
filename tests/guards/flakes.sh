#!/bin/sh
# flakes.sh ROOT: scripts/flakes finds a test that fails now and then, goes on where it stopped, and counts
# the runs of a test anew that has failed. ctest is played by a script.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts" "$work/build/toy" "$work/bin"
cp "$root/scripts/flakes" "$work/scripts"
touch "$work/build/toy/CTestTestfile.cmake"
cat >"$work/bin/ctest" <<'END'
#!/bin/sh
[ "$3" != -N ] || { printf '  Test  #1: steady\n  Test  #2: now.and.then\n  Test #10: absent\n' && exit; }
echo "$4" >>"$PLAY/runs"
case $4 in
'^steady$') echo '100% tests passed, 0 tests failed out of 1' ;;
'^absent$') echo '1/1 Test #10: absent ...***Skipped   0.1 sec' ;;
'^now\.and\.then$')
    [ "$(grep -c 'now' "$PLAY/runs")" = 2 ] || { echo '100% tests passed, 0 tests failed out of 1' && exit; }
    echo '1/1 Test #2: now.and.then ...***Failed   0.1 sec' && exit 8
    ;;
esac
END
chmod +x "$work/bin/ctest"

fail() {
    echo "flakes.sh: $1"
    cat "$work/output"
    exit 1
}

# expect STATUS TEXT [OPTION]...
expect() {
    wanted=$1 text=$2 status=0
    shift 2
    PLAY=$work PATH=$work/bin:$PATH "$work/scripts/flakes" --load 0 "$@" toy >"$work/output" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status instead of $wanted"
    grep -q "$text" "$work/output" || fail "no '$text'"
}

expect 2 "no test of build/toy matches 'nothing'" --only nothing
expect 2 'a whole number' --runs many
expect 0 '3 tests, 0 of them begun' --seconds 0
expect 1 'now.and.then: failed; its output' --runs 3
grep -q 'now.and.then *2 runs, *1 failed, *0 good since' "$work/output" || fail 'another summary'
grep -q '3 tests, 3 of them begun, 2 through; 8 runs, 1 failed' "$work/output" || fail 'another sum'
expect 0 '3 through; 11 runs, 1 failed' --runs 3
expect 0 '3 through; 11 runs, 1 failed' --runs 3
expect 0 '1 tests, 1 of them begun, 0 through; 3 runs' --runs 9 --only '^steady' --summary
[ "$(wc -l <"$work/build/toy/flakes.log")" -eq 11 ] || fail 'another number of lines'
