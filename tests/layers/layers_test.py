#!/usr/bin/python3
"""The rules of docs/layers.md: who may include whom, what a file may be called, how long it may be."""
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
ROW = re.compile(r"^\| `rung/(\w+)` \|[^|]*\|([^|]*)\| (here|planned) \|$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LIBRARY = re.compile(r"rung_library\(\s*(\w+)(?:\s+(?:COLD|INTERNAL|TORCH))*(?:\s+DEPENDS\s+([\w\s]+))?\s*\)")
SOURCES = (".h", ".cc", ".cpp", ".cu", ".cuh")
NAMELESS = ("util", "utils", "common", "helper", "helpers", "misc", "manager")
LONGEST = 600
# Rooms with a namespace of their own; everything else is `rung`.
OWN_NAMESPACE = {"cli": "rung::cli", "rung/learn/kernels": "rung::kernels", "rung/learn": "rung::learn", "rung/lab": "rung::lab",
                 "rung/report": "rung::report", "rung/serve": "rung::serve", "rung/adversary/lanes": "rung::lanes"}
NAMESPACE = re.compile(r"^namespace (rung[\w:]*) \{", re.M)
HEAVY = {"CLI/": ("cli/main.cc",), "torch/": ("rung/learn/",)}


def read_table(root):
    """{folder: (direct dependencies, state)} as docs/layers.md says."""
    table = {}
    with open(os.path.join(root, "docs", "layers.md"), encoding="utf-8") as page:
        for line in page:
            row = ROW.match(line.rstrip())
            if row:
                table[row.group(1)] = (set(re.findall(r"`(\w+)`", row.group(2))), row.group(3))
    return table


def reachable(table, folder):
    seen, open_folders = {folder}, [folder]
    while open_folders:
        for below in table[open_folders.pop()][0]:
            if below not in seen:
                seen.add(below)
                open_folders.append(below)
    return seen


def source_files(root, top):
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders.sort()
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, name), root)


def include_violations(root, table):
    """One line for every include that breaks a rule."""
    found = []
    for top in ("rung", "cli", "check", "tests", "bench"):
        for path in source_files(root, top):
            with open(os.path.join(root, path), encoding="utf-8") as source:
                for number, line in enumerate(source, 1):
                    include = INCLUDE.match(line)
                    if include:
                        reason = verdict(root, table, path, *include.groups())
                        if reason:
                            found.append(f"{path}:{number}: includes {include.group(2)}: {reason}")
    return found


def unused_edges(root, table):
    """folder -> what it is said to rest on though no file of it includes a header from there."""
    found = {}
    for folder, (below, state) in table.items():
        used = set()
        for path in source_files(root, os.path.join("rung", folder)):
            with open(os.path.join(root, path), encoding="utf-8") as source:
                used.update(re.findall(r'^\s*#\s*include\s*"rung/(\w+)/', source.read(), re.M))
        if state == "here" and below - used:
            found[folder] = below - used
    return found


def namespace_of(path):
    rooms = [room for room in OWN_NAMESPACE if path.replace(os.sep, "/").startswith(room)]
    return OWN_NAMESPACE[max(rooms, key=len)] if rooms else "rung"


def verdict(root, table, path, quote, target):
    """Why `path` must not include `target`, or None."""
    for prefix, allowed in HEAVY.items():
        if target.startswith(prefix) and not path.startswith(allowed):
            return f"a heavy header, for {' and '.join(allowed)} only"
    inside = path.split(os.sep)
    named = target.split("/")
    if quote == "<":
        return "our own header in angle brackets" if named[0] in ("rung", "cli", "check") else None
    if not os.path.isfile(os.path.join(root, target)):
        return "no such file below the root of the repository"
    if inside[0] == "check" and named[0] != "check":
        return "the checker shares nothing with what it checks"
    if inside[0] in ("rung", "check") and named[0] not in ("rung", "check"):
        return f"nothing below {inside[0]}/ rests on {named[0]}/"
    if inside[0] == "rung":
        if named[0] == "check":
            return "nothing shares code with the checker"
        if named[1] not in reachable(table, inside[1]):
            return f"{inside[1]} does not rest on {named[1]}"
    return None


LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


def flag_words(root):
    """Flags in the texts of the libraries: a library names the quantity, the command line adds the dashes."""
    found = []
    for path in source_files(root, "rung"):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                if not line.lstrip().startswith("//") and any(re.search(r"--[a-z{]", text) for text in LITERAL.findall(line)):
                    found.append(f"{path}:{number}: {line.strip()}")
    return found


