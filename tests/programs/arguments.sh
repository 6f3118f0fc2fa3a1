#!/bin/sh
# arguments.sh PROGRAM...: each program prints its usage for --help, refuses what it does not know
# with a message that begins with its name and an exit status of 2, and says which variable is bad if its
# configuration is. Programs must end by themselves, in a minute even on a busy machine, and not by a signal.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset TERN_TRANSPORT
failed=0

# run COMMAND...: its exit status is in status, what it says in the file said.
run() {
    status=0
    (cd "$work" && exec timeout -k 5 60 "$@" </dev/null >"$work/said" 2>"$work/error") || status=$?
    cat "$work/error" >>"$work/said"
}

# wrong WHAT COMMAND...
wrong() {
    printf 'FAILED: %s: exit status %s\n' "$1" "$status"
    shift
    printf '    %.200s\n' "$*"
    head -n 10 "$work/said" | cut -c 1-200
    failed=1
}

# refuses NAME TEXT COMMAND...: what the program says of TEXT, which it was given.
refuses() {
    name=$1 text=$2
    shift 2
    run "$@"
    if [ $status -ne 2 ] || ! grep -a "^$name: " "$work/said" | grep -a -q -F -e "$text"; then
        wrong "does not refuse '$(printf %.40s "$text")' by name with status 2" "$@"
    fi
}

long=--$(head -c 60000 /dev/zero | tr '\0' x)
binary=$(printf -- '--\033[2J\377\001')
for program in "$@"; do
    name=$(basename "$program" | sed 's/[.]\(mpich\|openmpi\)$//')
    run "$program" --help
    if [ $status -ne 0 ] || ! head -n 1 "$work/said" | grep -q "^usage: .*$name"; then
        wrong 'prints no usage for --help' "$program" --help
    fi
    refuses "$name" --no-such-option "$program" --no-such-option
    refuses "$name" "$(printf %.50s "$long")" "$program" "$long"
    refuses "$name" '[2J' "$program" "$binary"
    # To some programs this is a file, which is not there. The launcher leaves it to MPI's own, and a machine
    # may lack what the program needs.
    run "$program" no-such-file
    if [ "$name" != mpirun-tern ] && { [ $status -ne 77 ] || ! grep -q '^skipped: ' "$work/said"; } &&
        { [ $status -ne 1 ] && [ $status -ne 2 ] || ! grep -q "^$name: " "$work/said"; }; then
        wrong 'accepts a file that is not there, or says nothing' "$program" no-such-file
    fi
    if grep -a -q tern_context_create "$program"; then
        # Without a launcher: MPICH's loses what a rank says before MPI_Abort now and then.
        subject=
        case $name in
        tern-bench) subject=queue ;;
        tern-bench-pmpi) continue ;; # runs with two ranks alone
        esac
        # shellcheck disable=SC2086 # a word or none
        run env TERN_TRANSPORT=no-such-transport "$program" $subject
        if [ $status -eq 0 ] || [ $status -ge 124 ] || ! grep -q "TERN_TRANSPORT" "$work/said"; then
            wrong 'does not say which variable is bad' TERN_TRANSPORT=no-such-transport "$program" $subject
        fi
    fi
done
exit $failed
