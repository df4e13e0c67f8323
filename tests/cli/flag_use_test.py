#!/usr/bin/python3
"""A flag that a command does not use is an error, never silence: every command, every form of it, every flag.

Each setting below is a command line that works. Every flag of its command is added to it, with another value than the usual
one: either something that can be seen changes (standard output, the exit code, what was written), or the flag is refused,
by name, with exit code 2 and nothing written. The same for every task and its sizes and options, every construction and its
options, every mixer and the sizes of an architecture. The list of commands and flags is the program's own (rung help --json): a
new flag without a value here fails the test.
Usage: flag_use_test.py FOLDER_OF_RUNG SOURCE"""
import concurrent.futures
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RUNG = os.path.join(os.path.abspath(sys.argv[1]), "rung")
SOURCE = os.path.abspath(sys.argv[2])
del sys.argv[1:3]
HAS_LEARN = os.path.exists(os.path.join(os.path.dirname(RUNG), "rung-learn"))

# What differs from run to run by itself.
VOLATILE = {"seconds", "instances_per_second", "memory_bytes", "records", "created", "finished", "provenance"}
NOISE = re.compile(r"[0-9.e+]+ (instances per second|instances/s|s\b|evaluations/s)|[0-9]{8}T[0-9.]+-[0-9a-f]+|record [^ ]+ in")


def steady(value):
    if isinstance(value, dict):
        return {name: steady(inner) for name, inner in value.items() if name not in VOLATILE}
    return [steady(inner) for inner in value] if isinstance(value, list) else value


def seen(text):
    try:
        return json.dumps(steady(json.loads(text)))
    except ValueError:
        return NOISE.sub("", text)


class Run:
    """What a command said, and what it wrote."""

    def __init__(self, arguments, code, output, error, written):
        self.arguments, self.code, self.error, self.written = arguments, code, error, written
        self.output = seen(output)
        self.notes = NOISE.sub("", error)

    def seen(self):
        return (self.code, self.output, self.notes, self.written)

    def refuses(self, flag):
        """By name: the message is about this flag (a size or option of a task by its bare name)."""
        said = self.error.strip()
        bare = flag.lstrip("-")
        return (self.code == 2 and not self.written and said.count("\n") == 0 and said.startswith("rung: [")
                and (flag in said or f'"{bare}"' in said or f"{bare} = " in said))


