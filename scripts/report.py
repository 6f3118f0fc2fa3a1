#!/usr/bin/env python3
"""report.py DIR FILE: writes FILE, one page of HTML with all figures of DIR/*.json.

The JSON is of tern-bench. Cases that differ in one number only, such as bytes, become a plot, drawn by
gnuplot if it is there; all cases are in tables, too.
"""

import glob
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

# Title, what it is measured after, and subjects of tern-bench.
SECTIONS = [
    ("What to use here", "from the components that the same run measured", ["advise"]),
    ("Notified transfer", "paper 001, Photon", ["notify", "transfer", "strided", "attention", "put"]),
    ("Remote invocation", "paper 000, Seriema", ["call", "update", "apps", "mcts"]),
    ("Arguments without copies", "paper 004, zero-copy serialization in HPX", ["archive", "zerocopy"]),
    ("RMA or calls", "paper 003, BCL", ["model", "hash", "queue", "attentive", "peers", "batch", "large"]),
    ("Calls through shared memory", "paper 002", ["mailbox"]),
    ("Networks and collectives", "beside bare libraries and MPI", ["network", "collective"]),
    ("Many ranks", "simulated, docs/scaling.md", ["scale"]),
]
AXES = ["bytes", "ranks", "workers", "clients", "threads", "compute", "items"]
LEAST_POINTS = 3
UNSTEADY = 0.3  # as tern-bench has it

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2024; --faint: #69727c; --line: #d8dde3;
  --good: #177245; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e8ebee; --faint: #98a2ad;
  --line: #353c44; --good: #5cc08b; --bad: #ff8a80; } }
* { box-sizing: border-box }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 1100px; padding: 1rem }
h1 { font-size: 1.7rem; margin: .5rem 0 } h2 { border-top: 1px solid var(--line); padding-top: 1rem }
h3 { margin-bottom: .3rem } .faint, caption, small { color: var(--faint) }
nav a { margin-right: 1rem; white-space: nowrap } a { color: inherit }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)) }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 } svg { width: 100%; height: auto }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .85rem; margin: .5rem 0 }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; white-space: nowrap }
th:first-child, td:first-child, .text { text-align: left } caption { text-align: left }
details { margin: .5rem 0 } summary { cursor: pointer } .met { color: var(--good) } .missed { color: var(--bad) }
@media print { body { max-width: none; font-size: 11px } nav { display: none } }
"""


def read(folder):
    """Returns machines by file, cases, and lines of advice."""
    machines, cases, advice = {}, [], []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    one = json.loads(line)
                except json.JSONDecodeError as error:
                    sys.exit(f"report: {path}, line {number}: no JSON of tern-bench: {error}")
                if "machine" in one:
                    machines[path] = one["machine"]
                    continue
                one["mpi"] = one.get("mpi") or machines.get(path, {}).get("mpi", "")
                if "advice" in one:
                    advice.append(one)
                elif "bench" in one and "value" in one:
                    if one["bench"] == "scale":  # simulated on one real rank
                        one["params"]["ranks"] = one["ranks"]
                    cases.append(one)
    return machines, cases, advice


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def figure_text(value, unit):
    for least, name in ((1e9, "s"), (1e6, "ms"), (1e4, "us")):
        if unit == "ns" and value >= least:
            return f"{number(value / {'s': 1e9, 'ms': 1e6, 'us': 1e3}[name])} {name}"
    return f"{number(value)} {unit}"


def is_doubtful(case):
    return (case.get("oversubscribed") or case.get("disturbed", 0) > 0
            or case.get("spread", 0) > UNSTEADY * case["value"])


def parameters(case, without=None):
    return tuple((name, value) for name, value in case.get("params", {}).items() if name != without)


def name_of(case, without=None):
    words = [case["case"], case.get("algorithm", "")]
    words += [str(v) if isinstance(v, str) else f"{n} {v}" for n, v in parameters(case, without)]
    return " ".join(word for word in words if word)


def where(case):
    return f"{case.get('transport') or case.get('network', '')}, {case['mpi']}"


def series_of(case):
    """Names and values of what the case has measured: tern's, the ceiling's, the peers'."""
    yield "tern", case["value"]
    ceiling = case.get("ceiling")
    if ceiling:
        yield "ceiling", ceiling["value"]
    for peer in case.get("peers", []):
        yield peer["name"], peer["value"]


