#!/usr/bin/python3
"""A disk that is full during training: the run says why, its record is closed as stopped, and it resumes when there is room.
Usage: train_full_disk_test.py FOLDER_OF_RUNG. A limit on the size of files stands for the disk."""
import json
import os
import resource
import subprocess
import sys
import tempfile

RUNG = os.path.join(os.path.abspath(sys.argv[1]), "rung")
ROOM = 192 << 10  # bytes; the model has 256 KiB
TRAIN = ["full", "--task", "eva", "--n", "4", "--width", "128", "--steps", "4", "--batch", "2", "--seeds", "1", "--device", "cpu", "--out", "run",
         "--store", "runs.jsonl"]


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


with tempfile.TemporaryDirectory() as folder:
    def rung(*words, **options):
        return subprocess.run([RUNG, *words], cwd=folder, capture_output=True, text=True, timeout=300, **options)

    def records():
        return {record["kind"]: record for record in json.loads(rung("runs", "list", "--store", "runs.jsonl", "--json").stdout)["records"]}

    # The signal of the limit stays ignored, as Python has it: writing fails, as on a full disk.
    full = rung("train", *TRAIN, preexec_fn=limited, restore_signals=False)
    assert full.returncode == 2 and full.stderr.splitlines()[-1].startswith("rung: ["), full
    kept = records()
    for kind in ("run", "member"):
        assert kept[kind]["state"] == "stopped", kept[kind]
        assert kept[kind]["finished"] and kept[kind]["body"]["reason"], kept[kind]
    again = rung("train", "--resume", "run", "--store", "runs.jsonl")
    assert again.returncode == 0, again
    assert {record["state"] for record in records().values()} == {"done"}, records()
print("A run that a full disk stopped is stopped, with its reason, and resumes.")
