#!/usr/bin/env python3
"""The code of docs/python.md, run from top to bottom, and its certificate checked: page_test.py RUNG RUNG_CHECK SOURCE.
RUNG may be `installed`: the package and the program inside it that this interpreter finds."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

RUNG, CHECK, SOURCE = (os.path.abspath(word) for word in sys.argv[1:4])
if sys.argv[1] == "installed":
    os.environ.pop("RUNG", None)
    import rung
    assert not os.path.abspath(rung.__file__).startswith(os.path.join(SOURCE, "")), rung.__file__
else:
    os.environ["RUNG"] = RUNG
    sys.path.insert(0, os.path.join(SOURCE, "python"))
with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
    blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
assert len(blocks) >= 4, "the page's code is not where it was"
try:
    import torch
except ImportError:
    print("Skipped: without torch the page's last example cannot run")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in ("qwen3.5-27b", "llama-3.1-70b"):  # the two that the page compares
        os.mkdir(name)
        shutil.copy(os.path.join(SOURCE, "rung", "released", "configs", f"{name}.json"), os.path.join(name, "config.json"))
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/python.md, block {number + 1}", "exec"), names)
    checked = subprocess.run([CHECK, "certificate.json", "integers.safetensors"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    print(checked.stdout, end="")

    # Negative controls: what is missing and what nothing reads is listed, all of it.
    rung, network = names["rung"], names["network"]
    given = {name: tensor for name, tensor in network.state_dict().items() if not name.startswith("hidden")}
    given["extra"] = torch.zeros(2)
    try:
        rung.torch.save(given, "rnn(size=3)", names["sizes"], names=names["names"], task="eva", sizes={"n": 8})
    except rung.RungError as error:
        assert "layers.0.h.weight" in str(error) and "extra" in str(error), error
    else:
        raise AssertionError("a model without its recurrence was taken")
    # Several workers make the batches that one makes.
    from torch.utils.data import DataLoader
    dataset = rung.task("eva", n=8).dataset(batch=4, seed=9)
    alone = [next_inputs for (next_inputs, _), _ in zip(dataset, range(4))]
    shared = [next_inputs for (next_inputs, _), _ in zip(DataLoader(dataset, batch_size=None, num_workers=2), range(4))]
    assert all(torch.equal(a, b) for a, b in zip(alone, shared))
    front = names["front"]
    assert all(len(layout.layers) == 48 for layout in front.front) and front.front[0].needs[0].verdict == "possible", front
    labels = names["labels"]
    assert int((labels != -100).sum()) == 256 * 8
