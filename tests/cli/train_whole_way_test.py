#!/usr/bin/python3
"""Train, quantise, break, check: train_whole_way_test.py BIN

A state of four entries of 7 bits has 28; a function on 10 values takes 33. So whatever was learned is refuted,
and a program that shares no code with rung says that the refutation is right."""
import json
import os
import subprocess
import sys
import tempfile

BIN = os.path.abspath(sys.argv[1])


def run(*command, code=0):
    done = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True, text=True,
                          timeout=300 * float(os.environ.get("RUNG_TEST_PATIENCE", 1)))
    assert done.returncode == code, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def document(*command):
    return json.loads(run(*command, "--json"))


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    os.environ["RUNG_STORE"] = os.path.join(scratch, "runs.jsonl")
    trained = document("rung", "train", "gdelta(heads=2,dim=2,vdim=1,form=plain)", "--task", "eva", "--n", "10", "--width", "32", "--seed", "2", "--steps", "3000",
                       "--eval-every", "100", "--eval-count", "256", "--final-count", "2000", "--device", "cpu", "--out", "run", "--quiet")
    member = trained["members"][0]
    assert member["state"] == "done" and member["accuracy"] > 0.2, member  # chance: 1/10
    assert trained["quantisable"] is True, trained
    model = member["file"]

    # The float file in the exact machine is as accurate as the trainer found: 2000 instances each, 5 standard deviations.
    before = document("rung", "eval", model, "--count", "2000")
    assert before["mode"] == "Q" and abs(before["accuracy"] - member["accuracy"]) < 5 * (2 * 0.25 / 2000) ** 0.5, (before, member)

    quantised = document("rung", "quantise", model, "--precision", "7", "--instances", "1000", "--out", "seven.safetensors")
    assert quantised["state_bits"]["after"] == 28, quantised["state_bits"]
    after = document("rung", "eval", "seven.safetensors", "--count", "1000", "--seed", str(quantised["seed"]))
    assert after["mode"] == "X" and after["accuracy"] == quantised["after"]["accuracy"], (after, quantised["after"])
    assert after["accuracy"] > 0.15 and after["label"] == "C" and after["accuracy"] < after["ceiling"] < 1, after

    broken = document("rung", "break", "seven.safetensors", "--out", "seven.json")
    assert broken["verdict"] == "refuted", broken
    assert run("rung-check", "seven.json", "seven.safetensors").startswith("VERIFIED"), "not verified"

    # One token of a prompt changed: no longer a proof of anything.
    with open("seven.json") as file:
        certificate = json.load(file)

    def rows(value):
        """Lists of tokens inside a document, where they can be changed."""
        if isinstance(value, list) and len(value) >= 8 and all(isinstance(item, int) for item in value):
            yield value
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                yield from rows(item)

    changed = 0
    for which in range(sum(1 for _ in rows(certificate))):
        damaged = json.loads(json.dumps(certificate))
        row = list(rows(damaged))[which]
        row[0] = (row[0] + 1) % 10
        with open("damaged.json", "w") as file:
            json.dump(damaged, file)
        run("rung-check", "damaged.json", "seven.safetensors", code=1)
        changed += 1
    assert changed >= 2, certificate
    # The float file is another model.
    assert subprocess.run([os.path.join(BIN, "rung-check"), "seven.json", model], capture_output=True).returncode != 0

    run("rung", "export", model, "--to", "torch", "--out", "python")
    assert sorted(os.listdir("python")) == [os.path.basename(model), "model.py"], os.listdir("python")
    kinds = sorted(record["kind"] for record in json.loads(run("rung", "runs", "list", "--json"))["records"])
    assert kinds == ["member", "run"], kinds
print(f"accuracy {member['accuracy']:.3f} trained, {after['accuracy']:.3f} at 7 bits, ceiling {after['ceiling']:.3f}; refuted and verified")
