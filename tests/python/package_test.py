#!/usr/bin/env python3
"""The Python package against the program: package_test.py RUNG RUNG_CHECK SOURCE."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

RUNG, CHECK, SOURCE = (os.path.abspath(word) for word in sys.argv[1:4])
os.environ["RUNG"] = RUNG
sys.path.insert(0, os.path.join(SOURCE, "python"))

import rung
from rung import _arrays
from rung._program import Program, flags

CONFIG = os.path.join(SOURCE, "rung", "released", "configs", "qwen3-next-80b-a3b.partial.json")


def command(*words):
    return json.loads(subprocess.run([RUNG, *words, "--json"], capture_output=True, check=True).stdout)


class StandInAxis:
    """Notes what is drawn on it."""

    def __init__(self):
        self.lines, self.dashed, self.logarithmic = {}, [], False

    def errorbar(self, at, mean, yerr, label, **_):
        self.lines[label] = list(zip(at, mean, *yerr))

    def plot(self, at, value, **_):
        self.dashed.append(list(zip(at, value)))

    def set_xscale(self, *_, **__):
        self.logarithmic = True

    def __getattr__(self, name):
        return lambda *_, **__: None


class Figures(unittest.TestCase):
    def records(self, folder, *bodies):
        path = os.path.join(folder, "runs.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for number, body in enumerate(bodies):
                stamp = f"2026-11-15T18:00:{number:02}.000000Z"
                file.write(json.dumps({"schema": "rung.record/2", "id": f"20261115T1800{number:02}.000000-aa{number:06}", "kind": "member",
                                       "parent": "", "state": "done", "created": stamp, "finished": stamp, "seed": number, "version": "0.1.0",
                                       "libraries": {}, "host": "here", "device": "cpu", "command": "rung train", "body": body}) + "\n")
        return path

    def body(self, arch, n, accuracy, **more):
        return {"task": "eva", "arch": arch, "size": {"n": n}, "accuracy": accuracy, **more}

    def test_points_pool_seeds_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            store = self.records(folder, self.body("full", 8, 0.5), self.body("full", 8, 1.0), self.body("linear", 8, 0.25),
                                 self.body("full", 64, 0.75), self.body("full", 8, 0.0, options={"order": "easy"}))
            with self.assertRaises(rung.RungError) as caught:
                rung.points(store, x="size.n", series="arch")
            self.assertIn("options.order", str(caught.exception))
            rows = rung.points(store).to_dicts()
            self.assertEqual({row["series"]: row["count"] for row in rows if row["size.n"] == 8},
                             {"full, order=-": 2, "full, easy": 1, "linear, order=-": 1})

    def test_a_plot_draws_these_points_and_one_ceiling_once(self):
        axes = []
        pyplot = types.ModuleType("matplotlib.pyplot")

        def subplots(_, count, **__):
            axes[:] = [StandInAxis() for _ in range(count)]
            return StandInAxis(), [axes]

        pyplot.subplots = subplots
        matplotlib = types.ModuleType("matplotlib")
        matplotlib.pyplot, matplotlib.use = pyplot, lambda _: None
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
                sys.modules, {"matplotlib": matplotlib, "matplotlib.pyplot": pyplot}):
            store = self.records(folder, *(self.body(arch, n, 0.5, ceiling=8 / n) for arch in ("delta", "linear") for n in (16, 64, 128)))
            rung.plot(store, x="size.n", series="arch", out="unused.svg")
            self.assertEqual(sorted(axes[0].lines), ["delta(form=plain)", "linear"])
            self.assertEqual(axes[0].lines["delta(form=plain)"], [(16, 0.5, 0, 0), (64, 0.5, 0, 0), (128, 0.5, 0, 0)])
            self.assertEqual(axes[0].dashed, [[(16, 0.5), (64, 0.125), (128, 0.0625)]])
            self.assertTrue(axes[0].logarithmic)
            rung.plot(store, x="size.n", panel="arch")
            self.assertEqual(len(axes), 2)

    def test_without_matplotlib_it_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(sys.modules, {"matplotlib": None}):
            store = self.records(folder, self.body("full", 8, 0.5), self.body("full", 16, 0.5))
            with self.assertRaisesRegex(rung.RungError, "matplotlib"):
                rung.plot(store)


class Answers(unittest.TestCase):
    def test_a_bound_is_what_the_command_says(self):
        said = rung.bound("linear", width=8, precision="16", task="eva", n=4000)
        self.assertEqual(said.to_dict(), command("bound", "linear", "--width", "8", "--precision", "16", "--task", "eva",
                                                 "--n", "4000"))
        self.assertEqual(said.rows[0].verdict, "impossible")
        self.assertIn("recurrent-eva", repr(said))
        self.assertIn("<td>recurrent-eva</td>", said._repr_html_())
        self.assertEqual(said.rows.to_dicts()[0]["task"], "eva")

    def test_one_line_is_raised_for_what_is_refused(self):
        with self.assertRaises(rung.RungError) as caught:
            rung.parse("fool*2")
        self.assertIn("full", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(caught.exception.status, 2)
        with self.assertRaises(rung.RungError):
            rung.task("eva", widht=3)

    def test_a_config_is_a_path_a_dict_or_an_object(self):
        with open(CONFIG, encoding="utf-8") as file:
            data = json.load(file)

        class Config:
            def to_dict(self):
                return data

        shown = rung.from_config(CONFIG).show()
        self.assertEqual(shown.rows.to_dicts(), rung.from_config(data).show().rows.to_dicts())
        self.assertEqual(shown.rows.to_dicts(), rung.from_config(Config()).show().rows.to_dicts())
        self.assertEqual(len(shown), 48)

    def test_zoology_draws_what_the_command_draws(self):
        made = rung.zoology_mqar(n=2, length=16, vocabulary=32).batch(3, seed=5, start=1)
        self.assertEqual(tuple(made.inputs.shape), (3, 16))
        with tempfile.TemporaryDirectory() as folder:
            command("task", "mqar", "--format", "zoology", "--n", "2", "--length", "16", "--vocab", "32", "--count", "3", "--seed", "5",
                    "--start", "1", "--out", folder)
            with open(os.path.join(folder, "mqar-answers.npy"), "rb") as file:
                self.assertEqual(_arrays.read_npy(file.read())[0].tolist(), made.answers.tolist())
        self.assertEqual([sum(label != -100 for label in row) for row in made.answers.tolist()], [2, 2, 2])
        with self.assertRaises(rung.RungError):
            rung.zoology_mqar(n=5, length=16, vocabulary=32).batch(1)

    def test_capacity_and_ceiling(self):
        self.assertEqual(rung.capacity("eva", n=4).bits, 8)
        self.assertEqual(rung.ceiling(state_bits=1024, n=128).to_dict(), command("ceiling", "--state-bits", "1024", "--n", "128"))
        self.assertEqual(rung.ceiling(state_bits=1024, n=[128, 256]).to_dict(), command("ceiling", "--state-bits", "1024", "--n", "128,256"))

    def test_text_in_answers_is_escaped(self):
        self.assertIn("&lt;b&gt;", rung.Table([{"a": "<b>"}], ("a",))._repr_html_())

    def test_flags_are_written_as_the_command_line_has_them(self):
        self.assertEqual(flags({"sum_bits": 3, "json": True, "causal": False, "need": ["a", "b"], "break_": None}),
                         ["--sum-bits", "3", "--json", "--need", "a", "--need", "b"])


class Process(unittest.TestCase):
    def test_threads_share_one_process(self):
        wrong = []

        def ask(n):
            for _ in range(5):
                if rung.capacity("eva", n=n).size.n != n:
                    wrong.append(n)

        threads = [threading.Thread(target=ask, args=(n,)) for n in (2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_lost_process_is_started_again(self):
        own = Program(RUNG)
        own.text("--version")
        first = own._process.pid
        own._process.kill()
        own._process.wait()
        own.text("--version")
        self.assertNotEqual(own._process.pid, first)
        own.close()

    def test_a_program_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(rung.RungError, "/nowhere/rung"):
            Program("/nowhere/rung").text("--version")

    def test_a_request_cannot_ask_for_a_pipe(self):
        self.assertEqual(rung.program.run("pipe")[0], 2)


class Data(unittest.TestCase):
    def test_a_batch_is_what_the_lines_say_at_any_start(self):
        for name in ("mqar", "seqcomp", "two-sum"):
            made = rung.task(name).batch(7, seed=3, start=5)
            lines = subprocess.run([RUNG, "task", name, "--count", "12", "--seed", "3", "--format", "jsonl"],
                                   capture_output=True, check=True).stdout.splitlines()
            for i, line in enumerate(lines[5:]):
                row = json.loads(line)
                self.assertEqual(made.inputs[i].tolist(), row["tokens"])
                self.assertEqual(made.answers[i].tolist(), row["answer"] if isinstance(row["answer"], list) else [row["answer"]])
            self.assertEqual(made.positions.tolist(), rung.task(name).description.answer_positions)

    def test_arrays_are_read_without_numpy_alike(self):
        data = rung.program.text("task", "mqar", "--count", "3", "--format", "npy")
        numpy, _arrays.numpy = _arrays.numpy, None
        try:
            plain, end = _arrays.read_npy(data)
        finally:
            _arrays.numpy = numpy
        self.assertEqual(plain.tolist(), rung.task("mqar").batch(3).inputs.tolist())

    def test_files_are_arrays_and_a_description(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([RUNG, "task", "mqar", "--n", "4", "--count", "6", "--format", "npy", "--out", folder], check=True,
                           capture_output=True)
            self.assertEqual(sorted(os.listdir(folder)), ["mqar-answers.npy", "mqar-inputs.npy", "mqar-positions.npy", "mqar.json"])
            with open(os.path.join(folder, "mqar-inputs.npy"), "rb") as file:
                inputs, _ = _arrays.read_npy(file.read())
            self.assertEqual(inputs.tolist(), rung.task("mqar", n=4).batch(6).inputs.tolist())


class Models(unittest.TestCase):
    def test_build_evaluate_break_and_check(self):
        model = rung.build("eva", n=4)
        self.assertEqual(model.built.verified.errors, 0)
        self.assertEqual(model.evaluate(exhaustive=True).accuracy, 1.0)

    def test_a_certificate_comes_back_and_is_verified(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            subprocess.run([RUNG, "build", "random", "--arch", "mamba2(dim=2)", "--task", "eva", "--n", "8", "--precision", "3",
                            "--out", path], check=True, capture_output=True)
            model = rung.load(path)
            found = model.break_(budget="20s")
            self.assertIsNotNone(found.proof)
            place = os.path.join(folder, "certificate.json")
            found.proof.save(place)
            self.assertEqual(subprocess.run([CHECK, place, path], capture_output=True).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
