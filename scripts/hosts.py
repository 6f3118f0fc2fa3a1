"""hosts.py DIR: prints the tables of two hosts from DIR/TRANSPORT-SUBJECT-RUN.json, which scripts/hosts has
measured.

Each cell is the median of the runs, and in parentheses the least and the most if there are several.
"""

import glob
import json
import os
import statistics
import sys

TRANSPORTS = ["ofi", "p2p", "rma"]
NETWORK = {
    "notified": "put with notification, there and back",
    "put": "put and flush",
    "get": "get",
    "fetch_add": "fetch-and-add",
    "call": "call with result",
    "puts": "puts, one flush",
    "notified_sizes": "put with notification, there and back",
    "puts_sizes": "stream of puts, one flush",
}


def read(directory):
    """Returns the heads of the runs, and (transport, subject, case, parameters) -> the lines of its runs."""
    heads, cases = [], {}
    for path in sorted(glob.glob(os.path.join(directory, "*-*-*.json"))):
        transport = os.path.basename(path).split("-")[0]
        with open(path, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if "machine" in line:
                    heads.append(line["machine"])
                    continue
                parameters = tuple(line["params"].items())
                key = (transport, line["bench"], line["case"], parameters, line.get("algorithm"))
                cases.setdefault(key, []).append(line)
    return heads, cases


def figure(values):
    """The median of the values, with the least and the most."""
    values = [value for value in values if value]
    if not values:
        return ""
    middle = f"{statistics.median(values):.3g}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3g} to {max(values):.3g})"


def in_unit(line):
    """The factor and the unit in which the tables show the line's values."""
    return (0.001, "us") if line["unit"] == "ns" else (1, line["unit"])


def of_peer(lines, prefix):
    factor, _ = in_unit(lines[0])
    return figure(peer["value"] * factor
                  for line in lines
                  for peer in line.get("peers", [])
                  if peer["name"].startswith(prefix) and peer.get("value"))


def own(lines):
    factor, _ = in_unit(lines[0])
    return figure(line["value"] * factor for line in lines)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def peers_of(cases):
    """Names of the programs beside tern, other than MPI's messages and bare TCP."""
    known = ("MPI_", "bare TCP", "by ")
    names = {peer["name"] for lines in cases.values() for line in lines
             for peer in line.get("peers", []) if not peer["name"].startswith(known)}
    return sorted(names)


def network(cases):
    keys = []
    for _, bench, case, parameters, algorithm in cases:
        key = (bench, case, parameters, algorithm)
        if bench == "network" and case in NETWORK and key not in keys:
            keys.append(key)
    others = peers_of({key: lines for key, lines in cases.items() if key[1] == "network"})
    rows = []
    for key in sorted(keys, key=lambda key: list(NETWORK).index(key[1])):
        by = {t: cases[(t, *key)] for t in TRANSPORTS if (t, *key) in cases}
        every = [line for lines in by.values() for line in lines]
        bare = [line for line in by.get("ofi", every) if "ceiling" in line]
        factor, unit = in_unit(every[0])
        name = f"{NETWORK[key[1]]}, {dict(key[2]).get('bytes')} B, {unit}"
        rows.append([name, own(by["ofi"]) if "ofi" in by else "",
                     figure(line["ceiling"]["value"] * factor for line in bare),
                     figure(line["ratio"] for line in bare) if "ofi" in by else ""] +
                    [own(by[t]) if t in by else "" for t in ("p2p", "rma")] +
                    [of_peer(every, "MPI_"), of_peer(every, "bare TCP")] +
                    [of_peer(every, other) for other in others])
    if rows:
        table(["", "`ofi`", "bare libfabric", "ratio", "`p2p`", "`rma`", "messages of MPI", "bare TCP"] + others,
              rows)


def containers(cases):
    keys = []
    for _, bench, case, parameters, algorithm in cases:
        key = (bench, case, parameters, algorithm)
        if bench == "hash" and case in ("insert", "find") and algorithm == "improved" and key not in keys:
            keys.append(key)
    rows = []
    for key in keys:
        by = {t: cases[(t, *key)] for t in TRANSPORTS if (t, *key) in cases}
        words = [str(value).replace("_", " ") for name, value in key[2] if name in ("promise", "keys")]
        _, unit = in_unit(next(iter(by.values()))[0])
        row = [", ".join([key[1]] + words + [unit])]
        for transport in TRANSPORTS:
            lines = by.get(transport, [])
            row += [own(lines), of_peer(lines, "by call")] if lines else ["", ""]
        rows.append(row)
    if rows:
        table([""] + [f"`{t}`, {way}" for t in TRANSPORTS for way in ("by RMA", "by call")], rows)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: hosts.py DIR")
    heads, cases = read(sys.argv[1])
    if not heads:
        sys.exit(f"hosts.py: there is no figure in {sys.argv[1]}")
    loads = [head["load"] for head in heads]
    print(f"{heads[0]['cpu']}, {heads[0]['cores']} cores, {heads[0]['kernel']}, {heads[0]['mpi']}, "
          f"{heads[0]['date']}, load {min(loads):g} to {max(loads):g}; medians of the runs (least to most):\n")
    network(cases)
    containers(cases)


main()
