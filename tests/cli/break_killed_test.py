#!/usr/bin/python3
"""A search that is killed resumes where its last checkpoint stands: break_killed_test.py BIN"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

RUNG = os.path.abspath(os.path.join(sys.argv[1], "rung"))
# Sums modulo 2^20 in four entries keep what they get: some 80 bits, which no search of seconds collides.
BUILD = ["build", "random", "--arch", "linear(heads=1,dim=2,feature=identity,normalised=no)", "--task", "eva", "--n", "32",
         "--precision", "20", "--width", "8", "--seed", "1", "--out", "model.safetensors"]
BREAK = [RUNG, "break", "model.safetensors", "--method", "distinguished-points", "--out", "cert.json", "--json"]


def search(budget):
    return json.loads(subprocess.run(BREAK + ["--budget", budget], check=True, capture_output=True, text=True).stdout)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([RUNG] + BUILD, check=True, capture_output=True)
    fresh = search("500ms")
    assert fresh["verdict"] == "unverified", fresh
    os.remove("cert.json.checkpoint")
    running = subprocess.Popen(BREAK + ["--budget", "10m"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not os.path.exists("cert.json.checkpoint"):
        assert running.poll() is None, "the search ended by itself"
        assert time.monotonic() < deadline, "no checkpoint was written"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    resumed = search("0s")
    assert resumed["verdict"] == "unverified" and resumed["checkpoint"] == "cert.json.checkpoint", resumed
    assert resumed["evaluations"] > 0, resumed
    assert int(resumed["details"]["distinguished_points"]) > 0, resumed
    assert not os.path.exists("cert.json"), "half a certificate"
    # A byte of the checkpoint flipped: refused, exit code 2.
    with open("cert.json.checkpoint", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    damaged = subprocess.run(BREAK + ["--budget", "0s"], capture_output=True, text=True)
    assert damaged.returncode == 2 and "damaged" in damaged.stderr, damaged
print("resumed after being killed at", resumed["evaluations"], "evaluations")