def sweeps(cases):
    """Yields title, axis and cases in order, for cases that differ in the axis only."""
    for axis in AXES:
        groups = {}
        for case in cases:
            if isinstance(case.get("params", {}).get(axis), (int, float)):
                groups.setdefault((name_of(case, axis), where(case)), []).append(case)
        for (name, place), group in groups.items():
            by_place = {case["params"][axis]: case for case in group}
            if len(by_place) >= LEAST_POINTS:
                yield name, place, axis, [by_place[at] for at in sorted(by_place)]


def plot(title, axis, group, identity):
    """Draws a sweep. Returns SVG and the names of its series; None without gnuplot."""
    if shutil.which("gnuplot") is None:
        return None, []
    names = []
    for case in group:
        names += [name for name, _ in series_of(case) if name not in names]
    rows = [[dict(series_of(case)).get(name, "-") for name in names] for case in group]
    data = "\n".join(" ".join(str(v) for v in [case["params"][axis]] + row)
                     for case, row in zip(group, rows))
    # A double quote would end a name in gnuplot.
    lines = ", ".join(f"$data using 1:{i + 2} with linespoints linewidth 2 pointtype 7 pointsize .4 "
                      f'title "{name.replace(chr(34), "")}"' for i, name in enumerate(names))
    program = f"""set terminal svg size 640,420 dynamic font "sans,13" name "{identity}"
set datafile missing "-"
set logscale xy {"2" if axis == "bytes" else ""}
set logscale y 10
set format y "%g"
set format x "{"%.0b%BB" if axis == "bytes" else "%.0f"}"
set border 3 linecolor "#808080"
set grid linecolor "#808080" linewidth .4
set tics nomirror textcolor "#808080"
set xlabel "{axis}" textcolor "#808080"
set ylabel "{group[0]["unit"]}" textcolor "#808080"
set key below noenhanced textcolor "#808080"
set linetype 1 linecolor "#d1495b"
set linetype 2 linecolor "#3a86c8"
set linetype 3 linecolor "#2a9d6f"
set linetype 4 linecolor "#b8860b"
set linetype 5 linecolor "#8a63d2"
set linetype 6 linecolor "#4f9aa8"
$data << EOD
{data}
EOD
plot {lines}
"""
    drawn = subprocess.run(["gnuplot"], input=program, capture_output=True, text=True, check=False)
    if drawn.returncode != 0:
        sys.exit(f"report: gnuplot cannot draw {title}: {drawn.stderr.strip()}")
    svg = drawn.stdout[drawn.stdout.index("<svg"):]
    # The colour of texts and axes is that of the page.
    svg = re.sub(r"rgb\(\s*128,\s*128,\s*128\s*\)|#808080|(?<=[\"'])black(?=[\"'])", "currentColor", svg)
    return svg, names


def table(cases):
    rows = ["<div class=wide><table><tr><th>case<th>tern<th>spread<th>ceiling<th class=text>of"
            "<th>ratio<th>target<th class=text>beside it, in times of tern's"]
    for case in cases:
        unit, ceiling = case["unit"], case.get("ceiling")
        target, ratio = case.get("target"), case.get("ratio")
        verdict = ""
        if target and ratio:
            met = ratio <= target
            verdict = f"<span class={'met' if met else 'missed'}>{target:.3g} {'met' if met else 'missed'}</span>"
        peers = ", ".join(f"{html.escape(p['name'])} {p['times']:.3g}" for p in case.get("peers", [])
                          if p.get("times"))
        rows.append(
            f"<tr><td>{html.escape(name_of(case))}{' ?' if is_doubtful(case) else ''}"
            f"<td>{figure_text(case['value'], unit)}<td>{number(case.get('spread', 0))}"
            f"<td>{figure_text(ceiling['value'], unit) if ceiling else ''}"
            f"<td class=text>{html.escape(ceiling['name']) if ceiling else ''}"
            f"<td>{f'{ratio:.2f}' if ratio else ''}<td>{verdict}<td class=text>{peers}")
    return "\n".join(rows) + "</table></div>"


def advice_table(advice):
    rows = ["<div class=wide><table><tr><th>for<th class=text>over<th class=text>use<th>"
            "<th class=text>rather than<th><th>times as fast"]
    for one in advice:
        rows.append(f"<tr><td>{html.escape(one['advice'])}<td class=text>{where(one)}"
                    f"<td class=text>{html.escape(one['use'])}<td>{figure_text(one['ns'], 'ns')}"
                    f"<td class=text>{html.escape(one['instead_of'])}"
                    f"<td>{figure_text(one['instead_ns'], 'ns')}"
                    f"<td>{number(one['instead_ns'] / one['ns'])}")
    return "\n".join(rows) + "</table></div>"