class Place:
    """A folder that begins as a copy of `fixture`, and a process there that answers command lines: thousands of programs would have to be started."""

    def __init__(self, fixture):
        self.fixture, self.holder = fixture, tempfile.TemporaryDirectory()
        self.folder = self.holder.name
        environment = {name: value for name, value in os.environ.items() if name not in ("RUNG_STORE", "NO_COLOR")}
        self.start = functools.partial(subprocess.Popen, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.process = self.start([RUNG, "pipe"], stdin=subprocess.PIPE)
        self.renew()
        self.marks = self.tree()

    def renew(self):
        for entry in os.scandir(self.folder):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.remove(entry.path)
        shutil.copytree(self.fixture, self.folder, dirs_exist_ok=True)
        self.looks = self.look()

    def paths(self):
        return [os.path.join(root, name) for root, _, names in os.walk(self.folder) for name in names]

    def look(self):
        return {path: (status.st_ino, status.st_size, status.st_mtime_ns) for path in self.paths() for status in [os.lstat(path)]}

    def tree(self):
        marks = {}
        for path in self.paths():
            with open(path, "rb") as file:
                data = file.read()
            if path.endswith((".sqlite", ".checkpoint", ".jsonl")) and os.path.basename(path) != "prompts.jsonl":  # their content holds times
                data = str(os.path.getsize(path)).encode()
            marks[os.path.relpath(path, self.folder)] = hashlib.sha256(data).hexdigest()
        return marks

    def answer(self, arguments):
        if arguments[0] == "pipe":  # it refuses to ask itself
            process = self.start([RUNG, *arguments], stdin=subprocess.DEVNULL)
            output, error = process.communicate(timeout=300)
            return process.returncode, output, error
        self.process.stdin.write(json.dumps({"arguments": arguments}).encode() + b"\n")
        self.process.stdin.flush()
        head = json.loads(self.process.stdout.readline())
        return head["exit"], self.process.stdout.read(head["output"]), self.process.stdout.read(head["errors"])

    def run(self, arguments):
        code, output, error = self.answer(arguments)
        written = {}
        if self.look() != self.looks:
            written = {name: mark for name, mark in self.tree().items() if self.marks.get(name) != mark}
            self.renew()
        return Run(arguments, code, output.decode("utf-8", "replace"), error.decode("utf-8", "replace"), written)

    def close(self):
        self.process.communicate()
        self.holder.cleanup()


SMALL = ["--n", "4"]
MODEL = ["m.safetensors"]
WRONG = ["other.safetensors"]  # right now and then
LINE = ["linear+full"]

# command -> form -> a command line that works
SETTINGS = {
    "help": {"": [], "topic": ["show"], "man": ["--man"], "completion": ["--completion", "bash"], "json": ["--json"]},
    # With --json: the document repeats what describes an architecture and enters no count (an activation).
    "show": {"an architecture": ["mamba2+full", "--heads", "2", "--json"], "--mixers": ["--mixers"]},
    "compare": {"text": ["mamba2+full", "linear+full", "--heads", "2", "--json"], "csv": ["full", "--csv"], "markdown": ["full", "--markdown"]},
    "design": {"text": ["--layers", "3", "--mixers", "full,mamba2(form=plain),linear", "--need", "eva", "--width", "256", "--heads", "2", "--json"],
               "base": ["--config", "config.json", "--need", "eva:n=8", "--json"]},
    "task": {"a task": ["eva", *SMALL], "--json without --out": ["eva", *SMALL, "--json"], "--list": ["--list"],
             "into a folder": ["eva", *SMALL, "--out", "d"], "--format zoology": ["mqar", *SMALL, "--format", "zoology", "--out", "d"]},
    "build": {"a construction": ["eva", "--n", "8", "--samples", "50", "--json"], "file": ["eva", *SMALL, "--out", "o"], "--list": ["--list"],
              "random": ["random", "--arch", "full", "--task", "eva", *SMALL, "--out", "o"],
              "--explain": ["eva", *SMALL, "--explain"], "--sweep": ["eva", "--sweep", "n=16..32", "--samples", "50"],
              "--formats": ["eva", "--n", "16", "--samples", "50", "--formats"]},
    "bound": {"an architecture": [*LINE, "--task", "eva", "--json"], "--table": ["--table"], "--list": ["--list"]},
    "break": {"a model": ["r.safetensors", "--method", "reachable", "--json"], "--list": ["--list"],
              "--scaling": ["--scaling", "--method", "reachable", "--budget", "1ms"]},
    "eval": {"": [*WRONG, "--count", "50"], "exhaustive": [*WRONG, "--exhaustive"], "rows": [*WRONG, "--variants", "uniform,zipf", "--count", "20"],
             "sweep": [*WRONG, "--sweep", "n=4", "--count", "20", "--json"]},
    "quantise": {"full": ["real.safetensors", "--instances", "20", "--json"], "recurrent": ["gdelta.safetensors", "--instances", "20", "--json"],
                 "json": ["real.safetensors", "--instances", "20", "--json"]},
    "protocol": {"drawn": [*MODEL], "given": [*MODEL, "--input", "0 1 2 3 1"], "rows": [*MODEL, "--input", "@rows.jsonl"]},
    "verify": {"": ["parity.safetensors", "--json"]},
    "export": {"": [*MODEL, "--out", "d"]},
    "import": {"": ["gla", "--from", "fla", "--layer", "0", "--out", "o"]},
    "capacity": {"": ["eva", "--n", "3"]},
    "class": {"": ["group"]},
    "ceiling": {"": ["--state-bits", "8", "--n", "23"], "csv": ["--state-bits", "8", "--n", "23", "--csv"]},
    "runs": {"list": ["list", "--store", "s.jsonl"], "show": ["show", "aa000002", "--store", "s.jsonl"],
             "plot": ["plot", "--store", "swept.jsonl", "--x", "size.n"],
             "export": ["export", "--csv", "--store", "s.jsonl"], "import": ["import", "more.jsonl", "--store", "s.jsonl"]},
    "report": {"page": ["--hierarchy", "h", "--results", "none"], "--json": ["--json", "--hierarchy", "h", "--results", "none"]},
    "hierarchy": {"": ["--only", "linear/eva", "--no-train"]},
    "pipe": {"": []},
    "probe": {"a task": ["retrieval", *SMALL, "--out", "d"], "--judge": ["--judge", "asked/answers.jsonl"]},
    # These listen or train: what is refused is refused before that, and tests of their own show the rest at work.
    "serve": {}, "train": {}, "lab": {},
}
# command -> flag -> other values than the usual one
VALUES = {
    "help": {"TOPIC": ["task"], "--completion": ["bash"]},
    "show": {"ARCH": ["full"], "--config": ["config.json"], "--dims": ["dims.json"]},
    "compare": {"MODELS": ["full"], "--dims": ["dims.json"], "--batch": ["3"]},
    "design": {"--layers": ["5"], "--mixers": ["full,gru"], "--need": ["mqar:n=4"], "--minimise": ["full"], "--budget": ["full=0"], "--write": ["w.json"],
               "--choice": ["7"], "--config": ["config.json"], "--dims": ["dims.json"]},
    "task": {"NAME": ["index"], "--count": ["3"], "--start": ["5"], "--seed": ["7"], "--variant": ["zipf"], "--format": ["jsonl"], "--out": ["d2"],
             "--length": ["32"], "--vocab": ["128"], "--power": ["0.5"]},
    "build": {"NAME": ["two-sum"], "--out": ["new"], "--certificate": ["c.json"], "--precision": ["9"], "--verify-budget": ["100000000"], "--samples": ["7"],
              "--seed": ["9"], "--sweep": ["n=2..4"], "--beside": ["layer"], "--arch": ["linear"], "--task": ["index"], "--width": ["24"], "--heads": ["2"], "--position": ["binary"], "--file": ["machine.json"]},
    "verify": {"MODEL": ["m.safetensors"], "--task": ["flipflop"], "--depth": ["1"], "--budget": ["2s"], "--memory": ["8M"], "--out": ["c.json"], "--checkpoint": ["k"], "--quantised": ["bf16"]},
    "bound": {"ARCH": ["full"], "--config": ["config.json"], "--dims": ["dims.json"], "--task": ["mqar"], "--sum-bits": ["99"], "--variant": ["zipf"], "--theorem": ["eva-linear"], "--position-period": ["4"]},
    "break": {"MODEL": ["m.safetensors"], "--task": ["index"], "--budget": ["2s"], "--method": ["wrong-answer"], "--out": ["c.json"], "--store": ["new.jsonl"],
              "--memory": ["8M"], "--device": ["cuda"], "--seed": ["5"], "--checkpoint": ["k"]},
    "eval": {"MODEL": ["m.safetensors"], "--task": ["index"], "--count": ["77"], "--seed": ["4"], "--variant": ["adversarial"],
             "--variants": ["uniform,adversarial"], "--sweep": ["n=4,4"], "--wrong": ["3"], "--quantised": ["4"], "--store": ["new.jsonl"]},
    "quantise": {"MODEL": ["gdelta.safetensors"], "--precision": ["3"], "--accumulator-bits": ["9"], "--accumulator": ["wrap"], "--weight-bits": ["5"],
                 "--refine": ["0"], "--count": ["3"], "--instances": ["31"], "--seed": ["8"], "--variant": ["zipf"], "--task": ["index"], "--out": ["new"]},
    "protocol": {"MODEL": ["other.safetensors"], "--task": ["index"], "--input": ["3 2 1 0 1"], "--seed": ["4"], "--index": ["1"], "--variant": ["zipf"],
                 "--form": ["two-party", "players"], "--cut": ["2"], "--acc-bits": ["40"], "--sum-bits": ["40"], "--trace": ["t.json"]},
    "export": {"MODEL": ["other.safetensors"], "--to": ["torch"], "--out": ["d2"]},
    "class": {"NAME": ["parity"]},
    "import": {"DIR": ["none"], "--from": ["transformers"], "--layer": ["1"], "--tokens": ["3"], "--out": ["o2"]},
    "capacity": {"TASK": ["index"], "--cut": ["2"], "--budget": ["10"], "--memory": ["1"], "--seed": ["3"]},
    "ceiling": {"--state-bits": ["9"], "--n": ["22"], "--alphabet": ["3"], "--queries": ["zipf"]},
    "runs": {"ACTION": ["list"], "NAME": ["aa000003"], "--store": ["more.jsonl"], "--kind": ["run"], "--state": ["failed"], "--task": ["mqar"], "--arch": ["no"],
             "--label": ["C"], "--since": ["2100-01-01"], "--host": ["elsewhere"], "--parent": ["none"], "--text": ["no such text"],
             "--sort": ["accuracy"], "--limit": ["1"], "--out": ["new"], "--x": ["rate"], "--y": ["loss"], "--series": [""], "--panel": ["arch"]},
    "report": {"--hierarchy": ["none"], "--store": ["s.jsonl"], "--results": ["results"], "--out": ["new.html"]},
    "hierarchy": {"--out": ["other"], "--only": ["delta/eva"]},
    "probe": {"TASK": ["index"], "--sweep": ["n=5,6"], "--count": ["3"], "--shots": ["1"], "--seed": ["7"], "--variant": ["zipf"], "--out": ["d2"],
              "--judge": ["asked/answers.jsonl"], "--prompts": ["asked/others.jsonl"], "--config": ["full"]},
}
ARCHITECTURE = {"--width": ["128"], "--heads": ["4"], "--kv-heads": ["1"], "--head-dim": ["24"], "--value-dim": ["24"], "--state": ["24"], "--mlp": ["32"],
                "--activation": ["gelu"], "--norm": ["rms"], "--position": ["binary"], "--vocab": ["99"], "--outputs": ["98"], "--context": ["77"],
                "--precision": ["11"], "--acc-bits": ["37"], "--sum-bits": ["41"], "--state-dtype": ["fp32"], "--conv-dtype": ["fp32"], "--cache-dtype": ["fp32"]}
# A limit is heard where it is reached, and a seed where something is drawn; elsewhere the same result stands for every value.
# (command, flag): a setting in which it is, or why nothing can be seen.
LIMITS = {
    ("build", "--verify-budget"): ["eva", "--n", "4", "--verify-budget", "3"], ("build", "--samples"): None, ("build", "--seed"): None,
    ("break", "--memory"): ["r.safetensors", "--method", "reachable", "--memory", "0"], ("break", "--budget"): ["r.safetensors", "--budget", "x"],
    ("break", "--checkpoint"): None,  # written when a search is cut short: break_killed_test.py
    ("break", "--seed"): None,
    ("capacity", "--budget"): None, ("capacity", "--seed"): ["eva", "--n", "8", "--budget", "1000", "--seed", "-1"],
    ("capacity", "--memory"): ["eva", "--n", "3", "--memory", "0"],
    ("verify", "--budget"): ["parity.safetensors", "--budget", "x"], ("verify", "--memory"): ["parity.safetensors", "--memory", "x"],
    ("verify", "--checkpoint"): None,  # written when a search is cut short
    ("verify", "--force"): None,
    ("quantise", "--refine"): None, ("quantise", "--seed"): None, ("quantise", "--count"): None, ("quantise", "--weight-bits"): None,
    # Sums have this width where a softmax is split, and positions count where a theorem asks for them.
    ("bound", "--sum-bits"): ["full+linear", "--width", "2", "--task", "seqcomp", "--m", "45", "--n1", "3", "--sum-bits", "99", "--json"],
    ("bound", "--position-period"): ["mamba2", "--precision", "8", "--task", "parity", "--context", "100k", "--position-period", "4", "--json"],
    ("bound", "--position"): ["sparse(B=4,k=1,form=plain)", "--task", "two-sum", "--n", "64", "--position", "none", "--json"],
    ("build", "--by"): ["eva", "--n", "4", "--explain", "--by", "delta"],  # where all forms work in all formats
    # Positions enter no count of a layer, and verdicts where a construction needs them.
    ("compare", "--position"): ["full", "--position", "none", "--json"],
    ("design", "--config"): ["--layers", "3", "--mixers", "full", "--need", "eva:n=8", "--config", "config.json", "--json"],
    ("design", "--assume-defaults"): None,  # fills a partial file, which the fixture has none of
    # Heard where a file is there: files_test.py.
    ("probe", "--force"): None, ("task", "--force"): None, ("build", "--force"): None,
    ("hierarchy", "--fresh"): None,  # nothing is there to be reused: hierarchy_test.py
    ("hierarchy", "--no-train"): None, ("export", "--to"): None, ("export", "--force"): None, ("import", "--force"): None, ("runs", "--reverse"): None,
}


def fixture(folder):
    """Models, records and files that the settings name."""
    def make(*arguments):
        subprocess.run([RUNG, *arguments], cwd=folder, check=True, capture_output=True)
    make("build", "eva", "--n", "4", "--out", "m.safetensors")
    for name, seed in (("others", "2"), ("prompts", "1")):
        make("probe", "eva", "--n", "4", "--count", "3", "--seed", seed, "--out", "asked", "--force")
        os.rename(os.path.join(folder, "asked/prompts.jsonl"), os.path.join(folder, f"asked/{name}.jsonl"))
    with open(os.path.join(folder, "asked/answers.jsonl"), "w", encoding="utf-8") as answers:
        answers.writelines(f'{{"id": "{i}", "answer": "1"}}\n' for i in range(3))
    make("build", "random", "--arch", "full", "--task", "eva", "--n", "4", "--seed", "3", "--out", "other.safetensors")
    make("build", "random", "--arch", "linear(heads=1,dim=1,vdim=1,feature=relu,normalised=no)", "--task", "eva", "--n", "4", "--precision", "2", "--out", "r.safetensors")
    make("build", "parity", "--by", "delta", "--out", "parity.safetensors")
    with open(os.path.join(folder, "machine.json"), "w", encoding="utf-8") as machine:
        json.dump({"alphabet": ["a"], "states": ["even", "odd"], "start": "even", "accepting": ["odd"],
                   "transitions": {"even": {"a": "odd"}, "odd": {"a": "even"}}}, machine)
    for name in ("real", "gdelta"):
        source = {"real": "eva_real", "gdelta": "gdelta_real"}[name]
        shutil.copy(os.path.join(SOURCE, "tests/cases/models", f"{source}.safetensors"), os.path.join(folder, f"{name}.safetensors"))
    shutil.copy(os.path.join(SOURCE, "tests/cases/runs/gpu.jsonl"), os.path.join(folder, "s.jsonl"))
    shutil.copy(os.path.join(SOURCE, "tests/cases/runs/earlier.jsonl"), os.path.join(folder, "more.jsonl"))
    shutil.copy(os.path.join(SOURCE, "tests/cases/report/runs.jsonl"), os.path.join(folder, "swept.jsonl"))
    shutil.copytree(os.path.join(SOURCE, "tests/cases/released/gla"), os.path.join(folder, "gla"))
    os.mkdir(os.path.join(folder, "h"))
    os.mkdir(os.path.join(folder, "none"))
    os.symlink(os.path.join(SOURCE, "tests/cases/report/results"), os.path.join(folder, "results"))
    with open(os.path.join(folder, "rows.jsonl"), "w", encoding="utf-8") as rows:
        rows.write('{"tokens": [0, 1, 2, 3, 1]}\n{"tokens": [3, 1, 2, 0, 0]}\n')
    with open(os.path.join(folder, "dims.json"), "w", encoding="utf-8") as dims:
        json.dump({"width": 48, "heads": 3}, dims)
    config = next(name for name in sorted(os.listdir(os.path.join(SOURCE, "rung/released/configs"))) if name.startswith("qwen3"))
    shutil.copy(os.path.join(SOURCE, "rung/released/configs", config), os.path.join(folder, "config.json"))


class FlagUse(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.fixture = os.path.join(cls.holder.name, "fixture")
        os.mkdir(cls.fixture)
        fixture(cls.fixture)
        cls.commands = {one["name"]: one for one in json.loads(subprocess.run([RUNG, "help", "--json"], check=True, capture_output=True).stdout)["commands"]}
        cls.pool = concurrent.futures.ThreadPoolExecutor(2)
        cls.places = queue.SimpleQueue()
        for _ in range(2):
            cls.places.put(Place(cls.fixture))

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        for _ in range(2):
            cls.places.get().close()
        cls.holder.cleanup()

    def run_one(self, line):
        place = self.places.get()
        try:
            return place.run(line)
        finally:
            self.places.put(place)

    def runs(self, lines):
        """All command lines, in order."""
        return list(self.pool.map(self.run_one, lines))

    def flags(self, command):
        return {option["names"][0]: option for option in self.commands[command]["options"]}

    @functools.cache
    def task_words(self):
        return json.loads(subprocess.run([RUNG, "task", "--list", "--json"], check=True, capture_output=True).stdout)["tasks"]

    def values(self, command, flag, option):
        """What to put behind it: [] for a switch."""
        tasks = self.task_words()
        for word in tasks:
            for one in word["options"]:
                if flag == "--" + one["name"] and flag not in VALUES[command]:
                    return [[value] for value in one["words"]]
        if flag in VALUES[command]:
            return [[value] for value in VALUES[command][flag]]
        if option["group"] == "Architecture" and flag in ARCHITECTURE:
            return [[value] for value in ARCHITECTURE[flag]]
        if option["group"].startswith("Sizes"):
            return [["5"]]
        if option["group"].startswith("Forms"):
            return [[word] for one in self.construction_words() for known in one["options"] if "--" + known["name"] == flag for word in known["words"]] or [["3"]]
        if option["value"] == "":
            return [[]]
        self.fail(f"rung {command} {flag}: no value in this test")

    @functools.cache
    def construction_words(self):
        return json.loads(subprocess.run([RUNG, "build", "--list", "--json"], check=True, capture_output=True).stdout)["constructions"]

    def test_every_command_has_settings_and_every_form_one(self):
        self.assertEqual(set(self.commands), set(SETTINGS))
        for command, forms in SETTINGS.items():
            if not forms:
                continue
            for option in self.commands[command]["options"]:
                for form in option["forms"]:
                    self.assertIn(form, forms, f"rung {command}: no setting of the form {form}")

    def test_every_flag_of_every_form_is_heard_or_refused(self):
        silent = []
        for command, forms in SETTINGS.items():
            for form, base in forms.items():
                plain = self.runs([[command, *base]])[0]
                self.assertIn(plain.code, (0, 1), f"{plain.arguments}: {plain.error}")
                cases = []
                for flag, option in self.flags(command).items():
                    if flag in base and option["value"] == "":
                        continue
                    positional = not flag.startswith("-")
                    for value in self.values(command, flag, option):
                        words = [word for word in base]
                        if positional:
                            index = next((i for i, word in enumerate(words) if not word.startswith("-") and (i == 0 or not words[i - 1].startswith("--"))), None)
                            if index is None:
                                words = [*value, *words]
                            elif command == "runs" and flag == "NAME":
                                words = [words[0], *value, *words[1 if len(words) < 2 or words[1].startswith("-") else 2:]]
                            else:
                                words[index:index + 1] = value
                        else:
                            if flag in words:
                                at = words.index(flag)
                                del words[at:at + 2]
                            words += [flag, *value]
                        if words != base:
                            cases.append((flag, [command, *words]))
                heard = {}
                for (flag, line), run in zip(cases, self.runs([line for _, line in cases])):
                    # Refused for another reason than the flag, it was heard all the same: its value did not fit.
                    heard[flag] = heard.get(flag, False) or run.refuses(flag) or run.seen() != plain.seen()
                silent += [f"{command} {' '.join(base)}: {flag}" for flag, one in heard.items() if not one and (command, flag) not in LIMITS]
        self.assertEqual(silent, [])

    def test_limits_are_heard_where_they_are_reached(self):
        for (command, flag), line in LIMITS.items():
            if line is None:
                continue
            with_it = self.runs([[command, *line]])[0]
            at = line.index(flag)
            without = self.runs([[command, *line[:at], *line[at + 2:]]])[0]
            self.assertNotEqual(with_it.seen(), without.seen(), f"rung {command} {' '.join(line)}")

    SIZES = {"seqcomp": ["--m", "2", "--n1", "2"]}  # elsewhere: every size without a default is needed

    def test_every_task_hears_or_refuses_every_size_and_option(self):
        words = self.task_words()
        flags = {"--" + one["name"] for word in words for one in word["sizes"] + word["options"]}
        silent = []
        for word in words:
            base = ["task", word["name"], "--count", "5", "--json", *self.SIZES.get(word["name"], [])]
            for size in word["sizes"]:
                if "default" not in size and word["name"] not in self.SIZES:
                    base += ["--" + size["name"], str(max(size["low"], min(4, size["high"])))]
            plain = self.runs([base])[0]
            self.assertEqual(plain.code, 0, f"{base}: {plain.error}")
            cases = []
            for flag in sorted(flags):
                if (word["name"], flag) == ("seqcomp", "--n"):  # another name of m, which the line gives already
                    continue
                known = next((one for one in word["options"] if "--" + one["name"] == flag), None)
                given = known["words"] if known else ["1", "2", "3", "5", "6", "8"]
                group = []
                for value in given:
                    line = list(base)
                    if flag in line:
                        at = line.index(flag)
                        del line[at:at + 2]
                    group.append([*line, flag, value])
                cases.append((flag, group))
            for flag, group in cases:
                results = self.runs(group)
                # Some value changes something, or all are refused.
                if not any(run.code == 0 and run.seen() != plain.seen() for run in results) and not all(run.code == 2 for run in results):
                    silent.append(f"{' '.join(base)} {flag}")
        self.assertEqual(silent, [])

    def test_every_construction_hears_or_refuses_every_option(self):
        words = self.construction_words()
        tasks = {word["name"]: word for word in self.task_words()}
        options = {}
        for word in words:
            for option in word["options"]:
                options.setdefault(option["name"], set()).update(option["words"] or ["3"])
        silent = []
        for word in words:
            task = tasks.get(word["task"], {"sizes": []})  # an automaton of one's own has a file
            base = ["build", word["name"], "--explain", "--json", *self.SIZES.get(word["task"], [])]
            for size in task["sizes"]:
                if "default" not in size and word["task"] not in self.SIZES:
                    base += ["--" + size["name"], str(max(size["low"], min(4, size["high"])))]
            plain = self.runs([base])[0]
            self.assertEqual(plain.code, 0, f"{base}: {plain.error}")
            known = {option["name"]: option for option in word["options"]}
            for name, values in sorted(options.items()):
                if name in known:
                    values = set(known[name]["words"]) or {"3"}
                lines = [[*base, "--" + name] if name in ("encoder", "cot") else [*base, "--" + name, value] for value in sorted(values)]
                results = self.runs(lines)
                if name not in known:
                    if not all(run.refuses("--" + name) for run in results):
                        silent.append(f"{' '.join(base)} --{name}")
                elif not any(run.seen() != plain.seen() for run in results):
                    silent.append(f"{' '.join(base)} --{name}")
        self.assertEqual(silent, [])

    def test_random_refuses_what_belongs_to_constructions(self):
        base = ["build", "random", "--arch", "full", "--task", "eva", "--n", "4", "--out", "o"]
        for more in (["--encoder"], ["--cot"], ["--beside", "layer"], ["--beside", "head"], ["--pattern", "FRF"], ["--by", "softmax"], ["--certificate", "c.json"],
                     ["--explain"], ["--formats"], ["--sweep", "n=2..4"], ["--samples", "9"]):
            run = self.runs([[*base, *more]])[0]
            self.assertTrue(run.refuses(more[0]), f"{run.arguments}: {run.code} {run.error}")

    def test_every_mixer_hears_or_refuses_the_sizes_of_an_architecture(self):
        stacks = ["full", "full(window=8)", "linear", "linear(feature=relu,normalised=no)", "mamba", "mamba2", "delta", "gdelta", "rnn", "gru", "loglinear", "sparse", "topk",
                  "heads(full:2,linear:2)", "full(heads=2,dim=8)", "identity", "full+mamba2", "conv"]
        described = {"--mlp", "--activation", "--norm", "--position", "--vocab", "--outputs", "--context", "--precision", "--encoder"}
        silent = []
        for stack in stacks:
            base = ["show", stack, "--json"]
            plain = self.runs([base])[0]
            if plain.code != 0:
                continue  # needs options of its own
            shape = json.loads(plain.output)
            echo = shape.pop("dimensions")
            for flag, option in self.flags("show").items():
                if option["group"] != "Architecture" or flag in ("--config", "--dims", "--assume-defaults"):
                    continue
                values = [[]] if option["value"] == "" else [[value] for value in ("1", "2", *ARCHITECTURE[flag])] if flag not in described else [[value] for value in ARCHITECTURE[flag]]
                for run in self.runs([[*base, flag, *value] for value in values]):
                    if run.refuses(flag) or run.code == 2:
                        break
                    other = json.loads(run.output)
                    said = other.pop("dimensions")
                    # How many heads share a width enters no count of a softmax layer; which layers have any, does.
                    told = flag in described or (flag == "--heads" and stack.startswith("full"))
                    if other != shape or (told and said != echo):
                        break
                else:
                    silent.append(f"{' '.join(base)} {flag}")
        self.assertEqual(silent, [])


if __name__ == "__main__":
    unittest.main()
