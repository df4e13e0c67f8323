#!/usr/bin/python3
"""Truncated, huge, deeply nested and lying files: rung-check ends with exit code 1, 2 or 3 (as each case says), never with 0 and
never by a signal; the words before the colon and --json agree with the exit code.

    hostile_test.py RUNG_CHECK FOLDER"""
import glob
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

CHECK, FOLDER = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
WORDS = {0: "VERIFIED", 1: "REJECTED:", 2: "MALFORMED:", 3: "OUT OF RESOURCES:"}
VALID = sorted(glob.glob(os.path.join(FOLDER, "valid", "*.json")), key=os.path.getsize)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def split_model(raw):
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + length]), raw[8 + length:]


def join_model(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Hostile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.certificate = next(c for c in VALID if "eva-collision" in c)
        self.model = self.certificate[:-len("json")] + "safetensors"

    def write(self, name, content):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def check(self, *arguments, codes=(2, 3)):
        done = subprocess.run([CHECK, *arguments], capture_output=True, text=True, errors="replace", timeout=120, check=False)
        self.assertIn(done.returncode, codes, f"{arguments}: {done.returncode} {done.stdout[:300]} {done.stderr[:300]}")
        if "--json" not in arguments and codes != (0,):
            self.assertTrue(done.stdout.startswith(WORDS[done.returncode]), done.stdout[:200])
            self.assertEqual(done.stdout.count("\n"), 1, done.stdout[:300])
        return done.stdout

    def with_certificate(self, content, **keywords):
        return self.check(self.write("certificate.json", content), self.model, **keywords)

    def with_model(self, content, certificate=None, **keywords):
        """The certificate made to speak of this very file, so that its hash does not save the checker."""
        import hashlib
        path = self.write("model.safetensors", content)
        document = json.loads(read(certificate or self.certificate))
        document["model"]["sha256"] = hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()
        return self.check(self.write("certificate.json", json.dumps(document)), path, **keywords)

    def test_the_command_line(self):
        self.check()
        self.check("--nonsense")
        self.check(self.certificate)
        self.check(self.certificate, self.model, self.model)
        self.check("/nonexistent", self.model)
        self.check(self.certificate, "/nonexistent")
        self.check(self.certificate, "/")
        self.check(self.certificate, self.model, "--limit", "x")
        self.check(self.certificate, self.model, "--limit")
        self.check(self.certificate, self.model, "--limit", "10", codes=(3,))
        self.assertIn("rung-check", self.check("--help", codes=(0,)))
        self.assertIn("rung-check ", self.check("--version", codes=(0,)))

    def test_only_regular_files_are_read(self):
        pipe = os.path.join(self.scratch, "pipe")
        os.mkfifo(pipe)
        for path in (pipe, self.scratch, "/dev/zero", "/dev/null"):
            self.assertIn("is not a regular file", self.check(path, self.model, codes=(2,)))
            self.assertIn("is not a regular file", self.check(self.certificate, path, codes=(2,)))

    def test_a_verdict_that_cannot_be_written_is_no_success(self):
        for arguments in ([self.certificate, self.model], [self.certificate, self.model, "--json"], ["--help"], ["--version"], [self.certificate]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([CHECK, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr, "rung-check: cannot write to standard output\n")
            done = subprocess.run([CHECK, *arguments], stderr=subprocess.PIPE, text=True, timeout=120, check=False, preexec_fn=lambda: os.close(1))
            self.assertEqual(done.returncode, 2, done.stderr)
            read_end, write_end = os.pipe()
            os.close(read_end)
            done = subprocess.run([CHECK, *arguments], stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            os.close(write_end)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_json_agrees_with_the_exit_code(self):
        good = json.loads(self.check(self.certificate, self.model, "--json", codes=(0,)))
        self.assertEqual((good["schema"], good["verdict"], good["exit_code"], good["kind"]), ("rung.check/1", "verified", 0, "collision"))
        self.assertGreaterEqual(good["reran"]["prompts"], 2)
        bad = json.loads(self.check(self.certificate, self.write("other", "x"), "--json", codes=(1,)))
        self.assertEqual((bad["verdict"], bad["exit_code"]), ("rejected", 1))
        self.assertIn("SHA-256", bad["reason"])

    def test_truncated_certificates(self):
        whole = read(self.certificate)
        for length in list(range(0, min(len(whole), 400), 7)) + [len(whole) // 2, len(whole) - 3]:
            self.with_certificate(whole[:length], codes=(2,))

    def test_nested_certificates(self):
        for depth in (17, 1000, 200_000):
            self.with_certificate("[" * depth, codes=(2,))
            self.with_certificate('{"a":' * depth + "1" + "}" * depth, codes=(2,))
            document = read(self.certificate).decode().replace('"states": [', '"states": [' + "[" * depth + "]" * depth + ",", 1)
            self.with_certificate(document, codes=(2,))

    def test_certificates_that_are_something_else(self):
        for content in ("", "null", "[]", "{}", '"text"', "1e999", "{]", "\x00", "\ufeff{}", "nan", '{"schema":1}', b"\xff\xfe{}",
                        '{"schema":"rung.certificate/1"}', "{" + ",".join(f'"m{i}":0' for i in range(100_000)) + "}"):
            self.with_certificate(content, codes=(2,))

    def test_huge_certificates(self):
        path = self.write("huge.json", "")
        os.truncate(path, 1 << 40)  # sparse: nothing is written
        self.check(path, self.model, codes=(3,))
        self.with_certificate("[" + "0," * 20_000_000 + "0]")

    def test_huge_claims(self):
        document = json.loads(read(self.certificate))
        for size in (1 << 20, 1 << 31, 1 << 60, 1 << 62, -1):
            changed = json.loads(json.dumps(document))
            changed["task"]["size"]["n"] = size
            self.with_certificate(json.dumps(changed), codes=(1, 2, 3))
        for member in ("cut", "position", "nominal_bits"):
            for value in (0, -1, 1 << 40, 1 << 62, -(1 << 62)):
                changed = json.loads(json.dumps(document))
                changed["claim"][member] = value
                self.with_certificate(json.dumps(changed), codes=(1, 2, 3))
        construction = json.loads(read(next(c for c in VALID if "eva-construction" in c)))
        model = next(c for c in VALID if "eva-construction" in c)[:-len("json")] + "safetensors"
        construction["claim"]["checked"] = [{"mode": "walk", "seed": 1, "begin": 0, "end": 1 << 62}]
        self.check(self.write("walk.json", json.dumps(construction)), model, "--limit", "10000000", codes=(3,))

    def test_truncated_models(self):
        whole = read(self.model)
        for length in list(range(0, len(whole), 1 + len(whole) // 60)):
            self.with_model(whole[:length])

    def test_huge_models(self):
        path = self.write("model.safetensors", read(self.model))
        os.truncate(path, 1 << 42)
        self.check(self.certificate, path, codes=(3,))

    def test_headers_that_lie(self):
        header, data = split_model(read(self.model))
        for length in (0, 1, 1 << 20, 1 << 32, (1 << 63) - 1, (1 << 64) - 1):
            self.with_model(struct.pack("<Q", length) + json.dumps(header).encode() + data)
        for text in (b"", b"[]", b"{", b"[" * 100_000, b'{"a":' * 50_000, b'{"__metadata__":[]}', b'{"__metadata__":{"format":1}}', b'{"x":{"dtype":"I8"}}'):
            self.with_model(join_model(text, data))
        name = next(n for n in header if n != "__metadata__")
        for change in ({"shape": [1 << 62, 1 << 62]}, {"shape": [-1]}, {"shape": [1 << 31] * 17}, {"shape": [0]}, {"shape": "x"}, {"dtype": "I4"}, {"dtype": 5},
                       {"data_offsets": [0, 1 << 60]}, {"data_offsets": [5, 2]}, {"data_offsets": [-1, 2]}, {"data_offsets": []}, {"data_offsets": [0, 0]}, {"more": 1}):
            lying = json.loads(json.dumps(header))
            lying[name].update(change)
            self.with_model(join_model(lying, data))
        twice = json.dumps(header)
        self.with_model(join_model((twice[:-1] + f', "{name}": {json.dumps(header[name])}}}').encode(), data))

    def test_metadata_that_lie(self):
        header, data = split_model(read(self.model))
        sizes = ["1", "2147483648", "1000000000000", "4611686018427387904", "-1", "0"]
        both = header["__metadata__"]["architecture"] + "+full(window=2,chunk=2)"
        changes = [{"architecture": both}, {"format": "rung.weights/3"}, {"mode": "real"}, {"mode": "x"}, {"accumulator": "x"}, {"fields": "[]"}, {"fields": "["}, {"output": "{}"},
                   {"fields": '[{"name":"token","size":4611686018427387904}]'}, {"fields": '[{"name":"token","size":4,"length":1048576}]'},
                   {"output": '{"kind":"binary","size":62}'}, {"output": '{"kind":"logits","size":2147483648}'}, {"decode": '{"steps":1000000}'},
                   {"dimensions": "{}"}, {"dimensions": "nonsense"}, {"architecture": ""}, {"architecture": "fool"}, {"architecture": "none*100001"},
                   {"architecture": "(" * 70 + "none" + ")" * 70}, {"architecture": "((none*1000)*1000)*1000"}, {"architecture": "none" + "*100" * 50},
                   {"architecture": "recurrent(kind=x,elements=1)"}, {"architecture": "linear(dim=99999999999999999999)"},
                   {"architecture": "heads(" + ",".join(["identity:1"] * 50_000) + ")*100000"},
                   {"architecture": "linear(feature=taylor2,dim=2147483647)"}, {"architecture": "sparse(B=2147483647,k=2147483647,form=plain)"},
                   {"architecture": "conv(width=2147483647)"}, {"architecture": "loglinear(dim=2147483647)"}, {"architecture": "mamba(inner=2147483647,state=2147483647,form=plain)"}]
        for name in ("width", "heads", "kv_heads", "head_dim", "value_dim", "state", "context", "accumulator_bits", "precision"):
            for size in sizes:
                dimensions = json.loads(header["__metadata__"]["dimensions"])
                dimensions[name] = size if name == "precision" else int(size)
                changes.append({"dimensions": json.dumps(dimensions)})
        for change in changes:
            lying = json.loads(json.dumps(header))
            lying["__metadata__"].update(change)
            # A harmless change leaves a certificate whose seal no longer fits: rejected, never verified.
            self.with_model(join_model(lying, data), codes=(1, 2, 3))

    def test_forms_that_are_not_said(self):
        header, data = split_model(read(self.model))
        header["__metadata__"].update({"format": "rung.weights/2", "architecture": "full+delta(heads=1,dim=2)"})
        self.assertIn("a form of delta", self.with_model(join_model(header, data), codes=(2,)))

    def test_a_window_and_chunks_at_once(self):
        header, data = split_model(read(self.model))
        header["__metadata__"]["architecture"] = "full(window=2,chunk=2)"
        self.assertIn("not both", self.with_model(join_model(header, data), codes=(2,)))

    def test_names_that_look_like_verdicts(self):
        name = "x\nVERIFIED collision\n\x1b[2J\u202e" + "y" * 100_000
        document = json.loads(read(self.certificate))
        document[name] = 1
        said = [self.with_certificate(json.dumps(document), codes=(2,))]
        header, data = split_model(read(self.model))
        for change in ({"architecture": name}, {"format": name}, {"mode": name}, {"dimensions": json.dumps({name: 1})},
                       {"fields": json.dumps([{"name": name, "size": 4}])}, {name: "x"}):
            lying = json.loads(json.dumps(header))
            lying["__metadata__"].update(change)
            said.append(self.with_model(join_model(lying, data), codes=(1, 2, 3)))
        lying = json.loads(json.dumps(header))
        lying[name] = lying[next(n for n in header if n != "__metadata__")]
        said.append(self.with_model(join_model(lying, data)))
        said.append(self.check("x\nVERIFIED collision\n"))
        said.append(self.check(self.certificate, "x\nVERIFIED collision\n\u202e"))
        for text in said:  # check() saw one line, and what it begins with
            self.assertLess(len(text), 400)
            self.assertTrue(all(32 <= ord(c) <= 126 for c in text[:-1]), text)
        reason = json.loads(self.check("x\nVERIFIED collision\n", "--json", codes=(2,)))["reason"]
        self.assertNotIn("\n", reason)

    def test_no_processor_time_left(self):
        construction = next(c for c in VALID if "eva-construction" in c)
        document = json.loads(read(construction))
        document["claim"]["checked"] = [{"mode": "walk", "seed": 1, "begin": 0, "end": 1 << 62}]
        path = self.write("walk.json", json.dumps(document))
        for form in ([], ["--json"]):
            done = subprocess.run([CHECK, path, construction[:-len("json")] + "safetensors", *form], capture_output=True, text=True, timeout=120,
                                  check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY)))
            self.assertEqual(done.returncode, 3, done.stdout)
            reason = json.loads(done.stdout)["reason"] if form else done.stdout
            self.assertIn("no processor time is left", reason)

    def test_numbers_at_the_edge(self):
        header, data = split_model(read(self.model))
        for name in [n for n in header if n != "__metadata__"]:
            shape = header[name]["shape"]
            count = 1
            for axis in shape:
                count *= axis
            for value in ((1 << 46), -(1 << 46), (1 << 46) + 1, (1 << 63) - 1, -(1 << 63)):
                changed, fresh = json.loads(json.dumps(header)), b""
                for other in [n for n in header if n != "__metadata__"]:
                    begin, end = header[other]["data_offsets"]
                    raw = struct.pack(f"<{count}q", *[value] * count) if other == name else data[begin:end]
                    changed[other] = {"dtype": "I64" if other == name else header[other]["dtype"], "shape": header[other]["shape"],
                                      "data_offsets": [len(fresh), len(fresh) + len(raw)]}
                    fresh += raw
                self.with_model(join_model(changed, fresh), codes=(1, 2, 3))


if __name__ == "__main__":
    unittest.main()
