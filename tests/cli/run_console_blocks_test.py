#!/usr/bin/python3
"""The runner of console blocks, on small files: what it must refuse comes first."""
import os
import stat
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_console_blocks as runner


class ConsoleBlocks(unittest.TestCase):
    def setUp(self):
        self.parent = tempfile.TemporaryDirectory()
        self.addCleanup(self.parent.cleanup)
        self.reports = []

    def check(self, text, update=False, seconds=20, binaries=()):
        self.path = os.path.join(self.parent.name, "page.md")
        with open(self.path, "w", encoding="utf-8") as page:
            page.write(text)
        return runner.check(self.path, self.parent.name, binaries, update, seconds, self.reports.append)

    def page(self):
        with open(self.path, encoding="utf-8") as page:
            return page.read()

    def session(self, *lines):
        return "# Title\n\n```console\n" + "\n".join(lines) + "\n```\nafter\n"

    def test_a_wrong_expected_line_fails(self):
        self.assertFalse(self.check(self.session("$ echo one", "two")))
        self.assertIn("expected two", self.reports[0])

    def test_a_missing_line_and_an_extra_line_fail(self):
        self.assertFalse(self.check(self.session("$ printf 'one\\ntwo\\n'", "one")))
        self.assertFalse(self.check(self.session("$ echo one", "one", "two")))
        self.assertFalse(self.check(self.session("$ echo one", "one", "")))
        self.assertFalse(self.check(self.session("$ true", "one")))

    def test_a_missing_command_fails_even_when_its_message_is_expected(self):
        message = "/bin/bash: line 2: no_such_program: command not found"
        self.assertFalse(self.check(self.session("$ no_such_program", message)))
        self.assertFalse(self.check(self.session("$ no_such_program", "..."), update=True))

    def test_a_crash_and_a_session_that_exits_fail(self):
        self.assertFalse(self.check(self.session("$ sh -c 'kill -SEGV $$'", "...")))
        self.assertFalse(self.check(self.session("$ exit 0", "$ echo never", "never")))

    def test_a_command_that_does_not_end_fails(self):
        self.assertFalse(self.check(self.session("$ sleep 30"), seconds=1))

    def test_malformed_pages_fail(self):
        self.assertFalse(self.check("```console\n$ true\n"))
        self.assertFalse(self.check(self.session("output first", "$ true")))
        self.assertFalse(self.check(self.session()))
        self.assertFalse(self.check("<!-- console: skip -->\n" + self.session("$ true")))

    def test_what_is_printed_as_written_passes(self):
        self.assertTrue(self.check(self.session("$ echo one; echo two >&2", "one", "two", "$ true", "$ printf x", "x")))

    def test_any_lines_match_the_ellipsis_and_nothing_else_does(self):
        self.assertTrue(self.check(self.session("$ seq 5", "1", "...", "5")))
        self.assertTrue(self.check(self.session("$ seq 1", "1", "...")))
        self.assertFalse(self.check(self.session("$ seq 5", "1", "...", "6")))
        self.assertTrue(self.check(self.session("$ seq 9", "...", "3", "...", "5", "6", "...")))
        self.assertFalse(self.check(self.session("$ seq 9", "...", "5", "...", "3", "...")))
        self.assertFalse(self.check(self.session("$ seq 3", "1", "2", "...", "2", "3")))
        self.assertFalse(self.check(self.session("$ echo one", "o...")))

    def test_a_backslash_continues_a_command(self):
        self.assertTrue(self.check(self.session("$ echo one \\", "    two", "one two")))

    def test_a_block_is_one_session_and_a_page_one_folder(self):
        page = self.session("$ x=3; false", "$ echo $? $x", "1 3", "$ echo kept > file")
        self.assertTrue(self.check(page + self.session("$ cat file", "kept", "$ ls $TMP")))

    def test_other_fences_are_left_alone(self):
        self.assertTrue(self.check("```sh\n$ false_program\n```\n````text\n```console\n````\n" + self.session("$ true")))
        self.assertIn("1 blocks, 1 commands", self.reports[-1])

    def test_a_skipped_block_is_reported_with_its_reason_and_covers_one_block_only(self):
        skipped = "<!-- console: skip needs a GPU -->\n" + self.session("$ false_program").replace("# Title\n\n", "")
        self.assertTrue(self.check(skipped))
        self.assertIn("skipped: needs a GPU", self.reports[0])
        self.assertFalse(self.check(skipped + self.session("$ echo one", "two")))

    def test_update_rewrites_what_differs_and_keeps_the_rest(self):
        page = self.session("$ seq 3", "1", "...", "$ echo one", "two") + self.session("$ seq 2", "2")
        self.assertTrue(self.check(page, update=True))
        self.assertEqual(self.page(), self.session("$ seq 3", "1", "...", "$ echo one", "one")
                         + self.session("$ seq 2", "1", "2"))
        self.assertTrue(self.check(self.page()))

    def test_the_built_program_comes_first_and_the_callers_settings_do_not_travel(self):
        program = os.path.join(self.parent.name, "seq")
        with open(program, "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\necho built ${RUNG_THREADS:-unset} $LC_ALL; test -t 0 || echo no terminal\n")
        os.chmod(program, stat.S_IRWXU)
        os.environ["RUNG_THREADS"] = "7"
        self.addCleanup(os.environ.pop, "RUNG_THREADS")
        self.assertTrue(self.check(self.session("$ seq", "built unset C.UTF-8", "no terminal"),
                                   binaries=[self.parent.name]))


if __name__ == "__main__":
    unittest.main()
