"""experiments/run.py --packed with a program that trains nothing: a plan that several experiments have is run once, and finished runs are carried on."""
import json
import os
import shutil
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
found = [json.load(open(path)) for path in (os.path.join(out, id + ".json") for id in ids) if os.path.exists(path)]
with open(os.path.join(out, "results.json"), "w") as results:
    json.dump({"provenance": {}, "lab": {"stopped": len(found) < len(ids)}, "found": found}, results)
"""
EXPERIMENTS = os.path.dirname(RUN)


class PackedRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program, self.ran = (os.path.join(self.folder.name, name) for name in ("program", "ran"))
        with open(self.program, "w") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_py(self, *arguments, run=RUN):
        return subprocess.run([sys.executable, run, "--files", "--program", self.program, "--size", "gpu", "--out", os.path.join(self.folder.name, "out"), *arguments],
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
        whole, left = self.results("early-late"), self.results("depth")
        self.assertEqual({each["id"]: each["note"] for each in whole["found"]}["separated-RFF"], "the run of L2-separated-RFF in depth")
        self.assertFalse(whole["lab"]["stopped"])
        self.assertTrue(left["lab"]["stopped"], "its three functions are left")

    def test_finished_configurations_of_a_stopped_run_are_taken_up_where_its_file_is_the_same(self):
        own = os.path.join(self.folder.name, "experiments")  # with a history of its own
        os.mkdir(own)
        for name in ("run.py", "embed.py", "early-late.toml"):
            shutil.copy(os.path.join(EXPERIMENTS, name), own)
        git = ["git", "-c", "user.name=test", "-c", "user.email=test", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "predict"]):
            subprocess.run([*git, *command], cwd=own, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=own, capture_output=True, text=True, check=True).stdout.strip()
        row = {"id": "separated-RFF", "note": "taken", "scores": [{"seed": 1}]}
        curves = [{"configuration": id, "task": "seqcomp", "seed": 1} for id in ("separated-RFF", "separated-FF")]
        whole = {"provenance": {"predictions": commit}, "lab": {"seeds": 8, "configurations": [row, {"id": "separated-FF", "scores": []}]}, "curves": curves}
        taken = os.path.join(self.folder.name, "taken")
        os.mkdir(taken)

        def run(document):
            with open(os.path.join(taken, "early-late-gpu.json"), "w") as file:
                json.dump(document, file)
            return self.run_py("--packed", "2", "--from", taken, "early-late", run=os.path.join(own, "run.py"))

        self.assertIn("no such results", self.run_py("--packed", "2", "--from", own, "early-late").stderr)
        self.assertIn("commit of its predictions is not recorded", run({**whole, "provenance": {}}).stderr)
        self.assertIn("7 seeds; 8 expected", run({**whole, "lab": {**whole["lab"], "seeds": 7}}).stderr)
        self.assertFalse(os.path.exists(self.ran))
        said = run(whole)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("1 of 2 configurations taken up", said.stdout)
        with open(self.ran) as file:
            ran = file.read().split()
        self.assertNotIn("separated-RFF", ran)
        self.assertEqual(ran.count("separated-FF"), 1, "it had not finished")
        found = {each["id"]: each for each in self.results("early-late")["found"]}
        self.assertEqual((found["separated-RFF"]["note"], found["separated-RFF"]["curves"]), ("taken", [{"seed": 1}]))
        self.assertFalse(self.results("early-late")["lab"]["stopped"])
        with open(os.path.join(own, "early-late.toml"), "a") as file:
            file.write("accuracy = 0.5\n")  # of its last prediction, once the results are known
        self.assertIn("is not as it was when this ran", run(whole).stderr)

    def results(self, name):
        with open(os.path.join(self.folder.name, "out", "results", name + "-gpu.json")) as file:
            return json.load(file)


if __name__ == "__main__":
    unittest.main()
