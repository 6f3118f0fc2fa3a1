#!/bin/sh
# run.sh holds|refuted|progresses MODEL [DEFINE]...: whether Spin comes to that verdict on a model.
# progresses: under a scheduler that is weakly fair, no cycle leaves out the model's progress labels.
set -eu
wanted=$1 model=$2
shift 2
if ! command -v spin >/dev/null; then
    echo "skipped: spin is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$model" "$work/model.pml"
cd "$work"

spin "$@" -a model.pml >spin.log
case $wanted in
progresses) build=-DNP search="-l -f" ;;
*) build=-DSAFETY search= ;;
esac
# Most searches take less time than -O2 and a table of 2^24 states do. -w does not limit the search.
# shellcheck disable=SC2086 # lists
cc -O1 -w $build -DMEMLIM=1500 -o pan pan.c
# shellcheck disable=SC2086
./pan $search -m2000000 -w20 >pan.log || true

# A search that was cut off proves nothing.
if grep -Eq 'max search depth too small|out of memory|interrupted' pan.log; then
    cat pan.log
    exit 1
fi
grep -E 'errors:|states, stored' pan.log
errors=$(sed -n 's/.*errors: //p' pan.log)
case $wanted in
refuted) [ "$errors" -gt 0 ] && grep -q 'assertion violated' pan.log ;;
*) [ "$errors" -eq 0 ] ;;
esac
