#!/usr/bin/python3
"""A new mixer does not compile until every place has an answer: no switch over mixers has a default, and docs/mixers.md lists
the files that have one."""
import os
import re
import sys
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
TOPS = ("rung", "cli", "tests", "bench")
HEADER = "rung/spec/mixer_kind.h"
PAGE = "docs/mixers.md"
ROW = re.compile(r"^\| `([\w/.]+)` \|", re.M)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as source:
        return source.read()


def code(text):
    """The text without comments, strings and characters, line by line the same."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def kinds():
    body = re.search(r"enum class MixerKind \{(.*?)\};", code(read(HEADER)), re.S).group(1)
    return set(re.findall(r"\w+", body))


def block(text, start):
    """What stands between the brace at or behind start and its partner."""
    begin = text.index("{", start)
    depth = 0
    for end in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin + 1:end]
    return text[begin + 1:]


def own_labels(body):
    """The case and default labels of a switch, not those of a switch within it."""
    while inner := re.search(r"\bswitch\s*\(", body):
        body = body[:inner.start()] + body[inner.end():].replace(block(body, inner.end()), "", 1)
    return [" ".join(label.split()) for label in re.findall(r"\b(case\s+[\w:]+|default)\s*:(?!:)", body)]


def mixer_switches(text, names):
    """(line, labels) of every switch over MixerKind."""
    text = code(text)
    bare = "using enum MixerKind" in text
    for match in re.finditer(r"\bswitch\s*\(", text):
        labels = own_labels(block(text, match.end()))
        cases = [label.split()[1] for label in labels if label != "default"]
        if any(case.startswith("MixerKind::") or (bare and case in names) for case in cases):
            yield text.count("\n", 0, match.start()) + 1, labels


def sources():
    for top in TOPS:
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".cu", ".cuh")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


class MixerPlaces(unittest.TestCase):
    def test_a_planted_default_is_found(self):
        names = kinds()
        self.assertIn("gdelta", names)
        planted = """using enum MixerKind;
        void f(MixerKind a, Color c) {
          switch (c) { case Color::red: break; default: break; }
          switch (a) { case full: switch (c) { case Color::red: break; default: break; } break; default: break; }
        }"""
        found = list(mixer_switches(planted, names))
        self.assertEqual(found, [(4, ["case full", "default"])])
        self.assertEqual(list(mixer_switches("switch (x) { case 1: break; default: break; }", names)), [])

    def test_no_switch_over_mixers_has_a_default(self):
        names = kinds()
        found = [f"{path}:{line}" for path in sources() for line, labels in mixer_switches(read(path), names)
                 if "default" in labels]
        self.assertEqual(found, [], "say what each mixer does here, so that a new one does not compile")

    def test_the_page_lists_the_places(self):
        names = kinds()
        here = {path for path in sources() if list(mixer_switches(read(path), names))}
        self.assertEqual(set(ROW.findall(read(PAGE))), here | {HEADER})

    def test_the_compiler_refuses_a_switch_that_forgets_a_value(self):
        self.assertIn("-Werror=switch", read("CMakeLists.txt"))


if __name__ == "__main__":
    unittest.main()
