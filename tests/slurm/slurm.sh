#!/bin/sh
# slurm.sh BUILD MPI PAGE: starts a Slurm of its own on this machine, in a temporary folder and on the loopback
# interface, and there programs of BUILD, which is for MPI: by srun, by mpirun in an allocation, by the job script
# for MPI that PAGE shows, and with a rank that dies. Status 77 where this machine has no Slurm.
set -eu
build=$(cd "$1" && pwd) mpi=$2 page=$(realpath "$3")
PATH=$PATH:/usr/sbin:/sbin

skip() {
    echo "skipped: $1"
    exit 77
}

for tool in munged slurmctld slurmd srun; do
    command -v $tool >/dev/null || skip "there is no $tool (munge, slurmctld, slurmd, slurm-client)"
done
case $mpi in
mpich) plugin=pmi2 ;;
*) plugin=pmix ;;
esac

work=$(mktemp -d)
daemons=

clean_up() {
    [ ! -e "$work/slurm.conf" ] || scancel --quiet --user="$(id -un)" || true
    await 20 no_jobs || true
    for pid in $daemons; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# await SECONDS COMMAND: runs the command until it succeeds.
await() {
    end=$(($(date +%s) + $1))
    until $2; do
        [ "$(date +%s)" -lt $end ] || return 1
        sleep 0.1
    done
}

no_jobs() {
    [ ! -e "$work/slurm.conf" ] || [ -z "$(squeue --noheader 2>/dev/null)" ]
}

nodes_are_idle() {
    [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | sort | uniq -c | tr -s ' ')" = ' 2 idle' ]
}

fail() {
    echo "FAILED: $*"
    tail -n 20 "$work"/*.log "$work"/output 2>/dev/null
    exit 1
}

# Two nodes that are both this machine. The daemons belong to the user, and know each other by a key that only
# the user can read.
cd "$work"
user=$(id -un)
host=$(hostname)
host=${host%%.*}
port=$((20000 + $$ % 10000))
mkdir state one two tmp
cat >slurm.conf <<END
ClusterName=tern
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
TmpFS=$work/tmp
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=all Nodes=one,two Default=YES
END
export SLURM_CONF="$work/slurm.conf"
srun --mpi=list 2>&1 | grep -qw $plugin || skip "srun has no --mpi=$plugin (slurm-wlm-basic-plugins)"
(umask 077 && head -c 1024 /dev/urandom >key)

# daemon NAME COMMAND...
daemon() {
    log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null &
    daemons="$! $daemons"
}

daemon munged munged --foreground --force --socket="$work/munge.socket" --key-file="$work/key" \
    --pid-file="$work/munged.pid" --log-file="$work/munged.own" --seed-file="$work/seed"
await 20 "test -S $work/munge.socket" || fail "munged does not start"
daemon slurmctld slurmctld -D
daemon one slurmd -D -N one
daemon two slurmd -D -N two
await 60 nodes_are_idle || fail "no two nodes: $(sinfo 2>&1)"
slurmctld -V

# expect LINE COMMAND...: the command prints the line, whatever its status.
expect() {
    line=$1
    shift
    echo "+ $*"
    timeout 60 "$@" >output 2>&1 </dev/null || true
    grep -qx "$line" output || fail "it does not print '$line'"
}

# Slurm's PMIx keeps its files in one folder for each machine, so that no two nodes can be one.
nodes=2
[ $plugin = pmi2 ] || nodes=1
first=$build/examples/first
survive=$build/examples/tutorial/09_survive
run="-Q --mpi=$plugin"
# shellcheck disable=SC2086 # options are a list
{
    expect "rank 3 finds 12 times 'a'" srun $run -N $nodes -n 4 "$first"
    expect "  ranks  *2" srun $run -N $nodes -n 2 "$build/tern-info" --job
    expect "  *p2p  *2" env TERN_TRANSPORT=p2p srun $run -N $nodes -n 2 "$build/tern-info" --job
}
expect "rank 3 finds 12 times 'a'" salloc -Q -N 2 -n 4 "$build/mpirun-tern" -n 4 "$first"

# PMIx lets Slurm end the job when a rank dies. Under mpirun the others go on, and mpirun does not end.
goes_on='rank 1 goes on with 2 ranks'
they_go_on() {
    grep -qx "$goes_on" output
}
if [ "$mpi" = mpich ]; then
    expect "$goes_on" srun -Q --mpi=pmi2 --kill-on-bad-exit=0 -N 2 -n 3 "$survive"
    expect "$goes_on" salloc -Q -N 2 -n 3 "$build/mpirun-tern" --keep-going -n 3 "$survive"
else
    echo "+ salloc -Q -N 2 -n 3 mpirun-tern --keep-going -n 3 $survive"
    timeout 90 salloc -Q -N 2 -n 3 "$build/mpirun-tern" --keep-going -n 3 "$survive" >output 2>&1 </dev/null &
    await 60 they_go_on || fail "it does not print '$goes_on'"
    scancel --quiet --user="$user"
    wait $! || true
fi

# The page's script starts ./program on two nodes.
# shellcheck disable=SC2016 # marks of a block of code
sed -n '/^```sh/,/^```/p' "$page" | sed '/^```sh/d' |
    awk -v plugin="--mpi=$plugin" '/^```/ { if (script ~ plugin) printf "%s", script; script = ""; next }
        { script = script $0 "\n" }' >job.sh
ln -s "$first" program
echo "+ sbatch: $(grep srun job.sh)"
timeout 60 sbatch -Q --wait -N $nodes --ntasks-per-node=$((4 / nodes)) -o output job.sh || fail "the job script of $page ends with $?"
grep -qx "rank 3 finds 12 times 'a'" output || fail "the job script of $page does not run 4 ranks"
echo "passed"
