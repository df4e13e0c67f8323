#!/usr/bin/env python3
"""rung hierarchy, the whole of it once: every cell, Ctrl-C and resuming, the table's width, exit codes."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

folder = Path(sys.argv[1])
rung = str(folder / "rung")
ROWS = ["full", "linear", "delta", "mamba2", "loglinear", "sparse", "hybrid", "headwise"]
COLUMNS = ["eva", "two-sum", "seqcomp", "parity", "tracked-recall"]


def run(*words, **options):
    return subprocess.run([rung, *words], capture_output=True, text=True, **options)


def expect(condition, what):
    if not condition:
        sys.exit(f"hierarchy_test: {what}")


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)

    refused = run("hierarchy", "--only", "lineer")
    expect(refused.returncode == 2 and 'did you mean "linear"' in refused.stderr, f"a wrong word: {refused.stderr}")
    expect(not refused.stdout, "a wrong word prints nothing")

    # Ctrl-C after the first cells: what is done stays, 130 is the exit code.
    child = subprocess.Popen([rung, "hierarchy", "--no-train"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        child.stderr.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120 * float(os.environ.get("RUNG_TEST_PATIENCE", 1)))
    stopped = re.search(r"stopped: (\d+) of (\d+) cells are done", err)
    if stopped:  # else it was faster than the signal
        expect(child.returncode == 130, f"exit code {child.returncode} after Ctrl-C")
        expect(3 <= int(stopped[1]) < int(stopped[2]), f"stopped: {stopped[0]}")
        expect("- not run yet" in out, "the table shows what is missing")
        kept = len(list(Path("rung-runs/hierarchy/cells").iterdir()))
        expect(kept == int(stopped[1]), f"{kept} files, {stopped[1]} cells")

    # rung alone resumes, and trains where it can.
    start = time.monotonic()
    whole = run()
    seconds = time.monotonic() - start
    expect(whole.returncode == 0, f"exit code {whole.returncode}: {whole.stderr[-2000:]}")
    expect("\033" not in whole.stdout, "colour without a terminal")
    long = [line for line in whole.stdout.splitlines() if len(line) > 100]
    expect(not long, f"more than 100 columns: {long}")
    document = json.loads(Path("rung-runs/hierarchy/hierarchy.json").read_text())
    expect(document["schema"] == "rung.hierarchy/2", "schema")
    cells = {(cell["row"], cell["column"]): cell for cell in document["cells"]}
    expect(sorted(cells) == sorted((row, column) for row in ROWS for column in COLUMNS), "every row and column")
    highlights = [cell for highlight in document["highlights"] for cell in highlight["cells"]]
    for cell in [*cells.values(), *highlights]:
        where = f"{cell['row']} on {cell['column']}"
        expect(cell["state"] == "done", f"{where}: {cell['state']}")
        for part in ("construction", "certificate", "training"):
            expect(cell[part]["state"] != "none" or cell[part]["reason"], f"{where}: {part} has no reason")
        expect(cell["construction"]["state"] in ("verified", "none"), f"{where}: {cell['construction']['state']}")
        if cell["certificate"]["state"] != "none":
            expect(cell["certificate"]["state"] == "verified" and cell["certificate"]["checker"]["exit"] == 0, f"{where}: unverified")
            expect(cell["bound"]["state"] != "impossible" or cell["certificate"]["label"] == "forced by theorem" or cell["row"] == "headwise",
                   f"{where}: impossible, and only found")
    deep, three, thought, encoder, *tracked = highlights
    expect(deep["bound"]["state"] == "impossible" and deep["certificate"]["state"] == "verified", "a hundred linear layers")
    for cell in (three, thought, encoder):
        expect(cell["bound"]["state"] == "possible" and cell["construction"]["state"] == "verified", cell["row"])
        expect(cell["size"] == deep["size"], "the same task at the same size")
    expect(len(tracked) > 0 and all(cell["column"] == "tracked-recall" for cell in tracked), "delta and full together")
    expect([cell["row"] for cell in tracked if cell["bound"]["state"] == "possible"] == [tracked[-1]["row"]], f"only both: {[(c['row'], c['bound']['state']) for c in tracked]}")
    if (folder / "rung-learn").exists():
        for row in ROWS:
            training = cells[row, "eva"]["training"]
            expect(training["state"] == "trained" or training.get("retry"), f"{row}: {training}")
            if training["state"] == "trained":
                # Sampled: within the interval of the ceiling.
                expect(training["low"] <= training["ceiling"], f"{row}: above its ceiling")
    for kind in ("built", "broken"):
        trace = json.loads(Path(f"rung-runs/hierarchy/protocols/{kind}.json").read_text())
        expect(trace["schema"] == "rung.protocol-trace/1" and trace["equal_rows"] and trace["counts_equal"], kind)

    # What theory says is what rung bound says, asked by the cell's own command.
    for cell in (cells["linear", "eva"], cells["hybrid", "seqcomp"], deep):
        asked = subprocess.run(["sh", "-c", cell["bound"]["command"].replace("--explain", "--json")], capture_output=True, text=True,
                               env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        verdict = json.loads(asked.stdout)["verdicts"][0]
        expect(verdict["verdict"] == cell["bound"]["state"] and verdict["theorem"] == cell["bound"]["theorem"], f"{cell['row']}: {verdict}")

    again = run("hierarchy", "--json")
    expect(again.returncode == 0, again.stderr[-500:])
    expect(again.stderr.count("(reused)") >= 28 - len(ROWS), "reused")
    told = json.loads(again.stdout)
    expect([cell["certificate"]["state"] for cell in told["cells"]] == [cell["certificate"]["state"] for cell in document["cells"]], "the same again")
    print(f"28 cells in {seconds:.0f} s")
