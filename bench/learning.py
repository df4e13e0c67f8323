#!/usr/bin/env python3
"""How fast models learn to look a value up (eva, n = 32) on this machine: three seeds each, until two evaluations in a row
reach 99 %. Usage: bench/learning.py [BUILD]. Prints a Markdown table; bench/results/learning.md holds one."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build") / "rung"
lines = [("full", ["--width", "32"])] + [(word, ["--width", "64", "--state", "64"]) for word in ("linear", "delta(form=plain)", "gdelta(form=plain)", "mamba2(form=plain)", "loglinear")]
print("| model | width | seeds at 99 % on 2,000 fresh instances | steps | seconds for all | label |\n| --- | --- | --- | --- | --- | --- |")
for word, flags in lines:
    folder = tempfile.mkdtemp()
    command = [program, "train", word, "--task", "eva", "--n", "32", *flags, "--seeds", "3", "--stop-at", "0.995", "--out", folder + "/run",
               "--no-store", "--quiet", "--json"]
    run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    good = sum(member.get("accuracy", 0) >= 0.99 for member in run["members"])
    steps = ", ".join(str(member["steps"]) for member in run["members"])
    print(f"| {word} | {flags[1]} | {good} of {len(run['members'])} | {steps} | {run['seconds']:.0f} | {run.get('label', '-')} |", flush=True)
    shutil.rmtree(folder)
