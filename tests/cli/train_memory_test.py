#!/usr/bin/python3
"""What a run needs is said beforehand, within 30 %: train_memory_test.py BIN

At a size where activations are most of it, not libtorch's own pages."""
import json
import os
import subprocess
import sys
import tempfile

RUNG = os.path.abspath(os.path.join(sys.argv[1], "rung"))
PLAN = ["--task", "eva", "--n", "128", "--width", "32", "--steps", "2", "--eval-count", "64", "--final-count", "64", "--device", "cpu", "--json"]
RUN = ["--no-store", "--quiet"]  # of a run; a dry run keeps nothing
RUNS = [("full*2", 768, 1, 1, "fp32"), ("full*2", 384, 2, 2, "fp32"), ("full*2", 384, 1, 1, "bf16"), ("gdelta(form=plain)*2", 384, 1, 1, "fp32")]

with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)

    def train(arch, batch, seeds, workers, precision, *more):
        command = [RUNG, "train", arch, *PLAN, "--batch", str(batch), "--seeds", str(seeds), "--workers", str(workers), "--precision", precision, *more]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)

    # Negative control: what is compared is mostly the run's own.
    small = train("full*2", 1, 1, 1, "fp32", *RUN, "--out", "small")["peak_bytes"]
    for number, run in enumerate(RUNS):
        forecast = train(*run, "--dry-run")
        done = train(*run, *RUN, "--out", f"run-{number}")
        predicted, peak = done["predicted_bytes"], done["peak_bytes"]
        print(*run, f"{predicted / 1e6:.0f} MB predicted, {peak / 1e6:.0f} MB peak, {predicted / peak:.2f}")
        assert peak > 1.5 * small, (run, peak, small)
        assert 0.7 < predicted / peak < 1.3, (run, predicted, peak)
        assert abs(forecast["predicted_bytes"] / predicted - 1) < 0.1, (run, forecast["predicted_bytes"], predicted)
