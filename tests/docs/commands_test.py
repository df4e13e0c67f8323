#!/usr/bin/python3
"""Every command has a page, and the program, its manual page, its completion and its references agree with the pages.

    commands_test.py SOURCE RUNG
"""
import json
import os
import re
import subprocess
import sys
import unittest

ROOT, RUNG = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
del sys.argv[1:3]
FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")


def rung(*arguments):
    return subprocess.run([RUNG, *arguments], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as page:
        return page.read()


def commands():
    listed = rung("help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def flags(command):
    """The flags that `rung help COMMAND` declares: those at the head of its option lines."""
    found = set()
    for line in rung("help", command).splitlines():
        head = re.match(r"^  (-\S.*?)(?:  |$)", line)
        if head:
            found |= set(FLAG.findall(head.group(1)))
    return found


def usage_blocks(page):
    """Fences without a language: what a page gives as synopsis."""
    return re.findall(r"^```\n(.*?)^```$", page, flags=re.S | re.M)


class Commands(unittest.TestCase):
    def test_are_read_from_the_program(self):
        self.assertIn("bound", commands())
        self.assertIn("--explain", flags("bound"))
        self.assertNotIn("--samples", flags("bound"))

    def test_have_a_page_that_the_index_names(self):
        index = read("docs", "README.md")
        for command in commands():
            self.assertTrue(os.path.exists(os.path.join(ROOT, "docs", command + ".md")), command)
            self.assertIn(f"[`rung {command}`]({command}.md)", index)

    def test_pages_promise_no_flag_that_does_not_exist(self):
        for command in commands():
            known = flags(command) | {"--help"}
            for block in usage_blocks(read("docs", command + ".md")):
                if not block.startswith(f"rung {command}"):
                    continue
                self.assertEqual(sorted(set(FLAG.findall(block)) - known), [], f"docs/{command}.md")

    def test_manual_page_and_completion_name_every_command_and_flag(self):
        manual = rung("help", "--man").replace("\\-", "-")
        completion = rung("help", "--completion", "bash")
        for command in commands():
            section = manual.partition(f".SS rung {command}")[2].partition("\n.SS ")[0]
            self.assertTrue(section, command)
            script = completion.partition(f"    {command})\n")[2].partition("\n      case ")[0]
            for flag in flags(command):
                self.assertRegex(section, re.escape(flag) + r"\b", command)
                self.assertIn(flag, re.split(r"[ ']", script), command)


class References(unittest.TestCase):
    def known(self):
        return set(re.findall(r"^- printed as: (.*)$", read("docs", "bibliography.md"), flags=re.M))

    def unknown(self, text):
        """References of the text, NAMES NUMBER, that the bibliography does not print so."""
        names = r"(?:paper|NSA|[A-Z][\w-]+(?:(?:, [A-Z][\w-]+)*| et al\.)) \d{4}\.\d{5}"
        return sorted({found for found in re.findall(names, text) if found not in self.known()})

    def test_one_that_is_not_there_is_found(self):
        self.assertEqual(self.unknown("Chen, Peng, Wu 2412.02975; Nobody, Else 2412.02975"), ["Nobody, Else 2412.02975"])

    def test_of_the_table_resolve(self):
        rows = json.loads(rung("bound", "--table", "--json"))["rows"]
        self.assertEqual({row["source"] for row in rows}, {"paper", "literature", "ours"})
        references = {row["reference"] for row in rows if row["source"] == "literature"}
        self.assertGreater(len(references), 2)
        for reference in references:
            self.assertRegex(reference, r"\d{4}\.\d{5}(; .*)?$")
            self.assertEqual(self.unknown(reference), [], reference)

    def test_of_the_pages_and_constructions_resolve(self):
        for page in ("theorems.md", "constructions.md", "tasks.md", "counting.md"):
            self.assertEqual(self.unknown(read("docs", page).replace("arXiv ", "")), [], page)
        for entry in re.findall(r"source: (.*); status", read("docs", "theorems.md")):
            self.assertIn(entry, ("paper 2602.01763", "literature", "ours"))


if __name__ == "__main__":
    unittest.main()
