#!/usr/bin/python3
"""Adds the mixer of docs/mixers.md by following the page: with the enumerator alone each place is refused by the compiler, with
every block of the page all of them compile, and the mixer is counted and run."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
LEARN = "rung/learn/"  # needs libtorch; rung_learn_tests compiles the class that the page shows
EDIT = re.compile(r"^In `([^`]+)`, (after|before) `([^`]+)`:\n\n```cpp\n(.*?)```", re.M | re.S)
NEW = re.compile(r"`(rung/exact/[^`]+)`:\n\n```cpp\n(.*?)```", re.S)
ROW = re.compile(r"^\| `([\w/.]+)` \|", re.M)
COMPILER = ["c++", "-std=c++20", "-O0", "-Werror=switch", "-DFMT_SHARED"]
CACHE = [shutil.which("ccache")] if shutil.which("ccache") else []


def page():
    with open(os.path.join(ROOT, "docs", "mixers.md"), encoding="utf-8") as text:
        return text.read()


def insert(tree, path, where, line, block):
    full = os.path.join(tree, path)
    with open(full, encoding="utf-8") as source:
        lines = source.readlines()
    found = [number for number, text in enumerate(lines) if text.startswith(line)]
    if not found:
        raise RuntimeError(f"{path} has no line that begins with {line!r}")
    lines.insert(found[0] + (where == "after"), block)
    with open(full, "w", encoding="utf-8") as target:
        target.writelines(lines)


def one_unit(tree, name, sources):
    """A file that includes them all: a folder's headers are read once."""
    unit = os.path.join(tree, name + "_all.cc")
    with open(unit, "w", encoding="utf-8") as target:
        target.writelines(f'#include "{source}"\n' for source in sources)
    return unit


def complaints(tree, name, sources):
    """What the compiler says about the sources of a folder; empty where they compile."""
    run = subprocess.run(COMPILER + ["-fsyntax-only", "-I", tree, one_unit(tree, "places_of_" + name, sources)], capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def build(tree, name, sources):
    """One object of several sources; RuntimeError with what the compiler says."""
    unit = one_unit(tree, name, sources)
    run = subprocess.run(CACHE + COMPILER + ["-I", tree, "-c", unit, "-o", unit + ".o"], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    return unit + ".o"


class ToyMixer(unittest.TestCase):
    def test_the_page_adds_a_mixer(self):
        text = page()
        edits, files = EDIT.findall(text), NEW.findall(text)
        places = set(ROW.findall(text))
        self.assertEqual({path for path, *_ in edits} - {LEARN + "mixers/mixers.h"}, places)
        self.assertEqual(len(files), 1)
        # A fixed path, so that a compiler cache knows the tree again.
        tree = os.path.join(tempfile.gettempdir(), f"rung-toy-mixer-{os.getuid()}")
        shutil.rmtree(tree, ignore_errors=True)
        self.addCleanup(shutil.rmtree, tree, True)
        for folder in ("base", "spec", "exact", "theory", "tasks", "adversary", "evaluation", "certificate", "released", "ranks", "capacity"):
            if os.path.isdir(os.path.join(ROOT, "rung", folder)):
                shutil.copytree(os.path.join(ROOT, "rung", folder), os.path.join(tree, "rung", folder))
        shutil.copytree(os.path.join(ROOT, "tests", "exact"), os.path.join(tree, "tests", "exact"))

        header = "rung/spec/mixer_kind.h"
        asked = {}  # folder -> places
        for place in sorted(places - {header}):
            if not place.startswith(LEARN):
                asked.setdefault(place.split("/")[1], []).append(place)
        insert(tree, *next(edit for edit in edits if edit[0] == header))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for folder, said in zip(asked, pool.map(lambda item: complaints(tree, *item), asked.items())):
                for place in asked[folder]:
                    self.assertRegex(said, rf"{re.escape(place)}:\d+:\d+: error: .*not handled in switch",
                                     f"{place} compiles without an answer for the new mixer")

            for edit in edits:
                if edit[0] != header and not edit[0].startswith(LEARN):
                    insert(tree, *edit)
            for path, block in files:
                with open(os.path.join(tree, path), "w", encoding="utf-8") as target:
                    target.write(block)
            rest = {folder: listed for folder, listed in asked.items() if folder not in ("spec", "exact")}  # which are built below
            for said in pool.map(lambda item: complaints(tree, *item), rest.items()):
                self.assertEqual(said, "")

            spec = [os.path.relpath(path, tree) for path in glob.glob(os.path.join(tree, "rung/spec/*.cc"))]
            units = {"base": sorted(os.path.relpath(path, tree) for path in glob.glob(os.path.join(tree, "rung/base/*.cc"))),
                     "spec": sorted(set(spec) - {"rung/spec/torch_export.cc"}),
                     "exact": sorted(os.path.relpath(path, tree) for path in glob.glob(os.path.join(tree, "rung/exact/**/*.cc"),
                                                                                       recursive=True)),
                     "tests": [f"tests/exact/{name}.cc" for name in ("plain_attention", "plain_mixers", "plain_model", "plain_tensors", "strained_model")]}
            shutil.copy(os.path.join(ROOT, "tests/layers/toy_mixer.cc"), os.path.join(tree, "tests/toy_mixer.cc"))
            units["toy"] = ["tests/toy_mixer.cc"]
            objects = list(pool.map(lambda item: build(tree, *item), units.items()))
        program = os.path.join(tree, "toy_mixer")
        link = subprocess.run(["c++", *objects, "-o", program, "-lfmt", "-lpthread"], capture_output=True, text=True)
        self.assertEqual(link.returncode, 0, link.stderr)
        run = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, "counted and run\n"), run.stderr)


if __name__ == "__main__":
    unittest.main()
