#!/usr/bin/python3
"""A training run that is killed or interrupted resumes to the same curve and the same weights: train_killed_test.py BIN"""
import glob
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

RUNG = os.path.abspath(os.path.join(sys.argv[1], "rung"))
KILLS = 6
STEPS = 800
PLAN = ["gdelta(form=plain)", "--task", "eva", "--n", "8", "--width", "16", "--heads", "2", "--seeds", "2", "--dropout", "0.1", "--steps", str(STEPS), "--batch", "32",
        "--eval-every", "20", "--eval-count", "64", "--final-count", "100", "--checkpoint-every", "7", "--workers", "2"]
FLAGS = ["--device", "cpu", "--store", "runs.sqlite"]


def start(arguments):
    return subprocess.Popen([RUNG, "train"] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, error = process.communicate(timeout=120 * float(os.environ.get("RUNG_TEST_PATIENCE", 1)))
    return process.returncode, out, error


def tensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__")
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def outcome(folder):
    with open(os.path.join(folder, "curves.csv")) as file:
        curves = file.read()
    return curves, [tensors(os.path.join(folder, f"member-{k}.safetensors")) for k in range(2)]


def records(folder):
    text = subprocess.run([RUNG, "runs", "list", "--store", "runs.sqlite", "--json"], check=True, capture_output=True, text=True).stdout
    return [record for record in json.loads(text)["records"] if record["body"]["folder"] == os.path.abspath(folder)]


def wait_for(pattern, process, folder):
    deadline = time.monotonic() + 60
    while not glob.glob(os.path.join(folder, pattern)):
        assert process.poll() is None, f"the run ended by itself: {process.communicate()}"
        assert time.monotonic() < deadline, f"no {pattern} was written"
        time.sleep(0.01)


CHECKPOINT = "checkpoint-0.safetensors"


def checkpoint_written(folder):
    path = os.path.join(folder, CHECKPOINT)
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


def checkpoint_step(folder):
    if checkpoint_written(folder) is None:
        return None
    with open(os.path.join(folder, CHECKPOINT), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return json.loads(header["__metadata__"]["progress"])["step"]


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    code, out, error = finish(start(PLAN + FLAGS + ["--quiet", "--out", "whole"]))
    assert code == 0, (code, error)
    whole = outcome("whole")
    assert whole[0].count("\n") == 1 + 2 * STEPS // 20, whole[0]
    assert whole[1][0] != whole[1][1], "two seeds gave the same weights: the comparison below says nothing"

    # Killed.
    moments, hits, steps = random.Random(20261115), 0, set()
    go_on = PLAN + FLAGS + ["--quiet", "--out", "killed"]
    for kill in range(KILLS):
        before = checkpoint_written("killed")
        process = start(go_on)
        # At first at any moment of the start, then in the midst of training.
        while kill > 0 and process.poll() is None and checkpoint_written("killed") == before:
            time.sleep(0.002)
        wait_for("plan.json", process, "killed")
        try:
            process.wait(moments.uniform(0.0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            hits += 1
        process.communicate()
        steps.add(checkpoint_step("killed"))
        go_on = ["--resume", "killed", "--quiet", "--store", "runs.sqlite"]
    assert hits >= KILLS - 1 and len(steps) >= 4, f"{hits} of {KILLS} kills met a running program, at the checkpoints {steps}"
    assert {record["state"] for record in records("killed")} & {"running"}, "the kills left no running record"
    code, out, error = finish(start(go_on))
    assert code == 0, (code, error)
    assert outcome("killed") == whole, "a killed run ended elsewhere"
    assert sorted(record["kind"] for record in records("killed")) == ["member", "member", "run"]
    assert {record["state"] for record in records("killed")} == {"done"}, records("killed")
    left = sorted(os.listdir("killed"))
    assert left == ["curves.csv", "member-0.safetensors", "member-1.safetensors", "plan.json", "records.json"], left
    # Once more: nothing is trained, nothing changes.
    before = {name: os.stat(os.path.join("killed", name)).st_mtime_ns for name in left if name.startswith("member")}
    code, out, error = finish(start(go_on))
    assert code == 0 and outcome("killed") == whole, (code, error)
    assert all(os.stat(os.path.join("killed", name)).st_mtime_ns == time_ for name, time_ in before.items()), "a finished member was written again"

    # A member that was written while its record was not: the record is closed by the next run.
    os.environ["RUNG_STORE"] = "other.jsonl"
    code, out, error = finish(start(["--resume", "killed", "--quiet"]))
    listed = json.loads(subprocess.run([RUNG, "runs", "list", "--json"], check=True, capture_output=True, text=True).stdout)["records"]
    assert code == 0 and sorted((r["kind"], r["state"]) for r in listed) == [("member", "done"), ("member", "done"), ("run", "done")], (code, error, listed)
    del os.environ["RUNG_STORE"]

    # Interrupted.
    process = start(PLAN + FLAGS + ["--out", "stopped"])
    wait_for("checkpoint-0.safetensors", process, "stopped")
    process.send_signal(signal.SIGINT)
    code, out, error = finish(process)
    assert code == 130, (code, out, error)
    assert error.splitlines()[-1] == "stopped; rung train --resume stopped resumes it", error
    assert os.path.exists("stopped/checkpoint-0.safetensors"), os.listdir("stopped")
    states = {record["kind"]: record["state"] for record in records("stopped")}
    assert states == {"run": "stopped", "member": "stopped"}, states
    code, out, error = finish(start(["--resume", "stopped", "--store", "runs.sqlite", "--quiet", "--json"]))
    document = json.loads(out)
    assert code == 0 and document["schema"] == "rung.train/1" and not document["stopped"], (code, error)
    assert outcome("stopped") == whole, "an interrupted run ended elsewhere"
    assert {record["state"] for record in records("stopped")} == {"done"}
print(hits, "of", KILLS, "kills met a running program, with checkpoints at", steps, "of", STEPS, "steps; the same curve and weights")
