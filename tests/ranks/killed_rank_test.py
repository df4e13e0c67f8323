#!/usr/bin/python3
"""A rank that is killed in mid-work costs only what it had in hand: killed_rank_test.py BIN

By default mpirun ends the job, and the same command with --resume resumes; with --enable-recovery the others go on at once. Both end
in what an undisturbed run says, every record once."""
import json
import os
import re
import signal
import subprocess
import time

import started
from started import document, essence, records

started.need_mpirun()
started.enter_scratch()
with open(os.path.join(started.HERE, "tiny.toml"), encoding="utf-8") as tiny, open("long.toml", "w", encoding="utf-8") as own:
    # Long enough to be killed in the middle of it.
    own.write(re.sub(r"^steps = .*$", "steps = 150", tiny.read(), flags=re.M))


def rank_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    except OSError:
        return None
    return words.get(b"OMPI_COMM_WORLD_RANK")


def descendants(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if parent == pid:
                found += [int(name), *descendants(int(name))]
    return found


def started_and_killed(folder, *mpirun, silence="20"):
    """A run on 3 ranks whose rank 1 is killed once a training folder has a checkpoint; the process and its output."""
    command = [*started.MPIRUN, *mpirun, "-n", "3", started.RUNG, "lab", "--file", "long.toml", "--out", folder, "--store", folder + ".jsonl", "--json"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=dict(started.environment(), RUNG_RANK_SILENCE=silence))
    deadline = time.monotonic() + 120
    while True:
        assert time.monotonic() < deadline, "nothing was trained"
        assert run.poll() is None, run.communicate()
        training = [name for name in (os.listdir(folder) if os.path.isdir(folder) else []) if os.path.isdir(os.path.join(folder, name))]
        if len(training) >= 2 and any(file.startswith("checkpoint-") for name in training for file in os.listdir(os.path.join(folder, name))):
            break
        time.sleep(0.02)
    victims = [pid for pid in descendants(run.pid) if rank_of(pid) == b"1"]
    assert len(victims) == 1, victims
    os.kill(victims[0], signal.SIGKILL)
    output, errors = run.communicate(timeout=240)
    return run.returncode, output, errors


alone = document("lab", "--file", "long.toml", "--out", "alone", "--store", "alone.jsonl")

code, _, errors = started_and_killed("ended")
assert code != 0, errors
assert not os.path.exists("ended/verdicts.json"), "the job went on without its rank"
resumed = document("lab", "--file", "long.toml", "--out", "ended", "--store", "ended.jsonl", "--resume", ranks=2)
assert essence(resumed) == essence(alone), f"{essence(resumed)}\n{essence(alone)}"
assert records("ended.jsonl") == records("alone.jsonl"), f"{records('ended.jsonl')}\n{records('alone.jsonl')}"

code, output, errors = started_and_killed("survived", "--enable-recovery", silence="3")
assert code == 0, (code, errors)
assert "rank 1 has not been heard" in errors, errors
assert records("survived.jsonl") == records("alone.jsonl"), f"{records('survived.jsonl')}\n{records('alone.jsonl')}"
assert essence(json.loads(output)) == essence(alone)
print("resumed, and survived, with the scores, verdicts and records of an undisturbed run")
