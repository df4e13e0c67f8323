#!/usr/bin/python3
"""rung-check over tests/certificates: valid/NAME.json with NAME.safetensors must be verified; invalid/NAME.rejected.json,
NAME.malformed.json and NAME.exhausted.json must end with exit code 1, 2 and 3. The model of an invalid certificate is
NAME.WORD.safetensors beside it, or valid/NAME.safetensors, or none.

    examples_test.py RUNG_CHECK FOLDER"""
import glob
import os
import subprocess
import sys
import unittest

CHECK, FOLDER = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
CODES = {"rejected": 1, "malformed": 2, "exhausted": 3}


def run(certificate):
    stem = certificate[:-len(".json")]
    base = os.path.basename(stem).split(".")[0]
    models = [m for m in (stem + ".safetensors", os.path.join(FOLDER, "valid", base + ".safetensors")) if os.path.exists(m)]
    done = subprocess.run([CHECK, certificate] + models[:1], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


class Examples(unittest.TestCase):
    def test_every_valid_certificate_is_verified(self):
        found = sorted(glob.glob(os.path.join(FOLDER, "valid", "*.json")))
        self.assertGreaterEqual(len(found), 6)
        for certificate in found:
            code, said = run(certificate)
            self.assertEqual(code, 0, f"{certificate}: {said}")
            self.assertTrue(said.startswith("VERIFIED "), said)

    def test_every_invalid_certificate_ends_as_its_name_says(self):
        found = sorted(glob.glob(os.path.join(FOLDER, "invalid", "*.json")))
        self.assertGreaterEqual(len(found), 6)
        for certificate in found:
            word = os.path.basename(certificate).split(".")[-2]
            self.assertIn(word, CODES, certificate)
            code, said = run(certificate)
            self.assertEqual(code, CODES[word], f"{certificate}: {said}")

    def test_every_valid_certificate_has_an_invalid_twin(self):
        for certificate in glob.glob(os.path.join(FOLDER, "valid", "*.json")):
            base = os.path.basename(certificate)[:-len(".json")]
            self.assertTrue(glob.glob(os.path.join(FOLDER, "invalid", base + ".*.json")), base)


if __name__ == "__main__":
    unittest.main()
