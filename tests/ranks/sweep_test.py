#!/usr/bin/python3
"""rung lab on 1, 2 and 4 ranks: the same scores, verdicts and records, each once: sweep_test.py BIN"""
import os

import started
from started import document, essence, records, rung

started.need_mpirun()
started.enter_scratch()
TINY = os.path.join(started.HERE, "tiny.toml")

error = rung("lab", "--file", "missing.toml", ranks=2, code=2)[1]
assert error.count("rung: ") == 1, error
assert rung("lab", "--list", ranks=2)[0] == rung("lab", "--list")[0]

alone = document("lab", "--file", TINY, "--out", "one", "--store", "one.jsonl")
for ranks in (2, 4):
    shared = document("lab", "--file", TINY, "--out", f"on-{ranks}", "--store", f"on-{ranks}.jsonl", ranks=ranks)
    assert essence(shared) == essence(alone), f"{ranks} ranks: {essence(shared)}\nalone: {essence(alone)}"
    assert records(f"on-{ranks}.jsonl") == records("one.jsonl"), f"{records(f'on-{ranks}.jsonl')}\n{records('one.jsonl')}"
    again = document("lab", "--file", TINY, "--out", f"on-{ranks}", "--store", f"on-{ranks}.jsonl", "--resume", ranks=2)
    assert essence(again) == essence(alone)
    assert records(f"on-{ranks}.jsonl") == records("one.jsonl"), "written twice"
print(len(records("one.jsonl")), "records, the same on 1, 2 and 4 ranks")
