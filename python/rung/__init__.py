"""The expressiveness theory of attention, executable: Python's way to the program rung.

    import rung
    rung.bound("linear", width=8, precision="16", task="eva", n=4000)      # a table of verdicts
    rung.from_config("config.json").show()                                 # layers, state, cache, parameters
    batch = rung.task("mqar", n=64).batch(512, seed=1)                     # arrays: inputs, answers, positions
    model = rung.build("eva", n=8); model.evaluate(); model.break_()

Every keyword is the flag of the same name (`--sum-bits` is `sum_bits=`); `rung help COMMAND` lists them. What rung refuses
raises RungError with its one line.
"""
import json
import os
import tempfile

from ._documents import Bound, Capacity, Ceiling, Comparison, Design, Document, Shape, Table
from ._program import Program, RungError, flags, program
from ._arrays import read_npy

__all__ = ["Architecture", "Batch", "Certificate", "Document", "Model", "RungError", "Table", "Task", "bound", "build",
           "capacity", "ceiling", "compare", "design", "from_config", "load", "parse", "plot", "points", "task", "version", "zoology_mqar"]


def version():
    """The program's version."""
    return program.text("--version").decode().split()[-1]


class Architecture:
    """A line of the architecture language, or a config.json, with the sizes that were given beside it."""

    def __init__(self, line=None, config=None, **sizes):
        self.line, self.config, self.sizes = line, config, sizes

    def _call(self, kind, command, options, allow=(0,)):
        with tempfile.TemporaryDirectory(prefix="rung-") as folder:
            words = [command, *self._words(folder), *flags({**self.sizes, **options})]
            return kind(program.document(*words, allow=allow))

    def _words(self, folder):
        if self.config is None:
            return [self.line]
        if isinstance(self.config, (str, os.PathLike)):
            return [os.fspath(self.config)]
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.config, file)
        return [path]

    def show(self, **options):
        """Layers, state, cache and parameters."""
        return self._call(Shape, "show", options)

    def bound(self, task="all", **options):
        """What no weights of it can do, and what some can."""
        return self._call(Bound, "bound", {"task": task, **options})

    def __repr__(self):
        name = self.line if self.config is None else (
            self.config if isinstance(self.config, (str, os.PathLike)) else self.config.get("model_type", "config"))
        sizes = "".join(f", {key}={value!r}" for key, value in self.sizes.items())
        return f"Architecture({os.fspath(name) if isinstance(name, os.PathLike) else name!r}{sizes})"


def parse(line, **sizes):
    """The architecture of a line such as "(gdelta*3+full)*12". What is wrong with the line raises RungError."""
    architecture = Architecture(line, **sizes)
    architecture.show()
    return architecture


def from_config(config, **sizes):
    """The architecture of a released model: a path, a dict, or a configuration object of transformers."""
    if hasattr(config, "to_dict") and not isinstance(config, dict):
        config = config.to_dict()
    architecture = Architecture(config=config, **sizes)
    architecture.show()
    return architecture


def _architecture(given):
    if isinstance(given, Architecture):
        return given
    if isinstance(given, dict) or hasattr(given, "to_dict"):
        return Architecture(config=given if isinstance(given, dict) else given.to_dict())
    return Architecture(os.fspath(given))


def bound(architecture, task="all", **options):
    """`rung bound`: what no weights can do, and what some can, with theorem, status and numbers."""
    return _architecture(architecture).bound(task, **options)


def compare(*architectures, **options):
    """`rung compare`: several architectures side by side."""
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        words = []
        for index, given in enumerate(architectures):
            place = os.path.join(folder, str(index))
            os.mkdir(place)
            words += _architecture(given)._words(place)
        return Comparison(program.document("compare", *words, *flags(options)))


def design(**options):
    """`rung design`: the layouts that do what is needed, at the least cost. `need` and `mixers` take lists."""
    if isinstance(options.get("mixers"), (list, tuple)):
        options["mixers"] = ",".join(options["mixers"])
    return Design(program.document("design", *flags(options), allow=(0, 1)))


def capacity(task, **options):
    """`rung capacity`: the state that a task requires, by enumeration."""
    return Capacity(program.document("capacity", task, *flags(options)))


def ceiling(**options):
    """`rung ceiling`: the best average accuracy that so many state bits allow."""
    return Ceiling(program.document("ceiling", *flags(options)))


class Batch:
    """Instances as arrays: `inputs` [count, T], `answers` [count, Q], `positions` [Q] where answers are read."""

    def __init__(self, inputs, answers, positions):
        self.inputs, self.answers, self.positions = inputs, answers, positions

    @property
    def tokens(self):
        return self.inputs

    def __len__(self):
        return len(self.inputs)

    def __iter__(self):
        return iter((self.inputs, self.answers, self.positions))

    def __repr__(self):
        return f"Batch(inputs={self.inputs.shape}, answers={self.answers.shape}, positions={self.positions.shape})"


