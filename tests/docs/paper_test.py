#!/usr/bin/python3
"""docs/paper.md against the program: every theorem of the paper stands there, with the status that the program gives it, and
every row runs somewhere.

    paper_test.py SOURCE RUNG
"""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ROOT, RUNG = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
del sys.argv[2:3]
from pages_test import anchors, slug  # noqa: E402  (takes the root from sys.argv)

COLUMNS = ["", "where", "says", "here", "runs", "differs"]
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as page:
        return page.read()


def theorems():
    listed = subprocess.run([RUNG, "bound", "--list", "--json"], capture_output=True, text=True, check=True).stdout
    return {entry["id"]: entry for entry in json.loads(listed)["theorems"]}


def rows(page):
    """[{column: cell}] of the tables of statements."""
    found = []
    for line in page.splitlines():
        if re.match(r"^\| [PS]\d+ \|", line):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append(dict(zip(COLUMNS, cells)) | {"cells": len(cells)})
    return found


def section(page, anchor):
    """The text under a heading, to the next heading of its level or above; the whole page without an anchor."""
    level, kept, fenced = None, [], False
    for line in page.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        heading = None if fenced else re.match(r"^(#{1,6}) (.*)$", line)
        if heading and level is not None and len(heading.group(1)) <= level:
            break
        if heading and level is None and slug(heading.group(2)) == anchor:
            level = len(heading.group(1))
        if level is not None or not anchor:
            kept.append(line)
    return "\n".join(kept)


def runs_somewhere(target, text, page):
    """Why a link of the column `runs` leads to nothing that is run; empty if it does."""
    experiment = re.fullmatch(r"`rung lab ([a-z-]+)`", text)
    if experiment:
        name = experiment.group(1)
        if target != "lab.md#the-experiments" or f"`{name}`" not in section(read("docs", "lab.md"), "the-experiments"):
            return f"{name} is no experiment of lab.md"
        missing = [path for path in (f"experiments/{name}.toml", f"results/{name}-small.json") if not os.path.exists(os.path.join(ROOT, path))]
        return f"{missing[0]} is missing" if missing else ""
    name, _, anchor = target.partition("#")
    other = read("docs", name) if name else page
    if anchor and anchor not in anchors(other):
        return f"{target} is no heading"
    return "" if re.search(r"^```console$", section(other, anchor), flags=re.M) else f"nothing is run under {target}"


def faults(page, known):
    wrong, seen, spoken = [], [], set()
    for row in rows(page):
        name = row[""]
        seen.append(name)
        if row["cells"] != len(COLUMNS) or not all(row.get(column) for column in COLUMNS):
            wrong.append(f"{name}: {row['cells']} cells, none of which may be empty")
            continue
        for identifier, status in re.findall(r"`([^`]+)`(?: (\w+))?", row["here"]):
            spoken.add(identifier)
            if identifier not in known:
                wrong.append(f"{name}: no theorem {identifier}")
            elif status != known[identifier]["status"]:
                wrong.append(f"{name}: {identifier} is {known[identifier]['status']}, not {status or 'without a status'}")
        for identifier in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", row["differs"]):
            if identifier not in known:
                wrong.append(f"{name}: no theorem {identifier}")
        for other in re.findall(r"\b[PS]\d+\b", row["here"] + row["differs"]):
            if not re.search(rf"^\| {other} \|", page, flags=re.M):
                wrong.append(f"{name}: no row {other}")
        if not LINK.search(row["runs"]):
            wrong.append(f"{name}: runs nowhere")
        wrong += [f"{name}: {why}" for text, target in LINK.findall(row["runs"]) if (why := runs_somewhere(target, text, page))]
    for letter in "PS":
        own = [name for name in seen if name.startswith(letter)]
        if own != [f"{letter}{i + 1}" for i in range(len(own))]:
            wrong.append(f"rows {letter} are not numbered in order: {own}")
    for identifier, entry in known.items():
        if entry["source"] == "paper" and identifier not in spoken:
            wrong.append(f"{identifier} is the paper's and stands in no row")
    return wrong


class Paper(unittest.TestCase):
    def setUp(self):
        self.page, self.known = read("docs", "paper.md"), theorems()

    def test_has_rows_for_both_documents(self):
        names = [row[""] for row in rows(self.page)]
        self.assertGreaterEqual(sum(name.startswith("P") for name in names), 25)
        self.assertGreaterEqual(sum(name.startswith("S") for name in names), 54)
        self.assertGreaterEqual(sum(entry["source"] == "paper" for entry in self.known.values()), 6)

    def test_tells_the_status_of_every_theorem_and_runs_every_row(self):
        self.assertEqual(faults(self.page, self.known), [])

    def test_faults_are_found(self):
        def fault(old, new):
            self.assertIn(old, self.page)
            return "\n".join(faults(self.page.replace(old, new), self.known))

        self.assertIn("is conjecture, not proved", fault("`two-sparse-layers` conjecture", "`two-sparse-layers` proved"))
        self.assertIn("without a status", fault("`selection-two-sum` proved", "`selection-two-sum`"))
        self.assertIn("no theorem head-wiser", fault("`head-wise` checked", "`head-wiser` checked"))
        self.assertIn("linear-recurrence is the paper's", fault("`linear-recurrence` proved", "–"))
        self.assertIn("nothing is run under #slides-mechanisms", fault("(#mixed-heads)", "(#slides-mechanisms)"))
        self.assertIn("is no heading", fault("(#mixed-heads)", "(#unmixed-heads)"))
        self.assertIn("depths is no experiment", fault("`rung lab depth`", "`rung lab depths`"))
        self.assertIn("not numbered in order", fault("| P7 |", "| P8 |"))
        self.assertIn("no row P99", fault("as P1 and P4", "as P99 and P4"))

    def test_links_to_every_section_that_runs_something(self):
        own = self.page[self.page.index("\n## Every theorem with its status"):]
        linked = {target[1:] for row in rows(self.page) for _, target in LINK.findall(row["runs"] + row["differs"]) if target.startswith("#")}
        self.assertEqual(sorted(anchors(own) - linked), [])


if __name__ == "__main__":
    unittest.main()
