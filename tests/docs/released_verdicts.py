#!/usr/bin/python3
"""docs/released_verdicts.md: what rung bound says about every released model that the program carries.

released_verdicts.py RUNG writes the page; with --check it says which rows are no longer true.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIGS = os.path.join(ROOT, "rung", "released", "configs")
PAGE = os.path.join(ROOT, "docs", "released_verdicts.md")
HEAD = """# Verdicts on released models

What `rung bound` says about each configuration in `rung/released/configs`, at the model's own context, or 4096 tokens
where the file names none. Written by `tests/docs/released_verdicts.py build/dev/rung`; a test compares the page with the
program. Partial files get the defaults of their class (`--assume-defaults`); descriptions of a class, which are no
model, are left out.

| cell | means |
| --- | --- |
| `P`, `P*` | possible: weights exist for every size that fits; with the star only as a sketch |
| `I`, `I*` | impossible: at some size that fits, no weights exist; likewise |
| `v 123`, `v` | vacuous: a theorem applies and its numbers do not reach this context; where they do, in the theorem's own size |
| `.` | open |
| `†` behind it | of a task that exists at every length: proved impossible at every length, for one set of weights; `v 2.7e+11` says from how many letters on |

A verdict is about worst-case inputs and the best weights, not about training, and `docs/limitations.md` says what it
does not mean. `docs/released.md` says what is counted, and in how many bits.
"""
CHANGES = """
## What the released forms changed

Layers were read in the plain form of the theory (`gla`, `kda` and `rwkv7` as opaque recurrences) before they were read as they are released
([parity](parity.md)). Every cell below is the same before and after, but for these:

| model | cells | before | after | why |
| --- | --- | --- | --- | --- |
| fla-gla-340m | parity, modulo, group, tracked-recall | `v` | `v 1e+11†`, `v 1e+11†`, `v 1e+11†`, `v 2.1e+11†` | an opaque recurrence is only counted; `gla` is known to decay each entry by itself and by a positive factor, which is what `aperiodicity` asks for |
| fla-nsa-340m | state bits | 150,798,336 | 0 | the plain form compresses a block from its inputs and keeps those of the open one; the released form takes means of the keys and values that it caches anyway |

Verdicts of `mamba` and `mamba2` models at every length stay: their released forms are monotone as well, with exponentials for decays. `kda` and
`rwkv7` gain none: their entries depend on each other. No model of this page loses a verdict, and none was called possible by a construction of the plain form.
`rung design`, which asks about other layouts of a model's layers, asks about their plain forms and says so, as it says of positions and norms.
"""
PLAIN = """
## As the file says

The number format of the file. Where it names none, no construction and no theorem about exact sums speaks.
"""
EXACT = """
## Read as exact integers

With `--assume-exact`: softmax sums of the model's own width are exact, so that theorems that split them apply.
"""


def models():
    names = sorted(name for name in os.listdir(CONFIGS) if name.endswith(".json"))
    return [name for name in names if not name.endswith("-defaults.json")]


def findings(rung, name, exact):
    """The document of rung bound, or None where the file is refused."""
    command = [rung, "bound", os.path.join(CONFIGS, name), "--assume-defaults", "--json"] + ["--assume-exact"] * exact
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout) if run.returncode == 0 else None


def cell(verdict):
    every = verdict.get("every_length", {})
    return at_context(verdict) + ("†" if every.get("verdict") == "impossible" and every["status"] in ("checked", "proved") else "")


def at_context(verdict):
    word = verdict["verdict"]
    star = "" if verdict["status"] in ("checked", "proved") else "*"
    if word == "possible":
        return "P" + star
    if word == "impossible":
        return "I" + star
    if word.startswith("vacuous"):
        horizon = verdict["horizon"]
        return "v" if horizon is None else f"v {horizon:,}" if horizon < 1e9 else f"v {horizon:.2g}"
    return "."


def table(documents):
    tasks = [verdict["task"] for verdict in next(iter(documents.values()))["verdicts"]]
    lines = ["| model | precision | context | state bits | " + " | ".join(tasks) + " |",
             "| --- | --- | --- | --- | " + " | ".join("---" for _ in tasks) + " |"]
    for name, document in documents.items():
        short = name[:-len(".json")]
        lines.append(f"| {short} | {document['precision']} | {document['context']:,} | {document['state_bits']:,} | "
                     + " | ".join(cell(verdict) for verdict in document["verdicts"]) + " |")
    return "\n".join(lines) + "\n"


def page(rung):
    text = HEAD + CHANGES
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for title, exact in ((PLAIN, False), (EXACT, True)):
            found = list(pool.map(lambda name, exact=exact: findings(rung, name, exact), models()))
            documents = {name: document for name, document in zip(models(), found) if document}
            if len(documents) < 40:
                raise SystemExit(f"only {len(documents)} configurations could be read")
            text += title + "\n" + table(documents)
    return text


def main():
    check = "--check" in sys.argv[1:]
    rest = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(rest) != 1:
        raise SystemExit(__doc__)
    text = page(rest[0])
    if not check:
        with open(PAGE, "w", encoding="utf-8") as target:
            target.write(text)
        return
    with open(PAGE, encoding="utf-8") as source:
        kept = source.read()
    if kept == text:
        return
    for old, new in zip(kept.splitlines(), text.splitlines()):
        if old != new:
            print(f"page:    {old}\nprogram: {new}")
    raise SystemExit("docs/released_verdicts.md is out of date: run tests/docs/released_verdicts.py RUNG and read the diff")


if __name__ == "__main__":
    main()