class Layers(unittest.TestCase):
    def plant(self, path, text):
        """A tree with the real table and one file in it."""
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        for name, content in {path: text, "rung/base/result.h": "", "rung/exact/machine.h": "",
                              "cli/command.h": "", "check/sum.h": ""}.items():
            full = os.path.join(parent.name, name)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as target:
                target.write(content)
        return include_violations(parent.name, read_table(ROOT))

    def test_libraries_hold_no_flags(self):
        self.assertEqual(flag_words(ROOT), [])

    def test_forbidden_includes_are_found(self):
        for path, text in (("rung/tasks/eva.cc", '#include "rung/exact/machine.h"'),
                           ("rung/spec/eva.cc", '  #  include "rung/exact/machine.h"'),
                           ("rung/spec/eva.cc", '#include "cli/command.h"'),
                           ("rung/spec/eva.cc", '#include "result.h"'),
                           ("rung/spec/eva.cc", '#include <rung/base/result.h>'),
                           ("rung/spec/eva.cc", '#include "check/sum.h"'),
                           ("rung/spec/eva.cc", '#include <torch/torch.h>'),
                           ("cli/show.cc", '#include <CLI/CLI.hpp>'),
                           ("check/main.cc", '#include "rung/base/result.h"')):
            self.assertEqual(len(self.plant(path, text)), 1, f"{path}: {text}")

    def test_allowed_includes_are_left_alone(self):
        for path, text in (("rung/exact/eva.cc", '#include "rung/base/result.h"\n#include <vector>'),
                           ("rung/lab/eva.cc", '#include "rung/base/result.h"\n#include "rung/exact/machine.h"'),
                           ("cli/main.cc", '#include <CLI/CLI.hpp>\n#include "rung/exact/machine.h"'),
                           ("check/main.cc", '#include "check/sum.h"')):
            self.assertEqual(self.plant(path, text), [], f"{path}: {text}")

    def test_the_table_has_no_cycle_and_names_known_folders(self):
        table = read_table(ROOT)
        self.assertGreaterEqual(len(table), 13)
        for folder, (below, _) in table.items():
            for other in below:
                self.assertIn(other, table)
                self.assertNotIn(folder, reachable(table, other), f"{folder} rests on {other}, which rests on it")
        self.assertNotIn("exact", reachable(table, "learn"))
        self.assertNotIn("learn", reachable(table, "exact"))

    def test_the_folders_are_those_of_the_table(self):
        here = {folder for folder, (_, state) in read_table(ROOT).items() if state == "here"}
        rung = os.path.join(ROOT, "rung")
        self.assertEqual({name for name in os.listdir(rung) if os.path.isdir(os.path.join(rung, name))}, here)

    def test_link_lines_are_those_of_the_table(self):
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as lists:
            text = re.sub(r"#.*", "", lists.read())
        linked = {name: set((below or "").split()) for name, below in LIBRARY.findall(text)}
        table = read_table(ROOT)
        here = {folder for folder, (_, state) in table.items() if state == "here"}
        self.assertEqual(linked, {folder: table[folder][0] & here for folder in here})

    def test_every_include_respects_the_table(self):
        self.assertEqual(include_violations(ROOT, read_table(ROOT)), [])

    def test_every_edge_is_used(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "rung", "exact"))
            with open(os.path.join(root, "rung", "exact", "a.cc"), "w", encoding="utf-8") as planted:
                planted.write('#include "rung/spec/weights.h"\n// #include "rung/tasks/task.h"\n')
            planted_table = {"exact": ({"spec", "tasks"}, "here"), "spec": (set(), "here"), "tasks": (set(), "here")}
            self.assertEqual(unused_edges(root, planted_table), {"exact": {"tasks"}})
        self.assertEqual(unused_edges(ROOT, read_table(ROOT)), {})

    def test_the_walk_visits_each_file_once(self):
        with open(os.path.join(ROOT, "docs", "layers.md"), encoding="utf-8") as page:
            walk = page.read().split("## A walk through the tree")[1]
        files = re.findall(r"`((?:rung|cli|check|web)/[\w./]+\.\w+)`", walk)
        self.assertGreater(len(files), 40)
        self.assertEqual([name for name in files if not os.path.isfile(os.path.join(ROOT, name))], [])
        self.assertEqual([name for name in set(files) if files.count(name) > 1], [])
        for command in ("bound", "break", "train", "hierarchy", "report"):
            self.assertIn(f"cli/{command}.cc", files)

    def test_a_room_has_one_namespace(self):
        self.assertEqual(namespace_of("rung/theory/word.cc"), "rung")
        self.assertEqual(namespace_of("rung/learn/kernels/a.cc"), "rung::kernels")
        found = []
        for top in ("rung", "cli"):
            for path in source_files(ROOT, top):
                with open(os.path.join(ROOT, path), encoding="utf-8") as source:
                    names = NAMESPACE.findall(source.read())
                # Beside its own, a file may declare what is embedded under `rung`.
                own = os.path.splitext(os.path.basename(path))[0]  # a list of short names, used by one file
                wrong = set(names) - {namespace_of(path), f"rung::{own}"} - ({"rung"} if namespace_of(path) in names else set())
                found += [f"{path}: {name}, not {namespace_of(path)}" for name in wrong]
        self.assertEqual(found, [])

    def test_files_are_named_after_notions_and_stay_readable(self):
        for top in ("rung", "cli", "check", "tests", "bench"):
            for path in source_files(ROOT, top):
                words = re.split(r"[_.]", os.path.basename(path))
                self.assertFalse(set(words) & set(NAMELESS), f"{path}: name the concept")
                with open(os.path.join(ROOT, path), encoding="utf-8") as source:
                    self.assertLessEqual(sum(1 for _ in source), LONGEST, path)


if __name__ == "__main__":
    unittest.main()
