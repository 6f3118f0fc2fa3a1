#!/bin/sh
# check.sh RUN BUILD SCRATCH: the runner of mutants says what is wrong with a list, does not take what
# is not compiled for caught, and fails when a mutant survives.
set -eu
run=$1 build=$2 scratch=$3
mkdir -p "$scratch"

# mutant FIND PUT: a list of one.
mutant() {
    printf 'mutant one\nwhy    To see it.\nfind   %s\nput    %s\nsuite  %s\n' "$1" "$2" \
        'queue shm 1 : against_a_model' >"$scratch/list"
}

# expect STATUS TEXT [OPTION]...
expect() {
    wanted=$1 text=$2 status=0
    shift 2
    "$run" --from "$scratch/list" "$@" >"$scratch/output" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && grep -q "$text" "$scratch/output" && return
    echo "status $status instead of $wanted, or no '$text':"
    cat "$scratch/output"
    exit 1
}

generation='const uint64_t generation = tern_slot_generation(q, op->ticket) + 1;'
mutant 'no source says this' ''
expect 2 'no source contains' --check
mutant 'tern_status status' ''
expect 2 'more than once' --check
mutant "$generation" "$generation"
sed -i 's/: against_a_model/: against_nothing/' "$scratch/list"
expect 2 'queue has no test against_nothing' --check
mutant "$generation" "$generation"
expect 0 'in one place' --check
expect 2 'no mutant is called two' --only two "$build"
expect 1 'survived: one' --seed 7 "$build"
mutant "$generation" 'const uint64_t no_such_name, generation = no;'
expect 2 'does not compile' "$build"
mutant "$generation" 'const uint64_t generation = tern_slot_generation(q, op->ticket);'
expect 0 'all 1 were caught (seed 7)' --seed 7 "$build"
