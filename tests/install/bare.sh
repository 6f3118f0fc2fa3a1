#!/bin/sh
# bare.sh ROOT: the first five minutes on a bare Debian 12, made by debootstrap in a temporary folder: scripts/demo
# as root, then as a user with sudo; as that user what scripts/test begins with, and the README's first program
# with either MPI. Status 77 where no such system can be made.
set -eu
source=$(cd "$1" && pwd)

skip() {
    echo "skipped: $1"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "only root can make a bare system"
for tool in debootstrap unshare git; do
    command -v $tool >/dev/null || skip "there is no $tool"
done

work=$(mktemp -d)
bare=$work/bare
clean_up() {
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
chmod 755 "$work"

debootstrap --variant=minbase --include=sudo,git bookworm "$bare" >"$work/log" 2>&1 ||
    skip "debootstrap: $(tail -n 1 "$work/log")"

# inside USER COMMAND: in the system, with processes and mounts of its own that end with the command.
inside() {
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --pid --fork --kill-child sh -ec '
        mount -t proc proc "$1/proc"
        mount -t sysfs sysfs "$1/sys"
        mount --rbind /dev "$1/dev"
        exec env -i TERM=dumb LANG=C PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" su - "$2" -c "$3"
        ' inside "$bare" "$@" </dev/null
}

# expect LINE USER COMMAND: the command succeeds and prints the line.
expect() {
    line=$1
    shift
    echo "+ $1: $2"
    inside "$@" >"$work/log" 2>&1 || {
        tail -n 50 "$work/log"
        echo "FAILED: the command ends with an error"
        exit 1
    }
    grep -q "$line" "$work/log" || {
        cat "$work/log"
        echo "FAILED: it does not print '$line'"
        exit 1
    }
}

# A place for downloads and names of hosts like this machine's.
for file in resolv.conf hosts; do
    cp /etc/$file "$bare/etc/$file"
done
inside root 'useradd -m -s /bin/bash ann && echo "ann ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ann'
for home in root home/ann; do
    mkdir "$bare/$home/tern"
    (cd "$source" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) |
        tar -x -C "$bare/$home/tern"
done
inside root 'chown -R ann:ann /home/ann'

picture='^distinct  *30,349'
expect "$picture" root 'cd tern && scripts/demo'
cat "$work/log"
expect "$picture" ann 'cd tern && scripts/demo'
expect 'setup: installing' ann 'cd tern && scripts/setup test'
for mpi in mpich openmpi; do
    expect "rank 3 finds 12 times 'a'" ann "cd tern && cmake --preset $mpi &&
        cmake --build --preset $mpi --parallel 2 --target first && build/$mpi/mpirun-tern -n 4 build/$mpi/examples/first"
    expect "rank 3 finds 12 times 'a'" root "/home/ann/tern/build/$mpi/mpirun-tern -n 4 /home/ann/tern/build/$mpi/examples/first"
done
for tree in asan tsan; do
    expect 'Build files have been written' ann "cd tern && cmake --preset $tree"
done
echo "passed"
