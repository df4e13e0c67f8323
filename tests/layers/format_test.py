#!/usr/bin/python3
"""Every C++ and CUDA file is laid out as clang-format 14 lays it out with the repository's .clang-format."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
SOURCES = (".h", ".cc", ".cu", ".cuh")
FORMATTER = shutil.which("clang-format-14") or shutil.which("clang-format")


def sources(root):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"], capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0")
            if name.endswith(SOURCES) and os.path.isfile(os.path.join(root, name))]


def unformatted(root, names):
    """The files that the formatter would change."""
    run = subprocess.run([FORMATTER, "--dry-run", "--ferror-limit=1", *names], cwd=root, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    return sorted({line.split(":")[0] for line in run.stderr.splitlines() if "[-Wclang-format-violations]" in line})


class Format(unittest.TestCase):
    def test_finds_a_planted_file(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(ROOT, ".clang-format"), folder)
            for name, text in (("good.cc", "int f() { return 1; }\n"), ("bad.cc", "int f() {return 1 ;}\n")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                    out.write(text)
            self.assertEqual(unformatted(folder, ["good.cc", "bad.cc"]), ["bad.cc"])

    def test_every_file_is_formatted(self):
        names = sources(ROOT)
        self.assertGreater(len(names), 500)
        self.assertEqual(unformatted(ROOT, names), [], "run clang-format -i on these")


if __name__ == "__main__":
    if not FORMATTER:
        sys.exit("clang-format is missing; Debian package clang-format")
    unittest.main()
