#!/usr/bin/python3
"""The repository stands alone: no path of one machine, no registry host, nothing read from beside the clone."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else os.getcwd()
# Spelled in halves, so that this file passes its own test.
FORBIDDEN = {
    "a package registry": ["registry.npm" + "js", "npm" + "js.org", "py" + "pi.org", "python" + "hosted.org",
                           "crates" + ".io", "ana" + "conda.org", "registry.yarn" + "pkg"],
    "a path of one machine": ["/wor" + "k/", "/ho" + r"me/(?!someone/)", "/Us" + "ers/"],
    "a folder beside the clone": [r"\.\./sha" + "red"],
    "a merge that was not finished": [r"(?m)^<<<<<" + r"<< |^>>>>>" + r">> "],
}
CONFIGURATIONS = 71
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED_FILE = re.compile(r"`((?:docs|packaging|tests|rung|cli|cmake)/[\w./-]+\.(?:md|h|cc|sh|py|txt|json|toml))`")


def tracked_files(root):
    """What git tracks; in a tree without git, everything but build output."""
    try:
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"],
                                capture_output=True, check=True).stdout
        return [name for name in listed.decode().split("\0") if name and os.path.isfile(os.path.join(root, name))]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith((".git", "build", "__pycache__"))]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return [name for name in found if not name.endswith(".swp")]


def forbidden_words(root, names):
    found = []
    for name in names:
        with open(os.path.join(root, name), "rb") as source:
            text = source.read().decode("utf-8", "replace")
        for meaning, patterns in FORBIDDEN.items():
            for pattern in patterns:
                for match in re.finditer(pattern, text):
                    line = text.count("\n", 0, match.start()) + 1
                    found.append(f"{name}:{line}: {match.group(0)!r}, {meaning}")
    return found


def dangling_references(root, name):
    """Links and file names of a page that lead to no file of the repository."""
    with open(os.path.join(root, name), encoding="utf-8") as page:
        text = re.sub(r"^(```+).*?^\1", "", page.read(), flags=re.S | re.M)
    beside = os.path.dirname(os.path.join(root, name))
    links = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    missing = [target for target in links if not os.path.exists(os.path.join(beside, target))]
    # docs/mixers.md adds a mixer of its own, whose files toy_mixer_test.py makes.
    return missing + [path for path in NAMED_FILE.findall(text)
                      if not os.path.exists(os.path.join(root, path)) and not path.endswith("/peak.cc")]


class TrackedFiles(unittest.TestCase):
    def test_planted_words_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            for text in ("https://registry.npm" + "js.org/x", "/wor" + "k/main/rung", "../sha" + "red/configs"):
                with open(os.path.join(root, "page.md"), "w", encoding="utf-8") as page:
                    page.write("first line\n" + text)
                self.assertTrue(forbidden_words(root, tracked_files(root))[0].startswith("page.md:2:"), text)

    def test_no_tracked_file_names_a_registry_or_a_machine(self):
        self.assertEqual(forbidden_words(ROOT, tracked_files(ROOT)), [])

    def test_references_of_pages_lead_somewhere(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "page.md"), "w", encoding="utf-8") as page:
                page.write("[a](b.md) `rung/no/such.h` [c](page.md#part) [d](https://example.org)\n```\n[x](y)\n```\n")
            self.assertEqual(dangling_references(root, "page.md"), ["b.md", "rung/no/such.h"])
        pages = [name for name in tracked_files(ROOT) if name.endswith(".md") and not name.startswith(("tests/cases/", "rung/released/configs/"))]
        self.assertIn("README.md", pages)
        self.assertEqual([f"{name}: {target}" for name in pages for target in dangling_references(ROOT, name)], [])

    def test_released_configurations_are_in_the_repository(self):
        configs = os.path.join(ROOT, "rung", "released", "configs")
        names = os.listdir(configs)
        self.assertEqual(sum(name.endswith(".json") for name in names), CONFIGURATIONS)
        for page in ("MAPPING.md", "SOURCES.md"):
            self.assertIn(page, names)
        self.assertFalse([name for name in names if os.path.islink(os.path.join(configs, name))])

    def test_no_build_output_is_tracked(self):
        output = re.compile(r"(^|/)(CMakeCache\.txt|CMakeFiles/|build[^/]*/|.*\.(o|a|so|pyc)$)")
        self.assertEqual([name for name in tracked_files(ROOT) if output.search(name)], [])

    def test_scripts_can_be_executed(self):
        for name in ("run", "test", ".ci/run", "packaging/clean_machine.sh"):
            self.assertTrue(os.access(os.path.join(ROOT, name), os.X_OK), name)

    def test_npm_lock_files_name_no_host(self):
        for name in tracked_files(ROOT):
            if os.path.basename(name) == "package-lock.json":
                with open(os.path.join(ROOT, name), encoding="utf-8") as lock:
                    self.assertNotIn("resolved\": \"http", lock.read(), name)


if __name__ == "__main__":
    unittest.main()
