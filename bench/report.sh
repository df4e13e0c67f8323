#!/usr/bin/env bash
# The report of 1,000 members beside its peers: bench/report.sh [BUILD] [MEMBERS]. Making the page against listing the same store; opening it
# in Chromium against an empty page.
set -euo pipefail
build=$(realpath "${1:-build}") members=${2:-1000}
here=$(realpath "$(dirname "$0")/..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
grep -m1 'model name' /proc/cpuinfo
uptime
PYTHONPATH="$here/tests/web" /usr/bin/python3 - "$build/rung" "$members" "$here/tests/cases/report" <<'PYTHON'
import json, math, os, statistics, subprocess, sys, time
from browser import Browser

rung, members, cases = sys.argv[1], int(sys.argv[2]), sys.argv[3]
REPEATS = 7
with open("runs.jsonl", "w", encoding="utf-8") as store:
    for i in range(members):
        body = {"task": "eva", "arch": f"linear(dim={2 ** (i % 5)})", "size": {"n": 16 << (i % 6)}, "accuracy": (i % 100) / 100, "loss": 0.1, "rate": 0.003,
                "curve": [{"step": 50 * k, "stage": 0, "loss": 2 / (k + 1), "accuracy": [1 - math.exp(-k * (1 + i % 7) / 50)]} for k in range(100)]}
        stamp = f"2026-11-15T10:{i // 60 % 60:02d}:{i % 60:02d}.{i:06d}Z"
        store.write(json.dumps({"schema": "rung.record/2", "id": f"20261115T{i:06d}.000000-{i:08x}", "kind": "member", "parent": "", "state": "done", "created": stamp, "finished": stamp,
                                "seed": i, "version": "0.1.0", "libraries": {}, "host": "bench", "device": "cpu", "command": "rung train", "body": body}) + "\n")
subprocess.run([rung, "runs", "import", "runs.jsonl", "--store", "runs.sqlite"], check=True, stdout=subprocess.DEVNULL)


def seconds(*command):
    times = []
    for _ in range(REPEATS):
        begin = time.monotonic()
        subprocess.run([rung, *command], check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begin)
    return times


def row(what, values, unit):
    print(f"| {what} | {statistics.median(values):.{2 if unit == 's' else 0}f} | {min(values):.{2 if unit == 's' else 0}f} | {max(values):.{2 if unit == 's' else 0}f} | {unit} |")


print(f"\n{members} members:\n\n| what | median | least | most | |\n| --- | --- | --- | --- | --- |")
row("make the page", seconds("report", "--hierarchy", f"{cases}/hierarchy", "--results", f"{cases}/results", "--store", "runs.sqlite", "--out", "report.html"), "s")
row("peer: list the same members as JSON", seconds("runs", "list", "--kind", "member", "--json", "--store", "runs.sqlite"), "s")
with open("empty.html", "w") as page:
    page.write("<!doctype html><title>empty</title><script>document.documentElement.dataset.ready = performance.now()</script>")
for name, page in (("interactive: the page", "report.html"), ("interactive: peer, an empty page", "empty.html")):
    ready, settled = [], []
    with Browser(1280, 900) as browser:
        for _ in range(REPEATS):
            browser.driver.get("about:blank")
            browser.driver.get("file://" + os.path.abspath(page))
            ready.append(float(browser.driver.execute_script("return document.documentElement.dataset.ready")))
            settled.append(browser.driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
    row(name, ready, "ms")
    row(name + ", loaded and laid out", settled, "ms")
print(f"\nsize of the page: {os.path.getsize('report.html') / 2 ** 20:.2f} MiB")
PYTHON
