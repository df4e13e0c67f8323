"""experiments/run.py --packed with a program that trains nothing: a plan that several experiments have is run once."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "experiments", "run.py")
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
given = dict(zip(sys.argv[2::1], sys.argv[3::1]))
out, size, only = given["--out"], given["--size"], given.get("--only")
with open(given["--file"]) as source:
    ids = [each["id"] for each in json.load(source)[size]["configurations"]]
os.makedirs(out, exist_ok=True)
open(os.path.join(out, "experiment.json"), "w").close()
for id in ids:
    path = os.path.join(out, id + ".json")
    if not os.path.exists(path) and only in (None, id):
        os.makedirs(path[:-5])
        with open(path, "w") as outcome:
            json.dump({"id": id, "note": ""}, outcome)
        with open(os.environ["RAN"], "a") as ran:
            ran.write(id + "\\n")
if not only:
    found = [json.load(open(os.path.join(out, id + ".json"))) for id in ids]
    with open(os.path.join(out, "results.json"), "w") as results:
        json.dump({"provenance": {}, "found": found}, results)
"""


class PackedRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program, self.ran = (os.path.join(self.folder.name, name) for name in ("program", "ran"))
        with open(self.program, "w") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_py(self, *arguments):
        return subprocess.run([sys.executable, RUN, "--files", "--program", self.program, "--size", "gpu", "--out", os.path.join(self.folder.name, "out"), *arguments],
                              capture_output=True, text=True, env={**os.environ, "RAN": self.ran})

    def test_a_choice_of_configurations_is_refused_where_none_is_packed(self):
        said = self.run_py("--only", "separated-*", "early-late")
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("--packed", said.stderr)
        self.assertFalse(os.path.exists(self.ran))

    def test_a_plan_of_two_experiments_is_run_once_and_says_whose_run_it_shows(self):
        self.assertEqual(self.run_py("--packed", "3", "--only", "*separated*", "depth", "early-late").returncode, 0)
        with open(self.ran) as file:
            ran = file.read().split()
        self.assertIn("L2-separated-RFF", ran)
        self.assertNotIn("separated-RFF", ran, "the same plan as depth's")
        self.assertEqual(len(ran), len(set(ran)))
        with open(os.path.join(self.folder.name, "out", "results", "early-late-gpu.json")) as file:
            found = {each["id"]: each["note"] for each in json.load(file)["found"]}
        self.assertEqual(found["separated-RFF"], "the run of L2-separated-RFF in depth")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "out", "results", "depth-gpu.json")), "its three functions are left")


if __name__ == "__main__":
    unittest.main()
