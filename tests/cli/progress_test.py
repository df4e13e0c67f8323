#!/usr/bin/python3
"""Progress on a terminal: lines that fit it, that say a bound on the work, and none where the terminal cannot take them back.
Usage: progress_test.py FOLDER_OF_RUNG"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import tempfile
import time
import unittest

RUNG = os.path.join(os.path.abspath(sys.argv.pop(1)), "rung")
HAS_LEARN = os.path.exists(os.path.join(os.path.dirname(RUNG), "rung-learn"))


def watch(arguments, folder, columns=80, terminal="xterm", seconds=4):
    """What the program writes to its terminal within so many seconds; then it is interrupted."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([RUNG, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                             env=dict(os.environ, TERM=terminal), start_new_session=True)
    os.close(theirs)
    os.set_blocking(ours, False)
    text, end = b"", time.monotonic() + seconds
    try:
        while child.poll() is None and time.monotonic() < end:
            try:
                text += os.read(ours, 65536)
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        os.close(ours)
    return text.decode(errors="replace")


def lines(text):
    """The states of the one line that is written again and again."""
    return [part for part in re.split(r"\r\x1b\[K|\r\n|\n", text) if part]


class Progress(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def watch(self, *arguments, **options):
        return watch(arguments, self.folder.name, **options)

    def test_capacity_shows_how_far_it_is_and_a_bound_on_its_work(self):
        seen = lines(self.watch("capacity", "eva", "--n", "100", "--budget", "100000000"))
        self.assertTrue(any("at most 100,000,000 prompts" in line for line in seen), seen[:3])

    def test_formats_show_what_is_tried_and_the_last_size(self):
        seen = lines(self.watch("build", "eva", "--formats", "--n", "4096"))
        self.assertTrue(any("at most 4096" in line for line in seen), seen[:3])

    def test_lines_fit_the_terminal_and_say_where_they_are_cut(self):
        for columns in (30, 200):
            seen = lines(self.watch("task", "eva", "--n", "2000", "--count", "2000000", "--out", "made", columns=columns))
            self.assertTrue(seen)
            self.assertLess(max(map(len, seen)), columns)
            self.assertEqual(any(line.endswith("...") for line in seen), columns == 30, seen[:3])

    def test_a_terminal_that_takes_nothing_back_gets_no_progress(self):
        for terminal in ("dumb", ""):
            self.assertNotIn("\x1b", self.watch("task", "eva", "--n", "2000", "--count", "2000000", "--out", f"made{terminal}", terminal=terminal, seconds=2.5))

    @unittest.skipUnless(HAS_LEARN, "training needs libtorch")
    def test_training_says_no_speed_before_it_knows_one(self):
        seen = lines(self.watch("train", "full", "--task", "eva", "--n", "8", "--steps", "1000000", "--seeds", "1", "--device", "cpu", "--out", "run", columns=200, seconds=12))
        ticks = [line for line in seen if "members" in line and "loss" in line]
        self.assertGreater(len(ticks), 2, seen)
        self.assertNotIn("tokens/s", ticks[0])
        speeds = [float(found.group(1)) for line in ticks if (found := re.search(r"([0-9.e+]+) tokens/s", line))]
        self.assertTrue(speeds, ticks[-1])
        self.assertLess(max(speeds), 1e9)
        self.assertTrue(all(" left" in line for line in ticks if "tokens/s" in line))

    @unittest.skipUnless(HAS_LEARN, "training needs libtorch")
    def test_a_resumed_run_measures_its_speed_from_where_it_resumed(self):
        """Steps of the earlier run, taken for those of the first seconds, would make the rest look many times shorter."""
        units = {"s": 1, "min": 60, "h": 3600}
        def estimates(text):
            return [float(number) * units[unit] for number, unit in re.findall(r"at most ([0-9.]+) (s|min|h) left", text)]
        first = estimates(self.watch("train", "full", "--task", "eva", "--n", "8", "--steps", "1000000", "--seeds", "1", "--device", "cpu", "--out", "run",
                                     columns=200, seconds=15))
        again = estimates(self.watch("train", "--resume", "run", columns=200, seconds=8))
        self.assertTrue(first and again)
        self.assertGreater(again[0], first[-1] / 4)
        self.assertLess(again[-1], first[-1] * 4)


if __name__ == "__main__":
    unittest.main()
