#!/usr/bin/python3
"""rung capacity and rung break on 1, 2 and 4 ranks: the same answers, said once: searches_test.py BIN"""
import os
import subprocess

import started
from started import document, rung

started.need_mpirun()
started.enter_scratch()

# Bad input: one line of ours, exit code 2 (mpirun adds its own text). Commands that do not spread run once.
for ranks in (2, 4):
    error = rung("capacity", "eva", "--n", "-4", ranks=ranks, code=2)[1]
    assert error.count("rung: ") == 1, error
    error = rung("break", "missing.safetensors", ranks=ranks, code=2)[1]
    assert error.count("rung: ") == 1, error
    error = rung("capacityy", ranks=ranks, code=2)[1]
    assert error.count("rung: ") == 1, error
assert rung("bound", "full", "--task", "eva", "--n", "8", ranks=2)[0] == rung("bound", "full", "--task", "eva", "--n", "8")[0]
assert rung("--version", ranks=2)[0].count("rung") == 1

# Enumerated with one shape and with several, sampled, and too small to split.
for words in (("two-sum", "--n", "4", "--M", "18"), ("eva", "--n", "6"), ("mqar", "--n", "3", "--M", "6", "--sigma", "4", "--queries", "2"),
              ("eva", "--n", "64", "--budget", "2000000"), ("eva", "--n", "3")):
    alone = document("capacity", *words)
    for ranks in (2, 4):
        shared = document("capacity", *words, ranks=ranks)
        assert shared == alone, f"{words} on {ranks} ranks: {shared}\nalone: {alone}"



def random_model(precision, out):
    """Sums modulo a power of two in four entries forget nothing: four times `precision` bits of state."""
    rung("build", "random", "--arch", "linear(heads=1,dim=2,feature=identity,normalised=no,acc=wrap)", "--task", "eva", "--n", "32", "--precision",
         str(precision), "--width", "8", "--seed", "1", "--force", "--out", out)


for method, precision in (("distinguished-points", 9), ("states", 6)):
    random_model(precision, "model.safetensors")
    for ranks in (1, 2, 4):
        out = f"{method}-{ranks}.json"
        found = document("break", "model.safetensors", "--method", method, "--budget", "5m", "--out", out, ranks=ranks)
        assert found["verdict"] == "refuted" and found["method"] == method, found
        subprocess.run([os.path.join(started.BIN, "rung-check"), out, "model.safetensors"], check=True, stdout=subprocess.DEVNULL)
        if method == "states":  # in order: the pair that one rank finds
            with open(out, encoding="utf-8") as mine, open("states-1.json", encoding="utf-8") as first:
                assert mine.read() == first.read()

# A budget that ends is inconclusive on any number of ranks; a method that is not split says so.
random_model(20, "hard.safetensors")
late = document("break", "hard.safetensors", "--method", "distinguished-points", "--budget", "1s", "--out", "hard.json", ranks=2)
assert late["verdict"] == "unverified" and late["evaluations"] > 0, late
later = document("break", "hard.safetensors", "--method", "distinguished-points", "--budget", "1s", "--out", "hard.json", ranks=2)
assert later["evaluations"] > late["evaluations"], (late, later)
error = rung("break", "hard.safetensors", "--method", "wrong-answer", "--budget", "1s", ranks=2)[1]
assert "wrong-answer is not split" in error, error
print("the same answers on 1, 2 and 4 ranks")
