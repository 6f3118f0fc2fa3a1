"""info.py MPIRUN TERN_INFO VERSION MPI: what tern-info says on 1 to 4 ranks, as JSON and as text."""
import json
import os
import subprocess
import sys

mpirun, info, version, mpi = sys.argv[1:]


def run(ranks, *options, expected=0, **environment):
    """What rank 0 writes; ranks 0: without a launcher."""
    launcher = [mpirun, "-n", str(ranks)] if ranks else []
    done = subprocess.run(launcher + [info, *options], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert (done.returncode == 0) == (expected == 0), (options, done)
    return done.stdout


def read(ranks, *options, **keywords):
    return json.loads(run(ranks, *options, "--json", **keywords))


alone = read(0, TERN_WORKERS="3", TERN_TYPO="1")
assert alone["tern"]["version"] == version, alone["tern"]
assert alone["tern"]["built_for"].startswith({"mpich": "MPICH ", "openmpi": "Open MPI "}[mpi])
assert {"mpich": "MPICH", "openmpi": "Open MPI"}[mpi] in alone["MPI"]["library"]
assert alone["machine"]["host"] == os.uname().nodename
assert alone["machine"]["Linux"] == os.uname().release
assert 0 < alone["machine"]["cores"] <= alone["machine"]["processors"]
assert alone["machine"]["pages"]["ordinary_bytes"] == os.sysconf("SC_PAGESIZE")
sizes = [int(name.strip("hugepageskB-")) * 1024 for name in os.listdir("/sys/kernel/mm/hugepages")] \
    if os.path.isdir("/sys/kernel/mm/hugepages") else []
assert sorted(page["bytes"] for page in alone["machine"]["pages"]["huge"]) == sorted(sizes)
options = {option["name"]: option for option in alone["options"]}
assert (options["TERN_WORKERS"]["value"], options["TERN_WORKERS"]["origin"]) == ("3", "environment")
assert (options["TERN_VERBS_DEVICE"]["value"], options["TERN_VERBS_DEVICE"]["origin"]) == ("", "default")
assert (options["TERN_TYPO"]["value"], options["TERN_TYPO"]["origin"]) == ("1", "ignored")
assert options["TERN_SEGMENT_SIZE"]["meaning"]
refused = read(0, expected=1, TERN_WORKERS="zero")
assert {"name": "TERN_WORKERS", "value": "zero", "origin": "refused"}.items() <= \
    next(o for o in refused["options"] if o["name"] == "TERN_WORKERS").items()
assert "--job" in run(0, "--help") and run(0, "--version") == "tern-info %s\n" % version
run(0, "nonsense", expected=2)

one = read(1, "--job", "--mpi")
assert one["job"]["transports"] == [["shm"]] and one["job"]["pairs_of_ranks_by_transport"] == {}, one
assert one["MPI_as_tested"]["ranks"] == 1

# A put is tried between two ranks or more. The atomics of either MPI are sound while all use them alike.
probed = read(2, "--mpi")["MPI_as_tested"]
assert probed["thread_level"] == "multiple" and probed["memory_model"] == "unified", probed
assert probed["8_byte_atomics_lose_nothing"] is True and probed["8_byte_atomic_ns"] > 0, probed
assert probed["puts_land_outside_of_MPI"] in (True, False) and probed["largest_tag"] >= 32767, probed

# Ranks 0 and 1 are one virtual node, rank 2 another.
three = read(3, "--job", TERN_TRANSPORT="p2p", TERN_RANKS_PER_NODE="2")["job"]
expected = [["shm" if a == b or a + b == 1 else "p2p" for b in range(3)] for a in range(3)]
assert three["transports"] == expected, three
assert three["pairs_of_ranks_by_transport"] == {"shm": 2, "p2p": 4}, three
assert [host["ranks"] for host in three["hosts"]] == ["0-2"], three

text = run(4, "--job", TERN_TRANSPORT="shm")
rows = [line.split() for line in text.splitlines() if line.endswith("shm")]
assert rows == [[str(rank)] + ["shm"] * 4 for rank in range(4)], text
