"""Models and data of rung in PyTorch.

    module = rung.torch.load("model.safetensors")        # an nn.Module: logits for a batch of prompts
    rung.torch.save(state_dict, "full*2", {"width": 64, "heads": 2, "vocabulary": 64}, path, fields=..., output=...)
    for inputs, answers in DataLoader(rung.task("mqar", n=64).dataset(batch=256), batch_size=None): ...
"""
from __future__ import annotations

import importlib.util
import json
import os
import struct
import tempfile

import torch
from torch import nn
from torch.utils.data import IterableDataset, get_worker_info

from . import Model, RungError, program

__all__ = ["TaskDataset", "load", "save"]


class TaskDataset(IterableDataset):
    """Batches (inputs, answers) of int64 tensors, without an end. Worker w of W takes batches w, w + W, ..."""

    def __init__(self, task, batch=256, seed=1, variant="uniform"):
        super().__init__()
        self.task, self.batch, self.seed, self.variant = task, batch, seed, variant

    def __iter__(self):
        worker = get_worker_info()
        number, step = (worker.id, worker.num_workers) if worker else (0, 1)
        while True:
            made = self.task.batch(self.batch, seed=self.seed, start=number * self.batch, variant=self.variant)
            yield _tensor(made.inputs), _tensor(made.answers)
            number += step


def _tensor(array):
    if hasattr(array, "values"):  # without NumPy
        return torch.frombuffer(array.values, dtype=torch.int32 if array.values.itemsize == 4 else torch.int64).reshape(
            array.shape).long()
    return torch.from_numpy(array.copy()).long()


def _evaluator():
    """The file that `rung export` writes: docs/weights.md in torch."""
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, "first.safetensors")
        program.document("build", "eva", "--n", "2", "--out", path)
        program.document("export", path, "--to", "torch")
        spec = importlib.util.spec_from_file_location("rung._exported_model", os.path.join(folder, "model.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


class RungModule(nn.Module):
    """A weights file as a module: forward(tokens [B, T]) gives logits [B, T, outputs]; `fields` models take a list of dicts."""

    def __init__(self, path):
        super().__init__()
        self.model = _evaluator().load(path)
        for name, tensor in self.model.tensors.items():
            self.register_buffer(name.replace(".", "/"), tensor, persistent=True)

    def forward(self, prompts):
        if isinstance(prompts, torch.Tensor):
            prompts = prompts.tolist()
        return torch.stack([self.model.logits(prompt) for prompt in prompts])

    def answer(self, logits):
        return self.model.answer(logits)


def load(model):
    """A module of a weights file: a path, or a rung.Model."""
    if isinstance(model, Model):
        with tempfile.TemporaryDirectory(prefix="rung-") as folder:
            path = os.path.join(folder, "model.safetensors")
            model.save(path)
            return RungModule(path)
    return RungModule(os.fspath(model))


_DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
           torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}


def _bytes(tensor):
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    if flat.dtype == torch.bfloat16:
        flat = flat.view(torch.int16)
    return flat.numpy().tobytes()


def save(state_dict, architecture, dimensions, path=None, names=None, task=None, sizes=None, tables=None, output=None,
         fields=None):
    """A model that was trained in PyTorch as a rung.Model (and a file, where `path` names one).

    `names` maps names of the state_dict to those of docs/weights.md (a dict, or a function; None drops a tensor). Tensors
    that rung expects and does not get, and those that it gets and does not know, are listed in the error.
    `task` and `sizes` say what the model was trained on; its fields and outputs are then the task's.
    """
    rename = (lambda name: name) if names is None else names if callable(names) else lambda name: names.get(name, name)
    tensors = {}
    for name, tensor in state_dict.items():
        new = rename(name)
        if new is None:
            continue
        if new in tensors:
            raise RungError(f"[torch] two tensors are called {new}")
        if tensor.dtype not in _DTYPES:
            raise RungError(f"[torch] {name} has the type {tensor.dtype}; expected one of "
                            f"{', '.join(str(kind) for kind in _DTYPES)}")
        tensors[new] = tensor
    if task is not None:
        described = program.document("task", task, *_size_flags(sizes), "--count", "1")
        fields = fields or described["fields"]
        if output is None:
            answer = described["answer"]
            kinds = {"token": "logits", "boolean": "logits", "vector": "vector"}
            output = {"kind": kinds[answer["kind"]], "size": answer["size"]}
    if fields is None or output is None:
        raise RungError("[torch] no task, and no fields and output: what does the model read and answer?")
    metadata = {"format": "rung.weights/2", "architecture": _spelled(architecture, dimensions), "mode": "real",
                "dimensions": json.dumps(dimensions), "fields": json.dumps(fields), "output": json.dumps(output)}
    if tables:
        metadata["tables"] = json.dumps(tables)
    if task is not None:
        metadata["task"] = json.dumps({"name": task, "size": described["size"],
                                       **({"options": described["options"]} if "options" in described else {})})
    header, data = {"__metadata__": metadata}, bytearray()
    for name, tensor in tensors.items():
        raw = _bytes(tensor)
        header[name] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    model = Model(struct.pack("<Q", len(text)) + text + bytes(data))
    _check(model, tensors)
    if path is not None:
        model.save(path)
    return model


def _spelled(line, dimensions):
    """The line with the form of every mixer, as weights files of version 2 have it."""
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, "architecture.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"arch": line, **dimensions}, file)
        return program.document("show", path)["architecture"]


def _size_flags(sizes):
    return [word for name, value in (sizes or {}).items() for word in (f"--{name}", str(value))]


def _check(model, tensors):
    """Everything that is missing and everything that nothing reads, by name; then the program's own judgement."""
    exported = _evaluator()
    missing, used = [], set()

    class Survey(exported.Model):
        def tensor(self, name):
            used.add(name)
            if name in self.tensors:
                return super().tensor(name)
            missing.append(name)
            return torch.zeros(1, 1, dtype=self.n.dtype)

        def optional(self, name):
            used.add(name)
            return super().optional(name)

        def scalar(self, name, default=0):
            used.add(name)
            return super().scalar(name, default)

    refused = None
    with tempfile.TemporaryDirectory(prefix="rung-") as folder:
        path = os.path.join(folder, "model.safetensors")
        model.save(path)
        try:
            Survey(path)
        except (ValueError, KeyError, RuntimeError) as error:
            refused = str(error)
    unread = [name for name in tensors if name not in used]
    if missing or (unread and refused and "nothing reads" in refused):
        parts = [f"missing: {', '.join(missing)}"] if missing else []
        parts += [f"nothing reads: {', '.join(unread)}"] if unread else []
        raise RungError("[torch] " + "; ".join(parts))
    if refused:
        raise RungError(refused)
    model.evaluate(count=1)
