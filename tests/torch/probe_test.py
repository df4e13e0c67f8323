#!/usr/bin/env python3
"""The script of `rung probe` on small torch models, and what --judge says of their answers: probe_test.py RUNG.

transformers is not installed where the tests run: a module of that name with the three calls that the script makes stands in for it.
Its models are torch modules: attention that looks a name up in the whole past, the same with a window, and one with random weights.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch  # noqa: F401
except ImportError:
    print("Skipped: torch is not installed")
    sys.exit(77)

RUNG = os.path.abspath(sys.argv[1])
STANDIN = '''
import re, torch
WORDS = {}


class Batch(dict):
    def to(self, device):
        return Batch({name: tensor.to(device) for name, tensor in self.items()})


class AutoTokenizer:
    """Words and signs, numbered as they come; 0 pads on the left, 1 ends."""
    pad_token_id, eos_token = None, 1

    @classmethod
    def from_pretrained(cls, name, padding_side="right"):
        assert padding_side == "left", "generation continues the last token, so padding goes in front"
        return cls()

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "pad_token":
            object.__setattr__(self, "pad_token_id", 0)

    def __call__(self, texts, return_tensors, padding):
        assert return_tensors == "pt" and padding and isinstance(texts, list)
        rows = [[WORDS.setdefault(word, len(WORDS) + 2) for word in re.findall(r"[\\\\w-]+|[^\\\\w\\\\s]", text)] for text in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows])
        return Batch(input_ids=ids, attention_mask=(ids != 0).long())

    def batch_decode(self, rows, skip_special_tokens):
        assert skip_special_tokens
        names = {number: word for word, number in WORDS.items()}
        return [" ".join(names[int(token)] for token in row if int(token) > 1) for row in rows]


class Lookup(torch.nn.Module):
    """One head: a token's key is the word two before it ("NAME is TOWN"), the query is the name that was asked for."""

    def __init__(self, window=None):
        super().__init__()
        self.window = window
        self.scale = torch.nn.Parameter(torch.tensor(20.0))

    def forward(self, ids, mask):
        code = torch.nn.functional.one_hot(ids, 4096).float()
        keys = torch.nn.functional.pad(code, (0, 0, 2, 0))[:, :-2]
        query = code[:, -4]                                     # ... of NAME ? Answer :
        scores = self.scale * torch.einsum("bd,btd->bt", query, keys)
        scores = scores.masked_fill(mask == 0, -1e9)
        scores[:, -4:] = -1e9                                   # not the question itself
        if self.window:
            scores[:, :-self.window] = -1e9
        return torch.einsum("bt,btd->bd", scores.softmax(-1), code)


class Chance(torch.nn.Module):
    def forward(self, ids, mask):
        torch.manual_seed(7)
        return torch.randn(len(ids), 4096)


class Model:
    def __init__(self, module):
        self.module = module

    def to(self, device):
        self.module.to(device)
        return self

    def eval(self):
        self.module.eval()
        return self

    def generate(self, input_ids, attention_mask, max_new_tokens, do_sample, pad_token_id):
        assert not do_sample and not torch.is_grad_enabled() and pad_token_id == 0
        logits = self.module(input_ids, attention_mask)
        logits[:, len(WORDS) + 2:] = -1e9
        first = logits.argmax(-1, keepdim=True)
        return torch.cat([input_ids, first, torch.ones_like(first)], 1)


class AutoModelForCausalLM:
    @staticmethod
    def from_pretrained(name, torch_dtype):
        return Model({"whole": Lookup(), "window": Lookup(window=70), "chance": Chance()}[name])
'''.replace("\\\\", "\\")


def run(*words, check=True, **options):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True, **options)


with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "transformers"))
    with open(os.path.join(folder, "transformers", "__init__.py"), "w", encoding="utf-8") as file:
        file.write(STANDIN)
    environment = dict(os.environ, PYTHONPATH=folder)
    made = os.path.join(folder, "asked")
    run(RUNG, "probe", "retrieval", "--sweep", "n=4,64", "--sigma", "32", "--D", "7", "--count", "20", "--out", made)
    script, answers = os.path.join(made, "run.py"), os.path.join(made, "answers.jsonl")

    def ask(model):
        if os.path.exists(answers):
            os.remove(answers)
        run(sys.executable, script, model, "--device", "cpu", "--batch", "7", env=environment)
        return {row["size"]["n"]: row for row in json.loads(run(RUNG, "probe", "--judge", answers, "--config", "linear", "--json").stdout)["rows"]}

    chance = ask("chance")  # the negative control
    assert chance[4]["accuracy"] < 0.5 and chance[64]["accuracy"] < 0.3, chance
    whole = ask("whole")
    assert [row["accuracy"] for row in whole.values()] == [1, 1], whole
    assert whole[64]["table_bits"] > 100 and whole[64]["missing"] == 0, whole
    assert whole[64]["label"] in ("C", "K", "G") and whole[64]["verdict"]["verdict"], whole
    window = ask("window")  # ten pairs of seven tokens
    assert window[4]["accuracy"] == 1 and window[64]["accuracy"] < 0.5, window

    # A run that was stopped resumes where it was, and asks nothing twice.
    with open(answers, encoding="utf-8") as file:
        kept = file.readlines()
    with open(answers, "w", encoding="utf-8") as file:
        file.writelines(kept[:11])
    run(sys.executable, script, "window", "--device", "cpu", env=environment)
    with open(answers, encoding="utf-8") as file:
        assert sorted(file.readlines()) == sorted(kept)
    # One that was cut in the middle of a line says so.
    with open(answers, "w", encoding="utf-8") as file:
        file.write("".join(kept[:3])[:-5])
    again = run(sys.executable, script, "window", "--device", "cpu", env=environment, check=False)
    assert again.returncode == 0, again.stderr
    with open(answers, encoding="utf-8") as file:
        assert sorted(file.readlines()) == sorted(kept)
print("The script asks, resumes, and its answers are judged.")
