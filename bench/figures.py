#!/usr/bin/env python3
"""The figures of the benchmarks over time, one JSON line each in bench/results/figures.jsonl.

bench/figures.py run COMMAND...        runs a benchmark whose figures are kept, with the commit that they are of
bench/figures.py add BENCHMARK FIGURE VALUE UNIT [PEER PEER_VALUE] [--machine NAME]    keeps one figure of a script
bench/figures.py page                  bench/README.md, made of the lines; --check compares it instead
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LINES = HERE / "results" / "figures.jsonl"
PAGE = HERE / "README.md"


def commit():
    if given := os.environ.get("RUNG_COMMIT"):
        return given
    try:
        shown = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"], capture_output=True, text=True)
    except OSError:
        return "unknown"
    return shown.stdout.strip() or "unknown"


def processor():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found.group(1) if found else "unknown"


def run(command):
    environment = {**os.environ, "RUNG_COMMIT": commit(), "RUNG_FIGURES": os.environ.get("RUNG_FIGURES", str(LINES))}
    try:
        return subprocess.run(command, env=environment).returncode
    except OSError as error:
        return f"figures.py: {command[0]}: {error.strerror}"


def add(benchmark, figure, value, unit, peer=None, peer_value=None, machine=None):
    """Keeps a figure where RUNG_FIGURES names a file, as bench/figure.h does."""
    path = os.environ.get("RUNG_FIGURES")
    if not path:
        return
    line = {"benchmark": benchmark, "figure": figure, "value": value, "unit": unit, "machine": machine or processor(), "cores": os.cpu_count(),
            "commit": commit(), "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat()}
    if peer:
        line |= {"peer": peer, "peer_value": peer_value}
    with open(path, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def page():
    text = """# Benchmarks

Every program here prints what it measures beside a peer measured in the same run; machines are shared, so read the ratios. `bench/results` keeps
whole tables with what they mean. The lines below are kept by

```
cmake --preset release -DRUNG_BENCH=ON && cmake --build --preset release
bench/figures.py run build/release/bench/bench_exact_attention      # any of the programs, or bench/training.sh build/release
bench/figures.py page
```

one JSON line a figure in `results/figures.jsonl`: `benchmark`, `figure`, `value`, `unit`, `machine`, `cores`, `commit`, `date`, and `peer`, `peer_value` where the
run had one. The ratio is the figure over its peer's. This page is made from them. The lines of 2026-11-15 were copied from the tables of `bench/results`, with the commits that hold those.
"""
    rows = {}
    for number, line in enumerate(LINES.read_text(encoding="utf-8").splitlines(), 1):
        try:
            figure = json.loads(line)
            rows.setdefault(figure["benchmark"], {}).setdefault((figure["figure"], figure["machine"], figure["cores"]), []).append(figure)
        except (ValueError, KeyError) as error:
            sys.exit(f"figures.py: line {number} of {LINES.name}: {error!r}; an object with benchmark, figure, machine and cores expected")
    for benchmark in sorted(rows):
        text += f"\n## {benchmark}\n\n| figure | machine | date | commit | value | peer | ratio |\n| --- | --- | --- | --- | ---: | --- | ---: |\n"
        for (name, machine, cores), figures in sorted(rows[benchmark].items()):
            for at in figures:
                ratio = f"{at['value'] / at['peer_value']:.2f}" if at.get("peer_value") else ""
                text += f"| {name} | {machine}, {cores} cores | {at['date']} | {at['commit']} | {at['value']:.4g} {at['unit']} | {at.get('peer', '')} | {ratio} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("command", nargs=argparse.REMAINDER)
    one = verbs.add_parser("add")
    for name in ("benchmark", "figure", "value", "unit"):
        one.add_argument(name, type=float if name == "value" else str)
    one.add_argument("peer", nargs="?")
    one.add_argument("peer_value", nargs="?", type=float)
    one.add_argument("--machine")
    verbs.add_parser("page").add_argument("--check", action="store_true")
    asked = vars(parser.parse_args())
    verb = asked.pop("verb")
    if verb == "run":
        if not asked["command"]:
            parser.error("run: a command expected")
        return run(asked["command"])
    if verb == "add":
        return add(**asked)
    if asked["check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else f"{PAGE.name} is not what bench/figures.py page makes of {LINES.name}"
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
