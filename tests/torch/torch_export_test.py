#!/usr/bin/python3
"""What `rung export --to torch` writes, run by torch, against the exact machine.

usage: torch_export_test.py RUNG EXACT_LOGITS CONSTRUCTION_LOGITS
Integers are compared bit for bit, at every position; reals to nine digits. Exit code 77 (skipped) without torch.
"""
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print("skipped: Debian package python3-torch is missing")
    sys.exit(77)

RUNG, EXACT_LOGITS, CONSTRUCTION_LOGITS = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTEGER_INSTANCES, REAL_INSTANCES, CONSTRUCTION_INSTANCES = 1000, 500, 1000
EVERY_FORM = 30
REAL_TOLERANCE = 1e-9


def rung(*arguments, code=0):
    done = subprocess.run([RUNG, *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class ExportedModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name
        subprocess.run([EXACT_LOGITS, cls.folder], check=True)
        cls.names = sorted(name[:-12] for name in os.listdir(cls.folder) if name.endswith(".safetensors"))
        cls.written = json.loads(rung("export", f"{cls.folder}/000.safetensors", "--to", "torch", "--json"))
        spec = importlib.util.spec_from_file_location("model", f"{cls.folder}/model.py")
        cls.model = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_logits_are_the_exact_machines_bit_for_bit(self):
        instances = 0
        for name in self.names:
            if "-" in name:
                continue
            model = self.model.load(self.path(name + ".safetensors"))
            for row in rows_of(self.path(name + ".jsonl")):
                z = model.logits(row["fields"])
                self.assertEqual(z.dtype, torch.int64)
                self.assertEqual(z.tolist(), row["logits"], f'{name} {model.metadata["line"]}')
                self.assertEqual([model.answer(one) for one in z], row["answer"])
                if "generated" in row:
                    self.assertEqual(model.generate(row["fields"]), row["generated"])
                instances += 1
        self.assertGreaterEqual(instances, INTEGER_INSTANCES)

    def test_constructions_have_the_exact_machines_logits_bit_for_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CONSTRUCTION_LOGITS, folder], check=True)
            names = sorted(name[:-12] for name in os.listdir(folder) if name.endswith(".safetensors"))
            instances = 0
            for name in names:
                model = self.model.load(os.path.join(folder, name + ".safetensors"))
                for row in rows_of(os.path.join(folder, name + ".jsonl")):
                    z = model.logits(row["fields"])
                    self.assertEqual(z.tolist(), row["logits"], model.metadata["line"])
                    self.assertEqual([model.answer(one) for one in z], row["answer"], model.metadata["line"])
                    if "generated" in row:
                        self.assertEqual(model.generate(row["fields"]), row["generated"], model.metadata["line"])
                    instances += 1
            self.assertGreaterEqual(instances, CONSTRUCTION_INSTANCES)
            self.assertGreaterEqual(len({name.rsplit("_", 1)[0] for name in names}), EVERY_FORM)

    def test_reals_follow_mode_q_before_it_rounds(self):
        instances = 0
        for name in self.names:
            if "-" not in name:
                continue
            model = self.model.load(self.path(name + ".safetensors"), real=True)
            for row in rows_of(self.path(name + ".jsonl")):
                z, expected = model.logits(row["fields"]), torch.tensor(row["logits"], dtype=torch.float64)
                error = (z - expected).abs().max() / expected.abs().max().clamp(min=1)
                self.assertLess(error.item(), REAL_TOLERANCE, f'{name} {model.metadata["line"]}')
                instances += 1
        self.assertGreaterEqual(instances, REAL_INSTANCES)

    def test_one_changed_weight_is_seen(self):
        model = self.model.load(self.path("000.safetensors"))
        model.out[0, 0] += 1
        self.assertTrue(any(model.logits(row["fields"]).tolist() != row["logits"] for row in rows_of(self.path("000.jsonl"))))

    def test_command_line_prints_the_same_numbers(self):
        done = subprocess.run(["/usr/bin/python3", self.path("model.py"), self.path("000.safetensors"), "--prompts", self.path("000.jsonl"),
                               "--every-position"], capture_output=True, text=True, check=True)
        for line, row in zip(done.stdout.splitlines(), rows_of(self.path("000.jsonl")), strict=True):
            self.assertEqual(json.loads(line)["logits"], row["logits"])

    def test_document_names_what_was_written(self):
        self.assertEqual(self.written["schema"], "rung.export/1")
        self.assertEqual(self.written["files"], [self.path("model.py"), self.path("000.safetensors")])
        self.assertEqual((self.written["arithmetic"], self.written["may_refuse"]), ("int64", False))

    def test_another_folder_gets_the_weights_too_and_keeps_what_it_has(self):
        out = self.path("out")
        rung("export", self.path("001.safetensors"), "--to", "torch", "--out", out)
        rung("export", self.path("001.safetensors"), "--to", "torch", "--out", out)  # the same again is no conflict
        self.assertEqual(sorted(os.listdir(out)), ["001.safetensors", "model.py"])
        with open(os.path.join(out, "model.py"), "w", encoding="utf-8") as file:
            file.write("mine")
        os.remove(os.path.join(out, "001.safetensors"))
        self.assertIn("exists", rung("export", self.path("001.safetensors"), "--to", "torch", "--out", out, code=2))
        self.assertEqual(os.listdir(out), ["model.py"])
        rung("export", self.path("001.safetensors"), "--to", "torch", "--out", out, "--force")

    def write_first(self, path, change=lambda tensors, metadata: None):
        """The example of docs/weights.md, changed."""
        with open(os.path.join(ROOT, "docs", "weights.md"), encoding="utf-8") as page:
            (code,) = re.findall(r"```python\n(.*?)```", page.read(), re.S)
        code = code.replace("save(\"first.safetensors\"", "saved(\"first.safetensors\"")
        scope = {"saved": lambda _, tensors, metadata: (change(tensors, metadata), scope["save"](path, tensors, metadata))}
        exec(code, scope)

    def test_example_of_the_page_runs_here_and_in_rung(self):
        path = self.path("first.safetensors")
        self.write_first(path)
        rung("export", path, "--to", "torch", "--out", self.folder)
        model = self.model.load(path)
        for prompt in ([2, 0, 1, 3, 0], [3, 3, 1, 0, 2], [1]):
            self.assertEqual(model.answer(model.logits(prompt)[-1]), prompt[0])

    def test_sum_that_could_overflow_is_refused_by_name(self):
        def widen(tensors, metadata):
            tensors["embed.token.table"] = (tensors["embed.token.table"][0], [x << 40 for x in tensors["embed.token.table"][1]])
            tensors["layers.0.v.weight"] = (tensors["layers.0.v.weight"][0], [x << 40 for x in tensors["layers.0.v.weight"][1]])
            metadata["dimensions"] = metadata["dimensions"].replace('"precision": "8"', '"precision": "48"')
        path = self.path("wide.safetensors")
        self.write_first(path, widen)
        with self.assertRaisesRegex(OverflowError, r"layers\.0\.v: a sum can reach 2\^80"):
            self.model.load(path).logits([1, 2])
        self.assertTrue(json.loads(rung("export", path, "--to", "torch", "--json"))["may_refuse"])

    def test_stray_scalars_are_those_that_rung_refuses(self):
        scalars = ("y.bits", "conv.bits", "feature.bits", "feature.shift", "key.bits", "taps.shift", "decay.shift", "gate.fraction", "x.bits",
                   "q.bits", "norm1.epsilon", "score.low", "value.scale")
        path, lines, refused = self.path("scalar.safetensors"), set(), 0
        for name in self.names:
            with open(self.path(name + ".safetensors"), "rb") as file:
                raw = file.read()
            length = struct.unpack_from("<Q", raw)[0]
            header, data = json.loads(raw[8:8 + length]), raw[8 + length:]
            kind = (header["__metadata__"]["line"], name.split("-")[0] == "trained")
            if kind in lines or name.startswith("real-"):
                continue
            lines.add(kind)
            for scalar in scalars:
                tensor = "layers.0." + scalar
                if tensor in header:
                    continue
                more = {**header, tensor: {"dtype": "I8", "shape": [], "data_offsets": [len(data), len(data) + 1]}}
                text = json.dumps(more).encode()
                with open(path, "wb") as file:
                    file.write(struct.pack("<Q", len(text)) + text + data + b"\x01")
                done = subprocess.run([RUNG, "export", path, "--to", "torch", "--out", self.path("scalar"), "--force"], capture_output=True, text=True)
                try:
                    self.model.load(path)
                    self.assertEqual(done.returncode, 0, f"{kind} {scalar}: {done.stderr}")
                except ValueError as error:
                    self.assertIn(tensor, str(error))
                    self.assertEqual(done.returncode, 2, f"{kind} {scalar}: {error}")
                    self.assertIn(tensor, done.stderr)
                    refused += 1
        self.assertGreater(len(lines), 40)
        self.assertGreater(refused, 200)

    def test_stray_and_missing_tensors_are_refused(self):
        path = self.path("stray.safetensors")
        self.write_first(path, lambda tensors, _: tensors.update({"layers.0.extra": ([1], [0])}))
        with self.assertRaisesRegex(ValueError, r"nothing reads tensor layers\.0\.extra"):
            self.model.load(path)
        self.assertIn("layers.0.extra", rung("export", path, "--to", "torch", code=2))
        self.write_first(path, lambda tensors, _: tensors.pop("layers.0.o.weight"))
        with self.assertRaisesRegex(ValueError, r"layers\.0\.o\.weight is missing"):
            self.model.load(path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
