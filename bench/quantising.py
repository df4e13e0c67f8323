#!/usr/bin/env python3
"""What p bits leave of trained models: eva, n = 16, one layer, by calibration alone, with refined scales, and after
quantisation-aware training. Usage: bench/quantising.py [BUILD]. Prints a Markdown table; bench/results/quantising.md holds one."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build") / "rung"


def document(*words):
    return json.loads(subprocess.run([program, *map(str, words), "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def trained(folder, word, *flags):
    document("train", word, "--task", "eva", "--n", 16, "--width", 32, "--state", 32, "--steps", 1200, "--out", folder, "--no-store", *flags)
    return folder + "/member-0.safetensors"


print("| model | floats | p | scales | refined | trained at p bits |\n| --- | --- | --- | --- | --- | --- |")
scratch = tempfile.mkdtemp()
for word in ("full", "linear", "gdelta(form=plain)", "mamba2(form=plain)"):
    model = trained(f"{scratch}/{word}", word)
    for p in (3, 4, 6):
        plain = document("quantise", model, "--precision", p, "--refine", 0, "--out", f"{scratch}/{word}-{p}-0.safetensors")
        refined = document("quantise", model, "--precision", p, "--out", f"{scratch}/{word}-{p}-2.safetensors")
        aware = document("quantise", trained(f"{scratch}/{word}-{p}", word, "--qat", p), "--precision", p, "--out", f"{scratch}/{word}-{p}-q.safetensors")
        values = [plain["before"]["accuracy"], p, *(d["after"]["accuracy"] for d in (plain, refined, aware))]
        print("| {} | {:.3f} | {} | {:.3f} | {:.3f} | {:.3f} |".format(word, *values), flush=True)
shutil.rmtree(scratch)