def _batch(data):
    inputs, end = read_npy(data)
    answers, end = read_npy(data, end)
    positions, end = read_npy(data, end)
    return Batch(inputs, answers, positions)


class Task:
    """A task with its sizes. Instance i of a seed is the same on every machine, however it is batched."""

    def __init__(self, name, **sizes):
        self.name, self.sizes = name, sizes
        description = program.document("task", name, *flags(sizes), "--count", "1")
        description.pop("rows")
        self.description = Document(description)

    def batch(self, count, seed=1, start=0, variant="uniform"):
        """Instances start .. start + count - 1 of this seed, made by the program's own generator."""
        return _batch(program.text("task", self.name, *flags(self.sizes), "--count", count, "--seed", seed, "--start", start,
                                   "--variant", variant, "--format", "npy"))

    def dataset(self, batch=256, seed=1, variant="uniform"):
        """An IterableDataset of torch that never ends: batches of tensors, shared out among its workers."""
        from .torch import TaskDataset
        return TaskDataset(self, batch, seed, variant)

    def __repr__(self):
        return f"Task({self.name!r}{''.join(f', {key}={value!r}' for key, value in self.sizes.items())})"


class ZoologyMqar(Task):
    """MQAR as Zoology draws it: `answers` has a label for every token, -100 where nothing is asked."""

    def __init__(self, n, length, vocabulary, power, blank):
        self.name = "mqar"
        self.sizes = {"format": "zoology", "n": n, "length": length, "vocab": vocabulary, "power": power, "blank": blank}
        self.description = Document({"task": "mqar", "size": {"n": n, "length": length, "vocabulary": vocabulary},
                                     "power": power, "blank": blank, "not_asked": -100})

    def batch(self, count, seed=1, start=0, variant="uniform"):
        if variant != "uniform":
            raise RungError(f"[task] Zoology's distribution has no variant {variant}")
        return _batch(program.text("task", "mqar", *flags(self.sizes), "--count", count, "--seed", seed, "--start", start))


def zoology_mqar(n=8, length=64, vocabulary=8192, power=0.01, blank=False):
    """MQAR in Zoology's distribution (`rung task mqar --format zoology`): num_kv_pairs, input_seq_len, vocab_size, power_a,
    and `blank=True` for their random_non_queries=False. Train with cross_entropy, which passes over labels of -100."""
    return ZoologyMqar(n, length, vocabulary, power, blank)


def task(name, **sizes):
    """The task of this name: rung.task("mqar", n=64).batch(512)."""
    return Task(name, **sizes)


class Certificate(Document):
    """What `rung break` or `rung verify` hands over: rung-check verifies it with code of its own."""

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._data, file)


class Model:
    """A weights file in memory."""

    def __init__(self, data, built=None):
        self.data, self.built = bytes(data), built

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.data)

    def _call(self, command, options, allow=(0,), output=None):
        with tempfile.TemporaryDirectory(prefix="rung-") as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save(path)
            words = [command, path, *flags(options)]
            if output:
                output = os.path.join(folder, output)
                words += ["--out", output]
            document = Document(program.document(*words, allow=allow))
            written = None
            if output and os.path.exists(output):
                with open(output, "rb") as file:
                    written = file.read()
            return document, written

    def evaluate(self, **options):
        """Its accuracy on its task, or on another: task="eva", n=16, count=1000."""
        return self._call("eval", options)[0]

    def break_(self, **options):
        """Two inputs that it cannot tell apart. The answer has `certificate` where one was found, else None."""
        document, written = self._call("break", options, allow=(0, 1), output="certificate.json")
        data = dict(document.to_dict())
        result = Document(data)
        result.__dict__["proof"] = Certificate(json.loads(written)) if written else None
        return result

    def verify(self, **options):
        """Whether it is right on an automaton task at every length: outcome `proved`, `refuted` or `bounded`."""
        return self._call("verify", options, allow=(0, 1, 3))[0]

    def quantise(self, **options):
        """The same model as p-bit integers: quantise(precision=8)."""
        document, written = self._call("quantise", options, output="integer.safetensors")
        return Model(written, document)

    def __repr__(self):
        return f"Model({len(self.data):,} bytes)"


def load(path):
    """A weights file (docs/weights.md)."""
    with open(path, "rb") as file:
        return Model(file.read())


def build(construction, **options):
    """`rung build`: the weights that a proof writes down. `.built` is what the program said about them."""
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, "model.safetensors")
        document = program.document("build", construction, *flags(options), "--out", path)
        with open(path, "rb") as file:
            return Model(file.read(), Document(document))


def plot(*arguments, **options):
    """Draws a sweep of a store with matplotlib; see rung.plots.plot."""
    from .plots import plot as draw
    return draw(*arguments, **options)


def points(*arguments, **options):
    """The points of a sweep of a store as a table; see rung.plots.points."""
    from .plots import points as gather
    return gather(*arguments, **options)