def summary(cases):
    """Median ratios to the ceilings by subject and place, and how many targets were met."""
    beside = [case for case in cases if case.get("ratio")]
    places = sorted({where(case) for case in beside})
    subjects = [s for _, _, group in SECTIONS for s in group if any(c["bench"] == s for c in beside)]
    rows = ["<div class=wide><table><caption>Median of the ratios to the ceilings, of so many cases; 1 is the "
            "ceiling</caption><tr><th>subject" + "".join(f"<th>{html.escape(p)}" for p in places)]
    for subject in subjects:
        cells = ""
        for place in places:
            ratios = [c["ratio"] for c in beside if c["bench"] == subject and where(c) == place]
            cells += f"<td>{statistics.median(ratios):.2f} <small>of {len(ratios)}</small>" if ratios else "<td>"
        rows.append(f"<tr><td><a href='#{subject}-figures'>{subject}</a>{cells}")
    aimed = [c for c in beside if c.get("target")]
    met = sum(c["ratio"] <= c["target"] for c in aimed)
    doubtful = sum(map(bool, map(is_doubtful, cases)))
    return "\n".join(rows) + (
        f"</table></div><p>{len(cases)} cases. {met} of {len(aimed)} targets were met. {doubtful} figures are "
        "doubtful and marked with ?: a rank lost its core, ranks shared cores, or the spread was above "
        f"{UNSTEADY:.0%} of the figure.")


def section(title, source, subjects, cases, advice):
    mine = [case for case in cases if case["bench"] in subjects and case["bench"] != "advise"]
    if not mine and not ("advise" in subjects and advice):
        return "", 0
    parts = [f"<h2 id='{subjects[0]}'>{title}</h2><p class=faint>After {source}."
             if "paper" in source else f"<h2 id='{subjects[0]}'>{title}</h2><p class=faint>{source}."]
    if "advise" in subjects:
        parts.append(advice_table(advice))
    plots = 0
    for subject in subjects:
        own = [case for case in mine if case["bench"] == subject]
        if not own:
            continue
        parts.append(f"<h3 id='{subject}-figures'>{subject}</h3><div class=plots>")
        for name, place, axis, group in sweeps(own):
            svg, names = plot(name, axis, group, f"{subject}{plots}")
            if svg is None:
                continue
            plots += 1
            caption = html.escape(f"{subject} {name}, {place}")
            parts.append(f"<figure data-series={len(names)}><figcaption>{caption}</figcaption>{svg}</figure>")
        parts.append("</div>")
        for place in sorted({where(case) for case in own}):
            there = [case for case in own if where(case) == place]
            parts.append(f"<details><summary>{subject} over {html.escape(place)}: {len(there)} cases</summary>"
                         f"{table(there)}</details>")
    return "\n".join(parts), plots


def page(machines, cases, advice):
    known = list({json.dumps([m.get("cpu"), m.get("cores"), m.get("kernel")]): m for m in machines.values()}.values())
    dates = sorted(m.get("date", "") for m in machines.values())
    about = "; ".join(f"{m.get('cpu')}, {m.get('cores')} cores, Linux {m.get('kernel')}, {m.get('compiler')}"
                      for m in known)
    body, links, plots = [], [], 0
    for title, source, subjects in SECTIONS:
        text, count = section(title, source, subjects, cases, advice)
        plots += count
        if text:
            body.append(text)
            links.append(f"<a href='#{subjects[0]}'>{title}</a>")
    text = f"""<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>tern, measured</title><style>{STYLE}</style>
<h1>tern, measured</h1>
<p class=faint>{html.escape(about)}. From {dates[0]} to {dates[-1]}. tern {known[0].get('tern', '')}.
<nav>{' '.join(links)}</nav>
<p>Each figure stands beside its ceiling: the same necessary work with no generality, in the same run. Figures
are medians.
{summary(cases)}
{chr(10).join(body)}
</html>
"""
    return text, plots


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: report.py DIR FILE")
    machines, cases, advice = read(sys.argv[1])
    if not cases:
        sys.exit(f"report: {sys.argv[1]} has no figures: tern-bench --json writes them")
    text, plots = page(machines, cases, advice)
    with open(sys.argv[2], "w", encoding="utf-8") as to:
        to.write(text)
    if shutil.which("gnuplot") is None:
        print("report: gnuplot is not installed: tables only")
    print(f"report: {len(cases)} cases, {plots} plots: {sys.argv[2]}")


main()
