#!/usr/bin/python3
"""`rung build --certificate` for every form of every construction, rerun by rung-check.

usage: construction_certificates_test.py RUNG RUNG_CHECK
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

RUNG, RUNG_CHECK = sys.argv.pop(1), sys.argv.pop(1)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EVERY_FORM = 30
SIZES_OF_A_FORM = 2  # the smallest ones


def forms():
    """The table that the unit tests use: name and lines of every form."""
    with open(os.path.join(ROOT, "tests", "constructions", "forms.h"), encoding="utf-8") as header:
        rows = re.findall(r'\{"(\w+)",\s*\{("[^{}]*")\}\}', header.read())
    return {name: re.findall(r'"([^"]+)"', lines) for name, lines in rows}


class ConstructionCertificates(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.model, self.certificate = (os.path.join(self.scratch.name, name) for name in ("model.safetensors", "certificate.json"))

    def build(self, line):
        done = subprocess.run([RUNG, "build", *line.split(), "--samples", "20", "--verify-budget", "1000", "--force", "--out", self.model,
                               "--certificate", self.certificate, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")
        return json.loads(done.stdout)

    def check(self, limit="10000000000"):
        return subprocess.run([RUNG_CHECK, self.certificate, self.model, "--limit", limit], capture_output=True, text=True)

    def test_every_form_is_verified(self):
        table = forms()
        self.assertGreaterEqual(len(table), EVERY_FORM)
        modes = set()
        for lines in table.values():
            for line in lines[:SIZES_OF_A_FORM]:
                document = self.build(line)
                self.assertGreater(document["certificate"]["instances"], 0)
                modes.update(document["certificate"]["checked"])
                done = self.check()
                self.assertEqual(done.returncode, 0, f"{line}: {done.stdout}{done.stderr}")
        self.assertEqual(modes, {"all", "walk", "listed"})

    def test_another_precision_is_another_file(self):
        self.build("eva --n 8")
        subprocess.run([RUNG, "build", "eva", "--n", "8", "--precision", "6", "--samples", "5", "--out", self.model, "--force"], check=True, capture_output=True)
        self.assertEqual(self.check().returncode, 1)

    def test_a_changed_digest_is_rejected(self):
        self.build("seqcomp --L 2 --m 2 --n1 2 --cot")
        with open(self.certificate, encoding="utf-8") as file:
            text = file.read()
        digest = json.loads(text)["claim"]["digest"]
        with open(self.certificate, "w", encoding="utf-8") as file:
            file.write(text.replace(digest, digest[::-1]))
        self.assertNotEqual(self.check().returncode, 0)

    def test_a_certificate_needs_a_file_to_speak_of(self):
        done = subprocess.run([RUNG, "build", "eva", "--n", "4", "--certificate", self.certificate], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--out", done.stderr)
        self.assertFalse(os.path.exists(self.certificate))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
